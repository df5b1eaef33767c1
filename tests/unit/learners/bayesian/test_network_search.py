"""Score-based searches: they return what they claim, and nothing better is one move away."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table, Variable
from counterpane.errors import FitError, GraphError, ParameterError, UnknownNameError
from counterpane.graphs import Dag, cpdag, same_class
from counterpane.learners import GES, HillClimb, K2Search, StoppedEarly, StructureSearch
from counterpane.learners.bayesian.constraints import (
    allowed_matrix,
    is_symmetric,
    known_directions,
    make_limits,
    no_limits,
    required_edges,
    required_matrix,
)
from counterpane.learners.bayesian.engine import SearchEngine, dag_of, lists_of
from counterpane.models import BayesianNetwork
from counterpane.progress import Control, Stopped
from counterpane.scores import K2, BDeu, EdgePrior, as_score, score_dag, score_families
from counterpane.scores.row_cache import RowCache
from error_checks import raises, warns

LEARNERS = [
    HillClimb(),
    HillClimb(tabu=5),
    HillClimb(restarts=3, perturb=3, random_state=4),
    HillClimb(K2()),
    GES(),
    GES(BDeu(5.0)),
    K2Search(restarts=4, random_state=1),
    StructureSearch(effort="fast"),
    StructureSearch(),
    StructureSearch(effort="thorough"),
    StructureSearch(BDeu(1.0, structure_prior=EdgePrior(0.1)), effort="thorough"),
    StructureSearch("k2"),
]


def sampled(n: int, rows: int, seed: int, edges: float = 1.5, weights: bool = False) -> Table:
    """Rows of a random network over n variables of 2 to 4 states."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, n)
    names = rng.permutation([f"v{i:03d}" for i in range(n)])
    pairs = [(p, c) for c in range(n) for p in range(c) if rng.random() < edges * 2 / n]
    parents = [[p for p, c in pairs if c == x][:3] for x in range(n)]
    dag = Dag.from_parents([tuple(p) for p in parents])
    tables = [rng.dirichlet(np.full(cards[x], 0.4), tuple(cards[p])) for x, p in enumerate(parents)]
    schema = Schema(Variable(str(m), tuple(range(r))) for m, r in zip(names, cards, strict=True))
    table = BayesianNetwork(schema, dag, tables).sample(rows, random_state=seed)
    return table.reweighted(rng.integers(0, 4, rows)) if weights else table


def label(learner: object) -> str:
    return repr(learner).replace(" ", "").replace("\n", "")


@pytest.mark.parametrize("learner", LEARNERS, ids=label)
@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])
def test_the_score_is_the_network_s(learner, weights) -> None:
    table = sampled(9, 400, seed=3, weights=weights)
    learner.fit(table)
    score = as_score(learner.criterion)
    dag = learner.model_.dag
    parents = [dag.parents(i) for i in range(dag.n)]
    assert learner.score_ == pytest.approx(score_dag(score, MemoryCounts(table), parents), abs=1e-6)
    assert learner.score_ >= score_dag(score, MemoryCounts(table), [()] * dag.n) - 1e-9
    expected = cpdag(dag).to_networkx(table.schema.names)
    assert dict(learner.cpdag_.edges) == dict(expected.edges)
    assert set(learner.graph_.nodes) == set(table.schema.names)
    assert learner.trace_[-1]["score"] <= learner.score_ + 1e-6


def neighbors(dag: Dag) -> list[Dag]:
    """All DAGs one addition, removal or reversal away."""
    found = []
    present = set(dag.edges)
    for edge in permutations(range(dag.n), 2):
        if edge in present:
            rest = present - {edge}
            options = [rest, rest | {edge[::-1]}]
        elif edge[::-1] in present:
            continue
        else:
            options = [present | {edge}]
        for edges in options:
            try:
                found.append(Dag(dag.n, edges))
            except GraphError:
                continue
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("learner", [HillClimb(), HillClimb("bdeu", tabu=4)], ids=label)
def test_hill_climbing_ends_at_a_local_optimum(learner, seed: int) -> None:
    table = sampled(6, 300, seed)
    source = MemoryCounts(table)
    learner.fit(table)
    score = as_score(learner.criterion)
    for other in neighbors(learner.model_.dag):
        parents = [other.parents(i) for i in range(other.n)]
        assert score_dag(score, source, parents) <= learner.score_ + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_ges_cannot_gain_by_one_edge_of_any_member(seed: int) -> None:
    """A class is a local optimum if no DAG of it gains by one addition or removal."""
    table = sampled(5, 250, seed)
    source = MemoryCounts(table)
    learner = GES("bic").fit(table)
    for pattern in permutations(range(5)):
        place = {v: i for i, v in enumerate(pattern)}
        edges = [e if place[e[0]] < place[e[1]] else e[::-1] for e in learner.model_.dag.edges]
        member = Dag(5, edges)
        if not same_class(member, learner.model_.dag):
            continue
        for other in neighbors(member):
            if other.n_edges != member.n_edges:
                parents = [other.parents(i) for i in range(5)]
                assert score_dag(as_score("bic"), source, parents) <= learner.score_ + 1e-6


def test_enough_rows_give_the_true_class() -> None:
    schema = Schema.from_cards([2] * 5)
    dag = Dag(5, [(0, 2), (1, 2), (2, 3), (2, 4)])
    tables = [[0.4, 0.6], [0.3, 0.7], [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.8, 0.2]]],
              [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]]]  # fmt: skip
    table = BayesianNetwork(schema, dag, tables).sample(50_000, random_state=0)
    for learner in (GES(), StructureSearch(), StructureSearch(effort="thorough")):
        assert same_class(learner.fit(table).model_.dag, dag)


def test_more_effort_is_never_worse() -> None:
    for seed in range(5):
        table = sampled(14, 400, seed, edges=2)
        scores = [
            StructureSearch(effort=e).fit(table).score_ for e in ("fast", "default", "thorough")
        ]
        assert scores[0] <= scores[1] + 1e-6
        assert scores[1] <= scores[2] + 1e-6


def test_more_than_sixty_four_variables() -> None:
    table = sampled(70, 300, seed=2)
    for learner in (HillClimb(tabu=3), GES(), StructureSearch(effort="thorough")):
        dag = learner.fit(table).model_.dag
        parents = [dag.parents(i) for i in range(70)]
        found = score_dag(as_score("bic"), MemoryCounts(table), parents)
        assert learner.score_ == pytest.approx(found, abs=1e-6)


def test_a_cache_too_small_for_a_search_is_refused() -> None:
    """It would push out the rows of some nodes while others are looked up, without end."""
    table = sampled(70, 100, seed=0)
    small = RowCache(MemoryCounts(table), as_score("bic"), memory=1)
    with raises(ParameterError, about=("64 rows", "70 columns")):
        SearchEngine(small, no_limits(70))


# ---- constraints -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 64, 70, 1030, 2100])
def test_limits_are_those_of_a_matrix_of_pairs(n) -> None:
    """Constraints are bit rows, which are read by words and in blocks."""
    schema = Schema.from_cards([2] * n)
    names = schema.names
    required = [(names[1], names[-1]), (names[0], names[2])]
    limits = make_limits(schema, required, (), [names[:2], names[2:]])
    place = np.arange(n) > 1
    assert (allowed_matrix(limits, n) == (place <= place[:, None]) & ~np.eye(n, dtype=bool)).all()
    expected = [(int(p), int(x)) for x, p in np.argwhere(required_matrix(limits, n))]
    assert required_edges(limits) == expected == sorted([(1, n - 1), (0, 2)], key=lambda e: e[1])
    assert not is_symmetric(limits._replace(required=limits.required[:0]))
    ends = (names[0], names[-1])
    assert is_symmetric(make_limits(schema, (), [ends, ends[::-1]], None))
    assert not is_symmetric(make_limits(schema, (), [ends], None))


def test_tiers_direct_edges_between_them_alone() -> None:
    limits = make_limits(Schema.from_cards([2] * 4), (), (), [["x0", "x1"], ["x2"]])
    edges = [(0, 1), (1, 0), (0, 2), (2, 0), (3, 0), (2, 3)]
    assert known_directions(limits, edges) == [(0, 2)]


@pytest.mark.parametrize(
    "learner", [HillClimb(), HillClimb(tabu=4, restarts=2), StructureSearch(effort="thorough")],
    ids=label,
)  # fmt: skip
def test_constraints_hold(learner) -> None:
    table = sampled(8, 600, seed=8)
    names = table.schema.names
    free = learner.fit(table).graph_
    some = next(iter(free.edges))
    required = [(names[0], names[7]), (names[7], names[3])]
    tiers = [[names[1], names[2]], [names[4], names[5], names[6]]]
    learner.set_params(required_edges=required, forbidden_edges=[some], tiers=tiers)
    try:
        found = set(learner.fit(table).graph_.edges)
    finally:
        learner.set_params(required_edges=(), forbidden_edges=(), tiers=None)
    assert set(required) <= found
    assert some not in found
    assert not {(a, b) for a in tiers[1] for b in tiers[0]} & found


def test_max_parents_and_start() -> None:
    table = sampled(8, 800, seed=9, edges=3)
    for learner in (HillClimb(max_parents=1), GES(max_parents=1), StructureSearch(max_parents=1)):
        dag = learner.fit(table).model_.dag
        assert max(len(dag.parents(i)) for i in range(8)) <= 1
    first = StructureSearch().fit(table)
    again = HillClimb(start=first.model_).fit(table)
    assert again.score_ >= first.score_ - 1e-9
    kept = HillClimb(start=first.graph_).fit(table)
    assert kept.score_ == again.score_
    some = next(iter(first.graph_.edges))
    with raises(GraphError, about="forbidden"):
        HillClimb(start=first.graph_, forbidden_edges=[some]).fit(table)
    with raises(GraphError, about="required_edges"):
        HillClimb(start=first.graph_, required_edges=[some[::-1]]).fit(table)


def test_k2_respects_its_order() -> None:
    table = sampled(7, 500, seed=1)
    order = list(table.schema.names[::-1])
    learner = K2Search("bdeu", order=order).fit(table)
    assert all(order.index(p) < order.index(c) for p, c in learner.graph_.edges)
    # Each parent set is greedy: no single addition of an earlier variable improves.
    source, score = MemoryCounts(table), as_score("bdeu")
    index = table.schema.index
    for place, name in enumerate(order):
        own = [index(p) for p in learner.graph_.predecessors(name)]
        more = [index(p) for p in order[:place] if index(p) not in own]
        families = [(index(name), own), *((index(name), [*own, p]) for p in more)]
        values = score_families(score, source, families)
        assert (values[1:] <= values[0] + 1e-6).all()


@pytest.mark.parametrize(
    ("learner", "error", "words"),
    [
        (HillClimb(required_edges=[("v000", "v001"), ("v001", "v000")]), GraphError, "cycle"),
        (HillClimb(required_edges=[("v000", "v001")], forbidden_edges=[("v000", "v001")]),
         GraphError, "required and forbidden"),
        (HillClimb(required_edges=[("v000", "v009")]), UnknownNameError, "v00"),
        (HillClimb(forbidden_edges=[("v000", "v000")]), GraphError, "itself"),
        (HillClimb(tiers=[["v000"], ["v000"]]), GraphError, "two tiers"),
        (HillClimb(tabu=-1), ParameterError, "tabu=-1"),
        (HillClimb(start=3), ParameterError, "start"),
        (HillClimb("bicc"), UnknownNameError, "bic"),
        (GES(K2()), FitError, "score_equivalent"),
        (GES(required_edges=[("v000", "v001")]), FitError, "directions"),
        (StructureSearch(effort="defualt"), UnknownNameError, "default"),
        (K2Search(order=["v000", "v001"]), GraphError, "2 columns"),
    ],
)  # fmt: skip
def test_mistakes_are_named(learner, error, words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        learner.fit(sampled(4, 100, seed=0))
    assert "\n" not in str(caught.value)


# ---- stopping and going on ---------------------------------------------------------------------


def test_a_stopped_search_returns_its_best_and_goes_on(tmp_path: Path) -> None:
    table = sampled(30, 2000, seed=6, edges=2)
    whole = StructureSearch(effort="thorough").fit(table)
    path = tmp_path / "search.ckpt"
    calls = 0

    def interrupt(what: str, done: float, total: float | None) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt

    with warns(StoppedEarly, about="Ctrl-C"):
        part = StructureSearch(effort="thorough", progress=interrupt, checkpoint=path).fit(table)
    assert path.exists()
    empty = score_dag(as_score("bic"), MemoryCounts(table), [()] * 30)
    assert empty < part.score_ <= whole.score_ + 1e-9
    resumed = StructureSearch(effort="thorough", checkpoint=path).fit(table)
    assert not path.exists()
    assert resumed.score_ == whole.score_
    assert set(resumed.graph_.edges) == set(whole.graph_.edges)


@pytest.mark.parametrize("kind", ["reinsert", "knock_out", "knock_out_classes"])
def test_a_pass_that_is_broken_off_goes_back_to_the_last_whole_state(kind) -> None:
    table = sampled(12, 500, seed=5, edges=2)
    engine = SearchEngine(RowCache(MemoryCounts(table), as_score("bic")), no_limits(12))
    start = engine.climb(lists_of(Dag(12, []))).dag
    if kind == "knock_out_classes":
        start = engine.ges(start).dag
    fill, left = engine.cache.fill, [2]

    def stopping(children, families):
        left[0] -= 1
        if left[0] == 0:
            raise Stopped("in the middle")
        return fill(children, families)

    engine.cache.fill = stopping
    more = [1] if kind == "reinsert" else []
    reached = getattr(engine, kind)(start, *more)
    assert reached.stopped
    assert left[0] == 0
    assert dag_of(reached.dag) == dag_of(start)  # the first node brings no gain here


def test_moves_are_counted_and_a_time_limit_stops_inside_one_climb() -> None:
    table = sampled(40, 3000, seed=7, edges=2)
    whole = HillClimb().fit(table)
    assert whole.trace_[0]["moves"] >= whole.model_.dag.n_edges
    engine = SearchEngine(RowCache(MemoryCounts(table), as_score("bic")), no_limits(40))
    ctl, calls = Control(), [0]
    fill = engine.cache.fill

    def cancelling(children, families):
        calls[0] += 1
        if calls[0] > 4:  # the rows of the start, then those of one move each
            ctl.cancel()
        return fill(children, families)

    engine.cache.fill = cancelling
    reached = engine.climb(lists_of(Dag(40, [])), ctl)
    assert reached.stopped
    found = dag_of(reached.dag)  # whole: a DAG, a few moves on
    assert 3 <= found.n_edges < whole.model_.dag.n_edges


def test_a_time_limit_stops_between_moves() -> None:
    table = sampled(40, 3000, seed=7, edges=2)
    HillClimb(restarts=1).fit(table)
    with warns(StoppedEarly, about="time limit"):
        learner = HillClimb(restarts=10_000, perturb=3, time_limit=0.2).fit(table)
    assert 0 < len(learner.trace_) < 10_000

"""Structural EM: networks from rows with missing cells."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import StreamCounts
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError, TableSizeError
from counterpane.evaluate import structural_hamming_distance
from counterpane.graphs import Dag
from counterpane.learners import StoppedEarly
from counterpane.learners.bayesian.structural_em import (
    StructuralEM,
    completed_rows,
)
from counterpane.learners.driver import Driver
from counterpane.scores import BIC, score_dag
from error_checks import raises, warns

NAMES = tuple("abcdefgh")
DAG = Dag(8, [(0, 2), (1, 2), (2, 3), (2, 4), (4, 5), (5, 6), (5, 7)])


def network(seed=0):
    """Eight binary variables, each of them strongly bound to its parents."""
    rng = np.random.default_rng(seed)
    tables = []
    for i in range(8):
        high = rng.permutation(np.linspace(0.05, 0.95, 2 ** len(DAG.parents(i))))
        high = high.reshape([2] * len(DAG.parents(i))) if DAG.parents(i) else np.array(0.5)
        tables.append(np.stack([1 - high, high], axis=-1))
    return cp.BayesianNetwork(Schema([cp.Variable(n, (0, 1)) for n in NAMES]), DAG, tables)


def with_gaps(table, share=0.35, seed=1):
    holes = np.random.default_rng(seed).random(table.codes.shape) < share
    return Table(table.schema, np.where(holes, table.schema.cards[:, None], table.codes))


TRUE = network(1)
TABLE = with_gaps(TRUE.sample(1500, random_state=0))


def same(a, b):
    assert a.model_.dag == b.model_.dag
    assert a.score_ == b.score_
    for x, y in zip(a.model_.tables, b.model_.tables, strict=True):
        assert x.tobytes() == y.tobytes()


# ---- what is found -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [cp.StructureSearch, cp.GES], ids=lambda kind: kind.__name__)
def test_a_network_is_found_where_complete_rows_do_not_show_it(make):
    em = make(missing="em", random_state=0).fit(TABLE).model_
    assert TABLE.resolve_missing("drop").n_rows < 60
    dropped = make(missing="drop").fit(TABLE).model_
    assert structural_hamming_distance(em, TRUE) <= 1
    assert structural_hamming_distance(dropped, TRUE) >= 4
    test = TRUE.sample(4000, random_state=5)
    full = cp.fit_parameters(cp.MemoryCounts(TRUE.sample(1500, random_state=0)), DAG)
    em_fit, best_fit = em.score_samples(test).mean(), full.score_samples(test).mean()
    assert em_fit > best_fit - 0.03
    assert em_fit > dropped.score_samples(test).mean() + 0.2


def test_cells_missing_by_what_others_hold():
    """`a` is lost where `b` is 1: complete rows then say that b is always 0. EM is not misled."""
    schema, dag = Schema.from_cards([2, 2, 2]), Dag(3, [(0, 1), (1, 2)])
    true = cp.BayesianNetwork(
        schema, dag, [[0.4, 0.6], [[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]]
    )
    rows = true.sample(4000, random_state=0)
    codes = rows.codes.copy()
    lost = (codes[1] == 1) & (np.random.default_rng(1).random(4000) < 0.8)
    codes[0, lost] = 2
    learner = cp.HillClimb(missing="em").fit(Table(schema, codes))
    assert structural_hamming_distance(learner.model_, true) == 0
    assert learner.model_.query("x1")[1] == pytest.approx(true.query("x1")[1], abs=0.02)
    dropped = cp.HillClimb(missing="drop").fit(Table(schema, codes))
    assert dropped.model_.query("x1")[1] < true.query("x1")[1] - 0.2


def test_a_hidden_column_becomes_a_cause():
    """Five witnesses of one cause that nobody saw: it explains them better than they do."""
    dag = Dag(6, [(0, i) for i in range(1, 6)])
    seen = [[0.9, 0.1], [0.15, 0.85]]
    true = cp.BayesianNetwork(Schema.from_cards([2] * 6), dag, [[0.45, 0.55], *[seen] * 5])
    rows, test = true.sample(600, random_state=0), true.sample(3000, random_state=1)
    codes = rows.codes.copy()
    codes[0] = 2
    learner = cp.HillClimb(missing="em").fit(Table(rows.schema, codes))
    assert {frozenset(e) for e in learner.model_.dag.edges} == {frozenset(e) for e in dag.edges}
    hidden = test.codes.copy()
    hidden[0] = 2
    hidden_test = Table(rows.schema, hidden)
    ours = learner.model_.query_many("x0", hidden_test).log_evidence.mean()
    truth = true.query_many("x0", hidden_test).log_evidence.mean()
    plain = cp.StructureSearch().fit(rows.select([1, 2, 3, 4, 5])).model_
    assert ours > truth - 0.02
    assert ours > plain.score_samples(test.select([1, 2, 3, 4, 5])).mean() + 0.005
    tree = cp.ChowLiu(missing="em").fit(Table(rows.schema, codes))
    assert {frozenset(e) for e in tree.model_.dag.edges} == {frozenset(e) for e in dag.edges}


def test_a_start_with_a_hidden_column_is_kept_to():
    dag = Dag(3, [(0, 1), (0, 2)])
    schema = Schema.from_cards([2, 2, 2])
    tables = [[0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]]]
    true = cp.BayesianNetwork(schema, dag, tables)
    codes = true.sample(500, random_state=0).codes.copy()
    codes[0] = 2
    learner = cp.HillClimb(missing="em", required_edges=[("x0", "x1")]).fit(Table(schema, codes))
    assert learner.trace_[0] == {**learner.trace_[0], "stage": "first", "edges": 1}
    assert ("x0", "x1") in learner.graph_.edges


def test_results_are_those_of_the_expected_counts():
    learner = cp.HillClimb(missing="em").fit(TABLE)
    model = learner.model_
    stages = [record["stage"] for record in learner.trace_]
    assert stages[0] == "first"
    n_searches = stages.count("search")
    assert stages[1 : 1 + n_searches] == ["search"] * n_searches
    assert 2 <= n_searches < 10
    runs, kinds = [[]], {"parameters", "prune"}
    for record in learner.trace_[1 + n_searches :]:  # EM, and again without the weakest edges
        assert record["stage"] in kinds
        if record["stage"] == "prune":
            runs.append([])
        else:
            runs[-1].append(record["log_likelihood"])
    assert runs.pop() == [] and len(runs[0]) >= 2  # the last look at edges drops none
    assert all((np.diff(fits) > -1e-6).all() for fits in runs)
    rows = completed_rows(TABLE, model, most=2**8, seed=0)
    parents = [model.dag.parents(i) for i in range(8)]
    exact = score_dag(BIC(), cp.MemoryCounts(rows), parents)
    assert learner.score_ == pytest.approx(exact, rel=2e-3)
    assert {edge.ends for edge in learner.gains_} == set(learner.graph_.edges)
    again = cp.fit_parameters_em(TABLE, model.dag, start=model, max_steps=2)
    for ours, theirs in zip(model.tables, again.tables, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_without_missing_cells_nothing_changes():
    table = TRUE.sample(300, random_state=2)
    for kind in (cp.HillClimb, cp.ChowLiu):
        same(kind(missing="em").fit(table), kind().fit(table))


def test_the_seed_decides():
    a, b = (cp.HillClimb(missing="em", random_state=3).fit(TABLE) for _ in range(2))
    same(a, b)
    other = cp.HillClimb(missing="em", random_state=4).fit(TABLE)
    assert other.score_ != a.score_
    same(
        cp.HillClimb(missing="em").fit(TABLE), cp.HillClimb(missing="em", random_state=0).fit(TABLE)
    )


def test_constraints_hold():
    learner = cp.StructureSearch(
        missing="em", required_edges=[("h", "a")], forbidden_edges=[("c", "d"), ("d", "c")]
    ).fit(TABLE)
    assert ("h", "a") in learner.graph_.edges
    assert not {("c", "d"), ("d", "c")} & set(learner.graph_.edges)
    ordered = cp.HillClimb(missing="em", tiers=[["h", "g"], list("abcdef")]).fit(TABLE)
    assert all(p in "gh" for x in "gh" for p in ordered.graph_.predecessors(x))
    k2 = cp.K2Search(order=list("hgfedcba"), missing="em").fit(TABLE)
    assert all(p > x for p, x in k2.graph_.edges)
    tree = cp.ChowLiu(missing="em", root="e").fit(TABLE)
    assert list(tree.graph_.predecessors("e")) == []
    tan = cp.ChowLiu(missing="em", target="c").fit(TABLE)
    assert set(tan.graph_.successors("c")) == set("abdefgh")


def test_a_start_is_the_first_structure():
    learner = cp.HillClimb(missing="em", start=TRUE).fit(TABLE)
    assert learner.trace_[0]["edges"] == DAG.n_edges
    assert cp.HillClimb(missing="em").fit(TABLE).trace_[0]["edges"] > DAG.n_edges


@pytest.mark.parametrize("reason", ["cells", "table"])
def test_a_first_structure_that_is_too_wide_gets_fewer_parents(monkeypatch, reason):
    calls = []
    source = cp.MemoryCounts(TABLE)

    def first(most_parents, ctl):
        calls.append(most_parents)
        return Dag(8, [(0, 1)] if most_parents == 2 else [(i, 7) for i in range(7)])

    search = StructuralEM(source, BIC(), None, first, Dag(8), size=1.0, seed=0)
    inner = StructuralEM.em

    def em(self, dag):
        if calls and calls[-1] == 4 and reason == "table":
            raise cp.errors.TableSizeError("too wide")
        return inner(self, dag)

    monkeypatch.setattr(StructuralEM, "em", em)
    monkeypatch.setattr("counterpane.learners.bayesian.structural_em.FIRST_CELLS", 10.5)
    assert search._first(None).dag.n_edges == 1
    assert calls == [4, 2]


def test_a_search_that_finds_worse_is_the_last():
    """The network found before is kept, and its parameters are finished."""
    offers = [DAG, Dag(8)]
    empty = Dag(8)
    search = StructuralEM(
        cp.MemoryCounts(TABLE), BIC(), lambda *_: offers.pop(0), lambda *_: empty, empty, size=1.0,
        seed=0,
    )  # fmt: skip
    outcome = Driver(TABLE.schema).run(search, "em")
    assert offers == []
    assert search.model(outcome.state).dag == DAG
    searches = [r for r in outcome.trace if r["stage"] == "search"]
    assert [r["edges"] for r in searches] == [7, 7]
    assert searches[1]["score"] > searches[0]["score"]  # of rows completed with it, not without


# ---- stopping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_interrupted_and_resumed(tmp_path, monkeypatch, steps):
    whole = cp.HillClimb(missing="em", required_edges=[("h", "a")]).fit(TABLE)
    path = tmp_path / "em.cp"
    inner = StructuralEM.step
    made = []

    def step(self, state, ctl):
        if len(made) == steps:
            raise KeyboardInterrupt
        made.append(1)
        return inner(self, state, ctl)

    learner = cp.HillClimb(missing="em", required_edges=[("h", "a")], checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(StructuralEM, "step", step)
        with warns(StoppedEarly, about="structural"):
            partial = learner.fit(TABLE)
    assert ("h", "a") in partial.graph_.edges
    assert partial.graph_.number_of_edges() == (
        1 if steps < 2 else partial.graph_.number_of_edges()
    )
    assert np.isfinite(partial.score_)
    same(learner.fit(TABLE), whole)
    assert not path.exists()


def test_a_time_limit_is_heard():
    with warns(StoppedEarly, about="time limit"):
        learner = cp.StructureSearch(missing="em", time_limit=1e-6).fit(TABLE)
    assert learner.graph_.number_of_edges() == 0
    assert np.isfinite(learner.model_.score_samples(TRUE.sample(5, random_state=0))).all()


def test_progress():
    seen = []
    cp.HillClimb(missing="em", progress=lambda *told: seen.append(told)).fit(TABLE)
    assert {what for what, _, _ in seen} == {"structural EM"}
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


# ---- refusals ------------------------------------------------------------------------------------


def test_rows_of_a_source_are_completed_where_they_fit(monkeypatch):
    stream = StreamCounts(TABLE.schema, lambda: [TABLE])
    for kind in (cp.HillClimb, cp.ChowLiu):
        same(kind(missing="em").fit(stream), kind(missing="em").fit(TABLE))
    monkeypatch.setattr("counterpane.counts.source.MAX_ROW_BYTES", 100)
    with raises(TableSizeError, about="distinct"):
        cp.HillClimb(missing="em").fit(stream)
    table = TRUE.sample(300, random_state=2)
    stream = StreamCounts(table.schema, lambda: [table])
    same(cp.HillClimb(missing="em").fit(stream), cp.HillClimb().fit(table))


@pytest.mark.parametrize("kind", [cp.ExactPosterior, cp.OrderMCMC])
@pytest.mark.parametrize("missing", ["em", "available"])
def test_learners_that_cannot_do_it_say_so(kind, missing):
    message = f"missing='{missing}'; {kind.__name__} takes 'auto', 'state', 'drop' or 'error'"
    with pytest.raises(ParameterError, match=message):
        kind(missing=missing).fit(TABLE)

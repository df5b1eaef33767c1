"""StructureSearch of wide tables: quality, bad input, stops, and equal results for any n_jobs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.bayesian import wide_search
from counterpane.progress import Control, Stopped
from counterpane.scores import score_families

N, ROWS = 260, 600


@pytest.fixture(autouse=True)
def _wide_from_a_hundred_columns(monkeypatch):
    monkeypatch.setattr(wide_search, "WIDE", 100)


def table_of(states=2, n=N, rows=ROWS, seed=0):
    """A table of a random network with up to two parents a column, and its edges."""
    rng = np.random.default_rng(seed)
    codes, edges = np.zeros((n, rows), dtype=np.uint8), set()
    for v in range(n):
        parents = rng.choice(v, min(v, rng.integers(0, 3)), replace=False) if v else []
        config = np.zeros(rows, dtype=np.int64)
        for p in parents:
            config = config * states + codes[p]
            edges.add((int(p), v))
        tables = rng.dirichlet(np.full(states, 0.5), states ** len(parents)).cumsum(axis=1)
        codes[v] = (rng.random(rows)[:, None] > tables[config, :-1]).sum(axis=1)
    return cp.Table(cp.Schema.from_cards([states] * n), codes), edges


def shares(learner, edges):
    """(precision, recall) of the skeleton."""
    true = {frozenset(e) for e in edges}
    names = learner.model_.schema.names
    kept = {frozenset(map(names.index, edge.ends)) for edge in learner.gains_}
    return len(kept & true) / len(kept), len(kept & true) / len(true)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
@pytest.mark.parametrize("states", [2, 3, 5])
def test_few_edges_are_false(states, score):
    table, edges = table_of(states)
    learner = cp.StructureSearch(score).fit(table)
    precision, recall = shares(learner, edges)
    assert learner.method_ == "screened"
    assert precision > 0.9
    assert recall > 0.45
    plain = cp.StructureSearch(score, false_edges=None).fit(table)
    assert shares(plain, edges)[0] <= precision


def test_wide_and_dense_searches_agree(monkeypatch):
    table, edges = table_of()
    wide = cp.StructureSearch(false_edges=None, effort="thorough").fit(table)
    monkeypatch.setattr(wide_search, "WIDE", 1_000)
    dense = cp.StructureSearch(false_edges=None).fit(table)
    assert (wide.method_, dense.method_) == ("wide", "dense")
    assert wide.score_ == pytest.approx(dense.score_, rel=2e-3)
    assert shares(wide, edges) == pytest.approx(shares(dense, edges), abs=0.03)
    families = [(x, list(wide.model_.dag.parents(x))) for x in range(N)]
    by_counts = score_families(cp.BIC(), cp.MemoryCounts(table), families).sum()
    assert wide.score_ == pytest.approx(by_counts)


def test_where_columns_are_functions_every_column_is_tried(monkeypatch):
    """Genotypes of three states from two alleles each, of which others are copies with noise."""
    rng = np.random.default_rng(3)
    table, _ = table_of(n=120, rows=500)
    alleles = rng.integers(0, 2, (60, 500))
    alleles[2::3] = np.where(rng.random((20, 500)) < 0.5, alleles[::3], alleles[1::3])
    codes = np.concatenate([table.codes, alleles, alleles[::2] + alleles[1::2]]).astype(np.uint8)
    mixed = cp.Table(cp.Schema.from_cards([2] * 180 + [3] * 30), codes)
    learner = cp.StructureSearch().fit(mixed)
    assert learner.method_ == "wide"
    assert [r["stage"] for r in learner.trace_].count("search") == 2
    monkeypatch.setattr(wide_search, "EVERY_COLUMN", 150)
    screened = cp.StructureSearch().fit(mixed)
    assert screened.method_ == "screened"
    assert learner.score_ >= screened.score_


def test_results_do_not_depend_on_threads_order_or_weights():
    table, _ = table_of(n=150)
    first = cp.StructureSearch().fit(table)
    assert cp.StructureSearch(n_jobs=3).fit(table).gains_ == first.gains_
    turned = table.select(list(range(150))[::-1])
    assert set(cp.StructureSearch().fit(turned).gains_) == set(first.gains_)
    twice = cp.Table(table.schema, table.codes, np.full(ROWS, 2))
    doubled = cp.Table(table.schema, np.tile(table.codes, 2))
    assert cp.StructureSearch().fit(twice).gains_ == cp.StructureSearch().fit(doubled).gains_


def test_real_weights(monkeypatch):
    table, edges = table_of(n=120, rows=300)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 1.5], 300)
    weighted = cp.StructureSearch().fit(cp.Table(table.schema, table.codes, weights))
    assert weighted.method_ == "screened"
    assert shares(weighted, edges)[0] > 0.85
    # Weights that are all the same real number are a rescaled table.
    half = cp.Table(table.schema, np.tile(table.codes, 2), np.full(600, 0.5))
    gains = {e.ends: e.strength for e in cp.StructureSearch().fit(half).gains_}
    whole = {e.ends: e.strength for e in cp.StructureSearch().fit(table).gains_}
    assert gains == pytest.approx(whole)


def test_missing_cells_are_a_state():
    table, _ = table_of(n=120)
    codes = table.codes.copy()
    codes[np.random.default_rng(1).random(codes.shape) < 0.05] = 2
    learner = cp.StructureSearch().fit(cp.Table(table.schema, codes))
    assert learner.missing_ == "state"
    assert "EM is for tables" in learner.missing_note_
    assert learner.method_ == "screened"
    assert len(learner.gains_) > 40


def test_a_hub_and_copies_of_a_column():
    rng = np.random.default_rng(2)
    rows = 400
    hub = rng.integers(0, 2, rows)
    around = [hub ^ (rng.random(rows) < 0.2) for _ in range(160)]
    copied = rng.integers(0, 2, rows)
    copies = [copied.copy() for _ in range(30)]
    near = [copied ^ (rng.random(rows) < 0.01) for _ in range(30)]
    noise = list(rng.integers(0, 2, (40, rows)))
    codes = np.array([hub, *around, *copies, *near, *noise], dtype=np.uint8)
    learner = cp.StructureSearch().fit(cp.Table(cp.Schema.from_cards([2] * len(codes)), codes))
    graph = learner.model_.dag
    joined = [v for v in range(1, 161) if graph.has_edge(0, v) or graph.has_edge(v, 0)]
    assert len(joined) > 100
    of_noise = sum(v >= 221 or u >= 221 for u, v in graph.edges)
    assert of_noise <= 3
    assert graph.n_edges < 2 * len(codes)


def test_constants_and_codes_with_a_state_for_each_row():
    table, _ = table_of(n=110, rows=200)
    codes = np.concatenate([table.codes.astype(np.uint16), np.zeros((20, 200), np.uint16)])
    codes = np.concatenate([codes, np.arange(200, dtype=np.uint16)[None]])
    schema = cp.Schema.from_cards([2] * 110 + [1] * 10 + [2] * 10 + [200])
    learner = cp.StructureSearch().fit(cp.Table(schema, codes))
    assert max((max(e) for e in learner.model_.dag.edges), default=0) < 110
    assert len(learner.gains_) > 20


def test_stops_return_the_network_so_far(tmp_path):
    table, _ = table_of(n=200, rows=300)
    whole = cp.StructureSearch().fit(table)
    path = tmp_path / "wide.cpz"
    with pytest.warns(cp.StoppedEarly):
        early = cp.StructureSearch(time_limit=1e-9, checkpoint=path).fit(table)
    assert early.model_.dag.n == 200
    assert path.exists()
    resumed = cp.StructureSearch(checkpoint=path).fit(table)
    assert resumed.gains_ == whole.gains_
    assert not path.exists()


def test_a_search_that_is_stopped_keeps_its_moves():
    table, _ = table_of(n=200)
    source = cp.MemoryCounts(table)
    data = wide_search.wide_data(source, cp.BIC(), 0.02, 10, np.arange(200))
    search = wide_search.WideSearch(data, effort="default", n_jobs=1)
    state = search.start()
    while search.plan[state.steps][0] != "search":
        state, _ = search.step(state, Control())
    whole, _ = search.step(state, Control())
    looks = iter(range(10**9))

    class Late(Control):
        def check(self):
            if next(looks) >= 1:
                raise Stopped("time limit")

    control = Late()
    with control.watching(), warnings.catch_warnings():
        part, record = search.step(state, control)
    assert len(part.parents) <= len(whole.parents)
    assert record["edges"] == len(part.parents)
    cp.Dag.from_lists(part.parents_from, part.parents)  # raises on a cycle


def test_bootstrap_follows():
    table, _ = table_of(n=110, rows=300)
    samples = cp.bootstrap(cp.StructureSearch(), table, n=3, random_state=0)
    plain = cp.bootstrap(cp.StructureSearch(false_edges=None), table, n=3, random_state=0)
    assert len(samples.edges) < len(plain.edges)


@pytest.mark.parametrize("most", [1, 3, 6])
def test_strongest_pairs_are_among_the_strongest_of_one_column(most):
    rng = np.random.default_rng(most)
    pairs = np.unique(np.sort(rng.integers(0, 25, (150, 2)), axis=1), axis=0)
    pairs = rng.permutation(pairs[pairs[:, 0] < pairs[:, 1]])
    gains = rng.random(len(pairs))
    kept, theirs = wide_search.strongest_pairs(pairs, gains, 25, most)
    expected = set()
    for v in range(25):
        own = [(g, *p) for p, g in zip(pairs.tolist(), gains.tolist(), strict=True) if v in p]
        expected |= {(a, b, g) for g, a, b in sorted(own, reverse=True)[:most]}
    assert list(map(tuple, kept.tolist())) == sorted((a, b) for a, b, _ in expected)
    assert theirs.tolist() == [g for _, _, g in sorted(expected)]


def test_constraints_hold_at_any_width(monkeypatch):
    """Required, forbidden and tiered edges, candidates and a start, beside the dense search."""
    table, _ = table_of(seed=5)
    names = table.schema.names
    plain = cp.StructureSearch().fit(table)
    edges = sorted(plain.graph_.edges)
    constraints = {
        "required_edges": [(names[3], names[90])],
        "forbidden_edges": [edges[0], edges[0][::-1], edges[1]],
        "tiers": [names[:40], names[40:]],
    }
    limited = cp.StructureSearch(**constraints).fit(table)
    assert limited.method_ in ("screened", "wide")
    found = set(limited.graph_.edges)
    assert (names[3], names[90]) in found
    assert not found & set(constraints["forbidden_edges"])
    place = {name: k for k, name in enumerate(names)}
    assert all(place[p] < 40 or place[x] >= 40 for p, x in found)
    monkeypatch.setattr(wide_search, "WIDE", 10_000)
    dense = cp.StructureSearch(**constraints).fit(table)
    assert dense.method_ == "dense"
    assert limited.score_ >= dense.score_ - 0.001 * abs(dense.score_)
    assert limited.score_ < plain.score_


def test_candidates_and_a_start_at_any_width():
    table, _ = table_of(seed=6)
    plain = cp.StructureSearch().fit(table)
    pairs = {p: [x for q, x in plain.graph_.edges if q == p] for p in plain.graph_.nodes}
    among = cp.StructureSearch(candidates={k: v for k, v in pairs.items() if v}).fit(table)
    assert among.method_ in ("screened", "wide")
    skeleton = {frozenset(edge) for edge in plain.graph_.edges}
    assert {frozenset(edge) for edge in among.graph_.edges} <= skeleton
    again = cp.StructureSearch(start=plain.model_, effort="fast").fit(table)
    assert again.score_ >= plain.score_ - 1e-6

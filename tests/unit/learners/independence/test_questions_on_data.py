"""GSMN, GSIMN and PFMN on sampled Markov networks: right graphs, few questions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError
from counterpane.graphs import UndirectedGraph
from counterpane.learners.independence.inference_rules import PairTableRules, PairTables
from error_checks import raises

LEARNERS = {
    "GSMN": lambda **options: cp.GSMN(**options),
    "GSIMN": lambda **options: cp.GSIMN(**options),
    "PFMN": lambda **options: cp.PFMN(random_state=0, **options),
}
every = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def sampled(edges, n, rows, seed, strength=2.0):
    """Rows of an Ising model with this log-odds ratio an edge, drawn from its whole table."""
    rng = np.random.default_rng(seed)
    spins = np.array(list(itertools.product((-1, 1), repeat=n)))
    signs = rng.choice([-1.0, 1.0], len(edges))
    weights = strength / 4 * signs
    energy = (spins[:, [a for a, _ in edges]] * spins[:, [b for _, b in edges]]) @ weights
    p = np.exp(energy - energy.max())
    chosen = rng.choice(len(p), rows, p=p / p.sum())
    return Table(Schema.from_cards([2] * n), (spins[chosen].T > 0).astype(np.uint8))


GRID = [(i, i + 1) for i in range(12) if i % 4 < 3] + [(i, i + 4) for i in range(8)]


def f1(learner, edges):
    right = len(set(learner.undirected_.edges) & set(edges))
    return 2 * right / max(len(learner.undirected_.edges) + len(edges), 1)


@every
@pytest.mark.parametrize("rows", [2000, 20_000])
def test_a_grid_is_found(make, rows):
    """As published, GSIMN found a fifth of these edges and PFMN joined everything."""
    learner = make(potentials=False).fit(sampled(GRID, 12, rows, 0))
    assert f1(learner, GRID) >= 0.95
    assert learner.contradictions_ <= 0.03


def test_inference_saves_tests_at_the_same_graph():
    for seed in range(3):
        table = sampled(GRID, 12, 5000, seed)
        plain, inferring, reading = (
            make(potentials=False).fit(table) for make in LEARNERS.values()
        )
        assert f1(inferring, GRID) >= f1(plain, GRID) - 0.03
        assert inferring.cost_ < 0.75 * plain.cost_
        assert reading.cost_ <= inferring.cost_
        assert reading.table_cost_ < 0.35 * plain.cost_


def test_the_share_of_contradictions_tells_a_wrong_graph():
    table = sampled(GRID, 12, 20_000, 0)
    printed = cp.GSIMN("bayesian", variant="paper", potentials=False).fit(table)
    default = cp.GSIMN(potentials=False).fit(table)
    assert f1(printed, GRID) < f1(default, GRID) - 0.3
    assert printed.contradictions_ > 0.3 > 0.03 > default.contradictions_


def test_edge_probabilities_rank_the_edges():
    edges = [(a, b) for a, b in itertools.combinations(range(10), 2) if (a * b) % 4 == 1]
    learner = cp.PFMN(random_state=0, potentials=False).fit(sampled(edges, 10, 2000, 1, 1.0))
    odds, true = learner.edge_log_odds_, np.zeros((10, 10), dtype=bool)
    true[tuple(np.transpose(edges))] = True
    upper = np.triu_indices(10, 1)
    above, below = odds[upper][true[upper]], odds[upper][~true[upper]]
    assert (above[:, None] > below).mean() > 0.95
    chances = learner.edge_probabilities_
    assert np.array_equal(chances, chances.T) and not chances.diagonal().any()
    assert {(a, b) for a, b in np.argwhere(np.triu(chances > 0.5)).tolist()} == set(
        learner.undirected_.edges
    )


@every
def test_independent_columns_stay_apart(make):
    """BIC at 1,000 rows is a level of .0086: of 720 pairs 6 are expected, and 12 are rare."""
    edges = [make(potentials=False).fit(sampled([], 9, 1000, seed)).undirected_.edges
             for seed in range(20)]  # fmt: skip
    assert sum(map(len, edges)) <= 12


@every
def test_columns_may_have_prices(make):
    """Columns of one site are cheap together, and dear with those of another."""
    table = sampled(GRID, 12, 2000, 0)
    sites = {name: i % 4 < 2 for i, name in enumerate(table.schema.names)}

    def price(columns):
        return len(columns) * (1 if len({sites[c] for c in columns}) == 1 else 10)

    learner = make(cost=price, potentials=False).fit(table)
    assert learner.cost_ == sum(price((t.x, t.y, *t.given)) for t in learner.tests_)
    assert learner.cost_ == sum(t.cost for t in learner.tests_)
    assert learner.cost_ > 12 * 11 and learner.table_cost_ > learner.n_tables_
    assert f1(learner, GRID) > 0.9


# ---- interactions of three columns ---------------------------------------------------------------


def xor_table():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, 5000))
    z = x ^ y ^ (rng.random(5000) < 0.1)
    return Table(Schema.from_cards([2] * 5), np.array([x, y, z, *rng.integers(0, 2, (2, 5000))]))


@every
def test_xor_needs_a_second_look(make):
    assert not make().fit(xor_table()).undirected_.edges
    learner = make(interactions=True).fit(xor_table())
    assert set(learner.undirected_.edges) == {(0, 1), (0, 2), (1, 2)}
    assert learner.cost_ == 20 + 10 * 3  # all pairs, all triples
    assert learner.n_tests_ == 20 == len(learner.tests_)


# ---- what is inferred ----------------------------------------------------------------------------


def test_executed_tests_outrank_what_is_read():
    tables = PairTables.of(cp.MemoryCounts(sampled(GRID, 12, 5000, 0)))
    margins = PairTableRules(tables)
    assert margins.infer(0, 1, 0) is False and margins.infer(0, 11, 1 << 1 | 1 << 4) is True
    margins.add(0, 11, 1 << 1 | 1 << 4 | 1 << 5, False)
    assert margins.infer(11, 0, 1 << 1 | 1 << 4) is False  # dependent given more
    margins.add(0, 1, 0, True)
    assert margins.infer(1, 0, 0) is True and margins.infer(0, 1, 0, False) is True
    assert margins.infer(2, 7, 0, True) is True


def test_what_is_read_is_never_a_premise():
    margins = PairTableRules(PairTables.of(cp.MemoryCounts(sampled(GRID, 12, 5000, 0))))
    margins.infer(0, 1, 0)
    assert not margins._executed


def test_pair_tables_are_the_covariance_of_indicators():
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, 3, 400), rng.integers(0, 2, 400), np.zeros(400, int)])
    tables = PairTables.of(cp.MemoryCounts(Table(Schema.from_cards([4, 2, 2]), codes)))
    assert tables.starts.tolist() == [0, 2, 3, 3]  # states that do not occur are left out
    columns = np.array([codes[0] == 1, codes[0] == 2, codes[1] == 1])
    expected = np.cov(columns, bias=True) * 400
    expected[:2, :2] += np.eye(2) / 3 - 1 / 9
    expected[2, 2] += 1 / 2 - 1 / 4
    np.testing.assert_allclose(tables.sigma, expected / 401, atol=1e-12)


# ---- budgets, checkpoints, nonsense --------------------------------------------------------------


def test_budgets_are_kept():
    table = sampled(GRID, 12, 20_000, 2)
    free = cp.PFMN(random_state=0, min_gain=0.0, potentials=False).fit(table)
    assert free.cost_ > 140
    bounded = cp.PFMN(random_state=0, min_gain=0.0, max_cost=140, potentials=False).fit(table)
    assert 132 < bounded.cost_ <= 140
    assert cp.PFMN(max_tests=67, min_gain=0.0, potentials=False).fit(table).n_tests_ <= 67
    with raises(ParameterError, parameter="max_cost", value=100):
        cp.PFMN(max_cost=100).fit(table)


def test_nonsense_is_refused():
    table = cp.load_dataset("titanic")
    with raises(ParameterError, parameter="variant", value="papers"):
        cp.GSMN(variant="papers").fit(table)
    with raises(ParameterError, parameter="table_cells", value=2):
        cp.GSIMN(table_cells=2).fit(table)


def test_an_oracle_is_asked_as_published():
    chain = UndirectedGraph(6, [(i, i + 1) for i in range(5)])
    nothing = Table(Schema.from_cards([2] * 6), np.zeros((6, 1), dtype=np.uint8))
    for make in (cp.GSMN, cp.GSIMN):
        ways = [make(test=cp.Oracle(chain), variant=v, potentials=False).fit(nothing)
                for v in ("default", "paper")]  # fmt: skip
        assert ways[0].undirected_ == ways[1].undirected_ == chain
        assert ways[0].tests_ == ways[1].tests_

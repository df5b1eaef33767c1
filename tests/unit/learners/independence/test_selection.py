"""One test for all particles at once, information and resampling, against the slow way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane._core import learn_independence as kernels
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import mask, members, n_words
from counterpane.learners.independence import particles
from counterpane.learners.independence.particles import (
    Population,
    draw_graphs,
    next_limit,
    systematic_resample,
    x_log_x,
)
from counterpane.learners.independence.selection import (
    StartSets,
    TableLimit,
    deciding_sets,
    select_test,
)
from reference.particles_reference import (
    all_pairs,
    entropy_within,
    information,
    log_likelihood,
)


def random_graphs(n, size, seed):
    rng = np.random.default_rng(seed)
    pairs = all_pairs(n)
    return [
        frozenset(pairs[k] for k in rng.permutation(len(pairs))[: rng.integers(0, 3 * n)])
        for _ in range(size)
    ]


def bits_of(graphs, n):
    return np.array([UndirectedGraph(n, [tuple(e) for e in g]).neighbor_bits for g in graphs])


def random_question(n, rng):
    a, b, *rest = rng.permutation(n).tolist()
    return min(a, b), max(a, b), tuple(sorted(rest[: rng.integers(0, n - 1)]))


def make(graphs, n, tests=(), gaps=(), **options):
    pairs = np.array([t[:2] for t in tests], dtype=np.int64).reshape(-1, 2)
    given = np.array([mask(n, t[2]) for t in tests], dtype=np.uint64).reshape(-1, n_words(n))
    gaps = np.array(gaps, dtype=np.float64)
    return Population(bits_of(graphs, n), pairs, given, gaps, moves=5, **options)


def edges_of(population):
    edges = np.zeros((population.n, population.n, n_words(population.n_particles)), np.uint64)
    kernels.spread_edges(population.graphs, edges)
    return edges


@pytest.mark.parametrize("seed", range(4))
def test_information_is_counted_within_classes(seed):
    n, size = 5, 90
    rng = np.random.default_rng(seed)
    graphs = random_graphs(n, size, seed)
    tests = [random_question(n, rng) for _ in range(seed)]
    population = make(graphs, n, tests, np.ones(seed))
    grouping = population.group()
    assert grouping.entropy == pytest.approx(entropy_within(graphs, tests), abs=1e-12)
    assert grouping.n_graphs == len(set(graphs))
    edges = edges_of(population)
    found, waiting = np.empty((n, edges.shape[2]), np.uint64), np.empty(n, np.bool_)
    for asked in [*tests, *(random_question(n, rng) for _ in range(12))]:
        a, b, given = asked
        kernels.reach(edges, mask(n, given), a, found, waiting)
        told = kernels.gain(found[b], grouping.bounds, x_log_x(size))
        assert told == pytest.approx(information(graphs, tests, asked), abs=1e-12)
        assert asked not in tests or told == 0.0  # an executed test tells nothing more


def choice_of(population, *, score="gain", limit=None, seed=0):
    n = population.n
    grouping = population.group()
    start_sets = StartSets(np.zeros(0, np.int64), np.zeros((0, n_words(n)), np.uint64))
    limit = limit or TableLimit(np.full(n, math.log(2)), math.inf)
    return select_test(
        population, grouping, start_sets, np.random.default_rng(seed), score=score, limit=limit
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_chosen_test_is_the_best_of_all(seed):
    n = 5
    graphs = random_graphs(n, 80, seed)
    choice = choice_of(make(graphs, n))
    asked = (*choice.pair, members(choice.given))
    assert choice.gain == pytest.approx(information(graphs, [], asked), abs=1e-12)
    assert choice.cost == len(asked[2]) + 2
    every = [
        (a, b, tuple(v for v in range(n) if code >> v & 1))
        for a in range(n) for b in range(a + 1, n) for code in range(2**n)
        if not code >> a & 1 and not code >> b & 1
    ]  # fmt: skip
    best = max(information(graphs, [], q) / (len(q[2]) + 2) for q in every)
    assert choice.gain / choice.cost == pytest.approx(best, rel=1e-9)


def test_the_literal_score_prefers_dear_tests():
    graphs = random_graphs(6, 80, seed=1)
    assert choice_of(make(graphs, 6), score="entropy").cost > choice_of(make(graphs, 6)).cost


def test_tables_have_room():
    n = 6
    graphs = random_graphs(n, 80, seed=2)
    cards = np.array([2.0, 3.0, 2.0, 4.0, 2.0, 3.0])
    for cells in (16.0, 50.0, 200.0):
        limit = TableLimit(np.log(cards), math.log(cells))
        for seed in range(5):
            choice = choice_of(make(graphs, n), score="entropy", limit=limit, seed=seed)
            scope = [*choice.pair, *members(choice.given)]
            assert np.prod(cards[scope]) <= cells * (1 + 1e-9)
    trimmed = limit.trimmed(
        StartSets(np.array([0]), mask(n, range(1, n))[None]), np.random.default_rng(0)
    )
    assert 0 < len(members(trimmed.sets[0])) < n - 1
    assert choice_of(make(graphs, n), limit=TableLimit(np.log(cards), 0.0)) is None


def test_two_graphs_of_a_class_can_be_told_apart():
    n = 6
    chain = frozenset(frozenset((i, i + 1)) for i in range(n - 1))
    other = chain | {frozenset((0, 2))}
    population = make([chain, other] * 3, n, [(0, 5, ())], [-3.0])
    start_sets = deciding_sets(population, population.group())
    told = [
        information([chain, other], [], (a, b, tuple(set(members(s)) - {a, b})))
        for a, s in zip(start_sets.starts.tolist(), start_sets.sets, strict=True)
        for b in range(n) if b != a
    ]  # fmt: skip
    assert max(told) == 1.0
    assert choice_of(population).gain == 1.0


def test_systematic_resampling_is_as_even_as_can_be():
    rng = np.random.default_rng(0)
    weights = rng.random(50) ** 3
    expected = 50 * weights / weights.sum()
    totals = np.zeros(50)
    for _ in range(400):
        kept = systematic_resample(rng, np.log(weights) + 7.0)
        counts = np.bincount(kept, minlength=50)
        assert (counts >= np.floor(expected)).all() and (counts <= np.ceil(expected)).all()
        totals += counts
    assert totals / 400 == pytest.approx(expected, abs=0.15)


def test_a_surprising_test_is_let_in_little_by_little():
    wrong = np.ones((100, 1))
    wrong[:3] = 0.0
    limit, log_weights = next_limit(wrong, np.array([30.0]), 0.0, 30.0)
    weights = np.exp(log_weights)
    assert 0.0 < limit < 10.0
    assert weights.sum() ** 2 / (weights**2).sum() == pytest.approx(
        particles.MIN_EFFECTIVE_SHARE * 100, rel=1e-6
    )
    assert next_limit(1.0 - wrong, np.array([30.0]), 0.0, 30.0)[0] == 30.0


def test_absorbed_tests_count_in_full():
    n = 5
    rng = np.random.default_rng(1)
    population = make(random_graphs(n, 60, seed=3), n)
    tests, gaps = [], []
    for _ in range(8):
        tests.append(random_question(n, rng))
        gaps.append(float(rng.normal(0.0, 3.0)))
        population.absorb(tests[-1][:2], mask(n, tests[-1][2]), gaps[-1], rng)
    for again in (False, True):
        if again:
            population.renew(rng)
        for rows, total in zip(population.graphs, population.totals, strict=True):
            graph = frozenset(frozenset(e) for e in UndirectedGraph.from_bits(rows).edges)
            assert total == pytest.approx(log_likelihood(graph, tests, gaps), abs=1e-9)


@pytest.mark.parametrize("prior", ["sparse", "graphs"])
def test_first_graphs_come_from_the_prior(prior):
    graphs = draw_graphs(np.random.default_rng(0), 4000, 4, prior)
    sizes = np.bitwise_count(graphs).sum(axis=(1, 2)) // 2
    chances = {
        "sparse": [1 / (k + 1) ** 2 for k in range(7)],
        "graphs": [math.comb(6, k) for k in range(7)],
    }[prior]
    shares = np.bincount(sizes.astype(np.int64), minlength=7) / 4000
    assert shares == pytest.approx(np.array(chances) / sum(chances), abs=0.03)

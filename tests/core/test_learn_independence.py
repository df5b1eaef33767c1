"""The kernels of particles beside graphs as Python sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane._core import learn_independence
from reference import partial_reference
from reference.core_learn_independence import (
    bit_row,
    bit_rows,
    conditioning_sets,
    graph_of,
    members_of,
    pair_of,
    reachable,
)
from reference.particles_reference import all_pairs, information, is_separated

SIZES = [5, 66]
SHARES = np.array([0.4, 0.15, 0.3])


def random_graphs(rng, n, size):
    pairs = all_pairs(n)
    numbers = [int(rng.integers(0, min(len(pairs), 2 * n))) for _ in range(size)]
    return [frozenset(pairs[i] for i in rng.permutation(len(pairs))[:k]) for k in numbers]


def random_test(rng, n):
    a, b, *rest = rng.permutation(n).tolist()
    return a, b, tuple(rest[: rng.integers(0, min(n - 1, 6))])


class Particles:
    """Random graphs and tests, as arrays and as sets."""

    def __init__(self, n, seed, size=6, n_tests=5):
        rng = np.random.default_rng(seed)
        self.n, self.rng = n, rng
        self.before = random_graphs(rng, n, size)
        self.asked = [random_test(rng, n) for _ in range(n_tests)]
        self.graphs = np.array([bit_rows(g, n) for g in self.before])
        words = self.graphs.shape[2]
        pairs = np.array([t[:2] for t in self.asked], np.int64).reshape(-1, 2)
        given = np.array([bit_row(t[2], n) for t in self.asked], np.uint64).reshape(-1, words)
        self.tests = learn_independence.Tests(pairs, given, rng.normal(size=(n_tests, 2)))
        self.reached = np.zeros((size, n_tests + 2, 2, words), np.uint64)
        self.totals = np.zeros(size)
        learn_independence.measure(self.graphs, self.tests, 0, self.reached, self.totals)
        self.sizes = np.array([len(g) for g in self.before])
        self.log_prior = rng.normal(size=math.comb(n, 2) + 1)

    def log_likelihood(self, graph):
        said = [int(b in reachable(graph, a, given)) for a, b, given in self.asked]
        return sum(float(logs[s]) for logs, s in zip(self.tests.logs, said, strict=True))

    def log_ratio(self, graph, after):
        prior = self.log_prior[len(after)] - self.log_prior[len(graph)]
        return self.log_likelihood(after) - self.log_likelihood(graph) + prior

    def check(self):
        """What is remembered of the graphs is what they say."""
        for p, rows in enumerate(self.graphs):
            graph = graph_of(rows)
            assert self.sizes[p] == len(graph)
            assert self.totals[p] == pytest.approx(self.log_likelihood(graph), abs=1e-9)
            for t, (a, b, given) in enumerate(self.asked):
                for side, end in enumerate((a, b)):
                    known = set(members_of(self.reached[p, t, side]))
                    assert known == reachable(graph, end, given)

    def move(self, kernel, draws):
        """Move once; the graphs after it and the log-ratios."""
        ratios = np.empty((len(self.graphs), 1))
        kernel(
            self.graphs, self.tests, self.reached, self.sizes, self.totals, self.log_prior,
            SHARES, draws[:, None, :], ratios,
        )  # fmt: skip
        return [graph_of(rows) for rows in self.graphs], ratios[:, 0].tolist()


@pytest.mark.parametrize("n", SIZES)
def test_measure(n):
    particles = Particles(n, seed=n)
    particles.check()
    last = particles.totals.copy()
    learn_independence.measure(
        particles.graphs, particles.tests, 4, particles.reached, particles.totals
    )
    joined = [int(not is_separated(g, *particles.asked[4])) for g in particles.before]
    assert particles.totals - last == pytest.approx(particles.tests.logs[4, joined])


@pytest.mark.parametrize("n", SIZES)
def test_walk_toggles(n):
    for seed in range(20 if n < 9 else 4):
        particles = Particles(n, seed)
        draws = particles.rng.random((6, 4))
        draws[:, 0] *= SHARES[0]
        after, ratios = particles.move(learn_independence.walk, draws)
        for graph, end, ratio, draw in zip(particles.before, after, ratios, draws, strict=True):
            proposed = graph ^ {frozenset(pair_of(n, draw[1], draw[2]))}
            log_ratio = particles.log_ratio(graph, proposed)
            assert end == (proposed if log_ratio > math.log(draw[3]) else graph)
            assert math.isnan(ratio) if end == graph else ratio == pytest.approx(log_ratio)
        particles.check()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["swap", "slide", "exchange"])
def test_walk_keeps_the_number_of_edges(n, kind):
    low, high = {"swap": (0.4, 0.55), "slide": (0.55, 0.85), "exchange": (0.85, 1.0)}[kind]
    n_taken = 0
    for seed in range(15 if n < 9 else 4):
        particles = Particles(n, seed)
        draws = particles.rng.random((6, 4))
        draws[:, 0] = low + (high - low) * draws[:, 0]
        after, ratios = particles.move(learn_independence.walk, draws)
        particles.check()
        for graph, end, ratio, draw in zip(particles.before, after, ratios, draws, strict=True):
            if math.isnan(ratio):
                assert end == graph
                continue
            n_taken += 1
            assert len(end) == len(graph)
            assert kind == "exchange" or len(end - graph) <= 1
            assert kind != "slide" or len(frozenset.union(*(end ^ graph), frozenset())) <= 3
            assert ratio == pytest.approx(particles.log_ratio(graph, end), abs=1e-9)
            assert ratio > math.log(draw[3])
    assert n_taken > 5


@pytest.mark.parametrize(("n", "size"), [(5, 70), (66, 3)])
def test_all_particles_at_once(n, size):
    rng = np.random.default_rng(n)
    graphs = random_graphs(rng, n, size)
    words = (size + 63) // 64
    edges = np.ones((n, n, words), np.uint64)
    learn_independence.spread_edges(np.array([bit_rows(g, n) for g in graphs]), edges)
    for u in range(n):
        for v in range(n):
            holders = [p for p, g in enumerate(graphs) if u != v and frozenset((u, v)) in g]
            assert members_of(edges[u, v]) == holders
    asked = [random_test(rng, n) for _ in range(6)]
    pairs = np.array([t[:2] for t in asked])
    given = np.array([bit_row(t[2], n) for t in asked], np.uint64)
    met = np.zeros((6, words), np.uint64)
    learn_independence.answer(edges, pairs, given, met)
    reached, waiting = np.empty((n, words), np.uint64), np.empty(n, np.bool_)
    for q, (a, b, names) in enumerate(asked):
        joined = [p for p, g in enumerate(graphs) if not is_separated(g, a, b, names)]
        assert [p for p in members_of(met[q]) if p < size] == joined
        learn_independence.reach(edges, given[q], a, reached, waiting)
        assert (reached[b] == met[q]).all()


def entropies(size):
    return np.array([0.0, *(k * math.log2(k) for k in range(1, size + 1))])


def by_class(graphs, tests):
    """The graphs in order of what they say of the tests, and where the classes begin."""
    said = [tuple(is_separated(g, *t) for t in tests) for g in graphs]
    order = sorted(range(len(graphs)), key=lambda p: said[p])
    starts = [k for k, p in enumerate(order) if k == 0 or said[p] != said[order[k - 1]]]
    return [graphs[p] for p in order], np.array([*starts, len(graphs)])


@pytest.mark.parametrize("size", [3, 64, 130])
def test_gain(size):
    n, rng = 5, np.random.default_rng(size)
    tests = [random_test(rng, n) for _ in range(2)]
    graphs, bounds = by_class(random_graphs(rng, n, size), tests)
    for _ in range(10):
        a, b, given = random_test(rng, n)
        joined = [p for p, g in enumerate(graphs) if not is_separated(g, a, b, given)]
        met = np.array(bit_row(joined, size), np.uint64)
        bits = learn_independence.gain(met, bounds, entropies(size))
        assert bits == pytest.approx(information(graphs, tests, (a, b, given)), abs=1e-12)


class Search:
    """A random population to choose a test for; the best of each pair, as sets."""

    def __init__(self, n, seed, entropy, cells):
        rng = np.random.default_rng(seed)
        self.n, self.rng, self.entropy, self.log_cells = n, rng, entropy, math.log(cells)
        self.tests = [random_test(rng, n)]
        self.graphs, bounds = by_class(random_graphs(rng, n, 70), self.tests)
        edges = np.zeros((n, n, 2), np.uint64)
        learn_independence.spread_edges(np.array([bit_rows(g, n) for g in self.graphs]), edges)
        self.log_cards = np.log(rng.integers(2, 5, n).astype(np.float64))
        self.criterion = learn_independence.Criterion(
            edges, bounds, entropies(70), entropy, self.log_cards, self.log_cells
        )
        self.worths, self.gains = np.full((n, n), -np.inf), np.zeros((n, n))
        self.best = np.zeros((n, n, 1), np.uint64)
        self.kept = {}

    def judge(self, a, b, given):
        scope = [a, b, *sorted(given)]
        bits = information(self.graphs, self.tests, (a, b, tuple(given)))
        worth = (bits - self.entropy) / len(scope)
        room = self.log_cards[scope].sum() <= self.log_cells + 1e-9
        pair = (min(a, b), max(a, b))
        if bits > 1e-12 and room and worth > self.kept.get(pair, (-math.inf,))[0] + 1e-12:
            self.kept[pair] = (worth, bits, frozenset(given))

    def check(self):
        for x in range(self.n):
            for y in range(self.n):
                worth, bits, given = self.kept.get((x, y), (-math.inf, 0.0, frozenset()))
                assert self.worths[x, y] == pytest.approx(worth, abs=1e-9)
                assert self.gains[x, y] == pytest.approx(bits, abs=1e-9)
                assert set(members_of(self.best[x, y])) == given


@pytest.mark.parametrize("seed", range(6))
def test_seek_and_climb(seed):
    n = 5
    search = Search(n, seed, entropy=3.0 * (seed % 2), cells=[40.5, 500.0, 1e9][seed % 3])
    rng = search.rng
    starts = rng.integers(0, n, 4)
    sets = [set(rng.permutation(n)[: rng.integers(0, n)].tolist()) for _ in starts]
    rows = np.array([bit_row(s, n) for s in sets], np.uint64)
    learn_independence.seek(
        search.criterion, starts, rows, search.worths, search.gains, search.best
    )
    for a, s in zip(starts.tolist(), sets, strict=True):
        for given in [s - {a}, *(s - {a, v} for v in sorted(s - {a}))]:
            for b in set(range(n)) - {a} - given:
                search.judge(a, b, given)
    search.check()
    pairs = np.array(list(search.kept)[:5], np.int64).reshape(-1, 2)
    draws = rng.random((len(pairs), 12, 3))
    learn_independence.climb(
        search.criterion, pairs, draws, search.worths, search.gains, search.best
    )
    for (a, b), tries in zip(pairs.tolist(), draws, strict=True):
        for u in tries:
            given = search.kept[a, b][2]
            others = [v for v in range(n) if v not in (a, b) and v not in given]
            more = [("add", v) for v in others]
            less = [("drop", v) for v in given]
            choice = int(u[0] * (len(more) + len(less) + len(more) * len(less)))
            new = set(given)
            if choice < len(more) or choice >= len(more) + len(less):
                new.add(others[int(u[1] * len(others))])
            if choice >= len(more):
                new.remove(sorted(given)[int(u[2] * len(given))])
            search.judge(a, b, new)
    search.check()


def test_climb_of_two_variables_has_no_other_set():
    search = Search(2, seed=0, entropy=5.0, cells=1e9)
    pairs, draws = np.array([[0, 1]]), np.random.default_rng(0).random((1, 9, 3))
    learn_independence.climb(
        search.criterion, pairs, draws, search.worths, search.gains, search.best
    )
    search.check()


# ---- partial association -------------------------------------------------------------------------


class Columns:
    """A reading of some columns with a graph, some pairs of it tested; one column has no width."""

    def __init__(self, seed, n=6):
        rng = np.random.default_rng(seed)
        widths = rng.integers(1, 3, n)
        widths[n // 2] = 0
        self.n = n
        self.starts = np.concatenate(([0], np.cumsum(widths)))
        factor = rng.normal(size=(self.starts[-1], self.starts[-1] + 3))
        self.sigma = factor @ factor.T / 10
        strengths = np.empty((n, n))
        learn_independence.pair_strengths(self.sigma, self.starts, strengths)
        self.strengths = strengths
        rows = rng.integers(20, 60, (n, n)).astype(float)
        self.reading = learn_independence.Reading(
            self.sigma, self.starts, -np.expm1(-2 * strengths), np.maximum(rows, rows.T), 1e-3,
            0.1, 0.7,
        )  # fmt: skip
        upper = np.triu(rng.random((2, n, n)) < 0.4, 1)
        self.graph, pairs = upper | upper.transpose(0, 2, 1)
        evidence = rng.normal(size=(n, n))
        self.tested = learn_independence.Tested(pairs, evidence + evidence.T)


@pytest.mark.parametrize("seed", range(5))
def test_partial_information(seed):
    columns = Columns(seed)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        x, y, *rest = rng.permutation(columns.n).tolist()
        given = rest[: rng.integers(0, len(rest) + 1)]
        value = learn_independence.partial_information(
            columns.sigma, columns.starts, x, y, np.array(given, dtype=np.int64)
        )
        expected = partial_reference.information(columns.sigma, columns.starts, x, y, given)
        assert value == pytest.approx(expected, abs=1e-9)


def test_partial_information_of_a_copied_column_is_finite():
    sigma = np.ones((3, 3)) * 0.25
    value = learn_independence.partial_information(
        sigma, np.arange(4), 0, 1, np.array([2], dtype=np.int64)
    )
    assert math.isfinite(value)


def test_pair_strengths():
    columns = Columns(1)
    for x, y in np.ndindex(columns.n, columns.n):
        expected = 0.0
        if x != y:
            expected = partial_reference.information(columns.sigma, columns.starts, x, y, ())
        assert columns.strengths[x, y] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_settle_graph(seed):
    columns = Columns(seed)
    graph, log_odds = columns.graph.copy(), np.zeros((columns.n, columns.n))
    n_flips = learn_independence.settle_graph(columns.reading, columns.tested, graph, log_odds)
    expected, odds = partial_reference.settled(columns.reading, columns.tested, columns.graph)
    assert (graph == expected).all() and n_flips >= (graph != columns.graph).sum() / 2
    for (i, j), value in odds.items():
        assert log_odds[i, j] == log_odds[j, i] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_move_graph(seed):
    columns = Columns(seed)
    rng = np.random.default_rng(seed)
    pairs = np.array([(0, 1), (1, 4), (2, 5), (0, 5)])
    orders = rng.permuted(np.tile(np.arange(4), (3, 1)), axis=1)
    draws = rng.random((3, 4))
    graph, sums = columns.graph.copy(), np.zeros(4)
    learn_independence.move_graph(
        columns.reading, columns.tested, graph, pairs, orders, draws, sums
    )
    expected, totals = columns.graph.copy(), np.zeros(4)
    for sweep in range(3):
        for k in orders[sweep]:
            i, j = pairs[k]
            odds = partial_reference.tested_log_odds(
                columns.reading, columns.tested, expected, i, j
            )
            probability = 1 / (1 + math.exp(-odds))
            expected[i, j] = expected[j, i] = draws[sweep, k] < probability
            totals[k] += probability * (sweep > 0)
    assert (graph == expected).all()
    assert sums == pytest.approx(totals)


def test_doubt_graph():
    columns = Columns(3)
    reading, graph = columns.reading, columns.graph
    log_odds, out = np.zeros((columns.n, columns.n)), np.ones((columns.n, columns.n))
    learn_independence.settle_graph(reading, columns.tested, graph.copy(), log_odds)
    learn_independence.doubt_graph(reading, columns.tested, graph, log_odds, 0.02, out)
    for i, j in np.ndindex(columns.n, columns.n):
        expected = 0.0
        way = partial_reference.path(reading.effects, graph, i, j)
        if i != j and graph[i, j]:
            expected = partial_reference.log_odds(reading, graph, i, j, reading.doubt * way)
        elif i != j:
            expected = log_odds[i, j] + 0.5 * reading.rows[i, j] * 0.02 * way
        assert out[i, j] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [6, 9, 70])
def test_list_conditions(n, size):
    rng = np.random.default_rng([n, size])
    joined = np.triu(rng.random((n, n)) < min(0.6, 8 / n), 1)
    joined |= joined.T
    later = rng.random((n, n)) < 0.2  # [x, z]: z comes after x
    strength = np.round(rng.random((n, n)), 1)  # with ties
    strength += strength.T
    pairs = np.array([(x, y) for x in range(n) for y in range(x + 1, n)][:40])
    expected = []
    for x, y in pairs.tolist():
        near = np.minimum(strength[x], strength[y])
        sides = [
            sorted(
                (z for z in range(n) if joined[v, z] and z not in (x, y)
                 and not (later[x, z] and later[y, z])),
                key=lambda z: (-near[z], z),
            )
            for v in (x, y)
        ]  # fmt: skip
        expected.append([sorted(s) for s in conditioning_sets(*sides, size)])
    rows = [
        np.array([bit_row(np.flatnonzero(r), n) for r in m], np.uint64) for m in (joined, later)
    ]
    for first, last in ((0, 5), (5, 40)):
        wanted = [some[first:last] for some in expected]
        starts = np.cumsum([0, *map(len, wanted)])
        out = np.empty((starts[-1], size), np.int64)
        learn_independence.list_conditions(*rows, strength, pairs, first, starts, out)
        assert out.tolist() == [s for some in wanted for s in some]

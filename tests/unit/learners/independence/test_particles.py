"""Moves of particles against all 64 graphs of four nodes: the whole chain, number by number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane._core import learn_independence as kernels
from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import mask, pack, unpack
from counterpane.learners.independence import particles
from counterpane.learners.independence.particles import Population
from reference.particles_reference import (
    all_graphs,
    all_pairs,
    is_separated,
    log_likelihood,
    posterior,
)

N = 4
GRAPHS = all_graphs(N)
PLACE = {graph: i for i, graph in enumerate(GRAPHS)}
SURE = 1e-300  # a uniform number with which any finite ratio is taken


def rows_of(graph, n=N):
    return UndirectedGraph(n, [tuple(edge) for edge in graph]).neighbor_bits


def graph_of(rows):
    flags = unpack(rows, len(rows))
    return frozenset(frozenset(e) for e in np.argwhere(np.triu(flags)).tolist())


def random_tests(n, k, seed, scale=2.0):
    rng = np.random.default_rng(seed)
    tests = []
    for _ in range(k):
        a, b, *rest = rng.permutation(n).tolist()
        tests.append((min(a, b), max(a, b), tuple(rest[: rng.integers(0, n - 1)])))
    return tests, rng.normal(0.0, scale, k)


def population(graphs, tests, gaps, n=N, prior="graphs", **options):
    pairs = np.array([t[:2] for t in tests], dtype=np.int64).reshape(-1, 2)
    given = np.array([mask(n, t[2]) for t in tests], dtype=np.uint64).reshape(-1, (n + 63) // 64)
    rows = np.array([rows_of(g, n) for g in graphs])
    return Population(
        rows, pairs, given, np.array(gaps, dtype=np.float64), moves=5, prior=prior, **options
    )


def cells(*sizes):
    """The middles of the cells of a grid of uniform numbers."""
    grid = np.meshgrid(*[(np.arange(s) + 0.5) / s for s in sizes], indexing="ij")
    return np.stack([g.ravel() for g in grid], axis=1)


def outcomes(kernel, graph, tests, gaps, prior, kind, grid):
    """Where each cell of draws leads from a graph, and the log-ratio of taking it."""
    start = population([graph] * len(grid), tests, gaps, prior=prior)
    draws = np.full((len(grid), 1, 4), SURE)
    draws[:, 0, 0] = kind
    draws[:, 0, 1 : 1 + grid.shape[1]] = grid
    ratios = np.empty((len(grid), 1))
    state = (start.tests, start.reached, start.sizes, start.totals)
    kernel(start.graphs, *state, start.log_prior, particles.MOVE_SHARES, draws, ratios)
    check_bookkeeping(start, tests, gaps)
    return [graph_of(rows) for rows in start.graphs], ratios[:, 0]


def check_bookkeeping(start, tests, gaps):
    """What a population remembers of its graphs is what they say."""
    for rows, size, total, said in zip(
        start.graphs, start.sizes, start.totals, start.says_dependent(), strict=True
    ):
        graph = graph_of(rows)
        assert size == len(graph)
        assert total == pytest.approx(log_likelihood(graph, tests, gaps), abs=1e-9)
        assert said.tolist() == [not is_separated(graph, *t) for t in tests]


def add_moves(matrix, graph, chance, moves):
    ends, log_ratios = moves
    for end, ratio in zip(ends, log_ratios, strict=True):
        taken = 0.0 if math.isnan(ratio) else min(1.0, math.exp(ratio))
        share = chance / len(ends)
        matrix[PLACE[graph], PLACE[end]] += share * taken
        matrix[PLACE[graph], PLACE[graph]] += share * (1.0 - taken)


def symmetric_chain(tests, gaps, prior):
    toggle, swap, slide = particles.MOVE_SHARES
    rest = 1.0 - particles.MOVE_SHARES.sum()
    matrix = np.zeros((64, 64))
    for graph in GRAPHS:
        ends = max(2 * len(graph), 1)
        kinds = [
            (toggle, toggle / 2, cells(N, N - 1)),
            (swap, toggle + swap / 2, cells(ends, N * (N - 1))),
            (slide, toggle + swap + slide / 2, cells(ends, N - 2)),
            (rest / 2, 1 - 0.75 * rest, cells(ends, 1) if graph else cells(N, N - 1)),
            (rest / 2, 1 - 0.25 * rest, cells(N, N - 1)),
        ]
        for chance, kind, grid in kinds:
            moves = outcomes(kernels.walk, graph, tests, gaps, prior, kind, grid)
            add_moves(matrix, graph, chance, moves)
    return matrix


def distance(matrix, tests, gaps, prior):
    """Total variation between the stationary distribution and the posterior."""
    assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    system = np.concatenate([matrix.T - np.eye(64), np.ones((1, 64))])
    stationary = np.linalg.lstsq(system, np.append(np.zeros(64), 1.0))[0]
    exact = posterior(N, tests, gaps, prior)
    return 0.5 * sum(abs(stationary[PLACE[g]] - exact[g]) for g in GRAPHS)


@pytest.mark.parametrize("prior", ["graphs", "sparse"])
def test_symmetric_moves_have_the_posterior(prior):
    tests, gaps = random_tests(N, 5, seed=3)
    assert distance(symmetric_chain(tests, gaps, prior), tests, gaps, prior) < 1e-10


@pytest.mark.parametrize("n", [9, 70])
def test_many_moves_keep_the_books(n):
    rng = np.random.default_rng(n)
    tests, gaps = random_tests(n, 12, seed=n, scale=1.0)
    pairs = all_pairs(n)
    graphs = [
        frozenset(pairs[k] for k in rng.permutation(len(pairs))[: rng.integers(0, 2 * n)])
        for _ in range(8)
    ]
    moved = population(graphs, tests, gaps, n=n, prior="sparse")
    before = moved.graphs.copy()
    moved.walk(np.random.default_rng(0), 60)
    assert (moved.graphs != before).any(axis=(1, 2)).all()
    assert (moved.graphs == pack(unpack(moved.graphs, n).transpose(0, 2, 1))).all()
    check_bookkeeping(moved, tests, gaps)

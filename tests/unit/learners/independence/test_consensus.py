"""The graph that answers as a population does."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from counterpane.graphs import UndirectedGraph
from counterpane.graphs.bits import members, pack, unpack
from counterpane.independence import Oracle
from counterpane.learners.independence.particles import (
    answers_of,
    consensus_graph,
    draw_questions,
    expected_right,
)


def packed(graphs):
    """Bit rows (graphs, n, words) of lists of edges over n variables."""
    n, edge_lists = graphs
    flags = np.zeros((len(edge_lists), n, n), dtype=np.bool_)
    for flag, edges in zip(flags, edge_lists, strict=True):
        for a, b in edges:
            flag[a, b] = flag[b, a] = True
    return pack(flags)


def random_graphs(rng, n, size):
    pairs = list(combinations(range(n), 2))
    return [[p for p in pairs if rng.random() < rng.random()] for _ in range(size)]


@pytest.mark.parametrize("n", [2, 3, 7, 70])
def test_questions_are_about_two_variables_and_others(n):
    pairs, given = draw_questions(np.random.default_rng(1), n, 600)
    flags = unpack(given, n)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert not np.take_along_axis(flags, pairs, axis=1).any()
    sizes = flags.sum(axis=1)
    counts = np.bincount(sizes, minlength=n - 1)
    assert counts.size == n - 1
    assert abs(counts - 600 / (n - 1)).max() < 6 * np.sqrt(600 / (n - 1)) * (n > 2) + 1


@pytest.mark.parametrize("n", [5, 66])
def test_answers_are_separation(n):
    rng = np.random.default_rng(n)
    graphs = random_graphs(rng, n, 70)
    pairs, given = draw_questions(rng, n, 40)
    found = answers_of(packed((n, graphs)), pairs, given)
    for k, edges in enumerate(graphs):
        oracle = Oracle(UndirectedGraph(n, edges))
        for q, (a, b) in enumerate(pairs.tolist()):
            assert found[q, k] != oracle(a, b, members(given[q])).independent


def test_expected_right_answers():
    joined = np.array([[True, False], [True, True], [False, False]])
    chances = np.array([0.75, 0.5, 1.0])
    assert expected_right(joined, chances) == pytest.approx([(0.75 + 0.5) / 3, (0.25 + 0.5) / 3])


def test_particles_that_join_all_in_different_ways_are_not_answered_by_no_edge():
    orders = np.array([[0, 1, 2, 3, 4], [0, 2, 4, 1, 3], [2, 0, 3, 1, 4], [1, 0, 4, 2, 3]])
    chains = [list(pairwise(o)) for o in orders.tolist()]
    particles = packed((5, chains))
    shares = unpack(particles, 5).mean(axis=0)
    median = pack(shares > 0.5)
    assert not median.any()
    chosen = consensus_graph(particles, np.stack([median, median]), 5)
    assert (chosen == particles).all(axis=(1, 2)).any()


def test_of_equals_the_first_of_the_others_is_taken():
    same = packed((4, [[(0, 1), (1, 2)]] * 3))
    median = same[0]
    chosen = consensus_graph(same, np.stack([median, packed((4, [[]]))[0]]), 4)
    assert (chosen == median).all()


def test_one_variable():
    lone = np.zeros((3, 1, 1), dtype=np.uint64)
    assert consensus_graph(lone, lone[:2], 1).shape == (1, 1)

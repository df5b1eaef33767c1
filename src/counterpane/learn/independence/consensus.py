"""One graph for a population: the one that answers questions most as the population does.

Where tests leave much open, every particle may join two variables, each in its own way, while no
edge is in half of them: the graph of the likely edges then says what no particle says. So the
choice is made by answers. Drawn questions are put to all graphs, and the share of particles that
say "independent" is the posterior chance of that answer; the chosen graph has the most expected
right answers.
"""

from __future__ import annotations

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.graphs.bits import n_words, pack
from counterpane.typing import Bools, Floats, Ints, Words

DRAWN = 2000


def consensus(particles: Words, others: Words, n: int) -> Words:
    """The graph (n, words) among `particles` and `others` with the most expected right answers.

    Questions have all numbers 0 … n−2 of variables given alike. Of graphs that are as good, the
    first of `others` comes first.
    """
    asked: Words = np.concatenate([others, particles])
    best = 0
    if n > 1:
        pairs, given = draw_questions(np.random.default_rng(0), n, DRAWN)
        joined = answers(asked, pairs, given)
        right = expected_right(joined, joined[:, len(others) :].mean(axis=1))
        best = int(np.argmax(right >= right.max() - 1e-12))
    chosen: Words = asked[best]
    return chosen


def draw_questions(rng: np.random.Generator, n: int, size: int) -> tuple[Ints, Words]:
    """Random pairs (size, 2), and sets of other variables (size, words) of random sizes."""
    orders = rng.random((size, n)).argsort(axis=1)
    sizes = rng.integers(0, n - 1, size)
    flags = np.zeros((size, n), dtype=np.bool_)
    np.put_along_axis(flags, orders, np.arange(n) - 2 < sizes[:, None], axis=1)
    pairs = orders[:, :2].astype(np.int64)
    np.put_along_axis(flags, pairs, False, axis=1)
    return pairs, pack(flags)


def answers(graphs: Words, pairs: Ints, given: Words) -> Bools:
    """True where a graph (column) joins the ends of a question (row)."""
    n_graphs, n, _ = graphs.shape
    edges = np.zeros((n, n, n_words(n_graphs)), dtype=np.uint64)
    kernels.spread_edges(graphs, edges)
    met = np.zeros((len(pairs), n_words(n_graphs)), dtype=np.uint64)
    kernels.answer(edges, pairs, given, met)
    which = np.arange(n_graphs)
    flags: Bools = ((met[:, which >> 6] >> (which & 63).astype(np.uint64)) & np.uint64(1)) == 1
    return flags


def expected_right(joined: Bools, chances: Floats) -> Floats:
    """The mean chance that a graph's answers are right, where `chances` are of "dependent"."""
    right: Floats = np.where(joined, chances[:, None], 1.0 - chances[:, None]).mean(axis=0)
    return right

"""Test selection: the test that tells most about the particles for its cost.

The information of a test is the entropy of its outcome among particles of one class, in bits, and
its cost |given| + 2. For each pair of variables a conditioning set is sought: from the empty set,
from the best sets of the step before, and from the neighbors of a variable in a few particles,
because such blankets decide an edge; then by first-choice hill climbing from the best of these.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.graphs.bits import n_words, pack, unpack
from counterpane.learners.independence.particles import ParticleClasses, Population, x_log_x
from counterpane.typing import Floats, Ints, Words

SelectionScore = Literal["gain", "entropy"]

BLANKETS = 4  # particles whose neighborhoods are tried
STARTS = 48  # variables for which they are tried in one step
CLIMBED_PAIRS = 64
TRIES = 30  # sets tried in each climb
REMEMBERED = 16  # best sets that the next step starts from


class StartSets(NamedTuple):
    """Conditioning sets to start from: `starts` (k,) are variables, `sets` (k, words) bit rows."""

    starts: Ints
    sets: Words

    def with_sets(self, *others: StartSets) -> StartSets:
        """These sets and others."""
        fields = zip(self, *others, strict=True)
        return StartSets(*(np.concatenate(field) for field in fields))


class TableLimit(NamedTuple):
    """How large tables may be: ln of each variable's number of states, and of the cells of all."""

    log_cards: Floats
    log_cells: float

    def trimmed(self, start_sets: StartSets, rng: np.random.Generator) -> StartSets:
        """The sets, each without random members if its table would be too large."""
        n = self.log_cards.size
        order = rng.random((len(start_sets.starts), n)).argsort(axis=1)
        flags = np.take_along_axis(unpack(start_sets.sets, n), order, axis=1)
        ends = self.log_cards[start_sets.starts] + self.log_cards.max()
        sizes = np.cumsum(np.where(flags, self.log_cards[order], 0.0), axis=1)
        flags &= sizes <= self.log_cells - ends[:, None]
        trimmed = np.zeros_like(flags)
        np.put_along_axis(trimmed, order, flags, axis=1)
        return StartSets(start_sets.starts, pack(trimmed))


class SelectedTest(NamedTuple):
    """A test, its expected information in bits, and sets that the next selection starts from."""

    pair: tuple[int, int]
    given: Words
    gain: float
    start_sets: StartSets

    @property
    def cost(self) -> int:
        """The number of variables of the test."""
        return int(np.bitwise_count(self.given).sum()) + 2


def select_test(
    population: Population,
    classes: ParticleClasses,
    start_sets: StartSets,
    rng: np.random.Generator,
    *,
    score: SelectionScore,
    limit: TableLimit,
) -> SelectedTest | None:
    """The best test found; None if no test within the `limit` tells anything."""
    n, n_particles = population.n, population.n_particles
    edges = np.zeros((n, n, n_words(n_particles)), dtype=np.uint64)
    kernels.spread_edges(population.graphs, edges)
    entropy = classes.entropy if score == "entropy" else 0.0
    criterion = kernels.Criterion(edges, classes.bounds, x_log_x(n_particles), entropy, *limit)
    worths, gains = np.full((n, n), -np.inf), np.zeros((n, n))
    best = np.zeros((n, n, n_words(n)), dtype=np.uint64)
    nodes = np.sort(rng.permutation(n)[:STARTS])
    empty = StartSets(nodes, np.zeros((nodes.size, n_words(n)), dtype=np.uint64))
    neighborhoods = [
        StartSets(nodes, population.graphs[p, nodes])
        for p in rng.integers(0, n_particles, BLANKETS)
    ]
    blankets = limit.trimmed(empty.with_sets(*neighborhoods), rng)
    kernels.seek(criterion, *start_sets.with_sets(blankets), worths, gains, best)
    if worths.max() == -np.inf:
        kernels.seek(
            criterion, *limit.trimmed(deciding_sets(population, classes), rng), worths, gains, best
        )
    if worths.max() == -np.inf:
        return None
    order = np.argsort(-worths, axis=None, kind="stable")[:CLIMBED_PAIRS]
    order = order[worths.flat[order] > -np.inf]
    pairs = np.stack(np.divmod(order, n), axis=1)
    kernels.climb(criterion, pairs, rng.random((len(pairs), TRIES, 3)), worths, gains, best)
    a, b = divmod(int(np.argmax(worths)), n)
    remembered = pairs[:REMEMBERED]
    start_sets = StartSets(remembered[:, 0].copy(), best[remembered[:, 0], remembered[:, 1]])
    return SelectedTest((a, b), best[a, b].copy(), float(gains[a, b]), start_sets)


def deciding_sets(population: Population, classes: ParticleClasses) -> StartSets:
    """Sets of which at least one tells something: the blankets in two graphs of one class.

    If an edge is in only one of the two graphs, a blanket in the other separates its ends.
    """
    n = population.n
    for low, high in zip(classes.bounds, classes.bounds[1:], strict=False):
        graphs = population.graphs[low:high]
        if (graphs[0] != graphs[-1]).any():  # sorted by graph within a class
            nodes = np.arange(n)
            first, last = graphs[0].copy(), graphs[-1].copy()
            return StartSets(nodes, first).with_sets(StartSets(nodes, last))
    raise AssertionError("no class has two graphs, so no test can tell anything")

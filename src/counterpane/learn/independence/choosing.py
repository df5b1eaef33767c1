"""Which test to ask next: the one that tells most about the particles for its cost.

The information of a test is the entropy of its outcome among particles of one class, in bits, and
its cost |given| + 2. For each pair of variables a conditioning set is sought: from the empty set,
from the best of the step before, and from the neighbors of a variable in a few particles, which are
the blankets that decide an edge; then by first-choice climbing from the best of these.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.graphs.bits import n_words, pack, unpack
from counterpane.learn.independence.particles import Grouping, Population, x_log_x
from counterpane.typing import Floats, Ints, Words

Score = Literal["gain", "entropy"]

BLANKETS = 4  # particles whose neighborhoods are tried
STARTS = 48  # variables they are tried for in one step
CLIMBED = 64  # pairs that are climbed from
TRIES = 30  # sets tried in each climb
REMEMBERED = 16  # best sets kept for the next step


class Pool(NamedTuple):
    """Sets to start from: `starts` (k,) are variables, `sets` (k, words) what is given."""

    starts: Ints
    sets: Words

    def joined(self, *others: Pool) -> Pool:
        """These and others."""
        parts = zip(self, *others, strict=True)
        return Pool(*(np.concatenate(part) for part in parts))


class Room(NamedTuple):
    """How large tables may be: ln of each variable's number of states, and of the cells in all."""

    log_cards: Floats
    log_cells: float

    def trimmed(self, pool: Pool, rng: np.random.Generator) -> Pool:
        """The sets of `pool`, each without random members where its table would be too large."""
        n = self.log_cards.size
        order = rng.random((len(pool.starts), n)).argsort(axis=1)
        flags = np.take_along_axis(unpack(pool.sets, n), order, axis=1)
        ends = self.log_cards[pool.starts] + self.log_cards.max()
        sizes = np.cumsum(np.where(flags, self.log_cards[order], 0.0), axis=1)
        flags &= sizes <= self.log_cells - ends[:, None]
        kept = np.zeros_like(flags)
        np.put_along_axis(kept, order, flags, axis=1)
        return Pool(pool.starts, pack(kept))


class Choice(NamedTuple):
    """A test, what it tells in bits, and where the next search may start."""

    pair: tuple[int, int]
    given: Words
    gain: float
    pool: Pool

    @property
    def cost(self) -> int:
        """The number of variables of the test."""
        return int(np.bitwise_count(self.given).sum()) + 2


def choose(
    population: Population,
    grouping: Grouping,
    pool: Pool,
    rng: np.random.Generator,
    *,
    score: Score,
    room: Room,
) -> Choice | None:
    """The best test found, None where none that fits the `room` tells anything."""
    n, n_particles = population.n, population.n_particles
    edges = np.zeros((n, n, n_words(n_particles)), dtype=np.uint64)
    kernels.spread_edges(population.graphs, edges)
    entropy = grouping.entropy if score == "entropy" else 0.0
    criterion = kernels.Criterion(edges, grouping.bounds, x_log_x(n_particles), entropy, *room)
    worths, gains = np.full((n, n), -np.inf), np.zeros((n, n))
    best = np.zeros((n, n, n_words(n)), dtype=np.uint64)
    which = np.sort(rng.permutation(n)[:STARTS])
    empty = Pool(which, np.zeros((which.size, n_words(n)), dtype=np.uint64))
    some = [
        Pool(which, population.graphs[p, which]) for p in rng.integers(0, n_particles, BLANKETS)
    ]
    blankets = room.trimmed(empty.joined(*some), rng)
    kernels.seek(criterion, *pool.joined(blankets), worths, gains, best)
    if worths.max() == -np.inf:
        last = room.trimmed(deciding(population, grouping), rng)
        kernels.seek(criterion, *last, worths, gains, best)
    if worths.max() == -np.inf:
        return None
    order = np.argsort(-worths, axis=None, kind="stable")[:CLIMBED]
    order = order[worths.flat[order] > -np.inf]
    pairs = np.stack(np.divmod(order, n), axis=1)
    kernels.climb(criterion, pairs, rng.random((len(pairs), TRIES, 3)), worths, gains, best)
    a, b = divmod(int(np.argmax(worths)), n)
    kept = pairs[:REMEMBERED]
    pool = Pool(kept[:, 0].copy(), best[kept[:, 0], kept[:, 1]])
    return Choice((a, b), best[a, b].copy(), float(gains[a, b]), pool)


def deciding(population: Population, grouping: Grouping) -> Pool:
    """Sets of which one surely tells something: the blankets in two graphs of one class.

    Where an edge is in one of the two only, its ends are separated by a blanket in the other.
    """
    n = population.n
    for low, high in zip(grouping.bounds, grouping.bounds[1:], strict=False):
        graphs = population.graphs[low:high]
        if (graphs[0] != graphs[-1]).any():  # sorted by graph within a class
            nodes = np.arange(n)
            return Pool(nodes, graphs[0].copy()).joined(Pool(nodes, graphs[-1].copy()))
    raise AssertionError("no class has two graphs, so no test can tell anything")

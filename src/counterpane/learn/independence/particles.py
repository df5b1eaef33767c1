"""A population of graphs that stands for the posterior given the tests executed so far.

The posterior of a graph x is Pr(x) · Π_t Pr(D_t | what x says of test t). A new test weighs the
particles, systematic resampling drops the unlikely, and Metropolis–Hastings moves spread the rest
(Bromberg & Margaritis 2007, Algorithm 2). Of a test only the *gap* between its log-likelihoods
matters. A test that few particles agree with is let in little by little: its gap is limited, and
the limit raised only so far that enough particles survive each resampling, with moves between.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.graphs.bits import pack
from counterpane.parallel import map_in_threads
from counterpane.typing import Floats, Ints, Words

Prior = Literal["sparse", "sizes", "graphs"]
Proposal = Literal["symmetric", "class"]

KEPT = 0.4  # the effective share of particles that one resampling leaves at least
RENEWED = 2  # times as many moves after each resampling of a population that begins again
SHARES = np.array([0.4, 0.15, 0.3])  # of toggles, swaps, slides; exchanges make up the rest
LOCAL_A_JUMP = 19  # class moves for each jump: the paper's p_a = .05
JUMP = 0.05  # share of pairs that a jump toggles: the paper's α


class Grouping(NamedTuple):
    """Particles in order of class and graph: where classes begin, distinct graphs, entropy in bits.

    Particles of one class agree on all executed tests. The entropy is that within classes,
    Σ_c n_c/N · H(graphs of class c): what tests can still tell.
    """

    bounds: Ints
    n_graphs: int
    entropy: float


def log_size_priors(n: int, prior: Prior) -> Floats:
    """ln of the chance of each number of edges, 0 … C(n, 2), up to a constant."""
    m = n * (n - 1) // 2
    sizes = np.arange(m + 1)
    if prior == "graphs":
        return -log_choices(m)
    return -2.0 * np.log1p(sizes) if prior == "sparse" else np.zeros(m + 1)


def log_choices(m: int) -> Floats:
    """−ln C(m, k) for k = 0 … m."""
    whole = math.lgamma(m + 1)
    return np.array([math.lgamma(k + 1) + math.lgamma(m - k + 1) - whole for k in range(m + 1)])


def draw_graphs(rng: np.random.Generator, n_particles: int, n: int, prior: Prior) -> Words:
    """Graphs (particles, n, words) from the prior."""
    m = n * (n - 1) // 2
    logs = log_size_priors(n, prior)
    chances = np.exp(logs - logs.max())
    sizes = rng.choice(m + 1, n_particles, p=chances / chances.sum())
    chosen = rng.random((n_particles, m)).argsort(axis=1) < sizes[:, None]
    flags = np.zeros((n_particles, n, n), dtype=np.bool_)
    flags[:, *np.triu_indices(n, 1)] = chosen
    return pack(flags | flags.transpose(0, 2, 1))


def x_log_x(n: int) -> Floats:
    """k log2 k for k = 0 … n."""
    return np.array([0.0, *(k * math.log2(k) for k in range(1, n + 1))])


class Population:
    """Particles, executed tests, and what each particle says of each test.

    `graphs` (particles, n, words) are bit rows; `pairs`, `given` and `gaps` the tests, a gap being
    ln Pr(D | independent) − ln Pr(D | dependent). `totals` are minus the sums of |gap| over the
    tests that a particle violates.
    """

    def __init__(
        self,
        graphs: Words,
        pairs: Ints,
        given: Words,
        gaps: Floats,
        *,
        moves: int,
        prior: Prior = "sizes",
        proposal: Proposal = "symmetric",
        n_jobs: int = 1,
    ) -> None:
        self.graphs = graphs.copy()
        self.n_particles, self.n, words = graphs.shape
        self.pairs, self.given, self.gaps = pairs, given, gaps
        self.logs = limited(gaps, np.inf)
        self.prior: Prior = prior
        self.log_prior = log_size_priors(self.n, prior) + log_choices(self.n * (self.n - 1) // 2)
        self.moves, self.proposal, self.n_jobs = moves, proposal, n_jobs
        self.sizes = count_edges(graphs)
        self.totals: Floats = np.zeros(self.n_particles)
        self.reached: Words = np.zeros((self.n_particles, 0, 2, words), dtype=np.uint64)
        self._measure(0)

    def _measure(self, first: int) -> None:
        """Find out what the particles say of the tests from `first` on."""
        n_tests, words = self.given.shape
        if n_tests > self.reached.shape[1]:
            larger = np.zeros((self.n_particles, 2 * n_tests, 2, words), dtype=np.uint64)
            larger[:, :first] = self.reached[:, :first]
            self.reached = larger
        kernels.measure(self.graphs, self.tests, first, self.reached, self.totals)

    @property
    def tests(self) -> kernels.Tests:
        """The executed tests, as the kernels take them."""
        return kernels.Tests(self.pairs, self.given, self.logs)

    def joined(self, first: int = 0) -> Words:
        """1 where a particle (row) says that the ends of a test (column) are dependent."""
        t = np.arange(first, len(self.pairs))
        b = self.pairs[first:, 1]
        return (self.reached[:, t, 0, b >> 6] >> (b & 63).astype(np.uint64)) & np.uint64(1)

    @property
    def log_posteriors(self) -> Floats:
        """ln of prior times likelihood, up to a constant."""
        return self.totals + self.log_prior[self.sizes]

    def keep(self, chosen: Ints) -> None:
        """Replace the particles by these of them."""
        n_tests = len(self.pairs)
        self.graphs = self.graphs[chosen]
        self.sizes, self.totals = self.sizes[chosen], self.totals[chosen]
        self.reached[:, :n_tests] = self.reached[chosen, :n_tests]

    def group(self) -> Grouping:
        """Sort the particles by class and graph."""
        classes = digests(self.joined())
        graphs = digests(self.graphs.reshape(self.n_particles, -1))
        order = np.lexsort((graphs, classes))
        self.keep(order)
        bounds, ends = firsts(classes[order]), firsts(graphs[order])
        log = x_log_x(self.n_particles)
        entropy = (log[np.diff(bounds)].sum() - log[np.diff(ends)].sum()) / self.n_particles
        return Grouping(bounds, len(ends) - 1, float(entropy))

    def absorb(
        self, pair: tuple[int, int], given: Words, gap: float, rng: np.random.Generator
    ) -> None:
        """Let in a test: weigh, resample and move until it counts in full."""
        self.pairs = np.concatenate([self.pairs, np.array([pair], dtype=np.int64)])
        self.given = np.concatenate([self.given, given[None]])
        self.gaps = np.append(self.gaps, gap)
        self.logs = np.concatenate([self.logs, np.zeros((1, 2))])
        first = len(self.pairs) - 1
        self._measure(first)
        self._raise_limit(first, 0.0, rng, self.moves)

    def renew(self, rng: np.random.Generator) -> None:
        """Begin again with graphs from the prior, and let in all tests together, little by little.

        No particle descends from those before, so that graphs which these had lost come back.
        """
        self.graphs = draw_graphs(rng, self.n_particles, self.n, self.prior)
        self.sizes = count_edges(self.graphs)
        self.logs = limited(self.gaps, 0.0)
        self.totals = np.zeros(self.n_particles)
        self._measure(0)
        self._raise_limit(0, 0.0, rng, RENEWED * self.moves)

    def restore(self, graphs: Words, totals: Floats) -> None:
        """Bring back particles from before `renew`."""
        self.graphs = graphs
        self.sizes = count_edges(graphs)
        self._measure(0)
        self.totals = totals

    def _raise_limit(
        self, first: int, limit: float, rng: np.random.Generator, n_moves: int
    ) -> None:
        """Raise the limit on the gaps of the tests from `first` on until it limits nothing."""
        gaps = np.abs(self.gaps[first:])
        highest = gaps.max(initial=0.0)
        while True:
            wrong = (self.joined(first) == (self.gaps[first:] > 0)).astype(np.float64)
            limit, log_weights = next_limit(wrong, gaps, limit, highest)
            self.logs[first:] = limited(self.gaps[first:], limit)
            self.totals += log_weights
            self.keep(systematic(rng, log_weights))
            self.walk(rng, n_moves)
            if limit >= highest:
                return

    def walk(self, rng: np.random.Generator, n_moves: int) -> None:
        """Move each particle `n_moves` times, in threads; their number does not matter."""
        if self.n < 2:
            return
        draws = rng.random((self.n_particles, n_moves, 4))
        ratios = np.empty((self.n_particles, n_moves))
        by_class = self.proposal == "class"
        move = kernels.class_walk if by_class else kernels.walk

        def part(s: slice) -> None:
            move(
                self.graphs[s], self.tests, self.reached[s], self.sizes[s], self.totals[s],
                self.log_prior, SHARES, draws[s], ratios[s],
            )  # fmt: skip

        self._in_threads(part)
        for _ in range(-(-n_moves // LOCAL_A_JUMP) if by_class else 0):
            self._jump(rng)

    def _jump(self, rng: np.random.Generator) -> None:
        """Propose to each particle to toggle a random few of all pairs at once."""
        upper = np.triu(rng.random((self.n_particles, self.n, self.n)) < JUMP, 1)
        masks = pack(upper | upper.transpose(0, 2, 1))
        draws, ratios = rng.random((self.n_particles,)), np.empty(self.n_particles)

        def part(s: slice) -> None:
            kernels.jump(
                self.graphs[s], self.tests, self.reached[s], self.sizes[s], self.totals[s],
                self.log_prior, masks[s], draws[s], ratios[s],
            )  # fmt: skip

        self._in_threads(part)

    def _in_threads(self, part: Callable[[slice], None]) -> None:
        cuts = np.linspace(0, self.n_particles, self.n_jobs + 1).astype(np.int64).tolist()
        slices = [slice(a, b) for a, b in pairwise(cuts)]
        list(map_in_threads(part, slices, self.n_jobs))


def count_edges(graphs: Words) -> Ints:
    """The number of edges of each graph."""
    counts: Ints = np.bitwise_count(graphs).sum(axis=(1, 2), dtype=np.int64)
    return counts // 2


def limited(gaps: Floats, limit: float) -> Floats:
    """Log-likelihoods (tests, 2) of independent and dependent: 0, and minus the limited gap."""
    return np.stack([np.clip(gaps, -limit, 0.0), -np.clip(gaps, 0.0, limit)], axis=1)


def next_limit(wrong: Floats, gaps: Floats, limit: float, highest: float) -> tuple[float, Floats]:
    """The largest limit up to `highest` that leaves enough particles, and their log-weights.

    `wrong` (particles, tests) is 1 where a particle violates a test.
    """

    def weigh(new: float) -> Floats:
        rise: Floats = np.minimum(gaps, new) - np.minimum(gaps, limit)
        return -(wrong @ rise)

    low, high = limit, highest
    if enough(weigh(high)):
        return high, weigh(high)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(weigh(middle)) else (low, middle)
    return high, weigh(high)


def enough(log_weights: Floats) -> bool:
    """Whether the effective number of particles, (Σ w)² / Σ w², is large enough."""
    weights = np.exp(log_weights - log_weights.max())
    return bool(weights.sum() ** 2 >= KEPT * weights.size * (weights**2).sum())


def systematic(rng: np.random.Generator, log_weights: Floats) -> Ints:
    """Particles to keep: N evenly spaced marks, from one random number, on the summed weights."""
    weights = np.exp(log_weights - log_weights.max())
    ends = np.cumsum(weights) * (weights.size / weights.sum())
    ends[-1] = weights.size
    return np.searchsorted(ends, rng.random() + np.arange(weights.size), side="right")


def digests(rows: Words) -> Words:
    """A 64-bit number for each row that differs, but for a chance of 2⁻⁶⁴, where rows do."""
    keys = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64)
    mixed = (rows + keys) * (2 * keys + np.uint64(1))
    mixed ^= mixed >> np.uint64(29)
    sums: Words = (mixed * (mixed | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return sums


def firsts(numbers: Words) -> Ints:
    """Where each run of equal numbers begins, and the end."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return np.array([0, *changes.tolist(), numbers.size], dtype=np.int64)

"""Particles: graphs drawn from the posterior given the tests executed so far.

The posterior of a graph x is Pr(x) · Π_t Pr(D_t | what x says of test t). A new test weights the
particles, systematic resampling drops unlikely ones, and Metropolis–Hastings moves spread the rest
(Bromberg & Margaritis 2007, Algorithm 2). Only the *gap* between the two log-likelihoods of a test
matters. A test that few particles agree with is tempered: its gap is limited, and the limit is
raised in steps so small that enough particles survive each resampling, with moves in between.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.graphs.bits import n_words, pack, unpack
from counterpane.parallel import map_in_threads
from counterpane.typing import Bools, Floats, Ints, Words

GraphPrior = Literal["sparse", "graphs"]

MIN_EFFECTIVE_SHARE = 0.4  # of particles, after one resampling
RENEWAL_MOVES = 2  # times as many moves after each resampling of a population drawn again
MOVE_SHARES = np.array([0.4, 0.15, 0.3])  # toggles, swaps, slides; the rest are exchanges
CONSENSUS_QUESTIONS = 2000


class ParticleClasses(NamedTuple):
    """Where classes of sorted particles begin, the number of graphs, and the entropy in bits.

    Particles of one class agree on all executed tests. The entropy is that within classes,
    Σ_c n_c/N · H(graphs of class c): what tests can still tell.
    """

    bounds: Ints
    n_graphs: int
    entropy: float


def log_size_priors(n: int, prior: GraphPrior) -> Floats:
    """ln of the probability of each number of edges, 0 … C(n, 2), up to a constant."""
    m = n * (n - 1) // 2
    sizes = np.arange(m + 1)
    return log_binomials(m) if prior == "graphs" else -2.0 * np.log1p(sizes)


def log_binomials(m: int) -> Floats:
    """ln C(m, k) for k = 0 … m."""
    total = math.lgamma(m + 1)
    return np.array([total - (math.lgamma(k + 1) + math.lgamma(m - k + 1)) for k in range(m + 1)])


def draw_graphs(rng: np.random.Generator, n_particles: int, n: int, prior: GraphPrior) -> Words:
    """Graphs (particles, n, words) from the prior."""
    m = n * (n - 1) // 2
    logs = log_size_priors(n, prior)
    weights = np.exp(logs - logs.max())
    sizes = rng.choice(m + 1, n_particles, p=weights / weights.sum())
    flags = np.zeros((n_particles, n, n), dtype=np.bool_)
    edges = rng.random((n_particles, m)).argsort(axis=1) < sizes[:, None]
    flags[:, *np.triu_indices(n, 1)] = edges
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
        prior: GraphPrior = "sparse",
        n_jobs: int = 1,
    ) -> None:
        self.graphs = graphs.copy()
        self.n_particles, self.n, words = graphs.shape
        self.pairs, self.given, self.gaps = pairs, given, gaps
        self.logs = limited_log_likelihoods(gaps, np.inf)
        self.prior: GraphPrior = prior
        self.log_prior = log_size_priors(self.n, prior) - log_binomials(self.n * (self.n - 1) // 2)
        self.moves, self.n_jobs = moves, n_jobs
        self.sizes = count_edges(graphs)
        self.totals: Floats = np.zeros(self.n_particles)
        self.reached: Words = np.zeros((self.n_particles, 0, 2, words), dtype=np.uint64)
        self._measure(0)

    def _measure(self, first: int) -> None:
        """Compute what the particles say of the tests from `first` on."""
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

    def says_dependent(self, first: int = 0) -> Words:
        """1 where a particle (row) says that the ends of a test (column) are dependent."""
        t = np.arange(first, len(self.pairs))
        b = self.pairs[first:, 1]
        return (self.reached[:, t, 0, b >> 6] >> (b & 63).astype(np.uint64)) & np.uint64(1)

    @property
    def log_posteriors(self) -> Floats:
        """ln of prior times likelihood, up to a constant."""
        return self.totals + self.log_prior[self.sizes]

    def keep(self, chosen: Ints) -> None:
        """Replace the particles by those at the positions `chosen`."""
        n_tests = len(self.pairs)
        self.graphs = self.graphs[chosen]
        self.sizes, self.totals = self.sizes[chosen], self.totals[chosen]
        self.reached[:, :n_tests] = self.reached[chosen, :n_tests]

    def group(self) -> ParticleClasses:
        """Sort the particles by class and graph."""
        classes = digests(self.says_dependent())
        graphs = digests(self.graphs.reshape(self.n_particles, -1))
        order = np.lexsort((graphs, classes))
        self.keep(order)
        bounds, ends = run_bounds(classes[order]), run_bounds(graphs[order])
        log = x_log_x(self.n_particles)
        entropy = (log[np.diff(bounds)].sum() - log[np.diff(ends)].sum()) / self.n_particles
        return ParticleClasses(bounds, len(ends) - 1, float(entropy))

    def absorb(
        self, pair: tuple[int, int], given: Words, gap: float, rng: np.random.Generator
    ) -> None:
        """Add a test: weight, resample and move until it counts in full."""
        self.pairs = np.concatenate([self.pairs, np.array([pair], dtype=np.int64)])
        self.given = np.concatenate([self.given, given[None]])
        self.gaps = np.append(self.gaps, gap)
        self.logs = np.concatenate([self.logs, np.zeros((1, 2))])
        first = len(self.pairs) - 1
        self._measure(first)
        self._raise_limit(first, 0.0, rng, self.moves)

    def renew(self, rng: np.random.Generator) -> None:
        """Draw new graphs from the prior, and add all tests together, tempered.

        No particle descends from the old ones, so that graphs which they had lost can come back.
        """
        self.graphs = draw_graphs(rng, self.n_particles, self.n, self.prior)
        self.sizes = count_edges(self.graphs)
        self.logs = limited_log_likelihoods(self.gaps, 0.0)
        self.totals = np.zeros(self.n_particles)
        self._measure(0)
        self._raise_limit(0, 0.0, rng, RENEWAL_MOVES * self.moves)

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
            wrong = (self.says_dependent(first) == (self.gaps[first:] > 0)).astype(np.float64)
            limit, log_weights = next_limit(wrong, gaps, limit, highest)
            self.logs[first:] = limited_log_likelihoods(self.gaps[first:], limit)
            self.totals += log_weights
            self.keep(systematic_resample(rng, log_weights))
            self.walk(rng, n_moves)
            if limit >= highest:
                return

    def walk(self, rng: np.random.Generator, n_moves: int) -> None:
        """Move each particle `n_moves` times, in threads; results do not depend on `n_jobs`."""
        if self.n < 2:
            return
        draws = rng.random((self.n_particles, n_moves, 4))
        ratios = np.empty((self.n_particles, n_moves))

        def move_slice(s: slice) -> None:
            kernels.walk(
                self.graphs[s], self.tests, self.reached[s], self.sizes[s], self.totals[s],
                self.log_prior, MOVE_SHARES, draws[s], ratios[s],
            )  # fmt: skip

        cuts = np.linspace(0, self.n_particles, self.n_jobs + 1).astype(np.int64).tolist()
        slices = [slice(a, b) for a, b in pairwise(cuts)]
        list(map_in_threads(move_slice, slices, self.n_jobs))


def count_edges(graphs: Words) -> Ints:
    """The number of edges of each graph."""
    counts: Ints = np.bitwise_count(graphs).sum(axis=(1, 2), dtype=np.int64)
    return counts // 2


def limited_log_likelihoods(gaps: Floats, limit: float) -> Floats:
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
    if has_enough_particles(weigh(high)):
        return high, weigh(high)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if has_enough_particles(weigh(middle)) else (low, middle)
    return high, weigh(high)


def has_enough_particles(log_weights: Floats) -> bool:
    """Whether the effective sample size, (Σ w)² / Σ w², is large enough."""
    weights = np.exp(log_weights - log_weights.max())
    return bool(weights.sum() ** 2 >= MIN_EFFECTIVE_SHARE * weights.size * (weights**2).sum())


def systematic_resample(rng: np.random.Generator, log_weights: Floats) -> Ints:
    """Positions of N resampled particles: evenly spaced marks on the cumulative weights."""
    weights = np.exp(log_weights - log_weights.max())
    ends = np.cumsum(weights) * (weights.size / weights.sum())
    ends[-1] = weights.size
    return np.searchsorted(ends, rng.random() + np.arange(weights.size), side="right")


def digests(rows: Words) -> Words:
    """A 64-bit hash of each row; different rows collide with a probability of 2⁻⁶⁴."""
    keys = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64)
    mixed = (rows + keys) * (2 * keys + np.uint64(1))
    mixed ^= mixed >> np.uint64(29)
    sums: Words = (mixed * (mixed | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    return sums


def run_bounds(numbers: Words) -> Ints:
    """Where each run of equal numbers begins, and the end of the last."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return np.array([0, *changes.tolist(), numbers.size], dtype=np.int64)


def consensus_graph(particles: Words, others: Words, n: int) -> Words:
    """The graph (n, words) among `particles` and `others` with the most expected right answers.

    If tests leave much open, every particle may connect two variables, each in its own way, while
    no edge is in half of them: the graph of the probable edges would contradict all particles. So
    random questions of independence, with all sizes 0 … n−2 of conditioning sets equally often,
    are put to all graphs. The share of particles that answer "independent" is the posterior
    probability of that answer. Ties go to the first graph, that of `others` first.
    """
    graphs: Words = np.concatenate([others, particles])
    best = 0
    if n > 1:
        pairs, given = draw_questions(np.random.default_rng(0), n, CONSENSUS_QUESTIONS)
        dependent = answers_of(graphs, pairs, given)
        right = expected_right(dependent, dependent[:, len(others) :].mean(axis=1))
        best = int(np.argmax(right >= right.max() - 1e-12))
    chosen: Words = graphs[best]
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


def answers_of(graphs: Words, pairs: Ints, given: Words) -> Bools:
    """True where a graph (column) says that the pair of a question (row) is dependent."""
    n_graphs, n, _ = graphs.shape
    edges = np.zeros((n, n, n_words(n_graphs)), dtype=np.uint64)
    kernels.spread_edges(graphs, edges)
    dependent = np.zeros((len(pairs), n_words(n_graphs)), dtype=np.uint64)
    kernels.answer(edges, pairs, given, dependent)
    return unpack(dependent, n_graphs)


def expected_right(dependent: Bools, chances: Floats) -> Floats:
    """The expected share of right answers of each graph; `chances` are those of "dependent"."""
    right: Floats = np.where(dependent, chances[:, None], 1.0 - chances[:, None]).mean(axis=0)
    return right

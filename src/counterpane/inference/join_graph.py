"""Join graphs: approximation by clusters of columns, bounds on weights, rows found by search.

Clusters have as many cells as the work allows and send messages over the columns they share; the
clusters of single factors are loopy belief propagation. Work is counted in cells, not in seconds,
so that the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.errors import EvidenceError, ParameterError, Setting
from counterpane.features import Potential
from counterpane.inference.exact_run import WORDS_PER_SECOND, ExactRun, coded_factors
from counterpane.inference.gibbs import LEAST_STRETCHES, RECORD, Estimate, estimate_from
from counterpane.inference.limits import Limits, current_limits
from counterpane.inference.mean_field import Approximation, check_iteration
from counterpane.typing import Floats, Ints

WORK_PER_SECOND = 1e9  # cells that clusters read and write
BOUNDS = tuple(
    2.0**k for k in range(24, 7, -2)
)  # cells of a cluster, from which the largest is taken
ITERATIONS = 30  # that must fit into the time: with fewer, larger clusters give worse answers
TEMPERED_WORK_PER_SECOND = 6e8  # of chains of parallel tempering
STRETCHES = 100  # means along such a chain from which its convergence is estimated
CHOICES = 200_000  # of a search for a row of positive probability
CUT_CELLS = 2.0**24  # of the sum below a found row, a lower bound on the weight


@dataclass(frozen=True)
class BeliefPropagation:
    """The settings of loopy belief propagation, an approximate method of queries.

    The join graph has one cluster for each table and each column, breadth first, so that trees
    are exact after one iteration.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations.
    tolerance : float
        The iteration ends when no probability changes by more.
    damping : float
        The share of its old value in a new message; above 0 it helps if messages oscillate. After
        30 iterations it is at least .3.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> round(model.query("survived", {"sex": "female"}, method=cp.BeliefPropagation())["yes"], 2)
    0.73
    """

    max_iter: int = 50
    tolerance: float = 1e-4
    damping: float = 0.0

    def __post_init__(self) -> None:
        check_iteration(self.max_iter, self.tolerance)
        if not 0 <= self.damping < 1:
            raise ParameterError(
                Setting("damping", self.damping), "; a number from 0 below 1 is needed."
            )


@dataclass(frozen=True)
class JoinGraph:
    """The settings of propagation in a join graph, an approximate method of queries.

    Parameters
    ----------
    seconds : float
        The estimated time: clusters are the largest for which 30 iterations fit into it.
    max_iter : int
        The largest number of iterations.
    tolerance : float
        The iteration ends when no probability changes by more.
    damping : float
        The share of its old value in a new message; after 30 iterations at least .3.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> round(model.query("survived", {"sex": "female"}, method=cp.JoinGraph())["yes"], 2)
    0.73
    """

    seconds: float = 5.0
    max_iter: int = 500
    tolerance: float = 1e-6
    damping: float = 0.0

    def __post_init__(self) -> None:
        check_iteration(self.max_iter, self.tolerance)
        if not self.seconds > 0 or not 0 <= self.damping < 1:
            raise ParameterError(
                f"seconds={self.seconds!r}, damping={self.damping!r}; seconds above 0 and "
                "a damping from 0 below 1 are needed."
            )


class WeightBounds(tuple[float, float]):
    """(lower, upper): natural logs between which a weight lies; equal where it is exact.

    `estimate` lies between them: what propagation says, or the middle where it says nothing.

    >>> WeightBounds((-3.0, -2.0)).upper, WeightBounds((-3.0, -2.0), -1.0).estimate
    (-2.0, -2.0)
    """

    estimate: float

    def __new__(cls, bounds: tuple[float, float], estimate: float | None = None) -> Self:
        self = super().__new__(cls, bounds)
        lower, upper = bounds
        middle = lower if lower == upper else (lower + upper) / 2
        said = middle if estimate is None or not np.isfinite(estimate) else estimate
        self.estimate = float(min(max(said, lower), upper))
        return self

    @property
    def lower(self) -> float:
        """The lower bound."""
        return self[0]

    @property
    def upper(self) -> float:
        """The upper bound."""
        return self[1]


class ClusterRun:
    """A question about a product of potentials for which an exact answer is too expensive.

    >>> pair = [Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))]
    >>> run = ClusterRun(pair, [2, 2], {1: 1})
    >>> run.propagate(JoinGraph()).marginals[0].round(4).tolist()
    [0.3333, 0.6667]
    >>> run.solution().tolist()
    [0, 1]
    """

    def __init__(
        self,
        potentials: Iterable[Potential],
        cards: npt.ArrayLike,
        evidence: Mapping[int, int],
        *,
        plan_seconds: float = 1.0,
    ) -> None:
        self.cards: Ints = np.asarray(cards, dtype=np.int64)
        self.potentials = list(potentials)
        self.evidence = dict(evidence)
        every = range(self.cards.size)
        self._factors, self._codes, self._shift = coded_factors(
            self.potentials, self.cards, evidence, every
        )
        self._plan_seconds = plan_seconds
        self._starts = np.append(0, np.cumsum(self.cards))

    @cached_property
    def _plan(self) -> tuple[Ints, Floats]:
        order: Ints = np.zeros(self.cards.size, dtype=np.int64)
        report = np.zeros(3)
        words = self._plan_seconds * WORDS_PER_SECOND
        n = kernels.plan_order(self._factors, self._codes, words, 1.0, order, report)
        if n < 0:
            raise impossible()
        return order[:n], report

    @property
    def has_zeros(self) -> bool:
        """Whether some joint states are impossible after all simplification."""
        return bool(self._plan[1][2])

    def work(self, most: float) -> float:
        """The cells that an iteration reads and writes if clusters have at most `most` cells."""
        return float(self._run(most, 0, JoinGraph())[2][0])

    def propagate(
        self, settings: JoinGraph | BeliefPropagation, *, seconds: float = np.inf
    ) -> Approximation:
        """Approximate marginals of all free variables; loopy belief propagation ends in time."""
        most, iterations = 0.0, settings.max_iter
        if isinstance(settings, JoinGraph):
            seconds = settings.seconds
            room = seconds * WORK_PER_SECOND
            most = next((b for b in BOUNDS if ITERATIONS * self.work(b) <= room), 0.0)
        if seconds < np.inf:
            most_work = seconds * WORK_PER_SECOND / max(self.work(most), 1.0)
            iterations = int(min(iterations, max(2.0, most_work)))
        flat, _, report = self._run(most, iterations, settings)
        _, n_iter, change, log_weight = report.tolist()
        converged = 0 <= change < settings.tolerance
        free = [v for v in range(self.cards.size) if v not in self.evidence]
        marginals = {v: flat[self._starts[v] : self._starts[v + 1]] for v in free}
        weight = None if np.isnan(log_weight) else log_weight + self._shift
        return Approximation(marginals, weight, int(n_iter), abs(change), converged)

    def best_row(self, settings: BeliefPropagation) -> Ints:
        """A row that agrees with the evidence, by max-product; the best one on trees.

        >>> pair = Potential((0, 1), [[1.0, 0.0], [0.0, 2.0]])
        >>> ClusterRun([pair], [2, 2], {}).best_row(BeliefPropagation()).tolist()
        [1, 1]
        """
        return self._run(0.0, settings.max_iter, settings, maximize=True)[1]

    def temper(self, chains: int, seconds: float, seed: int = 0) -> dict[int, Estimate] | None:
        """P(v | evidence) of all free variables by chains of parallel tempering.

        None if some joint states are impossible, or the time is too short.
        """
        width = int(self.cards.sum())
        stretches = max(min(STRETCHES, RECORD // (chains * width)), LEAST_STRETCHES)
        means: Floats = np.zeros((chains, stretches, width))
        for chain in range(chains):
            work, word = seconds * TEMPERED_WORK_PER_SECOND / chains, seed * chains + chain
            if not kernels.temper(self._factors, self._codes, word, work, means[chain]):
                return None
        flat = estimate_from(means.mean(axis=(0, 1)), means, chains * stretches)
        return {
            v: Estimate(*(part[self._starts[v] : self._starts[v + 1]] for part in flat))
            for v in range(self.cards.size)
            if v not in self.evidence
        }

    def solution(self, beliefs: Floats | None = None, *, seed: int | None = None) -> Ints:
        """A row of positive probability that agrees with the evidence; `beliefs` guide the search.

        With a seed, states are drawn from the beliefs.
        """
        if beliefs is None:
            beliefs = np.repeat(1.0 / self.cards, self.cards)
        codes: Ints = np.zeros(self.cards.size, dtype=np.int64)
        outcome = kernels.find_solution(
            self._factors, self._codes, beliefs, seed or 0, seed is not None, CHOICES, codes
        )
        if outcome == 0:
            raise impossible()
        if outcome < 0:
            raise EvidenceError(
                f"no row of positive probability that agrees with the evidence was found in "
                f"{CHOICES:,} steps of search; give less evidence, or a possible row by "
                "Gibbs(start=…)."
            )
        return codes

    def bounds(self, row: Ints | None = None, *, seconds: float = 2.0) -> WeightBounds:
        """Bounds on the log of the weight of the evidence.

        The upper one is that of mini-buckets, the lower one the weight of all rows that agree with
        a row of positive probability on a few columns, which make the rest easy. By default the
        states of that row are probable by propagation.
        """
        upper = self.upper(seconds=seconds)
        propagated = self.propagate(JoinGraph(seconds))
        start = self.solution(propagated.flat(self.cards)) if row is None else row
        order, _ = self._plan
        cut: Ints = np.zeros(self.cards.size, dtype=np.int64)
        n = kernels.cut_columns(self._factors, self._codes, order, CUT_CELLS, cut)
        fixed = {int(v): int(start[v]) for v in cut[:n]} | self.evidence
        limits = Limits(np.inf, max(current_limits().bytes, 2**28))
        every = range(self.cards.size)
        rest = ExactRun(self.potentials, self.cards, fixed, every=every, limits=limits)
        return WeightBounds((min(rest.weight(), upper), upper), propagated.log_weight)

    def upper(self, *, maximize: bool = False, seconds: float = 2.0) -> float:
        """The bound of mini-buckets on the weight of the evidence, or of its heaviest row."""
        order, _ = self._plan
        room = seconds * WORK_PER_SECOND / 8  # logs
        most = next((b for b in BOUNDS if self.work(b) <= room), BOUNDS[-1])
        bound = kernels.bound_weight(self._factors, self._codes, order, most, maximize)
        return bound + self._shift

    def _run(
        self,
        most: float,
        iterations: int,
        settings: JoinGraph | BeliefPropagation,
        *,
        maximize: bool = False,
    ) -> tuple[Floats, Ints, Floats]:
        """(beliefs end to end, the best row if `maximize`, the report)."""
        flat, report = np.zeros(int(self.cards.sum())), np.zeros(kernels.JOIN_ENTRIES)
        best = np.zeros(self.cards.size, dtype=np.int64)
        order = self._plan[0] if most > 0 else best
        possible = kernels.propagate_clusters(
            self._factors, self._codes, order, most, iterations, settings.damping,
            settings.tolerance, maximize, flat, best, report,
        )  # fmt: skip
        if not possible:
            raise impossible()
        return flat, best, report


def impossible() -> EvidenceError:
    """The error for evidence of probability zero."""
    return EvidenceError(
        "the evidence has probability zero under the model: messages leave no state possible; "
        "change or drop some of it."
    )

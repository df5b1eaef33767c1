"""The weights of potentials and rules that maximize the pseudo-likelihood (Besag 1975).

    minimize −Σ rows weight · Σ v ln P(x_v | rest) + Σ w² / (2 · sd²) + l1 · Σ |w|,

which is convex, by L-BFGS, by OWL-QN where l1 > 0. P(x_v | rest) depends on v and its blanket only:
where these have few joint states, the variable reads distinct rows of these columns, often a
thousandth of all rows. The others read the distinct rows of all columns, in memory; if there are
too many, every evaluation streams the rows instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane._core.markov import PseudoView, RowLists, add_pseudo_gradient
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting, TableSizeError
from counterpane.features import Blanket, Potential, Rules
from counterpane.learners.driver import CTRL_C, StoppedEarly
from counterpane.learners.markov.feature_rows import CompiledFeatures, Incidence, RowReading
from counterpane.learners.markov.lbfgs import Minimum, minimize
from counterpane.parallel import map_in_threads
from counterpane.progress import Control, Stopped
from counterpane.typing import Array, Codes, Floats, Ints

MAX_ROWS = 2**20  # distinct rows in memory
MAX_CODES = 2**26  # codes of rows of all columns in memory: 128 MB
MAX_POSITIONS = 2**28  # rows in the lists of rules in memory: 512 MB
NARROW = 2**14  # joint states of a blanket whose distinct rows are stored separately
BLOCK_ROWS = 2**14  # short lists cost most in small blocks, and a place in a block has 16 bits
CHUNKS = 8  # of variables, for threads; fixed, so that sums do not depend on the threads
MAX_SHARED = 2**18  # cells of tables for which each chunk has its own sums

GRADIENT = 1e-6  # nats per row: the largest slope at the end
MAX_STEPS = 2000


class GradientSum:
    """−PLL and its slopes, summed over views."""

    def __init__(self, features: CompiledFeatures, w: Floats, n_jobs: int = 1) -> None:
        self.features = features
        n_values = features.parts.values.size
        self.values, rules = np.split(w, [n_values])
        self.by_slot = features.incidence.by_slot(rules)
        self.chunks = CHUNKS if n_values <= MAX_SHARED else 1
        self.minus_pll = np.zeros(features.cards.size)
        self.value_slopes = np.zeros((self.chunks, n_values))
        self.slot_slopes = np.zeros(self.by_slot.size)
        self.n_jobs = n_jobs

    def add(self, view: PseudoView, lists: RowLists) -> None:
        """Add the variables of one view."""
        cuts = np.linspace(0, view.variables.size, self.chunks + 1).astype(np.int64)
        f = self.features

        def run(chunk: int) -> None:
            add_pseudo_gradient(
                view, lists, f.cards, f.incidence.entry_from, f.incidence.slot_from,
                cuts[chunk], cuts[chunk + 1], self.values, self.by_slot,
                self.minus_pll, self.value_slopes[chunk], self.slot_slopes,
            )  # fmt: skip

        list(map_in_threads(run, range(self.chunks), self.n_jobs))

    def result(self) -> Floats:
        """−PLL, then its slope by each weight."""
        by_value = self.value_slopes.sum(axis=0)
        by_rule = self.features.incidence.by_rule(self.slot_slopes)
        return np.concatenate([[self.minus_pll.sum()], by_value, by_rule])


@dataclass(frozen=True)
class GradientTask:
    """−PLL of the variables of `reading` and its slopes at `w` over a block of rows, end to end."""

    reading: RowReading
    w: Floats

    def __call__(self, codes: Codes, weights: Array | None) -> Floats:
        gradient = GradientSum(self.reading.features, self.w)
        for view in row_blocks(self.reading, codes, weights):
            gradient.add(view, self.reading.lists(view))
        return gradient.result()


def row_blocks(reading: RowReading, codes: Codes, weights: Array | None) -> Iterator[PseudoView]:
    """Views of a few rows at a time."""
    n_rows = codes.shape[1]
    n_blocks = -(-n_rows // BLOCK_ROWS)
    for lo, hi in pairwise(n_rows * k // n_blocks for k in range(n_blocks + 1)):
        rows = slice(lo, hi)
        yield reading.shared(codes[:, rows], None if weights is None else weights[rows])


class PseudoLikelihood:
    """−PLL of `parts` on the rows of `source`, as a function of their weights; missing cells raise.

    Weights are the log-values of the tables, end to end in the order given, then those of rules.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> table = PseudoLikelihood(source, [Potential((1, 2), np.zeros((2, 2)))])
    >>> value, gradient = table(np.zeros(4))
    >>> round(value / source.n_rows, 4), gradient.shape  # ln of 4 · 2 · 2 · 2 joint states
    (3.4657, (4,))
    """

    def __init__(
        self,
        source: CountSource,
        parts: Sequence[Potential | Rules],
        *,
        max_rows: int = MAX_ROWS,
        n_jobs: int = 1,
        ctl: Control | None = None,
    ) -> None:
        self.source = source
        self.ctl = ctl
        self.n_jobs = n_jobs
        blanket = Blanket(source.schema.cards, parts, source.schema.names)
        conditions = blanket.conditions.simplified(blanket.cards)
        self.features = CompiledFeatures(blanket.parts, Incidence(blanket.cards, conditions))
        self.stored: list[tuple[RowReading, PseudoView, RowLists | None]] = []
        self._free = MAX_POSITIONS
        wide = self._store_narrow(blanket, max_rows)
        self.streamed: Ints = wide[:0] if self._store_wide(wide, max_rows) else wide
        if self.streamed.size:
            source.counts([(v,) for v in self._everything], missing="error", ctl=ctl)
        self._streaming = RowReading(self.features, self.streamed)

    @property
    def _everything(self) -> list[int]:
        return list(range(len(self.source.schema)))

    def _store_narrow(self, blanket: Blanket, max_rows: int) -> Ints:
        """Store the rows of variables with small blankets; returns the other variables."""
        bits, most = np.log2(self.features.cards), np.log2(NARROW)
        columns, tables, wide = [], [], []
        for v in self._everything:
            own = np.array([v, *blanket.neighbors(v)])
            table = self._distinct(own.tolist(), max_rows) if bits[own].sum() <= most else None
            if table is None:
                wide.append(v)
                continue
            columns.append(own)
            tables.append(table)
            max_rows -= table.n_rows
        if columns:
            variables = np.array([own[0] for own in columns])
            reading = RowReading(self.features, variables, columns)
            self._store(reading, reading.stacked(tables))
        return np.array(wide, dtype=np.int64)

    def _store_wide(self, variables: Ints, max_rows: int) -> bool:
        """Store the distinct rows of all columns; returns False if there are too many."""
        if not variables.size:
            return True
        limit = min(max_rows, MAX_CODES // len(self._everything))
        rows = self._distinct(self._everything, limit)
        if rows is None:
            return False
        reading = RowReading(self.features, variables)
        for view in row_blocks(reading, rows.codes, rows.weights):
            self._store(reading, view)
        return True

    def _distinct(self, columns: list[int], limit: int) -> Table | None:
        """The distinct rows of `columns`; None if there are too many."""
        try:
            rows = self.source.distinct(columns, limit=limit, ctl=self.ctl)
        except TableSizeError:
            return None
        return rows.resolve_missing("error")

    def _store(self, reading: RowReading, view: PseudoView) -> None:
        """Store a view, with its lists while there is room."""
        lists = None
        with suppress(TableSizeError):
            lists = reading.lists(view, self._free)
            self._free -= lists.positions.size
        self.stored.append((reading, view, lists))

    @property
    def n_weights(self) -> int:
        """The number of weights."""
        return self.features.parts.values.size + self.features.incidence.n_rules

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """−PLL in nats, not negative, and its gradient."""
        gradient = GradientSum(self.features, w, self.n_jobs)
        for reading, view, lists in self.stored:
            if self.ctl is not None:
                self.ctl.check()
            gradient.add(view, reading.lists(view) if lists is None else lists)
        total = gradient.result()
        if self.streamed.size:
            task = GradientTask(self._streaming, w)
            total += self.source.map_reduce(task, self._everything, ctl=self.ctl)
        return float(total[0]), total[1:]


class WeightFit(NamedTuple):
    """Weights, their penalized −PLL in nats, the number of steps, and whether slopes became small.

    `stopped` is a warning if the search ended early, else None.
    """

    weights: Floats
    objective: float
    steps: int
    converged: bool
    stopped: StoppedEarly | None


def maximize_likelihood(
    objective: PseudoLikelihood,
    *,
    prior_sd: float | Floats = 2.0,
    l1: float = 0.0,
    start: Floats | None = None,
    tolerance: float = GRADIENT,
    max_steps: int = MAX_STEPS,
    ctl: Control | None = None,
) -> WeightFit:
    """The weights of the largest penalized pseudo-likelihood, by L-BFGS.

    `prior_sd` may differ by weight, or be infinite. The search stops when no slope is above
    `tolerance` nats per row. If `ctl` or Ctrl-C stops it, the result is the best so far.
    """
    spread = np.broadcast_to(np.asarray(prior_sd, dtype=np.float64), objective.n_weights)
    if not (spread > 0).all():
        raise ParameterError(
            Setting("prior_sd", prior_sd), "; standard deviations above zero are needed."
        )
    precision = spread**-2.0
    rows = float(objective.source.total_weight or 1.0)
    first = np.zeros(objective.n_weights) if start is None else start
    best = Minimum(first, np.inf, np.inf)
    steps, stopped = 0, None

    def penalized(w: Floats) -> tuple[float, Floats]:
        nonlocal best
        value, gradient = objective(w)
        value = (value + 0.5 * float((precision * w * w).sum())) / rows
        total = value + l1 / rows * float(np.abs(w).sum())
        if total < best.value:
            best = Minimum(w.copy(), total, np.inf)
        return value, (gradient + precision * w) / rows

    def count_step(_: Floats) -> None:
        nonlocal steps
        steps += 1
        if ctl is not None:
            ctl.report("fitting weights", steps, None)

    limits: dict[str, Any] = {"tolerance": tolerance, "max_steps": max_steps}
    try:
        best = minimize(penalized, first, l1=l1 / rows, callback=count_step, **limits)
    except (Stopped, KeyboardInterrupt) as reason:
        why = reason.reason if isinstance(reason, Stopped) else CTRL_C
        words = f"fitting weights was stopped ({why}) after {steps} steps; the result is the best "
        stopped = StoppedEarly(words, "so far: allow more time to come closer.", reason=why)
    return WeightFit(best.w, rows * best.value, steps, best.steepest <= tolerance, stopped)

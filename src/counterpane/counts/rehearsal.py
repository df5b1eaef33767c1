"""What a fit will cost, before a cluster is set to work: it is rehearsed on a sample of the rows.

A learner asks a source for passes over the rows. A `Rehearsal` answers from a sample, and notes the
passes. Two rehearsals give a range: one whose sample weighs as many rows as it has, so that a
search stops early, and one whose sample weighs as much as the table, so that a search takes noise
for dependence. If the number of passes does not depend on the data, both are the same, and exact.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpane.counts.layout import Scope
from counterpane.counts.source import CountSource
from counterpane.counts.tasks import CountTask, PairTask
from counterpane.data.table import Table
from counterpane.memory import size_text
from counterpane.progress import Control
from counterpane.typing import Bools

SAMPLE_ROWS = 10_000
LIMIT = 20.0  # seconds of one rehearsal of a learner that can be stopped


@dataclass(frozen=True)
class ScanPlan:
    """The cost of a fit, each number as (least, most) where it depends on the data.

    Attributes
    ----------
    learner : str
        The name of the learner's class.
    n_rows, n_columns : int
        The size of the table; the rows of a text file are estimated.
    scans : (int, int)
        How often the rows are read, apart from what was read already.
    scan_bytes : int or None
        The bytes of the files that one scan reads; None if they are not files.
    tables : (int, int)
        The number of count tables.
    seconds : (float, float)
        A rough time.
    complete : bool
        False if a rehearsal was stopped by its time limit: then the most is only known to be more.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> plan = source.explain(cp.ChowLiu())
    >>> plan.learner, plan.scans[0] == plan.scans[1]
    ('ChowLiu', True)
    """

    learner: str
    n_rows: int
    n_columns: int
    scans: tuple[int, int]
    scan_bytes: int | None
    tables: tuple[int, int]
    seconds: tuple[float, float]
    complete: bool = True

    def __str__(self) -> str:
        size = "" if self.scan_bytes is None else f" of {size_text(self.scan_bytes)}"
        more = "" if self.complete else " or more (the rehearsal was stopped)"
        return (
            f"{self.learner} on {self.n_rows:,} rows × {self.n_columns:,} columns: "
            f"{_between(*self.scans)} scan{'' if self.scans == (1, 1) else 's'}{size}, "
            f"{_between(*self.tables)} tables, about "
            f"{_between(*(float(f'{s:.2g}') for s in self.seconds))} s{more}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return dict(vars(self))


def _between(least: float, most: float) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


class Rehearsal(CountSource):
    """A sample of the rows of a source, which notes how often a learner passes over them."""

    def __init__(
        self, sample: Table, has_missing: Bools, *, share: int = 1, row_weight: int = 1
    ) -> None:
        self._sample, self._share, self._row_weight = sample, share, row_weight
        self.row_growth = 1.0  # how much longer the work of a learner that holds rows will take
        self.schema, self.has_missing = sample.schema, has_missing
        self.n_rows, self.total_weight = sample.n_rows, sample.total_weight
        self.passes = self.tables = 0
        self.seconds = 0.0
        self.before: int | None = None  # passes before the learner asked to prepare for many

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        began = time.perf_counter()
        self.passes += 1
        if isinstance(fn, CountTask):
            self.tables += len(fn.layout.out_from) - 1
        elif isinstance(fn, PairTask):
            n = fn.n_left
            self.tables += n * (n - 1) // 2 if fn.symmetric else n * (len(columns) - n)
        else:
            self.tables += 1
        total = fn(self._sample.codes[list(columns)], self._sample.weights)
        self.seconds += time.perf_counter() - began
        if ctl is not None:
            ctl.report("counting rows", self._sample.n_rows, self._sample.n_rows)
        return total

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        """The distinct rows; if of all columns, how many more the whole table has is noted.

        By Good and Turing, a further row is new as often as a row of the sample occurs only once.
        """
        rows = super().distinct(columns, limit=limit, ctl=ctl)
        if len(rows.schema) == len(self.schema) and rows.weights is not None:
            once = np.count_nonzero(rows.weights <= self._row_weight)
            self.row_growth = 1 + (self._share - 1) * once / rows.n_rows
        return rows

    def prepare(self) -> None:
        """Note that many passes will come."""
        self.before = self.passes if self.before is None else self.before

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        self.prepare()
        return self


def rehearse(source: Any, learner: Any, target: str | None = None) -> ScanPlan:
    """The plan of a fit of a copy of `learner` to `source`, whose state must be known."""
    sample = source.head(SAMPLE_ROWS)
    share = max(round(source.n_rows / sample.n_rows), 1)
    weights = [(sample.weights, 1)]
    if share > 1:
        ones = np.ones(sample.n_rows, np.int64) if sample.weights is None else sample.weights
        weights.append((ones * share, share))
    lines = []
    complete = True
    for column, row_weight in weights:
        table = Table(sample.schema, sample.codes, column)
        stage = Rehearsal(table, source.has_missing, share=share, row_weight=row_weight)
        own, stopped = _fit(learner, stage, target)
        own *= stage.row_growth
        complete &= not stopped
        scans = source.scans_of(stage.passes, stage.before)
        again = stage.seconds * share if scans < stage.passes else 0.0
        lines.append((scans, stage.tables, scans * source.scan_seconds + again + own))
    scans, tables, seconds = ((min(x), max(x)) for x in zip(*lines, strict=True))
    return ScanPlan(
        type(learner).__name__, source.n_rows, len(source.schema), scans, source.scan_bytes, tables,
        seconds, complete,
    )  # fmt: skip


def _fit(learner: Any, stage: Rehearsal, target: str | None) -> tuple[float, bool]:
    """The seconds of a learner's own work, and whether it was stopped."""
    copy = type(learner)(**learner.get_params(deep=False))
    known = copy.get_params(deep=False)
    limits = {"time_limit": min(LIMIT, known.get("time_limit") or LIMIT), "progress": False,
              "checkpoint": None, "bootstrap": 0}  # fmt: skip
    copy.set_params(**{name: value for name, value in limits.items() if name in known})
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        copy.fit(stage) if target is None else copy.fit(stage, target)
    stopped = any(hasattr(w.message, "by_user") for w in caught)
    return time.perf_counter() - began - stage.seconds, stopped

"""What a fit will cost, before a cluster is set to work: it is tried on a sample of the rows.

A learner asks a source for passes over the rows. A `SampledSource` answers from a sample and counts
the passes. Two trials give a range: one whose sample weighs as many rows as it has, so that a
search stops early, and one whose sample weighs as much as the table, so that a search takes noise
for dependence. If the number of passes does not depend on the data, both are the same, and exact.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from counterpane.counts.layout import Scope
from counterpane.counts.source import CountSource, counted_cards, first_rows
from counterpane.counts.tasks import CountTask, PairTask
from counterpane.data.columns import Labels, Numbers, n_rows
from counterpane.data.readers.blocks import Block, BlockReader
from counterpane.data.readers.files import FileReader
from counterpane.data.readers.text_files import FileOptions
from counterpane.data.reading import open_files
from counterpane.data.table import Table
from counterpane.lazy import lazy
from counterpane.memory import size_text
from counterpane.progress import Control
from counterpane.typing import Bools

blocks = lazy("counterpane.counts.blocks")
packed_rows = lazy("counterpane.counts.packed_rows")

SAMPLE_ROWS = 10_000
LIMIT = 20.0  # seconds of one trial of a learner that can be stopped
UNPACKED = 5  # bytes of text for a byte of its gzipped file, about


@dataclass(frozen=True)
class CostEstimate:
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
        False if a trial was stopped by its time limit: then the most is only known to be more.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> cost = cp.evaluate.estimate_cost(source, cp.ChowLiu())
    >>> cost.learner, cost.scans[0] == cost.scans[1]
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
        more = "" if self.complete else " or more (the trial was stopped)"
        return (
            f"{self.learner} on {self.n_rows:,} rows × {self.n_columns:,} columns: "
            f"{_between(*self.scans)} scan{'' if self.scans == (1, 1) else 's'}{size}, "
            f"{_between(*self.tables)} tables, about "
            f"{_between(*(float(f'{s:.2g}') for s in self.seconds))} s{more}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return dict(vars(self))


def _between(least: float, most: float) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


class SampledSource(CountSource):
    """A sample of the rows of a source, which counts how often a learner passes over them."""

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
        """Return the distinct rows; if of all columns, note how many more the whole table has.

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


def estimate_cost(source: CountSource, learner: Any, target: str | None = None) -> CostEstimate:
    """Return what a fit of `learner` to `source` will cost: scans, bytes, tables and rough time.

    A copy of the learner is fitted to some of the first rows. The scans of a learner whose number
    of passes does not depend on the data are exact; those of a search are a range.

    Parameters
    ----------
    source : CountSource
        The rows; a `FileSource` or a `SparkSource`, for example.
    learner : learner
        It is not fitted.
    target : str
        The class, for classifiers.

    Returns
    -------
    CostEstimate
        Prints as a sentence.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> cp.evaluate.estimate_cost(source, cp.ChowLiu()).scans
    (4, 4)
    """
    if isinstance(source, blocks.ScannedSource):
        sample, scans_of = source.head(SAMPLE_ROWS), source.scans_of
        seconds, scan_bytes = source.scan_seconds, source.scan_bytes
    else:
        sample, scans_of = first_rows(source, SAMPLE_ROWS), _one_for_each
        seconds, scan_bytes = 0.0, None
    rows = _Rows(source.n_rows or sample.n_rows, scan_bytes, seconds, scans_of)
    return _estimate(sample, source.has_missing, rows, learner, target)


def estimate_file_cost(
    paths: Any, learner: Any, target: str | None = None, *, delimiter: str | None = None,
    classes: bool = False, **options: Any,
) -> CostEstimate:  # fmt: skip
    """Return what `FileSource(paths)` and a fit to it will cost; one block of rows is read.

    `target` is that of the intervals; with `classes` it is also the class of the learner.
    """
    files = open_files(paths, FileOptions(delimiter))
    first = FirstBlock(files)
    source = blocks.BlockSource(first, target=target, **options)
    groups = [files.groups(path) for path in files.paths]
    if None not in groups:
        n_rows = sum(sum(group or ()) for group in groups)
    else:
        sizes = [path.stat().st_size * (UNPACKED if path.suffix.lower() == ".gz" else 1)
                 for path in files.paths]  # fmt: skip
        n_rows = max(round(sum(sizes) / first.row_bytes()), source.n_rows)
    size = packed_rows.packed_bytes(counted_cards(source), n_rows, weighted=False)
    packs = size <= blocks.DEFAULT_MEMORY // 2

    def scans_of(passes: int, before: int | None) -> int:
        """The scans that find states and intervals, and those of the passes."""
        return int(source.n_scans) + (min(passes, 1) if packs else passes)

    seconds = source.scan_seconds * n_rows / source.n_rows
    rows = _Rows(n_rows, files.n_bytes, seconds, scans_of)
    wanted = target if classes else None
    return _estimate(source.head(SAMPLE_ROWS), source.has_missing, rows, learner, wanted)


class FirstBlock(BlockReader):
    """The first block of rows of files."""

    def __init__(self, files: FileReader) -> None:
        self._files, self.names, self.what = files, files.names, files.what
        self.text_file, self.semicolons = files.text_file, files.semicolons

    def blocks(
        self, names: Sequence[str], as_text: Collection[str] = ()
    ) -> Generator[Block, None, None]:
        with closing(self._files.blocks(names, as_text)) as found:
            yield from islice(found, 1)

    def row_bytes(self) -> float:
        """The bytes of a row, about; in a text file with its separators."""
        names = [name for name in self.names if name not in self._files.folders]
        (block,) = self.blocks(names, names if self.text_file else ())
        size, rows = 0, min(n_rows(block[0]), SAMPLE_ROWS)
        for column in block:
            if isinstance(column, Labels):
                lengths = [*(len(str(state)) for state in column.states), 0]
                size += sum(lengths[code] + 1 for code in column.codes[:rows].tolist())
            elif isinstance(column, Numbers):
                size += column.values.itemsize * rows
        return size / rows


@dataclass(frozen=True)
class _Rows:
    """The rows of a fit: their number, and what scans of them cost."""

    n_rows: int
    scan_bytes: int | None
    scan_seconds: float
    scans_of: Callable[[int, int | None], int]


def _one_for_each(passes: int, before: int | None) -> int:
    return passes


def _estimate(
    sample: Table, has_missing: Bools, rows: _Rows, learner: Any, target: str | None
) -> CostEstimate:
    share = max(round(rows.n_rows / sample.n_rows), 1)
    weights = [(sample.weights, 1)]
    if share > 1:
        ones = np.ones(sample.n_rows, np.int64) if sample.weights is None else sample.weights
        weights.append((ones * share, share))
    lines = []
    complete = True
    for column, row_weight in weights:
        table = Table(sample.schema, sample.codes, column)
        trial = SampledSource(table, has_missing, share=share, row_weight=row_weight)
        own, stopped = _fit(learner, trial, target)
        complete &= not stopped
        read = rows.scans_of(trial.passes, trial.before)
        again = trial.seconds * share if read < trial.passes else 0.0
        own = read * rows.scan_seconds + again + own * trial.row_growth
        lines.append((read, trial.tables, own))
    scans, tables, seconds = ((min(x), max(x)) for x in zip(*lines, strict=True))
    return CostEstimate(
        type(learner).__name__, rows.n_rows, len(sample.schema), scans, rows.scan_bytes, tables,
        seconds, complete,
    )  # fmt: skip


def _fit(learner: Any, trial: SampledSource, target: str | None) -> tuple[float, bool]:
    """The seconds of a learner's own work, and whether it was stopped."""
    copy = type(learner)(**learner.get_params(deep=False))
    known = copy.get_params(deep=False)
    limits = {"time_limit": min(LIMIT, known.get("time_limit") or LIMIT), "progress": False,
              "checkpoint": None, "bootstrap": 0}  # fmt: skip
    copy.set_params(**{name: value for name, value in limits.items() if name in known})
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        copy.fit(trial) if target is None else copy.fit(trial, target)
    stopped = any(hasattr(w.message, "by_user") for w in caught)
    return time.perf_counter() - began - trial.seconds, stopped

"""Counts of a table in partitions that workers read or hold: what Dask and Spark share.

A partition gives `blocks(names)`, blocks of columns. A first scan of all partitions finds the
states; after that, a partition is encoded where it is counted. `ScanPart`, `CountPart` and
`PackPart` are the tasks that travel to the workers. Each result comes with the number of its rows.
"""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from counterpane.counts.blocks import ScannedSource, rules_of
from counterpane.counts.packed_rows import PackedRows
from counterpane.counts.tasks import CodeBlock, as_contiguous, sum_over_blocks
from counterpane.data.block_schema import RowFacts, SchemaOptions
from counterpane.data.columns import n_rows
from counterpane.data.encoding import BlockEncoder
from counterpane.data.readers.blocks import BLOCK_ROWS, Block, batch_columns, usable_columns
from counterpane.data.readers.files import FileReader
from counterpane.data.remote import FilePath
from counterpane.data.table import Table
from counterpane.errors import DataError
from counterpane.progress import Control
from counterpane.typing import Ints

PART_CELLS = 2**22  # of files that are one part: what a worker counts in a moment
LEAST_PARTS = 16  # unless there are too few cells: two workers, or ten, are then evenly busy
WATCH = 0.05  # seconds between two looks at a job
CELL_BYTES = 3  # that a cell of a text file takes, about

PartSum = tuple[Any, int] | None
"""The sum of a task over some partitions and their number of rows; None without rows."""


class PartitionedSource(ScannedSource):
    """Counts by workers that hold or read partitions; base of `DaskSource` and `SparkSource`.

    A subclass runs tasks on all partitions (`_sum`), says which rows to run them on (`_cells_of`,
    `_rows_of`), and lets the workers keep packed rows (`prepare`). The options are those of
    `FileSource`.
    """

    def _scan_states(
        self, table: FileReader | RowFacts, ctl: Control | None, options: SchemaOptions
    ) -> None:
        """Find the states of the columns in one scan; files are split into parts for it."""
        rules = rules_of(options)
        n_columns = len(rules.names(table.names))
        self._parts = split_files(table, n_columns) if isinstance(table, FileReader) else []
        self.n_scans, self.scan_bytes = 0, table.n_bytes
        began = time.perf_counter()

        def read(tally: Any, names: list[str], as_text: Collection[str]) -> Any:
            part = ScanPart(tally, names, tuple(as_text))
            total = self._sum(part, self._cells_of(names), "reading states", ctl)
            if total is None:
                raise DataError("the data has no rows; at least one is needed.")
            return total[0]

        self._find_schema(read, table, rules)
        self.scan_seconds = time.perf_counter() - began

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        columns = list(columns)
        rows, encoder = self._rows_of(columns)
        total = self._sum(CountPart(encoder, fn, columns), rows, "counting rows", ctl, self.n_rows)
        if total is None or total[1] != self.n_rows:
            raise DataError(
                f"the partitions had {self.n_rows} rows when the source was made, and have "
                f"{0 if total is None else total[1]} now; make it again, from data that gives the "
                "same rows each time."
            )
        return as_contiguous(total[0]) if isinstance(total[0], np.ndarray) else total[0]

    def head(self, rows: int) -> Table:
        """The first rows: those of the first part of files, read here; else by a scan."""
        if not self._parts:
            return super().head(rows)
        columns = range(len(self.schema))
        codes, weights = next(_coded(self._parts[0], self._encoder, columns))
        return Table(self.schema, codes[:, :rows], None if weights is None else weights[:rows])

    @abstractmethod
    def _cells_of(self, names: Sequence[str]) -> Any:
        """The partitions of some columns by name, as `_sum` takes them."""

    @abstractmethod
    def _rows_of(self, columns: list[int]) -> tuple[Any, BlockEncoder | None]:
        """The partitions of some columns, and their encoder; None if they are packed rows."""

    @abstractmethod
    def _sum(
        self,
        task: Callable[[Any], PartSum],
        rows: Any,
        what: str,
        ctl: Control | None,
        n_rows: int | None = None,
    ) -> PartSum:
        """The sum of a task over partitions, in their order."""


# ---- partitions ----------------------------------------------------------------------------------


class Partition(Protocol):
    """Some rows of a table."""

    def blocks(self, names: Sequence[str], as_text: Collection[str] = ()) -> Iterator[Block]:
        """The cells of some columns, block by block; see `BlockReader`."""


class CodedPartition(Protocol):
    """Some rows of a table, as codes; `PackedRows` are."""

    def blocks(self, columns: Sequence[int]) -> Iterator[CodeBlock]: ...


@dataclass(frozen=True)
class FilePart:
    """Rows of files, which the worker reads: paths, each with its row groups or None for all."""

    files: FileReader
    places: tuple[tuple[FilePath, range | None], ...]

    def blocks(self, names: Sequence[str], as_text: Collection[str] = ()) -> Iterator[Block]:
        for path, groups in self.places:
            yield from self.files.read(path, names, as_text, groups)


@dataclass(frozen=True)
class FramePart:
    """Rows in memory: a pandas frame, an Arrow table or record batch, or several of these."""

    rows: Any

    def blocks(self, names: Sequence[str], as_text: Collection[str] = ()) -> Iterator[Block]:
        for piece in self.rows if isinstance(self.rows, list | tuple) else [self.rows]:
            for name in names:
                if name not in (piece.schema.names if hasattr(piece, "schema") else piece.columns):
                    raise DataError(
                        f"column {name!r} cannot be read in some partition, which lacks it; make "
                        "the source again."
                    )
            if hasattr(piece, "schema"):
                yield from batch_columns(piece, names)
            elif len(piece):
                found = usable_columns(piece[list(dict.fromkeys(names))], len(piece))
                yield [found[name] for name in names]


# ---- tasks that run on one partition -------------------------------------------------------------


@dataclass(frozen=True)
class ScanPart:
    """A copy of an empty `tally`, to which the columns `names` of a partition are added."""

    tally: Any
    names: list[str]
    as_text: tuple[str, ...]

    def __call__(self, part: Any) -> PartSum:
        tally, rows = copy.deepcopy(self.tally), 0  # threads share the task
        for block in _partition(part).blocks(self.names, self.as_text):
            tally.add(block)
            rows += n_rows(block[0])
        return (tally, rows) if rows else None


@dataclass(frozen=True)
class CountPart:
    """The sum of `fn(codes, weights)` over the blocks of a partition, which `encoder` encodes.

    Without an encoder, the partition is one of codes.
    """

    encoder: BlockEncoder | None
    fn: Callable[..., Any]
    columns: list[int]

    def __call__(self, part: Any) -> PartSum:
        total = sum_over_blocks(self.fn, _coded(part, self.encoder, self.columns))
        return total if total[1] else None


@dataclass(frozen=True)
class PackPart:
    """All columns of a partition, packed; the blocks of rows are the same."""

    encoder: BlockEncoder
    cards: Ints

    def __call__(self, part: Any) -> PackedRows:
        packed = PackedRows(self.cards)
        for codes, weights in _coded(part, self.encoder, range(len(self.cards))):
            packed.append(codes, weights)
        return packed


def _coded(
    part: Any, encoder: BlockEncoder | None, columns: Sequence[int]
) -> Generator[CodeBlock, None, None]:
    """The codes and weights of a partition, block by block."""
    if encoder is None:
        coded: CodedPartition = part
        yield from coded.blocks(columns)
    else:
        blocks = _partition(part).blocks(encoder.names(columns), encoder.as_text)
        yield from encoder.rows(blocks, columns, BLOCK_ROWS)


def _partition(rows: Any) -> Partition:
    """`rows` as a partition; they may be any that a `FramePart` takes."""
    return rows if hasattr(type(rows), "blocks") else FramePart(rows)


def add_parts(sums: Sequence[PartSum]) -> PartSum:
    """The sum of the results of several partitions, in their order."""
    total: PartSum = None
    for result in sums:
        if total is None or result is None:
            total = total or result
        else:
            total = total[0] + result[0], total[1] + result[1]
    return total


# ---- jobs ----------------------------------------------------------------------------------------


class Job(ABC):
    """Work that a cluster does meanwhile."""

    @abstractmethod
    def wait(self, seconds: float) -> bool:
        """Wait so long at most; return whether the work is done."""

    @abstractmethod
    def report(self) -> None:
        """Report how far the work is."""

    @abstractmethod
    def result(self) -> Any:
        """Return the result of the work that is done, or raise its error."""

    @abstractmethod
    def cancel(self) -> None:
        """Cancel what is not done."""

    def end(self) -> None:  # noqa: B027 (nothing to do for most)
        """Stop watching."""


def run_job(job: Job, ctl: Control | None) -> Any:
    """Return the result of a job; it is cancelled if an error, the control or Ctrl-C ends this."""
    try:
        while not job.wait(WATCH):
            if ctl is not None:
                ctl.check()
                job.report()
        return job.result()
    except BaseException:
        job.cancel()
        raise
    finally:
        job.end()


# ---- files as partitions -------------------------------------------------------------------------


def split_files(files: FileReader, n_columns: int) -> list[FilePart]:
    """Parts of some files, of about the same number of cells of `n_columns` columns, in order.

    Only the row groups of parquet are split: other files are taken whole.
    """
    pieces: list[tuple[FilePath, range | None, int]] = []
    for path in (
        path.absolute() for path in files.paths
    ):  # workers may have another working directory
        groups = files.groups(path)
        if groups is None:
            pieces.append((path, None, path.stat().st_size // CELL_BYTES))
        else:
            pieces += [(path, range(i, i + 1), n * n_columns) for i, n in enumerate(groups)]
    enough = min(PART_CELLS, sum(cells for _, _, cells in pieces) // LEAST_PARTS)
    parts: list[FilePart] = []
    places: list[tuple[FilePath, range | None]] = []
    n_cells = 0
    for path, groups_here, cells in pieces:
        last = places[-1] if places else None
        if groups_here is not None and last is not None and last[0] == path and last[1] is not None:
            places[-1] = path, range(last[1].start, groups_here.stop)
        else:
            places.append((path, groups_here))
        n_cells += cells
        if n_cells > enough:
            parts.append(_part_of(files, places))
            places, n_cells = [], 0
    return [*parts, _part_of(files, places)] if places else parts


def _part_of(files: FileReader, places: Sequence[tuple[FilePath, range | None]]) -> FilePart:
    """A part whose reader knows only its own files, so that it is small when it travels."""
    return FilePart(files.only([path for path, _ in places]), tuple(places))

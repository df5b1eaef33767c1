"""Counts of a table in partitions that workers read or hold: what Dask and Spark share.

A partition gives `cells(names)`, blocks of Arrow arrays. A first scan of all partitions finds the
states; after that, a partition is encoded where it is counted. `ScanPart`, `CountPart` and
`PackPart` are the tasks that travel to the workers. Each result comes with the number of its rows.
"""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Unpack

import numpy as np

from counterpane.counts.engines.arrow_cells import Block, ColumnTypes, RowEncoder, pyarrow_module
from counterpane.counts.engines.file_readers import FileReader, bytes_of
from counterpane.counts.engines.packed_rows import PackedRows
from counterpane.counts.engines.schema_scan import SchemaOptions, SchemaScan, plan_schema_scan
from counterpane.counts.source import CountSource
from counterpane.counts.tasks import solid
from counterpane.data.remote import FilePath
from counterpane.data.table import Table
from counterpane.errors import DataError
from counterpane.progress import Control
from counterpane.typing import Array, Codes, Ints

PART_CELLS = 2**22  # of files that are one part: what a worker counts in a moment
LEAST_PARTS = 16  # unless there are too few cells: two workers, or ten, are then evenly busy
CELL_BYTES = 3  # that a cell of a text file takes, about

PartSum = tuple[Any, int] | None
"""The sum of a task over some partitions and their number of rows; None without rows."""


class PartitionedSource(CountSource):
    """Counts by workers that hold or read partitions; base of `DaskSource` and `SparkSource`.

    A subclass runs tasks on all partitions (`_sum`), says which rows to run them on (`_cells_of`,
    `_rows_of`), and lets the workers keep packed rows (`prepare`). The options are those of
    `FileSource`.
    """

    option_names: ClassVar[frozenset[str]] = frozenset(SchemaOptions.__annotations__)
    n_rows: int
    total_weight: float

    def _scan_states(
        self, table: ColumnTypes, ctl: Control | None, **options: Unpack[SchemaOptions]
    ) -> None:
        """Find the states of the columns in one scan; files are split into parts for it."""
        scan = plan_schema_scan(table, **options)
        self._parts = split_files(table, len(scan.names)) if isinstance(table, FileReader) else []
        self.n_scans = 0
        self._scan_bytes = bytes_of(table)
        began = time.perf_counter()
        total = self._sum(ScanPart(scan), self._cells_of(scan.names), "reading states", ctl)
        self._scan_seconds = time.perf_counter() - began
        if total is None:
            raise DataError("the data has no rows; at least one is needed.")
        scan, self.n_rows = total
        self._encoder = scan.encoder()
        self.schema, self.has_missing = self._encoder.schema, self._encoder.has_missing
        self.total_weight = scan.total_weight

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
        return solid(total[0]) if isinstance(total[0], np.ndarray) else total[0]

    def head(self, rows: int) -> Table:
        """The first rows: those of the first part of files, read here; else by a scan."""
        if not self._parts:
            return super().head(rows)
        columns = range(len(self.schema))
        codes, weights = next(iter(self._encoder.rows(self._parts[0].cells, columns)))
        return Table(self.schema, codes[:, :rows], None if weights is None else weights[:rows])

    @property
    def scan_seconds(self) -> float:
        """The seconds of the first scan."""
        return self._scan_seconds

    @property
    def scan_bytes(self) -> int | None:
        """The size of the files."""
        return self._scan_bytes

    @abstractmethod
    def _cells_of(self, names: Sequence[str]) -> Any:
        """The partitions of some columns by name, as `_sum` takes them."""

    @abstractmethod
    def _rows_of(self, columns: list[int]) -> tuple[Any, RowEncoder | None]:
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


class Partition(ABC):
    """Some rows of a table, as Arrow arrays."""

    @abstractmethod
    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        """The cells of some columns, block by block."""


class CodedPartition(Protocol):
    """Some rows of a table, as codes; `PackedRows` are."""

    def blocks(self, columns: Sequence[int]) -> Iterator[tuple[Codes, Array | None]]: ...


@dataclass(frozen=True)
class FilePart(Partition):
    """Rows of files, which the worker reads: paths, each with its row groups or None for all."""

    files: FileReader
    places: tuple[tuple[FilePath, range | None], ...]

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        for path, groups in self.places:
            yield from self.files.read(path, names, groups)


@dataclass(frozen=True)
class ArrowPart(Partition):
    """Rows in memory: a pandas frame, an Arrow table or record batch, or several of these."""

    rows: Any

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        pieces = self.rows if isinstance(self.rows, list | tuple) else [self.rows]
        for piece in pieces:
            if len(piece):
                yield [_column(piece, name) for name in names]


def _column(rows: Any, name: str) -> Any:
    """A column of a pandas frame, Arrow table or record batch, as an Arrow array."""
    lib = pyarrow_module("lib")
    try:
        values = rows[name]
        if not isinstance(values, lib.Array | lib.ChunkedArray):
            values = lib.Array.from_pandas(values)
    except (lib.ArrowException, LookupError) as error:
        words = " ".join(str(error).split())[:200]
        raise DataError(
            f"column {name!r} cannot be read in some partition: {words}; make it of one type."
        ) from None
    return values.combine_chunks() if isinstance(values, lib.ChunkedArray) else values


# ---- tasks that run on one partition -------------------------------------------------------------


@dataclass(frozen=True)
class ScanPart:
    """The states of a partition, found by a copy of an empty `scan`."""

    scan: SchemaScan

    def __call__(self, part: Any) -> PartSum:
        scan = copy.deepcopy(self.scan)  # threads share the task
        for block in _partition(part).cells(scan.names):
            scan.add(block)
        return (scan, scan.n_rows) if scan.n_rows else None


@dataclass(frozen=True)
class CountPart:
    """The sum of `fn(codes, weights)` over the blocks of a partition, which `encoder` encodes.

    Without an encoder, the partition is one of codes.
    """

    encoder: RowEncoder | None
    fn: Callable[..., Any]
    columns: list[int]

    def __call__(self, part: Any) -> PartSum:
        total, n_rows = None, 0
        for codes, weights in _coded(part, self.encoder, self.columns):
            value = self.fn(codes, weights)
            total = value if total is None else total + value
            n_rows += codes.shape[1]
        return (total, n_rows) if n_rows else None


@dataclass(frozen=True)
class PackPart:
    """All columns of a partition, packed; the blocks of rows are the same."""

    encoder: RowEncoder
    cards: Ints

    def __call__(self, part: Any) -> PackedRows:
        packed = PackedRows(self.cards)
        for codes, weights in _coded(part, self.encoder, range(len(self.cards))):
            packed.append(codes, weights)
        return packed


def _coded(
    part: Any, encoder: RowEncoder | None, columns: Sequence[int]
) -> Iterator[tuple[Codes, Array | None]]:
    """The codes and weights of a partition, block by block."""
    if encoder is None:
        coded: CodedPartition = part
        return coded.blocks(columns)
    return encoder.rows(_partition(part).cells, columns, reuse=True)


def _partition(rows: Any) -> Partition:
    """`rows` as a partition; they may be any that an `ArrowPart` takes."""
    return rows if isinstance(rows, Partition) else ArrowPart(rows)


def add_parts(sums: Sequence[PartSum]) -> PartSum:
    """The sum of the results of several partitions, in their order."""
    total: PartSum = None
    for result in sums:
        if total is None or result is None:
            total = total or result
        else:
            total = total[0] + result[0], total[1] + result[1]
    return total


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
    reader = copy.copy(files)
    reader.paths = ()
    reader.folders = {name: {path: values[path] for path, _ in places}
                      for name, values in files.folders.items()}  # fmt: skip
    return FilePart(reader, tuple(places))

"""Parts of a table that travel to workers, and what runs on them there.

A part hands out `cells(names)`, blocks of Arrow arrays. One look at the cells of all parts finds
the states (`scan_part`, whose results add); an `EncodedPart` then hands out `blocks(columns)` of
codes and weights, and `run_part` sums a task over them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from counterpane.counts.engines.arrow_cells import Block, RowEncoder, pyarrow_module
from counterpane.counts.engines.file_readers import FileReader
from counterpane.counts.engines.packed_rows import PackedRows
from counterpane.counts.engines.schema_scan import SchemaScan
from counterpane.errors import DataError
from counterpane.typing import Array, Codes, Ints

PART_CELLS = 2**22  # of files that are one part: what a worker counts in a moment
LEAST_PARTS = 16  # unless there are too few cells: two workers, or ten, are then evenly busy
CELL_BYTES = 3  # that a cell of a text file takes, about


class Partition(Protocol):
    """Some rows of a table, as Arrow arrays."""

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]: ...


class Blocks(Protocol):
    """Some rows of a table, as codes: an `EncodedPart` or `PackedRows`."""

    def blocks(self, columns: Sequence[int]) -> Iterator[tuple[Codes, Array | None]]: ...


@dataclass(frozen=True)
class FilePart:
    """Rows of files, which whoever runs the part reads: each a path and its row groups, or all."""

    files: FileReader
    places: tuple[tuple[Path, range | None], ...]

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        for path, groups in self.places:
            yield from self.files.read(path, names, groups)


@dataclass(frozen=True)
class ArrowPart:
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


@dataclass(frozen=True)
class EncodedPart:
    """A part as codes and weights."""

    part: Partition
    encoder: RowEncoder

    def blocks(self, columns: Sequence[int]) -> Iterator[tuple[Codes, Array | None]]:
        return self.encoder.rows(self.part.cells, columns, reuse=True)


def run_part(
    part: Blocks, fn: Callable[..., Any], columns: Sequence[int]
) -> tuple[Any, int] | None:
    """The sum of `fn(codes, weights)` over a part's blocks and its rows, or None without rows."""
    total, rows = None, 0
    for codes, weights in part.blocks(list(columns)):
        here = fn(codes, weights)
        total = here if total is None else total + here
        rows += codes.shape[1]
    return (total, rows) if rows else None


def scan_part(part: Partition, scan: SchemaScan) -> tuple[SchemaScan, int] | None:
    """What an empty `scan` finds in a part and the part's rows, or None without rows."""
    found = copy.deepcopy(scan)  # threads share the one that is given
    for block in part.cells(found.names):
        found.add(block)
    return (found, found.n_rows) if found.n_rows else None


def pack_part(part: Blocks, cards: Ints) -> PackedRows:
    """All columns of a part, kept small; its blocks are those of the part."""
    packed = PackedRows(cards)
    for codes, weights in part.blocks(range(len(cards))):
        packed.append(codes, weights)
    return packed


def add_parts(results: Sequence[tuple[Any, int] | None]) -> tuple[Any, int] | None:
    """The sum of what several parts gave, in their order, and of their rows."""
    total: tuple[Any, int] | None = None
    for result in results:
        if total is None or result is None:
            total = total or result
        else:
            total = total[0] + result[0], total[1] + result[1]
    return total


def split_files(files: FileReader, n_columns: int) -> list[FilePart]:
    """Parts of some files, of about the same number of cells of `n_columns` columns, in order.

    Only the row groups of parquet are split: other files are taken whole.
    """
    pieces: list[tuple[Path, range | None, int]] = []
    for path in map(Path.absolute, files.paths):  # workers may stand in another folder
        groups = files.groups(path)
        if groups is None:
            pieces.append((path, None, path.stat().st_size // CELL_BYTES))
        else:
            pieces += [(path, range(i, i + 1), n * n_columns) for i, n in enumerate(groups)]
    enough = min(PART_CELLS, sum(cells for _, _, cells in pieces) // LEAST_PARTS)
    parts: list[FilePart] = []
    places: list[tuple[Path, range | None]] = []
    held = 0
    for path, here, cells in pieces:
        last = places[-1] if places else None
        if here is not None and last is not None and last[0] == path and last[1] is not None:
            places[-1] = path, range(last[1].start, here.stop)
        else:
            places.append((path, here))
        held += cells
        if held > enough:
            parts.append(_part_of(files, places))
            places, held = [], 0
    return [*parts, _part_of(files, places)] if places else parts


def _part_of(files: FileReader, places: Sequence[tuple[Path, range | None]]) -> FilePart:
    """A part that carries a reader of its own files alone, so that it is small when it travels."""
    reader = copy.copy(files)
    reader.paths = ()
    reader.folders = {name: {path: values[path] for path, _ in places}
                      for name, values in files.folders.items()}  # fmt: skip
    return FilePart(reader, tuple(places))

"""Parquet and Arrow files, read batch by batch."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from counterpane.data.columns import Unread, arrow_codes, make_labels, n_rows
from counterpane.data.readers.blocks import (
    BLOCK_ROWS,
    Block,
    batch_columns,
    pyarrow_module,
)
from counterpane.data.readers.files import FileReader, reading
from counterpane.data.remote import FilePath, RemotePath
from counterpane.errors import DataError, FileFormatError, check_names
from counterpane.memory import need_memory

MAPPED = 2**26  # bytes; larger batches are memory-mapped
FEWER_ROWS = "write it again in smaller groups of rows"


def kind_of(arrow_type: Any) -> str:
    """Which values an Arrow type holds, in a word; "" if it holds none."""
    types = pyarrow_module("types")
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_null(arrow_type):
        return ""
    if _is_text(arrow_type):
        return "texts"
    if types.is_boolean(arrow_type):
        return "booleans"
    if types.is_date(arrow_type) or types.is_timestamp(arrow_type):
        return "dates"
    number = types.is_integer(arrow_type) or types.is_floating(arrow_type)
    return "numbers" if number or types.is_decimal(arrow_type) else str(arrow_type)


def kinds_of(schema: Any, where: str) -> dict[str, str]:
    """The kind of values of each column of an Arrow schema, whose names must all differ."""
    check_names(schema.names, where)
    return dict(zip(schema.names, map(kind_of, schema.types), strict=True))


def _is_text(arrow_type: Any) -> bool:
    types = pyarrow_module("types")
    plain = types.is_string(arrow_type) or types.is_large_string(arrow_type)
    return bool(plain or types.is_string_view(arrow_type))


def _has_no_states(arrow_type: Any) -> bool:
    types = pyarrow_module("types")
    nested = types.is_nested(arrow_type) or types.is_fixed_size_binary(arrow_type)
    binary = types.is_binary(arrow_type) or types.is_large_binary(arrow_type)
    return bool(nested or binary or types.is_binary_view(arrow_type))


class ParquetFiles(FileReader):
    """Parquet files; texts keep their stored dictionaries."""

    def kinds(self, path: FilePath) -> dict[str, str]:
        with opened(path) as file:
            return kinds_of(pyarrow_module("parquet").read_schema(file), f"file {str(path)!r}: ")

    def groups(self, path: FilePath) -> list[int]:
        with reading(path), opened(path) as file:
            stored = pyarrow_module("parquet").read_metadata(file)
            return [stored.row_group(i).num_rows for i in range(stored.num_row_groups)]

    def _blocks(
        self, path: FilePath, names: Sequence[str], as_text: Collection[str], groups: range | None
    ) -> Iterator[Block]:
        with opened(path) as file:
            schema = pyarrow_module("parquet").read_schema(file)
        kinds = {name: schema.field(name).type for name in names}
        texts = [name for name, kind in kinds.items() if _is_text(kind)]
        unread = {name: str(kind) for name, kind in kinds.items() if _has_no_states(kind)}
        stored = [name for name in names if name not in unread] or [names[0]]
        for batch in _parquet_batches(path, stored, texts, groups):
            for block in batch_columns(batch, stored, texts):
                found = dict(zip(stored, block, strict=True))
                for name, kind in unread.items():
                    found[name] = Unread(name, kind, n_rows(block[0]))
                yield [found[name] for name in names]


def _parquet_batches(
    path: FilePath, names: Sequence[str], texts: Sequence[str], groups: range | None = None
) -> Iterator[Any]:
    """Record batches of some columns of a parquet file, or of some of its groups of rows.

    `texts` come as the codes of their dictionaries. The memory of a batch is asked for by the size
    of the one before.
    """
    parquet = pyarrow_module("parquet")
    chosen = None if groups is None else list(groups)
    with opened(path) as stored, parquet.ParquetFile(stored, read_dictionary=texts) as file:
        for batch in file.iter_batches(BLOCK_ROWS, chosen, columns=list(names), use_threads=False):
            batch.validate(full=True)  # codes beyond their dictionary, for one
            yield batch
            need_memory(2 * batch.nbytes, f"a batch of rows of {str(path)!r}", FEWER_ROWS)


def table_bytes(path: FilePath) -> int:
    """The memory that the table of a parquet file takes, by its number of rows and columns."""
    with reading(path), opened(path) as file:
        facts = pyarrow_module("parquet").read_metadata(file)
    # Measured: a column that is being encoded takes 64 bytes a row, the others 16.
    return int(facts.num_rows) * (64 + 16 * int(facts.num_columns))


def read_parquet(path: Path) -> Any:
    """The columns of a parquet file by name, read by pyarrow or polars, whichever is installed.

    Texts are read as codes: a short file can repeat a long text often. Columns of kinds that have
    no states are not read.
    """
    try:
        importlib.import_module("pyarrow.parquet")
    except ImportError:
        return _read_by_polars(path)
    with reading(path):
        return _read_by_pyarrow(path)


def _read_by_polars(path: Path) -> Any:
    try:
        polars = importlib.import_module("polars")
    except ImportError:
        raise DataError(
            f"file {str(path)!r} needs pyarrow or polars to be read; install counterpane[duckdb]."
        ) from None
    try:
        return polars.read_parquet(path)
    except polars.exceptions.PolarsError as error:
        raise FileFormatError(f"file {str(path)!r} cannot be read as parquet: {error}") from None


def _read_by_pyarrow(path: Path) -> Mapping[str, Any]:
    arrow = importlib.import_module("pyarrow")
    schema = pyarrow_module("parquet").read_schema(path)
    check_names(schema.names, f"file {str(path)!r}: ")
    kinds = dict(zip(schema.names, schema.types, strict=True))
    names = [name for name, kind in kinds.items() if not _has_no_states(kind)]
    texts = [name for name in names if _is_text(kinds[name])]
    columns: dict[str, Any] = {name: Unread(name, str(kind)) for name, kind in kinds.items()}
    need_memory(table_bytes(path), f"the table of {str(path)!r}", "read it by FileSource")
    batches = list(_parquet_batches(path, names, texts))
    frame = arrow.Table.from_batches(batches, None if batches else schema).select(names)
    for name in names:
        column = frame.column(name)
        if name in texts:
            states, codes = arrow_codes(column)
            occurs = np.zeros(len(states) + 1, dtype=bool)
            occurs[codes] = True  # a missing cell marks the place behind the texts
            observed = [s if o else None for s, o in zip(states, occurs[:-1], strict=True)]
            column = make_labels(name, observed, codes, declared=False)
        columns[name] = column
    return columns


class ArrowFiles(FileReader):
    """Arrow and Feather files; large batches are mapped, not read."""

    def kinds(self, path: FilePath) -> dict[str, str]:
        with opened(path) as stored, pyarrow_module("ipc").open_file(stored) as file:
            return kinds_of(file.schema, f"file {str(path)!r}: ")

    def _blocks(
        self, path: FilePath, names: Sequence[str], as_text: Collection[str], groups: range | None
    ) -> Iterator[Block]:
        ipc, pa = pyarrow_module("ipc"), importlib.import_module("pyarrow")
        size = path.stat().st_size
        with opened(path) as stored, ipc.open_file(stored) as file:
            fields = sorted(map(file.schema.names.index, names))
            large = size > MAPPED * file.num_record_batches
        options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        far = isinstance(path, RemotePath)
        source = opened(path) if far else (pa.memory_map if large else pa.OSFile)(str(path))
        with source as stored:
            file = ipc.open_file(stored, options=options)
            for i in range(file.num_record_batches):
                _check_size(path, size)
                batch = file.get_batch(i)
                batch.validate(full=True)  # its places in memory are as the file says
                for block in batch_columns(batch, names):
                    yield block
                    _check_size(path, size)


def _check_size(path: FilePath, size: int) -> None:
    """Raise if a file shrank: to read past the end of a mapped file kills the process."""
    if path.stat().st_size < size:
        raise FileFormatError(f"file {str(path)!r} was cut short while it was read.")


@contextmanager
def opened(path: Any) -> Iterator[Any]:
    """What pyarrow reads a file from: the path, or an open file of a store."""
    if not isinstance(path, RemotePath):
        yield path
        return
    with closing(importlib.import_module("pyarrow").PythonFile(path.open(), "r")) as file:
        yield file

"""Columns of parquet files that are read as a whole, and the memory that they take."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from counterpane.data.columns import Labels, Unread, make_labels
from counterpane.data.csv import FileOptions
from counterpane.data.parquet_pages import PageSizes, page_sizes
from counterpane.disk import check_unpacked, most_unpacked
from counterpane.errors import CounterpaneError, DataError, FileFormatError
from counterpane.memory import need_memory

BY_BLOCKS = "read it block by block with counterpane.FileSource"
UNPACKED_FIRST = "write it again without compression"
MOST_SHARED = 2**28  # bytes of texts that share their beginnings and are unpacked at one time


def read_parquet(path: Path, options: FileOptions) -> Any:
    """The columns of a parquet file, read by pyarrow or polars, whichever is installed."""
    for library, name in (("pyarrow.parquet", "read_table"), ("polars", "read_parquet")):
        try:
            reader = getattr(importlib.import_module(library), name)
        except ImportError:
            continue
        try:
            return reader(path) if library == "polars" else _columns(path)
        except (CounterpaneError, MemoryError):
            raise
        except Exception as error:  # the libraries' own errors, which share no base class
            words = " ".join(str(error).split())[:200]
            raise FileFormatError(
                f"file {str(path)!r} cannot be read as parquet: {words}"
            ) from None
    raise DataError(
        f"file {str(path)!r} needs pyarrow or polars to be read; install counterpane[duckdb]."
    )


def _columns(path: Path) -> Any:
    """The columns by name. Texts are read as codes: a short file can repeat a long text often.

    Columns of kinds that have no states are not read.
    """
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    sizes = _check_size(path)
    schema = parquet.read_schema(path)
    if len(set(schema.names)) < len(schema.names):
        return schema.empty_table()  # whoever takes its columns says which name occurs twice
    kinds = dict(zip(schema.names, schema.types, strict=True))
    names = [name for name, kind in kinds.items() if not _has_no_states(kind)]
    texts = [name for name in names if _is_text(kinds[name])]
    coded = [name for name in texts if name not in sizes.plain]
    if sizes.shared:
        frame = _by_batches(path, names, coded, max(1, MOST_SHARED // sizes.shared))
    else:
        chosen = None if len(names) == len(kinds) else names
        frame = parquet.read_table(path, columns=chosen, read_dictionary=coded)
    frame.validate(full=True)  # codes beyond their dictionary, for one
    columns = {name: Unread(str(kind)) for name, kind in kinds.items()} | {
        name: frame.column(name) for name in frame.column_names
    }
    for name in texts:
        codes = columns[name]
        if not arrow.types.is_dictionary(codes.type):
            codes = codes.cast("large_string").dictionary_encode()  # views have no direct way
        columns[name] = _text_labels(name, codes)
    return columns


def _by_batches(path: Path, names: list[str], coded: list[str], rows: int) -> Any:
    """The table of a file, read in batches of few rows; refused where it swells."""
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    batches, size = [], 0
    with parquet.ParquetFile(path, read_dictionary=coded) as file:
        for batch in file.iter_batches(rows, columns=names, use_threads=False):
            size += batch.nbytes
            check_unpacked(path, size, BY_BLOCKS)
            batches.append(batch)
        return arrow.Table.from_batches(batches, None if batches else file.schema_arrow)


def _text_labels(name: str, column: Any) -> Labels:
    """Labels of a column of codes: the texts that occur, sorted."""
    encoded = column.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy()
    used = np.zeros(len(encoded.dictionary) + 1, dtype=bool)
    used[codes] = True  # a missing cell marks the place behind the texts
    place = np.append(np.cumsum(used[:-1]) - 1, -1)
    states = encoded.dictionary.filter(importlib.import_module("pyarrow").array(used[:-1]))
    return make_labels(name, states.to_pylist(), place[codes], declared=False)


def _is_text(kind: Any) -> bool:
    types = importlib.import_module("pyarrow.types")
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _has_no_states(kind: Any) -> bool:
    types = importlib.import_module("pyarrow.types")
    return bool(
        types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind)
        or types.is_binary_view(kind) or types.is_fixed_size_binary(kind)
    )  # fmt: skip


def _check_size(path: Path) -> PageSizes:
    """Refuse a file whose few pages stand for more cells than fit into memory, or than usual."""
    rows, unpacked, need = parquet_size(path)
    check_unpacked(path, unpacked, BY_BLOCKS)
    need_memory(need, f"the {rows:,} rows of {str(path)!r}", BY_BLOCKS)
    sizes = measured_pages(path)
    check_unpacked(path, sizes.unpacked, BY_BLOCKS)
    return sizes


def measured_pages(path: Path) -> PageSizes:
    """The sizes of the pages of a file; refused if those that are open at one time are too many."""
    with path.open("rb") as file:
        sizes = page_sizes(file, most_unpacked(path))
    check_unpacked(path, sizes.open, UNPACKED_FIRST)
    return sizes


def parquet_size(file: Any) -> tuple[int, int, int]:
    """The rows of a parquet file, the bytes of its cells, and those that making a table takes.

    They are those of the file's directory. A cell of a run has a byte at least: pages of runs stay
    short when they are unpacked.
    """
    facts = importlib.import_module("pyarrow.parquet").read_metadata(file)
    columns = int(facts.num_columns)
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    rows = max(int(facts.num_rows), sum(group.num_rows for group in groups))
    pages = sum(group.total_byte_size for group in groups)
    unpacked = max(rows * columns, pages)
    # Measured: a column that is being encoded takes 64 bytes a row, the others 16.
    return rows, unpacked, max(unpacked, rows * (64 + 16 * columns))

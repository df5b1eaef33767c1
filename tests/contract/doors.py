"""Doors: the ways in which the same rows enter, as files, frames, streams and connections."""

from __future__ import annotations

import importlib
import json
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import counterpane as cp
from contract.messy_tables import Messy

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: extra [duckdb]")
BATCH = 64  # rows: each table is handed over in several parts
KEPT = 2**12  # distinct numbers of a column that blocks keep while the contract is tested


def force_blocks(patch: pytest.MonkeyPatch) -> None:
    """Let every file be read block by block, in short blocks, whatever its size."""
    limits = {"LARGE_FILE": 10, "BLOCK_ROWS": BATCH, "MOST_NUMBERS": KEPT}
    for name in ("counts.blocks", "counts.engines.sql", "data.reading"):
        importlib.import_module(f"counterpane.{name}")  # before: a later import would keep a limit
    for name, module in list(sys.modules.items()):
        for limit, value in limits.items():
            if name.startswith("counterpane.") and limit in vars(module):
                patch.setattr(module, limit, value)


@dataclass(frozen=True)
class Rows:
    """The rows of a messy table that enter: its texts, or its typed columns."""

    messy: Messy
    typed: bool
    folder: Path

    @property
    def arrow(self) -> pa.Table:
        """The columns that enter."""
        found = self.messy.typed if self.typed else self.messy.to_arrow()
        assert found is not None
        return found

    def batches(self) -> list[pa.RecordBatch]:
        """The columns in several parts."""
        batches: list[pa.RecordBatch] = self.arrow.to_batches(max_chunksize=BATCH)
        return batches


def text(rows: Rows) -> Any:
    path = rows.folder / "rows.csv"
    path.write_bytes(rows.messy.to_bytes())
    return cp.read(path)


def parquet(rows: Rows) -> Any:
    path = rows.folder / "rows.parquet"
    pq.write_table(rows.arrow, path, row_group_size=BATCH)
    return cp.read(path)


def arrow_file(rows: Rows) -> Any:
    path = rows.folder / "rows.feather"
    feather.write_feather(rows.arrow, path, chunksize=BATCH)
    return cp.read(path)


def excel(rows: Rows) -> Any:
    book, path = openpyxl.Workbook(write_only=True), rows.folder / "rows.xlsx"
    sheet = book.create_sheet()
    for title in rows.messy.titles:
        sheet.append([title])
    sheet.append(rows.messy.names)
    for cells in zip(*rows.arrow.to_pydict().values(), strict=True):
        sheet.append(cells)
    book.save(path)
    return cp.read(path)


def json_lines(rows: Rows) -> Any:
    path = rows.folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows.arrow.to_pylist()))
    return cp.read(path)


def mapping(rows: Rows) -> Any:
    return cp.read(rows.arrow.to_pydict())


def pandas(rows: Rows) -> Any:
    return cp.read(rows.arrow.to_pandas())


def pandas_over_arrow(rows: Rows) -> Any:
    return cp.read(rows.arrow.to_pandas(types_mapper=pd.ArrowDtype))


def polars(rows: Rows) -> Any:
    return cp.read(pl.from_arrow(rows.arrow))


def polars_lazy(rows: Rows) -> Any:
    frame = pl.from_arrow(rows.arrow)
    assert isinstance(frame, pl.DataFrame)
    return cp.read(frame.lazy())


def pyarrow(rows: Rows) -> Any:
    return cp.read(pa.Table.from_batches(rows.batches()))


def dataset(rows: Rows) -> Any:
    return cp.read(ds.dataset(rows.batches()))


def batches(rows: Rows) -> Any:
    parts = rows.batches()
    return cp.read(lambda: pa.RecordBatchReader.from_batches(parts[0].schema, parts))


def in_duckdb(rows: Rows) -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("given", rows.arrow)
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return connection


def duckdb_relation(rows: Rows) -> Any:
    return cp.read(in_duckdb(rows).table("rows"))


def duckdb_connection(rows: Rows) -> Any:
    return cp.read(in_duckdb(rows), table="rows")


def duckdb_statements(rows: Rows) -> Any:
    return cp.SqlSource(in_duckdb(rows), "rows", discretize="auto")


def sqlite_connection(rows: Rows) -> Any:
    connection = sqlite3.connect(":memory:")
    types = {"string": "TEXT", "double": "REAL", "int64": "INTEGER"}
    arrow = rows.arrow
    columns = ", ".join(f'"{field.name}" {types[str(field.type)]}' for field in arrow.schema)
    connection.execute(f"CREATE TABLE rows ({columns})")
    marks = ", ".join("?" * arrow.num_columns)
    cells = zip(*arrow.to_pydict().values(), strict=True)
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", cells)
    return cp.read(connection, table="rows")


DOORS: dict[str, Callable[[Rows], Any]] = {
    "text": text,
    "text blocks": text,
    "parquet": parquet,
    "parquet blocks": parquet,
    "arrow file": arrow_file,
    "excel": excel,
    "json lines": json_lines,
    "mapping": mapping,
    "pandas": pandas,
    "pandas over arrow": pandas_over_arrow,
    "polars": polars,
    "polars lazy": polars_lazy,
    "pyarrow": pyarrow,
    "dataset": dataset,
    "batches": batches,
    "duckdb relation": duckdb_relation,
    "duckdb connection": duckdb_connection,
    "duckdb statements": duckdb_statements,
    "sqlite connection": sqlite_connection,
}
IN_MEMORY = {
    "text", "parquet", "excel", "json lines", "mapping", "pandas", "pandas over arrow", "polars",
    "pyarrow",
}  # fmt: skip

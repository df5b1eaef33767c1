"""The conformance suite over every backend, and what only some of them promise."""

from __future__ import annotations

import atexit
import pickle
import sqlite3
import tempfile
from functools import cache
from itertools import combinations, count, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

from contract.contributed import has_document, printed_module
from contract.count_source_suite import (
    CARDS,
    CountSourceSuite,
    Reports,
    assert_counts,
    make_table,
    scopes_of_all_sizes,
)
from counterpane._core import counts as kernels
from counterpane.counts import CountSource, MemoryCounts, StreamCounts
from counterpane.counts.bitsets import BitColumns
from counterpane.counts.blocks import FileSource
from counterpane.counts.engines.database import sql_name
from counterpane.counts.engines.sql import SqlSource
from counterpane.counts.tasks import CountTask, DistinctTask, PairTask
from counterpane.counts.view import reorder_columns
from counterpane.data import Schema, Table
from counterpane.errors import DataError, ParameterError
from counterpane.progress import Control, Stopped
from error_checks import raises


def cuts(table, n=7):
    """The table's rows in some unequal parts, each with weight."""
    edges = np.unique((np.linspace(0, 1, n + 1) ** 2 * table.n_rows).astype(int))
    parts = [np.arange(a, b) for a, b in pairwise(edges)]
    if table.weights is not None:
        merged = [parts[0]]
        for part in parts[1:]:  # a part without weight is no table
            if table.weights[part].sum() and table.weights[merged[-1]].sum():
                merged.append(part)
            else:
                merged[-1] = np.concatenate([merged[-1], part])
        parts = merged
    return parts


def stream_of_tables(table):
    return StreamCounts(table.schema, lambda: (table.take(rows) for rows in cuts(table)))


def shards_of_tables(table):
    parts = [table.take(rows) for rows in cuts(table)]
    return printed_module("counts/shards.py").ShardCounts(parts)


def stream_of_frames(table):
    """Frames cannot carry weights; a weighted table streams as tables."""
    if table.weights is not None:
        return stream_of_tables(table)

    def batches():
        for i, rows in enumerate(cuts(table)):
            columns = {}
            for variable, codes in zip(table.schema, table.codes[:, rows], strict=True):
                cells = codes.astype(float)
                cells[codes == variable.card] = np.nan
                columns[variable.name] = cells
            frame = pd.DataFrame(columns)
            yield frame.iloc[:0] if i % 3 else {name: [] for name in columns}
            yield frame if i % 2 else pl.from_pandas(frame)

    return StreamCounts(table.schema, batches)


def stream_reordered(table):
    """A stream of the columns in another order, put back into place."""
    order = np.random.default_rng(0).permutation(table.n_columns)
    inner = stream_of_tables(table.select(order.tolist()))
    inner.counts([()])  # it must know its size before it is wrapped
    return reorder_columns(inner, np.argsort(order).tolist())


WEIGHT = "how many"  # a name that must be quoted


@cache  # tables are cached too, and a source only reads
def sqlite_table(table):
    """A connection to a table `rows` with the codes of a table as its values."""
    connection = sqlite3.connect(":memory:")
    names = [*table.schema.names, *([] if table.weights is None else [WEIGHT])]
    connection.execute(f"CREATE TABLE rows ({', '.join(map(sql_name, names))})")
    labels = [np.array([*range(card), None], dtype=object) for card in table.schema.cards]
    cells = [label[codes].tolist() for label, codes in zip(labels, table.codes, strict=True)]
    if table.weights is not None:
        cells.append(table.weights.tolist())
    marks = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", zip(*cells, strict=True))
    return connection


@cache
def duckdb_table(table):
    """The same in DuckDB."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: extra [duckdb]")
    codes = table.codes.astype(float)
    codes[table.codes == table.schema.cards[:, None]] = np.nan
    frame = pd.DataFrame(codes.T, columns=table.schema.names).astype("Int32")
    if table.weights is not None:
        frame[WEIGHT] = table.weights
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
    return connection


def database(connect, **options):
    @cache
    def make(table):
        weights = None if table.weights is None else WEIGHT
        return SqlSource(connect(table), "rows", schema=table.schema, weights=weights, **options)

    return make


FOLDER = tempfile.TemporaryDirectory()
atexit.register(FOLDER.cleanup)
FILES = count()


@cache
def files_of(table, kind):
    """A folder with the codes of a table, in some unequal files and an empty one."""
    codes = table.codes.astype(np.int32)
    missing = table.codes == table.schema.cards[:, None]
    columns = {
        v.name: pa.array(c, mask=m) for v, c, m in zip(table.schema, codes, missing, strict=True)
    }
    if table.weights is not None:
        columns[WEIGHT] = pa.array(table.weights)
    whole = pa.table(columns)
    folder = Path(FOLDER.name, str(next(FILES)))
    folder.mkdir()
    parts = [whole.slice(rows[0], len(rows)) for rows in cuts(table, 3)]
    for i, part in enumerate([parts[0], whole.slice(0, 0), *parts[1:]]):
        path = folder / f"{i}.{kind}"
        if kind == "parquet":
            pq.write_table(part, path, row_group_size=50_000)
        elif kind == "feather":
            feather.write_feather(part, path, chunksize=50_000)
        else:
            csv.write_csv(part, path)
    return folder


def files(kind, **options):
    def make(table):
        weights = None if table.weights is None else WEIGHT
        return FileSource(files_of(table, kind), schema=table.schema, weights=weights, **options)

    return make


SOURCES = [
    ("memory", MemoryCounts),
    ("memory-2-threads", lambda table: MemoryCounts(table, n_jobs=2)),
    ("stream-of-tables", stream_of_tables),
    ("stream-of-frames", stream_of_frames),
    ("stream-reordered", stream_reordered),
    ("sqlite", database(sqlite_table)),
    ("duckdb", database(duckdb_table, keep_distinct=0)),
    ("parquet", files("parquet", cache=False)),
    ("parquet-packed", files("parquet")),
    ("feather", files("feather", cache=False)),
    ("csv", files("csv", cache=False)),
]


CONTRIBUTED = [("contributed", shards_of_tables)] if has_document() else []


@pytest.mark.parametrize(
    "make", [pytest.param(make, id=name) for name, make in [*SOURCES, *CONTRIBUTED]]
)
class TestCountSource(CountSourceSuite):
    """Every promise, for every source."""


# ---- memory: each way of counting, taken and right ---------------------------------------------


class Spy:
    """Wraps a function of a class or module and notes its calls."""

    def __init__(self, monkeypatch, owner, name):
        self.calls = []
        inner = getattr(owner, name)

        def spied(*args, **options):
            self.calls.append(args)
            return inner(*args, **options)

        monkeypatch.setattr(owner, name, spied)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("rows", [500, 70_000])
def test_columns_asked_often_are_packed_into_bits(monkeypatch, rows, n_jobs):
    table = make_table((2, 3, 2, 3), rows)
    source = MemoryCounts(table, n_jobs=n_jobs)
    by_bits = Spy(monkeypatch, BitColumns, "count")
    by_radix = Spy(monkeypatch, kernels, "count_radix")
    assert_counts(source, table, [[0, 1]])
    assert not by_bits.calls
    assert by_radix.calls
    for scope in ([0], [1], [1, 0], [0, 1, 2], [0, 2, 1], [2, 3], [2], [3]):
        source._tables.clear()  # else the planner would not count again
        assert_counts(source, table, [scope])
    assert by_bits.calls
    assert source.bits.packed[:3].all()


def test_bits_and_radix_share_a_batch(monkeypatch):
    table = make_table(rows=5000)
    source = MemoryCounts(table)
    by_bits = Spy(monkeypatch, BitColumns, "count")
    by_radix = Spy(monkeypatch, kernels, "count_radix")
    assert_counts(source, table, scopes_of_all_sizes(len(CARDS), seed=6) * 3)
    assert by_bits.calls
    assert by_radix.calls


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_kept_tables_need_no_scan(n_jobs):
    table = make_table(rows=70_000, missing=0.05)
    source = MemoryCounts(table, n_jobs=n_jobs)
    scopes = scopes_of_all_sizes(len(CARDS), seed=9)
    assert assert_counts(source, table, scopes).scans >= 1
    assert assert_counts(source, table, scopes[::-1]).scans == 0
    assert assert_counts(source, table, scopes, "state").scans == 0


def test_kept_tables_are_bounded(monkeypatch):
    monkeypatch.setattr("counterpane.counts.memory.CACHE_CELLS", 100)
    table = make_table(rows=70_000)
    source = MemoryCounts(table)
    for seed in range(4):
        assert_counts(source, table, scopes_of_all_sizes(len(CARDS), seed))
        kept = [table for table, _ in source._tables._values.values()]
        assert source._tables.size == sum(t.size for t in kept) <= 100
        assert all(t.base is None for t in kept)  # none holds a whole batch


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_supersets_are_counted_once_and_summed(monkeypatch, n_jobs):
    table = make_table((6, 7, 8, 5, 9, 7, 6, 8), 100_000, missing=0.02)  # too large for bits
    source = MemoryCounts(table, n_jobs=n_jobs)
    counted = Spy(monkeypatch, MemoryCounts, "_count_whole")
    scopes = [[0, 1, 2], [2, 1, 3], [0, 3, 1], [3, 0, 2], [0, 1], [1, 2], [5, 6, 7], [7, 5]]
    assert assert_counts(source, table, scopes).scans == 1
    keys = counted.calls[0][1]
    assert (0, 1, 2, 3) in keys
    assert len(keys) < len(scopes)
    assert not source._distinct_rows.size


@pytest.mark.parametrize("missing", ["nowhere", "in some rows", "in rows of no weight"])
@pytest.mark.parametrize("weights", [None, "whole"])
def test_distinct_rows_replace_the_table(weights, missing):
    share = 0.02 if missing == "in some rows" else 0.0
    table = make_table((2, 2, 2, 2, 2, 2), 70_000, missing=share, weights=weights)
    if missing == "in rows of no weight" and weights == "whole":
        codes = table.codes.copy()
        codes[2, table.weights == 0] = 2
        table = Table(table.schema, codes, table.weights)
    source = MemoryCounts(table)
    scopes = [list(s) for k in (4, 5) for s in combinations(range(5, -1, -1), k)]
    assert assert_counts(source, table, scopes).scans == 1
    assert 0 < source._distinct_rows.size < 500
    fresh = [[5, 0, 3], [4, 2], [], [0], [2, 0, 1, 4, 3, 5]]
    assert assert_counts(source, table, fresh).scans == 0


def test_small_tables_are_counted_without_a_plan():
    table = make_table(rows=65_535)
    source = MemoryCounts(table)
    scopes = scopes_of_all_sizes(len(CARDS), seed=0)
    for _ in range(2):
        assert assert_counts(source, table, scopes).scans == 1
    assert not source._tables.size


def test_real_weights_do_not_depend_on_threads():
    table = make_table(rows=400_000, weights="real", missing=0.02)
    scopes = scopes_of_all_sizes(len(CARDS), seed=3)
    one, two = (MemoryCounts(table, n_jobs=n) for n in (1, 2))
    assert one.counts(scopes).values.tobytes() == two.counts(scopes).values.tobytes()
    assert one.counts(scopes[3:5])[0].tobytes() == one.counts(scopes)[3].tobytes()
    pairs = [source.pair_counts([0], against=[1, 2]) for source in (one, two)]
    assert pairs[0].counts.tobytes() == pairs[1].counts.tobytes()
    sums = [s.map_reduce(lambda codes, w: codes @ w, [0, 1]).tobytes() for s in (one, two)]
    assert sums[0] == sums[1]


def test_cancelling_leaves_blocks_uncounted():
    table = make_table((2, 3), 1_000_000)
    for n_jobs in (1, 2):
        cut = Reports()
        cut.control = Control(cut)
        with pytest.raises(Stopped):
            MemoryCounts(table, n_jobs=n_jobs).pair_counts(ctl=cut.control)
        assert cut[0][0] < 1_000_000


def test_threads_are_a_positive_number():
    with raises(ParameterError, parameter="n_jobs", value=0):
        MemoryCounts(make_table(), n_jobs=0)


# ---- streams -------------------------------------------------------------------------------------


def test_a_stream_learns_its_size():
    table = make_table()
    source = stream_of_tables(table)
    assert (source.n_rows, source.total_weight) == (None, None)
    source.counts([[0]])
    assert (source.n_rows, source.total_weight) == (500, 500.0)


def test_a_stream_reads_once_per_batch_of_tables():
    table = make_table()
    passes = []

    def batches():
        passes.append(1)
        return [table]

    source = StreamCounts(table.schema, batches)
    batch = source.counts(scopes_of_all_sizes(len(CARDS), seed=0))
    assert batch.scans == len(passes) == 1


def test_a_stream_remembers_complete_columns():
    table = make_table((2, 3, 2), 100)
    incomplete = make_table((2, 3, 2), 100, missing=0.1)
    batches = [table]
    source = StreamCounts(table.schema, lambda: batches)
    assert source.has_missing.all()
    source.counts([[0, 1]], missing="error")
    assert source.has_missing.tolist() == [False, False, True]
    assert_counts(source, table, [[0, 1], [1, 2]])
    batches[0] = incomplete
    with raises(DataError, about="earlier"):
        source.counts([[0, 1]])


def test_a_stream_of_nothing_is_refused():
    with raises(DataError, about="rows"):
        StreamCounts(Schema.from_cards([2]), lambda: [pd.DataFrame({"x0": []})]).counts([[0]])


def test_a_batch_of_another_schema_is_refused():
    other = Table(Schema.from_cards([3]), [[0, 2]])
    with raises(DataError, about="schema"):
        StreamCounts(Schema.from_cards([2]), lambda: [other]).counts([[0]])


# ---- what is sent to workers ---------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "whole", "eighths"])
def test_tasks_travel(weights):
    table = make_table(weights=weights, missing=0.05)
    sent = []

    class Remote(MemoryCounts):
        counts = CountSource.counts
        pair_counts = CountSource.pair_counts
        distinct = CountSource.distinct

        def map_reduce(self, fn, columns, *, ctl=None):
            sent.append(type(fn))
            return super().map_reduce(pickle.loads(pickle.dumps(fn)), columns, ctl=ctl)

    source = Remote(table)
    assert_counts(source, table, scopes_of_all_sizes(len(CARDS), seed=0))
    assert np.array_equal(source.pair_counts().counts, MemoryCounts(table).pair_counts().counts)
    source.distinct([0, 1])
    assert sent == [CountTask, PairTask, DistinctTask]

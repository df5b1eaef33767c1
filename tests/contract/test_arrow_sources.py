"""What speaks Arrow counts like memory: datasets, functions, Delta, Iceberg, ADBC connections."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from contract.count_source_suite import CountSourceSuite, make_table
from contract.test_learners_on_sources import LEARNERS, in_memory, table_of
from counterpane.data.readers import streams
from counterpane.errors import DataError, MissingExtraError
from error_checks import raises

WEIGHT = "how many"
KINDS = ("dataset", "function", "delta", "iceberg", "adbc")


def arrow_of(table):
    """The codes of a table as an Arrow table; missing cells are NULL."""
    codes = zip(table.schema, table.codes.astype(np.int32), strict=True)
    columns = {v.name: pa.array(c, mask=c == v.card) for v, c in codes}
    if table.weights is not None:
        columns[WEIGHT] = pa.array(table.weights)
    return pa.table(columns)


def written(rows, folder):
    """A dataset of two files."""
    half = rows.num_rows // 2
    for i, part in enumerate((rows.slice(0, half), rows.slice(half))):
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=50_000)
    return ds.dataset(folder)


def opened(kind, rows, folder):
    """Rows as one of the kinds of tables."""
    if kind == "dataset":
        return written(rows, folder)
    if kind == "function":
        dataset = written(rows, folder)
        return lambda columns=None: dataset.scanner(columns=columns).to_reader()
    if kind == "delta":
        delta = pytest.importorskip("deltalake", reason="deltalake is not installed: [delta]")
        delta.write_deltalake(folder, rows.slice(0, 1))
        delta.write_deltalake(folder, rows, mode="overwrite", schema_mode="overwrite")
        return delta.DeltaTable(folder)
    sql = pytest.importorskip(
        "pyiceberg.catalog.sql", reason="pyiceberg is not installed: [iceberg]"
    )
    catalog = sql.SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.rows", schema=rows.schema)
    half = rows.num_rows // 2
    for part in (rows.slice(0, half), rows.slice(half)):
        if part.num_rows:
            table.append(part)
    catalog.engine.dispose()
    return table


def connected(rows):
    """An ADBC connection to a table `rows`."""
    dbapi = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="adbc-driver-sqlite is absent")
    connection = dbapi.connect(":memory:", autocommit=True)
    with connection.cursor() as cursor:
        cursor.adbc_ingest("rows", rows)
    return connection


@pytest.fixture(scope="module", params=KINDS)
def make(request, tmp_path_factory):
    @cache
    def made(table):
        weights = None if table.weights is None else WEIGHT
        options = {"schema": table.schema, "weights": weights}
        if request.param == "adbc":
            connection = connected(arrow_of(table))
            request.addfinalizer(connection.close)
            return cp.SqlSource(connection, "rows", keep_distinct=0, **options)
        folder = tmp_path_factory.mktemp("rows")
        return cp.FrameSource(
            opened(request.param, arrow_of(table), folder), cache=False, **options
        )

    return made


PROMISES = [
    ("tables_of_every_size", {"rows": 1, "weights": "whole"}),
    ("tables_of_every_size", {"rows": 8193, "weights": "eighths"}),
    ("missing_cells", {"rows": 700, "weights": None, "missing": "state"}),
    ("tables_above_the_cell_limit_come_sparse", {"missing": "drop", "weights": "whole"}),
    ("pairs", {"rows": 3000, "weights": None, "missing": 0.1}),
    ("distinct_rows", {"scope": (0, 1), "rows": 700, "weights": "whole"}),
    ("any_sum_over_rows", {"rows": 500, "weights": "eighths"}),
    ("asking_again_gives_the_same", {"rows": 500}),
    ("bad_scopes", {"scope": ["x1", "x77"], "error": cp.CounterpaneError, "culprit": "'x77'"}),
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("promise", "given"), PROMISES)
def test_conformance(make, promise, given):
    getattr(CountSourceSuite(), f"test_{promise}")(make, **given)


FAMILIES = ["structure-search", "exact-posterior", "tan", "interaction", "gsimn", "dn-tree",
            "hybrid", "pairwise"]  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_a_learner_of_each_family_gives_the_same(make, name):
    assert LEARNERS[name](make(table_of("complete", name))) == in_memory(name, "complete")


def test_read_finds_the_source(tmp_path):
    rows = arrow_of(make_table(rows=60))
    for kind in KINDS[:-1]:
        folder = tmp_path / kind
        folder.mkdir()
        source = cp.read(opened(kind, rows, folder))
        assert isinstance(source, cp.FrameSource)
        assert source.n_rows == 60
    assert cp.read(tmp_path / "delta").n_rows == 60  # the folder of a Delta table
    assert cp.read(partial(written(rows, tmp_path / "dataset").scanner().to_reader)).n_rows == 60
    assert cp.NaiveBayes().fit(ds.dataset(tmp_path / "dataset"), "x0").classes_.tolist() == [0, 1]


def test_only_the_needed_columns_are_read(tmp_path):
    dataset, names = written(arrow_of(make_table(rows=60)), tmp_path), []

    def stream(columns):
        names.append(columns)
        return dataset.scanner(columns=columns).to_reader()

    source = cp.FrameSource(stream, columns=["x4", "x1", "x0"], cache=False)
    source.counts([["x1"]])
    assert names == [None, ["x4", "x1", "x0"], ["x1"]]


def test_a_delta_table_is_counted_as_it_was(tmp_path):
    delta = pytest.importorskip("deltalake")
    rows = pa.table({"a": ["x", "y", "x"]})
    delta.write_deltalake(tmp_path, rows)
    source = cp.FrameSource(delta.DeltaTable(tmp_path), cache=False)
    delta.write_deltalake(tmp_path, rows, mode="append")
    assert source.counts([["a"]])[0].tolist() == [2, 1]
    assert cp.read(tmp_path).n_rows == 6
    with raises(DataError, about="Delta"):
        cp.FileSource(tmp_path)


def test_an_iceberg_scan_is_counted_as_it_was(tmp_path):
    rows = pa.table({"a": ["x", "y", "x"], "n": [1, 2, 3]})
    table = opened("iceberg", rows, tmp_path)
    source = cp.FrameSource(table, columns=["a"], cache=False)
    table.append(rows)
    assert source.counts([["a"]])[0].tolist() == [2, 1]
    assert cp.FrameSource(table.scan(row_filter="n > 1")).n_rows == 4


def test_an_adbc_connection_keeps_no_transaction_open():
    dbapi = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="adbc-driver-sqlite is absent")
    with dbapi.connect(":memory:") as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("rows", pa.table({"a": ["x", "X", "x"], "n": [1.5, 2.0, 0.5]}))
        connection.commit()
        source = cp.SqlSource(connection, "rows", weights="n")
        assert source.schema["a"].states == ("X", "x")
        assert source.counts([["a"]])[0].tolist() == [2.0, 2.0]
        with raises(DataError, about='"none"'):
            cp.SqlSource(connection, "none")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pa.table({"a": [1]}).to_reader(), "read only once; pass a function"),
        (lambda: 3, "the function returned an int"),
        (lambda: 1 / 0, "the function cannot read the table: division by zero"),
        (lambda: pa.table([[1], [2]], names=["a", "a"]).to_reader(), "'a' occurs 2 times"),
        (lambda: pa.table({"a": pa.array([], "int64")}).to_reader(), "no rows"),
    ],
)
def test_refusals(source, words):
    with pytest.raises(DataError, match=words) as raised:
        cp.read(source)
    assert "\n" not in str(raised.value)


def test_rows_that_change():
    sizes = iter([3, 3, 2, 3, 3])

    def stream():
        return pa.table({"a": ["x", "y", "x"][: next(sizes)]}).to_reader()

    source = cp.FrameSource(stream, cache=False)
    with raises(DataError, about="3 rows"):
        source.counts([["a"]])
    changed = iter([["x", "y"], ["x", "y"], ["x", "z"]])
    source = cp.FrameSource(lambda: pa.table({"a": next(changed)}).to_reader(), cache=False)
    with raises(DataError, parameter="a", value="z"):
        source.counts([["a"]])


def test_a_package_that_is_absent(tmp_path, monkeypatch):
    Path(tmp_path, "_delta_log").mkdir()

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(streams.importlib, "import_module", absent)
    with raises(MissingExtraError, about="counterpane[delta]"):
        cp.read(tmp_path)

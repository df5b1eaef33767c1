"""Files in an object store and on a web server: the same tables, plain refusals, no secrets."""

from __future__ import annotations

import gzip
import io
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

import counterpane as cp
from contract import s3_server
from contract.count_source_suite import make_table, scopes_of_all_sizes
from contract.test_learners_on_sources import LEARNERS, in_memory, table_of
from counterpane.data import remote
from counterpane.errors import CounterpaneError, DataError, MissingExtraError, NoFileError
from error_checks import raises

pytest.importorskip("pyarrow.fs")
SECRET = "never-to-be-shown"


@pytest.fixture(scope="module")
def store():
    with s3_server.serving() as server:
        yield server


@pytest.fixture(autouse=True)
def keys(store, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(remote, "PAUSE", 0.01)
    store.buckets.clear()


def arrow_of(table):
    """The codes of a table as an Arrow table."""
    codes = zip(table.schema, table.codes.astype("int32"), strict=True)
    return pa.table({v.name: pa.array(c, mask=c == v.card) for v, c in codes})


def put_parquet(store, key, rows, bucket="visits"):
    body = io.BytesIO()
    pq.write_table(rows, body, row_group_size=100)
    store.put(bucket, key, body.getvalue(), when=1.7e9)


def put_parts(store, table, folder="rows"):
    rows = arrow_of(table)
    ends = [0, table.n_rows // 3, table.n_rows]
    for i, (low, high) in enumerate(pairwise(ends)):
        put_parquet(store, f"{folder}/{i}.parquet", rows.slice(low, high - low))


FAMILIES = ["structure-search", "exact-posterior", "tan", "interaction", "gsimn", "dn-tree",
            "hybrid", "pairwise"]  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_a_learner_of_each_family_gives_the_same(store, name):
    table = table_of("complete", name)
    put_parts(store, table)
    source = cp.FileSource("s3://visits/rows", schema=table.schema)
    assert LEARNERS[name](source) == in_memory(name, "complete")


def test_folders_patterns_and_kinds_of_files(store, tmp_path):
    table = make_table(rows=900)
    rows, scopes = arrow_of(table), scopes_of_all_sizes(10, seed=1)
    put_parts(store, table, "parts/year=7")
    store.put("visits", "parts/_log/0.parquet", b"no table")
    text, arrow = io.BytesIO(), io.BytesIO()
    csv.write_csv(rows, text)
    feather.write_feather(rows, arrow, compression="uncompressed")
    store.put("visits", "text.csv", text.getvalue())
    store.put("visits", "text.csv.gz", gzip.compress(text.getvalue()))
    store.put("visits", "rows.feather", arrow.getvalue())
    expected = cp.MemoryCounts(table).counts(scopes)
    for url in ("parts", "parts/*/*.parquet", "parts/**/1.parquet", "text.csv", "text.csv.gz",
                "rows.feather"):  # fmt: skip
        source = cp.FileSource(f"s3://visits/{url}", schema=table.schema)
        if url == "parts/**/1.parquet":
            assert source.n_rows == 600
            continue
        counted = source.counts(scopes)
        assert all((a == b).all() for a, b in zip(counted, expected, strict=True)), url
    assert cp.FileSource("s3://visits/parts").schema["year"].states == (7,)
    assert isinstance(cp.read("s3://visits/parts"), cp.FileSource)
    assert cp.read("s3://visits/text.csv").n_rows == 900


def test_the_command_learns_from_a_url(store, run, tmp_path):
    put_parts(store, make_table(rows=300))
    url = f"s3://{s3_server.KEY}:{SECRET}@visits/rows?region=us-east-1"
    code, out, err = run("learn", url, "--method", "chow-liu")
    assert code == 0, err
    assert (tmp_path / "rows.cp").exists()
    assert SECRET not in out + err
    code, out, err = run("learn", url.replace("visits", "gone"))
    assert code == 2
    assert "there is no file or folder 's3://gone/rows'" in err
    assert SECRET not in out + err


def refused(url, kind):
    """The sentence of a refusal, without secrets."""
    with pytest.raises(kind) as raised:
        cp.read(url)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert SECRET not in sentence
    assert s3_server.KEY not in sentence
    return sentence


def test_what_is_not_there(store, monkeypatch):
    put_parts(store, make_table(rows=30))
    user = f"{s3_server.KEY}:{SECRET}"
    assert "'s3://gone/a.parquet'" in refused("s3://gone/a.parquet", NoFileError)
    assert "'s3://visits/b.csv'" in refused(f"s3://{user}@visits/b.csv?x=1", NoFileError)
    assert "no file of a known kind" in refused("s3://visits/rows/*.csv", NoFileError)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    assert "access to 's3://visits/rows' is denied" in refused("s3://visits/rows", DataError)


def test_a_bucket_that_goes_and_files_that_change(store):
    table = make_table(rows=600)
    put_parts(store, table)
    source = cp.FileSource("s3://visits/rows", cache=False)
    store.put("visits", "rows/1.parquet", b"shorter")
    with raises(DataError, about="'s3://visits/rows/1.parquet'"):
        source.counts([["x0"]])
    del store.buckets["visits"]
    with raises(NoFileError, about="'visits'"):
        source.counts([["x0"]])


def test_a_column_name_twice(store):
    rows = pa.table([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"])
    put_parquet(store, "twice.parquet", rows)
    with raises(DataError, about="'a'"):
        cp.FileSource("s3://visits/twice.parquet")


def test_reads_that_fail_for_a_moment_are_repeated(store):
    table = make_table(rows=300)
    put_parts(store, table)
    source = cp.FileSource("s3://visits/rows", cache=False, schema=table.schema)
    store.faults = 2
    assert (
        source.counts([["x0"]])[0].tolist() == cp.MemoryCounts(table).counts([["x0"]])[0].tolist()
    )
    assert store.faults == 0


class FlakyStore:
    """A file system whose file fails some times."""

    def __init__(self, failures, error):
        self.failures, self.error, self.opened = failures, error, 0

    def open_input_file(self, key):
        self.opened += 1
        if self.failures:
            self.failures -= 1
            raise self.error
        return io.BytesIO(bytes(range(100)))


@pytest.mark.parametrize(("failures", "opened"), [(0, 1), (2, 3), (99, 4)])
def test_attempts(monkeypatch, failures, opened):
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    files = FlakyStore(failures, OSError("connection reset"))
    file = remote.RetryingFile(remote.RemotePath("s3://b/x", "b/x", files, 100))
    file.seek(-7, 2)
    if failures == 99:
        with raises(DataError, about="'s3://b/x'"):
            file.read(5)
    else:
        assert file.read(5) == bytes([93, 94, 95, 96, 97])
        assert file.read() == bytes([98, 99])
    assert files.opened == opened


def test_what_will_not_pass_is_not_repeated():
    files = FlakyStore(9, OSError("AWS Error ACCESS_DENIED during GetObject"))
    with raises(DataError, about="'s3://b/x'"):
        remote.RetryingFile(remote.RemotePath("s3://b/x", "b/x", files, 100)).read()
    assert files.opened == 1


def test_a_web_server(store):
    pytest.importorskip("aiohttp", reason="aiohttp is not installed: extra [remote]")
    store.put("public", "people.csv", b"sex,ill\n" + b"f,no\nm,yes\nf,yes\nm,no\n" * 5)
    put_parquet(store, "rows.parquet", arrow_of(make_table(rows=500)), "public")
    table = cp.read(f"{store.address}/public/people.csv?signature={SECRET}")
    assert table.n_rows == 20
    source = cp.FileSource(f"{store.address}/public/rows.parquet")
    assert source.n_rows == 500
    sentence = refused(f"{store.address}/public/none.csv?signature={SECRET}", NoFileError)
    assert "none.csv'" in sentence


def test_a_scheme_that_nothing_serves():
    with raises(CounterpaneError, about="'gopher://host/a.csv'"):
        cp.read("gopher://host/a.csv")


def test_a_package_that_is_absent(monkeypatch):
    def absent(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(remote.importlib, "import_module", absent)
    with raises(MissingExtraError, about="counterpane[remote]"):
        cp.read("https://host/a.csv")

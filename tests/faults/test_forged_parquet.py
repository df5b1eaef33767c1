"""Parquet files whose pages or directory lie about sizes: refused before they take memory."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterpane as cp
from counterpane.data.parquet_pages import page_sizes
from faults import forged_parquet as forged
from faults.forged_parquet import DELTA_LENGTH, DELTA_TEXTS, Page, lengths, text
from faults.peak import peak_growth

READERS = {"table": cp.read, "blocks": lambda path: cp.FileSource(path).counts([[0]])}
LONG = 2**30
# Each took 2 GB or more: 109 bytes took 4.3 GB.
LIES = {
    "a size": ([Page(text(b"xy") * 4, 4, size=2**31 - 1)], "zstd"),
    "the directory": ([Page(text(b"x" * 60_000_000), 1)], "zstd"),
    "lengths": ([Page(lengths(LONG, 0, LONG), 4, DELTA_LENGTH)], None),
    "lengths and values": ([Page(lengths(LONG, 0, LONG), LONG, DELTA_LENGTH)], "gzip"),
    "beginnings": ([Page(lengths(LONG, 0, LONG) + lengths(4), 4, DELTA_TEXTS)], None),
    "suffixes": ([Page(lengths(4) + lengths(LONG, 0, LONG), 4, DELTA_TEXTS)], None),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("lie", LIES)
def test_lies_of_pages(tmp_path, lie, reader):
    pages, codec = LIES[lie]
    path = forged.write(tmp_path / "t.parquet", pages, min(4, pages[0].values), codec=codec)
    assert path.stat().st_size < 10_000
    grown = peak_growth()
    with pytest.raises(cp.CounterpaneError, match="unpacks to more than 200 times its size"):
        READERS[reader](path)
    assert grown() < 2**27


@pytest.mark.parametrize("codec", [None, "snappy", "zstd"])
@pytest.mark.parametrize("encoding", ["plain", "lengths", "beginnings"])
def test_sound_pages_are_read(tmp_path, codec, encoding):
    data = {
        "plain": (text(b"ab") + text(b"cd") * 2, forged.PLAIN),
        "lengths": (lengths(3, 2) + b"abcdcd", DELTA_LENGTH),
        "beginnings": (lengths(3) + lengths(3, 2) + b"abcdcd", DELTA_TEXTS),
    }[encoding]
    path = forged.write(tmp_path / "t.parquet", [Page(data[0], 3, data[1])], 3, codec=codec)
    assert list(cp.read(path).column("a")) == ["ab", "cd", "cd"]
    assert cp.FileSource(path).counts([[0]])[0].tolist() == [1, 2]


def test_a_long_text_that_repeats(tmp_path):
    """490 bytes took 3 GB and minutes, as Arrow writes each text out."""
    codes = pa.array([0, 1] * 1000, pa.int32())
    texts = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 500_000, "y"]))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": texts}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 2000
    grown = peak_growth()
    table = cp.read(path)
    assert np.bincount(table.codes[0]).tolist() == [1000, 1000]
    assert grown() < 2**26


def test_texts_that_begin_alike(tmp_path):
    path = tmp_path / "t.parquet"
    texts = pa.array(["x" * 200_000] * 200)
    pq.write_table(pa.table({"a": texts}), path, use_dictionary=False, compression="zstd",
                   column_encoding={"a": "DELTA_BYTE_ARRAY"})  # fmt: skip
    assert path.stat().st_size < 10_000
    with pytest.raises(cp.CounterpaneError, match="unpacks to more than 200 times its size"):
        cp.read(path)


def test_columns_without_states_are_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"a": ["x", "y", "x"], "bytes": [b"1", b"2", b"3"], "lists": [[1], [2], None]}
    pq.write_table(pa.table(columns), path)
    assert cp.read(path).schema.names == ("a",)
    with pytest.raises(cp.CounterpaneError, match=r"'bytes' holds binary values"):
        cp.read(path, discretize="quantile", on_unusable="error")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("packing", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_sizes_of_sound_files(packing, version):
    rng = np.random.default_rng(0)
    column = [None if k % 7 == 0 else f"text {k % 500}" for k in range(5000)]
    frame = pa.table({"a": column, "b": rng.normal(size=5000), "c": column, "d": column})
    file = io.BytesIO()
    encodings = {"c": "DELTA_BYTE_ARRAY", "d": "DELTA_LENGTH_BYTE_ARRAY"}
    pq.write_table(frame, file, compression=packing, data_page_version=version,
                   row_group_size=1500, data_page_size=4000, use_dictionary=["a"],
                   column_encoding=encodings)  # fmt: skip
    facts = pq.read_metadata(file)
    sizes = page_sizes(file, 2**30)
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    stated = sum(group.total_byte_size for group in groups)
    assert 0.8 * stated < sizes.unpacked < stated + 8 * 2 * 5000
    assert sizes.plain == {"c", "d"}
    assert 0 < sizes.shared <= sizes.open < sizes.unpacked

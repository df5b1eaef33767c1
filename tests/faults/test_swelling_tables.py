"""Small table files that stand for large tables: refused before they take memory or time."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import counterpane as cp
from faults.peak import peak_growth

SHEET = "xl/worksheets/sheet1.xml"
HEAD = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
FOOT = "</sheetData></worksheet>"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Name → bytes of the parts of a small sound workbook."""
    path = tmp_path_factory.mktemp("excel") / "t.xlsx"
    pd.DataFrame({"a": ["x", "y"] * 5, "b": range(10)}).to_excel(path, index=False)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def refusal(path):
    grown = peak_growth()
    with pytest.raises(cp.CounterpaneError) as caught:
        cp.read(path)
    assert grown() < 2**29
    return str(caught.value)


def row(number, reference, value="1"):
    return f'<row r="{number}"><c r="{reference}"><v>{value}</v></c></row>'


def test_a_sheet_that_swells(tmp_path, parts):
    path = packed(tmp_path / "t.xlsx", parts | {SHEET: HEAD + " " * 200_000_000 + FOOT})
    assert path.stat().st_size < 500_000
    assert "unpacks to more than 200 times" in refusal(path)


def test_a_row_far_below(tmp_path, parts):
    path = packed(tmp_path / "t.xlsx", parts | {SHEET: HEAD + row(10**12, "A1") + FOOT})
    assert "at most 1,048,576 rows" in refusal(path)


def test_cells_far_to_the_right(tmp_path, parts):
    rows = "".join(row(k, f"XFD{k}") for k in range(1, 2000))
    assert "nearly all of them empty" in refusal(
        packed(tmp_path / "t.xlsx", parts | {SHEET: HEAD + rows + FOOT})
    )


@pytest.mark.parametrize("where", [0.3, 0.6, 0.9])
def test_broken_sheets(tmp_path, parts, where):
    data = parts[SHEET]
    broken = data[: int(where * len(data))]
    text = refusal(packed(tmp_path / "t.xlsx", parts | {SHEET: broken}))
    assert "cannot be read as an Excel workbook" in text


def counted(path, states):
    """The rows of each state of column a, counted block by block, in little memory."""
    grown = peak_growth()
    source = cp.read(path)
    assert isinstance(source, cp.FileSource)
    table = source.distinct([0])
    assert grown() < 2**28 + 2 * path.stat().st_size
    assert set(table.column("a")) <= set(states)
    return dict(zip(table.column("a"), table.weights.tolist(), strict=True))


def test_parquet_of_long_runs_is_counted_block_by_block(tmp_path):
    """50 million rows in 290 kB took 3.7 GB as a table."""
    rng = np.random.default_rng(0)
    rows = 60_000_000
    cells = np.repeat(rng.integers(0, 3, rows // 2000, dtype=np.int8), 2000)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": cells}), path, row_group_size=rows)
    assert rows / path.stat().st_size > 200
    assert counted(path, range(3)) == {state: (cells == state).sum() for state in range(3)}
    pq.write_table(pa.table({"a": rng.integers(0, 3, 10**5)}), path)
    assert isinstance(cp.read(path), cp.Table)


@pytest.mark.parametrize("packing", ["zstd", "lz4"])
def test_arrow_of_packed_zeros(tmp_path, packing):
    """Arrow unpacks a batch as a whole, of which no more is held than once."""
    path = tmp_path / "t.feather"
    n = 40_000_000
    cells = pa.array(np.arange(n) >= n // 2)
    feather.write_feather(pa.table({"a": cells}), path, compression=packing, chunksize=n)
    assert path.stat().st_size < 250_000
    assert counted(path, [False, True]) == {False: n // 2, True: n // 2}


@pytest.mark.parametrize("kind", ["texts", "dictionary"])
def test_arrow_of_one_long_text(tmp_path, kind):
    path = tmp_path / "t.feather"
    cells = pa.array(["x" * 40_000_000, "y"] * 2)
    cells = cells if kind == "texts" else cells.dictionary_encode()
    feather.write_feather(pa.table({"a": cells}), path, compression="zstd")
    assert path.stat().st_size < 250_000
    del cells
    grown = peak_growth()
    assert len(cp.read(path).schema["a"].states) == 2
    assert grown() < 2**29


def test_parquet_of_one_long_text(tmp_path):
    path = tmp_path / "t.parquet"
    texts = pa.table({"a": ["x" * 60_000_000, "y"] * 2})
    pq.write_table(texts, path, use_dictionary=False, compression="zstd")
    del texts
    grown = peak_growth()
    assert len(cp.read(path).schema["a"].states) == 2
    assert grown() < 2**30


@pytest.mark.parametrize("tail", [b"", b"PAR1", b"\xff\xff\xff\x7fPAR1"])
def test_broken_parquet_is_refused_by_its_reader(tmp_path, tail):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + bytes(100) + tail)
    assert "cannot be read as parquet" in refusal(path)


def test_json_lines_of_a_key_each(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"k{i}": 1}}\n' for i in range(10_000)))
    assert "keys that name things are no columns" in refusal(path)

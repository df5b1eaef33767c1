"""Files: CSV, ARFF and parquet come in; damaged ones get one sentence."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from counterpane.data.reading import read_table
from counterpane.data.table import Table
from counterpane.errors import DataError, FileFormatError, NoFileError, ParameterError, StateError
from error_checks import raises


def csv(tmp_path, text, name="t.csv", encoding="utf-8"):
    path = tmp_path / name
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def columns(table):
    return {name: table.column(name).tolist() for name in table.schema.names}


def test_kinds_of_csv_columns(tmp_path):
    text = (
        "truth,whole,real,text,zeros,na,blank\n"
        "true,1,0.5,NA,007,1,x\n"
        'FALSE,NA,"1e1",None,008,?,\n'
        ',-3, 2.,"a ""b"", c",007,null,x\n'
    )
    table = read_table(csv(tmp_path, text), discretize={"real": [1.0]}, on_unusable="error")
    assert columns(table) == {
        "truth": [True, False, None],
        "whole": [1, None, -3],
        "real": ["<1", "≥1", "≥1"],
        "text": ["NA", "None", 'a "b", c'],
        "zeros": ["007", "008", "007"],
        "na": [1, None, None],
        "blank": ["x", None, "x"],
    }
    assert table.schema["whole"].states == (-3, 1)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV", "t.txt", "t.tsv.gz"])
@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_delimiters_packing_and_marks(tmp_path, name, mark):
    text = f"\ufeffnaïve{mark}b\r\nä{mark}1\r\n\r\nö{mark}2"
    assert columns(read_table(str(csv(tmp_path, text, name)))) == {"naïve": ["ä", "ö"], "b": [1, 2]}


def test_csv_options_and_quoted_headers(tmp_path):
    path = csv(tmp_path, '"a,b;c";d\n1;é\n', encoding="latin-1")
    assert columns(read_table(path, encoding="latin-1")) == {"a,b;c": [1], "d": ["é"]}
    assert read_table(csv(tmp_path, "a:b\n1:2\n"), delimiter=":").n_columns == 2
    weighted = read_table(csv(tmp_path, "a,n\nx,2\ny,3\n"), weights="n", states={"a": ("y", "x")})
    assert weighted.weights.tolist() == [2, 3] and weighted.codes.tolist() == [[1, 0]]
    multiline = read_table(csv(tmp_path, 'a,b\n"one\ntwo",1\n'))
    assert columns(multiline)["a"] == ["one\ntwo"]


def test_rows_beyond_one_block(tmp_path, monkeypatch):
    monkeypatch.setattr("counterpane.data.clean.BLOCK", 8)
    cells = [f"s{i % 5}" for i in range(100)]
    table = read_table(
        csv(tmp_path, "a,b\n" + "".join(f"{c},{i % 3}\n" for i, c in enumerate(cells)))
    )
    assert columns(table) == {"a": cells, "b": [i % 3 for i in range(100)]}


def test_csv_equals_the_frame_it_was_written_from(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"i": rng.integers(0, 5, 50), "s": rng.choice(["u", "v"], 50), "b": rng.random(50) < 0.5}
    )
    frame.to_csv(tmp_path / "f.csv.gz", index=False)
    table, expected = read_table(tmp_path / "f.csv.gz"), Table.from_frame(frame)
    assert table.schema == expected.schema
    np.testing.assert_array_equal(table.codes, expected.codes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n1,2\n3\n", "line 3: 1 fields where the header has 2"),
        ('a,b\n"x\ny",2\n3,4,5\n', "line 4: 3 fields"),
        ("a,b\n", "no rows"),
        (",b\n1,2\n", "column 1 has no name"),
        ("a,a\n1,2\n", "'a' occurs 2 times"),
        ('a,b\n1,"2', "line 2: unexpected end of data"),
        ('a,b\n1,"2"x\n', "line 2"),
        ("a,b\n1,\n2,\n", "'b' has no value at all"),
    ],
)
def test_bad_csv(tmp_path, text, words):
    with pytest.raises((FileFormatError, DataError), match=words) as caught:
        read_table(csv(tmp_path, text), discretize=None)
    assert "\n" not in str(caught.value)


def test_damaged_and_absent_files(tmp_path):
    good = csv(tmp_path, "a,b\n" + "1,2\n" * 1000, "good.csv.gz")
    (tmp_path / "cut.csv.gz").write_bytes(good.read_bytes()[:-12])
    (tmp_path / "plain.csv.gz").write_bytes(b"a,b\n1,2\n")
    broken = bytearray(good.read_bytes())
    broken[30] ^= 0xFF
    (tmp_path / "broken.csv.gz").write_bytes(broken)
    (tmp_path / "plain.txt").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "binary.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and then nothing")
    (tmp_path / "odd.ods").write_bytes(b"PK")
    (tmp_path / "odd.xlsx").write_bytes(b"PK")
    for name, words in {
        "cut.csv.gz": "cut.csv.gz",
        "plain.csv.gz": "plain.csv.gz",
        "broken.csv.gz": "broken.csv.gz",
        "binary.csv": "binary.csv",
        "bad.parquet": "bad.parquet",
        "odd.ods": "odd.ods",
        "odd.xlsx": "odd.xlsx",
    }.items():
        with raises(FileFormatError, about=words) as caught:
            read_table(tmp_path / name, discretize=None)
        assert "\n" not in str(caught.value) and name in str(caught.value)
    with raises(NoFileError, about="'good.csv.gz'"):
        read_table(tmp_path / "god.csv.gz")
    with raises(NoFileError, about="'nowhere/x.csv'"):
        read_table("nowhere/x.csv")
    with raises(NoFileError, about="folder"):
        read_table(tmp_path)
    with raises(NoFileError, about=("'titanic'", "load_dataset")):
        read_table("titanic")
    with raises(ParameterError, parameter="encoding", value="utf-99"):
        read_table(good, encoding="utf-99")
    with raises(ParameterError, parameter="delimiter", value="::"):
        read_table(good, delimiter="::")
    with raises(FileFormatError, about="16 text"):
        read_table(tmp_path / "plain.txt", encoding="utf-16")


def test_parquet_keeps_declared_states(tmp_path, monkeypatch):
    order = ["small", "huge", "middle"]
    cells = ["middle", None, "small"]
    pd.DataFrame(
        {"s": pd.Categorical(cells, order, ordered=True), "b": [True, False, None]}
    ).to_parquet(tmp_path / "pandas.parquet")
    pl.DataFrame(
        {"s": pl.Series(cells, dtype=pl.Enum(order)), "b": [True, False, None]}
    ).write_parquet(tmp_path / "polars.pq")
    for name in ("pandas.parquet", "polars.pq"):
        table = read_table(tmp_path / name)
        assert table.schema["s"].states == tuple(order)
        assert columns(table) == {"s": cells, "b": [True, False, None]}
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert columns(read_table(tmp_path / "polars.pq"))["s"] == cells
    monkeypatch.setitem(sys.modules, "polars", None)
    with raises(DataError, about="counterpane[duckdb]"):
        read_table(tmp_path / "polars.pq")


ARFF = r"""% a comment
@RELATION 'weather report'

@attribute outlook {sunny, overcast, 'very \'wet\'', "?"}
@attribute "temperature in C" numeric
@attribute note string
@Attribute Play {yes,no}
@DATA
% another
sunny, 85, "it's, hot", no

'very \'wet\'',?,a b,yes
?,70.5,?,?
"?",1e1,plain,yes
"""


def test_arff(tmp_path):
    table = read_table(csv(tmp_path, ARFF, "w.arff.gz"), discretize={"temperature in C": [60]})
    assert columns(table) == {
        "outlook": ["sunny", "very 'wet'", None, "?"],
        "temperature in C": ["≥60", None, "≥60", "<60"],
        "note": ["it's, hot", "a b", None, "plain"],
        "Play": ["no", "yes", None, "yes"],
    }
    assert table.schema["outlook"].states == ("sunny", "overcast", "very 'wet'", "?")
    assert table.schema["Play"].states == ("yes", "no")


def test_sparse_arff(tmp_path):
    head = "@relation r\n@attribute a {n,y}\n@attribute b numeric\n@attribute c {p,q}\n@data\n"
    table = read_table(csv(tmp_path, head + "{0 y, 2 'q'}\n{}\n{1 3}\n{2 ?}\n", "s.arff"))
    assert columns(table) == {
        "a": ["y", "n", "n", "n"],
        "b": [0, 0, 3, 0],
        "c": ["q", "p", "p", None],
    }
    for row, words in {
        "{3 y}": "column 3 is set",
        "{0 y": "not closed",
        "{0}": "cannot be read",
    }.items():
        with pytest.raises(FileFormatError, match=f"line 6: .*{words}"):
            read_table(csv(tmp_path, head + row, "s.arff"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends before its @data"),
        ("@relation r\n@attribute a {x}\n", "line 2: the file ends before its @data"),
        ("@relation r\n@data\nx\n", "line 2: '@data' is out of place"),
        ("@attribute a\n@data\n", "lacks a name or a type"),
        ("@attribute a date\n@data\n", "attribute 'a' has the type 'date'"),
        ("@attribute a {}\n@data\n", "attribute 'a' has the type"),
        ("@attribute a {x,x}\n@data\nx\n", "'x' more than once"),
        ("hello\n", "'hello' is out of place"),
        ("@attribute a {x}\n@attribute b {y}\n@data\nx,y\nx\n", "line 5: 1 values for 2"),
        ("@attribute a {x}\n@data\n'x\n", "check its quotes"),
        ("@attribute a {x}\n@data\nz\n", "'z' is not one of 1 states"),
        ("@attribute a numeric\n@data\nz\n", "column 'a'"),
        ("@attribute a {x}\n@data\n", "no rows"),
    ],
)
def test_bad_arff(tmp_path, text, words):
    with pytest.raises((FileFormatError, StateError, DataError), match=words) as caught:
        read_table(csv(tmp_path, text, "b.arff"))
    assert "\n" not in str(caught.value)


def test_csv_needs_no_frame_library(tmp_path):
    path = csv(tmp_path, "a,b\nx,1\ny,2\n")
    code = (
        "import sys; sys.modules |= dict.fromkeys(['pandas', 'polars', 'pyarrow']);"
        f"from counterpane.data.reading import read_table; print(read_table({str(path)!r}));"
        "assert 'sklearn' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Table: 2 rows × 2 columns\na  b\n")


def test_a_small_file_is_read_without_engines(tmp_path):
    path = csv(tmp_path, "a,b,day\n" + "x,1.5,2024-01-02\ny,2.5,2024-01-03\n" * 30)
    code = (
        f"import sys, counterpane as cp; cp.read({str(path)!r});"
        "print(*(m for m in sys.modules if m.startswith('counterpane.counts.')));"
        "print(*(m for m in sys.modules if m.partition('.')[0] in"
        " ('dask', 'pyspark', 'cupy', 'duckdb', 'sqlite3', 'pyarrow', 'pandas', 'polars')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours, others = done.stdout.splitlines()
    assert "counterpane.counts.open" in ours.split()
    assert not [
        m
        for m in ours.split()
        if m.startswith(("counterpane.counts.engines", "counterpane.counts.gpu"))
    ]
    assert others == ""

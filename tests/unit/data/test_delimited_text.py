"""Text files in blocks: the columns are those of the rows of csv.reader, however they are cut."""

from __future__ import annotations

import csv
import gzip
import io
import pickle
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import counterpane as cp
from counterpane.data.clean import columns_of_rows, text_columns
from counterpane.data.columns import Labels, Numbers
from counterpane.data.headers import HeaderGuessed
from counterpane.data.number_formats import NumberFormat
from counterpane.data.readers import text, text_files
from counterpane.data.readers.text import DelimitedText, read_delimited
from counterpane.data.readers.text_files import FileOptions
from counterpane.errors import FileFormatError
from error_checks import raises

CELLS = [
    ["1", "2", "-3", "+4", "0", "17"],
    ["1.5", "2.25", "-3.125", ".5", "6."],
    ["1.234", "22.500", "999.999"],
    ["1,234", "22,500"],
    ["1,5", "22,25"],
    ["1e5", "2E3", "7"],
    ["12345678901234567", "12345678901234568", "0.5"],
    ["9999999999999999999", "1"],
    ["NA", "", " ", "nan", "inf", "-inf", "?"],
    ["$1.50", "$2"],
    ["true", "False", "TRUE"],
    ["007", "2020-01-02", "a b", "é", 'say "so"', "two\nlines", "\r"],
]


@pytest.fixture
def small(monkeypatch):
    """Blocks of few rows, and numbers wherever a block has more than so many distinct cells."""

    def set_sizes(most_distinct=0, piece=7, cells=12):
        monkeypatch.setattr(text, "MOST_DISTINCT", most_distinct)
        monkeypatch.setattr(text_files, "PIECE", piece)
        monkeypatch.setattr(text, "BLOCK_CELLS", cells)

    return set_sizes


def write(path, table, **options):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, **options).writerows(table)
    return path


def same(column, other):
    assert type(column) is type(other)
    assert (column.name, column.written) == (other.name, other.written)
    if isinstance(column, Labels):
        assert column.states == other.states
        assert column.declared == other.declared
        return np.testing.assert_array_equal(column.codes, other.codes)
    assert column.values.dtype == other.values.dtype
    np.testing.assert_array_equal(column.missing, other.missing)
    return np.testing.assert_array_equal(column.values, other.values)


@st.composite
def some_columns(draw):
    size = draw(st.integers(1, 30))
    mixes = st.lists(st.sampled_from(CELLS), min_size=1, max_size=2).map(lambda m: [*chain(*m)])
    return [
        draw(st.lists(st.sampled_from(draw(mixes)), min_size=size, max_size=size))
        for _ in range(draw(st.integers(2, 4)))
    ]


FORMATS = {"v0": NumberFormat(",", "."), "v1": NumberFormat()}


@given(some_columns(), st.sampled_from([None, ".", ","]), st.sampled_from([None, FORMATS]))
@example([["1.234", "5.678", "7"], ["1,5", "2,5", "x"]], ",", None)
@example([["1.234"] * 5 + ["1.5"], ["1,234", *"12345"]], None, None)
@example([["1", "12345678901234567", "12345678901234568", "0.5"], [*"abcd"]], None, None)
@example([["1e5", "1", "2", "3"], ["1,234"] * 4], None, None)
def test_blocks_give_what_all_rows_give(tmp_path_factory, columns, decimal, formats):
    names = [f"v{i}" for i in range(len(columns))]
    table = [list(row) for row in zip(*columns, strict=True)]
    path = write(tmp_path_factory.mktemp("text") / "t.csv", [names, *table])
    options = FileOptions(header=True, strict=True, decimal=decimal, formats=formats)
    cells = columns_of_rows(table, names)
    expected = text_columns(cells, decimal=decimal, formats=formats)
    for distinct, piece, block in [(0, 5, 1), (0, 2**20, 12), (2, 64, 12), (4096, 2**20, 2**22)]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, "MOST_DISTINCT", distinct)
            patch.setattr(text_files, "PIECE", piece)
            patch.setattr(text, "BLOCK_CELLS", block)
            for column, other in zip(read_delimited(path, options), expected, strict=True):
                same(column, other)


def test_blocks_of_some_columns(tmp_path, small):
    rng = np.random.default_rng(0)
    table = [[i, f"{x:.4f}", "ab"[i % 2]] for i, x in enumerate(rng.normal(size=50))]
    path = write(tmp_path / "t.csv", [["i", "x", "k"], *table])
    small(most_distinct=3)
    found = pickle.loads(pickle.dumps(DelimitedText(path, FileOptions())))
    assert (found.names, found.delimiter) == (("i", "x", "k"), ",")
    for _ in range(2):
        blocks = list(found.blocks(["k", "i", "k"], ["i"]))
        assert [len(block[0].codes) for block in blocks] == [3, *[4] * 11, 3]
        assert {column.name for block in blocks for column in block} == {"i", "k"}
        assert [s for block in blocks for s in block[1].states] == [str(i) for i in range(50)]
        assert [block[0].states for block in blocks[:2]] == [("a", "b"), ("b", "a")]
    numbers = [block[1] for block in found.blocks() if isinstance(block[1], Numbers)]
    assert np.concatenate([n.values for n in numbers]).tolist() == [
        float(row[1]) for row in table[3:47]
    ]


def test_cells_and_headers_of_any_length(tmp_path):
    long = "x" * 1_000_000
    path = write(tmp_path / "long.csv", [["a", "b"], [long, 1], ["y", 2], [long, 3]])
    column, other = read_delimited(path, FileOptions())
    assert column.states == (long, "y")
    assert column.codes.tolist() == [0, 1, 0]
    assert other.values.tolist() == [1, 2, 3]
    names = [f"a column with a long name {i}" for i in range(10_000)]
    path = write(
        tmp_path / "wide.csv", [names, *([i + j for j in range(10_000)] for i in range(3))]
    )
    columns = read_delimited(path, FileOptions())
    assert [c.name for c in columns] == names
    assert columns[-1].values.tolist() == [9_999, 10_000, 10_001]
    table = cp.read(write(tmp_path / "k.csv", [["a", "k"], *[[long, "u"], ["y", "v"]] * 20]))
    assert table.schema["a"].states == (long, "y")


def test_a_row_that_is_too_long(tmp_path, monkeypatch, small):
    small()
    monkeypatch.setattr(text, "MOST_ROW_BYTES", 50)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n" + '3,"4\n' + "5,6\n" * 100)
    with raises(FileFormatError, about="line 3"):
        read_delimited(path, FileOptions())
    path.write_text("a" * 200)
    with raises(FileFormatError, about="line 1"):
        read_delimited(path, FileOptions())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_are_cut_anywhere(tmp_path, small, encoding, packed):
    words = 'größe;ä\r\n"ü;\r\n";1\r\n\r\né"é;2'
    data = words.encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    reader = csv.reader(io.StringIO(words, newline=""), delimiter=";")
    header, *table = filter(None, reader)
    for piece in (1, 2, 3, 100):
        small(piece=piece)
        options = FileOptions(encoding=None if encoding == "utf-8-sig" else encoding)
        columns = read_delimited(path, options)
        assert [c.name for c in columns] == header
        assert columns[0].states == tuple(sorted(row[0] for row in table))
    path.write_bytes(gzip.compress(data[:-1]) if packed else data[:-1])
    if encoding.startswith("utf-16"):
        with pytest.raises(FileFormatError, match=f"is not {encoding} text"):
            read_delimited(path, FileOptions(encoding=encoding))


def test_bad_bytes(tmp_path, small):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nü,1\n".encode() + b"\xc3,2\n\xff\xfe,3\n")
    for piece in (1, 4, 100):
        small(piece=piece)
        with raises(FileFormatError, about="t.csv"):
            read_delimited(path, FileOptions())
        column, _ = read_delimited(path, FileOptions(damaged=True))
        assert column.states == ("ü", "\ufffd", "\ufffd\ufffd")


def test_lines_above_and_below_the_header(tmp_path, small):
    path = tmp_path / "t.csv"
    data = [f"{i},{'ab'[i % 2]},{i / 7:.3f}" for i in range(40)]
    path.write_text("\n".join(["", "A survey", "", "id,kind,size", "which,what,how much", *data]))
    for piece in (3, 2**20):
        small(piece=piece)
        with pytest.warns(HeaderGuessed) as told:
            found = DelimitedText(path, FileOptions())
        assert len(told) == 2
        assert found.names == ("id", "kind", "size")
        columns = list(zip(*found.blocks(as_text=found.names), strict=True))
        assert sum(len(block.codes) for block in columns[0]) == 40
    path.write_text("\n".join(["", "A survey", "", "id,kind,size", *data, "1,2"]))
    with (
        pytest.warns(HeaderGuessed),
        raises(FileFormatError, about=("line 45", "2 fields")),
    ):
        DelimitedText(path, FileOptions())
    assert DelimitedText(path, FileOptions(header=False, delimiter="|")).names == ("column 1",)


def test_a_packed_file_that_swells(tmp_path, monkeypatch):
    monkeypatch.setattr("counterpane.disk.SAFE_BYTES", 2**20)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**20))
    with raises(FileFormatError, about="200"):
        read_delimited(path, FileOptions())

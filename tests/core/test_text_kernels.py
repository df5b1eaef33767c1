"""The kernels of delimited text beside csv.reader, dictionaries, int() and float()."""

from __future__ import annotations

import csv
import io
import math
import re
import string

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from counterpane._core import text
from counterpane.data.number_formats import NO_NUMBER, NUMBER

FAULTS = {
    text.AFTER_QUOTE: "expected after",
    text.OPEN_QUOTE: "unexpected end of data",
    text.OTHER_WIDTH: "width",
}
pieces = st.sampled_from(
    ['"', '""', ",", ",", "\n", "\r", "\r\n", "a", " ", "é", "\0", "😀", '"a"']
)
tables = st.lists(pieces, max_size=24).map("".join)


def rows_of(words, width, delimiter=","):
    """The rows of csv.reader, the message at which they end ("" if at none), and its line."""
    reader = csv.reader(io.StringIO(words, newline=""), strict=True, delimiter=delimiter)
    rows = []
    try:
        for row in reader:
            if row and len(row) != width:
                return rows, "width", reader.line_num
            if row:
                rows.append(row)
    except csv.Error as error:
        return rows, str(error), reader.line_num
    return rows, "", reader.line_num


def split(words, width, ends=(), delimiter=",", capacity=30):
    """The same by the kernel, which is given the text up to each of some places first."""
    data = bytearray(words.encode())
    size, rows, at, line, fault = len(data), 0, 0, 0, text.NO_FAULT
    bounds = np.full((capacity, width, 2), -1, np.int32)
    for end in (*ends, size, None):
        known = size if end is None else end
        rows, at, lines, fault, _ = text.split_rows(
            data, at, known, delimiter.encode(), end is None, bounds, rows
        )
        line += lines
        if fault:
            break
    cells = [[bytes(data[a:b]).decode() for a, b in row] for row in bounds[:rows].tolist()]
    return cells, fault, line


def check_split(words, width, ends=(), delimiter=","):
    rows, message, line = rows_of(words, width, delimiter)
    cells, fault, last = split(words, width, ends, delimiter)
    assert cells == rows
    assert FAULTS.get(fault, "nothing") in message if fault else message == ""
    assert last == line


@given(tables, st.integers(1, 4))
@example('a,b\r\n"c\r\n""d""",e\r\r\n\r\nf,', 2)
@example('"a\n', 1)
@example('"a"b', 1)
@example('a"b,"",""""', 3)
def test_split_rows(words, width):
    check_split(words, width)
    for end in range(len(words.encode()) + 1):
        check_split(words, width, [end])


@given(tables, st.sets(st.integers(0, 60)))
def test_split_rows_in_many_parts(words, ends):
    size = len(words.encode())
    check_split(words, 2, sorted(end for end in ends if end <= size))


@pytest.mark.parametrize("delimiter", ["§", "😀", ";", "\t", " ", "\0", "a"])
def test_split_rows_at_other_delimiters(delimiter):
    words = 'x,"y""§;\n"§z\n\nx;\tb 😀"\r\n'.replace("§", delimiter).replace("\n\n", "\n \n")
    for width in range(1, 5):
        for end in range(len(words.encode()) + 1):
            check_split(words, width, [end], delimiter)


def test_split_rows_up_to_the_capacity():
    words = "a,b\n" * 10
    cells, fault, line = split(words, 2, capacity=4)
    assert (cells, fault, line) == ([["a", "b"]] * 4, text.NO_FAULT, 4)
    bounds = np.empty((1, 1, 2), np.int32)
    assert text.split_rows(bytearray(b"\n1,2\n"), 0, 5, b",", True, bounds, 0) == (
        0, 1, 2, text.OTHER_WIDTH, 2
    )  # fmt: skip


def bounds_of(columns):
    """Text that holds the cells of some columns, and their bounds."""
    cells = [cell.encode() for row in zip(*columns, strict=True) for cell in row]
    ends = np.cumsum([len(cell) for cell in cells])
    bounds = np.stack([ends - [len(cell) for cell in cells], ends], axis=1)
    shape = (len(columns[0]), len(columns), 2)
    return bytearray(b"".join(cells)), bounds.reshape(shape).astype(np.int32)


@given(st.lists(st.tuples(*[st.text(max_size=20)] * 2), min_size=1, max_size=80))
def test_distinct_cells(rows):
    columns = list(zip(*rows, strict=True))
    data, bounds = bounds_of(columns)
    n = len(rows)
    codes, first = np.empty((2, n), np.int32), np.empty((2, n), np.int32)
    n_distinct = np.empty(2, np.int64)
    text.find_distinct(data, bounds, np.array([1, 0]), n, codes, first, n_distinct)
    for i, column in enumerate(columns[::-1]):
        states = list(dict.fromkeys(column))
        assert n_distinct[i] == len(states)
        assert [states[code] for code in codes[i]] == list(column)
        assert first[i, : len(states)].tolist() == [column.index(state) for state in states]
        size = sum(len(state.encode()) for state in states)
        joined, ends = bytearray(size), np.empty(len(states), np.int64)
        assert text.join_cells(data, bounds, 1 - i, first[i, : len(states)], joined, ends) == size
        words = joined.decode()
        assert [words[a:b] for a, b in zip([0, *ends], ends, strict=False)] == states
        assert text.join_cells(data, bounds, 1 - i, first[i, :1], bytearray(), ends[:1]) == len(
            states[0].encode()
        )


@pytest.mark.parametrize(("n_cells", "limit"), [(700, 699), (700, 700), (3000, 4096)])
def test_many_distinct_cells(n_cells, limit):
    rng = np.random.default_rng(n_cells)
    cells = [f"{'cell ' * (i % 4)}{i}" for i in rng.permutation(n_cells)] * 2
    data, bounds = bounds_of([cells])
    codes, first = np.empty((1, len(cells)), np.int32), np.empty((1, len(cells)), np.int32)
    n_distinct = np.empty(1, np.int64)
    text.find_distinct(data, bounds, np.array([0]), limit, codes, first, n_distinct)
    assert n_distinct[0] == (-1 if limit < n_cells else n_cells)
    if limit >= n_cells:
        assert codes[0].tolist() == [*range(n_cells)] * 2
        assert first[0, :n_cells].tolist() == [*range(n_cells)]


WORDS = sorted(NO_NUMBER - {""})
GAPS = text.GapWords("".join(WORDS).encode(), np.cumsum([0, *map(len, WORDS)]))


def read(cells):
    """The kind, values and missing cells of a column, and the words in it."""
    data, bounds = bounds_of([cells])
    n = len(cells)
    integers, reals = np.empty(n, np.int64), np.empty(n)
    missing, met = np.empty(n, bool), np.empty(len(WORDS), bool)
    kind = text.read_numbers(data, bounds, 0, GAPS, integers, reals, missing, met)
    values = {text.INTEGERS: integers, text.REALS: reals}.get(kind)
    return kind, values, missing, {word for word, is_met in zip(WORDS, met, strict=True) if is_met}


def kind_of(cells):
    """What a column is by the patterns of the reader of small tables."""
    figures = [cell for cell in cells if cell not in NO_NUMBER]
    if not figures or not all(map(NUMBER.fullmatch, figures)):
        return text.NO_NUMBERS
    if all(re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,17})", figure) for figure in figures):
        return text.INTEGERS
    bodies = [re.sub("[eE].*|[+-]", "", figure) for figure in figures]
    decimal = any("." in b and not re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", b) for b in bodies)
    return text.REALS if decimal else text.NO_NUMBERS


figures = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}"),
    st.integers(-(10**19), 10**19).map(str),
    st.integers(-999, 999).map(str),
    st.from_regex(NUMBER.pattern, fullmatch=True, alphabet=string.digits + "+-.eE"),
    st.sampled_from(["1.234", "999.000", "0.123", "5.", ".5", "+1", "-0", "1e5", "1E-400"]),
    st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: f"{d:f}"[:60]),
)
others = st.sampled_from(["", *WORDS, "007", "1,5", "x", "--1", "1e", ".", "1 2", "0x1", "1_0"])


@given(st.lists(st.one_of(figures, figures, figures, others), min_size=1, max_size=6))
@example(["9007199254740993", "1.5"])
@example(["999999999999999999", "-999999999999999999"])
@example(["179769313486231580793728971405301e276", "1.5"])
@example(["2.2250738585072011e-308", "8.5"])
def test_numbers(cells):
    kind, values, missing, met = read([f" {cell}\t" for cell in cells])
    expected = kind_of(cells)
    if kind == text.NO_NUMBERS:  # out of the range of doubles: Python decides
        out = [c for c in cells if NUMBER.fullmatch(c) and (
            math.isinf(float(c)) or abs(float(c)) < 1e-300)]  # fmt: skip
        assert expected == text.NO_NUMBERS or out
        return
    assert kind == expected
    number = int if kind == text.INTEGERS else float
    assert values.tolist() == [0 if cell in NO_NUMBER else number(cell) for cell in cells]
    assert missing.tolist() == [cell in NO_NUMBER for cell in cells]
    assert met == {cell for cell in cells if cell in WORDS}


def test_many_numbers_are_rounded_as_python_does():
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=20_000) * 10.0 ** rng.integers(-30, 30, 20_000)
    for form in ("{!r}", "{:.17e}", "{:.25e}", "{:.6f}", "{:.15f}"):
        cells = ["0.5", *map(form.format, numbers.tolist())]
        kind, values, _, _ = read(cells)
        assert kind == text.REALS
        assert values.tolist() == list(map(float, cells))

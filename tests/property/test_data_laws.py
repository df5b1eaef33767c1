"""Laws of the data floor: fast paths against naive twins, round trips, and hostile files."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpane.data.intervals import cut_labels, mdl_cuts, quantile_cuts
from counterpane.data.reading import read_table
from counterpane.data.schema import Variable
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError
from law_settings import examples
from reference.data_reference import encode, fayyad_irani

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
quick = examples(80)


def columns_of(cells):
    """Lists of one length with at least one value that is not None."""
    return st.lists(st.none() | cells, min_size=1, max_size=30).filter(any_value)


def any_value(cells):
    return any(cell is not None for cell in cells)


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@quick
@given(data=st.data())
def test_encoding_is_the_naive_one_and_goes_back(library, data):
    kinds = st.sampled_from([TEXTS, st.integers(-5, 5), st.integers(-(2**60), 2**60)])
    cells = data.draw(kinds.flatmap(columns_of))
    kind = type(next(c for c in cells if c is not None))
    if library is pd.DataFrame and kind is int:  # a plain pandas column would round to floats
        cells = pd.array(cells, dtype="Int64")
    frame = library({"c": cells})
    cells = [None if cell is pd.NA else cell for cell in cells]
    table = Table.from_frame(frame, max_states=30)
    states, codes = encode(cells)
    assert list(table.schema["c"].states) == states
    assert table.codes[0].tolist() == codes
    assert table.column("c").tolist() == cells
    again = Table.from_frame(frame, schema=table.schema)
    np.testing.assert_array_equal(again.codes, table.codes)


@quick
@given(columns_of(st.sampled_from("abc")), st.permutations("abcd"))
def test_declared_order_does_not_depend_on_the_library(cells, order):
    frames = [
        pd.DataFrame({"c": pd.Categorical(cells, order)}),
        pl.DataFrame({"c": pl.Series(cells, dtype=pl.Enum(order))}),
        pa.table({"c": pa.DictionaryArray.from_pandas(pd.Categorical(cells, order))}),
    ]
    declared = Table.from_frame({"c": cells}, states={"c": order})
    for frame in frames:
        table = Table.from_frame(frame)
        assert table.schema == declared.schema
        np.testing.assert_array_equal(table.codes, declared.codes)


rows_of_numbers = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=40
)


@quick
@given(rows_of_numbers, st.integers(1, 12))
def test_mdl_cuts_are_fayyad_and_iranis(rows, sharpness):
    values, classes, weights = (np.array(column) for column in zip(*rows, strict=True))
    classes = np.where(
        values * 2 > sharpness, 0, classes
    )  # now and then there is something to find
    weights = weights * sharpness
    expected = fayyad_irani(
        np.repeat(values, weights).tolist(), np.repeat(classes, weights).tolist()
    )
    found = mdl_cuts(values.astype(float), classes, weights.astype(float))
    assert found.tolist() == expected
    shuffled = np.random.default_rng(sharpness).permutation(len(values))
    other = mdl_cuts(values[shuffled].astype(float), 3 - classes[shuffled], weights[shuffled] * 1.0)
    assert other.tolist() == expected  # neither row order nor class names matter


@quick
@given(rows_of_numbers, st.integers(1, 6))
def test_quantile_cuts_balance_and_weights_are_copies(rows, n_bins):
    values, _, weights = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    cuts = quantile_cuts(values, weights, n_bins)
    copies = np.repeat(values, weights.astype(int))
    np.testing.assert_array_equal(cuts, quantile_cuts(copies, np.ones(len(copies)), n_bins))
    codes = np.searchsorted(cuts, values, side="right")
    assert set(codes) == set(range(len(cuts) + 1))  # no interval is empty
    heaviest = max(weights[values == v].sum() for v in values)
    per_bin = np.bincount(codes, weights)
    assert per_bin.max() <= weights.sum() / n_bins + heaviest + 1e-9


@quick
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6, unique=True))
def test_labels_of_cuts_differ(cuts):
    cuts = sorted(c + 0.0 for c in cuts)
    assert Variable("x", cut_labels(cuts), tuple(cuts)).card == len(cuts) + 1


@examples(80)
@given(table=st.data())
def test_texts_survive_a_csv_file(table, tmp_path_factory):
    words = TEXTS.map(lambda text: f"w{text}")  # texts that are no numbers, truths or blanks
    width = table.draw(st.integers(1, 3))
    rows = table.draw(st.lists(st.tuples(*[words] * width), min_size=1, max_size=8))
    names = table.draw(st.lists(words, min_size=width, max_size=width, unique=True))
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    found = read_table(path, delimiter=",", discretize=None)
    assert list(found.schema.names) == names
    back = zip(*(found.column(name).tolist() for name in names), strict=True)
    assert list(back) == rows


SYNTAX = st.sampled_from(
    ["@relation r\n", "@attribute a {x,y}\n", "@attribute b real\n", "@data\n", "'", '"', "\\", "{",
     "}", "?", ",", "\n", "x", "1", " ", "%", "\r", "\t", ";", "é", "\0", "true", "NA", "1e999"]
)  # fmt: skip


@examples(300)
@given(st.lists(SYNTAX, max_size=25).map("".join), st.sampled_from(["f.csv", "f.arff", "f.csv.gz"]))
def test_hostile_files_raise_our_errors_only(tmp_path_factory, text, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(text.encode())
    try:
        table = read_table(path, discretize="quantile")
    except CounterpaneError as error:
        assert "\n" not in str(error)
    else:
        assert table.n_rows > 0

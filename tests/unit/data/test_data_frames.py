"""Frames of every library become one and the same table."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import (
    CounterpaneError,
    DataError,
    ParameterError,
    StateError,
    UnknownNameError,
    WeightError,
)
from error_checks import raises

CELLS = {
    "größe": ["klein", "groß", None, "klein", "mittel"],
    "count": [3, None, 1, 10, 3],
    "flag": [True, None, False, True, True],
    "whole": [1.0, 2.0, float("nan"), 2.0, 1.0],
}
STATES = [("groß", "klein", "mittel"), (1, 3, 10), (False, True), (1, 2)]
CODES = [[1, 0, 3, 1, 2], [1, 3, 0, 2, 1], [1, 2, 0, 1, 1], [0, 1, 2, 1, 0]]


def nullable_pandas():
    kinds = {"größe": "string", "count": "Int64", "flag": "boolean", "whole": "Float64"}
    return pd.DataFrame({name: pd.array(CELLS[name], dtype=kinds[name]) for name in CELLS})


def structured():
    rows = np.empty(5, dtype=[(name, object) for name in CELLS])
    for name, cells in CELLS.items():
        rows[name] = cells
    return rows


FRAMES = {
    "mapping": lambda: CELLS,
    "mapping of series": lambda: {name: pl.Series(cells) for name, cells in CELLS.items()},
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas object": lambda: pd.DataFrame(CELLS, dtype=object),
    "pandas nullable": nullable_pandas,
    "pandas arrow": lambda: pd.DataFrame(CELLS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame(CELLS),
    "polars categorical": lambda: pl.DataFrame(CELLS).with_columns(
        pl.col("größe").cast(pl.Categorical)
    ),
    "pyarrow": lambda: pa.table(CELLS),
    "pyarrow chunks": lambda: pa.concat_tables([pa.table(CELLS)[:2], pa.table(CELLS)[2:]]),
    "pyarrow views": lambda: pa.table(
        {**CELLS, "größe": pa.array(CELLS["größe"], pa.string_view())}
    ),
    "structured": structured,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_library_gives_the_same_table(kind):
    table = Table.from_frame(FRAMES[kind]())
    assert table.schema.names == tuple(CELLS)
    assert [v.states for v in table.schema] == STATES
    assert [[type(s) for s in v.states] for v in table.schema] == [
        [type(s) for s in states] for states in STATES
    ]
    assert table.codes.tolist() == CODES
    assert table.codes.dtype == np.uint8
    assert table.column("größe").tolist() == CELLS["größe"]


ORDER = ["small", "huge", "middle"]  # "huge" is never observed
SIZES = ["middle", None, "small", "middle"]
DECLARED = {
    "pandas": lambda: pd.DataFrame({"s": pd.Categorical(SIZES, ORDER, ordered=True)}),
    "pandas unordered": lambda: pd.DataFrame({"s": pd.Categorical(SIZES, ORDER)}),
    "polars enum": lambda: pl.DataFrame({"s": pl.Series(SIZES, dtype=pl.Enum(ORDER))}),
    "arrow dictionary": lambda: pa.table(
        {"s": pa.DictionaryArray.from_arrays([2, None, 0, 2], ORDER)}
    ),
    "pandas over arrow": lambda: pd.DataFrame(
        {
            "s": pd.Series(
                pa.DictionaryArray.from_arrays([2, None, 0, 2], ORDER),
                dtype=pd.ArrowDtype(pa.dictionary(pa.int64(), pa.string())),
            )
        }
    ),
}


@pytest.mark.parametrize("kind", DECLARED)
def test_declared_order_and_unobserved_states_survive(kind):
    table = Table.from_frame(DECLARED[kind]())
    assert table.schema["s"].states == tuple(ORDER)
    assert table.codes.tolist() == [[2, 3, 0, 2]]


def test_arrow_dictionaries_that_differ_by_chunk_are_united():
    first = pa.DictionaryArray.from_arrays([0, 1], ["a", "b"])
    second = pa.DictionaryArray.from_arrays([0, 1, None], ["c", "a"])
    table = Table.from_frame(pa.table({"s": pa.chunked_array([first, second])}))
    assert table.column("s").tolist() == ["a", "b", "c", "a", None]


def test_a_polars_categorical_is_free_of_the_shared_pool():
    pl.Series(["z", "unrelated", "a"], dtype=pl.Categorical)
    frame = pl.DataFrame({"s": pl.Series(["z", "a", None], dtype=pl.Categorical)})
    assert Table.from_frame(frame).schema["s"].states == ("a", "z")


def test_integer_and_interval_categories():
    cut = pd.cut(pd.Series([1.0, 2.0, np.nan]), [0, 1, 2, 3])
    frame = pd.DataFrame({"i": pd.Categorical([2, 1, None], [3, 2, 1]), "c": cut})
    table = Table.from_frame(frame)
    assert table.schema["i"].states == (3, 2, 1)
    assert table.schema["c"].states == ("(0, 1]", "(1, 2]", "(2, 3]")
    assert table.codes.tolist() == [[1, 2, 3], [0, 1, 3]]


def test_arrays():
    table = Table.from_frame(np.array([[1.0, 0.0], [np.nan, 5.0]]))
    assert table.schema.names == ("x0", "x1")
    assert table.column("x0").tolist() == [1, None]
    mixed = Table.from_frame(np.array([[1, "b"], [None, "a"]], dtype=object))
    assert mixed.column("x1").tolist() == ["b", "a"]
    masked = Table.from_frame(np.ma.masked_array([[7, 8], [9, 9]], mask=[[0, 1], [0, 0]]))
    assert masked.column("x1").tolist() == [None, 9]
    assert Table.from_frame(np.array([[b"u"], [b"v"]])).column("x0").tolist() == ["u", "v"]
    assert Table.from_frame(np.array([[True], [True]])).schema["x0"].states == (False, True)


def test_one_row_constant_columns_and_wide_integers_work():
    table = Table.from_frame({"a": ["x"], "b": [5], "c": [0.5], "d": [2**70]})
    assert table.n_rows == 1
    assert table.schema["c"] == Variable("c", ("all",), ())
    assert table.codes.tolist() == [[0], [0], [0], [0]]
    large = Table.from_frame({"i": np.array([2**62, 2**62 + 1])})
    assert large.schema["i"].states == (2**62, 2**62 + 1)


def test_names_that_are_not_texts_become_texts():
    assert Table.from_frame(pd.DataFrame([[1, 2]])).schema.names == ("0", "1")


def test_weights_by_column_and_by_array():
    frame = pl.DataFrame({"a": ["x", "y"], "w": [2, 3]})
    table = Table.from_frame(frame, weights="w")
    assert table.schema.names == ("a",)
    assert table.weights.tolist() == [2, 3] and table.weights.dtype == np.int64
    same = Table.from_frame({"a": ["x", "y"]}, weights=[2, 3])
    assert same.weights.tolist() == [2, 3]
    assert table.distinct().total_weight == 5.0


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, np.nan], "row 1 is nan"),
        ([-1, 1], "row 0 is -1"),
        ([0, 0], "all weights are zero"),
        ([1], "2 rows need"),
        ("a", "holds no numbers"),
        ("gaps", "row 1 is nan"),
    ],
)
def test_bad_weights(weights, words):
    frame = {"a": ["x", "y"], "b": [1, 2], "gaps": [1, None]}
    with pytest.raises(WeightError, match=words):
        Table.from_frame(frame, weights=weights)


def test_declared_states():
    table = Table.from_frame(
        {"a": ["lo", "hi", None], "b": [1, 2, 2], "empty": [None, None, None]},
        states={"a": ("lo", "mid", "hi"), "b": ("1", "2", "3"), "empty": ("x", "y")},
    )
    assert table.codes.tolist() == [[0, 2, 3], [0, 1, 1], [2, 2, 2]]  # "1" is 1 by its text
    with pytest.raises(StateError) as caught:
        Table.from_frame({"a": ["lo", "lo", "up"]}, states={"a": ("lo", "hi")})
    assert str(caught.value) == (
        "column 'a', row 2: 'up' is not one of 2 states ('lo', 'hi'); pass unseen=\"missing\"."
    )
    lenient = Table.from_frame({"a": ["lo", "up"]}, states={"a": ("lo", "hi")}, unseen="missing")
    assert lenient.column("a").tolist() == ["lo", None]
    with raises(UnknownNameError, parameter="the frame's column", value="sise"):
        Table.from_frame({"size": [1]}, states={"sise": (1,)})


SCHEMA = Schema(
    [
        Variable("smoke", ("no", "yes")),
        Variable("age", ("<30", "[30, 60)", "≥60"), (30.0, 60.0)),
        Variable("sick", (False, True)),
    ]
)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_new_data_is_encoded_by_the_old_schema(library):
    frame = library(
        {
            "extra": [1.5, 2.5, 3.5, 4.5],
            "sick": ["TRUE", "false", "True", None],
            "age": [60.0, None, 29.9, 30.0],
            "smoke": ["yes", "no", None, "yes"],
        }
    )
    table = Table.from_frame(frame, schema=SCHEMA)
    assert table.schema == SCHEMA
    assert table.codes.tolist() == [[1, 0, 2, 1], [2, 3, 0, 1], [1, 0, 1, 2]]


def test_encoding_by_schema_refuses_what_it_cannot_place():
    with raises(UnknownNameError, parameter="the frame's column", value="age"):
        Table.from_frame({"smoke": ["no"], "Age": [3], "sick": [True]}, schema=SCHEMA)
    frame = {"smoke": ["maybe"], "age": ["<30"], "sick": [1]}
    with raises(StateError, parameter="smoke", value="maybe"):
        Table.from_frame(frame, schema=SCHEMA)
    table = Table.from_frame(frame, schema=SCHEMA, unseen="missing")
    assert table.codes.tolist() == [[2], [0], [1]]


def test_unobserved_categories_outside_the_schema_do_no_harm():
    frame = pd.DataFrame({"a": pd.Categorical(["x"], ["x", "never"])})
    assert Table.from_frame(frame, schema=Schema([Variable("a", ("x",))])).codes.tolist() == [[0]]


def test_arrays_meet_a_schema_by_position():
    table = Table.from_frame(np.array([[1, 0], [0, 1]]), schema=Schema.from_cards([2, 2], "v"))
    assert table.codes.tolist() == [[1, 0], [0, 1]]


def test_a_missing_state_takes_the_missing_cells():
    schema = Table.from_frame({"a": ["x", None]}).resolve_missing("state").schema
    assert Table.from_frame({"a": [None, "x"]}, schema=schema).codes.tolist() == [[1, 0]]


def test_a_table_comes_back_or_moves_to_another_schema():
    table = Table.from_frame({"a": ["x", "y", None]}, weights=[1, 2, 3])
    assert Table.from_frame(table) is table
    assert Table.from_frame(table, weights=[1, 1, 1]).weights.tolist() == [1, 1, 1]
    moved = Table.from_frame(table, schema=Schema([Variable("a", ("z", "y", "x"))]))
    assert moved.codes.tolist() == [[2, 1, 3]] and moved.weights.tolist() == [1, 2, 3]
    known = table.resolve_missing("state")
    assert Table.from_frame(known, schema=table.schema).codes.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame(), "no columns"),
        ({}, "no columns"),
        (np.zeros((0, 2)), "no rows"),
        (pa.table({"a": pa.array([], pa.string())}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1' occurs 2 times"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "^the column name 'a' occurs 2 times; rename"),
        (pa.table([[1], [2]], names=["a", "a"]), "^the column name 'a' occurs 2 times; rename"),
        (pl.DataFrame({"a": [None, None]}), "'a' has no value at all"),
        (pl.DataFrame({"a": [None, float("nan")]}), "'a' has no value at all"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pl.DataFrame({"a": [[1], [2]]}), "'a' holds List"),
        ({"a": [[1], [2]]}, "'a' holds list"),
        ({"a": [1 + 2j]}, "'a' holds complex"),
        ({"a": [datetime.time(7), datetime.time(8)]}, "'a' holds time values"),
        ({"a": pd.date_range("2020-01-01", periods=40)}, "'a' holds 40 different dates"),
        ({"a": [1, 2], "b": [1]}, "'b' has 1 rows and column 'a' has 2"),
        ({"a": "xyz"}, "a sequence of its cells"),
        (np.array([1, 2]), "2 are needed"),
        ({"a": np.zeros((2, 2))}, "one axis"),
        (7, "from int"),
        (pd.DataFrame({"": [1]}), "non-empty"),
        ({"id": np.arange(70_000).astype(str)}, "'id' has 70000 different values"),
    ],
)
def test_bad_frames_get_one_sentence(frame, words):
    from counterpane.data.reading import read_table

    with pytest.raises(DataError, match=words) as caught:
        read_table(frame, discretize=None)
    assert "\n" not in str(caught.value)


def test_bad_parameters():
    for options in ({"unseen": "ignore"}, {"max_states": 0}, {"n_bins": 0}):
        with pytest.raises(ParameterError):
            Table.from_frame({"a": [1]}, **options)


def test_inputs_stay_as_they_are():
    array = np.array([[1, 2], [2, 1]])
    frame = pd.DataFrame({"a": ["x", None], "w": [1.0, 2.0]})
    before = frame.copy()
    Table.from_frame(array), Table.from_frame(frame, weights="w")
    assert array.flags.writeable and frame.equals(before)


def test_find_says_none_and_code_raises():
    age = SCHEMA["age"]
    assert age.find("45") == 1 and age.find(float("nan")) is None and age.find("old") is None
    assert Variable("b", ("TRUE", "FALSE")).find(True) == 0
    assert Variable("n", ("1", "2")).find(2.0) == 1
    with raises(CounterpaneError, parameter="age", value="old"):
        age.code("old")

"""The embedded tables, and every benchmark table that is at hand."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from counterpane.data.datasets import dataset_names, load_dataset
from counterpane.data.reading import read_table
from counterpane.errors import UnknownNameError
from error_checks import raises

DATA = os.environ.get("COUNTERPANE_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERPANE_DATA names no folder")

SHAPES = {
    "titanic": (2201, 4, {"no": 1490, "yes": 711}),
    "tictactoe": (958, 10, {"positive": 626, "negative": 332}),
    "monks1": (432, 7, {0: 216, 1: 216}),
    "monks2": (432, 7, {0: 290, 1: 142}),
    "monks3": (432, 7, {0: 204, 1: 228}),
    "balance": (625, 5, {"L": 288, "B": 49, "R": 288}),
    "iris": (150, 5, {"setosa": 50, "versicolor": 50, "virginica": 50}),
    "wine": (178, 14, {"class_0": 59, "class_1": 71, "class_2": 48}),
    "breast_cancer": (569, 31, {"malignant": 212, "benign": 357}),
}


def test_the_names_are_all_here():
    assert set(dataset_names()) == set(SHAPES)
    with raises(UnknownNameError, parameter="dataset", value="titanik"):
        load_dataset("titanik")


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_and_classes(name):
    table = load_dataset(name)
    rows, width, classes = SHAPES[name]
    assert (table.n_rows, table.n_columns) == (rows, width)
    assert Counter(table.column(table.schema.names[-1])) == classes
    assert not table.has_missing.any() and table.weights is None
    assert load_dataset(name).schema == table.schema


def test_orders_and_options():
    titanic = load_dataset("titanic")
    assert titanic.schema["status"].states == ("first", "second", "third", "crew")
    assert titanic.schema["survived"].states == ("no", "yes")
    assert titanic.distinct().n_rows == 24
    iris = load_dataset("iris", discretize="quantile", n_bins=3)
    assert iris.schema.cards.tolist() == [3, 5, 3, 5, 3]  # widths have a frequent value
    np.testing.assert_allclose(load_dataset("iris").schema["petal_width"].cuts, (0.8, 1.75))


@needs_data
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("titanic", "titanic"),
        ("tictactoe", "tic-tac-toe"),
        ("monks1", "monks-1-test"),
        ("monks2", "monks-2-test"),
        ("monks3", "monks-3-test"),
        ("balance", "balance-scale"),
    ],
)
def test_generated_tables_are_the_published_ones(name, file):
    with gzip.open(Path(DATA, "uci", f"{file}.csv.gz"), "rt", newline="") as lines:
        published = Counter(tuple(row) for row in list(csv.reader(lines))[1:])
    table = load_dataset(name)
    ours = Counter(zip(*(map(str, table.column(n)) for n in table.schema.names), strict=True))
    assert ours == published


@pytest.mark.slow
@needs_data
def test_every_benchmark_table_reads():
    plain = sorted(Path(DATA, "bnlearn").glob("*.csv.gz"))
    classed = sorted(Path(DATA, "uci").glob("*.csv.gz"))
    assert len(plain) >= 6 and len(classed) >= 60
    for path in plain:
        table = read_table(path)
        assert table.n_rows > 400 and not table.has_missing.any()
        for variable in table.schema:
            assert list(variable.states) == sorted(variable.states)
    for path in classed:
        with gzip.open(path, "rt", newline="") as lines:
            rows = list(csv.reader(lines))
        table = read_table(path, discretize="mdl", target="class")
        assert table.schema.names == tuple(rows[0]) and table.n_rows == len(rows) - 1
        missing = np.array([[cell == "" for cell in row] for row in rows[1:]]).T
        np.testing.assert_array_equal(table.codes == table.schema.cards[:, None], missing)

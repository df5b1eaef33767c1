"""Numbers become intervals: by Fayyad and Irani, by quantiles, by hand, by an object."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from counterpane.data.discretize import MDLDiscretizer
from counterpane.data.intervals import cut_labels, mdl_cuts, quantile_cuts
from counterpane.data.schema import Variable
from counterpane.data.table import Table
from counterpane.errors import DiscretizeError, ParameterError, UnknownNameError
from error_checks import raises

# The cuts that Fayyad and Irani's method is known to make on Fisher's iris.
IRIS_CUTS = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]


def iris():
    return load_iris(as_frame=True).frame


def test_iris_has_its_known_cuts():
    x, y = load_iris(return_X_y=True)
    found = MDLDiscretizer().fit(x, y)
    for cuts, known in zip(found.cuts_, IRIS_CUTS, strict=True):
        np.testing.assert_allclose(cuts, known, atol=1e-12)
    codes = found.transform(x)
    assert codes.dtype == np.int64
    for column, cuts, values in zip(codes.T, IRIS_CUTS, x.T, strict=True):
        np.testing.assert_array_equal(column, (values[:, None] > cuts).sum(axis=1))


def test_the_transformer_passes_scikit_learns_checks():
    results = check_estimator(MDLDiscretizer(), on_skip=None)
    assert len(results) > 40
    assert {r["status"] for r in results} <= {"passed", "skipped"}


def test_names_missing_cells_and_pipelines():
    frame = iris()
    x, y = frame.drop(columns="target"), frame["target"]
    fitted = MDLDiscretizer().fit(x, y)
    assert fitted.get_feature_names_out().tolist() == x.columns.tolist()
    assert fitted.feature_names_in_.tolist() == x.columns.tolist()
    holed = x.head(2).copy()
    holed.iloc[0, 2] = np.nan
    assert fitted.transform(holed)[:, 2].tolist() == [3, 0]
    model = make_pipeline(MDLDiscretizer(), DecisionTreeClassifier(random_state=0)).fit(x, y)
    assert model.score(x, y) > 0.95
    gaps = x.copy()
    gaps.iloc[::7, 2] = np.nan
    kept = gaps.iloc[:, 2].notna().to_numpy()
    expected = MDLDiscretizer().fit(x[kept], y[kept]).cuts_[2]
    np.testing.assert_array_equal(MDLDiscretizer().fit(gaps, y).cuts_[2], expected)


def test_weights_are_copies_and_zero_weights_are_absent():
    x, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = MDLDiscretizer().fit(x, y, sample_weight=weights)
    repeated = MDLDiscretizer().fit(np.repeat(x, weights, axis=0), np.repeat(y, weights))
    for one, other in zip(weighted.cuts_, repeated.cuts_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_neighboring_floats_can_be_parted():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    values = np.repeat([low, high], 20)
    cuts = mdl_cuts(values, np.repeat([0, 1], 20), np.ones(40))
    assert low < cuts[0] <= high
    huge = mdl_cuts(np.repeat([1.6e308, 1.7e308], 20), np.repeat([0, 1], 20), np.ones(40))
    assert 1.6e308 < huge[0] < 1.7e308


def test_many_classes_do_not_overflow():
    values = np.arange(2000.0)
    assert mdl_cuts(values, np.arange(2000) % 1000, np.ones(2000)).size == 0
    assert mdl_cuts(values, np.zeros(2000, dtype=int), np.ones(2000)).size == 0


def test_quantiles_are_scikit_learns():
    values = np.random.default_rng(1).normal(size=101)
    weights = np.random.default_rng(2).integers(1, 5, 101).astype(float)
    for n_bins in (2, 3, 4, 7):
        bins = KBinsDiscretizer(
            n_bins, strategy="quantile", quantile_method="averaged_inverted_cdf", subsample=None
        ).fit(values[:, None], sample_weight=weights)
        np.testing.assert_allclose(
            quantile_cuts(values, weights, n_bins), bins.bin_edges_[0][1:-1], rtol=1e-12
        )


def test_quantiles_merge_where_values_repeat():
    assert quantile_cuts(np.zeros(9), np.ones(9), 4).size == 0
    assert quantile_cuts(np.array([0.0] * 9 + [1.0]), np.ones(10), 4).size == 0
    cuts = quantile_cuts(np.array([0.0, 0, 0, 1, 2, 2, 2, 2]), np.ones(8), 4)
    assert cuts.tolist() == [1.5]


def test_tables_are_cut_and_new_numbers_find_their_state():
    table = Table.from_frame(iris(), discretize="mdl", target="target")
    petal = table.schema["petal length (cm)"]
    assert petal.states == ("<2.45", "[2.45, 4.75)", "≥4.75")
    np.testing.assert_allclose(petal.cuts, (2.45, 4.75))
    new = iris().head(3).assign(**{"petal length (cm)": [petal.cuts[0], np.nan, np.inf]})
    again = Table.from_frame(new, schema=table.schema)
    assert again.codes[table.schema.index(petal.name)].tolist() == [1, 3, 2]
    quarters = Table.from_frame(iris(), discretize="quantile", n_bins=3)
    assert quarters.schema.cards.tolist() == [3, 5, 3, 5, 3]  # widths have a frequent value


def test_table_weights_and_missing_classes_count_in_the_cuts():
    frame = iris()
    weights = np.random.default_rng(0).integers(0, 3, len(frame))
    repeated = frame.loc[frame.index.repeat(weights)]
    for options in ({"discretize": "mdl", "target": "target"}, {"discretize": "quantile"}):
        weighted = Table.from_frame(frame, weights=weights, **options)
        assert weighted.schema == Table.from_frame(repeated, **options).schema
    holed = frame.astype({"target": "Int64"})
    holed.loc[holed.index[::5], "target"] = pd.NA
    one = Table.from_frame(holed, discretize="mdl", target="target").schema
    other = Table.from_frame(holed.dropna(), discretize="mdl", target="target").schema
    assert one == other


def test_cuts_by_hand_and_by_object():
    frame = {"x": [0.1, 0.5, 0.9, None], "n": [1, 2, 3, 4], "y": ["a", "a", "b", "b"]}
    table = Table.from_frame(frame, discretize={"x": [0.5], "n": [2, 3]})
    assert table.codes.tolist() == [[0, 1, 1, 2], [0, 1, 2, 2], [0, 0, 1, 1]]
    data = iris()
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    by_object = Table.from_frame(data, discretize=bins)
    expected = bins.fit_transform(data.to_numpy()[:, :4]).astype(int)
    np.testing.assert_array_equal(by_object.codes[:4].T, expected)
    supervised = Table.from_frame(data, discretize=MDLDiscretizer(), target="target")
    assert supervised.schema == Table.from_frame(data, discretize="mdl", target="target").schema


def test_a_numeric_column_names_itself_and_three_ways_out():
    for cells, words in (([0.5, 1.5], "2 different real"), (range(21), "21 different whole")):
        with pytest.raises(DiscretizeError) as caught:
            Table.from_frame({"age": list(cells)})
        message = str(caught.value)
        for part in ("column 'age'", words, "discretize='mdl' and target=…"):
            assert part in message
        assert "discretize='quantile'" in message and "discretize={'age': [cuts, …]}" in message
    assert Table.from_frame({"age": list(range(21))}, max_states=21).schema["age"].card == 21


class NoCuts:
    def fit(self, x, y):
        return self


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"discretize": "mdl"}, ParameterError, "discretize='mdl'"),
        ({"discretize": "mdl", "target": "z"}, UnknownNameError, "'z'"),
        ({"discretize": "mdl", "target": "x"}, DiscretizeError, "'x'"),
        ({"discretize": "kmeans"}, ParameterError, "'kmeans'"),
        ({"discretize": 3}, ParameterError, "discretize=3"),
        ({"discretize": {"q": [1]}}, UnknownNameError, "'q'"),
        ({"discretize": {"x": [0.2], "y": [1]}}, DiscretizeError, "'y'"),
        ({"discretize": {"x": [2, 1]}}, DiscretizeError, "'x'"),
        ({"discretize": {"x": [1, float("nan")]}}, DiscretizeError, "'x'"),
        ({"discretize": {"x": "ab"}}, DiscretizeError, "'x'"),
        ({"discretize": NoCuts()}, ParameterError, "bin_edges_"),
    ],
)
def test_bad_discretizers(options, error, words):
    frame = {"x": [0.1, 0.2, 0.3], "y": ["a", "b", "a"], "w": [1, 2, 3]}
    with raises(error, about=words):
        Table.from_frame(frame, **options)


def test_labels_have_the_fewest_digits_that_differ():
    assert cut_labels([]) == ("all",)
    assert cut_labels([0.1 + 0.2]) == ("<0.3", "≥0.3")
    assert cut_labels([1.00001, 1.00002]) == ("<1.00001", "[1.00001, 1.00002)", "≥1.00002")
    assert cut_labels([123456.5]) == ("<123457", "≥123457")
    assert len(set(cut_labels([1e300, np.nextafter(1e300, 2e300)]))) == 3
    assert Variable("x", cut_labels([-1.5, 0]), (-1.5, 0.0)).states == ("<-1.5", "[-1.5, 0)", "≥0")

"""What every classifier of the registry must do, whatever it learns."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import counterpane as cp
from counterpane.data.encoding import UnknownCells
from counterpane.errors import DataError, NotFittedError, ParameterError, UnknownNameError
from counterpane.learners.classifiers.classifier import Classifier
from counterpane.learners.registry import learners
from error_checks import raises, warns

CLASSIFIERS = [entry.make() for entry in learners("classifier").values()]
all_classifiers = pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)


def checks_of(classifier):
    """scikit-learn's checks; that we do not inherit from it is meant, and its only complaint."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimator .* does not inherit", UserWarning)
        return [check for _, check in estimator_checks_generator(classifier)]


CHECKS = [
    pytest.param(classifier, check, id=f"{classifier!r}-{check.func.__name__}")
    for classifier in CLASSIFIERS
    for check in checks_of(classifier)
]


@pytest.mark.filterwarnings("ignore:.*does not inherit:UserWarning")
@pytest.mark.parametrize(("classifier", "check"), CHECKS)
def test_scikit_learn_is_content(classifier, check):
    check(classifier)


# ---- what comes in -------------------------------------------------------------------------------


def make_frame(rows=240, seed=0):
    """Texts, a category, a small whole number, a real number with a step, and gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], rows),
            "size": pd.Categorical(rng.choice(["s", "m"], rows), categories=["s", "m", "l"]),
            "doors": rng.integers(2, 5, rows),
            "price": rng.normal(size=rows),
            "sold": rng.random(rows) < 0.5,
        }
    )
    up = (frame["color"] == "red").astype(int) + (frame["price"] > 0.3) + (frame["doors"] == 4)
    frame["kind"] = np.where(up + (rng.random(rows) < 0.2) > 1, "rare", "usual")
    frame.loc[rng.random(rows) < 0.1, "color"] = None
    return frame


def fit(classifier, *args, **options):
    return clone(classifier).fit(*args, **options)


@all_classifiers
def test_every_form_of_a_table_gives_the_same(classifier, tmp_path):
    frame = make_frame()
    X, y = frame.drop(columns="kind"), frame["kind"]
    expected = fit(classifier, X, y).predict_proba(X)
    assert np.allclose(expected.sum(axis=1), 1, atol=1e-12)
    assert (expected > 0).all()
    path = tmp_path / "cars.csv"
    frame.astype({"size": str}).to_csv(path, index=False)
    declared = pl.Enum(["s", "m", "l"])
    polars = pl.from_pandas(frame.astype({"size": str})).with_columns(pl.col("size").cast(declared))
    for given in (frame, polars, pa.Table.from_pandas(frame), dict(frame)):
        fitted = fit(classifier, given, "kind")
        assert np.allclose(fitted.predict_proba(given), expected, rtol=1e-9)
        assert fitted.feature_names_in_.tolist() == list(X)
    observed = fit(classifier, X.astype({"size": str}), y.to_numpy())
    from_file = fit(classifier, path, "kind")
    assert np.allclose(from_file.predict_proba(path), observed.predict_proba(X), rtol=1e-9)
    assert from_file.score(path, "kind") == pytest.approx((observed.predict(X) == y).mean())


@all_classifiers
def test_columns_are_found_by_name(classifier):
    frame = make_frame()
    fitted = fit(classifier, frame, "kind")
    turned = frame[frame.columns[::-1]].assign(more=1)
    assert (fitted.predict_log_proba(turned) == fitted.predict_log_proba(frame)).all()
    with raises(DataError, about="'price'"):
        fitted.predict(frame.drop(columns="price"))
    with raises(DataError, about="2 features"):
        fitted.predict(frame[["color", "size"]].to_numpy())


@all_classifiers
@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        ([3, 1, 2], np.int64),
        ([2.0, 1.0, 7.0], np.float64),
        (["b", "a", "c"], np.dtype("U1")),
        ([True, False], np.bool_),
    ],
)
def test_classes_keep_their_type(classifier, labels, dtype):
    frame = make_frame()
    y = np.array(labels)[(frame["doors"].to_numpy() - 2) % len(labels)]
    X = frame[["doors", "price"]]
    fitted = fit(classifier, X, y)
    assert fitted.classes_.dtype == dtype
    assert fitted.classes_.tolist() == sorted(labels)
    assert fitted.predict(X).dtype == dtype
    assert fitted.score(X, y) > 0.99
    again = fit(classifier, X, y.tolist())
    assert (again.predict(X) == fitted.predict(X)).all()


@all_classifiers
def test_declared_classes_keep_their_order_and_may_have_no_row(classifier):
    frame = make_frame()
    y = pd.Categorical(frame["kind"], categories=["usual", "never", "rare"])
    fitted = fit(classifier, frame.drop(columns="kind"), pd.Series(y, name="kind"))
    assert fitted.classes_.tolist() == ["usual", "never", "rare"]
    assert fitted.target_.name == "kind"
    proba = fitted.predict_proba(frame)
    assert (proba[:, 1] < proba[:, [0, 2]].max(axis=1)).all()
    assert np.isfinite(fitted.predict_log_proba(frame)).all()


@all_classifiers
def test_weights_are_copies_and_zero_is_absent(classifier):
    frame = make_frame(120)
    frame.loc[:4, "color"] = "seen nowhere else"
    weights = np.random.default_rng(1).integers(0, 3, len(frame))
    weights[:5] = 0
    weighted = fit(classifier, frame, "kind", sample_weight=weights)
    copied = fit(classifier, frame.loc[np.repeat(frame.index, weights)], "kind")
    assert weighted.schema_ == copied.schema_
    assert np.allclose(weighted.predict_proba(frame), copied.predict_proba(frame), rtol=1e-7)


@all_classifiers
def test_threads_do_not_matter_and_it_pickles(classifier):
    frame = make_frame()
    one, two = fit(classifier, frame, "kind"), clone(classifier).set_params(n_jobs=2)
    expected = one.predict_log_proba(frame)
    assert (two.fit(frame, "kind").predict_log_proba(frame) == expected).all()
    assert (pickle.loads(pickle.dumps(one)).predict_log_proba(frame) == expected).all()


# ---- hard tables ---------------------------------------------------------------------------------


@all_classifiers
def test_what_training_did_not_see_is_survived(classifier):
    frame = make_frame()
    frame["color"] = frame["color"].fillna("red")
    fitted = fit(classifier, frame, "kind")
    odd = frame.head(6).copy()
    odd["color"] = ["violet", None, "red", "red", None, "violet"]
    odd["size"] = odd["size"].cat.set_categories(["s", "m", "xxl"])
    odd.loc[odd.index[2], "size"] = "xxl"
    odd["doors"] = [2, 3, 4, 99, 2, 3]
    odd["price"] = [np.nan, 1e300, -np.inf, 0.0, np.inf, np.nan]
    found = fitted.predict_log_proba(odd)
    assert np.isfinite(found).all()
    assert np.allclose(np.exp(found).sum(axis=1), 1)
    nothing = pd.DataFrame({name: [None] for name in frame if name != "kind"})
    share = (frame["kind"] == "rare").mean()
    assert fitted.predict_proba(nothing)[0, 0] == pytest.approx(share, abs=0.1)


@all_classifiers
def test_missing_cells_are_a_state_or_dropped_or_refused(classifier):
    frame = make_frame()
    gaps = frame["color"].isna()
    frame.loc[gaps, "kind"] = "rare"  # a gap says everything
    fitted = fit(classifier, frame, "kind")
    assert fitted.schema_["color"].states == ("blue", "green", "red", None)
    assert (fitted.predict(frame[gaps]) == "rare").all()
    dropped = clone(classifier).set_params(missing="drop").fit(frame, "kind")
    complete = fit(classifier, frame[~gaps], "kind")
    assert np.allclose(dropped.predict_proba(frame), complete.predict_proba(frame), rtol=1e-9)
    with raises(DataError, about="'color'"):
        clone(classifier).set_params(missing="error").fit(frame, "kind")


@all_classifiers
def test_one_class(classifier):
    frame = make_frame(30)
    assert fit(classifier, frame.drop(columns="kind"), [True] * 30).classes_.tolist() == [True]
    fitted = fit(classifier, frame.drop(columns="kind"), ["only"] * 30)
    assert fitted.predict_proba(frame).tolist() == [[1.0]] * 30
    assert fitted.predict(frame).tolist() == ["only"] * 30


@all_classifiers
def test_one_row(classifier):
    fitted = fit(classifier, {"x": ["a"], "z": [1.5]}, ["yes"])
    with warns(UnknownCells, about=("'x'", "'b'")):
        assert fitted.predict({"x": ["b"], "z": [0.0]}).tolist() == ["yes"]


@all_classifiers
def test_more_classes_than_copies_of_any(classifier):
    rows = {"x": ["a", "b", "c", "d"], "z": [0.1, 0.2, 0.3, 0.4]}
    fitted = fit(classifier, rows, ["p", "q", "r", "s"])
    proba = fitted.predict_proba(rows)
    assert proba.shape == (4, 4)
    assert np.isfinite(np.log(proba)).all()


@all_classifiers
def test_columns_that_say_nothing(classifier):
    frame = make_frame(100)
    X = pd.DataFrame(
        {
            "constant": "always",
            "number": 3.5,
            "empty": np.full(100, np.nan),
            "void": np.full(100, None),
        }
    )
    fitted = fit(classifier, X, frame["kind"])
    share = (frame["kind"] == "rare").mean()
    assert fitted.predict_proba(X)[:, 0] == pytest.approx(np.full(100, share), abs=0.02)
    both = pd.concat([frame, X], axis=1)
    assert fit(classifier, both, "kind").score(both, "kind") > 0.7


@pytest.mark.slow
@all_classifiers
def test_a_thousand_columns(classifier):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 1000))
    y = np.where(rng.random(60) < 0.9, X[:, 500], 1 - X[:, 500])
    if "smoothing" in classifier.get_params():  # else held-out rows may leave the classes' shares
        classifier = clone(classifier).set_params(smoothing="even")
    fitted = fit(classifier, X, y)
    assert fitted.n_features_in_ == 1000
    proba = fitted.predict_proba(X)
    assert np.isfinite(proba).all()
    assert fitted.score(X, y) > 0.85


# ---- mistakes ------------------------------------------------------------------------------------


@all_classifiers
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f, "kindd"), "'kindd' is not known; did you mean 'kind'"),
        (lambda f: (f, f["kind"]), "y is called 'kind', and X has a column of that name"),
        (lambda f: (f, f["price"].rename("cost")), "Unknown label type: continuous"),
        (lambda f: (f.drop(columns="kind"), f["kind"][:-1]), "has 240 rows and y has 239"),
        (lambda f: (f.drop(columns="kind"), f[["kind", "sold"]]), "y should be a 1d array"),
        (lambda f: (f[["kind"]], "kind"), "no columns beside the class"),
        (lambda f: (f.iloc[:0], "kind"), "no rows"),
        (lambda f: (f, f["kind"].where(f.index != 7).rename("c")), "'c' of row 7 is missing"),
        (lambda f: (f.assign(price=np.inf), "kind"), "column 'price' holds inf"),
    ],
)
def test_mistakes_are_named(classifier, change, message):
    with pytest.raises((DataError, UnknownNameError), match=message):
        fit(clone(classifier).set_params(discretize="mdl"), *change(make_frame()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical": ["prize"]}, "'prize'"),
        ({"categorical": [5]}, "column 5"),
        ({"max_bins": 0}, "max_bins=0"),
        ({"missing": "zero"}, "missing='zero'"),
    ],
)
def test_parameters_are_checked(options, message):
    with raises((ParameterError, UnknownNameError), about=message):
        cp.NaiveBayes(**options).fit(make_frame(), "kind")


# ---- which numbers are states --------------------------------------------------------------------


def test_few_whole_numbers_are_states_and_others_are_cut():
    frame = make_frame()
    fitted = cp.NaiveBayes().fit(frame, "kind")
    assert fitted.schema_["doors"].states == (2, 3, 4)
    assert fitted.schema_["doors"].cuts is None
    cut = fitted.schema_["price"].cuts
    assert len(cut) >= 1
    assert cut[0] == pytest.approx(0.3, abs=0.3)
    numbers = cp.NaiveBayes(categorical=[]).fit(frame, "kind")
    assert numbers.schema_["doors"].cuts == (3.5,)
    assert cp.NaiveBayes(max_states=2).fit(frame, "kind").schema_["doors"].cuts == (3.5,)
    assert cp.NaiveBayes(max_states=3).fit(frame, "kind").schema_["doors"].cuts is None
    named = cp.NaiveBayes(categorical=["doors", 3]).fit(frame, "kind")
    assert named.schema_["doors"].states == (2, 3, 4)
    assert named.schema_["price"].card == 240


def test_bins_are_bounded_by_what_they_tell():
    rng = np.random.default_rng(0)
    x = rng.random(3000)
    y = np.searchsorted([0.2, 0.5, 0.52, 0.9], x) % 2  # the cuts at .5 and .52 tell least
    free = cp.NaiveBayes().fit({"x": x}, y).schema_["x"].cuts
    assert len(free) == 4
    three = cp.NaiveBayes(max_bins=3).fit({"x": x}, y).schema_["x"].cuts
    assert three == pytest.approx([0.2, 0.9], abs=0.01)
    assert cp.NaiveBayes(max_bins=1).fit({"x": x}, y).schema_["x"].cuts == ()


def test_a_fit_that_fails_changes_nothing(monkeypatch):
    frame = make_frame()
    fitted = cp.TAN().fit(frame, "kind")
    expected = fitted.predict_proba(frame)
    monkeypatch.setattr(cp.TAN, "_network", lambda self, source: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fitted.fit(frame[["color", "sold"]], "sold")
    assert (fitted.predict_proba(frame) == expected).all()
    fresh = cp.TAN()
    with pytest.raises(ZeroDivisionError):
        fresh.fit(frame, "kind")
    with raises(NotFittedError, about="fitted"):
        fresh.predict(frame)


def test_training_is_what_the_docstring_says():
    seen = {}

    class Look(Classifier):
        def _learn(self, training):
            seen["training"] = training

        def _log_proba(self, codes, numbers):
            seen["codes"], seen["numbers"] = codes, numbers
            return np.log(np.full((codes.shape[1], 2), 0.5))

    frame = make_frame()
    frame.loc[3, "price"] = np.nan
    look = Look().fit(frame, "kind")
    training = seen["training"]
    assert training.table.schema == look.schema_
    assert training.numeric == (3,)
    assert np.array_equal(training.numbers[0], frame["price"], equal_nan=True)
    assert training.target.states == ("rare", "usual")
    assert (training.labels == (frame["kind"] == "usual")).all()
    assert training.joint.schema.names == (*list(frame)[:5], "kind")
    assert not training.table.has_missing.any()
    with pytest.warns(UnknownCells):
        look.predict(frame.iloc[[3, 4]].assign(color=["violet", None], doors=[7, None]))
    assert seen["codes"].T.tolist()[0][0] == look.schema_["color"].card  # unseen, not missing
    assert look.schema_["color"].states[seen["codes"][0, 1]] is None
    assert (seen["codes"][2] == 3).all()  # training had no gap there
    assert look.schema_["price"].states[seen["codes"][3, 0]] is None
    assert np.isnan(seen["numbers"][0, 0])
    assert look.predict(frame.iloc[:0]).tolist() == []

"""Every learner takes a table as people have it and says what it did, as the command does."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpane as cp
from counterpane.errors import DataError, NotFittedError
from counterpane.learners.registry import learners
from counterpane.models.arrays import arrays_of
from error_checks import raises

NETWORKS = [entry.learner_class for entry in learners("network", "posterior", "field").values()]
NETWORKS = list(dict.fromkeys(NETWORKS))  # two names of one class
CLASSIFIERS = [entry.learner_class for entry in learners("classifier").values()]
LEFT_OUT = ["Left out visitor_id: names the rows: 300 values in 300 rows.",
            "Left out country: the same value in all rows."]  # fmt: skip
CUT_FOR_CLASS = [
    "Cut into intervals: age, pay.",
    "Not discretized (no cut point is informative): since.",
]


def messy_frame(rows=300, seed=0):
    """Ids, a constant, numbers, numbers as text, dates, and a class that depends on some."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, rows)
    pay = 1000 + 60 * age + rng.normal(0, 200, rows)
    return pd.DataFrame(
        {
            "visitor_id": np.arange(5000, 5000 + rows),
            "country": "BE",
            "age": age,
            "pay": [f"{p:.2f}" for p in pay],
            "since": pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
            "buys": np.where(age + rng.normal(0, 8, rows) > 40, "yes", "no"),
        }
    )


@pytest.mark.parametrize("learner", NETWORKS)
def test_numbers_dates_ids_and_constants_are_handled(learner):
    seed = {"random_state": 0} if "random_state" in learner().get_params() else {}
    fitted = learner(**seed).fit(messy_frame())
    assert fitted.notes_ == [*LEFT_OUT, "Cut into intervals: age, pay, since."]
    assert set(fitted.model_.schema.names) == {"age", "pay", "since", "buys"}
    assert fitted.model_.schema["since"].dated
    assert fitted.model_.record.preparation.left_out.keys() == {"visitor_id", "country"}


@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_classifiers_handle_them_alike(learner):
    frame = messy_frame()
    fitted = learner().fit(frame, "buys")
    assert fitted.notes_ == [*LEFT_OUT, *CUT_FOR_CLASS]
    assert fitted.schema_.names == ("age", "pay", "since")
    assert fitted.n_features_in_ == 5
    whole = fitted.predict_proba(frame)
    np.testing.assert_array_equal(whole, fitted.predict_proba(frame.drop(columns="visitor_id")))
    np.testing.assert_array_equal(whole, fitted.predict_proba(pl.from_pandas(frame)))
    assert fitted.score(frame, "buys") > 0.7


def test_arrays_find_their_columns_by_position():
    frame = messy_frame()
    array = np.column_stack([frame["visitor_id"], frame["age"], np.zeros(300)])
    fitted = cp.NaiveBayes().fit(array, frame["buys"])
    assert (fitted.schema_.names, fitted.n_features_in_) == (("x1",), 3)
    np.testing.assert_array_equal(
        fitted.predict_proba(array),
        cp.NaiveBayes(discretize="mdl")
        .fit(array[:, 1:2], frame["buys"])
        .predict_proba(array[:, 1:2]),
    )
    with raises(DataError, about="2 features"):
        fitted.predict(array[:, :2])


def test_what_is_declared_stays():
    frame = messy_frame()
    kept = cp.NaiveBayes(categorical=["country", 0]).fit(frame[["visitor_id", "country", "buys"]],
                                                         "buys")  # fmt: skip
    assert kept.schema_.names == ("visitor_id", "country")
    strict = cp.NaiveBayes(discretize="mdl").fit(frame.drop(columns="pay"), "buys")
    assert "visitor_id" in strict.schema_.names
    assert strict.notes_ == [
        "Cut into intervals: age.",
        "Not discretized (no cut point is informative): visitor_id, since.",
    ]
    with raises(DataError, about="'visitor_id'"):
        cp.StructureSearch(discretize=None).fit(frame)
    cuts = cp.StructureSearch(discretize={"age": [40.0]}).fit(frame[["age", "buys"]])
    assert cuts.model_.schema["age"].cuts == (40.0,)
    with raises(NotFittedError, about="'notes_'"):
        _ = cp.StructureSearch().notes_


def test_a_class_can_be_learned_from_a_table_cut_elsewhere():
    frame = messy_frame()
    quantile = cp.NaiveBayes(discretize="quantile").fit(frame, "buys")
    assert quantile.schema_["age"].card == 4
    assert quantile.notes_ == ["Cut into intervals: visitor_id, age, since."]


def test_the_command_and_python_find_the_same_network(tmp_path):
    frame = messy_frame()
    path, model = tmp_path / "visits.csv", tmp_path / "visits.cp"
    frame.to_csv(path, index=False)
    words = ["learn", str(path), "-o", str(model), "--json", "--bootstrap", "0"]
    run = subprocess.run(
        [sys.executable, "-m", "counterpane", *words], capture_output=True, text=True, check=True
    )
    command, python = cp.load(model), cp.StructureSearch().fit(str(path)).model_
    assert command.schema == python.schema
    for name, array in arrays_of(python).items():
        np.testing.assert_array_equal(array, arrays_of(command)[name])
    assert list(json.loads(run.stdout)["left_out"]) == ["visitor_id", "country"]


def test_read_says_what_it_did_without_a_warning():
    table = cp.read(messy_frame(), target="buys")
    assert table.notes == [*LEFT_OUT, *CUT_FOR_CLASS]
    assert table.take(np.arange(10)).notes == table.notes
    assert cp.read(table) is table
    assert "discretize" in cp.read.__doc__
    with raises(Exception, parameter="option", value="discretise"):
        cp.read(messy_frame(), discretise="mdl")

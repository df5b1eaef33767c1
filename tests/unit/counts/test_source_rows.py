"""What needs rows, or tells data apart, on sources that only count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpane as cp
from counterpane import evaluate
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.counts.view import with_missing_policy
from counterpane.data import Schema, Table
from counterpane.errors import DataError, ParameterError, TableSizeError, UnknownNameError
from counterpane.learners.base import digest
from counterpane.models.arrays import arrays_of
from error_checks import raises
from reference.random_codes import random_codes

CARDS = (2, 3, 2, 3)


def make_table(seed=0, missing=0.0, rows=300):
    return Table(Schema.from_cards(CARDS), random_codes(CARDS, rows, seed, missing=missing))


def stream(table):
    return StreamCounts(table.schema, lambda: [table.take(range(100)), table.take(range(100, 300))])


# ---- fingerprints --------------------------------------------------------------------------------


def test_other_data_of_the_same_size_has_another_digest():
    one, two = make_table(), make_table(seed=1)
    assert digest(stream(one)) == digest(stream(one))
    assert digest(stream(one)) != digest(stream(two))
    assert digest(with_missing_policy(stream(one), "state")) != digest(
        with_missing_policy(stream(two), "state")
    )


def test_missing_cells_count_for_the_digest():
    codes = make_table().codes.copy()
    codes[1, 0] = 3
    gone, kept = Table(make_table().schema, codes), make_table().take(range(1, 300))
    assert digest(stream(gone)) != digest(StreamCounts(kept.schema, lambda: [kept]))


def test_a_checkpoint_of_other_data_of_the_same_size_is_refused(tmp_path):
    path = tmp_path / "fit.cp"
    learner = cp.HillClimb(time_limit=1e-9, checkpoint=path)
    with pytest.warns(cp.StoppedEarly):
        learner.fit(stream(make_table()))
    with raises(cp.CounterpaneError, about="fit.cp"):
        cp.HillClimb(checkpoint=path).fit(stream(make_table(seed=1)))
    cp.HillClimb(checkpoint=path).fit(stream(make_table()))


# ---- classifiers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cp.NaiveBayes, cp.MarkovClassifier])
def test_classes_that_are_whole_numbers_stay_such(kind):
    table = make_table()
    frame = pd.DataFrame(table.codes.T, columns=list(table.schema.names)).astype(np.int64)
    for data in frame, table, stream(table):
        model = kind().fit(data, "x1")
        assert model.classes_.dtype == np.int64
        assert model.predict(frame).dtype == np.int64  # scikit-learn's metrics refuse objects
    words = Table.from_frame(frame.astype({"x1": str}), states={"x1": ["2", "0", "1"]})
    assert kind().fit(stream(words), "x1").classes_.tolist() == ["2", "0", "1"]


@pytest.mark.parametrize("kind", [cp.NaiveBayes, cp.MarkovClassifier])
def test_classes_of_a_source_are_named(kind):
    table = make_table()
    source = stream(table)
    with raises(DataError, about="ndarray"):
        kind().fit(source, np.zeros(300))
    with raises(DataError, about="requires"):
        kind().fit(source)
    with raises(UnknownNameError, parameter="column", value="x7"):
        kind().fit(source, "x7")
    with raises(ParameterError, about="sample_weight"):
        kind().fit(source, "x2", np.ones(300))
    with raises(DataError, about="class"):
        kind().fit(stream(table.select([2])), "x2")
    with raises(DataError, about="'x2'"):
        kind().fit(stream(make_table(missing=0.1)), "x2")


def test_a_policy_unknown_to_classifiers_is_refused():
    with raises(ParameterError, parameter="missing", value="em"):
        cp.NaiveBayes(missing="em").fit(stream(make_table()), "x2")
    gaps = make_table(missing=0.1)
    told = gaps.take(gaps.codes[2] < 2)
    source = StreamCounts(told.schema, lambda: [told])
    with raises(DataError, about="'x1'"):
        cp.TAN(missing="error").fit(source, "x2")


def test_a_failed_fit_on_a_source_changes_nothing():
    fitted = cp.NaiveBayes().fit(stream(make_table()), "x2")
    before = dict(vars(fitted))
    fitted.missing = "error"
    gaps = make_table(missing=0.1)
    told = gaps.take(gaps.codes[2] < 2)
    with pytest.raises(DataError):
        fitted.fit(StreamCounts(told.schema, lambda: [told]), "x2")
    assert vars(fitted) == {**before, "missing": "error"}


def test_classifiers_by_counts_need_no_rows(monkeypatch):
    table = make_table()
    monkeypatch.setattr("counterpane.counts.source.MAX_ROW_BYTES", 100)
    for kind in (cp.NaiveBayes, cp.TAN):
        found = kind(smoothing="even").fit(stream(table), "x2").predict_log_proba(table)
        again = kind(smoothing="even").fit(table, "x2").predict_log_proba(table)
        assert np.array_equal(found, again)
        assert kind().fit(stream(table), "x2").share_ == 1.0  # no rows to choose it by
    with raises(TableSizeError, about="4 columns"):
        cp.BayesNetClassifier().fit(stream(table), "x2")


@pytest.mark.parametrize("learner", [cp.TAN, cp.InteractionClassifier])
def test_classifiers_take_lazy_frames_and_folders(tmp_path, learner):
    rng = np.random.default_rng(0)
    age = rng.normal(50, 15, 400).round(1)
    smokes = rng.choice(["no", "yes"], 400)
    ill = np.where(rng.random(400) < 0.2 + 0.6 * (age > 55), "yes", "no")
    frame = pd.DataFrame({"age": age, "smokes": smokes, "ill": ill})
    table = cp.read(frame, target="ill", discretize="mdl")
    frame[:150].to_parquet(tmp_path / "a.parquet")
    frame[150:].to_parquet(tmp_path / "b.parquet")
    expected = learner().fit(MemoryCounts(table), "ill")
    for data in (str(tmp_path), pl.from_pandas(frame).lazy()):
        found = learner().fit(data, "ill")
        assert found.model_.record.data.rows == 400
        assert found.schema_["age"].cuts == table.schema["age"].cuts
        shares = found.predict_proba(frame)
        assert np.allclose(shares, expected.predict_proba(frame), rtol=0, atol=1e-9)


def test_scores_of_a_source_are_those_of_its_rows():
    table = make_table()
    fitted = cp.NaiveBayes().fit(table, "x2")
    assert fitted.score(stream(table), "x2") == fitted.score(table, "x2")
    with raises(DataError, about="StreamCounts"):
        fitted.predict(stream(table))


# ---- functions -----------------------------------------------------------------------------------


def test_a_source_is_scored_as_its_rows_are():
    table = make_table()
    model = cp.HillClimb().fit(table).model_
    for score in (evaluate.pll, evaluate.log_likelihood, evaluate.normalized_pll):
        by_source, by_rows = score(model, stream(table)), score(model, table)
        assert by_source.mean == pytest.approx(by_rows.mean, rel=1e-12)
        assert by_source.standard_error == pytest.approx(by_rows.standard_error, rel=1e-9)
        assert by_source.rows.size == table.distinct().n_rows
    with_state = cp.HillClimb().fit(stream(make_table(missing=0.1))).model_
    gaps = make_table(missing=0.1)
    found, want = (evaluate.pll(with_state, given) for given in (stream(gaps), gaps))
    assert found.mean == pytest.approx(want.mean, rel=1e-12)


def test_parameters_from_incomplete_rows_of_a_source():
    table = make_table(missing=0.1)
    dag = cp.Dag(4, [(0, 1), (1, 2)])
    one, two = (cp.fit_parameters_em(given, dag) for given in (table, stream(table)))
    assert all(np.array_equal(a, b) for a, b in zip(one.tables, two.tables, strict=True))


@pytest.mark.parametrize("local", ["tree", "logistic"])
def test_a_source_of_validation_rows(local):
    table, held = make_table(), make_table(seed=5)
    fits = [
        cp.DependencyNetworkLearner(local).fit(table, validation=given)
        for given in (held, stream(held), MemoryCounts(held))
    ]
    for learner in fits[1:]:
        assert learner.validation_scores_ == pytest.approx(fits[0].validation_scores_, rel=1e-12)
        assert learner.score_ == fits[0].score_


def test_families_are_scored_on_the_rows_they_have_in_a_source():
    table = make_table(missing=0.1)
    learners = [
        cp.HillClimb("nal", missing="available").fit(given) for given in (table, stream(table))
    ]
    assert learners[0].score_ == learners[1].score_
    codes = table.codes.copy()
    codes[1] = 3
    hidden = Table(table.schema, codes)
    for given in (hidden, stream(hidden)):
        with raises(DataError, about="'x1'"):
            cp.HillClimb("nal", missing="available").fit(given)


def test_weights_and_samples_of_a_folder_of_files(tmp_path):
    table = make_table()
    frame = {v.name: table.codes[i].astype(int) for i, v in enumerate(table.schema)}
    pd.DataFrame(frame).to_parquet(tmp_path / "rows.parquet")
    model = cp.ChowLiu().fit(table).model_
    one, two = (cp.fit_weights(model, given) for given in (table, tmp_path))
    assert arrays_of(one).keys() == arrays_of(two).keys()
    for name, array in arrays_of(one).items():
        assert np.array_equal(array, arrays_of(two)[name])
    found, want = (cp.bootstrap(cp.ChowLiu(), x, n=3, random_state=0) for x in (tmp_path, table))
    assert np.array_equal(found.edge_probabilities, want.edge_probabilities)

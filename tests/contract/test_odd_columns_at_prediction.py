"""A column that `fit` drops, since its values have no states, is ignored at prediction likewise."""

from __future__ import annotations

import datetime
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpane as cp
from counterpane.data.columns import columns_of
from counterpane.data.prepare import ColumnsLeftOut
from counterpane.errors import CounterpaneError, DataError
from counterpane.learners.registry import learners
from error_checks import raises

ROWS = 160
ODD = {
    "time": [datetime.time(i % 24, 5) for i in range(ROWS)],
    "bytes": [bytes([i % 7]) for i in range(ROWS)],
    "list": [[i % 3, 1] for i in range(ROWS)],
    "record": [{"a": i % 3} for i in range(ROWS)],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "mapping": dict}
MODELS = {
    f"{entry.name}": entry
    for task in ("classifier", "network", "posterior", "field")
    for entry in learners(task).values()
}
CLASSIFIERS = [name for name, entry in MODELS.items() if entry.task == "classifier"]
GRAPHS = {"pc", "fci"}  # which have no model unless one is asked for


def plain_columns():
    """Columns that depend on each other, with a few missing cells in one of them."""
    rng = np.random.default_rng(7)
    x = rng.integers(0, 3, ROWS)
    z = np.where(rng.random(ROWS) < 0.8, x, rng.integers(0, 3, ROWS))
    y = np.where(x + z + rng.integers(0, 2, ROWS) > 2, "high", "low")
    return {"x": x.tolist(), "z": ["pqr"[c] for c in z], "y": y.tolist()}


def with_odd(columns):
    """The columns with odd ones before, between and behind them."""
    kinds = iter(ODD.items())
    mixed = dict([next(kinds)])
    for name, cells in columns.items():
        mixed |= {name: cells, **dict([next(kinds)])}
    return mixed


@cache
def fitted(name, *, odd=True):
    """A learner that was fitted to a frame with odd columns, or without."""
    entry, columns = MODELS[name], plain_columns()
    frame = pd.DataFrame(with_odd(columns) if odd else columns)
    seeded = {"random_state": 0} if entry.takes("random_state") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsLeftOut)
        learner = entry.make(**seeded)
        return learner.fit(frame, "y") if entry.task == "classifier" else learner.fit(frame)


def same(one, other):
    """Whether two answers are equal."""
    one, other = plain(one), plain(other)
    if isinstance(one, np.ndarray):
        if one.dtype.kind == "f":
            return bool(np.allclose(one, other, rtol=1e-12, atol=0, equal_nan=True))
        return one.tolist() == other.tolist()
    return one == other


def plain(answer):
    """An answer as an array or a text."""
    if isinstance(answer, np.ndarray | float | tuple | list):
        return np.asarray(answer) if isinstance(answer, np.ndarray | float) else repr(answer)
    if hasattr(answer, "probabilities"):
        return np.asarray(answer.probabilities)
    if hasattr(answer, "codes"):
        return answer.codes
    if hasattr(answer, "score_samples"):  # a model
        return answer.score_samples(pd.DataFrame(plain_columns()))
    return repr(answer)


def one_row(columns):
    return {name: cells[0] for name, cells in columns.items()}


OF_CLASSIFIERS = {
    "predict": lambda m, f: m.predict(f),
    "predict_proba": lambda m, f: m.predict_proba(f),
    "predict_log_proba": lambda m, f: m.predict_log_proba(f),
    "predict_frame of a learner": lambda m, f: m.predict_frame(f),
    "score": lambda m, f: m.score(f, "y"),
}
OF_LEARNERS = {
    "score": lambda m, f: m.score(f),
    "score_samples": lambda m, f: m.score_samples(f),
}
OF_MODELS = {
    "predict_proba": lambda m, f: m.predict_proba(f, "y"),
    "predict_proba as_frame": lambda m, f: np.asarray(m.predict_proba(f, "y", as_frame=True)),
    "score_samples": lambda m, f: m.score_samples(f),
    "pseudo_log_likelihood": lambda m, f: m.pseudo_log_likelihood(f),
    "full_conditionals": lambda m, f: m.full_conditionals(f),
    "query_many": lambda m, f: m.query_many("y", f),
    "impute cells": lambda m, f: m.impute(f, cells=True),
    "odd_rows": lambda m, f: m.odd_rows(f, 3),
    "update": lambda m, f: m.update(f),
    "evaluate.log_likelihood": lambda m, f: cp.evaluate.log_likelihood(m, f).rows,
    "evaluate.pll": lambda m, f: cp.evaluate.pll(m, f).rows,
    "evaluate.normalized_pll": lambda m, f: cp.evaluate.normalized_pll(m, f).rows,
}


def answers(asked, subject, frame):
    """What each question gives for a frame; a refusal is a text."""
    for what, ask in asked.items():
        try:
            yield what, ask(subject, frame)
        except AttributeError as error:
            if error.obj is not subject:
                raise
        except CounterpaneError as error:
            yield what, f"{type(error).__name__}: {error}"


def of_learner(name):
    return OF_CLASSIFIERS if name in CLASSIFIERS else OF_LEARNERS


def compare(asked, subject, make):
    plain_frame, odd = make(plain_columns()), make(with_odd(plain_columns()))
    expected, found = dict(answers(asked, subject, plain_frame)), dict(answers(asked, subject, odd))
    assert expected.keys() == found.keys()
    bad = [what for what, answer in expected.items() if not same(answer, found[what])]
    assert not bad, {what: (str(found[what])[:300], str(expected[what])[:300]) for what in bad}
    return {what for what, answer in expected.items() if not isinstance(answer, str)}


@pytest.mark.parametrize("name", MODELS)
def test_fit_drops_odd_columns_with_a_note(name):
    found = fitted(name)
    notes = [n for n in found.notes_ if n.startswith("Left out")]
    assert [n.split(":")[0] for n in notes] == [f"Left out {kind}" for kind in ODD]
    assert all("which have no states" in note for note in notes)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", MODELS)
def test_odd_columns_are_ignored(name, make):
    found = fitted(name)
    compare(of_learner(name), found, make)
    model = getattr(found, "model_", None)
    if model is not None and hasattr(model, "schema"):
        answered = compare(OF_MODELS, model, make)
        if name in ("tan", "chow-liu"):  # nothing is refused
            assert answered == OF_MODELS.keys()


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", MODELS)
def test_odd_columns_that_came_later_are_ignored(name, make):
    compare(of_learner(name), fitted(name, odd=False), make)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in GRAPHS])
def test_a_row_with_odd_cells_is_explained(name):
    model = getattr(fitted(name), "model_", None)
    if model is None or not hasattr(model, "explain"):
        pytest.skip("a graph explains nothing")
    row, odd = one_row(plain_columns()), one_row(with_odd(plain_columns()))
    del row["y"], odd["y"]
    try:
        expected = model.explain(row, "y")
    except CounterpaneError as error:
        with pytest.raises(type(error)):
            model.explain(odd, "y")
    else:
        assert str(model.explain(odd, "y")) == str(expected)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", ["tan", "chow-liu", "dn-tree", "hybrid"])
def test_odd_columns_stay_as_they_are_beside_imputed_ones(name, make):
    columns = plain_columns()
    columns["z"] = [None if i % 5 == 0 else cell for i, cell in enumerate(columns["z"])]
    model = fitted(name).model_
    filled, odd = model.impute(make(columns)), model.impute(make(with_odd(columns)))
    names = list(odd) if isinstance(odd, dict) else list(getattr(odd, "column_names", odd.columns))
    assert names == list(with_odd(columns))
    for column in columns:
        assert list(map(str, odd[column])) == list(map(str, filled[column]))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", ["interaction", "naive-bayes", "chow-liu", "pairwise"])
def test_reports_ignore_odd_columns(name, make, tmp_path):
    model, pages = fitted(name).model_, []
    for i, columns in enumerate((plain_columns(), with_odd(plain_columns()))):
        path = tmp_path / f"{i}.html"
        cp.write_report(model, make(columns), path, title="odd", target="y")
        pages.append(path.read_text())
        cp.explore_model(model, tmp_path / "x.html", data=make(columns))
    assert pages[0] == pages[1]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_comparisons_ignore_odd_columns(make):
    plain_frame, odd = make(plain_columns()), make(with_odd(plain_columns()))
    for learner in cp.NaiveBayes(), cp.TAN():
        expected = cp.evaluate.held_out_measures(learner, plain_frame, "y", folds=3)
        assert repr(cp.evaluate.held_out_measures(learner, odd, "y", folds=3)) == repr(expected)
    one, other = (
        cp.evaluate.compare([cp.NaiveBayes(), cp.ChowLiu()], frame, "y", folds=2)
        for frame in (plain_frame, odd)
    )
    assert str(one).split("seconds")[0] == str(other).split("seconds")[0]
    assert one.columns == other.columns


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["interaction", "tan", "chow-liu", "dn-tree"])
def test_an_odd_column_in_place_of_a_known_one_is_refused_in_one_message(name, kind):
    frame = pd.DataFrame(plain_columns() | {"x": ODD[kind]})
    with raises(DataError, about="'x'"):
        fitted(name).model_.predict_proba(frame, "y")


def test_an_odd_column_may_not_be_named_as_the_class():
    frame = pd.DataFrame(with_odd(plain_columns()))
    for kind in ODD:
        with pytest.raises(DataError, match=f"column {kind!r} holds"):
            cp.NaiveBayes().fit(frame, kind)


def test_of_every_kind_one_is_odd():
    unusable = {}
    names = [c.name for c in columns_of(with_odd(plain_columns()), unusable=unusable)]
    assert names == ["x", "z", "y"]
    assert list(unusable) == list(ODD)

"""What `fit` accepts, `predict` reads in the same way: every learner, frame library and type."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpane as cp
from counterpane.data.encoding import UnknownCells
from counterpane.data.reading import read_table
from counterpane.learners.registry import learners
from error_checks import warns

ROWS = 240
SPELLINGS = ("{}", "{}.0", "{}.00", "+{}", "{}e0", " {} ", "{}.", "0{}.0e0")
DAY = datetime.date(2021, 3, 1)


def spelled(form):
    """Texts of whole numbers; those with a zero before them are codes, not numbers."""
    return lambda v: form.format(v)


KINDS = {
    **{f"text {form!r}": spelled(form) for form in SPELLINGS},
    "text with words for gaps": lambda v: ("NA", "1.0", "2.0", "3.00")[v],
    "amounts": lambda v: f"€ {v},500.00",
    "boolean": lambda v: v > 1,
    "boolean text": lambda v: "TRUE" if v > 1 else "False",
    "date": lambda v: DAY + datetime.timedelta(40 * v),
    "time stamp": lambda v: datetime.datetime(2021, 3, 1, 6 * v),
    "date text": lambda v: f"{v + 13}/{v + 1}/2021",
    "decimal": lambda v: decimal.Decimal(f"{v}.00"),
    "float": lambda v: v + 0.25,
    "text": lambda v: "abcd"[v],
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "mapping": dict,
}
CATEGORICAL = {
    "categories of numbers": pd.Categorical(["1.0", "2.0", "0.0"] * (ROWS // 3)),
    "mixed objects": pd.Series([1, "a", 2.5, True] * (ROWS // 4), dtype=object),
    "bytes": pd.Series([b"u", b"v", b"w"] * (ROWS // 3)),
}


def columns_of_kind(kind):
    """A column of a kind that decides the class, another column, and the class."""
    rng = np.random.default_rng(5)
    values = rng.integers(0, 4, ROWS)
    cells = [KINDS[kind](int(v)) for v in values]
    other = rng.choice(["p", "q", "r"], ROWS).tolist()
    return {"x": cells, "z": other, "y": np.where(values > 1, "high", "low").tolist()}


def entry_id(entry):
    return entry.learner_class.__name__


CLASSIFIERS = list(
    {e.learner_class: e for e in learners("classifier").values() if e.learner_class}.values()
)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "learner",
    [cp.NaiveBayes, cp.TAN, pytest.param(cp.InteractionClassifier, marks=pytest.mark.slow)],
)
def test_classifiers_predict_their_training_frame(learner, kind, make):
    columns = columns_of_kind(kind)
    frame, y = make({k: columns[k] for k in ("x", "z")}), columns["y"]
    fitted = learner().fit(frame, y)
    proba = fitted.predict_proba(frame)
    assert (fitted.predict(frame) == y).mean() == 1
    table = read_table(frame)
    if table.schema["x"].cuts is None:  # otherwise a classifier finds cut points of its own
        assert proba == pytest.approx(learner().fit(table, y).predict_proba(table), abs=1e-9)
    again = fitted.model_.predict_proba(frame)
    assert again == pytest.approx(proba, abs=1e-9)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_networks_score_their_training_frame(kind, make, tmp_path):
    frame = make(columns_of_kind(kind))
    learned = cp.HillClimb(missing="drop").fit(frame)
    table, model = read_table(frame), learned.model_
    known = (table.codes < table.schema.cards[:, None]).all(axis=0)
    model.save(tmp_path / "m.cp")
    for one in (model, cp.load(tmp_path / "m.cp")):
        expected = one.score_samples(table.take(known))
        encoded = cp.Table.from_frame(frame, schema=one.schema)
        assert (encoded.codes == table.codes).all()
        assert (one.score_samples(encoded.take(known)) == expected).all()
        answers = one.query_many("y", frame)
        assert (answers.probabilities.argmax(axis=1) == table.codes[2])[known].all()


@pytest.mark.parametrize(
    "kind", ["text '{}.0'", "date text", "amounts", "text with words for gaps"]
)
@pytest.mark.parametrize("entry", CLASSIFIERS, ids=entry_id)
def test_every_classifier_reads_texts_as_in_training(entry, kind):
    columns = columns_of_kind(kind)
    frame, y = pd.DataFrame({k: columns[k] for k in ("x", "z")}), columns["y"]
    fitted = entry.learner_class().fit(frame, y)
    assert (fitted.predict(frame) == y).mean() == 1


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_odd_columns_are_read_or_ignored_alike(kind):
    rng = np.random.default_rng(2)
    z = rng.integers(0, 2, ROWS)
    frame = pd.DataFrame({"x": CATEGORICAL[kind], "z": z})
    fitted = cp.NaiveBayes().fit(frame, z)
    assert (fitted.predict(frame) == z).all()
    network = cp.ChowLiu().fit(frame.assign(y=z)).model_
    assert (network.query_many("y", frame).probabilities.argmax(axis=1) == z).all()


def test_one_row_is_read_as_many_are():
    columns = columns_of_kind("time stamp")  # of one row alone, midnight would be a day
    frame, y = pd.DataFrame({"x": columns["x"]}), columns["y"]
    fitted = cp.NaiveBayes().fit(frame, y)
    each = np.vstack([fitted.predict_proba(frame.iloc[[i]]) for i in range(20)])
    assert each == pytest.approx(fitted.predict_proba(frame.iloc[:20]))


@pytest.mark.parametrize("learner", [cp.NaiveBayes(), cp.InteractionClassifier(), cp.HillClimb()])
def test_a_column_of_unknown_cells_is_named(learner):
    columns = columns_of_kind("text")
    frame, y = pd.DataFrame(columns).drop(columns="y"), columns["y"]
    network = not hasattr(learner, "predict_proba")
    fitted = learner.fit(frame.assign(y=y)) if network else learner.fit(frame, y)
    model = fitted.model_
    new = frame.assign(x=np.where(np.arange(ROWS) % 3 == 0, frame["x"], frame["x"].str.upper()))
    with warns(UnknownCells, about=("'x'", "160 cells")):
        model.predict_proba(new, "y" if network else None)
    few = frame.assign(x=np.where(np.arange(ROWS) % 3 > 0, frame["x"], frame["x"].str.upper()))
    model.predict_proba(few, "y" if network else None)  # warns of nothing
    missing = frame.assign(x=None)
    model.predict_proba(missing, "y" if network else None)

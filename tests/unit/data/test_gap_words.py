"""NA among texts is missing where the table uses it so, and a state otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data.columns import columns_of
from counterpane.data.prepare import gap_words_of, prepare


def frame_of(n: int = 120) -> pd.DataFrame:
    """Two columns of texts and one of numbers, each with gaps, as R's write.csv writes them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n).round(2)
    frame = pd.DataFrame({
        "sex": np.where(x > 0, "f", "m"), "job": rng.choice(["a", "b", "c"], n), "x": x,
    })  # fmt: skip
    return frame.mask(rng.random(frame.shape) < 0.1)


def written(frame: pd.DataFrame, path: Path, word: str) -> Path:
    frame.to_csv(path, index=False, na_rep=word)
    return path


@pytest.mark.parametrize("word", ["NA", "?", "NULL"])
def test_a_word_among_numbers_is_missing_among_texts(tmp_path, word):
    frame = frame_of()
    read = cp.read(written(frame, tmp_path / "t.csv", word))
    assert read.schema["sex"].states == ("f", "m")
    gaps = [int((codes == v.card).sum()) for codes, v in zip(read.codes, read.schema, strict=True)]
    assert gaps == frame.isna().sum().tolist()
    assert f"Taken as missing: {word!r} in sex, job." in read.notes
    empty = cp.read(written(frame, tmp_path / "e.csv", ""))
    assert (read.codes == empty.codes).all()


def test_a_word_in_columns_without_a_common_state_is_missing(tmp_path):
    read = cp.read(written(frame_of()[["sex", "job"]], tmp_path / "t.csv", "NA"))
    assert [v.card for v in read.schema] == [2, 3]


def test_a_word_in_columns_of_one_kind_or_in_one_column_is_a_state(tmp_path):
    lands = pd.DataFrame({"from": ["NA", "DE", "ZA"] * 20, "to": ["ZA", "NA", "DE"] * 20})
    for frame in (lands, lands[["from"]].assign(n=range(60))):
        read = cp.read(written(frame, tmp_path / "t.csv", ""))
        assert read.schema["from"].states == ("DE", "NA", "ZA")
    kept = "Kept 'NA' as a value of from, to: leave such cells empty if they are missing."
    assert kept in cp.read(written(lands, tmp_path / "t.csv", "")).notes


def test_declared_categories_keep_their_words():
    frame = frame_of().astype(object).fillna("NA")
    frame["sex"] = pd.Categorical(frame["sex"])
    found = {c.name: c for c in prepare(frame).columns}
    assert "NA" in found["sex"].states
    assert gap_words_of(columns_of(frame[["sex"]])) == frozenset()


def test_a_model_takes_the_word_as_it_was_taken_in_training(tmp_path):
    frame = frame_of()
    path = written(frame, tmp_path / "t.csv", "NA")
    for classifier in (cp.InteractionClassifier(), cp.NaiveBayes()):
        classifier.fit(path, "sex")
        rows = [pd.DataFrame({"job": [job] * 2, "x": [0.3, 0.4]}) for job in ("NA", None)]
        told, expected = map(classifier.predict_proba, rows)
        assert told == pytest.approx(expected)
    lands = written(
        pd.DataFrame({"land": ["NA", "DE"] * 40, "y": ["a", "b"] * 40, "x": [1.5, 2.5] * 40}),
        tmp_path / "lands.csv", "",
    )  # fmt: skip
    classifier = cp.InteractionClassifier().fit(lands, "y")
    told = classifier.predict_proba(pd.DataFrame({"land": ["NA"], "x": [None]}))
    assert told[0, list(classifier.classes_).index("a")] > 0.8

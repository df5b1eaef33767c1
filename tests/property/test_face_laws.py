"""Laws of the hyperedge climb: order and repetition of rows and columns do not matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpane as cp
from law_settings import examples

# Rows of weight zero may have states that no other row has.
pytestmark = pytest.mark.filterwarnings("ignore::counterpane.data.encoding.UnknownCells")


@st.composite
def tables(draw):
    """A frame of three or four columns, labels, and a generator for permutations."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.integers(2, 60)), draw(st.integers(3, 4))
    frame = pd.DataFrame({f"c{k}": rng.integers(0, draw(st.integers(1, 3)), rows).astype(str)
                          for k in range(columns)})  # fmt: skip
    labels = (frame["c0"] + frame["c1"]).where(rng.random(rows) < 0.8, "00").to_numpy()
    return frame, labels, rng


def outcome(frame, labels, floor=True, **options):
    learner = cp.MarkovClassifier(floor=floor).fit(frame, labels, **options)
    return learner.structures_, learner


@examples(25)
@given(tables())
def test_order_does_not_matter(table):
    frame, labels, rng = table
    expected, learner = outcome(frame, labels)
    rows, columns = rng.permutation(len(frame)), rng.permutation(frame.columns)
    found, other = outcome(frame.iloc[rows][list(columns)], labels[rows])
    assert found == expected
    np.testing.assert_array_equal(other.predict_proba(frame), learner.predict_proba(frame))


@examples(25)
@given(tables())
def test_weights_are_repetitions(table):
    frame, labels, rng = table
    times = rng.integers(0, 4, len(frame))
    times[0] = 1
    expected, learner = outcome(frame.iloc[np.repeat(np.arange(len(frame)), times)],
                                np.repeat(labels, times))  # fmt: skip
    found, other = outcome(frame, labels, sample_weight=times)
    assert found == expected
    np.testing.assert_array_equal(other.predict_proba(frame), learner.predict_proba(frame))


@examples(25)
@given(tables())
def test_classes_are_only_names(table):
    """Of the search. The floor's folds are dealt in the order of names, so they may differ."""
    frame, labels, _ = table
    expected, learner = outcome(frame, labels, floor=False)
    renamed = np.array(["z" + label if label < "10" else "a" + label for label in labels])
    found, other = outcome(frame, renamed, floor=False)
    order = [list(other.classes_).index("z" + c if c < "10" else "a" + c) for c in learner.classes_]
    p, q = learner.predict_proba(frame), other.predict_proba(frame)[:, order]
    np.testing.assert_allclose(p, q, atol=1e-9)
    assert len(found) == len(expected)

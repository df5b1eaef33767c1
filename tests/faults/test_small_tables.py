"""Tables of one row or one column: fuzzing found what failed on them."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.registry import LEARNERS
from error_checks import raises

CLASSIFIERS = [entry for entry in LEARNERS if entry.task == "classifier"]


@pytest.mark.parametrize("entry", CLASSIFIERS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("weight", [1e9, 1e9 + 0.5, 30.0, 2.0**53])
def test_one_row_of_large_weight(entry, weight):
    table = cp.Table(cp.Schema.from_cards([3, 2, 2]), np.array([[1], [0], [1]]), [weight])
    learner = entry.make().fit(table, "x2")
    shares = learner.predict_proba(table)
    assert shares[0, 1] > 0.5
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
def test_mixtures_refuse_missing_cells(fixed, columns):
    cells = {"a": ["x", "y", None, "x"] * 5, "b": ["u", "v", "v", "u"] * 5}
    table = cp.read(dict(list(cells.items())[:columns]))
    model = cp.ChowLiu().fit(table).model_
    mixture = cp.Mixture([model, model], fixed=fixed)
    with raises(cp.CounterpaneError, about=("'a'", "row 2")):
        mixture.pseudo_log_likelihood(table)
    whole = table.take(np.array([0, 1, 3]))
    np.testing.assert_allclose(
        mixture.pseudo_log_likelihood(whole), model.pseudo_log_likelihood(whole)
    )


@pytest.mark.parametrize("entry", CLASSIFIERS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("card", [1, 2, 3, 4])
@pytest.mark.parametrize("weight", [None, 1, 2.0**30])
def test_one_distinct_row_of_a_class_of_several_states(entry, card, weight):
    """Boosted trees without a fit had the scores of two classes."""
    weights = None if weight is None else np.full(2, weight)
    table = cp.Table(cp.Schema.from_cards([card, 4]), np.zeros((2, 2), dtype=int), weights)
    told = entry.make().fit(table, "x0").predict_proba(table)
    assert told.shape == (2, card)
    assert told.sum(axis=1) == pytest.approx([1, 1])

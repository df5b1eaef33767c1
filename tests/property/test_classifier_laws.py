"""Laws of classifiers whose model is a Bayesian network, on tables that hypothesis makes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpane as cp
from counterpane.data import Schema, Table
from law_settings import examples

# Rows of weight zero may have states that no other row has.
pytestmark = pytest.mark.filterwarnings("ignore::counterpane.data.encoding.UnknownCells")

MAKERS = [cp.NaiveBayes, cp.TAN, cp.BayesNetClassifier]


@st.composite
def tables(draw, max_columns=4):
    """A small table, the class its last column, with whole weights of which some are zero."""
    cards = draw(st.lists(st.integers(1, 3), min_size=2, max_size=max_columns + 1))
    rows = draw(st.integers(2, 25))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, r, rows) for r in cards])
    weights = rng.integers(0, 4, rows)
    weights[0] = 1
    return Table(Schema.from_cards(cards), codes, weights)


def fit(make, table):
    return make().fit(table, table.schema.names[-1])


def close(a, b):
    return np.allclose(a, b, rtol=1e-9, atol=1e-12)


@examples(40)
@given(tables(), st.sampled_from(MAKERS))
def test_probabilities_are_the_answers_of_the_model(table, make):
    classifier = fit(make, table)
    found = classifier.predict_proba(table)
    assert close(found.sum(axis=1), 1)
    features = Table(classifier.schema_, table.codes[:-1])
    asked = classifier.model_.query_many(classifier.target_.name, features)
    assert close(found, asked.probabilities)
    assert close(classifier.model_.predict_proba(features), found)


@examples(40)
@given(tables(), st.sampled_from(MAKERS), st.randoms(use_true_random=False))
def test_weights_are_copies_in_any_order(table, make, random):
    copies = np.repeat(np.arange(table.n_rows), table.weights)
    random.shuffle(copies)
    one, other = fit(make, table), fit(make, table.reweighted(None).take(copies))
    assert close(one.predict_proba(table), other.predict_proba(table))


@examples(40)
@given(tables(), st.sampled_from([cp.NaiveBayes, cp.BayesNetClassifier]))
def test_a_constant_column_says_nothing(table, make):  # a tree may hang independent columns on it
    schema = Schema([cp.Variable("constant", ("same",)), *table.schema])
    codes = np.vstack([np.zeros(table.n_rows, dtype=np.uint8), table.codes])
    wider = Table(schema, codes, table.weights)
    assert close(fit(make, table).predict_proba(table), fit(make, wider).predict_proba(wider))


@examples(40)
@given(tables())
def test_the_names_of_the_classes_do_not_matter(table):  # but for ties, in trees and searches
    card = int(table.schema.cards[-1])
    turned = table.codes.copy()
    turned[-1] = card - 1 - turned[-1]
    other = Table(table.schema, turned, table.weights)
    make = partial(cp.NaiveBayes, smoothing="even")  # folds are drawn class by class
    found = fit(make, other).predict_proba(other)[:, ::-1]
    assert close(found, fit(make, table).predict_proba(table))


@examples(30)
@given(tables())
def test_the_search_never_does_worse_than_the_class_alone(table):
    classifier = fit(partial(cp.BayesNetClassifier, smoothing="even"), table)
    kept = table.take(table.weights > 0)
    weights = kept.weights
    logs = classifier.predict_log_proba(kept)[np.arange(kept.n_rows), kept.codes[-1]]
    assert np.isclose(classifier.score_, (weights * logs).sum(), rtol=1e-9, atol=1e-9)
    counts = np.bincount(kept.codes[-1], weights, classifier.target_.card)
    shares = (counts + 1 / len(counts)) / (counts.sum() + 1)
    assert classifier.score_ >= (counts * np.log(shares)).sum() - 1e-9

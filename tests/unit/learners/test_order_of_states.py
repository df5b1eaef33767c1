"""Equal cells give equal models, whatever the order of rows, states and columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp

SETS = ["titanic", "tictactoe", "balance", "monks2"]


def frame_of(name):
    return pd.DataFrame(
        {
            c.name: np.array([*c.states, None], dtype=object)[c.codes]
            for c in cp.load_dataset(name).labels()
        }
    )


def variants(frame):
    """The same cells: states sorted, rows shuffled, states reversed, columns reversed."""
    yield cp.Table.from_frame(frame)
    yield cp.Table.from_frame(frame.sample(frac=1, random_state=3))
    turned = {
        c: pd.Categorical(frame[c], sorted(frame[c].unique(), key=str, reverse=True)) for c in frame
    }
    yield cp.Table.from_frame(pd.DataFrame(turned))
    yield cp.Table.from_frame(frame[frame.columns[::-1]])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "kind",
    [
        *("NaiveBayes", "TAN", "BayesNetClassifier", "MarkovClassifier"),
        pytest.param("InteractionClassifier", marks=pytest.mark.slow),
    ],
)
def test_classifiers(name, kind):
    table, frame = cp.load_dataset(name), frame_of(name)
    target = table.schema.names[-1]
    expected = getattr(cp, kind)().fit(table, target)
    for other in variants(frame):
        found = getattr(cp, kind)().fit(other, target)
        order = [expected.classes_.tolist().index(c) for c in found.classes_.tolist()]
        ours = expected.predict_proba(frame.drop(columns=target))[:, order]
        assert np.abs(found.predict_proba(frame.drop(columns=target)) - ours).max() < 1e-9


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["ChowLiu", "StructureSearch", "HillClimb", "GES"])
def test_networks(name, kind):
    expected = getattr(cp, kind)().fit(cp.load_dataset(name))
    edges = {frozenset(e) for e in expected.graph_.edges}
    for other in variants(frame_of(name)):
        found = getattr(cp, kind)().fit(other)
        assert {frozenset(e) for e in found.graph_.edges} == edges
        assert found.score_ == pytest.approx(expected.score_, rel=1e-12)
        if kind == "ChowLiu":
            assert set(found.graph_.edges) == set(expected.graph_.edges)


@pytest.mark.parametrize("name", SETS)
def test_shares_of_bootstrap_samples(name):
    learner = cp.HillClimb("bic")
    expected = None
    for table in (cp.load_dataset(name), *variants(frame_of(name))):
        result = cp.bootstrap(learner, table, n=20, random_state=0)
        shares = {frozenset(e.ends): e.share for e in result.edges}
        assert expected is None or shares == expected
        expected = shares

"""One learner of each family gives the same from every source, to the last bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterpane as cp
from contract.count_source_suite import make_table
from contract.test_count_sources import SOURCES
from counterpane.features import Potential
from counterpane.learners.registry import learners
from counterpane.models.arrays import arrays_of

CARDS = (3, 2, 3, 2, 4)
CLASS = "x3"


def learned(learner):
    """What a learner of models leaves, in a form that compares by bytes."""
    found = {"edges": sorted(map(repr, learner.graph_.edges)), **parameters(learner.model_)}
    for name in ("score_", "cost_", "n_tests_", "gains_", "kappa_", "l1_"):
        if hasattr(learner, name):
            found[name] = repr(getattr(learner, name))
    if hasattr(learner, "edge_probabilities_"):
        found["edge probabilities"] = learner.edge_probabilities_.tobytes()
    return found


def parameters(model):
    arrays = {name: array.tobytes() for name, array in arrays_of(model).items()}
    return {"schema": model.schema, **arrays}


def classified(classifier):
    rows = make_table(CARDS, 60, seed=9, missing=0.1)
    found = {
        "classes": classifier.classes_.tolist(),
        "features": (classifier.feature_names_in_.tolist(), classifier.schema_),
        "log proba": classifier.predict_log_proba(rows).tobytes(),
    }
    for name in ("score_", "gains_", "hyperedges_", "log_posterior_", "inner_log_loss_"):
        if hasattr(classifier, name):
            found[name] = repr(getattr(classifier, name))
    return found


def network(kind, **fixed):
    return lambda X, **options: learned(kind(**fixed, **options).fit(X))


def classifier(kind, **fixed):
    return lambda X, **options: classified(kind(**fixed, **options).fit(X, CLASS))


def weights_of_pairs(X, missing="error"):
    pairs = [Potential((a, b), np.zeros((CARDS[a], CARDS[b]))) for a, b in ((0, 1), (2, 4))]
    return parameters(cp.fit_weights(pairs, X, missing=missing))


def converted(X, **options):
    network = cp.DependencyNetworkLearner(min_count=20, **options).fit(X).model_
    return parameters(cp.to_markov_network(network, data=X))


def resampled(X, **options):
    found = cp.bootstrap(cp.HillClimb(**options), X, n=4, random_state=3)
    return {"edges": found.edge_probabilities.tobytes(), "directed": found.directed}


PARAMETERS = {
    "hill-climb": {"criterion": "bdeu", "tabu": 2},
    "structure-search": {"random_state": 0},
    "k2": {"random_state": 0},
    "order-mcmc": {"n_samples": 40, "random_state": 0},
    "gsimn": {"test": "g2"},
    "particle-filter": {"moves": 20},
    "dn-tree": {"k": 3},
    "pairwise": {"k": 2},
}
CLASSIFIERS = learners("classifier")
LEARNERS = {
    **{
        name: network(entry.make, **PARAMETERS.get(name, {}))
        for name, entry in learners("network", "posterior", "field").items()
    },
    **{name: classifier(entry.make) for name, entry in CLASSIFIERS.items()},
    "fit-weights": weights_of_pairs,
    "to-markov-network": converted,
    "bootstrap": resampled,
}
GAPS = [
    (name, missing)
    for name in LEARNERS
    for missing in ("state", "drop")
    if name not in ("structure-search", "ges", "gsimn", "order-mcmc")  # as others of their families
    and (name, missing) != ("fit-weights", "state")  # whose parts say what the states are
]
GAPS += [(name, "auto") for name in ("chow-liu", "hill-climb", "gsmn", "tan", "bootstrap")]
TABLES = {
    "complete": {"seed": 1},
    "weighted": {"seed": 2, "weights": "whole"},
    "gaps": {"seed": 3, "missing": 0.06},
    "weighted gaps": {"seed": 4, "missing": 0.06, "weights": "whole"},
}


def table_of(kind, name):
    table = make_table(CARDS, 300, **TABLES[kind])
    return told(table) if name in CLASSIFIERS else table


@cache
def told(table):
    """The rows that tell their class: others are refused."""
    place = table.schema.index(CLASS)
    return table.take(table.codes[place] < CARDS[place])


@cache
def in_memory(name, kind, **options):
    return LEARNERS[name](table_of(kind, name), **options)


TWINS = {"memory-2-threads", "stream-of-frames", "stream-reordered", "parquet", "feather", "csv"}
everywhere = [pytest.param(make, id=name) for name, make in SOURCES if name != "memory"]
once_each = [param for param in everywhere if param.id not in TWINS]  # who read rows alike


@pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")  # of 40 samples
@pytest.mark.parametrize("make", everywhere)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_source_gives_the_same(make, name):
    kind = "weighted" if name in ("chow-liu", "tan", "hybrid-field") else "complete"
    assert LEARNERS[name](make(table_of(kind, name))) == in_memory(name, kind)


@pytest.mark.parametrize("make", once_each)
@pytest.mark.parametrize(("name", "missing"), GAPS)
def test_missing_cells_are_what_they_are_in_memory(make, name, missing):
    kind = "weighted gaps" if name in ("hill-climb", "naive-bayes", "gsmn") else "gaps"
    found = LEARNERS[name](make(table_of(kind, name)), missing=missing)
    assert found == in_memory(name, kind, missing=missing)

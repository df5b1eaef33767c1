"""Learners in scikit-learn's cross-validation and grid search, with states a fold has not seen."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import counterpane as cp
from counterpane.errors import StateError
from counterpane.learners.registry import learners
from error_checks import raises

SHORT = {"order-mcmc": {"random_state": 0}, "particle-filter": {"moves": 20}}
LEARNERS = [
    *(e.make(**SHORT.get(e.name, {})) for e in learners("network", "posterior", "field").values()),
    cp.ChowLiu("bic"),
    cp.ChowLiu(cp.BDeu(5)),
]
CLASSIFIERS = [entry.make() for entry in learners("classifier").values()]


def make_frame(n: int = 240) -> pd.DataFrame:
    """Three dependent columns, and one of so many states that folds lack some."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.8, a, 1 - a)
    frame = pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 3, n)}).astype(str)
    frame["many"] = np.char.add("s", rng.integers(0, 60, n).astype(str))
    return frame


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_cross_validation_scores_rows_not_seen(learner) -> None:
    frame = make_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cross_val_score(learner, frame, cv=3)
    assert found.shape == (3,)
    assert np.isfinite(found).all()
    assert (found < 0).all()
    assert not hasattr(learner, "model_")


def test_the_score_is_the_mean_log_likelihood() -> None:
    frame = make_frame()[["a", "b", "c"]]
    learner = cp.ChowLiu("bic").fit(frame[:160])
    rows = learner.model_.score_samples(frame[160:])
    assert learner.score(frame[160:]) == pytest.approx(rows.mean())
    assert learner.score_samples(frame[160:]) == pytest.approx(rows)
    weights = np.arange(80)
    assert learner.score(frame[160:], sample_weight=weights) == pytest.approx(
        np.average(rows, weights=weights)
    )


def test_unseen_and_missing_cells_are_summed_out() -> None:
    frame = make_frame()[["a", "b", "c"]]
    learner = cp.StructureSearch().fit(frame)
    model = learner.model_
    odd = pd.DataFrame({"a": ["1", "0", "new"], "b": ["new", "1", None], "c": ["2", "2", "0"]})
    expected = [
        model.log_evidence({"a": "1", "c": "2"}),
        model.log_evidence({"a": "0", "b": "1", "c": "2"}),
        model.log_evidence({"c": "0"}),
    ]
    assert learner.score_samples(odd) == pytest.approx(expected)
    with raises(StateError, parameter="a", value="new"):
        learner.score_samples(odd, unseen="error")


def test_a_grid_search_chooses_the_parameters_of_a_search() -> None:
    frame = make_frame()
    grid = {"criterion": ["bic", cp.BDeu(5), "loglik"], "equivalent_sample_size": [0.1, 1.0]}
    search = GridSearchCV(cp.ChowLiu(), grid, cv=3).fit(frame)
    assert repr(search.best_params_["criterion"]) != "'loglik'"  # which hangs all on many states
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.score(frame) == search.best_estimator_.score(frame)


def test_a_criterion_stays_what_it_was() -> None:
    for value in ("bic", cp.BDeu(5)):
        learner = cp.ChowLiu(value)
        assert learner.get_params()["criterion"] is value
        assert learner.criterion is value
        twin = clone(learner)
        assert repr(twin) == repr(learner)
        for other in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
            assert repr(other.get_params()) == repr(learner.get_params())


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=repr)
def test_classifiers_are_selected_as_well(learner) -> None:
    frame = make_frame()
    found = cross_val_score(learner, frame[["b", "c", "many"]], frame["a"], cv=3)
    assert (found > 0.7).all()
    search = GridSearchCV(learner, {"max_bins": [2, 4]}, cv=2, scoring="neg_log_loss")
    assert search.fit(frame[["b", "c", "many"]], frame["a"]).best_score_ < 0


def test_a_link_ranker_is_cloned_and_does_not_fit_what_it_was_passed() -> None:
    links = {"user": [1, 1, 2, 2, 3, 3, 4], "item": [*(3 * ["tea", "jam"]), "ham"]}
    inner = cp.ChowLiu()
    ranker = cp.LinkRanker(inner).fit(links)
    assert not hasattr(inner, "model_")
    assert ranker.learner_ is not inner
    twin = clone(cp.LinkRanker())
    assert twin.get_params() == cp.LinkRanker().get_params()
    assert repr(clone(ranker)) == repr(ranker)
    assert not hasattr(clone(ranker), "model_")
    assert ranker.set_params(learner="popularity").learner == "popularity"

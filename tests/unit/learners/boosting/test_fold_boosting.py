"""Fits on folds: one number of rounds, honest held-out predictions, equal for any n_jobs."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.learners.boosting import boosting_search
from counterpane.learners.boosting.boosting_search import BoostingSearch
from counterpane.learners.boosting.fold_boosting import (
    BinnedRows,
    TreeShape,
    boost_folds,
    boost_once,
    by_class,
    log_softmax,
)
from counterpane.learners.driver import to_end
from counterpane.progress import Control

SHAPE = TreeShape(8, 3, 0.8)


def make_rows(n=400, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 20, (n, 4)).astype(np.uint8)
    score = bins[:, 0] * 1.0 + 5 * (bins[:, 1] > 10) * (bins[:, 2] > 10) + rng.normal(size=n)
    labels = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return BinnedRows(bins, np.full(4, 20), np.ones(4, dtype=bool), labels, classes)


def folds_of(n, k=5):
    return np.array([(np.arange(n) % k == j).astype(float) for j in range(k)])


@pytest.mark.parametrize("classes", [2, 3])
def test_rounds_are_those_of_the_least_mean_loss(classes):
    rows = make_rows(classes=classes)
    held = folds_of(400)
    result = boost_folds(rows, np.ones(400), held, SHAPE, seed=3)
    shortest = min(fit.rounds for fit in result.fits)
    mean = np.mean([fit.curve[:shortest] for fit in result.fits], axis=0)
    if result.rounds <= shortest:
        assert result.rounds == int(mean.argmin()) + 1
    logs = result.held_out(rows, held)
    losses = [
        -own[np.arange(len(own)), rows.labels[h > 0]].mean()
        for own, h in zip(logs, held, strict=True)
    ]
    assert np.mean(losses) == pytest.approx(result.log_loss, abs=1e-5)
    shares = np.bincount(rows.labels) / 400
    assert result.log_loss < -(shares @ np.log(shares)) - 0.2


def test_a_fold_does_not_see_its_held_out_rows():
    rows = make_rows()
    held = folds_of(400)
    flipped = rows._replace(labels=np.where(held[0] > 0, 2 - rows.labels, rows.labels))
    one, two = (
        boost_once(r, 1 - held[0], held[0], SHAPE, seed=1, rounds=10) for r in (rows, flipped)
    )
    assert (one.trees.values == two.trees.values).all()
    assert (one.curve != two.curve).any()


def test_gains_name_the_columns_that_act_together():
    rows = make_rows(n=2000, classes=2)
    gains = boost_folds(rows, np.ones(2000), folds_of(2000), SHAPE, seed=0).gains()
    pairs = {columns: gain for columns, gain in gains.items() if len(columns) == 2}
    assert max(pairs, key=pairs.get) in {(0, 1), (0, 2), (1, 2)}
    assert all(3 not in columns for columns in sorted(pairs, key=pairs.get)[-2:])


def test_one_class_alone_has_no_trees():
    rows = make_rows(classes=2)._replace(labels=np.zeros(400, dtype=np.int64))
    fit = boost_once(rows, np.ones(400), np.zeros(400), SHAPE, seed=0, rounds=3)
    p = np.exp(log_softmax(by_class(fit.scores(rows.bins, 3))))
    assert (p[:, 0] > 0.99).all()
    assert np.isfinite(p).all()


def test_very_many_rows_and_columns_have_fewer_candidates(monkeypatch):
    rows, held = make_rows(), folds_of(400)
    search = BoostingSearch(rows, np.ones(400), held, seed=0)
    assert search.names == ["small", "large", "four", "whole", "few sets"]
    monkeypatch.setattr(boosting_search, "MANY_ROWS", 100)
    monkeypatch.setattr(boosting_search, "TRIED_ROWS", 100)
    thin = BoostingSearch(rows, np.ones(400), held[:1], seed=0)
    assert thin.names[-1] == "all folds"
    state = to_end(thin, Control.within(None))
    fits = thin.folds(state)
    assert len(fits.fits) == 1
    assert len(thin._tried_rows) == 100 + int((held[0] > 0).sum())
    again = BoostingSearch(rows, np.ones(400), held[:1], seed=0).folds(state)
    assert (again.fits[0].trees.values == fits.fits[0].trees.values).all()
    monkeypatch.setattr(boosting_search, "MANY_SCORES", 100)
    heavy = BoostingSearch(make_rows(classes=3), np.ones(400), held, seed=0)
    assert (heavy.names, len(heavy.held)) == (["large", "all folds"], 2)
    assert list(boosting_search.shapes_for(5000)) == ["sparse"]
    assert boosting_search.shapes_for(5000)["sparse"].column_share == 300 / 5000


@pytest.mark.parametrize("together", [False, True])
def test_trees_on_all_rows_are_tried_where_four_columns_pay(together):
    rng = np.random.default_rng(0)
    bins = rng.integers(1, 3 if together else 9, (600, 8)).astype(np.uint8)
    labels = (bins[:, :4].sum(axis=1) % 2 if together else bins[:, 0] > 4).astype(np.int64)
    n_bins = np.full(8, 9)
    rows = BinnedRows(bins, n_bins, np.ones(8, dtype=bool), labels, 2)
    search = BoostingSearch(rows, np.ones(600), folds_of(600), seed=0)
    state = to_end(search, Control.within(None))
    tried = dict(zip(search.names, np.isfinite(state.losses), strict=True))
    assert tried["whole"] == together
    assert (search.best_shape(state) in ("four", "whole")) == together

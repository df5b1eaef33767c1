"""Rows in order, folds, and the coding of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from counterpane.additive.member import Coding, parted
from counterpane.data.intervals import mdl_cuts
from counterpane.errors import DataError
from counterpane.learners.classifiers import folds
from counterpane.learners.classifiers.folds import deal_folds
from counterpane.learners.classifiers.interactions.canonical_rows import RawRows, sort_distinct
from counterpane.learners.classifiers.interactions.fold_data import find_coding, with_thirds
from counterpane.learners.classifiers.interactions.staged_searches import unit_weight
from error_checks import raises


def make_raw(rows=50, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, 3, rows), np.zeros(rows), rng.integers(0, 2, rows)])
    numbers = rng.integers(0, 4, (1, rows)) / 2
    numbers[0, :3] = np.nan
    return codes, np.array([3, 5, 2]), np.array([1]), numbers, rng.integers(0, 3, rows)


def test_order_and_copies_of_rows_make_no_difference():
    codes, cards, numeric, numbers, labels = make_raw()
    plain, weights = sort_distinct(codes, cards, numeric, numbers, labels, 3, None)
    assert weights.sum() == 50
    assert len(weights) < 50
    rng = np.random.default_rng(1)
    turned = rng.permutation(50)
    again, same = sort_distinct(
        codes[:, turned], cards, numeric, numbers[:, turned], labels[turned], 3, None
    )
    counts = rng.integers(1, 4, 50)
    one, weighted = sort_distinct(codes, cards, numeric, numbers, labels, 3, counts)
    copies = np.repeat(np.arange(50), counts)
    two, copied = sort_distinct(
        codes[:, copies], cards, numeric, numbers[:, copies], labels[copies], 3, None
    )
    for a, b, x, y in ((plain, again, weights, same), (one, two, weighted, copied)):
        assert (a.codes == b.codes).all()
        assert np.array_equal(a.numbers, b.numbers, equal_nan=True)
        assert (a.labels == b.labels).all()
        assert (x == y).all()
    rebuilt = sorted(zip(*plain.codes[[0, 2]].tolist(), plain.labels, strict=True))
    assert set(rebuilt) == set(zip(*codes[[0, 2]].astype(int).tolist(), labels, strict=True))


def test_folds_are_stratified_and_hold_every_copy_once():
    labels = np.repeat([0, 1, 2], [40, 13, 2])
    weights = np.random.default_rng(0).integers(1, 5, len(labels)).astype(float)
    held = deal_folds(labels, weights, 5, np.random.default_rng(3))
    assert held.shape == (5, len(labels))
    assert (held.sum(axis=0) == weights).all()
    for c in range(3):
        sizes = held[:, labels == c].sum(axis=1)
        assert sizes.max() - sizes.min() <= 1
    sizes = held.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1
    other = deal_folds(labels, weights, 5, np.random.default_rng(4))
    assert (other != held).any()


def test_weights_that_are_no_counts_stay_together(monkeypatch):
    labels = np.repeat([0, 1], 10)
    weights = np.linspace(0.1, 3, 20)
    held = deal_folds(labels, weights, 5, np.random.default_rng(0))
    assert ((held > 0).sum(axis=0) == 1).all()
    assert np.allclose(held.sum(axis=0), weights)
    monkeypatch.setattr(folds, "MAX_COPIES", 10)
    heavy = deal_folds(labels, np.full(20, 7.0), 5, np.random.default_rng(0))
    assert set(heavy[heavy > 0]) == {7.0}
    assert unit_weight(weights) == 1.0
    assert unit_weight(np.array([0.2, 0.4])) == pytest.approx(0.3)


def test_fewer_rows_than_folds():
    assert deal_folds(np.array([0, 1, 0]), np.ones(3), 5, np.random.default_rng(0)).shape == (3, 3)
    assert deal_folds(np.array([0]), np.ones(1), 5, np.random.default_rng(0)).shape == (0, 1)
    assert deal_folds(np.array([0]), np.full(1, 2.0), 5, np.random.default_rng(0)).shape == (2, 1)


# ---- coding --------------------------------------------------------------------------------------


def numbers_rows(values, labels):
    empty = np.zeros((1, len(labels)), dtype=np.uint16)
    return RawRows(empty, np.array([1]), np.array([0]), np.array([values]), labels, 2)


def test_a_coding_has_cuts_scales_and_normal_scores():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 30, 200).astype(float)
    labels = (x + rng.normal(size=200) > 14).astype(np.int64)
    x[:5] = np.nan
    weights = rng.integers(1, 3, 200).astype(float)
    rows = numbers_rows(x, labels)
    coding = find_coding(rows, weights)
    known, w = x[5:], weights[5:]
    assert (coding.cuts[0] == mdl_cuts(known, labels[5:], w)).all()
    assert coding.cards.tolist() == [len(coding.cuts[0]) + 2]
    codes = coding.codes(rows.codes, rows.numbers)[0]
    assert (codes[:5] == len(coding.cuts[0]) + 1).all()
    assert (codes[5:] == np.searchsorted(coding.cuts[0], known, side="right")).all()
    copies = np.repeat(known, w.astype(int))
    z, r = coding.terms(np.array([[*known, np.nan, 1e9, 14.5]]))
    expected = np.clip((known - copies.mean()) / copies.std(), -4, 4)
    assert z[:-3] == pytest.approx(expected)
    below = (copies[None] < known[:, None]).sum(axis=1)
    upto = (copies[None] <= known[:, None]).sum(axis=1)
    share = ((below + upto) / 2 + 0.5) / (len(copies) + 1)
    assert r[:-3] == pytest.approx(norm.ppf(np.clip(share, 0.001, 0.999)), abs=1e-12)
    median = np.sort(copies)[(len(copies) - 1) // 2]
    assert z[-3] == pytest.approx((median - copies.mean()) / copies.std())
    assert z[-2] == 4
    assert r[-2] == pytest.approx(norm.ppf(min(0.999, (len(copies) + 0.5) / (len(copies) + 1))))
    inside = ((copies < 14.5).sum() + 0.5) / (len(copies) + 1)
    assert r[-1] == pytest.approx(norm.ppf(inside), abs=1e-12)


def test_columns_that_say_nothing_have_no_terms():
    for values in (np.full(20, 3.5), np.full(20, np.nan)):
        coding = find_coding(numbers_rows(values, np.arange(20) % 2), np.ones(20))
        assert coding.terms(np.array([[3.5, np.nan]])).shape == (0, 2)
        assert coding.cards.tolist() == [2]
        assert np.isfinite(coding.fills).all()


def test_thirds_are_for_columns_without_a_cut():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=90), np.arange(90) % 2
    rows = numbers_rows(x, labels)
    coding = find_coding(rows, np.ones(90))
    assert len(coding.cuts[0]) == 0
    thirds = with_thirds(coding, rows, np.ones(90))
    counts = np.bincount(thirds.codes(rows.codes, rows.numbers)[0])
    assert counts.tolist() == [30, 30, 30]
    assert thirds.cards.tolist() == [4]
    cut = numbers_rows(x, (x > 0.1).astype(np.int64))
    known = find_coding(cut, np.ones(90))
    assert len(known.cuts[0]) == 1
    assert (with_thirds(known, cut, np.ones(90)).cuts[0] == known.cuts[0]).all()
    assert (thirds.values[0] == coding.values[0]).all()


def test_a_coding_checks_itself_and_survives_arrays():
    rng = np.random.default_rng(0)
    coding = find_coding(numbers_rows(rng.normal(size=30), np.arange(30) % 2), np.ones(30))
    again = Coding.from_arrays(coding.to_arrays())
    numbers = rng.normal(size=(1, 9))
    assert (again.terms(numbers) == coding.terms(numbers)).all()
    for name, value in (("cards", np.array([9])), ("scores", coding.scores[0][1:])):
        broken = coding.to_arrays() | {name: value}
        if name == "scores":
            broken["scores_ends"] = broken["scores_ends"] - 1
        with pytest.raises(DataError):
            Coding.from_arrays(broken)
    with raises(DataError, about="scales"):
        Coding.from_arrays(coding.to_arrays() | {"fills": np.empty(0)})
    with raises(DataError, about="fill"):
        parted(np.arange(5), np.array([3, 2]))

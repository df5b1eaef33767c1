"""The ridge on tables of faces: kernels against plain numpy, optimum against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from counterpane._core.classifiers import CHUNK, evaluate
from counterpane.learners.classifiers.interactions.ridge import (
    Ridge,
    blocks_of,
    lay_out_interactions,
    log_prior,
    mixed_radix,
    normalize_log_proba,
    number_cells,
    smooth,
)
from reference.interaction_reference import objective, one_hot

FACES = ((0,), (1,), (2,), (3,), (0, 1), (1, 3), (0, 1, 3))


def make_rows(n_classes, rows=CHUNK + 70, held=40, seed=0):
    rng = np.random.default_rng(seed)
    cards = np.array([2, 3, 4, 3])
    codes = np.array([rng.integers(0, c, rows + held) for c in cards], dtype=np.uint16)
    codes[2, :rows][codes[2, :rows] == 3] = 0  # a state that only held-out rows have
    numbers = rng.normal(size=(5, rows + held))
    labels = (codes[0] + codes[1] * (codes[3] > 0) + (numbers[0] > 0.5)) % n_classes
    labels = np.where(
        rng.random(rows + held) < 0.3, rng.integers(0, n_classes, rows + held), labels
    )
    weights = rng.integers(1, 4, rows).astype(float)
    return codes, cards, numbers, labels.astype(np.int64), weights


def in_order(design, names):
    """Where each of the reference's columns stands among the design's features."""
    places = []
    for face, cell in names:
        if face == ():
            places.append(0)
            continue
        f = design.interactions.index(face)
        key = int(mixed_radix(np.array(cell)[:, None], CARDS[list(face)], range(len(face)))[0])
        places.append(int(design.starts[f]) + design.keys[f].tolist().index(key))
    return places


CARDS = np.array([2, 3, 4, 3])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("strength", [4.0, 0.25])
def test_the_optimum_is_that_of_scikit_learn(n_classes, strength):
    codes, cards, numbers, labels, _ = make_rows(n_classes, held=0)
    keep = np.sort(np.concatenate([np.flatnonzero(labels == c)[:35] for c in range(n_classes)]))
    codes, numbers, labels = codes[:, keep], numbers[:, keep], labels[keep]  # a prior of equals
    weights = np.ones(len(keep))
    design = lay_out_interactions(codes, cards, weights, FACES, numbers)
    ridge = Ridge(design, labels, n_classes, weights)
    for larger in (64.0, strength):
        ridge.solve(larger, tolerance=1e-18, max_steps=5000)
    X, names = one_hot(codes, FACES, len(keep))
    penalty = [1.0 if not face else strength * 2.0 ** (len(face) - 1) for face, _ in names]
    penalty = np.array([*penalty, *[0.3 * strength] * len(numbers)])
    scaled = np.hstack([X, numbers.T]) / np.sqrt(penalty / (2 if n_classes == 2 else 1))
    other = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=20000)
    expected = other.fit(scaled, labels).predict_log_proba(scaled)
    assert np.allclose(ridge.log_proba(0, len(keep)).T, expected, atol=1e-6)


def test_held_out_rows_are_predicted_and_unseen_cells_add_nothing():
    codes, cards, numbers, labels, weights = make_rows(3)
    n = len(weights)
    design = lay_out_interactions(codes, cards, weights, FACES, numbers)
    ridge = Ridge(design, labels[:n], 3, weights)
    ridge.solve(1.0)
    X, names = one_hot(codes, FACES, n)
    X = np.hstack([X, numbers.T])
    places = in_order(design, names) + list(
        range(design.arrays.first_number, design.arrays.n_features)
    )
    eta = X @ ridge.w[:, places].T + log_prior(labels[:n], 3, weights)
    assert (codes[2, n:] == 3).any()
    assert np.allclose(
        ridge.log_proba(n, codes.shape[1]), normalize_log_proba(eta[n:].T), atol=1e-12
    )


def test_a_fit_starts_from_another_and_freezes():
    codes, cards, numbers, labels, weights = make_rows(3, held=0)
    small = Ridge(
        lay_out_interactions(codes, cards, weights, FACES[:4], numbers), labels, 3, weights
    )
    small.solve(1.0)
    large = Ridge(
        lay_out_interactions(codes, cards, weights, FACES[::-1], numbers), labels, 3, weights
    )
    large.start_from(small)
    assert np.allclose(large.log_proba(0, 99), small.log_proba(0, 99), atol=1e-12)
    kept = small.frozen()
    before = kept.log_proba(0, 99)
    small.solve(1e-3)
    assert (kept.log_proba(0, 99) == before).all()
    assert not np.allclose(small.log_proba(0, 99), before)


def test_going_on_from_a_larger_penalty_ends_at_the_same_optimum():
    codes, cards, numbers, labels, weights = make_rows(3, held=0)
    design = lay_out_interactions(codes, cards, weights, FACES, numbers)
    path, direct = (Ridge(design, labels, 3, weights) for _ in range(2))
    steps = [path.solve(4.0**k, tolerance=1e-12, max_steps=3000) for k in (3, 2, 1, 0)]
    assert direct.solve(1.0, tolerance=1e-12, max_steps=3000) > steps[-1]
    assert np.allclose(path.w, direct.w, atol=1e-4)


def test_smoothing_and_prior_are_formulas():
    log_proba = np.log(np.array([[0.2, 1.0], [0.8, 1e-300]]))
    expected = np.log((7 * np.exp(log_proba) + 0.5) / 8)
    assert np.allclose(smooth(log_proba, 7.0), expected)
    prior = log_prior(np.array([0, 2, 2]), 3, np.array([1.0, 2.0, 1.0]))
    assert np.allclose(np.exp(prior), (np.array([1, 0, 3]) + 1 / 3) / 5)


def test_blocks_hold_every_face_and_stay_small():
    rng = np.random.default_rng(3)
    cards = rng.integers(2, 5, 30)
    faces = [(c,) for c in range(30)] + [(0, 1), (5, 9), (2, 7, 11)]
    blocks = blocks_of(faces, cards, 40)
    assert sorted(f for _, held in blocks for f in held) == list(range(len(faces)))
    for columns, held in blocks:
        assert all(set(faces[f]) <= set(columns) for f in held)
        assert cards[list(columns)].prod() <= max(
            40, max(cards[list(faces[f])].prod() for f in held)
        )
    assert len(blocks) < 15


def test_keys_are_numbered_by_first_appearance_whatever_their_size():
    keys = np.array([7, 3, 7, 9, 3, 0])
    ids, firsts = number_cells(keys, 10)
    assert (ids.tolist(), firsts.tolist()) == ([0, 1, 0, 2, 1, 3], [0, 1, 3, 5])
    wide = number_cells(keys * 10**12, 10**14)
    assert (wide[0] == ids).all()
    assert (wide[1] == firsts).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("with_numbers", [False, True])
def test_value_and_gradient_are_those_of_a_dense_matrix(n_classes, with_numbers):
    codes, cards, numbers, labels, weights = make_rows(n_classes)
    n = len(weights)
    numbers = numbers if with_numbers else numbers[:0]
    design = lay_out_interactions(codes, cards, weights, FACES, numbers)
    X, names = one_hot(codes, FACES, n)
    places = in_order(design, names)
    X = np.hstack([X, numbers.T])
    places += range(design.arrays.first_number, design.arrays.n_features)
    assert sorted(places) == list(range(design.arrays.n_features))
    assert np.allclose(design.squares[places], weights @ X[:n] ** 2)
    rng = np.random.default_rng(1)
    columns = 1 if n_classes == 2 else n_classes
    w = rng.normal(size=(columns, X.shape[1]))
    penalty, prior = rng.random(X.shape[1]), rng.normal(size=columns)
    gradient = np.empty_like(w)
    flat = w.reshape(-1), gradient.reshape(-1)
    value = evaluate(design.arrays, labels[:n], weights, prior, penalty, *flat)
    own = w[:, places]
    if n_classes == 2:  # the log-odds as the difference of two classes
        wide = np.vstack([np.zeros_like(own), own])
        expected, slope = objective(
            X[:n], labels[:n], weights, np.append(0, prior), 0 * penalty, wide
        )
        expected += 0.5 * (penalty[places] * own**2).sum()
        slope = slope[1:] + penalty[places] * own
    else:
        expected, slope = objective(X[:n], labels[:n], weights, prior, penalty[places], own)
    assert value == pytest.approx(expected, rel=1e-12)
    assert np.allclose(gradient[:, places], slope, rtol=1e-10, atol=1e-10)

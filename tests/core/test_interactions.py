"""The kernels of interactions beside dense matrices, deleted rows and formulas."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import optimize

from counterpane._core import classifiers
from reference.core_interactions import lay_out, left_out_predictor, numbers_by_first
from reference.interaction_reference import objective, score_gain

# ---- functions of numbers ------------------------------------------------------------------------


def test_exponentials():
    x = np.concatenate([np.linspace(-699, 709, 4001), [0.0, 1e-300, -1e-17]])
    values = x.copy()
    classifiers.exponentials(values, np.empty_like(x))
    assert np.allclose(values, np.exp(x), rtol=5e-16, atol=0)
    tiny = np.array([-701.0, -1e6, -np.inf, np.nan])
    classifiers.exponentials(tiny, np.empty(4))
    assert (tiny[:3] < 1e-300).all()
    assert np.isnan(tiny[3])


def test_logarithms():
    x = np.concatenate([np.exp(np.linspace(-300, 700, 4001)), 1 + np.geomspace(1e-15, 1, 99), [1]])
    values = x.copy()
    classifiers.logarithms(values, np.empty_like(x))
    assert np.allclose(values, np.log(x), rtol=1e-15, atol=1e-18)
    assert values[-1] == 0


def test_normal_scores():
    p = np.linspace(0.001, 0.999, 501)
    values = p.copy()
    classifiers.normal_scores(values)
    assert values == pytest.approx([NormalDist().inv_cdf(q) for q in p], abs=1e-12)


def test_number_keys():
    keys = np.random.default_rng(0).integers(0, 30, 50)
    known, ids = np.full(30, -1, dtype=np.int32), np.empty(50, dtype=np.int32)
    firsts = np.empty(30, dtype=np.int64)
    n = classifiers.number_keys(keys, known, ids, firsts)
    expected = numbers_by_first(keys.tolist())
    assert (ids.tolist(), firsts[:n].tolist()) == expected


# ---- ridge ---------------------------------------------------------------------------------------

BLOCKS = [((0, 1, 3), [(0,), (1,), (0, 1), (0, 1, 3)]), ((2,), [(2,)])]


def make_design(n_classes, n_terms, rows=classifiers.CHUNK + 70, held=40):
    rng = np.random.default_rng(n_classes)
    codes = np.array([rng.integers(0, r, rows + held) for r in (2, 3, 4, 3)])
    codes[2, :rows] %= 3  # a state that only held-out rows have
    arrays, matrix = lay_out(codes, BLOCKS, rows)
    numbers = rng.normal(size=(n_terms, rows + held))
    n_features = matrix.shape[1] + n_terms
    design = classifiers.BlockDesign(*arrays, numbers, matrix.shape[1], n_features)
    labels = (codes[0] + codes[1] * (codes[3] > 0) + rng.integers(0, 2, rows + held)) % n_classes
    weights = rng.integers(1, 4, rows).astype(float)
    return design, np.hstack([matrix, numbers.T]), labels[:rows], weights


def dense_objective(X, labels, weights, prior, penalty, w):
    """That of the reference; one column stands for the log-odds of class 1."""
    n = len(labels)
    if len(prior) > 1:
        return objective(X[:n], labels, weights, prior, penalty, w)
    wide = np.vstack([np.zeros_like(w), w])
    value, slope = objective(X[:n], labels, weights, np.append(0, prior), 0 * penalty, wide)
    return value + 0.5 * (penalty * w**2).sum(), slope[1:] + penalty * w


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_terms", [0, 4, 6])
def test_evaluate_and_predict_rows(n_classes, n_terms):
    design, X, labels, weights = make_design(n_classes, n_terms)
    rng = np.random.default_rng(1)
    columns = 1 if n_classes == 2 else n_classes
    w, gradient = rng.normal(size=(2, columns, X.shape[1]))
    penalty, prior = rng.random(X.shape[1]), rng.normal(size=columns)
    flat = w.reshape(-1), gradient.reshape(-1)
    value = classifiers.evaluate(design, labels, weights, prior, penalty, *flat)
    expected, slope = dense_objective(X, labels, weights, prior, penalty, w)
    assert value == pytest.approx(expected, rel=1e-12)
    assert np.allclose(gradient, slope, rtol=1e-10, atol=1e-10)
    out = np.empty((columns, 60))
    classifiers.predict_rows(design, prior, flat[0], len(X) - 60, out)
    assert np.allclose(out.T, X[-60:] @ w.T + prior, rtol=1e-12, atol=1e-12)


def no_pairs(pairs, columns, features):
    size = columns * features
    steps, changes = np.zeros((2, pairs, size))
    return classifiers.StepPairs(
        steps, changes, np.zeros(pairs), np.zeros(features), np.array([-1, 0])
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_minimize(n_classes):
    design, X, labels, weights = make_design(n_classes, 5)
    columns = 1 if n_classes == 2 else n_classes
    prior, features = np.linspace(-0.5, 0.5, columns), X.shape[1]
    memory, w = no_pairs(7, columns, features), np.zeros(columns * features)
    for strength in (8.0, 1.0):
        penalty = np.full(features, strength)
        metric = 1 / (0.25 * (weights @ X[: len(weights)] ** 2) + penalty)
        problem = (design, labels, weights, prior, penalty, metric, memory)
        steps = classifiers.minimize(*problem, w, 1e-10, 500)
        assert 0 < steps < 500
        assert 0 < memory.used[1] <= 7
        best = optimize.minimize(
            lambda v, penalty=penalty: _flat(
                dense_objective(X, labels, weights, prior, penalty, v.reshape(columns, -1))
            ),
            np.zeros(w.size),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-8},
        )
        assert np.allclose(w, best.x, atol=1e-4)
        assert classifiers.minimize(*problem, w.copy(), 1e-4, 500) == 0
    short = np.zeros_like(w)
    assert classifiers.minimize(*problem[:-1], no_pairs(7, columns, features), short, 0.0, 3) == 3


def _flat(pair):
    return pair[0], pair[1].ravel()


def test_turn_to():
    rng = np.random.default_rng(0)
    memory = no_pairs(5, 2, 3)
    root = rng.normal(size=(6, 6))
    old, new = rng.random(3), rng.random(3)
    memory.penalty[:] = old
    memory.steps[:] = rng.normal(size=memory.steps.shape)
    plain = memory.steps @ (root @ root.T)
    memory.changes[:] = plain + memory.steps * np.tile(old, 2)
    classifiers.turn_to(memory, new)
    assert np.allclose(memory.changes, plain + memory.steps * np.tile(new, 2))
    assert np.allclose(memory.curvatures, (memory.steps * memory.changes).sum(axis=1))
    assert (memory.penalty == new).all()


# ---- searches ------------------------------------------------------------------------------------

CARDS = np.array([2, 3, 2])
FACES = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def make_rows(n_classes, n=300):
    rng = np.random.default_rng(n_classes)
    codes = np.array([rng.integers(0, r, n) for r in CARDS], dtype=np.uint16)
    labels = (codes[0] + codes[1] * rng.integers(0, 2, n)) % n_classes
    weights = rng.choice([0.5, 1.0, 2.0], n)
    return classifiers.LabeledRows(codes, labels.astype(np.int64), weights)


def back_off_faces(rows, n_classes, unit):
    """All faces, with the tables that the kernels make."""
    columns, cards = np.full((len(FACES), 3), -1), np.ones((len(FACES), 3), dtype=np.int64)
    parts = np.empty((len(FACES), 8), dtype=np.int64)
    places, origins, counts = [], [], []
    for f, face in enumerate(FACES):
        columns[f, : len(face)], cards[f, : len(face)] = face, CARDS[list(face)]
        held = [
            FACES.index(tuple(c for k, c in enumerate(face) if m >> k & 1))
            for m in range(1 << len(face))
        ]
        parts[f] = held + held[-1:] * (8 - len(held))
        size = int(cards[f].prod())
        counts.append(np.zeros((size, n_classes)))
        places.append(np.full(size * n_classes, -1, dtype=np.int32))
        origins.append(np.empty(size * n_classes, dtype=np.int64))
        n = classifiers.count_places(
            rows, columns[f], cards[f], counts[-1], places[-1], origins[-1]
        )
        origins[-1] = origins[-1][:n]
    starts = np.cumsum([0, *map(len, origins)])
    faces = classifiers.BackOffFaces(
        columns,
        cards,
        parts,
        np.cumsum([0, *map(len, places)])[:-1],
        starts,
        np.concatenate(places),
        np.concatenate(origins),
        np.full((starts[-1], n_classes), np.nan),
    )
    for f, face in enumerate(FACES):
        classifiers.back_off(faces, f, len(face), counts[f], unit)
    return faces, counts


def test_count_places():
    rows = make_rows(3)
    faces, counts = back_off_faces(rows, 3, 1.0)
    for f, face in enumerate(FACES):
        cell = np.zeros(300, dtype=np.int64)
        for c in face:
            cell = cell * CARDS[c] + rows.codes[c]
        keys = cell * 3 + rows.labels
        ids, firsts = numbers_by_first(keys.tolist())
        first, last = faces.place_starts[f : f + 2]
        assert faces.origins[first:last].tolist() == keys[firsts].tolist()
        assert faces.place_of[faces.index_starts[f] + keys].tolist() == ids
        assert (counts[f].ravel() == np.bincount(keys, rows.weights, counts[f].size)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_back_off(n_classes):
    rows = make_rows(n_classes, n=40)
    faces, _ = back_off_faces(rows, n_classes, 0.75)
    listed = rows.codes.T.tolist()
    for f, face in enumerate(FACES):
        for place in range(faces.place_starts[f], faces.place_starts[f + 1]):
            cell, own = divmod(int(faces.origins[place]), n_classes)
            row = dict(zip(face, np.unravel_index(cell, CARDS[list(face)]), strict=True))
            data = (listed, rows.labels, rows.weights, n_classes)
            expected = left_out_predictor(*data, face, row, own, 0.75)
            assert faces.tables[place] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_likelihoods_and_join(n_classes):
    rows = make_rows(n_classes)
    faces, _ = back_off_faces(rows, n_classes, 0.75)
    listed = rows.codes.T.tolist()
    data = (listed, rows.labels, rows.weights, n_classes)
    phi = {
        face: np.array(
            [
                left_out_predictor(*data, face, row, own, 0.75)
                for row, own in zip(listed, rows.labels, strict=True)
            ]
        )
        for face in FACES
    }
    own = np.arange(300), rows.labels

    def predictors(chosen):
        return sum(phi[face] for face in chosen)

    def expected(chosen):
        eta = predictors(chosen)
        return float(rows.weights @ (eta[own] - np.log(np.exp(eta).sum(axis=1))))

    away = phi[()] - phi[()][own][:, None]
    others = np.array(
        [away[np.arange(300), (rows.labels + j) % n_classes] for j in range(1, n_classes)]
    )
    present = np.array([face == () for face in FACES])
    chosen = {()}
    for face in ((1,), (0, 1), (0, 1, 2)):
        out = np.empty(len(FACES))
        asked = np.arange(len(FACES))
        classifiers.log_likelihoods(rows, others, faces, asked, present, out)
        wanted = [expected(chosen | {s for s in FACES if set(s) <= set(f)}) for f in FACES]
        assert out == pytest.approx(wanted, abs=1e-8)
        classifiers.join(rows, faces, FACES.index(face), present, others)
        chosen |= {s for s in FACES if set(s) <= set(face)}
        assert present.tolist() == [f in chosen for f in FACES]
        away = predictors(chosen) - predictors(chosen)[own][:, None]
        for j in range(1, n_classes):
            column = away[np.arange(300), (rows.labels + j) % n_classes]
            assert others[j - 1] == pytest.approx(column, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_score_faces(n_classes):
    rng = np.random.default_rng(2)
    rows = make_rows(n_classes, n=1500)
    proba = rng.dirichlet(np.ones(n_classes), 1500).T.copy()
    shown = FACES[1:]
    columns = np.array([[*face, -1, -1][:3] for face in shown])
    free = rng.random(len(shown)) * 10
    residuals = rows.weights * ((rows.labels == np.arange(n_classes)[:, None]) - proba)
    variances = rows.weights * proba * (1 - proba)
    n_given = 1 if n_classes == 2 else n_classes  # of two classes one is enough
    out = np.empty(len(shown))
    classifiers.score_faces(
        rows.codes,
        residuals[:n_given],
        variances[:n_given],
        columns,
        CARDS[columns],
        free,
        n_classes,
        out,
    )
    expected = [
        score_gain(rows.codes, rows.labels, rows.weights, proba, face, f)
        for face, f in zip(shown, free, strict=True)
    ]
    assert out == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert math.isfinite(out.sum())

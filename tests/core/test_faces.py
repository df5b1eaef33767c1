"""The kernels of faces beside inclusion and exclusion of counts."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from counterpane._core import classifiers
from reference.core_faces import (
    log_likelihood,
    log_mixture,
    log_odds,
    smoothed_count,
    softmax,
    subsets,
    table_of,
)

CARDS = [2, 3, 2, 1]
FACES = [f for size in (1, 2, 3) for f in combinations(range(3), size)]
OUTLIERS = 1.5


def make_data(n_classes, n_rows=60, seed=0):
    """Rows, labels, weights and the rest, as the reference takes them."""
    rng = np.random.default_rng(seed)
    rows = [tuple(int(rng.integers(0, r)) for r in CARDS) for _ in range(n_rows)]
    labels = [int(y) for y in rng.integers(0, n_classes, n_rows)]
    weights = rng.integers(1, 3, n_rows).astype(float).tolist()
    return rows, labels, weights, CARDS, n_classes, OUTLIERS


def grouped(data):
    """The data's distinct rows, those of equal weight side by side."""
    rows, labels, weights = data[:3]
    totals, pairs = {}, {}
    for row, label, weight in zip(rows, labels, weights, strict=True):
        totals[row] = totals.get(row, 0.0) + weight
        pairs[row, label] = pairs.get((row, label), 0.0) + weight
    order = sorted(totals, key=lambda row: (totals[row], row))
    runs = sorted(set(totals.values()))
    starts = [sum(totals[row] < run for row in order) for run in runs]
    return order, classifiers.GroupedRows(
        np.array(order, dtype=np.uint16).T.copy(),
        np.array([*starts, len(order)]),
        np.array(runs),
        np.array([order.index(row) for row, _ in pairs]),
        np.array([label for _, label in pairs]),
        np.array(list(pairs.values())),
    )


def make_store(data):
    """All faces of the first three columns, with their tables from the reference."""
    columns = np.full((len(FACES), 3), -1)
    links = np.full((len(FACES), 7), -1)
    for f, face in enumerate(FACES):
        columns[f, : len(face)] = face
        links[f, : (1 << len(face)) - 1] = [FACES.index(part) for part in subsets(face)]
    tables = [np.array(table_of(data, face)) for face in FACES]
    sizes = [t.size for t in tables]
    sums = []
    for face, table in zip(FACES, tables, strict=True):
        cells = list(product(*(range(CARDS[c]) for c in face)))
        alpha = OUTLIERS / (data[4] * len(cells))
        counts = np.array(
            [[smoothed_count(data, face, c, y) - alpha for c in cells] for y in range(1, data[4])]
        )
        sums.append(float((counts * np.log(table)).sum()))
    return classifiers.FaceStore(
        columns,
        np.array([len(face) for face in FACES]),
        np.array([t.shape[1] for t in tables]),
        links,
        np.cumsum([0, *sizes])[:-1],
        np.concatenate([t.ravel() for t in tables]),
        np.array(sums),
    )


def class_weights(data):
    return np.array([smoothed_count(data, (), (), y) for y in range(data[4])])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_fill_tables(n_classes):
    data = make_data(n_classes)
    _, rows = grouped(data)
    expected = make_store(data)
    store = expected._replace(
        values=np.full_like(expected.values, np.nan), sums=np.full(len(FACES), np.nan)
    )
    for first, stop in ((0, 3), (3, 6), (6, 7)):
        classifiers.fill_tables(
            store, first, stop, rows, np.array(CARDS), class_weights(data), OUTLIERS
        )
    assert store.values == pytest.approx(expected.values, rel=1e-12)
    assert store.sums == pytest.approx(expected.sums, rel=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("chosen", [[], [(1,)], [(0,), (1,), (0, 1)]])
@pytest.mark.parametrize("copies", [1, 60])
def test_gains(n_classes, chosen, copies):
    """Also of more rows than are multiplied at a time: copies of a row are rows of their own."""
    data = make_data(n_classes)
    order, rows = grouped(data)
    present = np.array([face in chosen for face in FACES])
    proba = np.array([softmax(log_odds(data, chosen, row)) for row in order]).T.copy()
    starts = rows.starts * copies
    rows = rows._replace(codes=np.repeat(rows.codes, copies, axis=1), starts=starts)
    candidates = np.array([f for f in (6, 5, 3, 0, 2) if not present[f]])
    out = np.empty(len(candidates))
    classifiers.gains(
        make_store(data),
        candidates,
        rows._replace(run_weights=rows.run_weights / copies),
        np.array(CARDS),
        np.repeat(proba, copies, axis=1),
        present,
        out,
    )
    now = log_likelihood(data, chosen)
    expected = [
        log_likelihood(data, set(chosen) | set(subsets(FACES[f]))) - now for f in candidates
    ]
    assert out == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_add_face_and_normalize(n_classes):
    data = make_data(n_classes)
    order, rows = grouped(data)
    store = make_store(data)
    chosen = [(0,), (2,), (0, 2)]
    prior = np.log(class_weights(data) / class_weights(data)[0])
    odds = np.repeat(prior[:, None], len(order), axis=1)
    for face in chosen:
        classifiers.add_face(store, FACES.index(face), rows, np.array(CARDS), odds)
    assert pytest.approx(np.array([log_odds(data, chosen, r) for r in order]), abs=1e-12) == odds.T
    proba = np.empty_like(odds)
    reached = classifiers.normalize(odds, rows, proba)
    assert pytest.approx(np.array([softmax(o) for o in odds.T.tolist()]), rel=1e-12) == proba.T
    assert reached == pytest.approx(log_likelihood(data, chosen), abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1.0, 1500.0])
def test_average(n_classes, scale):
    """Also where classes are improbable beyond what a float holds."""
    rng = np.random.default_rng(4)
    path = [[(0,), (1,)], [(0, 1)], [(2,)]]
    extras = [[(2,)], [], [(1, 2), (2,)], [(0, 1, 2)]]
    steps = [0, 1, 1, 3]
    listed = [face for layer in path for face in layer] + [(1, 2), (0, 1, 2)]
    tables = {
        face: {
            cell: (scale * rng.normal(size=n_classes)).tolist()
            for cell in product(*(range(CARDS[c]) for c in face))
        }
        for face in listed
    }
    columns = np.zeros((len(listed), 3), dtype=np.int64)
    values, factors = [], []
    for f, face in enumerate(listed):
        columns[f, : len(face)] = face
        wide = np.zeros((n_classes, *(CARDS[c] + 1 for c in face)))
        for cell, phi in tables[face].items():
            wide[(slice(None), *cell)] = phi
        values.append(wide.ravel())
        factors.append(np.exp(wide - wide.max(axis=0)).ravel())
    layers = classifiers.FaceLayers(
        np.array(CARDS) + 1,
        columns,
        np.array([len(face) for face in listed]),
        np.cumsum([0, *map(len, values)]),
        np.concatenate(values),
        np.concatenate(factors),
        np.cumsum([0, *map(len, path)]),
        np.array(steps),
        np.cumsum([0, *map(len, extras)]),
        np.array([listed.index(face) for some in extras for face in some]),
        np.array([0.4, 0.3, 0.2, 0.1]),
    )
    rows = rng.integers(0, np.array(CARDS) + 1, (700, 4))
    prior = rng.normal(size=n_classes)
    out = np.empty((len(rows), n_classes))
    classifiers.average(layers, prior, rows.T.astype(np.uint16).copy(), out)
    structures = [
        [face for layer in path[:s] for face in layer] + more
        for s, more in zip(steps, extras, strict=True)
    ]
    structures = [dict.fromkeys(structure) for structure in structures]
    expected = [
        log_mixture(prior, tables, structures, layers.weights, row, CARDS) for row in rows.tolist()
    ]
    assert out == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)
    assert (out.min() < -600) == (scale > 1)

"""The climb over hyperedges against its literal twin, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterpane.errors import ParameterError, TableSizeError
from counterpane.learners.classifiers.faces import face_tables
from counterpane.learners.classifiers.faces.face_search import WINDOW, FaceSearch
from counterpane.progress import Control, Stopped
from error_checks import raises
from reference.markov_classifier_reference import Reference, complex_of


def random_data(seed, rows=40, columns=4, n_classes=2, most=3, weights=None):
    """Codes of which the first two columns together tell the class, with noise."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, most + 1, columns)
    codes = np.array([rng.integers(0, r, rows) for r in cards])
    labels = (codes[0] * 2 + codes[1] + (rng.random(rows) < 0.2)) % n_classes
    if weights == "whole":
        weights = rng.integers(1, 4, rows).astype(float)
    elif weights == "any":
        weights = rng.random(rows) * 3
    return codes, cards, labels.astype(np.int64), n_classes, weights


def reference_of(codes, cards, labels, n_classes, weights, **options):
    weights = [1.0] * codes.shape[1] if weights is None else weights.tolist()
    rows = [tuple(row) for row in codes.T.tolist()]
    return Reference(rows, labels.tolist(), weights, cards.tolist(), n_classes, **options)


def climb(*data, **options):
    search = FaceSearch(*data, **options)
    state, ctl = search.start(), Control()
    while not search.done(state):
        state, _ = search.step(state, ctl)
    return search, state


def same(data, prior="aicc", outliers=1.0, cycles=True, max_order=4, max_candidates=None):
    """Both climbs take the same hyperedges, score them alike and keep the same structures."""
    limit = {} if max_candidates is None else {"max_candidates": max_candidates}
    search, state = climb(
        *data, prior=prior, outliers=outliers, cycles=cycles, max_order=max_order, **limit
    )
    twin = reference_of(*data, prior=prior, outliers=outliers)
    order = max_order if cycles else min(max_order, 3)
    path, scores, seen = twin.climb(order, forest=not cycles, max_candidates=max_candidates)
    found = search.structures(state)
    chosen = [tuple(c for c in row if c >= 0) for row in state.faces[state.path].tolist()]
    assert chosen == path
    assert state.scores == pytest.approx(scores, abs=1e-8)
    kept = {c: s for c, s in seen.items() if s >= max(scores) - WINDOW}
    assert {complex_of(s.hyperedges) for s in found} == set(kept)
    for structure in found:
        assert structure.log_posterior == pytest.approx(
            kept[complex_of(structure.hyperedges)], abs=1e-8
        )
        assert structure.free == twin.freedom(structure.hyperedges)
        steps = structure.steps
        assert list(structure.hyperedges[:steps]) == path[:steps]
        assert structure.accepted == (len(structure.hyperedges) == steps)
    best = max(range(len(scores)), key=scores.__getitem__)
    assert list(found[0].hyperedges) == path[:best]
    return path, found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weights", [None, "whole", "any"])
def test_the_climb_is_the_literal_one(seed, weights):
    path, _ = same(random_data(seed, weights=weights, n_classes=2 + seed % 2))
    assert path


@pytest.mark.parametrize("seed", range(4))
def test_with_the_orthodox_prior_and_other_outliers(seed):
    same(random_data(seed, rows=25, n_classes=3), prior="orthodox", outliers=0.3)


@pytest.mark.parametrize("seed", range(6))
def test_without_cycles_it_is_a_forest(seed):
    path, found = same(
        random_data(seed, rows=80, columns=5, most=2), prior="orthodox", cycles=False
    )
    assert max(map(len, path)) == 2
    assert any(s.accepted for s in found)


def map_interactions(codes, cards, labels, n_classes, weights=None, **options):
    """The interactions of the most probable structure, in the order chosen."""
    _, state = climb(codes, cards, labels, n_classes, weights, **options)
    best = state.path[: int(np.argmax(state.scores))]
    return [face_tables.face_columns(row) for row in state.faces[best].tolist()]


def test_a_forest_stays_one_where_a_cycle_would_pay():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (3, 4000))
    odd = (codes[0] ^ codes[1]) + (codes[1] ^ codes[2]) + (codes[0] ^ codes[2] ^ 1)
    labels = (odd + rng.integers(0, 2, 4000) > 1).astype(np.int64)
    data = (codes, np.array([2, 2, 2]), labels, 2)
    pairs = [f for f in map_interactions(*data, max_order=3) if len(f) == 2]
    trees = [f for f in map_interactions(*data, cycles=False) if len(f) == 2]
    assert (len(pairs), len(trees)) == (3, 2)


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_most_promising_are_kept(seed, limit):
    data = random_data(seed, rows=60, columns=5, most=2)
    path, _ = same(data, prior="orthodox", max_candidates=limit)
    assert path


def test_larger_hyperedges():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (5, 600))
    labels = ((codes[:4].sum(axis=0) % 2) ^ (rng.random(600) < 0.05)).astype(np.int64)
    faces = map_interactions(codes, np.full(5, 2), labels, 2, max_order=5)
    assert (0, 1, 2, 3) in faces
    same((codes[:, :120], np.full(5, 2), labels[:120], 2, None), max_order=5, prior="orthodox")


def test_a_constant_column_and_one_class_have_no_candidates():
    codes, cards, labels, n_classes, _ = random_data(0)
    padded = np.vstack([np.zeros_like(codes[:1]), codes])
    faces = map_interactions(padded, np.append(1, cards), labels, n_classes)
    assert faces == [
        tuple(c + 1 for c in f) for f in map_interactions(codes, cards, labels, n_classes)
    ]
    search, state = climb(codes, cards, np.zeros_like(labels), 1)
    assert state.path.size == 0
    assert search.structures(state)[0].hyperedges == ()


def test_no_row_to_spare_means_no_structure():
    search, state = climb(np.array([[0, 1, 1]]), np.array([2]), np.array([0, 1, 2]), 3)
    (only,) = search.structures(state)
    assert (only.hyperedges, only.log_posterior, only.free) == ((), -math.inf, 2)


def test_a_column_of_many_states_is_never_counted(monkeypatch):
    monkeypatch.setattr(face_tables, "MAX_ENTRIES", 500)
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, 60_000, 200), rng.integers(0, 2, 200)])
    labels = codes[1].astype(np.int64)
    assert map_interactions(codes, np.array([60_000, 2]), labels, 2) == [(1,)]
    monkeypatch.setattr(face_tables, "MAX_ENTRIES", 50)
    with raises(TableSizeError, about=("28 sets", "2 columns")):
        map_interactions(*random_data(0, rows=900, columns=8, most=3), max_order=3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_order": 0}, "max_order=0"),
        ({"max_order": 2.5}, "max_order=2.5"),
        ({"outliers": 0.0}, "outliers=0.0"),
        ({"outliers": math.nan}, "outliers=nan"),
        ({"prior": "bic"}, "'aicc'"),
        ({"max_candidates": 0}, "max_candidates=0"),
        ({"outliers": 1e-300}, "outliers=1e-300"),
    ],
)
def test_parameters_that_make_no_sense(options, words):
    with raises(ParameterError, about=words):
        map_interactions(*random_data(0), **options)


def test_sets_that_cannot_be_numbered():
    wide = np.zeros((600, 4), dtype=np.uint8)
    with raises(TableSizeError, about="600 columns"):
        map_interactions(wide, np.full(600, 2), np.array([0, 1, 0, 1]), 2, max_order=8)


def test_of_very_many_columns_the_best_are_paired(monkeypatch):
    data = random_data(2, rows=80, columns=6, most=2)
    with monkeypatch.context() as patch:
        patch.setattr(face_tables, "MAX_PAIRED", 3)
        _, state = climb(*data, prior="orthodox", max_order=3)
    singles = [row[0] for row in state.faces.tolist() if row[1] < 0]
    pairs = [tuple(row) for row in state.faces.tolist() if row[1] >= 0]
    best = sorted(singles, key=lambda c: -state.gains[singles.index(c)])[:3]
    assert len(pairs) == 3
    assert {c for pair in pairs for c in pair} == set(best)


def test_a_stop_is_heard_inside_a_step():
    search = FaceSearch(*random_data(0))
    ctl = Control()
    ctl.cancel()
    with pytest.raises(Stopped):
        search.step(search.start(), ctl)

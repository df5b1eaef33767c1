"""The searches for interactions: against deleted rows, formulas, and the lines of tic-tac-toe."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import counterpane as cp
from counterpane._core.classifiers import LabeledRows
from counterpane.learners.classifiers.interactions import staged_searches
from counterpane.learners.classifiers.interactions.ridge import Ridge, lay_out_interactions
from counterpane.learners.classifiers.interactions.staged_searches import (
    STRENGTH,
    LeaveOneOutModel,
    ScoreModel,
    candidate_interactions,
    leave_one_out_interactions,
    score_interactions,
    subsets_of,
)
from reference.interaction_reference import (
    left_out_log_likelihood,
    score_gain,
    staged_climb,
)

LINES = {(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)}


def gains_of(model, candidates):
    gains = np.full(len(candidates), np.inf)
    model.update_gains(candidates, gains)
    return gains


def make_rows(n_classes=3, rows=40, seed=0):
    rng = np.random.default_rng(seed)
    cards = np.array([2, 3, 2, 2])
    codes = np.array([rng.integers(0, c, rows) for c in cards], dtype=np.uint16)
    labels = (codes[0] ^ (codes[1] > 0)) + (codes[2] > 0) * (n_classes > 2)
    labels = np.where(rng.random(rows) < 0.15, rng.integers(0, n_classes, rows), labels)
    return codes, cards, labels.astype(np.int64)


def tictactoe():
    table = cp.load_dataset("tictactoe")
    last = table.schema.names.index("x_wins") if "x_wins" in table.schema.names else 9
    features = [c for c in range(10) if c != last]
    return table.codes[features].astype(np.uint16), table.codes[last].astype(np.int64)


# ---- leave-one-out -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gains_are_those_of_rows_deleted_one_by_one(n_classes):
    codes, cards, labels = make_rows(n_classes)
    rows = [tuple(row) for row in codes.T.tolist()]
    climb = LeaveOneOutModel(
        LabeledRows(codes, labels, np.ones(len(labels))), cards, n_classes, 3, 1.0
    )

    def reference(faces):
        return left_out_log_likelihood(rows, labels.tolist(), n_classes, faces)

    assert climb.log_likelihood == pytest.approx(reference([]), abs=1e-9)
    chosen = []
    for size in (1, 2, 3):
        candidates = climb.admit(list(combinations(range(4), size)))
        now = reference(chosen)
        expected = [reference([*chosen, face]) - now for face in candidates]
        assert gains_of(climb, candidates) == pytest.approx(expected, abs=1e-9)
        chosen.append(candidates[size])
        climb.add(candidates[size])
        assert climb.log_likelihood == pytest.approx(reference(chosen), abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_climb_is_the_staged_one(n_classes):
    codes, cards, labels = make_rows(n_classes, rows=60)
    rows = [tuple(row) for row in codes.T.tolist()]
    expected = staged_climb(
        4, 3, lambda faces: left_out_log_likelihood(rows, labels.tolist(), n_classes, faces)
    )
    found = leave_one_out_interactions(codes, cards, labels, n_classes, np.ones(60))
    assert found == expected
    assert (0, 1) in found


def test_weights_on_another_scale_take_a_unit():
    codes, cards, labels = make_rows(rows=200)
    plain = leave_one_out_interactions(codes, cards, labels, 3, np.ones(200))
    rows = LabeledRows(codes, labels, np.full(200, 0.5))
    half = LeaveOneOutModel(rows, cards, 3, 3, 0.5)
    assert half.log_likelihood == pytest.approx(
        LeaveOneOutModel(rows._replace(weights=np.ones(200)), cards, 3, 3, 1.0).log_likelihood / 2,
        rel=0.02,
    )
    assert plain


def test_the_triples_of_tic_tac_toe_are_the_lines():
    codes, labels = tictactoe()
    cards = codes.max(axis=1).astype(np.int64) + 1
    found = leave_one_out_interactions(codes, cards, labels, 2, np.ones(len(labels)))
    assert {face for face in found if len(face) == 3} == LINES


def test_noise_has_no_interactions():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (12, 300)).astype(np.uint16)
    labels = rng.integers(0, 2, 300)
    assert leave_one_out_interactions(codes, np.full(12, 3), labels, 2, np.ones(300)) == []


def test_tables_beyond_the_memory_are_not_made(monkeypatch):
    codes, cards, labels = make_rows(rows=60)
    monkeypatch.setattr(staged_searches, "MAX_BYTES", 600)
    climb = LeaveOneOutModel(LabeledRows(codes, labels, np.ones(60)), cards, 3, 3, 1.0)
    admitted = climb.admit([(0,), (1,), (2,), (3,)])
    assert 0 < len(admitted) < 4
    assert np.isfinite(gains_of(climb, admitted)).all()


def test_nothing_to_search():
    codes = np.zeros((2, 5), dtype=np.uint16)
    labels = np.array([0, 1, 0, 1, 1])
    assert leave_one_out_interactions(codes, np.array([1, 3]), labels, 2, np.ones(5)) == []
    assert (
        score_interactions(codes, np.array([1, 3]), labels, 2, np.ones(5), np.empty((0, 5))) == []
    )
    some = np.array([[0, 1, 0, 1, 1]], dtype=np.uint16)
    one = np.zeros(5, dtype=np.int64)
    assert leave_one_out_interactions(some, np.array([2]), one, 1, np.ones(5)) == []
    assert score_interactions(some, np.array([2]), one, 1, np.ones(5), np.empty((0, 5))) == []


# ---- score ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_formula(n_classes):
    codes, cards, labels = make_rows(n_classes, rows=90)
    weights = np.random.default_rng(2).random(90) + 0.5
    numbers = np.random.default_rng(3).normal(size=(2, 90))
    search = ScoreModel(codes, cards, labels, n_classes, weights, numbers)
    proba = np.exp(search.fit.log_proba(0, 90))
    faces = [*combinations(range(4), 2), *combinations(range(4), 3)]
    free = [search._free(search._new(face)) for face in faces]
    assert free[0] == (n_classes - 1) * 2
    assert free[6] == (n_classes - 1) * (2 + 1 + 2 + 2)  # a triple brings its three pairs
    expected = [
        score_gain(codes, labels, weights, proba, face, f)
        for face, f in zip(faces, free, strict=True)
    ]
    assert search._values(faces, free, proba) == pytest.approx(expected, abs=1e-9)


def test_the_search_takes_what_an_exhaustive_one_takes():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (7, 500)).astype(np.uint16)
    cards = np.full(7, 3)
    signal = (codes[0] == codes[1]) * 1.5 + ((codes[2] == 1) & (codes[3] == 2)) * 2.0
    signal = signal + (codes[4] > 0) * (codes[5] > 0) * (codes[6] > 0) * 2.5
    labels = (rng.random(500) < 1 / (1 + np.exp(1.8 - signal))).astype(np.int64)
    none = np.empty((0, 500))
    found = score_interactions(codes, cards, labels, 2, np.ones(500), none)
    held, expected = [(c,) for c in range(7)], []
    design = lay_out_interactions(codes, cards, np.ones(500), held, none)
    ridge = Ridge(design, labels, 2, np.ones(500))
    ridge.solve(STRENGTH)
    for size in (2, 3):
        candidates = list(combinations(range(7), size))
        while True:
            proba = np.exp(ridge.log_proba(0, 500))
            fresh = [[s for s in subsets_of(f)[1:] if s not in held] for f in candidates]
            values = [
                score_gain(codes, labels, np.ones(500), proba, f, sum(2.0 ** len(s) for s in new))
                if new
                else -np.inf
                for f, new in zip(candidates, fresh, strict=True)
            ]
            best = int(np.argmax(values))
            if not values[best] > math.log(len(candidates)):
                break
            expected.append(candidates[best])
            held += fresh[best]
            design = lay_out_interactions(codes, cards, np.ones(500), held, none)
            grown = Ridge(design, labels, 2, np.ones(500))
            grown.start_from(ridge)
            grown.solve(STRENGTH, max_steps=20)
            ridge = grown
    assert found == expected
    assert {(0, 1), (2, 3)} <= set(found)


def test_an_interaction_is_chosen_once_even_if_its_gain_stays_large():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (4, 500)).astype(np.uint16)
    labels = (codes[0] == codes[1]).astype(np.int64)  # no ridge of strength 1 gets enough of it
    found = score_interactions(codes, np.full(4, 3), labels, 2, np.ones(500), np.empty((0, 500)))
    assert found[0] == (0, 1)
    assert len(set(found)) == len(found)


# ---- candidates ----------------------------------------------------------------------------------


def test_candidates_are_all_sets_or_the_most_promising():
    gains = {(c,): float(c) for c in range(6)}
    assert candidate_interactions(range(6), {}, 1) == [(c,) for c in range(6)]
    assert candidate_interactions(range(6), gains, 2) == list(combinations(range(6), 2))
    assert candidate_interactions(range(6), gains, 2, most=3) == [(2, 5), (3, 5), (4, 5)]
    pairs = {pair: float(sum(pair)) for pair in combinations(range(6), 2)}
    assert candidate_interactions(range(6), gains | pairs, 3) == list(combinations(range(6), 3))
    assert candidate_interactions(range(6), gains | pairs, 3, most=2) == [(2, 4, 5), (3, 4, 5)]
    del pairs[4, 5]
    kept = candidate_interactions(range(6), gains | pairs, 3)
    assert kept == [t for t in combinations(range(6), 3) if not {4, 5} <= set(t)]
    assert candidate_interactions([], {}, 2) == candidate_interactions([], {}, 3) == []


@pytest.mark.parametrize("most", [1, 3, 10])
def test_pairs_of_many_columns_are_those_of_the_best_ones(most):
    rng = np.random.default_rng(most)
    gains = {(c,): float(g) for c, g in enumerate(rng.integers(-3, 9, 40) / 2)}  # with ties
    every = list(combinations(range(40), 2))
    sums = [gains[(a,)] + gains[(b,)] for a, b in every]
    largest = [max(gains[(a,)], gains[(b,)]) for a, b in every]
    order = sorted(range(len(every)), key=lambda k: (-sums[k], -largest[k], k))
    assert candidate_interactions(range(40), gains, 2, most=most) == [
        every[k] for k in sorted(order[:most])
    ]

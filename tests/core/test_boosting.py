"""The kernels of boosting beside plain loops over rows."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import boosting
from reference import core_boosting as reference

NO_SETS = (np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64))


def new_trees(rounds, leaves, n_scores):
    nodes = 2 * leaves - 1
    return boosting.Trees(
        np.full((rounds, nodes), -1, dtype=np.int16),
        np.zeros((rounds, nodes), dtype=np.int16),
        np.zeros((rounds, nodes, 4), dtype=np.uint64),
        np.zeros((rounds, nodes), dtype=np.float32),
        np.zeros((rounds, leaves, n_scores), dtype=np.float32),
    )


def settings(n_classes, **changes):
    values = dict(  # noqa: C408
        rate=0.1, penalty=4 * (n_classes - 1) / n_classes**2, min_weight=3.0, row_share=1.0,
        most_leaves=8, most_columns=3, seed=1, patience=40, enough=0.0,
    )  # fmt: skip
    return boosting.Settings(**{**values, **changes})


def make_rows(n_classes, rows=200, seed=0, gaps=True):
    rng = np.random.default_rng(seed)
    numeric = np.array([True, False, True, False, True])
    n_bins = np.array([12, 5, 20, 3, 9])
    bins = np.column_stack([rng.integers(0 if gaps else 1, k, rows) for k in n_bins])
    score = np.sin(bins[:, 0]) + (bins[:, 1] == 2) * (bins[:, 2] > 9) + 0.3 * rng.normal(size=rows)
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return np.ascontiguousarray(bins, dtype=np.uint8), n_bins, numeric, labels.astype(np.int64)


def with_many_states(bins, n_bins, numeric, states=40):
    """The rows with one more column, of states that tell nothing."""
    more = np.random.default_rng(5).integers(0, states, len(bins))
    bins = np.ascontiguousarray(np.column_stack([bins, more]), dtype=np.uint8)
    return bins, np.append(n_bins, states), np.append(numeric, False)


def run(bins, n_bins, numeric, labels, n_classes, rounds, *, weights=None, held=None, sets=NO_SETS,
        parts=1, **changes):  # fmt: skip
    weights = np.ones(len(labels)) if weights is None else weights
    held = np.zeros(len(labels)) if held is None else held
    prior = np.log((np.bincount(labels, weights, n_classes) + 1 / n_classes) / (weights.sum() + 1))
    start = prior[1:] - prior[:1] if n_classes == 2 else prior
    scores = np.repeat(start[None], len(labels), axis=0).astype(np.float32)
    options = settings(n_classes, **{"n_columns": bins.shape[1], **changes})
    trees = new_trees(rounds, options.most_leaves, scores.shape[1])
    curve = np.full(rounds, np.inf)
    data = boosting.Data(bins, n_bins, numeric, labels, weights, held, n_classes)
    done = 0
    for to in np.linspace(0, rounds, parts + 1).astype(int)[1:].tolist():
        if done < to:
            done = boosting.boost(data, options, *sets, done, to, scores, trees, curve)
            if done < to:
                break
    return scores, trees, curve, done, start


def paths(trees, t):
    """The columns on the path to each leaf of a tree."""
    found, stack = [], [(0, frozenset())]
    while stack:
        v, path = stack.pop()
        column = int(trees.column[t, v])
        if column < 0:
            found.append(path)
        else:
            child = int(trees.child[t, v])
            stack += [(child, path | {column}), (child + 1, path | {column})]
    return found


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_boost_beside_plain_loops(n_classes, weighted):
    bins, n_bins, numeric, labels = make_rows(n_classes, seed=n_classes)
    rng = np.random.default_rng(7)
    weights = rng.integers(0, 3, len(labels)).astype(float) if weighted else np.ones(len(labels))
    compare_with_plain_loops(bins, n_bins, numeric, labels, weights, n_classes)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_many_states_beside_plain_loops(n_classes):
    bins, n_bins, numeric, labels = make_rows(n_classes, seed=n_classes)
    bins, n_bins, numeric = with_many_states(bins, n_bins, numeric)
    weights = np.random.default_rng(7).uniform(0.5, 1.5, len(labels))  # no two states tie
    compare_with_plain_loops(bins, n_bins, numeric, labels, weights, n_classes)


def compare_with_plain_loops(bins, n_bins, numeric, labels, weights, n_classes):
    scores, trees, _, _, _ = run(bins, n_bins, numeric, labels, n_classes, 5, weights=weights)
    expected, splits = reference.boost(
        bins, numeric, labels, weights, n_classes, 5, rate=0.1,
        penalty=4 * (n_classes - 1) / n_classes**2, min_weight=3.0, most_leaves=8, most_columns=3,
    )  # fmt: skip
    for t in range(5):
        ours = sorted(
            (int(c), float(g))
            for c, g in zip(trees.column[t], trees.gain[t], strict=True)
            if c >= 0
        )
        theirs = sorted(splits[t])
        assert [c for c, _ in ours] == [c for c, _ in theirs]
        assert [g for _, g in ours] == pytest.approx([g for _, g in theirs], rel=1e-4)
    used = weights > 0
    assert scores[used] == pytest.approx(expected[used], abs=1e-5)


def test_hundreds_of_idle_states_do_not_crowd_out_other_columns():
    rng = np.random.default_rng(0)
    bins = np.column_stack([rng.integers(1, 9, 3000), rng.integers(1, 201, 3000)]).astype(np.uint8)
    labels = (rng.random(3000) < 0.4 + 0.2 * (bins[:, 0] > 4)).astype(np.int64)
    _, trees, _, _, _ = run(bins, np.array([9, 201]), np.array([True, False]), labels, 2, 20)
    assert (trees.column[:, 0] == 0).all()


def test_a_path_stays_within_the_sets():
    bins, n_bins, numeric, labels = make_rows(3)
    sets = (np.array([0, 2, 1, 3, 4]), np.array([0, 2, 4, 5]))
    together = [{0, 2}, {1, 3}, {4}]
    _, trees, _, _, _ = run(bins, n_bins, numeric, labels, 3, 10, sets=sets)
    for t in range(10):
        assert all(any(path <= s for s in together) for path in paths(trees, t))
    _, splits = reference.boost(
        bins, numeric, labels, np.ones(len(labels)), 3, 3, rate=0.1, penalty=8 / 9, min_weight=3.0,
        most_leaves=8, most_columns=3, together=together,
    )  # fmt: skip
    for t in range(3):
        used = sorted(int(c) for c in trees.column[t] if c >= 0)
        assert used == sorted(c for c, _ in splits[t])


@pytest.mark.parametrize("most", [1, 2, 4])
def test_paths_have_few_columns(most):
    bins, n_bins, numeric, labels = make_rows(2, rows=600)
    _, trees, _, _, _ = run(
        bins, n_bins, numeric, labels, 2, 20, most_columns=most, most_leaves=16, row_share=0.5,
        n_columns=4,
    )  # fmt: skip
    lengths = [len(path) for t in range(20) for path in paths(trees, t)]
    assert max(lengths) == most


def test_weight_two_is_a_row_twice():
    bins, n_bins, numeric, labels = make_rows(3, rows=120)
    weights = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    one, *_ = run(bins, n_bins, numeric, labels, 3, 8, weights=weights)
    places = np.repeat(np.arange(120), weights.astype(int))
    two, *_ = run(np.ascontiguousarray(bins[places]), n_bins, numeric, labels[places], 3, 8)
    assert two == pytest.approx(one[places], abs=2e-5)


@pytest.mark.parametrize("n_classes", [2, 4, 9])
def test_add_scores_repeats_the_fit(n_classes):
    bins, n_bins, numeric, labels = make_rows(n_classes, rows=500)
    held = (np.arange(500) % 5 == 0).astype(float)
    scores, trees, curve, done, start = run(
        bins, n_bins, numeric, labels, n_classes, 60, weights=1 - held, held=held, row_share=0.5,
        n_columns=4,
    )  # fmt: skip
    again = np.repeat(start[None], 500, axis=0)
    boosting.add_scores(bins, trees, done, again)
    assert again == pytest.approx(scores, abs=1e-4)
    assert curve[done - 1] == pytest.approx(reference.mean_loss(again, labels, held), abs=1e-5)
    best = np.repeat(start[None], 500, axis=0)
    boosting.add_scores(bins, trees, 10, best)
    assert curve[9] == pytest.approx(reference.mean_loss(best, labels, held), abs=1e-5)


def test_rounds_in_parts_are_the_same_rounds():
    bins, n_bins, numeric, labels = make_rows(7, rows=400)
    whole = run(bins, n_bins, numeric, labels, 7, 12, row_share=0.5, n_columns=3)
    parts = run(bins, n_bins, numeric, labels, 7, 12, row_share=0.5, n_columns=3, parts=5)
    assert (whole[0] == parts[0]).all()
    assert (whole[1].column == parts[1].column).all()
    other = run(bins, n_bins, numeric, labels, 7, 12, row_share=0.5, n_columns=3, seed=2)
    assert (whole[0] != other[0]).any()


def test_boost_stops_when_the_loss_does_not_fall():
    rng = np.random.default_rng(0)
    bins = rng.integers(1, 20, (300, 3)).astype(np.uint8)
    labels = rng.integers(0, 2, 300)
    held = (np.arange(300) % 3 == 0).astype(float)
    *_, curve, done, _ = run(
        bins, np.full(3, 20), np.ones(3, dtype=bool), labels, 2, 500, weights=1 - held, held=held,
        patience=15,
    )  # fmt: skip
    assert done < 500
    assert done - 1 - int(curve[:done].argmin()) == pytest.approx(15, abs=1)


def boxes_of(trees, most=3):
    n_leaves = (trees.column >= 0).sum(axis=1) + 1
    boxes = boosting.Boxes(
        np.empty((n_leaves.sum(), most), dtype=np.int64),
        np.empty((n_leaves.sum(), most, 4), dtype=np.uint64),
    )
    assert boosting.list_boxes(trees, boxes) == n_leaves.sum()
    values = np.concatenate([v[:n] for v, n in zip(trees.values, n_leaves, strict=True)])
    return boxes, values


def inside(boxes, box, place, bins):
    """Whether each bin is among those of one column of a box."""
    words = boxes.bins[box, place]
    return np.array([bool(int(words[b >> 6]) >> (b & 63) & 1) for b in bins.tolist()])


def test_list_boxes_and_add_parts_tell_what_the_trees_do():
    bins, n_bins, numeric, labels = make_rows(3, rows=300)
    _, trees, _, _, start = run(bins, n_bins, numeric, labels, 3, 6, most_leaves=24, min_weight=1.0)
    scores = np.repeat(start[None], 300, axis=0)
    boosting.add_scores(bins, trees, 6, scores)
    boxes, values = boxes_of(trees)
    total = np.repeat(start[None], 300, axis=0)
    shares = np.ones((len(values), 3))
    for box, value in enumerate(values):
        holds = np.ones(300, dtype=bool)
        for place, column in enumerate(boxes.columns[box]):
            if column >= 0:
                own = inside(boxes, box, place, bins[:, column])
                shares[box, place] = own.mean()
                holds &= own
        total[holds] += value
    assert total == pytest.approx(scores, abs=1e-5)
    # Parts by subsets: their sum is the same, and a part does not see other columns.
    parts = np.tile(np.arange(8), (len(values), 1))
    out = np.zeros((8, 300, 3))
    boosting.add_parts(bins, boxes, shares, values, parts, out)
    assert out.sum(axis=0) + start == pytest.approx(scores, abs=1e-5)
    box = int(np.flatnonzero((boxes.columns >= 0).sum(axis=1) == 3)[0])
    only = np.full((len(values), 8), -1)
    only[box] = np.arange(8)
    out[:] = 0
    boosting.add_parts(bins, boxes, shares, values, only, out)
    u = [inside(boxes, box, j, bins[:, c]) for j, c in enumerate(boxes.columns[box])]
    p = shares[box]
    expected = (u[0] - p[0]) * p[1] * (u[2] - p[2])
    assert out[0b101] == pytest.approx(expected[:, None] * values[box], abs=1e-12)
    assert out[0] == pytest.approx(np.tile(p.prod() * values[box], (300, 1)))


def test_add_edges_lays_out_the_parts_of_boxes():
    bins, n_bins, numeric, labels = make_rows(3, rows=300)
    _, trees, *_ = run(bins, n_bins, numeric, labels, 3, 6, most_leaves=24, min_weight=1.0)
    boxes, values = boxes_of(trees)
    rng = np.random.default_rng(0)
    shares = np.where(boxes.columns >= 0, rng.random(boxes.columns.shape), 1.0)
    sets, counts = np.unique(boxes.columns, axis=0, return_counts=True)
    face = sets[(sets >= 0).all(axis=1)][counts[(sets >= 0).all(axis=1)].argmax()]
    which = np.flatnonzero((boxes.columns == face).all(axis=1))
    columns = face[[0, 2]]  # the part of two of three columns, at some of their bins
    at = [np.arange(0, n_bins[c], 2) for c in columns]
    sizes = [len(a) + 1 for a in at]
    out = np.zeros((sizes[0] * sizes[1], 3))
    ends = np.array([0, len(at[0]), len(at[0]) + len(at[1])])
    boosting.add_edges(boxes, shares, values, which, columns, np.concatenate(at), ends, out)
    table = out.reshape(*sizes, 3)
    table[:-1] = table[:-1].cumsum(axis=0)
    table[:, :-1] = table[:, :-1].cumsum(axis=1)
    expected = np.zeros_like(table)
    for box in which:
        u = [
            np.append(inside(boxes, box, j, a), shares[box, j])
            for j, a in zip((0, 2), at, strict=True)
        ]
        expected += shares[box, 1] * np.outer(*u)[:, :, None] * values[box]
    assert table == pytest.approx(expected, abs=1e-12)


def test_list_boxes_refuses_longer_paths():
    bins, n_bins, numeric, labels = make_rows(2, rows=600)
    _, trees, _, _, _ = run(bins, n_bins, numeric, labels, 2, 5, most_columns=4, most_leaves=16)
    leaves = int(((trees.column >= 0).sum(axis=1) + 1).sum())
    room = boosting.Boxes(np.empty((leaves, 2), np.int64), np.empty((leaves, 2, 4), np.uint64))
    assert boosting.list_boxes(trees, room) == -1

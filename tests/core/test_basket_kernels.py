"""The kernels of baskets beside counts of the rows written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

from counterpane._core import counts, independence
from counterpane.data.baskets import read_baskets


def some_baskets(rows=120, items=15):
    rng = np.random.default_rng(rows)
    dense = (rng.random((rows, items)) < rng.uniform(0.0, 0.5, items)).astype(np.int64)
    dense[:, 0] = 0
    return dense, read_baskets(sparse.csr_array(dense)).lists


@pytest.mark.parametrize("columns", [[3], [0, 5], [9, 1, 4, 12, 2]])
def test_count_patterns(columns):
    dense, lists = some_baskets()
    marks = np.zeros(len(dense), dtype=np.uint64)
    patterns, weights = np.empty(64, dtype=np.uint64), np.empty(64, dtype=np.int64)
    n = counts.count_patterns(lists, np.array(columns), marks, patterns, weights)
    keys = dense[:, columns] @ (1 << np.arange(len(columns)))
    expected, number = np.unique(keys, return_counts=True)
    assert patterns[:n].tolist() == expected.tolist()
    assert weights[:n].tolist() == number.tolist()
    assert not marks.any()


@pytest.mark.parametrize("most", [3, 14])
def test_count_companions(most):
    dense, lists = some_baskets()
    items, shared = (np.empty((5, most), dtype=np.int32) for _ in range(2))
    counts.count_companions(lists, 4, items, shared)
    together, alone = dense.T @ dense, dense.sum(axis=0)
    for i in range(5):
        others = [j for j in range(15) if j != 4 + i and together[4 + i, j]]
        cosine = {j: together[4 + i, j] ** 2 / alone[j] for j in others}
        best = sorted(sorted(others, key=lambda j: (-cosine[j], j))[:most])
        assert items[i, : len(best)].tolist() == best
        assert shared[i, : len(best)].tolist() == together[4 + i, best].tolist()
        assert (items[i, len(best) :] == -1).all()


@pytest.mark.parametrize("k", [2, 14])
def test_relate_items(k):
    dense, lists = some_baskets()
    order = np.random.default_rng(0).permutation(15)
    rank = np.argsort(order)
    by_count = np.lexsort((-rank, -dense.sum(axis=0)))
    out = np.empty((15, k), dtype=np.int64)
    independence.relate_items(lists, by_count, rank, 0, out)
    for i in range(15):
        values = {j: chi_square(dense[:, i], dense[:, j]) for j in range(15) if j != i}
        best = [values[j] for j in out[i] if j >= 0]
        expected = sorted((v for v in values.values() if v > 1e-9), reverse=True)[:k]
        assert best == pytest.approx(expected)


def chi_square(x, y):
    total = 0.0
    for a in (0, 1):
        for b in (0, 1):
            expected = (x == a).sum() * (y == b).sum() / len(x)
            if expected:
                total += (((x == a) & (y == b)).sum() - expected) ** 2 / expected
    return total

"""The counting kernels beside cell-by-cell counts."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import counts
from reference.core_counts import bit_sets, common, table_of

CODES = [np.uint8, np.uint16, np.uint32]
CARDS = np.array([2, 3, 1, 5, 4])
SCOPES = [[0], [3], [0, 1], [1, 2, 3], [4, 0, 3, 1]]
ROWS = 300


def queries():
    """(scopes, scope_from, out_from) of SCOPES."""
    sizes = [int(np.prod(CARDS[scope])) for scope in SCOPES]
    lengths = [len(scope) for scope in SCOPES]
    flat = np.array([c for scope in SCOPES for c in scope])
    return flat, np.cumsum([0, *lengths]), np.cumsum([0, *sizes])


def some_codes(dtype=np.uint8):
    rng = np.random.default_rng(1)
    return np.array([rng.integers(0, r, ROWS) for r in CARDS], dtype)


def expected(codes, weights, chosen, rows):
    _, _, out_from = queries()
    out = np.zeros(out_from[-1], np.asarray(weights).dtype)
    for q in chosen:
        out[out_from[q] : out_from[q + 1]] = table_of(codes, weights, CARDS, SCOPES[q], rows)
    return out


@pytest.mark.parametrize("words", [(0, 5), (1, 3)])
def test_count_bits(words):
    codes, chosen = some_codes(), np.array([0, 2, 3, 4])
    bits, first = bit_sets(codes, CARDS)
    flat, scope_from, out_from = queries()
    out = np.zeros(out_from[-1], np.int64)
    counts.count_bits(bits, first, CARDS, flat, scope_from, out_from, chosen, *words, out)
    rows = range(64 * words[0], min(64 * words[1], ROWS))
    assert (out == expected(codes, np.ones(ROWS, int), chosen, rows)).all()


@pytest.mark.parametrize("dtype", CODES)
def test_pack_states(dtype):
    codes = some_codes(dtype)
    codes[1, 7] = 9  # no state of its column
    bits, first = bit_sets(np.where(codes < CARDS[:, None], codes, 0), CARDS)
    bits[first[1], 0] &= ~np.uint64(1 << 7)
    packed, ones = np.zeros((len(bits), 8), np.uint64), np.zeros(len(bits), np.int64)
    counts.pack_states(codes, np.array([0, 1, 2, 4]), CARDS, first, packed, ones)
    bits[first[3] : first[4]] = 0  # not asked for
    assert (packed[:, : bits.shape[1]] == bits).all()
    assert not packed[:, bits.shape[1] :].any()
    assert ones.tolist() == [sum(int(w).bit_count() for w in row) for row in bits]


@pytest.mark.parametrize("dtype", CODES)
def test_count_radix(dtype):
    codes, chosen = some_codes(dtype), np.array([1, 2, 3, 4])
    flat, scope_from, out_from = queries()
    out = np.zeros(out_from[-1], np.int64)
    counts.count_radix(codes, CARDS, flat, scope_from, out_from, chosen, 7, 290, out)
    assert (out == expected(codes, np.ones(ROWS, int), chosen, range(7, 290))).all()


@pytest.mark.parametrize("dtype", CODES)
def test_count_radix_of_large_tables(dtype):
    """Above 65,536 cells they are numbered by 32 bits, above 1,024 histograms are not split."""
    rng = np.random.default_rng(2)
    cards = np.array([200, 200, 9])
    codes = np.array([rng.integers(0, r, 20_000) for r in cards], dtype)
    flat, scope_from, out_from = (
        np.array([0, 1, 2, 2, 0]),
        np.array([0, 3, 5]),
        np.array([0, 360_000, 361_800]),
    )
    out = np.zeros(361_800, np.int64)
    counts.count_radix(codes, cards, flat, scope_from, out_from, np.arange(2), 0, 20_000, out)
    table = np.zeros((200, 200, 9), np.int64)
    np.add.at(table, tuple(codes.astype(int)), 1)
    assert (out[:360_000] == table.ravel()).all()
    assert (out[360_000:] == table.sum(axis=1).T.ravel()).all()


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_count_weighted(dtype, kind):
    codes, chosen = some_codes(dtype), np.array([0, 3, 4])
    weights = np.random.default_rng(3).integers(0, 9, ROWS).astype(kind) / (
        2 if kind is np.float64 else 1
    )
    weights = weights.astype(kind)
    flat, scope_from, out_from = queries()
    out = np.zeros(out_from[-1], kind)
    counts.count_weighted(codes, weights, CARDS, flat, scope_from, out_from, chosen, 0, ROWS, out)
    assert (out == expected(codes, weights, chosen, range(ROWS))).all()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("width", [3, 1500])
def test_pair_popcounts(symmetric, width):
    rng = np.random.default_rng(4)
    left = rng.integers(0, 2**63, (13, width + 2)).astype(np.uint64)
    right = left if symmetric else rng.integers(0, 2**63, (11, width + 2)).astype(np.uint64)
    rows = np.array([3, 0, 5, 12, 7, 1, 9, 8, 4])
    others = rows if symmetric else np.array([1, 9, 0, 10, 2, 6])
    out_rows = np.arange(len(rows))[::-1].copy()
    out = np.ones((len(rows), len(others)), np.int64)
    counts.pair_popcounts(
        left, rows, 1, right, others, 1 if symmetric else 2, width, symmetric, out_rows, out
    )
    start = 1 if symmetric else 2
    for a in range(len(rows)):
        for b in range(a if symmetric else 0, len(others)):
            bits = common(left[rows[a], 1 : 1 + width], right[others[b], start : start + width])
            assert out[out_rows[a], b] == 1 + bits


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_pair_weights(dtype, kind):
    codes = some_codes(dtype)
    weights = np.random.default_rng(5).integers(0, 9, ROWS).astype(kind)
    left, right = np.array([1, 3]), np.array([0, 4, 1])
    out = np.zeros((8, 9), kind)
    counts.pair_weights(
        codes, weights, left, np.array([0, 3, 8]), right, np.array([0, 2, 6, 9]), 5, 280, out
    )
    blocks = [
        [
            np.reshape(table_of(codes, weights, CARDS, [i, j], range(5, 280)), (CARDS[i], CARDS[j]))
            for j in right
        ]
        for i in left
    ]
    assert (out == np.block(blocks)).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_spread_pairs(symmetric):
    codes = some_codes()
    left = [0, 1, 3]
    right = left if symmetric else [4, 1]
    ones, weights = np.ones(ROWS, int), range(ROWS)

    def block(i, j, kept):
        if i == j:
            table = np.diag(table_of(codes, ones, CARDS, [i], weights))
        else:
            table = np.reshape(table_of(codes, ones, CARDS, [i, j], weights), (CARDS[i], CARDS[j]))
        return table[: CARDS[i] - kept, : CARDS[j] - kept]

    def matrix(kept):
        return np.block([[block(i, j, kept) for j in right] for i in left])

    alone = [
        np.concatenate([table_of(codes, ones, CARDS, [i], weights) for i in side])
        for side in (left, right)
    ]
    full = matrix(0)
    out = np.zeros_like(full)
    counts.spread_pairs(
        np.ascontiguousarray(matrix(1)), CARDS[left], CARDS[right], *alone, symmetric, out
    )
    assert (out == full).all()


def test_lay_out():
    flat, scope_from, out_from = queries()
    out = np.full(len(SCOPES) + 1, -7)
    assert counts.lay_out(CARDS, flat, scope_from, 60, out) == -1
    sizes = [s if s <= 60 else 0 for s in np.diff(out_from)]
    assert out.tolist() == np.cumsum([0, *sizes]).tolist()
    assert (
        counts.lay_out(
            CARDS, np.array([0, 1, 1, 2, 2]), np.array([0, 2, 5]), 60, np.zeros(3, np.int64)
        )
        == 1
    )
    assert (
        counts.lay_out(CARDS, np.array([0, 9]), np.array([0, 1, 2]), 60, np.zeros(3, np.int64)) == 1
    )
    many = np.full(100, 1000)
    out = np.zeros(2, np.int64)
    assert counts.lay_out(many, np.arange(100), np.array([0, 100]), 2**62, out) == -1
    assert out[1] == 0

"""Bit sets, hashes and partner lists against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import counts, wide
from counterpane.counts.bitsets import words_to


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200, 1000])
def test_pack_states(dtype, rows):
    rng = np.random.default_rng(rows)
    cards = np.array([2, 1, 5, 3])
    codes = np.array([rng.integers(0, card, rows) for card in cards], dtype=dtype)
    codes = codes.reshape(4, rows)
    first = np.cumsum(cards) - cards
    words = np.zeros((int(cards.sum()), words_to(rows)), dtype=np.uint64)
    total = np.full(len(words), -1)
    columns = np.array([3, 0, 2])
    counts.pack_states(codes, columns, cards, first, words, total)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    for v in range(4):
        for s in range(cards[v]):
            inside = codes[v] == s if v in columns else np.zeros(rows, dtype=bool)
            assert (bits[first[v] + s, :rows] == inside).all()
            assert not bits[first[v] + s, rows:].any()
            assert total[first[v] + s] == (inside.sum() if v in columns else -1)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_high_codes_are_no_other_state(dtype):
    codes = np.array([[0, 128, 255, 127, 1, 129] * 20], dtype=dtype)
    words, total = np.zeros((256, words_to(120)), dtype=np.uint64), np.zeros(256, dtype=np.int64)
    one = np.zeros(1, dtype=np.int64)
    counts.pack_states(codes, one, np.array([256]), one, words, total)
    assert {s: t for s, t in enumerate(total.tolist()) if t} == dict.fromkeys(
        (0, 1, 127, 128, 129, 255), 20
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("rows", [1, 7, 8, 100])
def test_hash_columns(dtype, rows):
    rng = np.random.default_rng(rows)
    codes = rng.integers(0, 3, (200, rows)).astype(dtype)
    codes[50], codes[120] = codes[3], 1
    hashes, constant = np.zeros(200, dtype=np.uint64), np.zeros(200, dtype=bool)
    counts.hash_columns(codes, hashes, constant)
    assert (constant == (codes == codes[:, :1]).all(axis=1)).all()
    for a in range(0, 200, 7):
        assert ((hashes == hashes[a]) == (codes == codes[a]).all(axis=1)).all()


def test_list_partners():
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, 30, (80, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    gains = rng.random(len(pairs))
    begins = np.zeros(32, dtype=np.int64)
    partners, theirs = np.zeros(pairs.shape, dtype=np.int32), np.zeros(pairs.shape)
    wide.list_partners(pairs, gains, begins, partners, theirs)
    for v in range(31):
        expected = [(b, g) for (a, b), g in zip(pairs.tolist(), gains, strict=True) if a == v]
        expected += [(a, g) for (a, b), g in zip(pairs.tolist(), gains, strict=True) if b == v]
        part = slice(begins[v], begins[v + 1])
        found = zip(partners.ravel()[part].tolist(), theirs.ravel()[part].tolist(), strict=True)
        assert list(found) == expected

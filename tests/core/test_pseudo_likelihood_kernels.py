"""The kernels of the pseudo-likelihood beside naive references: tables and rules on shared rows."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import markov
from reference import core_dependency as naive
from reference.core_counts import bit_sets
from reference.dependent_codes import CARDS, ROWS, ints, offsets_of, some_codes

TABLE = (0, 3)  # scope
RULES = [
    ([(0, 1, False), (1, 2, False)], 0.7),
    ([(1, 0, True), (3, 2, False)], -1.1),
    ([(3, 1, True), (4, 0, True), (1, 1, True)], 0.4),
    ([(4, 1, False)], 0.0),
]
BLOCK = (64, 290)  # rows that are read


def conjunctions_of(first):
    """For each rule and each of its variables, its conditions on the others."""
    flat = [condition for rule, _ in RULES for condition in rule]
    ends = offsets_of([rule for rule, _ in RULES])
    entries = [
        (v, r)
        for v in range(CARDS.size)
        for r, (rule, _) in enumerate(RULES)
        if any(u == v for u, _, _ in rule)
    ]
    variables = ints([c[0] for c in flat])
    asked = markov.Conjunctions(
        np.full(len(entries), BLOCK[0] // 64), np.full(len(entries), -(-BLOCK[1] // 64)),
        ends[[r for _, r in entries]], ends[[r + 1 for _, r in entries]],
        ints([v for v, _ in entries]), variables,
        first[variables] + [c[1] for c in flat], np.array([c[2] for c in flat]),
    )  # fmt: skip
    return entries, asked


def rows_of_entries(codes, entries):
    return [
        [
            i
            for i in range(*BLOCK)
            if all((codes[u][i] == s) != n for u, s, n in RULES[r][0] if u != v)
        ]
        for v, r in entries
    ]


def row_lists(codes):
    words, first = bit_sets(codes, CARDS)
    entries, asked = conjunctions_of(first)
    valid = np.zeros(words.shape[1], np.uint64)
    inside = np.packbits(
        (np.arange(64 * valid.size) >= BLOCK[0]) & (np.arange(64 * valid.size) < BLOCK[1]),
        bitorder="little",
    )
    valid.view(np.uint8)[:] = inside
    sizes, opposite = np.empty(len(entries), np.int64), np.empty(len(entries), bool)
    markov.count_rows(words, valid, asked, sizes, opposite)
    offsets = np.cumsum([0, *sizes])
    positions = np.empty(offsets[-1], np.uint16)
    markov.list_rows(words, valid, asked, opposite, offsets, positions)
    return entries, markov.RowLists(np.arange(len(entries)), offsets, opposite, positions)


def test_row_lists():
    codes = some_codes()
    entries, lists = row_lists(codes)
    for e, read in enumerate(rows_of_entries(codes, entries)):
        listed = lists.positions[lists.offsets[e] : lists.offsets[e + 1]] + BLOCK[0]
        whole = set(range(*BLOCK))
        assert lists.opposite[e] == (2 * len(read) > len(whole))
        assert sorted(listed) == sorted(whole - set(read) if lists.opposite[e] else read)
    assert lists.opposite.any()
    assert not lists.opposite.all()


def pseudo_log_likelihood(codes, row_weights, table, numbers, v):
    """Σ weight · ln P(x_v | rest) over the block; numbers[r, s] is what rule r adds for state s."""
    total = 0.0
    for i in range(*BLOCK):
        scores = np.zeros(CARDS[v])
        for s in range(CARDS[v]):
            row = codes[:, i].astype(int)
            row[v] = s
            if v in TABLE:
                scores[s] += table[tuple(row[list(TABLE)])]
            for r, (rule, _) in enumerate(RULES):
                own = [c for c in rule if c[0] == v]
                if own and all((row[u] == t) != n for u, t, n in rule if u != v):
                    scores[s] += numbers[v, r][s]
        total += row_weights[i] * naive.log_softmax(scores)[codes[v, i]]
    return total


def test_add_pseudo_gradient():
    """Value and slopes beside finite differences, for tables and for rules."""
    rng = np.random.default_rng(6)
    codes, row_weights = some_codes(np.uint16), rng.random(ROWS) * 3
    table = rng.normal(size=CARDS[list(TABLE)])
    entries, lists = row_lists(codes)
    numbers = {e: np.append(0.0, rng.normal(size=CARDS[e[0]] - 1)) for e in entries}
    by_slot = np.concatenate([numbers[e][1:] for e in entries])
    entry_from = ints([sum(u < v for u, _ in entries) for v in range(CARDS.size + 1)])
    slot_from = ints(
        [sum(CARDS[u] - 1 for u, _ in entries if u < v) for v in range(CARDS.size + 1)]
    )
    everything = np.arange(CARDS.size)
    view = markov.PseudoView(
        codes, row_weights, everything, everything, np.full(5, BLOCK[0]), np.full(5, BLOCK[1]),
        ints([0, 1, 1, 1, 2, 2]), ints([2, 2]), ints([4, 1]), ints([0, 1, 2]), ints([3, 0]),
        ints([1, 4]),
    )  # fmt: skip
    values = np.concatenate([[9.0, 9.0], table.ravel()])

    def evaluate(values, by_slot):
        minus = np.zeros(5)
        slopes = np.zeros_like(values), np.zeros_like(by_slot)
        for first, last in ((0, 2), (2, 5)):
            markov.add_pseudo_gradient(
                view, lists, CARDS, entry_from, slot_from, first, last, values, by_slot, minus,
                *slopes,
            )  # fmt: skip
        return minus, *slopes

    minus, by_value, by_entry = evaluate(values, by_slot)
    expected = [
        -pseudo_log_likelihood(codes, row_weights, table, numbers, v) for v in range(CARDS.size)
    ]
    np.testing.assert_allclose(minus, expected, rtol=1e-10, atol=1e-10)
    step = 1e-5
    for point, slopes, which in ((values, by_value, 0), (by_slot, by_entry, 1)):
        for k in range(point.size):
            sides = []
            for sign in (1, -1):
                moved = point.copy()
                moved[k] += sign * step
                pair = (moved, by_slot) if which == 0 else (values, moved)
                sides.append(evaluate(*pair)[0].sum())
            assert slopes[k] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-5)

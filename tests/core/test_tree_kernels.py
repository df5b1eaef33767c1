"""The kernels of probability trees beside naive references."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane._core import dependency
from reference import core_dependency as naive
from reference.core_counts import bit_sets
from reference.dependent_codes import CARDS, CODES, ROWS, ints, some_codes


def questions_of(codes):
    pairs = [(v, s) for v in (3, 0, 1, 4) for s in range(CARDS[v] if CARDS[v] > 2 else 1)]
    columns, values = ints([v for v, _ in pairs]), ints([s for _, s in pairs])
    return columns, values, np.array([codes[v] == s for v, s in pairs])


def tree_rows(codes, weights, dtype=np.uint16):
    words, first = bit_sets(codes, CARDS)
    columns, values, answers = questions_of(codes)
    bit_rows = first[columns] + values
    yes_from = np.cumsum([0, *answers.sum(axis=0)])
    yes = np.concatenate([np.flatnonzero(row) for row in answers.T]).astype(dtype)
    return dependency.TreeRows(
        codes, weights, words, first, columns, values, bit_rows, yes_from, yes
    )


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_answers(dtype):
    rows = tree_rows(some_codes(), ints([]), dtype)
    yes_from = np.full(ROWS + 1, -7)
    dependency.count_answers(rows.words, rows.bit_rows, yes_from)
    assert (yes_from == rows.yes_from).all()
    yes = np.empty_like(rows.yes)
    dependency.list_answers(rows.words, rows.bit_rows, yes_from, yes)
    assert (yes == rows.yes).all()


def terms_of(states, total, *, price=0.5, least=4, few=20, pseudo=0.25, logs=True):
    counts = np.arange(total + 1 if logs else 0, dtype=float)
    c_logs, n_logs = (
        counts * np.log(np.where(counts > 0, counts + p, 1.0)) for p in (pseudo, states * pseudo)
    )
    return dependency.TreeTerms(price, least, few, 1.0, pseudo, c_logs, n_logs)


def grow(rows, target, terms):
    states, most = int(CARDS[target]), 2 * ROWS
    tree = dependency.GrownTree(
        np.empty(most, np.int64), np.empty((most, 2), np.int64), np.empty(most),
        np.empty((most, states), np.int64),
    )  # fmt: skip
    n = dependency.grow_tree(rows, target, rows.columns != target, terms, tree)
    return dependency.GrownTree(*(part[:n] for part in tree))


def expected_tree(codes, weights, target, terms):
    columns, _, answers = questions_of(codes)
    rule = (terms.price, terms.least, terms.pseudo, int(CARDS[target]))
    return naive.grown(answers, codes[target].astype(int), weights, columns != target, rule)


def assert_same(tree, expected, node=0, reach=np.inf):
    """Returns the number of nodes below, this one included."""
    question, gain, counts, yes, no = expected
    assert tree.questions[node] == question
    assert tree.counts[node].tolist() == counts.tolist()
    if question < 0:
        assert tree.gains[node] == -np.inf
        assert tree.children[node].tolist() == [-1, -1]
        return 1
    assert tree.gains[node] == pytest.approx(min(gain, reach))
    return 1 + sum(
        assert_same(tree, child, tree.children[node, k], tree.gains[node])
        for k, child in enumerate((yes, no))
    )


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("question", [np.uint16, np.uint32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("few", [0, 40, 1000])
def test_grow_tree(dtype, question, weighted, few):
    codes = some_codes(dtype)
    weights = np.random.default_rng(7).integers(0, 5, ROWS) if weighted else ints([])
    rows = tree_rows(codes, weights, question)
    plain = weights if weighted else np.ones(ROWS, int)
    sizes = []
    for target in (0, 1, 3):
        terms = terms_of(CARDS[target], int(plain.sum()), few=few, logs=target != 1)
        tree = grow(rows, target, terms)
        expected = expected_tree(codes, plain, target, terms)
        assert assert_same(tree, expected) == tree.questions.size
        sizes.append(tree.questions.size)
    assert max(sizes) > 9


@pytest.mark.parametrize("price", [0.5, 3.0, 12.0, 1e9])
def test_cut_tree(price):
    codes, target = some_codes(), 3
    rows, terms = tree_rows(codes, ints([])), terms_of(4, ROWS)
    tree = grow(rows, target, terms)
    size = tree.questions.size
    tests, children = np.empty((2, size, 2), np.int64)
    logs = np.empty((size, 4))
    n, score = dependency.cut_tree(
        tree, rows.columns, rows.values, price, terms, tests, children, logs
    )
    expected = expected_tree(codes, np.ones(ROWS, int), target, terms)
    _, _, answers = questions_of(codes)
    total = 0.0
    for i in range(ROWS):
        node = 0
        while tests[node, 0] >= 0:
            assert (logs[node] == 0.0).all()
            node = children[node, 0 if codes[tests[node, 0], i] == tests[node, 1] else 1]
        chances = naive.log_chances(expected, price, answers[:, i], terms.pseudo)
        np.testing.assert_allclose(logs[node], chances)
        assert children[node].tolist() == [-1, -1]
        total += chances[codes[target, i]]
    assert score == pytest.approx(total)
    assert n == 1 + 2 * np.count_nonzero(tests[:n, 0] >= 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_judge_tree(weighted):
    codes, target = some_codes(), 3
    rows, terms = tree_rows(codes, ints([])), terms_of(4, ROWS)
    tree = grow(rows, target, terms)
    expected = expected_tree(codes, np.ones(ROWS, int), target, terms)
    others = some_codes(seed=8, rows=130)
    words, first = bit_sets(others, CARDS)
    _, _, answers = questions_of(others)
    weights = np.random.default_rng(9).random(130) if weighted else np.zeros(0)
    prices = np.array([0.5, 3.0, 12.0, 1e9])
    masks = np.empty((10, words.shape[1]), np.uint64)
    masks[0] = words[0] | words[1]
    bit_rows = np.append(first[rows.columns] + rows.values, -1)[tree.questions]
    out = np.ones(4)
    dependency.judge_tree(words, first, weights, target, bit_rows, tree, prices, terms, masks, out)
    for price, got in zip(prices, out, strict=True):
        total = 1.0
        for i in range(130):
            logs = naive.log_chances(expected, price, answers[:, i], terms.pseudo)
            total += logs[others[target, i]] * (weights[i] if weighted else 1)
        assert got == pytest.approx(total)

"""The kernels of potentials, rules and trees beside sums over their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counterpane._core import features
from reference import core_features as reference

CODES = [np.uint8, np.uint16]
CARDS = [2, 3, 4, 2]
ROWS = 150  # three blocks of words


def random_parts(seed, trees=False):
    """(potentials, rules, trees) over CARDS."""
    rng = np.random.default_rng(seed)
    scopes = [(0, 1), (2,), (3, 1, 2)]
    potentials = [(scope, rng.normal(size=[CARDS[v] for v in scope])) for scope in scopes]
    rules = [(0.3, []), (-1.0, [(2, 0, True), (0, 1, False), (2, 3, True)])]
    for _ in range(6):
        chosen = rng.permutation(4)[: rng.integers(1, 4)]
        conditions = [(int(v), int(rng.integers(CARDS[v])), bool(rng.integers(2))) for v in chosen]
        rules.append((rng.normal(), conditions))
    forest = [(v, *random_tree(rng, v)) for v in (1, 3)] if trees else []
    return potentials, rules, forest


def random_tree(rng, target, depth=3):
    """(rows, log-values by node) of a tree that asks other variables, some of them twice."""
    rows, logs = [], []

    def grow(depth):
        here = len(rows)
        rows.append((-1, 0, 0, 0))
        logs.append(rng.normal(size=CARDS[target]))
        if depth and rng.random() < 0.9:
            v = int(rng.choice([u for u in range(4) if u != target]))
            value = int(rng.integers(CARDS[v]))
            yes, no = grow(depth - 1), grow(depth - 1)
            rows[here] = (v, value, yes, no)
        return here

    grow(depth)
    return rows, logs


def random_codes(dtype, n_rows=ROWS):
    rng = np.random.default_rng(0)
    return np.array([rng.integers(0, r, n_rows) for r in CARDS], dtype)


def expected_conditionals(parts, codes, v):
    logits = [reference.conditional(CARDS, *parts, row, v) for row in codes.T.tolist()]
    return np.array([reference.normalized(x) for x in logits])


def word_rules(rules):
    """The fields of `WordRules`: conditions sorted by variable."""
    firsts = np.cumsum([0, *CARDS])
    ordered = [sorted(conditions, key=lambda c: c[0]) for _, conditions in rules]
    return (
        np.array([weight for weight, _ in rules]),
        reference.offsets(ordered),
        reference.joined([[v for v, _, _ in some] for some in ordered]),
        reference.joined([[firsts[v] + s for v, s, _ in some] for some in ordered]),
        reference.joined([[no for _, _, no in some] for some in ordered], bool),
        firsts,
    )


@pytest.mark.parametrize("dtype", CODES)
def test_fill_conditionals(dtype):
    parts = random_parts(1, trees=True)
    codes, variables = random_codes(dtype), np.array([2, 1])
    out = np.full((ROWS, 7), np.nan)
    flat = reference.flat_parts(CARDS, *parts)
    assert features.fill_conditionals(flat, codes, variables, 10, 30, out) == -1
    assert np.isnan(out[:10]).all() and np.isnan(out[30:]).all()
    some = codes[:, 10:30]
    expected = np.hstack([expected_conditionals(parts, some, v) for v in (2, 1)])
    np.testing.assert_allclose(out[10:30], expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("total", [False, True])
def test_add_pseudo_log_likelihood(dtype, total):
    parts = random_parts(2, trees=True)
    codes = random_codes(dtype)
    out = np.ones((ROWS, 1 if total else 4))
    flat = reference.flat_parts(CARDS, *parts)
    assert features.add_pseudo_log_likelihood(flat, codes, 0, 40, out) == -1
    own = [
        expected_conditionals(parts, codes[:, :40], v)[np.arange(40), codes[v, :40]]
        for v in range(4)
    ]
    expected = np.sum(own, axis=0)[:, None] if total else np.transpose(own)
    np.testing.assert_allclose(out[:40], 1 + expected, rtol=1e-11)
    assert (out[40:] == 1).all()


@pytest.mark.parametrize("dtype", CODES)
def test_add_log_potential(dtype):
    potentials, rules, _ = random_parts(3)
    codes, out = random_codes(dtype), np.ones(ROWS)
    features.add_log_potential(reference.flat_parts(CARDS, potentials, rules), codes, 5, ROWS, out)
    expected = [reference.log_potential(potentials, rules, row) for row in codes.T.tolist()]
    np.testing.assert_allclose(out[5:], 1 + np.array(expected[5:]), rtol=1e-12)
    assert (out[:5] == 1).all()


@pytest.mark.parametrize("dtype", CODES)
def test_blocks_of_words(dtype):
    potentials, rules, _ = random_parts(4)
    codes, rest = random_codes(dtype), reference.flat_parts(CARDS, potentials)
    conditionals = [
        expected_conditionals((potentials, rules, []), codes, v) for v in range(len(CARDS))
    ]
    out = np.empty((ROWS, sum(CARDS)))
    words = word_rules(rules)
    assert features.fill_conditionals_by_words(rest, words, codes, 0, ROWS, out) == -1
    np.testing.assert_allclose(out, np.hstack(conditionals), rtol=1e-11)
    own = np.array([c[np.arange(ROWS), codes[v]] for v, c in enumerate(conditionals)])
    for width in (1, 4):
        out = np.zeros((ROWS, width))
        assert features.add_pseudo_log_likelihood_by_words(rest, words, codes, 3, ROWS, out) == -1
        expected = own.T if width == 4 else own.sum(axis=0)[:, None]
        np.testing.assert_allclose(out[3:], expected[3:], rtol=1e-11)
        assert (out[:3] == 0).all()


def test_where_no_state_is_possible():
    """Row · n_variables + variable of the first place, variable by variable or block by block."""
    wall = np.zeros((2, 4))
    wall[1] = -np.inf
    codes = random_codes(np.uint8, 200)
    codes[0] = 0
    codes[0, 70] = 1
    potentials = [((0, 2), wall)]
    flat = reference.flat_parts(CARDS, potentials)
    out = np.zeros((200, 4))
    assert features.fill_conditionals(flat, codes, np.array([2]), 0, 200, out) == 70 * 4 + 2
    assert features.add_pseudo_log_likelihood(flat, codes, 0, 200, out) == 70 * 4 + 2
    words = word_rules([(1.0, [(1, 0, False)])])
    wide = np.zeros((200, sum(CARDS)))
    assert features.fill_conditionals_by_words(flat, words, codes, 0, 200, wide) == 70 * 4 + 2
    assert (
        features.add_pseudo_log_likelihood_by_words(flat, words, codes, 0, 200, out) == 70 * 4 + 2
    )


@pytest.mark.parametrize("seed", range(20))
def test_find_contradiction(seed):
    rng = np.random.default_rng(seed)
    rules = []
    for _ in range(4):
        chosen = rng.integers(4, size=rng.integers(4))
        conditions = [
            (int(v), int(rng.integers(CARDS[v])), bool(rng.random() < 0.7)) for v in chosen
        ]
        rules.append((0.0, conditions))
    flat = reference.flat_parts(CARDS, rules=rules)
    found = features.find_contradiction(np.array(CARDS), *flat[11:15])
    assert found == reference.first_contradiction(CARDS, rules)


@pytest.mark.parametrize("seed", range(30))
def test_paths(seed):
    rng = np.random.default_rng(seed)
    trees = [(v, *random_tree(rng, v, depth=5)) for v in (0, 1, 2)]
    flat = reference.flat_parts(CARDS, trees=trees)
    cards, roots, nodes = flat[0], flat[16], flat[17]
    parents, sizes = np.full((2, len(nodes)), -7)
    features.mark_paths(cards, nodes, roots[:-1], parents, sizes)
    expected = [
        (root + leaf, conditions)
        for root, (_, rows, _) in zip(roots, trees, strict=False)
        for leaf, conditions in sorted(reference.paths(CARDS, rows), key=lambda path: path[0])
    ]
    leaves = np.flatnonzero((nodes[:, 0] < 0) & (sizes >= 0))
    assert leaves.tolist() == [leaf for leaf, _ in expected]
    assert sizes[leaves].tolist() == [len(conditions) for _, conditions in expected]
    offsets = np.cumsum([0, *sizes[leaves]])
    variables, values = np.empty((2, offsets[-1]), np.int64)
    negated = np.empty(offsets[-1], np.bool_)
    features.fill_paths(cards, nodes, parents, sizes, leaves, offsets, variables, values, negated)
    conditions = list(zip(variables.tolist(), values.tolist(), negated.tolist(), strict=True))
    assert conditions == [c for _, some in expected for c in some]


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_simplify_conditions(seed, certain):
    """Equal forms for conjunctions that hold in the same rows, and for no others."""
    rng = np.random.default_rng(seed)
    cards = [2, 3, 1, 4]
    rows = list(itertools.product(*map(range, cards)))
    given = []
    while len(given) < 200:
        some = rng.integers(0, len(cards), rng.integers(0, 7)).tolist()
        conditions = [(v, int(rng.integers(cards[v])), bool(rng.random() < 0.7)) for v in some]
        if any(reference.holds(conditions, row) for row in rows):
            given.append(conditions)
    flat = [c for conditions in given for c in conditions]
    variables, values = (np.array([c[k] for c in flat], np.int64) for k in (0, 1))
    arrays = np.cumsum([0, *map(len, given)]), variables, values, np.array([c[2] for c in flat])
    out = [np.empty_like(array) for array in arrays]
    n = features.simplify_conditions(np.array(cards), *arrays, certain, *out)
    assert out[0][0] == 0 and out[0][-1] == n
    seen = {}
    for conditions, lo, hi in zip(given, out[0][:-1], out[0][1:], strict=True):
        form = tuple(zip(*(array[lo:hi].tolist() for array in out[1:]), strict=True))
        assert list(form) == sorted(set(form))
        met = tuple(reference.holds(conditions, row) for row in rows)
        assert met == tuple(reference.holds(form, row) for row in rows)
        named = {c[0] for c in conditions if certain or cards[c[0]] > 1}
        assert {v for v, _, _ in form} == named
        assert seen.setdefault((met, tuple(sorted(named))), form) == form
        for v in named:
            own = [(s, negative) for u, s, negative in form if u == v]
            assert own == [(own[0][0], False)] or (
                all(x for _, x in own) and len(own) < cards[v] - 1
            )

"""The kernels of the field learners beside naive references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counterpane._core import dependency, features, markov
from reference import core_dependency as naive
from reference.core_counts import bit_sets

CODES = [np.uint8, np.uint16, np.uint32]
CARDS = np.array([2, 3, 1, 4, 2])
ROWS = 300


def some_codes(dtype=np.uint8, seed=1, rows=ROWS):
    """Columns that depend on each other."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, rows)
    noise = rng.random((CARDS.size, rows)) < 0.3
    codes = [np.where(noise[v], rng.integers(0, r, rows), hidden % r) for v, r in enumerate(CARDS)]
    return np.array(codes, dtype)


def offsets_of(lists):
    return np.cumsum([0, *map(len, lists)])


def ints(values):
    return np.array(values, dtype=np.int64)


# Conversion: terms (target, number of each state, condition codes)

FIRSTS = np.cumsum(CARDS) - CARDS


def code(v, s, negated=False):
    return 2 * int(FIRSTS[v] + s) + negated


TERMS = [
    (0, [0.5, -1.0], [code(1, 2), code(3, 0, True)]),
    (1, [0.25, 0.25, -2.0], [code(0, 1), code(4, 0), code(4, 0)]),
    (1, [1.0, 2.0, 4.0], [code(1, 1, True), code(0, 0)]),
    (3, [0.0, 0.0, 3.0, 0.0], [code(1, 0, True), code(1, 2, True), code(2, 0)]),
    (3, [1.0, 1.0, 1.0, 1.0], [code(1, 0)]),
    (4, [-0.5, 0.75], []),
    (4, [0.5, 0.0], [code(3, 1, True), code(3, 2, True), code(0, 0), code(1, 1)]),
    (0, [-np.inf, 1.5], [code(3, 3)]),
]


def raw_terms():
    numbers = [n for _, n, _ in TERMS]
    # states of the second term are stored backwards
    numbers[1] = numbers[1][::-1]
    starts, steps = offsets_of(numbers)[:-1], np.ones(len(TERMS), np.int64)
    starts[1] += 2
    steps[1] = -1
    codes = [c for _, _, c in TERMS]
    targets = ints([t for t, _, _ in TERMS])
    flat = ints([c for one in codes for c in one])
    return dependency.RawTerms(
        targets, starts, steps, offsets_of(codes), flat, np.concatenate(numbers)
    )


def space(base=None):
    rng = np.random.default_rng(2)
    if base is None:
        base = np.concatenate([rng.dirichlet(np.ones(r)) for r in CARDS])
        base[0], base[1] = 0.0, 1.0  # so that no impossible state is at the base
    return dependency.StateSpace(CARDS, FIRSTS, np.repeat(np.arange(CARDS.size), CARDS), base)


def canonical(raw):
    """The same terms with their conditions in canonical form."""
    owners = np.repeat(np.arange(CARDS.size), CARDS)[raw.codes // 2]
    given = owners, raw.codes // 2 - FIRSTS[owners], raw.codes % 2 == 1
    out = [np.empty_like(array) for array in (raw.offsets, *given)]
    n = features.simplify_conditions(CARDS, raw.offsets, *given, False, *out)
    variables, values, negated = (array[:n] for array in out[1:])
    return raw._replace(offsets=out[0], codes=2 * (FIRSTS[variables] + values) + negated)


def simplified():
    raw, where = canonical(raw_terms()), space()
    counts = np.empty(len(TERMS), np.int64)
    dependency.count_states(raw, where, counts)
    n, size = len(TERMS), raw.codes.size
    terms = dependency.Terms(
        np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty(size, np.int64),
        np.empty(size), np.empty(size + 1, np.int64), np.empty(size, np.int64),
        np.cumsum([0, *counts]), np.empty(counts.sum(), np.int64), np.empty(counts.sum()),
        np.empty(n),
    )  # fmt: skip
    dependency.group_terms(raw, where, terms)
    return terms


def unpacked(terms, b):
    """(target, groups, states, back) of a term."""
    groups = [
        (
            int(terms.variables[g]),
            terms.shares[g],
            terms.codes[terms.code_offsets[g] : terms.code_offsets[g + 1]].tolist(),
        )
        for g in range(terms.groups[b], terms.groups[b + 1])
    ]
    where = slice(terms.state_offsets[b], terms.state_offsets[b + 1])
    states = list(zip(terms.states[where].tolist(), terms.weights[where], strict=True))
    return int(terms.targets[b]), groups, states, terms.back[b]


def test_count_states():
    counts = np.empty(len(TERMS), np.int64)
    dependency.count_states(canonical(raw_terms()), space(), counts)
    # that of the third term are 1, 0 and 4, since its condition on the target rules out state 1
    assert counts.tolist() == [1, 1, 2, 1, 0, 1, 1, 1]


def test_group_terms():
    """The score of each state against state 0, or against the last where that is impossible."""
    terms = simplified()
    base = space().base
    for b, term in enumerate(TERMS):
        target, groups, states, back = unpacked(terms, b)
        other = CARDS[target] - 1
        for row in itertools.product(*map(range, CARDS)):
            there = [*row]
            there[target] = other
            raw = naive.number_of(term, row, CARDS) - naive.number_of(term, there, CARDS)
            active = all(naive.holds(c, row, CARDS) for _, _, codes in groups for c in codes)
            score = {int(c) // 2 - FIRSTS[target]: w for c, w in states} if active else {}
            assert raw == score.get(row[target], 0.0) - score.get(other, 0.0)
        for v, share, codes in groups:
            rows = [[0] * v + [s] + [0] * (CARDS.size - v - 1) for s in range(CARDS[v])]
            met = [all(naive.holds(c, row, CARDS) for c in codes) for row in rows]
            assert share == pytest.approx(base[FIRSTS[v] : FIRSTS[v] + CARDS[v]][met].sum())
            assert v != target
            assert codes == sorted(set(codes))
        mean = sum(base[c // 2] * w for c, w in states if base[c // 2] > 0)
        assert back == pytest.approx(-mean)


def store_of(features, codes):
    slots = np.full(1 << (2 * features - 1).bit_length(), -1, np.int64)
    return dependency.FeatureStore(
        np.zeros(3, np.int64), slots, np.empty(features, np.uint64),
        np.zeros(features + 1, np.int64), np.empty(codes, np.int64), np.empty(features),
    )  # fmt: skip


def larger(store, features, codes):
    new = store_of(features, codes)
    n, size, _ = store.sizes.tolist()
    new.sizes[:] = store.sizes
    for a, b, k in ((new.hashes, store.hashes, n), (new.offsets, store.offsets, n + 1),
                    (new.codes, store.codes, size), (new.weights, store.weights, n)):  # fmt: skip
        a[:k] = b[:k]
    dependency.refill_slots(new)
    return new


def features_of(store):
    n = store.sizes[0]
    lists = [store.codes[a:b].tolist() for a, b in itertools.pairwise(store.offsets[: n + 1])]
    assert len({tuple(c) for c in lists}) == n
    return {tuple(c): w for c, w in zip(lists, store.weights[:n], strict=True) if w != 0.0}


NO_ROWS = dependency.BaseRows(np.zeros((CARDS.size, 0), np.int32), np.zeros(0), int(CARDS.sum()))


def base_rows(codes):
    """Weighted rows without the impossible state of the last term."""
    rows = codes[:, codes[0] == 1]
    shares = np.random.default_rng(3).random(rows.shape[1])
    places = np.ascontiguousarray(rows + FIRSTS[:, None], np.int32)
    return rows, dependency.BaseRows(places, shares / shares.sum(), int(CARDS.sum()))


def spread_all(terms, mode, positions, rows):
    """Features of all terms, from a store that grows."""
    modes = np.full(len(TERMS), mode)
    store, start = store_of(1, 1), 0
    spread = dependency.spread_terms
    while (start := spread(terms, modes, positions, rows, store, start)) < len(TERMS):
        features, codes = dependency.room_for_term(terms, modes, positions, start)
        n, size, _ = store.sizes.tolist()
        assert n + features > store.weights.size or size + codes > store.codes.size
        store = larger(store, n + features, size + codes)
    assert store.sizes[2] == 0
    return features_of(store)


ORDERS = [[3, 0, 4, 2, 1], [1, 4, 0, 3, 2]]


def averaged_orders(mode):
    return {
        dependency.ALL: naive.all_orders(range(5)),
        dependency.LINEAR: naive.rotations(ORDERS),
        dependency.SINGLE: ORDERS,
    }[mode]


MODES = [dependency.ALL, dependency.LINEAR, dependency.SINGLE]


@pytest.mark.parametrize("n_rows", [3, 200])  # all subsets in a table, or row by row
@pytest.mark.parametrize("mode", MODES)
def test_spread_terms_over_rows(mode, n_rows):
    """The mean over rows of the features with each row as the base."""
    terms = simplified()
    codes, rows = base_rows(some_codes(rows=n_rows))
    expected = {}
    for row, share in zip(codes.T.tolist(), rows.shares, strict=True):
        for b in range(len(TERMS)):
            target, groups, states, _ = unpacked(terms, b)
            at_row = [
                (v, float(all(naive.holds(c, row, CARDS) for c in own)), own)
                for v, _, own in groups
            ]
            back = -sum(w for c, w in states if naive.holds(c, row, CARDS))
            ways = averaged_orders(mode)
            for key, weight in naive.sub_features(target, at_row, states, back, ways).items():
                expected[key] = expected.get(key, 0.0) + share * weight
    got = spread_all(terms, mode, np.argsort(ORDERS, axis=1), rows)
    for key in got.keys() | expected.keys():
        assert got.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_spread_terms(mode):
    """Features merged over all terms, while the store grows by what `room_for_term` asks for."""
    terms = simplified()
    averaged = averaged_orders(mode)
    expected = {}
    for b in range(len(TERMS)):
        target, groups, states, back = unpacked(terms, b)
        for codes, weight in naive.sub_features(target, groups, states, back, averaged).items():
            expected[codes] = expected.get(codes, 0.0) + weight
    got = spread_all(terms, mode, np.argsort(ORDERS, axis=1), NO_ROWS)
    assert got.keys() == expected.keys()
    for codes, weight in got.items():
        assert weight == pytest.approx(expected[codes])


def test_spread_terms_names_a_target_that_is_impossible_at_the_base():
    terms = simplified()
    terms.back[-1] = np.inf
    store = store_of(100, 1000)
    modes = np.full(len(TERMS), dependency.ALL)
    dependency.spread_terms(terms, modes, np.arange(5)[None, :], NO_ROWS, store, len(TERMS) - 1)
    assert store.sizes[2] == TERMS[-1][0] + 1


def test_room_for_term():
    terms = simplified()
    positions = np.zeros((3, 5), np.int64)
    for b in range(len(TERMS)):
        _, groups, states, _ = unpacked(terms, b)
        k, codes = len(groups), sum(len(c) for _, _, c in groups)
        subsets = {dependency.ALL: 2**k, dependency.LINEAR: 3 * (k + 1), dependency.SINGLE: 3}
        for mode, n in subsets.items():
            most = n * (len(states) + 1)
            room = dependency.room_for_term(terms, np.full(len(TERMS), mode), positions, b)
            assert room == (most, most * (codes + 1))


def test_refill_slots():
    rng = np.random.default_rng(3)
    store = store_of(40, 40)
    store.sizes[0] = 25
    store.hashes[:] = rng.integers(0, 2**63, 40).astype(np.uint64)
    dependency.refill_slots(store)
    assert sorted(store.slots[store.slots >= 0]) == list(range(25))
    size = store.slots.size
    for f in range(25):  # no empty slot between where the search begins and where it ends
        slot = int(store.hashes[f]) % size
        while store.slots[slot] != f:
            assert store.slots[slot] >= 0
            slot = (slot + 1) % size


# Logistic regression


def design_of(codes, row_weights):
    """The design of all states but the first, and its dense features."""
    pairs = [(v, s) for v, r in enumerate(CARDS) for s in range(1, r)]
    columns, values = ints([-1, *(v for v, _ in pairs)]), ints([0, *(s for _, s in pairs)])
    dense = naive.indicators(codes, columns, values)
    flipped = dense.sum(axis=1) * 2 > codes.shape[1]
    lists = [np.flatnonzero(x != f) for x, f in zip(dense, flipped, strict=True)]
    rows = np.concatenate(lists).astype(np.int32)
    design = dependency.LogisticDesign(
        codes, row_weights, columns, values, flipped, offsets_of(lists), rows
    )
    return design, dense


def test_list_feature_rows():
    words, first = bit_sets(some_codes(), CARDS)
    design, _ = design_of(some_codes(), np.ones(ROWS))
    every = np.bitwise_or.reduce(words[:2])
    sets = first[design.columns[1:]] + design.values[1:]
    rows = np.empty_like(design.rows)
    dependency.list_feature_rows(
        np.concatenate([[every], words[sets]]), design.flipped, ROWS, design.starts, rows
    )
    assert (rows == design.rows).all()
    assert design.flipped.any()
    assert not design.flipped.all()


@pytest.mark.parametrize("dtype", CODES)
def test_add_margins(dtype):
    design, dense = design_of(some_codes(dtype), np.ones(ROWS))
    features = np.array([0, 3, 1, 6])
    weights = np.array([0.5, -2.0, 0.0, 1.25])
    out = np.ones(ROWS)
    dependency.add_margins(design, features, weights, out)
    np.testing.assert_allclose(out, 1 + weights @ dense[features])


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("target", [0, 1, 3])
def test_logistic_log_likelihood(dtype, target):
    rng = np.random.default_rng(4)
    codes, weights = some_codes(dtype), rng.random(ROWS)
    margins = rng.normal(size=(CARDS[target] - 1, ROWS))
    logs = naive.log_softmax(np.vstack([np.zeros(ROWS), margins]))
    design, _ = design_of(codes, weights)
    assert dependency.logistic_log_likelihood(design, target, margins) == pytest.approx(
        weights @ logs[codes[target], np.arange(ROWS)]
    )


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("target", [0, 1, 3])
@pytest.mark.parametrize("l1", [0.5, 20.0])
def test_solve_logistic(dtype, target, l1):
    """No weight is far from optimal, and the margins are those of the weights."""
    codes = some_codes(dtype)
    row_weights = np.random.default_rng(5).integers(1, 4, ROWS).astype(float)
    design, dense = design_of(codes, row_weights)
    heads = CARDS[target] - 1
    weights, margins = np.zeros((heads, len(dense))), np.zeros((heads, ROWS))
    far = dependency.solve_logistic(design, target, l1, 1e-3 * l1, 4096, weights, margins)
    assert far <= 1e-3 * l1
    others = design.columns != target
    assert (weights[:, ~others] == 0.0).all()
    np.testing.assert_allclose(margins, weights @ dense, atol=1e-9)
    distances = naive.distances(dense, codes[target].astype(int), row_weights, weights, l1)
    assert distances[:, others].max() <= far * (1 + 1e-6)
    assert 0 < np.count_nonzero(weights) < weights.size


def test_solve_logistic_without_room():
    design, dense = design_of(some_codes(), np.ones(ROWS))
    weights, margins = np.zeros((1, len(dense))), np.zeros((1, ROWS))
    assert dependency.solve_logistic(design, 0, 0.1, 1e-4, 1, weights, margins) == np.inf


# Pseudo-likelihood: a table and rules (conditions, weight) on shared rows

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


# Trees


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

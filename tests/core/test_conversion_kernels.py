"""The kernels of the conversion to Markov networks beside naive references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from counterpane._core import dependency, features
from reference import core_dependency as naive
from reference.dependent_codes import CARDS, ints, offsets_of, some_codes

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

"""Laws of features: one form for rules that hold in the same rows, sums that survive merging."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpane.errors import ScopeError
from counterpane.features import Blanket, Potential, Rules
from counterpane.features.conditions import number_groups
from counterpane.learners.markov.feature_rows import Incidence
from counterpane.learners.markov.weights import merge_equal
from counterpane.ragged import ranges
from error_checks import raises
from law_settings import examples

CARDS = (2, 3, 1, 4)
ROWS = list(product(*map(range, CARDS)))


@st.composite
def one_rule(draw):
    """Conditions that some row meets."""
    conditions = draw(
        st.lists(
            st.integers(0, 3).flatmap(
                lambda v: st.tuples(st.just(v), st.integers(0, CARDS[v] - 1), st.booleans())
            ),
            max_size=6,
        )
    )
    return conditions if any(holds(conditions, row) for row in ROWS) else conditions[:0]


def holds(conditions, row):
    return all((row[v] == value) != negated for v, value, negated in conditions)


def written_otherwise(conditions):
    """The same rows: what is asked for excludes all else, and what alone is left is asked for."""
    out = []
    for v, value, negated in conditions:
        others = [s for s in range(CARDS[v]) if s != value]
        if negated and len(others) == 1:
            out.append((v, others[0], False))
        elif negated:
            out.append((v, value, True))
        else:
            out += [(v, s, True) for s in others]
    return out


rules = st.lists(st.tuples(st.integers(-8, 8).map(float), one_rule()), max_size=8)
some = st.permutations(range(4)).flatmap(lambda p: st.integers(0, 3).map(lambda k: p[:k]))
scopes = st.lists(some, max_size=4)


@given(rules)
@examples(150)
def test_the_same_rows_have_the_same_form(drawn):
    drawn = [*drawn, *((w, written_otherwise(c)) for w, c in drawn)]
    found = Rules.from_list(CARDS, drawn).conditions.simplified(np.array(CARDS))
    forms = {}
    for r, (_, conditions) in enumerate(drawn):
        mine = slice(found.offsets[r], found.offsets[r + 1])
        form = tuple(zip(*(a[mine].tolist() for a in found[1:]), strict=True))
        rows = frozenset(row for row in ROWS if holds(conditions, row))
        assert rows == {row for row in ROWS if holds(form, row)}
        assert form == tuple(sorted(form))
        forms.setdefault(rows, set()).add(form)
    assert all(len(same) == 1 for same in forms.values())
    assert len({next(iter(same)) for same in forms.values()}) == len(forms)


@given(rules, scopes, st.integers(0, 2**32 - 1))
@examples(100)
def test_merging_keeps_the_sum_and_leaves_no_two_alike(drawn, asked, seed):
    rng = np.random.default_rng(seed)
    shapes = [[CARDS[v] for v in scope] for scope in asked]
    tables = [
        Potential(scope, rng.integers(-8, 9, shape).astype(float))
        for scope, shape in zip(asked, shapes, strict=True)
    ]
    parts = [*tables, Rules.from_list(CARDS, drawn), Rules.from_list(CARDS, drawn[:2])]
    found = merge_equal(np.array(CARDS), parts)
    codes = np.array(ROWS).T
    gap = Blanket(CARDS, parts).log_potential(codes) - Blanket(CARDS, found).log_potential(codes)
    assert (gap == gap[0]).all()  # what holds everywhere is left out
    features = []
    for part in found:
        if isinstance(part, Potential):
            for cell in np.ndindex(part.log_values.shape):
                wanted = list(zip(part.scope, cell, strict=True))
                features.append(frozenset(r for r in ROWS if all(r[v] == s for v, s in wanted)))
            continue
        for r in range(len(part)):
            mine = range(part.offsets[r], part.offsets[r + 1])
            conditions = [(part.variables[k], part.values[k], part.negated[k]) for k in mine]
            features.append(frozenset(row for row in ROWS if holds(conditions, row)))
            assert len(features[-1]) < len(ROWS)
    by_rules = [f for part in found if isinstance(part, Rules) for f in features[-len(part) :]]
    assert len(set(by_rules)) == len(by_rules)
    scopes_left = [frozenset(p.scope) for p in found if isinstance(p, Potential)]
    assert len(set(scopes_left)) == len(scopes_left)


@given(rules)
@examples(60)
def test_slots_hold_what_each_state_gains(drawn):
    """For each row and variable, the slots of the entries whose rest holds sum up to the rules."""
    rules = Rules.from_list(CARDS, drawn)
    incidence = Incidence(np.array(CARDS), rules.conditions.simplified(np.array(CARDS)))
    numbers = incidence.by_slot(np.array([w for w, _ in drawn]))
    rests = incidence.rests(np.arange(incidence.rest_rules.size))
    for row in ROWS[::5]:
        for v, card in enumerate(CARDS):
            gains = np.zeros(card)
            for e in range(incidence.entry_from[v], incidence.entry_from[v + 1]):
                rest = incidence.rest_of_entry[e]
                mine = range(rests.offsets[rest], rests.offsets[rest + 1])
                asked = [(rests.variables[k], rests.values[k], rests.negated[k]) for k in mine]
                if holds(asked, row):
                    at = incidence.slot_from[v] + (e - incidence.entry_from[v]) * (card - 1)
                    gains[1:] += numbers[at : at + card - 1]
            weights = [
                sum(w for w, c in drawn if holds(c, (*row[:v], s, *row[v + 1 :])))
                for s in range(card)
            ]
            assert np.array_equal(gains, np.array(weights, dtype=float) - weights[0])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_groups_are_numbered_as_they_sort(pairs):
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    groups, first = number_groups(*columns)
    order = sorted(set(pairs))
    assert groups.tolist() == [order.index(pair) for pair in pairs]
    assert first.tolist() == [pairs.index(pair) for pair in order]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=9))
def test_ranges_lie_end_to_end(spans):
    first = np.array([a for a, _ in spans], dtype=np.int64)
    last = first + np.array([size for _, size in spans], dtype=np.int64)
    assert ranges(first, last).tolist() == [k for a, size in spans for k in range(a, a + size)]


def test_contradictions_are_refused_before():
    with raises(ScopeError, about="never"):
        Rules.from_list(CARDS, [(1.0, [(0, 0, True), (0, 1, True)])])

"""Loops of the conversion of dependency networks: features are simplified, spread and merged.

A condition is one number, its code: 2 · (place of the state among all variables' states) + whether
it is negated. A feature is a rising list of codes, found again by the sum of the codes' hashes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane._jit import inlined, kernel
from counterpane.typing import Floats, Ints, Words

ALL, LINEAR, SINGLE = 0, 1, 2


class Raw(NamedTuple):
    """Terms of conditionals: term b adds to ln P(x_targets[b] | rest) where its conditions hold.

    State s adds numbers[starts[b] + s · steps[b]]. The conditions offsets[b] … offsets[b+1]−1 may
    be about the target as well, and then take states out.
    """

    targets: Ints
    starts: Ints
    steps: Ints
    offsets: Ints
    codes: Ints
    numbers: Floats


class Space(NamedTuple):
    """The variables: their numbers of states, and the place of their first state.

    By place, the variable, and the probability of the state at the base.
    """

    cards: Ints
    firsts: Ints
    owners: Ints
    base: Floats


class Terms(NamedTuple):
    """Terms made plain: conditions in groups, states that differ from the usual one.

    Term b has the groups from groups[b] on, one for each variable other than its target that it
    asks: the variable, the probability of its conditions at the base, and its codes, from
    code_offsets[g] on. A state whose log-value differs from the usual one is in `states`, from
    state_offsets[b] on, with the difference; `back` is minus the mean of them at the base.
    """

    targets: Ints
    groups: Ints
    variables: Ints
    shares: Floats
    code_offsets: Ints
    codes: Ints
    state_offsets: Ints
    states: Ints
    weights: Floats
    back: Floats


class Store(NamedTuple):
    """Features found so far: a rising list of codes each, and its weight.

    sizes = (their number, that of their codes, 1 + a target that was divided by zero, else 0).
    `slots` is a table of open addresses by the hash.
    """

    sizes: Ints
    slots: Ints
    hashes: Words
    offsets: Ints
    codes: Ints
    weights: Floats


@kernel
def count_states(raw: Raw, space: Space, scratch: Floats, counts: Ints) -> None:
    """Fill `counts` with the number of states that a term sets apart from the others."""
    for b in range(raw.targets.size):
        usual = _spell_out(raw, space, b, scratch)
        counts[b] = 0
        for s in range(space.cards[raw.targets[b]]):
            counts[b] += scratch[s] != usual


@kernel
def _spell_out(raw: Raw, space: Space, b: int, scratch: Floats) -> float:
    """Write what each state of the target adds, and return the usual value, a finite one.

    ln P may be shifted by any number that does not depend on the target: the value of more than
    half of the states is best, as it leaves the fewest to speak of.
    """
    card, first = space.cards[raw.targets[b]], space.firsts[raw.targets[b]]
    for s in range(card):
        scratch[s] = raw.numbers[raw.starts[b] + s * raw.steps[b]]
    for k in range(raw.offsets[b], raw.offsets[b + 1]):
        place = raw.codes[k] // 2 - first
        if 0 <= place < card:
            for s in range(card):
                if (s == place) == (raw.codes[k] % 2 == 1):
                    scratch[s] = 0.0
    usual = float(scratch[0])  # the vote of Boyer and Moore
    ahead = 0
    for s in range(card):
        if ahead == 0:
            usual = float(scratch[s])
        ahead += 1 if scratch[s] == usual else -1
    if ahead == 0 or usual == -np.inf:
        for s in range(card):
            if scratch[s] > -np.inf:
                return float(scratch[s])
    return usual


@kernel
def simplify(raw: Raw, space: Space, scratch: Floats, sort: Ints, terms: Terms) -> None:
    """Fill `terms`, whose state_offsets are there: equal conditions once, sorted, and as few.

    `sort` has room for the longest list of conditions.
    """
    g = c = 0
    for b in range(raw.targets.size):
        target = raw.targets[b]
        terms.targets[b] = target
        terms.groups[b] = g
        size = _sorted_codes(raw, space, b, sort)
        start = 0
        while start < size:
            variable = space.owners[sort[start] // 2]
            terms.variables[g] = variable
            terms.code_offsets[g] = c
            stop = start
            while stop < size and space.owners[sort[stop] // 2] == variable:
                stop += 1
            c = _write_group(space, sort, start, stop, terms, c, g)
            start = stop
            g += 1
        usual = _spell_out(raw, space, b, scratch)
        e = terms.state_offsets[b]
        terms.back[b] = 0.0
        for s in range(space.cards[target]):
            if scratch[s] != usual:
                place = space.firsts[target] + s
                terms.states[e] = 2 * place
                terms.weights[e] = scratch[s] - usual
                if space.base[place] > 0.0:
                    terms.back[b] -= space.base[place] * terms.weights[e]
                e += 1
    terms.groups[raw.targets.size] = g
    terms.code_offsets[g] = c


@kernel
def _sorted_codes(raw: Raw, space: Space, b: int, sort: Ints) -> int:
    """Write the distinct codes of a term on other variables of several states; their number."""
    size = 0
    for k in range(raw.offsets[b], raw.offsets[b + 1]):
        code = raw.codes[k]
        owner = space.owners[code // 2]
        if owner == raw.targets[b] or space.cards[owner] == 1:
            continue
        place = size
        while place > 0 and sort[place - 1] > code:
            place -= 1
        if place > 0 and sort[place - 1] == code:
            continue
        for i in range(size, place, -1):
            sort[i] = sort[i - 1]
        sort[place] = code
        size += 1
    return size


@kernel
def _write_group(
    space: Space, sort: Ints, start: int, stop: int, terms: Terms, c: int, g: int
) -> int:
    """Write the conditions on one variable, sort[start … stop−1], from code `c` on; the next one.

    One that asks for a value says it all; so does leaving out all values but one.
    """
    variable = terms.variables[g]
    asked = np.int64(-1)
    for k in range(start, stop):
        if sort[k] % 2 == 0:
            asked = sort[k]
    if asked < 0 and stop - start == space.cards[variable] - 1:
        asked = 2 * space.firsts[variable]
        for k in range(start, stop):
            if sort[k] == asked + 1:
                asked += 2
    if asked >= 0:
        terms.codes[c] = asked
        terms.shares[g] = space.base[asked // 2]
        return c + 1
    terms.shares[g] = 1.0
    for k in range(start, stop):
        terms.codes[c] = sort[k]
        terms.shares[g] -= space.base[sort[k] // 2]
        c += 1
    terms.shares[g] = max(terms.shares[g], 0.0)
    return c


@kernel
def spread(
    terms: Terms, modes: Ints, positions: Ints, scratch: Ints, keep: Ints, store: Store, start: int
) -> int:
    """Add the sub-features of the terms from `start` on, until one might not fit; its number.

    positions[o, v] is the place of variable v in order o, of which the mean is taken. `scratch` and
    `keep` have room for the codes and groups of any term, and one more.
    """
    for b in range(start, terms.targets.size):
        if terms.state_offsets[b] == terms.state_offsets[b + 1]:
            continue
        features, codes = room(terms, modes, positions, b)
        if store.sizes[0] + features > store.weights.size:
            return b
        if store.sizes[1] + codes > store.codes.size:
            return b
        if modes[b] == ALL:
            _spread_over_all(terms, b, scratch, keep, store)
        elif modes[b] == LINEAR:
            _spread_over_rotations(terms, b, positions, scratch, keep, store)
        else:
            _spread_over_orders(terms, b, positions, scratch, keep, store)
    return terms.targets.size


@kernel
def room(terms: Terms, modes: Ints, positions: Ints, b: int) -> tuple[int, int]:
    """The most features that a term can add, and the most codes."""
    first, k = terms.groups[b], terms.groups[b + 1] - terms.groups[b]
    subsets = 2**k if modes[b] == ALL else positions.shape[0]
    if modes[b] == LINEAR:
        subsets *= k + 1
    features = subsets * (terms.state_offsets[b + 1] - terms.state_offsets[b] + 1)
    codes = terms.code_offsets[first + k] - terms.code_offsets[first] + 1
    return features, features * codes


@kernel
def _spread_over_all(terms: Terms, b: int, scratch: Ints, keep: Ints, store: Store) -> None:
    """Of all orders, l!(k−l)!/(k+1)! put just the same l of the k others before the target."""
    first, k = terms.groups[b], terms.groups[b + 1] - terms.groups[b]
    for subset in range(2**k):
        fraction = 1.0 / (k + 1)
        kept = 0
        for i in range(k):
            keep[i] = (subset >> i) & 1
            if keep[i]:
                kept += 1
                fraction *= kept / (k + 1 - kept + 0.0)  # so far l!/(k (k−1) … (k−l+1)) / (k+1)
            else:
                fraction *= terms.shares[first + i]
        if fraction > 0.0:
            _emit(terms, b, fraction, scratch, keep, store)


@kernel
def _spread_over_rotations(
    terms: Terms, b: int, positions: Ints, scratch: Ints, keep: Ints, store: Store
) -> None:
    """Of the n rotations of an order, those that start between two others drop all up to the first.

    Others stand in their places once the target is last; a rotation keeps those from its start on.
    """
    first, k = terms.groups[b], terms.groups[b + 1] - terms.groups[b]
    n_orders, n = positions.shape
    for o in range(n_orders):
        share = 1.0
        before = -1
        for i in range(k):
            keep[i] = 1
        for _ in range(k + 1):
            nearest, place = -1, n - 1  # the target's own place, after all others
            for i in range(k):
                if keep[i]:
                    u = terms.variables[first + i]
                    at = (positions[o, u] - positions[o, terms.targets[b]] - 1) % n
                    if at < place:
                        nearest, place = i, at
            _emit(terms, b, share * (place - before) / (n * n_orders), scratch, keep, store)
            if nearest < 0:
                break
            before = place
            keep[nearest] = 0
            share *= terms.shares[first + nearest]
            if share == 0.0:
                break


@kernel
def _spread_over_orders(
    terms: Terms, b: int, positions: Ints, scratch: Ints, keep: Ints, store: Store
) -> None:
    first, k = terms.groups[b], terms.groups[b + 1] - terms.groups[b]
    for o in range(positions.shape[0]):
        share = 1.0 / positions.shape[0]
        for i in range(k):
            keep[i] = positions[o, terms.variables[first + i]] < positions[o, terms.targets[b]]
            if not keep[i]:
                share *= terms.shares[first + i]
        if share > 0.0:
            _emit(terms, b, share, scratch, keep, store)


@kernel
def _emit(terms: Terms, b: int, fraction: float, scratch: Ints, keep: Ints, store: Store) -> None:
    """Add the features of a term that keeps some of its groups: with each state, and without.

    Where no group is kept the one without a state is a constant, and left out.
    """
    first = terms.groups[b]
    size = slot = 0
    total = np.uint64(0)
    for i in range(terms.groups[b + 1] - first):
        if keep[i]:
            for c in range(terms.code_offsets[first + i], terms.code_offsets[first + i + 1]):
                scratch[size] = terms.codes[c]
                total += _hash(terms.codes[c])
                size += 1
            if terms.variables[first + i] < terms.targets[b]:
                slot = size
    if size and terms.back[b] == np.inf:
        store.sizes[2] = terms.targets[b] + 1
    elif size and terms.back[b] != 0.0:
        _add(scratch, size, total, terms.back[b] * fraction, store)
    for i in range(size, slot, -1):
        scratch[i] = scratch[i - 1]
    for e in range(terms.state_offsets[b], terms.state_offsets[b + 1]):
        scratch[slot] = terms.states[e]
        mark = total + _hash(terms.states[e])
        _add(scratch, size + 1, mark, terms.weights[e] * fraction, store)


@inlined
def _hash(code: int) -> np.uint64:
    """A well-mixed number for a code (the finalizer of Steele et al.'s SplitMix)."""
    x = np.uint64(code) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def _add(codes: Ints, size: int, mark: np.uint64, weight: float, store: Store) -> None:
    """Add `weight` to the feature of these codes, or make it one; there must be room."""
    mask = np.uint64(store.slots.size - 1)
    slot = mark & mask
    while store.slots[slot] >= 0:
        f = store.slots[slot]
        start = store.offsets[f]
        if store.hashes[f] == mark and store.offsets[f + 1] - start == size:
            same = True
            for i in range(size):
                same &= store.codes[start + i] == codes[i]
            if same:
                store.weights[f] += weight
                return
        slot = (slot + np.uint64(1)) & mask
    f, start = store.sizes[0], store.sizes[1]
    store.slots[slot] = f
    store.hashes[f] = mark
    store.weights[f] = weight
    for i in range(size):
        store.codes[start + i] = codes[i]
    store.offsets[f + 1] = start + size
    store.sizes[0], store.sizes[1] = f + 1, start + size


@kernel
def refill(store: Store) -> None:
    """Put the features into the slots, all of which are −1."""
    mask = np.uint64(store.slots.size - 1)
    for f in range(store.sizes[0]):
        slot = store.hashes[f] & mask
        while store.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        store.slots[slot] = f

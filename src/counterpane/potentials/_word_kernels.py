"""All conditionals of 64 rows at once: each rule is looked at once, with a word for each condition.

A rule that a row meets counts for all its variables; one that a row misses through one variable
counts for the states of that variable that would meet it; any other counts for nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import inlined, kernel, trailing_zeros
from counterpane.potentials._kernels import Parts, conditional
from counterpane.typing import Bools, Codes, Floats, Ints, Words

ONE = np.uint64(1)


class WordRules(NamedTuple):
    """Rules whose conditions on one variable stand together, and room for 64 rows.

    The states of variable v have the places from firsts[v] on. bits[p] flags the rows with the
    state of place p, and logits[p] holds its log-conditionals.
    """

    weights: Floats
    offsets: Ints
    variables: Ints
    places: Ints
    negated: Bools
    cards: Ints
    firsts: Ints
    bits: Words
    logits: Floats
    scratch: Floats


@kernel
def fill_conditionals_by_words(
    rest: Parts, rules: WordRules, codes: Codes, start: int, stop: int, out: Floats
) -> int:
    """As `fill_conditionals` for all variables; `rest` are the parts without rules."""
    for base in range(start, stop, 64):
        count = min(64, stop - base)
        fault = _fill_block(rest, rules, codes, base, count)
        if fault >= 0:
            return fault
        for i in range(count):
            for p in range(rules.bits.size):
                out[base + i, p] = rules.logits[p, i]
    return -1


@kernel
def add_pseudo_log_likelihood_by_words(
    rest: Parts, rules: WordRules, codes: Codes, start: int, stop: int, out: Floats
) -> int:
    """As `add_pseudo_log_likelihood`; `rest` are the parts without rules."""
    n = rules.cards.size
    for base in range(start, stop, 64):
        count = min(64, stop - base)
        fault = _fill_block(rest, rules, codes, base, count)
        if fault >= 0:
            return fault
        for v in range(n):
            column = v if out.shape[1] == n else 0
            for i in range(count):
                place = rules.firsts[v] + np.int64(codes[v, base + i])
                out[base + i, column] += rules.logits[place, i]
    return -1


@kernel
def _fill_block(rest: Parts, rules: WordRules, codes: Codes, base: int, count: int) -> int:
    """Fill the logits of `count` rows from `base` on; returns as `fill_conditionals` does."""
    rules.bits[:] = np.uint64(0)
    for v in range(rules.cards.size):
        for i in range(count):
            code = np.int64(codes[v, base + i])
            if code < rules.cards[v]:
                rules.bits[rules.firsts[v] + code] |= ONE << np.uint64(i)
            conditional(rest, codes, base + i, v, rules.scratch)
            for s in range(rules.cards[v]):
                rules.logits[rules.firsts[v] + s, i] = rules.scratch[s]
    everyone = ~np.uint64(0) >> np.uint64(64 - count)
    for r in range(rules.weights.size):
        _add_rule(rules, r, everyone)
    return _normalize(rules, base, count)


@inlined
def _add_rule(rules: WordRules, r: int, everyone: np.uint64) -> None:
    """Add the weight of rule `r` wherever it counts."""
    meet, miss_one = everyone, np.uint64(0)
    k, stop = rules.offsets[r], rules.offsets[r + 1]
    while k < stop and (meet | miss_one):
        holds, k = _group(rules, k, stop)
        miss_one = (miss_one & holds) | (meet & ~holds)
        meet &= holds
    if meet | miss_one:
        k = rules.offsets[r]
        while k < stop:
            first = k
            holds, k = _group(rules, k, stop)
            counts = meet | (miss_one & ~holds)
            if counts:
                _add_to_states(rules, r, first, k, counts)


@inlined
def _group(rules: WordRules, k: int, stop: int) -> tuple[np.uint64, int]:
    """The rows that meet the conditions on one variable, from `k` on, and where the next start."""
    variable = rules.variables[k]
    holds = ~np.uint64(0)
    while k < stop and rules.variables[k] == variable:
        bits = rules.bits[rules.places[k]]
        holds &= ~bits if rules.negated[k] else bits
        k += 1
    return holds, k


@kernel
def _add_to_states(rules: WordRules, r: int, first: int, last: int, rows: np.uint64) -> None:
    """Add a rule's weight to the states that meet its conditions first … last−1, in `rows`."""
    asked = np.int64(-1)
    for k in range(first, last):
        if not rules.negated[k]:
            asked = rules.places[k]
    start = rules.firsts[rules.variables[first]]
    for place in range(start, start + rules.cards[rules.variables[first]]):
        meets = place == asked
        if asked < 0:
            meets = True
            for k in range(first, last):
                meets &= rules.places[k] != place
        left = rows if meets else np.uint64(0)
        while left:
            i = trailing_zeros(left)
            rules.logits[place, i] += rules.weights[r]
            left &= left - ONE


@kernel
def _normalize(rules: WordRules, base: int, count: int) -> int:
    for v in range(rules.cards.size):
        start, stop = rules.firsts[v], rules.firsts[v] + rules.cards[v]
        for i in range(count):
            largest = -np.inf
            for p in range(start, stop):
                largest = max(largest, rules.logits[p, i])
            if largest == -np.inf:
                return int((base + i) * rules.cards.size + v)
            total = 0.0
            for p in range(start, stop):
                total += math.exp(rules.logits[p, i] - largest)
            shift = largest + math.log(total)
            for p in range(start, stop):
                rules.logits[p, i] -= shift
    return -1

"""Expected log-potentials when all variables are independent."""

from __future__ import annotations

import math

import numpy as np

from counterpane._jit import kernel
from counterpane.inference.conjunctions import Conjunctions, Leaves
from counterpane.potentials._kernels import Parts, log_sum_exp
from counterpane.typing import Floats, Ints


@kernel
def chance(rules: Conjunctions, r: int, but: int, q: Floats, states: Ints) -> float:
    """The probability that all entries of a rule hold, but for the entry `but`."""
    product = 1.0
    for e in range(rules.offsets[r], rules.offsets[r + 1]):
        if e != but:
            v = rules.variables[e]
            share = 0.0
            for s in range(states[v + 1] - states[v]):
                if rules.flags[rules.first[e] + s]:
                    share += q[states[v] + s]
            product *= share
    return product


@kernel
def expect(
    parts: Parts,
    rules: Conjunctions,
    own_offsets: Ints,
    own: Ints,
    leaves: Leaves,
    leaf_offsets: Ints,
    states: Ints,
    q: Floats,
    v: int,
    out: Floats,
) -> None:
    """Fill `out` with the expected log-conditional of v, the others distributed as `q`.

    The rules' entries on v are own[own_offsets[v]] … , its leaves leaf_offsets[v] … . What has
    the probability zero does not count, even if it is impossible.
    """
    card = parts.cards[v]
    out[:card] = 0.0
    for e in range(parts.potential_offsets[v], parts.potential_offsets[v + 1]):
        t = parts.potentials[e]
        first = parts.value_offsets[t]
        for cell in range(parts.value_offsets[t + 1] - first):
            product, mine = 1.0, np.int64(0)
            for k in range(parts.scope_offsets[t], parts.scope_offsets[t + 1]):
                u = parts.scopes[k]
                s = cell // parts.strides[k] % parts.cards[u]
                if u == v:
                    mine = s
                else:
                    product *= q[states[u] + s]
            if product > 0.0:
                out[mine] += product * parts.values[first + cell]
    for k in range(own_offsets[v], own_offsets[v + 1]):
        e = own[k]
        share = chance(rules, rules.rules[e], e, q, states)
        if share > 0.0:
            for s in range(card):
                if rules.flags[rules.first[e] + s]:
                    out[s] += share * rules.weights[rules.rules[e]]
    for leaf in range(leaf_offsets[v], leaf_offsets[v + 1]):
        share = chance(leaves.ways, leaf, -1, q, states)
        if share > 0.0:
            for s in range(card):
                out[s] += share * parts.leaf_values[leaves.values[leaf] + s]


@kernel
def relax(
    parts: Parts,
    rules: Conjunctions,
    own_offsets: Ints,
    own: Ints,
    leaves: Leaves,
    leaf_offsets: Ints,
    states: Ints,
    free: Ints,
    soft: Floats,
    q: Floats,
    scratch: Floats,
) -> float:
    """The largest change of a probability when each free variable is set in turn.

    −1 − v where no state of variable v is left. `soft` holds the logs of likelihoods.
    """
    largest = 0.0
    for v in free:
        expect(
            parts, rules, own_offsets, own, leaves, leaf_offsets, states, q, v, scratch
        )  # fmt: skip
        card = parts.cards[v]
        for s in range(card):
            scratch[s] += soft[states[v] + s]
        total = log_sum_exp(scratch, card)
        if total == -np.inf:
            return float(-1.0 - v)
        for s in range(card):
            p = math.exp(scratch[s] - total)
            largest = max(largest, abs(p - q[states[v] + s]))
            q[states[v] + s] = p
    return largest


@kernel
def energy(parts: Parts, rules: Conjunctions, states: Ints, q: Floats) -> float:
    """The expected sum of all potentials and rules."""
    total = 0.0
    for t in range(parts.value_offsets.size - 1):
        first = parts.value_offsets[t]
        for cell in range(parts.value_offsets[t + 1] - first):
            product = 1.0
            for k in range(parts.scope_offsets[t], parts.scope_offsets[t + 1]):
                u = parts.scopes[k]
                product *= q[states[u] + cell // parts.strides[k] % parts.cards[u]]
            if product > 0.0:
                total += product * parts.values[first + cell]
    for r in range(rules.weights.size):
        share = chance(rules, r, -1, q, states)
        if share > 0.0:
            total += share * rules.weights[r]
    return total

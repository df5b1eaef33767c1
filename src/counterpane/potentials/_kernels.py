"""Loops over the rows of a compiled blanket. `conditional` is the one body they all share."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import inlined, kernel
from counterpane.typing import Bools, Codes, Floats, Ints


class Parts(NamedTuple):
    """Potentials, rules and trees as flat arrays, and for each variable the ones it answers to.

    Potential t has the cells from value_offsets[t] on, and the scope and strides
    scope_offsets[t] … scope_offsets[t+1]−1. The potentials that touch variable v are
    potentials[potential_offsets[v] … potential_offsets[v+1]−1]; so for the rules. The trees of
    variable v are tree_offsets[v] … tree_offsets[v+1]−1; tree t has the rows from tree_roots[t] on
    of `nodes`: a variable, a value, the node if it has the value, the node otherwise. A leaf has
    the variable −1, and its states start where nodes[k, 2] says in `leaf_values`.
    """

    cards: Ints
    potential_offsets: Ints
    potentials: Ints
    scope_offsets: Ints
    scopes: Ints
    strides: Ints
    value_offsets: Ints
    values: Floats
    touching_offsets: Ints
    touching: Ints
    rule_weights: Floats
    rule_offsets: Ints
    rule_variables: Ints
    rule_values: Ints
    rule_negated: Bools
    tree_offsets: Ints
    tree_roots: Ints
    nodes: Ints
    leaf_values: Floats


@inlined
def conditional(parts: Parts, codes: Codes, row: int, v: int, out: Floats) -> None:
    """Write the unnormalized log-conditional of variable `v` in one row to the start of `out`.

    The code of `v` itself is not read. Other kernels may call this: a Gibbs step is this and a
    draw.
    """
    card = parts.cards[v]
    for s in range(card):
        out[s] = 0.0
    for e in range(parts.potential_offsets[v], parts.potential_offsets[v + 1]):
        t = parts.potentials[e]
        cell = parts.value_offsets[t]
        step = np.int64(0)
        for k in range(parts.scope_offsets[t], parts.scope_offsets[t + 1]):
            u = parts.scopes[k]
            if u == v:
                step = parts.strides[k]
            else:
                cell += np.int64(codes[u, row]) * parts.strides[k]
        for s in range(card):
            out[s] += parts.values[cell]
            cell += step
    for e in range(parts.touching_offsets[v], parts.touching_offsets[v + 1]):
        r = parts.touching[e]
        first = parts.rule_offsets[r]
        last = parts.rule_offsets[r + 1]
        asked = np.int64(-1)
        holds = True
        for k in range(first, last):
            u = parts.rule_variables[k]
            value = parts.rule_values[k]
            if u == v:
                if not parts.rule_negated[k]:
                    asked = value
            elif (np.int64(codes[u, row]) == value) == parts.rule_negated[k]:
                holds = False
                break
        if holds and asked >= 0:
            out[asked] += parts.rule_weights[r]
        elif holds:
            for s in range(card):
                excluded = False
                for k in range(first, last):
                    excluded |= parts.rule_variables[k] == v and parts.rule_values[k] == s
                if not excluded:
                    out[s] += parts.rule_weights[r]
    for e in range(parts.tree_offsets[v], parts.tree_offsets[v + 1]):
        node = parts.tree_roots[e]
        while parts.nodes[node, 0] >= 0:
            same = np.int64(codes[parts.nodes[node, 0], row]) == parts.nodes[node, 1]
            node = parts.nodes[node, 2] if same else parts.nodes[node, 3]
        leaf = parts.nodes[node, 2]
        for s in range(card):
            out[s] += parts.leaf_values[leaf + s]


@kernel
def log_sum_exp(log_values: Floats, size: int) -> float:
    """ln Σ exp of the first `size` values; minus infinity when all are."""
    largest = -np.inf
    for s in range(size):
        largest = max(largest, log_values[s])
    if largest == -np.inf:
        return largest
    total = 0.0
    for s in range(size):
        total += math.exp(log_values[s] - largest)
    return largest + math.log(total)


@kernel
def fill_conditionals(
    parts: Parts, codes: Codes, variables: Ints, start: int, stop: int, scratch: Floats, out: Floats
) -> int:
    """Fill rows start … stop−1 of `out` with log-conditionals, the variables side by side.

    Returns −1, or row · n_variables + variable of the first place where no state is possible.
    """
    column = 0
    for k in range(variables.size):
        v = variables[k]
        for row in range(start, stop):
            conditional(parts, codes, row, v, scratch)
            log_total = log_sum_exp(scratch, parts.cards[v])
            if log_total == -np.inf:
                return int(row * parts.cards.size + v)
            for s in range(parts.cards[v]):
                out[row, column + s] = scratch[s] - log_total
        column += parts.cards[v]
    return -1


@kernel
def add_pseudo_log_likelihood(
    parts: Parts, codes: Codes, start: int, stop: int, scratch: Floats, out: Floats
) -> int:
    """Add ln P(own code | rest) to `out`: one column a variable, or one column for their sum.

    Returns as `fill_conditionals` does.
    """
    n = parts.cards.size
    for v in range(n):
        column = v if out.shape[1] == n else 0
        for row in range(start, stop):
            conditional(parts, codes, row, v, scratch)
            log_total = log_sum_exp(scratch, parts.cards[v])
            if log_total == -np.inf:
                return row * n + v
            out[row, column] += scratch[np.int64(codes[v, row])] - log_total
    return -1


@kernel
def add_log_potential(parts: Parts, codes: Codes, start: int, stop: int, out: Floats) -> None:
    """Add the log-values of all potentials and of all rules that hold to each row of `out`."""
    for t in range(parts.value_offsets.size - 1):
        for row in range(start, stop):
            cell = parts.value_offsets[t]
            for k in range(parts.scope_offsets[t], parts.scope_offsets[t + 1]):
                cell += np.int64(codes[parts.scopes[k], row]) * parts.strides[k]
            out[row] += parts.values[cell]
    for r in range(parts.rule_weights.size):
        for row in range(start, stop):
            holds = True
            for k in range(parts.rule_offsets[r], parts.rule_offsets[r + 1]):
                same = np.int64(codes[parts.rule_variables[k], row]) == parts.rule_values[k]
                if same == parts.rule_negated[k]:
                    holds = False
                    break
            if holds:
                out[row] += parts.rule_weights[r]

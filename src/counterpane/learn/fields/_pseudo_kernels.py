"""One pass over rows for the pseudo-likelihood of potentials and rules: its value and gradient."""

from __future__ import annotations

import math

import numpy as np

from counterpane._jit import kernel
from counterpane.potentials._kernels import Parts, conditional, log_sum_exp
from counterpane.typing import Codes, Floats, Ints


@kernel
def add_pseudo_gradient(
    parts: Parts,
    codes: Codes,
    weights: Floats,
    variables: Ints,
    scratch: Floats,
    by_value: Floats,
    by_rule: Floats,
) -> float:
    """Σ over rows and `variables` of −weight · ln P(own code | rest); its gradient is added.

    The derivative by an entry of a table, or by the weight of a rule, is Σ weight · (P(it is chosen
    | rest) − whether it is). `by_value` lies as `parts.values` does, `by_rule` as the rules.
    """
    total = 0.0
    for row in range(codes.shape[1]):
        weight = weights[row]
        for v in variables:
            card = parts.cards[v]
            own = np.int64(codes[v, row])
            conditional(parts, codes, row, v, scratch)
            log_total = log_sum_exp(scratch, card)
            total += weight * (log_total - scratch[own])
            for s in range(card):
                scratch[s] = weight * math.exp(scratch[s] - log_total)
            scratch[own] -= weight
            _spread_over_tables(parts, codes, row, v, scratch, by_value)
            _spread_over_rules(parts, codes, row, v, scratch, by_rule)
    return total


@kernel
def _spread_over_tables(
    parts: Parts, codes: Codes, row: int, v: int, slopes: Floats, by_value: Floats
) -> None:
    """Add the slope of each state of `v` to the entries that the row lets it choose from."""
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
        for s in range(parts.cards[v]):
            by_value[cell] += slopes[s]
            cell += step


@kernel
def _spread_over_rules(
    parts: Parts, codes: Codes, row: int, v: int, slopes: Floats, by_rule: Floats
) -> None:
    """Add to each rule that the rest of the row meets the slopes of the states that meet it."""
    for e in range(parts.touching_offsets[v], parts.touching_offsets[v + 1]):
        r = parts.touching[e]
        holds = True
        for k in range(parts.rule_offsets[r], parts.rule_offsets[r + 1]):
            u = parts.rule_variables[k]
            same = np.int64(codes[u, row]) == parts.rule_values[k]
            if u != v and same == parts.rule_negated[k]:
                holds = False
                break
        if not holds:
            continue
        for s in range(parts.cards[v]):
            met = True
            for k in range(parts.rule_offsets[r], parts.rule_offsets[r + 1]):
                if parts.rule_variables[k] == v:
                    met &= (parts.rule_values[k] == s) != parts.rule_negated[k]
            if met:
                by_rule[r] += slopes[s]

"""Scores of all families over a few variables, from terms of sets.

Every score the kernels know (see `scores._kernels`) splits into a term of the set S = parents ∪
{child} and one of the parents alone, so that 2ⁿ sets are counted instead of n 2ⁿ⁻¹ families.
Sets are bit masks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.scores._kernels import CONSTANT, EQUIVALENT, LIKELIHOOD, clogc

SMALL = 64  # counts below it take their rising factorial from a table


@kernel
def rising(counts: Any, alpha: float, table: Any) -> float:
    """Σ ln Γ(α + c) − ln Γ(α); small whole counts as Σ ln(α + k), each logarithm taken once."""
    total = 0.0
    known = 0
    table[0] = 0.0
    for count in counts:
        whole = np.int64(count)
        if whole == count and whole < SMALL:
            while known < whole:
                table[known + 1] = table[known] + math.log(alpha + known)
                known += 1
            total += table[whole]
        else:
            total += math.lgamma(alpha + count) - math.lgamma(alpha)
    return total


@kernel
def _enter(members: int, counts: Any, cells: float, kind: int, a: float, ranks: Any, logs: Any,
           table: Any, terms: Any) -> None:  # fmt: skip
    """Fill terms[:, members]: as parents ∪ child in row 0, as parents in the row of the child."""
    if kind == LIKELIHOOD:
        total = 0.0
        for count in counts:
            total += clogc(count, logs)
        terms[0, members] = total
    else:
        terms[0, members] = rising(counts, a / cells if kind == EQUIVALENT else a, table)
    if kind == CONSTANT:
        for k in range(ranks.size):
            terms[k + 1, members] = rising(counts, a * ranks[k], table)


@kernel
def _refine(groups: Any, n_groups: int, column: Any, weights: Any, card: int, label: Any,
            finer: Any, counts: Any) -> int:  # fmt: skip
    """Split the groups of rows by a column; fill their `counts` and return their number."""
    label[: n_groups * card] = -1
    found = 0
    for row in range(weights.size):
        cell = np.int64(groups[row]) * card + column[row]
        if label[cell] < 0:
            label[cell] = found
            counts[found] = 0.0
            found += 1
        finer[row] = label[cell]
        counts[label[cell]] += weights[row]
    return found


@kernel
def _tally(groups: Any, n_groups: int, column: Any, weights: Any, card: int, counts: Any) -> int:
    """Fill `counts` of the groups split by a column that will not be split again."""
    counts[: n_groups * card] = 0.0
    for row in range(weights.size):
        counts[np.int64(groups[row]) * card + column[row]] += weights[row]
    return n_groups * card


@kernel
def fill_terms(codes: Any, weights: Any, cards: Any, split: int, prefix: int, max_size: int,
               kind: int, a: float, ranks: Any, logs: Any, terms: Any) -> None:  # fmt: skip
    """Fill the terms of each set of at most `max_size` that agrees with `prefix` below `split`.

    Depth first, each set from the groups of the set without its last member: O(rows) a set.
    """
    n, n_rows = cards.size, weights.size
    groups = np.zeros((n + 1, n_rows), np.int32)
    n_groups = np.ones(n + 1, np.int64)
    members = np.zeros(n + 1, np.int64)
    cells = np.ones(n + 1)
    following = np.zeros(n + 1, np.int64)
    widest = n_rows * np.max(cards)
    label = np.empty(widest, np.int32)
    counts = np.empty(widest)
    table = np.empty(SMALL + 1)
    counts[0] = weights.sum()
    depth = 0
    for v in range(split):
        if prefix >> v & 1:
            n_groups[depth + 1] = _refine(groups[depth], n_groups[depth], codes[v], weights,
                                          cards[v], label, groups[depth + 1], counts)  # fmt: skip
            depth += 1
            members[depth] = members[depth - 1] | 1 << v
            cells[depth] = cells[depth - 1] * cards[v]
    first = depth
    if depth > max_size:
        return
    _enter(prefix, counts[: n_groups[depth]], cells[depth], kind, a, ranks, logs, table, terms)
    following[depth] = split
    while depth >= first:
        v = following[depth]
        if v == n or depth == max_size:
            depth -= 1
            continue
        following[depth] = v + 1
        if v == n - 1 or depth + 1 == max_size:
            size = _tally(groups[depth], n_groups[depth], codes[v], weights, cards[v], counts)
        else:
            size = _refine(groups[depth], n_groups[depth], codes[v], weights, cards[v], label,
                           groups[depth + 1], counts)  # fmt: skip
        depth += 1
        n_groups[depth] = size
        members[depth] = members[depth - 1] | 1 << v
        cells[depth] = cells[depth - 1] * cards[v]
        _enter(members[depth], counts[:size], cells[depth], kind, a, ranks, logs, table, terms)
        following[depth] = v + 1


@kernel
def fill_families(whole: Any, parents: Any, cards: Any, child: int, max_parents: int, kind: int,
                  a: float, by_count: Any, by_edge: Any, out: Any) -> None:  # fmt: skip
    """Fill `out` with the scores of the child given each set of the others, −∞ above the limit.

    `whole` and `parents` are the terms of sets; `by_edge` holds the child's prior for each parent.
    """
    n = cards.size
    low = (1 << child) - 1
    for others in range(out.size):
        chosen = (others & low) | ((others & ~low) << 1)
        size = 0
        cells = 1.0
        prior = 0.0
        for v in range(n):
            if chosen >> v & 1:
                size += 1
                cells *= cards[v]
                prior += by_edge[v]
        out[others] = -np.inf
        if size <= max_parents:
            score = whole[chosen | 1 << child] - parents[chosen] + by_count[size] + prior
            out[others] = score - (a * cells * (cards[child] - 1) if kind == LIKELIHOOD else 0.0)

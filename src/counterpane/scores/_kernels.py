"""Family scores of counted tables.

A table has the axes (configuration of the parents P, child, one more parent y), the last of card 1
where there is no y, so that one function scores a family and each of its extensions. All natural
logs. A score is named by `kind` and one number `a`:

    LIKELIHOOD   Σ N_jk ln(N_jk / N_j) − a q (r − 1)          q configurations of all parents
    AVERAGE      (1 / N) Σ N_jk ln(N_jk / N_j) − a q (r − 1)  −∞ for an empty table
    EQUIVALENT   Dirichlet marginal likelihood, α_jk = a / (r q)
    CONSTANT     Dirichlet marginal likelihood, α_jk = a
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel

LIKELIHOOD, EQUIVALENT, CONSTANT, AVERAGE = 0, 1, 2, 3
# Not a literal: Numba compiles a function again for each literal it is given.
ONE: Any = np.int64(1)
TABLE_SIZE = 2**20  # values of c ln c kept in a table; larger counts take a logarithm each


@kernel
def fill_clogc(out: Any) -> None:
    """Fill `out[c]` with c ln c."""
    out[0] = 0.0
    for c in range(1, out.size):
        out[c] = c * math.log(c)


@kernel
def clogc(count: Any, table: Any) -> float:
    """c ln c, from `table` where it reaches; 0 for an empty cell."""
    whole = np.int64(count)
    if whole == count and whole < table.size:
        return table[whole]  # type: ignore[no-any-return]
    return count * math.log(count)  # type: ignore[no-any-return]


@kernel
def score_table(table: Any, q: int, r: int, s: int, kind: int, a: float, logs: Any) -> float:
    """The score of a table with axes (q, r, s), the child in the middle."""
    if kind == LIKELIHOOD or kind == AVERAGE:
        total = 0.0
        for p in range(q):
            for y in range(s):
                row = table[0] - table[0]
                for x in range(r):
                    cell = table[(p * r + x) * s + y]
                    row += cell
                    total += clogc(cell, logs)
                total -= clogc(row, logs)
        if kind == AVERAGE:
            rows = 0.0
            for cell in table[: q * r * s]:
                rows += cell
            total = total / rows if rows > 0 else -np.inf
        return total - a * q * s * (r - 1)
    alpha = a / (r * q * s) if kind == EQUIVALENT else a
    at_zero = math.lgamma(alpha)
    row_at_zero = math.lgamma(alpha * r)
    total = 0.0
    for p in range(q):
        for y in range(s):
            row = table[0] - table[0]
            for x in range(r):
                cell = table[(p * r + x) * s + y]
                if cell > 0:
                    row += cell
                    total += math.lgamma(alpha + cell) - at_zero
            if row > 0:
                total += row_at_zero - math.lgamma(alpha * r + row)
    return total


@kernel
def score_tables(values: Any, out_from: Any, cards: Any, kind: int, a: float, logs: Any,
                 out: Any) -> None:  # fmt: skip
    """Fill `out` with the scores of many tables, each with its child, of cards[i] states, last."""
    for i in range(out.size):
        table = values[out_from[i] : out_from[i + 1]]
        out[i] = score_table(table, table.size // cards[i], cards[i], ONE, kind, a, logs)


@kernel
def _pair_likelihood(counts: Any, logs: Any) -> float:
    """Σ N_xy ln(N_xy / N_y), summed in the order of `score_table`."""
    total = 0.0
    for y in range(counts.shape[1]):
        column = counts[0, 0] - counts[0, 0]
        for x in range(counts.shape[0]):
            column += counts[x, y]
            total += clogc(counts[x, y], logs)
        total -= clogc(column, logs)
    return total


@kernel
def score_pairs(counts: Any, left_from: Any, right_from: Any, kind: int, a: float, logs: Any,
                out: Any) -> None:  # fmt: skip
    """Fill out[i, j] with the score of left column i given right column j."""
    largest_left = largest_right = 0
    for i in range(left_from.size - 1):
        largest_left = max(largest_left, left_from[i + 1] - left_from[i])
    for j in range(right_from.size - 1):
        largest_right = max(largest_right, right_from[j + 1] - right_from[j])
    table = np.empty(largest_left * largest_right, counts.dtype)
    for i in range(out.shape[0]):
        r = left_from[i + 1] - left_from[i]
        for j in range(out.shape[1]):
            s = right_from[j + 1] - right_from[j]
            if kind == LIKELIHOOD:
                here = counts[left_from[i] : left_from[i + 1], right_from[j] : right_from[j + 1]]
                out[i, j] = _pair_likelihood(here, logs) - a * s * (r - 1)
                continue
            for x in range(r):
                for y in range(s):
                    table[x * s + y] = counts[left_from[i] + x, right_from[j] + y]
            out[i, j] = score_table(table[: r * s], ONE, r, s, kind, a, logs)

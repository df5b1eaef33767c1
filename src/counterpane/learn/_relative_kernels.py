"""Pearson's χ² of pairs, from their counts or from bits, and the largest of each column."""

from __future__ import annotations

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Array, Floats, Ints

LEAST = 1e-9  # χ² below it is rounding, or might as well be
ROUNDING = 1e-12


@kernel
def fill_chi_squares(counts: Array, left_from: Ints, right_from: Ints, out: Floats) -> None:
    """Fill out[i, j] with Σ (N − E)² / E over cells with E > 0; 0 where the table is independent.

    counts[left_from[i] + s, right_from[j] + t] counts the rows with states s and t.
    """
    widest = 1
    for j in range(right_from.size - 1):
        widest = max(widest, right_from[j + 1] - right_from[j])
    columns = np.empty(widest)
    for i in range(left_from.size - 1):
        for j in range(right_from.size - 1):
            table = counts[left_from[i] : left_from[i + 1], right_from[j] : right_from[j + 1]]
            out[i, j] = _chi_square(table, columns)


@kernel
def _chi_square(table: Array, columns: Floats) -> float:
    """(N · total − row · column)² keeps whole numbers whole, so that no independence is missed."""
    columns[:] = 0.0
    total = 0.0
    for s in range(table.shape[0]):
        for t in range(table.shape[1]):
            columns[t] += table[s, t]
            total += table[s, t]
    statistic = 0.0
    for s in range(table.shape[0]):
        row = 0.0
        for t in range(table.shape[1]):
            row += table[s, t]
        if table.shape[0] == 2 and table.shape[1] == 2:  # one fraction: equal pairs tie exactly
            gap = table[0, 0] * total - row * columns[0]
            margins = row * (total - row) * (columns[0] * columns[1])
            return gap * gap * total / margins if margins > 0 else 0.0
        for t in range(table.shape[1]):
            if row * columns[t] > 0:
                gap = table[s, t] * total - row * columns[t]
                statistic += gap / (row * columns[t]) * (gap / total)
    return statistic


@kernel
def fill_binary_chi_squares(joint: Ints, first: int, ones: Ints, out: Floats) -> None:
    """Fill out[i, j] with the χ² of the columns first + i and j of two states.

    `joint` counts the rows in which both have their first state, `ones` the rows of each state of
    each column in turn. One fraction, as `fill_chi_squares` has it, so that equal pairs tie.
    """
    total = float(ones[0] + ones[1])
    firsts = np.empty(out.shape[1])
    products = np.empty(out.shape[1])
    for j in range(out.shape[1]):
        firsts[j] = ones[2 * j]
        products[j] = firsts[j] * ones[2 * j + 1]
    for i in range(out.shape[0]):
        mine, row = joint[i], out[i]
        here = firsts[first + i]
        for j in range(row.size):
            gap = mine[j] * total - here * firsts[j]
            margins = here * (total - here) * products[j]
            row[j] = gap * gap * total / margins if margins > 0.0 else 0.0


@kernel
def keep_largest(values: Floats, first: int, order: Ints, out: Ints) -> None:
    """Fill out[i] with the columns of the largest values[i], −1 where too few are above LEAST.

    Column first + i is not its own relative. Of equal ones, but for rounding, the later ones in
    `order` are kept.
    """
    k = out.shape[1]
    best = np.empty(k)  # a little below the values kept
    for i in range(values.shape[0]):
        out[i] = -1
        best[:] = 0.0
        for j in order:
            value = values[i, j]
            if value > LEAST and value >= best[k - 1] and j != first + i:
                place = k - 1
                while place > 0 and value >= best[place - 1]:
                    best[place] = best[place - 1]
                    out[i, place] = out[i, place - 1]
                    place -= 1
                best[place] = value * (1.0 - ROUNDING)
                out[i, place] = j

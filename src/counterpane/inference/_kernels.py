"""Walks through tables: one table's cells in order, and where each of them is in another table.

Values are numbers, or natural logs if `logs`.
"""

from __future__ import annotations

import math

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Floats, Ints


@kernel
def set_steps(scope: Ints, cards: Ints, steps_of: Ints) -> None:
    """Write the strides of a dense table over `scope`, the last variable fastest."""
    step = np.int64(1)
    for k in range(scope.size - 1, -1, -1):
        steps_of[scope[k]] = step
        step *= cards[scope[k]]


@kernel
def plan_walk(scope: Ints, cards: Ints, steps_of: Ints, runs: Ints) -> int:
    """The number of runs of a walk through a table over `scope`; clears `steps_of` there.

    Runs are the axes, innermost first, joined where they move as one in the other table; by how
    much each variable moves there is in `steps_of`. There are at least two, and all start at 0.
    """
    n = 0
    for k in range(scope.size - 1, -1, -1):
        card, step = cards[scope[k]], steps_of[scope[k]]
        steps_of[scope[k]] = 0
        if card == 1:
            continue
        if n > 0 and step == runs[n - 1, 0] * runs[n - 1, 1]:
            runs[n - 1, 0] *= card
        else:
            runs[n, 0], runs[n, 1], runs[n, 2] = card, step, 0
            n += 1
    for k in range(n, 2):
        runs[k, 0], runs[k, 1] = 1, 0
    return max(n, 2)


@kernel
def advance(at: int, n: int, runs: Ints) -> int:
    """The place in the other table after one step of the runs from the third on."""
    for k in range(2, n):
        runs[k, 2] += 1
        at += runs[k, 1]
        if runs[k, 2] < runs[k, 0]:
            return at
        at -= runs[k, 1] * runs[k, 0]
        runs[k, 2] = 0
    return at


@kernel
def absorb(table: Floats, source: Floats, at: int, n: int, runs: Ints, logs: bool) -> None:
    """Multiply `table` by `source`, from place `at` on, along a walk of `n` runs."""
    inner, step = runs[0, 0], runs[0, 1]
    outer, leap = runs[1, 0], runs[1, 1]
    for start in range(0, table.size, inner * outer):
        for b in range(outer):
            row = table[start + b * inner : start + (b + 1) * inner]
            place = at + b * leap
            if logs:
                for j in range(inner):
                    row[j] += source[place + j * step]
            elif step == 0:
                factor = source[place]
                for j in range(inner):
                    row[j] *= factor
            elif step == 1:
                other = source[place : place + inner]
                for j in range(inner):
                    row[j] *= other[j]
            else:
                for j in range(inner):
                    row[j] *= source[place + j * step]
        at = advance(at, n, runs)


@kernel
def project(table: Floats, out: Floats, n: int, runs: Ints) -> None:
    """Fill `out` with the sums of the cells of `table` along a walk of `n` runs."""
    inner, step = runs[0, 0], runs[0, 1]
    outer, leap = runs[1, 0], runs[1, 1]
    out[:] = 0.0
    at = 0
    for start in range(0, table.size, inner * outer):
        for b in range(outer):
            row = table[start + b * inner : start + (b + 1) * inner]
            place = at + b * leap
            if step == 0:
                total = 0.0
                for j in range(inner):
                    total += row[j]
                out[place] += total
            elif step == 1:
                other = out[place : place + inner]
                for j in range(inner):
                    other[j] += row[j]
            else:
                for j in range(inner):
                    out[place + j * step] += row[j]
        at = advance(at, n, runs)


@kernel
def project_logs(table: Floats, out: Floats, n: int, runs: Ints, peaks: Floats) -> None:
    """Like `project`, for logs; `peaks` is scratch at least as large as `out`."""
    inner, step = runs[0, 0], runs[0, 1]
    outer, leap = runs[1, 0], runs[1, 1]
    out[:] = 0.0
    peaks[: out.size] = -np.inf
    for adding in range(2):
        at = 0
        for start in range(0, table.size, inner * outer):
            for b in range(outer):
                for j in range(inner):
                    x = table[start + b * inner + j]
                    place = at + b * leap + j * step
                    if adding == 0:
                        peaks[place] = max(peaks[place], x)
                    elif x > -np.inf:
                        out[place] += math.exp(x - peaks[place])
            at = advance(at, n, runs)
    for i in range(out.size):
        out[i] = peaks[i] + math.log(out[i]) if out[i] > 0 else -np.inf


@kernel
def rescale(values: Floats, logs: bool) -> tuple[float, float]:
    """(ln of the largest value, which is brought to 1; the least positive value after that)."""
    top = -np.inf
    for x in values:
        top = max(top, x)
    if logs:
        if top > -np.inf:
            values -= top
        return top, 1.0
    if top <= 0.0:
        return -np.inf, 1.0
    least = 1.0
    for i in range(values.size):
        values[i] /= top
        if values[i] > 0.0:
            least = min(least, values[i])
    return math.log(top), least

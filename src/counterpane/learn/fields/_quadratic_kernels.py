"""The minimum of a quadratic plus l1 · Σ |w|: coordinate descent, and jumps where that creeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Floats, Ints

JUMPS = 50  # at most
NOTHING = 1e-9  # of a curvature: what rounding leaves of features that others make up
ROUNDING = 1e-12  # of a weight, relative


class Quadratic(NamedTuple):
    """A model of a loss in the first n weights: gradient · change + ½ change · hessian · change."""

    weights: Floats  # that minimize it
    gradient: Floats
    hessian: Floats
    pull: Floats  # the model's slopes at `weights`
    kept: Ints  # weights that are not zero; the rest is scratch for these
    matrix: Floats
    least: Floats
    goal: Floats


@kernel
def excess(slope: float, w: float, l1: float) -> float:
    """How far a weight is from optimal: 0 if −slope is a subgradient of l1 · |w|."""
    if w > 0.0:
        return abs(slope + l1)
    if w < 0.0:
        return abs(slope - l1)
    return max(abs(slope) - l1, 0.0)


@kernel
def descend(n: int, l1: float, goal: float, use: Quadratic) -> None:
    """Change weights[:n] until none is further than `goal` from the least model + l1 · Σ |w|.

    Sweeps of coordinate descent find which weights are zero and the signs of the others; where
    features resemble each other these creep, and a jump goes on from there.
    """
    use.pull[:n] = use.gradient[:n]
    for _ in range(JUMPS):
        for _ in range(max(4, n // 16)):  # about the work of a jump
            _sweep(n, l1, use)
            furthest = 0.0
            for a in range(n):
                furthest = max(furthest, excess(use.pull[a], use.weights[a], l1))
            if furthest <= goal:
                return
        _jump(n, l1, use)


@kernel
def _sweep(n: int, l1: float, use: Quadratic) -> None:
    """Minimize in one weight after the other."""
    pull = use.pull[:n]
    for a in range(n):
        now, row = use.weights[a], use.hessian[a, :n]
        if now == 0.0 and abs(pull[a]) <= l1:
            continue
        free = now - pull[a] / row[a]
        use.weights[a] = np.sign(free) * max(abs(free) - l1 / row[a], 0.0)
        move = use.weights[a] - now
        for b in range(n):
            pull[b] += move * row[b]


@kernel
def _jump(n: int, l1: float, use: Quadratic) -> None:
    """Move the nonzero weights towards the minimum for their signs, until one of them is zero."""
    weights, pull, kept = use.weights, use.pull[:n], use.kept
    m = 0
    for a in range(n):
        if weights[a] != 0.0:
            kept[m] = a
            m += 1
    for i in range(m):
        a = kept[i]
        use.goal[i] = -pull[a] - l1 * np.sign(weights[a])
        use.least[i] = NOTHING * use.hessian[a, a]
        for j in range(i, m):
            use.matrix[i, j] = use.hessian[a, kept[j]]
    _eliminate(use.matrix, use.least, use.goal[:m])
    length = 1.0
    for i in range(m):
        now = weights[kept[i]]
        if now * (now + use.goal[i]) < 0.0:
            length = min(length, -now / use.goal[i])
    for i in range(m):
        now, move = weights[kept[i]], length * use.goal[i]
        if now * (now + move) <= 0.0 or abs(now + move) <= ROUNDING * abs(now):
            move = -now
        weights[kept[i]] = now + move
        row = use.hessian[kept[i], :n]
        for b in range(n):
            pull[b] += move * row[b]


@kernel
def _eliminate(matrix: Floats, least: Floats, goal: Floats) -> None:
    """Replace `goal` by the solution of matrix · x = goal; the matrix's upper half is used up.

    Four rows at a time are subtracted from those below. No pivot is below `least`: where features
    make up others, x goes far in the direction that costs nothing.
    """
    m = goal.size
    for first in range(0, m, 4):
        stop = min(first + 4, m)
        for i in range(first, stop):
            matrix[i, i] = max(matrix[i, i], least[i])
            for j in range(i + 1, stop):
                share = matrix[i, j] / matrix[i, i]
                for k in range(j, m):
                    matrix[j, k] -= share * matrix[i, k]
                goal[j] -= share * goal[i]
        for j in range(stop, m):  # there are none unless the rows are four
            below, r0, r1 = matrix[j, j:m], matrix[first, j:m], matrix[first + 1, j:m]
            r2, r3 = matrix[first + 2, j:m], matrix[first + 3, j:m]
            s0, s1 = r0[0] / matrix[first, first], r1[0] / matrix[first + 1, first + 1]
            s2, s3 = r2[0] / matrix[first + 2, first + 2], r3[0] / matrix[first + 3, first + 3]
            for k in range(below.size):
                below[k] -= s0 * r0[k] + s1 * r1[k] + s2 * r2[k] + s3 * r3[k]
            goal[j] -= s0 * goal[first] + s1 * goal[first + 1]
            goal[j] -= s2 * goal[first + 2] + s3 * goal[first + 3]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            goal[i] -= matrix[i, j] * goal[j]
        goal[i] /= matrix[i, i]

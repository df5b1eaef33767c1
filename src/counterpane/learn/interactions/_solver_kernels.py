"""L-BFGS for the ridge objective: a diagonal metric, back-tracking, and a memory that is kept.

Along a path of penalties the pairs of one optimum serve the next: that halves the steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.interactions._ridge_kernels import CHUNK, evaluate

MEMORY = 40  # pairs of steps and changes of the gradient; fewer where they would fill the memory
ROUNDING = 4e-15  # relative decreases below are lost in the sums, and would spoil the pairs
MAX_ENTRIES = 2**22  # of the steps: 32 MB


class Memory(NamedTuple):
    """The last pairs of steps and changes of the gradient, and the penalty these belong to."""

    steps: Any  # (pairs, size)
    changes: Any
    curvatures: Any  # (pairs,): step · change
    penalty: Any  # (features,)
    used: Any  # place of the newest pair, number of pairs


def empty_memory(columns: int, features: int) -> Memory:
    """No pairs."""
    size = columns * features
    pairs = max(5, min(MEMORY, MAX_ENTRIES // size))
    return Memory(
        np.zeros((pairs, size)),
        np.zeros((pairs, size)),
        np.zeros(pairs),
        np.zeros(features),
        np.array([-1, 0]),
    )


@kernel
def dot(x: Any, y: Any) -> float:
    """Σ x y, in four sums at a time so that additions need not wait for each other."""
    a = b = c = d = 0.0
    n = x.size
    for i in range(0, n - 3, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(n - n % 4, n):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@kernel
def direction(gradient: Any, metric: Any, steps: Any, changes: Any, curvatures: Any, newest: int,
              pairs: int, out: Any) -> None:  # fmt: skip
    """Fill `out` with −H · gradient, H from the last `pairs` pairs on top of the metric.

    The metric is that of one column of weights, and the same for all.
    """
    for i in range(out.size):
        out[i] = -gradient[i]
    most = curvatures.size
    alphas = np.empty(most)
    for back in range(pairs):
        j = (newest - back) % most
        s, y = steps[j], changes[j]
        alphas[j] = dot(s, out) / curvatures[j]
        alpha = alphas[j]
        for i in range(out.size):
            out[i] -= alpha * y[i]
    for first in range(0, out.size, metric.size):
        for i in range(metric.size):
            out[first + i] *= metric[i]
    for back in range(pairs - 1, -1, -1):
        j = (newest - back) % most
        s, y = steps[j], changes[j]
        shift = alphas[j] - dot(y, out) / curvatures[j]
        for i in range(out.size):
            out[i] += shift * s[i]


@kernel
def turn_to(memory: Any, penalty: Any) -> None:
    """Bring the pairs of another penalty to this one: it adds a known diagonal to the Hessian."""
    features = penalty.size
    for j in range(memory.curvatures.size):
        s, y = memory.steps[j], memory.changes[j]
        for first in range(0, s.size, features):
            for i in range(features):
                y[first + i] += (penalty[i] - memory.penalty[i]) * s[first + i]
        memory.curvatures[j] = dot(s, y)
    for i in range(features):
        memory.penalty[i] = penalty[i]


@kernel
def minimize(design: Any, labels: Any, row_weights: Any, prior: Any, penalty: Any, metric: Any,
             memory: Any, w: Any, tolerance: float, max_steps: int) -> int:  # fmt: skip
    """Move w, laid out as for `evaluate`, to the minimum of its objective; the steps taken.

    Stops when the decrease that the quadratic model foresees, −gᵀd, falls below `tolerance`. The
    pairs in `memory` are used and left for the next call, which may have another penalty.
    """
    columns, size, n_cells = prior.size, w.size, design.starts[-1]
    tables, sums = np.empty((columns, n_cells)), np.empty((columns, n_cells))
    chunk = np.empty((columns + 4, CHUNK))
    here, there, trial, d = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    turn_to(memory, penalty)
    steps, changes, curvatures = memory.steps, memory.changes, memory.curvatures
    newest, pairs = memory.used[0], memory.used[1]
    value = evaluate(design, labels, row_weights, prior, penalty, w, here, tables, sums, chunk)
    taken = 0
    while taken < max_steps:
        direction(here, metric, steps, changes, curvatures, newest, pairs, d)
        slope = dot(here, d)
        if -slope < max(tolerance, ROUNDING * abs(value)):
            break
        length = 1.0
        while True:
            for i in range(size):
                trial[i] = w[i] + length * d[i]
            reached = evaluate(design, labels, row_weights, prior, penalty, trial, there, tables,
                               sums, chunk)  # fmt: skip
            if reached <= value + 1e-4 * length * slope or length < 1e-10:
                break
            length *= 0.4
        if length < 1e-10:  # rounding has spoiled the pairs; without them it is the end
            if pairs == 0:
                break
            pairs = 0
            continue
        newest = (newest + 1) % curvatures.size
        step, change = steps[newest], changes[newest]
        for i in range(size):
            step[i] = length * d[i]
            change[i] = there[i] - here[i]
            w[i] = trial[i]
        curvatures[newest] = dot(step, change)
        pairs = min(pairs + 1, curvatures.size) if curvatures[newest] > 0 else 0
        here, there = there, here
        value = reached
        taken += 1
    memory.used[0], memory.used[1] = newest, pairs
    return taken

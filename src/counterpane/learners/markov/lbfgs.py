"""L-BFGS for a smooth convex function, and OWL-QN with the penalty l1 · Σ |w|.

Without the penalty it is L-BFGS (Nocedal 1980) with steps halved until the value decreases, which
on pseudo-likelihoods takes about as many steps as scipy's L-BFGS-B. With it, it is OWL-QN (Andrew &
Gao, ICML 2007), L-BFGS within one orthant at a time: a step that would cross zero ends there, so
that weights become exactly zero. The paper also projects the direction onto the orthant of steepest
descent, which took more steps (docs/design/weights.md); here, if no step decreases the value, the
search continues from the steepest descent. Sums avoid BLAS: its threads cost more than they save.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterpane.typing import Floats

MEMORY = 20  # pairs of steps and changes of slopes that approximate the curvature
SUFFICIENT = 1e-4  # of the decrease that the slope predicts (Armijo)
HALVINGS = 30
ROUNDING = 1e-15  # of the value: a smaller increase may be rounding


class Minimum(NamedTuple):
    """Where the search ended, the value there with its penalty, and the largest slope left."""

    w: Floats
    value: float
    steepest: float


def minimize(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    l1: float = 0.0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    callback: Callable[[Floats], None] | None = None,
) -> Minimum:
    """The minimum of `function`, which returns a value and slopes, plus l1 · Σ |w|.

    Stops when no slope of steepest descent is above `tolerance`, or no step leads down.

    >>> square = lambda w: (0.5 * float(((w - [3.0, 0.5]) ** 2).sum()), w - [3.0, 0.5])
    >>> minimize(square, np.zeros(2), l1=1.0).w.round(6).tolist()
    [2.0, 0.0]
    """
    w = start.copy()
    value, slopes = function(w)
    value += l1 * float(np.abs(w).sum())
    history: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    steepest = pseudo_gradient(w, slopes, l1)
    for _ in range(max_steps):
        if np.abs(steepest).max(initial=0.0) <= tolerance:
            break
        direction = -_inverse_curvature(steepest, history)
        orthant = np.where(w != 0, np.sign(w), -np.sign(steepest))
        size = 1.0 if history else 1.0 / _dot(steepest, steepest) ** 0.5
        for _ in range(HALVINGS):
            moved = w + size * direction
            if l1 > 0:
                moved[moved * orthant <= 0] = 0.0
            next_value, next_slopes = function(moved)
            next_value += l1 * float(np.abs(moved).sum())
            predicted = SUFFICIENT * _dot(steepest, moved - w)
            if next_value <= value + predicted + ROUNDING * abs(value):
                break
            size *= 0.5
        else:
            if not history:
                break
            history.clear()
            continue
        step, change = moved - w, next_slopes - slopes
        if _dot(step, change) > 1e-10 * _dot(change, change):
            history.append((step, change))
        w, value, slopes = moved, next_value, next_slopes
        steepest = pseudo_gradient(w, slopes, l1)
        if callback is not None:
            callback(w)
    return Minimum(w, value, float(np.abs(steepest).max(initial=0.0)))


def pseudo_gradient(w: Floats, slopes: Floats, l1: float) -> Floats:
    """The subgradient of the penalized function that is nearest to zero (steepest descent)."""
    at_zero = np.sign(slopes) * np.maximum(np.abs(slopes) - l1, 0.0)
    return np.where(w == 0, at_zero, slopes + l1 * np.sign(w))


def _inverse_curvature(vector: Floats, history: deque[tuple[Floats, Floats]]) -> Floats:
    """The L-BFGS estimate of H⁻¹ · vector, by the two-loop recursion."""
    out = vector.copy()
    alphas = []
    for step, change in reversed(history):
        alphas.append(_dot(step, out) / _dot(step, change))
        out -= alphas[-1] * change
    if history:
        step, change = history[-1]
        out *= _dot(step, change) / _dot(change, change)
    for (step, change), alpha in zip(history, reversed(alphas), strict=True):
        out += (alpha - _dot(change, out) / _dot(step, change)) * step
    return out


def _dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))

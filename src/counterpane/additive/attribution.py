"""What each line of a sum of log-odds adds once probabilities are smoothed and averaged."""

from __future__ import annotations

import numpy as np

from counterpane.typing import Floats

PANELS = 12  # of [0, 1], each half as wide as the next one: log-odds may be in the hundreds
NODES = 8  # of the quadrature, in each


def attributed(odds: Floats, weights: Floats, smoothing: float = 0.0) -> Floats:
    """What lines add to the log-odds of Σ_r w_r ((1 − s) softmax(Σ_l line_l of r) + s / C).

    `odds` are (lines, rows, classes) on the scale of `counterpane.additive.effects.log_odds`, the
    result (lines, classes). The rows may be fits of one row, or rows that are averaged over. All
    lines grow from 0 to their values together, and what each changes on the way is added up:
    the integrated gradient, which sums to the whole. M. Sundararajan, A. Taly and Q. Yan, Axiomatic
    attribution for deep networks, ICML (2017). Cost: lines × rows × classes × 104.

    >>> odds = np.array([[[-3.0, 3.0]], [[1.0, -1.0]]])
    >>> attributed(odds, np.ones(1)).tolist() == odds[:, 0].tolist()
    True
    >>> attributed(odds, np.ones(1), 0.1).round(3).tolist()
    [[-2.518, 2.518], [0.839, -0.839]]
    """
    if len(weights) == 1 and not smoothing:
        return odds[:, 0]
    n_classes = odds.shape[-1]
    shares = weights / weights.sum()
    logs = odds / 2 if n_classes == 2 else odds
    whole = logs.sum(axis=0)
    added: Floats = np.zeros((len(odds), n_classes))
    for place, width in zip(*_quadrature(), strict=True):
        p = np.exp(place * whole - (place * whole).max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = shares @ p * (1 - smoothing) + smoothing / n_classes
        weighed = shares[:, None] * p * (1 - smoothing)
        change = np.einsum("lrc,rc->lc", logs, weighed)
        change -= np.einsum("lrc,rc->lr", logs, p) @ weighed
        added += width * change / np.maximum(mean, np.finfo(float).tiny)
    centered: Floats = added - added.mean(axis=1, keepdims=True)
    return 2 * centered if n_classes == 2 else centered


def _quadrature() -> tuple[list[float], list[float]]:
    """Places in [0, 1] and their weights: Gauss–Legendre in each panel."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    ends = np.append(0.0, 0.5 ** np.arange(PANELS, -1, -1))
    widths = np.diff(ends)[:, None] / 2
    places = ends[:-1, None] + widths * (nodes + 1)
    return places.ravel().tolist(), (widths * weights).ravel().tolist()

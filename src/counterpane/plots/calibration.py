"""Calibration: observed shares beside predicted probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpane.errors import ParameterError
from counterpane.evaluate.measures import calibration_bins
from counterpane.plots.axes import axes_or_new, ink
from counterpane.typing import Array, Floats

Z = 1.959964  # 95 % of a normal distribution
FOOT = 0.18  # of the axes, for the histogram


def calibration(
    true: Any,
    probabilities: Any,
    *,
    classes: Sequence[Any] | None = None,
    bins: int = 10,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with the observed share in each bin of predicted probabilities.

    Bars are 95 % intervals (Wilson, 1927); the columns at the bottom are the numbers of rows in
    each bin.

    Parameters
    ----------
    true : sequence
        For two classes, whether the event happened; for several, the classes of the rows.
    probabilities : array
        For two classes, the predictions of the event; for several, a column for each of `classes`,
        which are all shown together.
    classes : sequence, optional
        The classes of the columns of `probabilities`.
    bins : int
        The number of bins of equal width.
    title : str
        The title of the axes.
    ax : matplotlib axes, optional
        Where to draw; by default new axes.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = calibration([0, 0, 0, 1], [0.25] * 4, ax=Figure().subplots())
    >>> ax.containers[0].lines[0].get_xydata().tolist()
    [[0.25, 0.25]]
    """
    predicted, happened = _flat(true, probabilities, classes)
    groups = calibration_bins(predicted, happened, bins=bins, widths="equal")
    n, mean, share = (
        np.array([getattr(group, name) for group in groups])
        for name in ("rows", "predicted", "observed")
    )
    low, high = wilson(share, n)
    place = np.minimum((mean * bins).astype(np.int64), bins - 1)
    sizes = np.zeros(bins)
    sizes[place] = n
    ax = axes_or_new(ax, (5.0, 5.0))
    edges = np.linspace(0, 1, bins + 1)
    ax.bar(edges[:-1], FOOT * sizes / n.max(), 1 / bins, align="edge", color=ink(), alpha=0.15)
    ax.plot([0, 1], [0, 1], color=ink(), alpha=0.4, linestyle="--", linewidth=1)
    spread = [np.maximum(share - low, 0), np.maximum(high - share, 0)]
    bars = ax.errorbar(mean, share, yerr=spread, marker="o", capsize=2)
    ax.containers[:] = [bars, *(c for c in ax.containers if c is not bars)]
    ax.set(title=title, xlabel="probability told", ylabel="share observed", xlim=(0, 1))
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    return ax


def wilson(share: Floats, n: Array, z: float = Z) -> tuple[Floats, Floats]:
    """The lower and upper end of Wilson's interval for shares observed in n cases.

    >>> low, high = wilson(np.array([0.0]), np.array([4]))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.0, 0.49)
    """
    middle = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return (middle - half) / scale, (middle + half) / scale


def _flat(true: Any, probabilities: Any, classes: Sequence[Any] | None) -> tuple[Floats, Floats]:
    predicted = np.asarray(probabilities, dtype=np.float64)
    labels = np.asarray(true, dtype=object)
    if predicted.ndim == 1:
        happened = labels.astype(np.float64)
    elif classes is not None and predicted.shape[1] == len(classes):
        happened = (labels[:, None] == np.array(list(classes), dtype=object)[None]).astype(float)
    else:
        raise ParameterError(
            f"probabilities of shape {predicted.shape} need classes=… with a name for each column."
        )
    if happened.shape != predicted.shape or not predicted.size:
        raise ParameterError(
            f"{len(labels)} outcomes and {len(predicted)} probabilities do not match."
        )
    if not ((predicted >= 0) & (predicted <= 1 + 1e-9)).all():
        raise ParameterError("probabilities must be from 0 to 1.")
    return predicted.reshape(-1), happened.reshape(-1)

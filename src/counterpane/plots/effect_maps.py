"""Maps of interactions of two and more columns, and the axes of effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effect_tables import EffectAxis, cell_rows, cell_text, shown_cells
from counterpane.plots.axes import axis_label, ink, number_ticks, paper
from counterpane.typing import Array, Floats

COLORS = "RdBu"
SLICES = 3  # of a third column
WIDE_TITLE = 22  # letters that fit above a slice
STRIP = 0.06  # of the range of numbers: the width of the strip of missing cells
MAX_RUG = 300  # training rows that are marked
MAX_WRITTEN = 40  # cells of states that have their number written
UPRIGHT = 36  # letters of all labels up to which they stand side by side


def missing_strip(axis: EffectAxis) -> tuple[float, float] | None:
    """The ends of the strip of missing numbers beside those of an axis."""
    if not axis.labels or axis.values is None:
        return None
    last = axis.edges[-1] if axis.edges is not None else axis.values[-1]
    first = axis.edges[0] if axis.edges is not None else axis.values[0]
    wide = STRIP * (float(last - first) or 1.0)
    return float(last) + wide / 2, float(last) + 2 * wide


def effect_ticks(side: Any, axis: EffectAxis) -> None:
    """Ticks of a column of numbers on one side of a plot, and one for missing cells."""
    assert axis.values is not None
    low, high = (axis.values if axis.edges is None else axis.edges)[[0, -1]].tolist()
    number_ticks(side, low, high, dated=axis.dated, missing=missing_strip(axis))


class EffectSlice(NamedTuple):
    """A map: words on the other columns, values by cell of the first two, and rows to mark."""

    words: str
    values: Floats
    points: Floats  # (2, rows): numbers, or codes of states


def effect_slices(
    model: AdditiveClassifier, axes: Sequence[EffectAxis], values: Floats
) -> list[EffectSlice]:
    """Maps of the first two columns at up to three cells of the third.

    Columns after the third are at the cell where the effect is largest.
    """
    cells: dict[int, int] = {}
    while values.ndim > 3:
        k = values.ndim - 1
        cells[k] = int(np.abs(values).max(axis=tuple(range(k))).argmax())
        values = values[..., cells[k]]
    if values.ndim == 2:
        return [EffectSlice("", values, cell_rows(model, axes, cells))]
    slices = []
    for k in shown_cells(axes[2], SLICES):
        own = {2: k} | cells
        words = "\n".join(
            _slice_title(axis_label(axes[j].name), axis_label(cell_text(axes[j], c)))
            for j, c in own.items()
        )
        slices.append(EffectSlice(words, values[..., k], cell_rows(model, axes, own)))
    return slices


def _slice_title(name: str, cell: str) -> str:
    """A name and its cell: on a line each where both together would be cut off."""
    return f"{name}{' ' if len(name) + len(cell) < WIDE_TITLE else chr(10)}{cell}"


def draw_map(ax: Any, axes: Sequence[EffectAxis], shown: EffectSlice, most: float) -> Any:
    """The first column along x, the second along y; missing cells in strips beside the numbers."""
    x, y = axes[:2]
    cells: Floats = shown.values.T
    edges: list[Array] = []
    for axis, side in ((x, 1), (y, 0)):
        strip = missing_strip(axis)
        if axis.edges is None:
            edges.append(np.arange(len(axis.labels) + 1) - 0.5)
        elif strip is None:
            edges.append(axis.edges)
        else:
            edges.append(np.append(axis.edges, strip))
            cells = np.insert(cells, axis.n_numbers, np.nan, axis=side)
    colors = {"cmap": COLORS, "vmin": -(most or 1.0), "vmax": most or 1.0}
    ax.set_facecolor(paper())
    image = ax.pcolormesh(*edges, np.ma.masked_invalid(cells), **colors)
    if x.n_numbers > 2 and y.n_numbers > 2:
        inner = shown.values[: x.n_numbers, : y.n_numbers].T
        levels = [z for z in np.linspace(-most, most, 7) if inner.min() < z < inner.max()]
        if levels:
            ax.contour(x.values, y.values, inner, levels, colors=[ink()], linewidths=0.5, alpha=0.5)
    if x.n_numbers or y.n_numbers:  # rows, so that nobody trusts a corner where there are none
        points = shown.points[:, :MAX_RUG]
        spread = np.random.default_rng(0).uniform(-0.3, 0.3, points.shape)
        spread *= [[not x.n_numbers], [not y.n_numbers]]
        ax.plot(*(points + spread), ".", color=ink(), ms=2, alpha=0.45)
    elif shown.values.size <= MAX_WRITTEN:
        _write_cells(ax, shown, most)
    for axis, side, label in ((x, ax.xaxis, ax.set_xlabel), (y, ax.yaxis, ax.set_ylabel)):
        if axis.values is None:
            side.set_ticks(range(len(axis.labels)), [axis_label(t) for t in axis.labels])
            if side is ax.xaxis and sum(map(len, axis.labels)) > UPRIGHT:
                ax.tick_params(axis="x", rotation=60)
        else:
            effect_ticks(side, axis)
        label(axis_label(axis.name))
    return image


def _write_cells(ax: Any, shown: EffectSlice, most: float) -> None:
    """The number of each cell of two columns of states; gray without a training row."""
    for i, j in np.ndindex(shown.values.shape):
        value = float(shown.values[i, j])
        if shown.points.shape[1] and not (shown.points == [[i], [j]]).all(axis=0).any():
            ax.fill([i - 0.5, i + 0.5, i + 0.5, i - 0.5], [j - 0.5, j - 0.5, j + 0.5, j + 0.5],
                    color="0.6", lw=0)  # fmt: skip
            ax.text(i, j, "no rows", ha="center", va="center", fontsize=7, color="white")
        else:
            color = "white" if abs(value) > 0.6 * most else "black"
            ax.text(i, j, f"{value:+.2f}", ha="center", va="center", fontsize=8, color=color)

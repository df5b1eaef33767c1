"""Matplotlib axes, labels and colors: new axes by default, colors of the style in use."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.errors import MissingExtraError
from counterpane.typing import Array

BLUE = "#1f6fb4"
MAX_INCHES = (16.0, 14.0)  # of a new figure
MAX_LETTERS = 32  # of a name beside an axis
LONG = 10_000  # from which numbers are written as 10k


def axes_or_new(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """`ax`, or those of a new figure of `size` in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib; install it, or counterpane[plot]."
        ) from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def sized(drawing: tuple[float, float]) -> tuple[float, float]:
    """The inches of a new figure for a drawing of this size in layout units."""
    scale = min(1 / 80, MAX_INCHES[0] / drawing[0], MAX_INCHES[1] / drawing[1])
    return max(drawing[0] * scale, 3.0), max(drawing[1] * scale, 1.5)


def points_per_unit(ax: Any, drawing: tuple[float, float]) -> float:
    """Typographic points for one unit of a drawing that fills the axes as they are now."""
    figure = ax.figure.figure  # of a subfigure, the whole
    if figure.get_layout_engine() is not None:
        figure.get_layout_engine().execute(figure)
    box = ax.get_window_extent()
    pixels = min(box.width / drawing[0], box.height / drawing[1])
    return float(pixels * 72 / ax.figure.dpi)


def shades() -> Any:
    """A color map from the color behind a plot to a dark blue, for numbers from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("counterpane", [paper(), BLUE])


def ink() -> Any:
    """The color of text in the style in use."""
    return _style()["text.color"]


def paper() -> Any:
    """The color behind a plot in the style in use."""
    return _style()["axes.facecolor"]


def _style() -> Any:
    import matplotlib

    return matplotlib.rcParams


def literal(text: str) -> str:
    """Text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")


def axis_label(name: str) -> str:
    """A name that fits beside an axis, not read as a formula."""
    return literal(name if len(name) <= MAX_LETTERS else name[: MAX_LETTERS - 1] + "…")


def number_ticks(
    side: Any,
    low: float,
    high: float,
    *,
    dated: bool = False,
    missing: tuple[float, float] | None = None,
) -> None:
    """Set a few ticks of numbers, or of dates in days, and one in a strip of missing cells."""
    from matplotlib import dates, ticker

    days: Any = dates
    ticks: Array
    if dated:
        locator = days.AutoDateLocator(minticks=2, maxticks=5)
        ticks = np.asarray(locator.tick_values(days.num2date(low), days.num2date(high)))
    else:
        ticks = np.asarray(ticker.MaxNLocator(5).tick_values(low, high))
    last = high if missing is None else high - 0.14 * (high - low)
    ticks = ticks[(ticks >= low) & (ticks <= last)]
    if dated:
        labels = days.ConciseDateFormatter(locator).format_ticks(ticks)
    elif np.abs(ticks).max(initial=0.0) >= LONG:
        labels = [ticker.EngFormatter(sep="")(x) for x in ticks]
    else:
        labels = [f"{x:.6g}" for x in ticks.tolist()]
    if missing is not None:
        ticks, labels = np.append(ticks, sum(missing) / 2), [*labels, "missing"]
    side.set_ticks(ticks.tolist(), labels)


def write_note(ax: Any, note: str) -> None:
    """Write a note below the axes, in letters with which it is not wider than the figure."""
    points = 72 * ax.figure.get_size_inches()[0]
    size = max(5.0, min(8.0, 1.75 * points / max(len(note), 1)))
    ax.text(0.5, -0.02, note, transform=ax.transAxes, ha="center", va="top",
            fontsize=size, color=ink(), alpha=0.8)  # fmt: skip

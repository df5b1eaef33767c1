"""Matplotlib axes, labels and colors: new axes by default, colors of the style in use."""

from __future__ import annotations

from typing import Any

from counterpane.errors import MissingExtraError

BLUE = "#1f6fb4"
MAX_INCHES = (16.0, 14.0)  # of a new figure
MAX_LETTERS = 32  # of a name beside an axis


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


def write_note(ax: Any, note: str) -> None:
    """Write a note below the axes."""
    ax.text(0.5, -0.02, note, transform=ax.transAxes, ha="center", va="top",
            fontsize=8, color=ink(), alpha=0.8)  # fmt: skip

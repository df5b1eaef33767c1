"""Hypergraphs of classifiers: the features that affect the class, alone and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from counterpane.drawing.layout import label_width, lay_out_graph
from counterpane.errors import ParameterError
from counterpane.plots.axes import (
    axes_or_new,
    ink,
    literal,
    paper,
    points_per_unit,
    sized,
    write_note,
)

COLORS = ("tab:green", "tab:blue", "tab:red")  # hyperedges with one, two, and more features
MAX_HYPEREDGES = 200
FONT = 11.0

Places = Mapping[Any, tuple[float, float]]
Line = tuple[Any, Any]


def hypergraph(
    records: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    note: str = "",
    positions: Mapping[str, tuple[float, float]] | None = None,
    ax: Any = None,
) -> Any:
    """Matplotlib axes with the hyperedges in `records`: boxes, lines, and dashed stars.

    A hyperedge of one feature colors its box, one of two is a line, and a larger one a dashed star
    around its center.

    Parameters
    ----------
    records : sequence of mappings
        Each has `hyperedge`, the names of its features (the class belongs to all and is not
        shown), `share` (0 to 1, drawn as opacity) and `label`.
    note : str
        A text below the graph.
    positions : mapping, optional
        The place of each feature; by default those that share hyperedges are drawn together.
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
    >>> pair = {"hyperedge": ("age", "sex"), "share": 1.0, "label": "0.3"}
    >>> ax = hypergraph([pair], ax=Figure().subplots())
    >>> sorted(text.get_text() for text in ax.texts)
    ['0.3', 'age', 'sex']
    """
    if len(records) > MAX_HYPEREDGES:
        raise ParameterError(
            f"{len(records)} hyperedges make no picture; at most {MAX_HYPEREDGES} are drawn: show "
            "the best structure alone."
        )
    names = sorted({name for record in records for name in record["hyperedge"]})
    alone = {r["hyperedge"][0]: r for r in records if len(r["hyperedge"]) == 1}
    texts = {name: _text(name, alone.get(name)) for name in names}
    size = 9.0
    if positions is None:
        layout = _layout(records, texts)
        ax = axes_or_new(ax, sized(layout.size))
        ax.set_title(title)
        ax.set_axis_off()
        ax.set(xlim=(0, layout.size[0]), ylim=(layout.size[1], 0), aspect="equal")
        size = points_per_unit(ax, layout.size) * FONT
        where: Places = layout.positions
    else:
        where = _checked(positions, names)
        ax = axes_or_new(ax, (8, 6))
        ax.set_title(title)
        ax.set_axis_off()
        ax.margins(0.2)
    hubs = [hub for record in records if (hub := _hub(record["hyperedge"])) in where]
    taken = [np.array(where[name]) for name in [*names, *hubs]]  # where labels would be hidden
    drawn: list[Line] = []
    for record in sorted(records, key=lambda r: len(r["hyperedge"])):
        if len(record["hyperedge"]) > 1:
            _draw_joint(ax, record, where, size, taken, drawn)
    for name in names:
        _draw_node(ax, texts[name], alone.get(name), where[name], size)
    if note:
        write_note(ax, note)
    return ax


def _text(name: str, record: Mapping[str, Any] | None) -> str:
    return name if record is None or not record["label"] else f"{name}\n{record['label']}"


def _draw_joint(
    ax: Any,
    record: Mapping[str, Any],
    where: Places,
    size: float,
    taken: list[Any],
    drawn: list[Line],
) -> None:
    """A line between two features, or dashes from each of several to their middle.

    A line that would lie on others of `drawn` is shifted beside them.
    """
    points = np.array([where[name] for name in record["hyperedge"]])
    several = len(points) > 2
    hub = _hub(record["hyperedge"])
    middle = np.array(where[hub]) if several and hub in where else points.mean(axis=0)
    color = COLORS[min(len(points), 3) - 1]
    opacity = min(1.0, 0.2 + 0.8 * float(record["share"]))
    spokes = [(middle, point) for point in points] if several else [(points[0], points[1])]
    for start, stop in spokes:
        ax.plot(
            [start[0], stop[0]],
            [start[1], stop[1]],
            color=color,
            alpha=opacity,
            linestyle="--" if several else "-",
            linewidth=0.2 * size,
            zorder=1,
            transform=_beside(ax, start, stop, 0.5 * size * _hidden_by(start, stop, drawn)),
        )
    drawn += spokes
    place = middle if hub in where else _freest(spokes, taken)
    taken.append(place)
    box = {"facecolor": paper(), "edgecolor": "none", "alpha": 0.8, "pad": 0.1 * size}
    ax.text(
        *place, record["label"], color=color, ha="center", va="center", fontsize=0.95 * size,
        bbox=box, zorder=2,
    )  # fmt: skip


def _hidden_by(start: Any, stop: Any, drawn: Sequence[Line]) -> int:
    """The number of lines that share more than a point with the line from `start` to `stop`."""
    length = float(np.hypot(*(stop - start)))
    if not length:
        return 0
    along = (stop - start) / length
    across = np.array([-along[1], along[0]])
    count = 0
    for line in drawn:
        off = max(abs((end - start) @ across) for end in line)
        low, high = sorted(float((end - start) @ along) for end in line)
        count += off < 1e-6 * length and min(high, length) - max(low, 0.0) > 1e-6 * length
    return count


def _beside(ax: Any, start: Any, stop: Any, points: float) -> Any:
    """The transform of the axes' data, shifted at right angles to a line by so many points."""
    from matplotlib.transforms import ScaledTranslation

    if not points:
        return ax.transData
    first, last = sorted([ax.transData.transform(start), ax.transData.transform(stop)], key=tuple)
    along = (last - first) / np.hypot(*(last - first))
    inches = points / 72
    shift = ScaledTranslation(-along[1] * inches, along[0] * inches, ax.figure.dpi_scale_trans)
    return ax.transData + shift


def _freest(lines: Sequence[Line], taken: Sequence[Any]) -> Any:
    """The place on some lines, not at their ends, that is farthest from all that are taken."""
    places = [(1 - t) * start + t * stop for start, stop in lines for t in (0.5, 0.35, 0.65)]
    return max(places, key=lambda place: round(min(np.hypot(*(place - t)) for t in taken), 9))


def _draw_node(
    ax: Any, text: str, record: Mapping[str, Any] | None, point: Any, size: float
) -> None:
    """A box with the feature's name, colored where the feature is a hyperedge by itself."""
    from matplotlib.colors import to_rgba

    share = 0.0 if record is None else min(1.0, float(record["share"]))
    tint = 0.1 + 0.4 * share if share else 0.0
    fill = (1 - tint) * np.array(to_rgba(paper())) + tint * np.array(to_rgba(COLORS[0]))
    box = {"boxstyle": "round,pad=0.35", "facecolor": tuple(fill), "edgecolor": "gray"}
    ax.text(
        *point, literal(text), ha="center", va="center", fontsize=size, color=ink(), bbox=box,
        zorder=4,
    )  # fmt: skip


def _layout(records: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> Any:
    """Boxes by stress, with room for the labels of lines and stars between them."""
    widths = {n: max(map(label_width, text.split("\n"))) for n, text in texts.items()}
    edges = []
    for record in records:
        members = record["hyperedge"]
        if len(members) > 2:
            hub = _hub(members)
            widths[hub] = 1.2 * max(label_width(line) for line in record["label"].split("\n"))
            edges += [(hub, name) for name in members]
        else:
            edges += combinations(members, 2)
    unique = {tuple(sorted(edge)) for edge in edges}
    sizes = {name: (width, 36.0) for name, width in widths.items()}
    return lay_out_graph(sizes, sorted(unique), directed=False, sizes=sizes, height=36.0)


def _hub(members: Sequence[str]) -> str:
    """The name of a hyperedge's middle in a layout; no column's name holds such a sign."""
    return "\0".join(members)


def _checked(positions: Mapping[str, tuple[float, float]], names: Sequence[str]) -> Places:
    for name in names:
        if name not in positions:
            raise ParameterError(f"positions lack {name!r}; every feature shown needs one.")
    return positions

"""Hypergraphs of classifiers: which features bear on the class, alone and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from counterpane.errors import MissingExtraError, ParameterError

COLORS = ("tab:green", "tab:blue", "tab:red")  # hyperedges with one, two, and more features
MAX_HYPEREDGES = 200


def hypergraph(
    records: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    positions: Mapping[str, tuple[float, float]] | None = None,
    ax: Any = None,
) -> Any:
    """Matplotlib axes with the hyperedges in `records`: circles, lines, and dashed stars.

    A record has `hyperedge`, the names of its features (the class belongs to all and is not shown),
    `share` (0 to 1, drawn as opacity) and `label`. A hyperedge of one feature colors its node, one
    of two is a line, and one of more a star of dashes around its middle. `positions` place the
    features; by default those that share hyperedges are drawn together.
    """
    if len(records) > MAX_HYPEREDGES:
        raise ParameterError(
            f"{len(records)} hyperedges make no picture; at most {MAX_HYPEREDGES} are drawn: show "
            "the best structure alone."
        )
    names = sorted({name for record in records for name in record["hyperedge"]})
    where = _layout(records, names) if positions is None else _given(positions, names)
    if ax is None:
        ax = _new_axes()
    alone = {r["hyperedge"][0]: r for r in records if len(r["hyperedge"]) == 1}
    for record in sorted(records, key=lambda r: -len(r["hyperedge"])):
        if len(record["hyperedge"]) > 1:
            _draw_joint(ax, record, where)
    for name in names:
        _draw_node(ax, name, alone.get(name), where[name])
    ax.set_title(title)
    ax.margins(0.2)
    ax.set_axis_off()
    return ax


def _draw_joint(ax: Any, record: Mapping[str, Any], where: Mapping[str, Any]) -> None:
    """A line between two features, or dashes from each of several to their middle."""
    points = np.array([where[name] for name in record["hyperedge"]])
    middle = points.mean(axis=0)
    several = len(points) > 2
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
            linewidth=2,
            zorder=1,
        )
    longest = points[np.argmax(((points - middle) ** 2).sum(axis=1))]
    place = middle + 0.35 * (longest - middle) if several else middle  # a node may be in the middle
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1}
    ax.text(*place, record["label"], color=color, ha="center", va="center", fontsize=8, bbox=box)


def _draw_node(ax: Any, name: str, record: Mapping[str, Any] | None, point: Any) -> None:
    """A circle with the feature's name, colored where the feature is a hyperedge by itself."""
    share = 0.0 if record is None else min(1.0, float(record["share"]))
    ax.scatter([point[0]], [point[1]], s=500, color="white", edgecolors="gray", zorder=2)
    if share:
        ax.scatter(
            [point[0]], [point[1]], s=500, color=COLORS[0], alpha=0.1 + 0.4 * share, zorder=3
        )
    text = name if record is None or not record["label"] else f"{name}\n{record['label']}"
    ax.text(*point, text, ha="center", va="center", fontsize=9, zorder=4)


def _layout(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Features on a circle, or by springs where hyperedges join them; always the same."""
    graph: Any = nx.Graph()
    graph.add_nodes_from(names)
    for record in records:
        graph.add_edges_from(combinations(record["hyperedge"], 2))
    circle: dict[str, Any] = nx.circular_layout(graph)
    if not graph.number_of_edges():
        return circle
    springs: dict[str, Any] = nx.spring_layout(graph, pos=circle, seed=0, k=2 / np.sqrt(len(names)))
    return springs


def _given(
    positions: Mapping[str, tuple[float, float]], names: Sequence[str]
) -> Mapping[str, tuple[float, float]]:
    for name in names:
        if name not in positions:
            raise ParameterError(f"positions lack {name!r}; every feature shown needs one.")
    return positions


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib; install it, or counterpane[plot]."
        ) from None
    return plt.subplots(figsize=(8, 6))[1]

"""Graphs of models: boxes with names, edges as wide as they are sure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from counterpane.errors import ParameterError
from counterpane.graphs.curves import arrow, edge_curve
from counterpane.graphs.layout import Edge, GraphLayout, Point, lay_out_networkx, short_label
from counterpane.plots.axes import axes_or_new, ink, paper, points_per_unit, sized

MAX_NODES = 300
ARROW = 8.0


def graph(
    model: Any,
    *,
    strengths: Mapping[Edge, float] | None = None,
    marked: Collection[str] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with the graph of a model, a learner, a bootstrap or networkx.

    `strengths`, 0 to 1 by edge (of either direction), are drawn as widths; by default they are the
    graph's own edge attribute `strength`, as `BootstrapResult.averaged_graph` has it. `marked`
    nodes are filled. Colors are those of the style in use, so that dark styles work.

    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> sorted(text.get_text() for text in graph(model, ax=Figure().subplots()).texts)
    ['age', 'sex', 'status', 'survived']
    """
    network = networkx_of(model)
    if len(network) > MAX_NODES:
        raise ParameterError(
            f"{len(network)} nodes make no picture; at most {MAX_NODES} are drawn: pass a "
            "subgraph, such as model.graph.subgraph(names)."
        )
    layout, arrows = lay_out_networkx(network)
    if strengths is None:
        strengths = {
            (str(a), str(b)): float(known)
            for a, b, known in network.edges(data="strength")
            if known is not None
        }
    ax = axes_or_new(ax, sized(layout.size))
    ax.set_axis_off()
    ax.set_xlim(0, layout.size[0])
    ax.set_ylim(layout.size[1], 0)
    ax.set_aspect("equal")
    ax.set_title(title)
    unit = points_per_unit(ax, layout.size)
    for edge, points in layout.routes.items():
        known = strengths.get(edge, strengths.get(edge[::-1], 0.0)) if strengths else 1.0
        width = unit * (0.5 + 2.5 * min(max(known, 0.0), 1.0)) if strengths else 1.3 * unit
        _draw_edge(ax, edge, points, layout.curved, edge in arrows, width)
    for name, point in layout.positions.items():
        _draw_node(ax, name, point, layout, name in marked, unit)
    return ax


def networkx_of(model: Any) -> Any:
    """The networkx graph of a model, a fitted learner, a bootstrap, or the graph itself."""
    for found in ("graph_", "graph", "averaged_graph"):
        if found != "graph" or not hasattr(model, "nodes"):
            known = getattr(model, found, None)
            if known is not None:
                return known() if callable(known) and found == "averaged_graph" else known
    if hasattr(model, "nodes") and hasattr(model, "is_directed"):
        return model
    raise ParameterError(
        f"a {type(model).__name__} has no graph; pass a model, a fitted learner or networkx graph."
    )


def _draw_edge(
    ax: Any, edge: Edge, points: tuple[Point, ...], curved: bool, pointed: bool, width: float
) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    if pointed:
        points, head = arrow(points, curved=curved, length=ARROW)
        ax.add_patch(Polygon(head, closed=True, color=ink(), alpha=0.8, linewidth=0, zorder=2))
    pieces = edge_curve(points, curved=curved)
    codes = [Path.MOVETO]
    for piece in pieces:
        codes += [Path.CURVE4] * 3 if len(piece) == 3 else [Path.LINETO]
    path = Path([points[0], *(point for piece in pieces for point in piece)], codes)
    label = f"{edge[0]} → {edge[1]}" if pointed else f"{edge[0]} – {edge[1]}"
    ax.add_patch(
        PathPatch(path, fill=False, color=ink(), alpha=0.8, linewidth=width, label=label, zorder=1)
    )


def _draw_node(
    ax: Any, name: str, point: Point, layout: GraphLayout, marked: bool, unit: float
) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = layout.widths[name], layout.height
    corner = (point[0] - width / 2, point[1] - height / 2)
    box = f"round,pad=0,rounding_size={height / 4}"
    for fill, alpha in ((paper(), 1.0), (ink(), 0.3 if marked else 0.07)):  # hide edges, then tint
        ax.add_patch(
            FancyBboxPatch(
                corner, width, height, box, facecolor=fill, alpha=alpha, linewidth=0, zorder=3
            )
        )
    ax.add_patch(
        FancyBboxPatch(
            corner, width, height, box, fill=False, edgecolor=ink(), alpha=0.6,
            linewidth=0.8 * unit, zorder=4,
        )
    )  # fmt: skip
    text = short_label(name).replace("$", r"\$")  # no formula
    size = unit * height / 2
    ax.text(*point, text, ha="center", va="center_baseline", fontsize=size, zorder=5, color=ink())

"""Graphs of models: boxes with names, and edges whose width is their strength."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.drawing.layout import (
    Edge,
    GraphLayout,
    Marks,
    Point,
    lay_out_mixed,
    lay_out_networkx,
    short_label,
)
from counterpane.drawing.svg import edge_curve, marked_line
from counterpane.errors import ParameterError, shown_type
from counterpane.graphs.mixed import ARROW as HEAD
from counterpane.graphs.mixed import TAIL, MixedGraph
from counterpane.independence.edge_strength import UNIT
from counterpane.lazy import lazy
from counterpane.models.edges import LEAST_SAMPLES, edge_text
from counterpane.plots.axes import (
    axes_or_new,
    ink,
    literal,
    paper,
    points_per_unit,
    sized,
    write_note,
)
from counterpane.tools.links import arrow_names
from counterpane.tools.pictures import mixed_graph_of

nx = lazy("networkx")

MAX_NODES = 300
MAX_LABELS = 30  # edges up to which numbers are written
ARROW = 8.0
RING = 1.2  # width of a circle's line; a wide one would fill it


def graph(
    model: Any,
    *,
    strengths: Mapping[Edge, float] | None = None,
    labels: Mapping[Edge, str] | None = None,
    note: str | None = None,
    marked: Collection[str] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with the graph of a model, a learner, a bootstrap, networkx or `MixedGraph`.

    An edge of a learned network has an arrowhead if the equivalence class or a constraint
    determines its direction. What `FCI` learned is drawn as its partial ancestral graph: circles
    where a mark is open, a dashed line with two heads for a common cause that was not measured.
    Colors are those of the style in use, so that dark styles work.

    Parameters
    ----------
    model : model, learner, BootstrapResult, MixedGraph or networkx graph
        At most 300 nodes.
    strengths : mapping, optional
        0 to 1 by edge (of either direction), drawn as widths; by default a learned network's
        strengths in bits per row, or a bootstrap's shares of at least 20 samples.
    labels : mapping, optional
        Texts on the edges; by default the strengths of up to 30 edges.
    note : str, optional
        What the labels mean; it is written below the graph.
    marked : collection of str
        Nodes that are filled.
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
    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> sorted(text.get_text() for text in graph(model, ax=Figure().subplots()).texts)
    ['0.048', '0.13', '0.14', 'age', 'edges: bits per row', 'sex', 'status', 'survived']
    """
    network = networkx_of(model)
    if len(network) > MAX_NODES:
        raise ParameterError(
            f"{len(network)} nodes make no picture; at most {MAX_NODES} are drawn: pass a "
            "subgraph, such as model.graph.subgraph(names)."
        )
    mixed = mixed_graph_of(model)
    marks: Marks = {}
    if mixed is None:
        layout, arrows = lay_out_networkx(network, arrow_names(getattr(model, "model_", model)))
        marks = {edge: (TAIL, HEAD if edge in arrows else TAIL) for edge in layout.routes}
    else:
        layout, marks = lay_out_mixed(mixed.names, mixed.edges)
    widths, numbers, meaning = edge_numbers(model, network)
    strengths = widths if strengths is None else strengths
    if labels is None:
        labels, note = numbers, meaning if note is None else note
    if len(layout.routes) > MAX_LABELS:
        labels, note = {}, ""
    ax = axes_or_new(ax, sized(layout.size))
    ax.set_axis_off()
    ax.set_xlim(0, layout.size[0])
    ax.set_ylim(layout.size[1], 0)
    ax.set_aspect("equal")
    ax.set_title(title)
    unit = points_per_unit(ax, layout.size)
    written: list[Point] = []
    for edge, points in layout.routes.items():
        strength = strengths.get(edge, strengths.get(edge[::-1], 0.0)) if strengths else 1.0
        width = unit * (0.5 + 2.5 * min(max(strength, 0.0), 1.0)) if strengths else 1.3 * unit
        _draw_edge(ax, edge, points, layout.curved, marks[edge], width)
    # Flat edges have least room for their labels, and come first.
    flat = sorted(layout.routes.items(), key=lambda route: abs(route[1][-1][1] - route[1][0][1]))
    for edge, points in flat:
        text = labels.get(edge, labels.get(edge[::-1]))
        if text is not None:
            written.append(_label_edge(ax, points, text, unit, layout.height, written))
    if labels and note:
        write_note(ax, f"edges: {note}")
    for name, point in layout.positions.items():
        _draw_named_box(ax, name, point, layout, name in marked, unit)
    return ax


def edge_numbers(model: Any, network: Any) -> tuple[dict[Edge, float], dict[Edge, str], str]:
    """(widths from 0 to 1, labels, the meaning of the labels) of the edges, as far as known."""
    owner = getattr(model, "model_", model)
    if hasattr(owner, "edge_strengths"):
        edges = owner.edge_strengths()
        bits = {edge.ends: edge.strength or 0.0 for edge in edges}
        most = max(bits.values(), default=0.0) or 1.0
        widths = {ends: math.sqrt(each / most) for ends, each in bits.items()}
        return widths, {ends: f"{each:.2g}" for ends, each in bits.items()}, UNIT
    samples = network.graph.get("samples")
    if samples is not None and samples < LEAST_SAMPLES:
        return {}, {}, ""
    shares = {
        (str(a), str(b)): float(share)
        for a, b, share in network.edges(data="strength" if samples is None else "share")
        if share is not None
    }
    if samples is None:
        return shares, {}, ""
    labels = {edge: f"{share:.0%}" for edge, share in shares.items()}
    return shares, labels, f"share of {samples:,} bootstrap samples with the edge as it is drawn"


def networkx_of(model: Any) -> Any:
    """The networkx graph of a model, a fitted learner, a bootstrap, or the graph itself."""
    if isinstance(model, MixedGraph):
        network = nx.DiGraph()
        network.add_nodes_from(model.names)
        network.add_edges_from((edge.a, edge.b) for edge in model.edges)
        return network
    for name in ("graph_", "graph", "averaged_graph"):
        if name != "graph" or not hasattr(model, "nodes"):
            graph = getattr(model, name, None)
            if graph is not None:
                return graph() if callable(graph) and name == "averaged_graph" else graph
    if hasattr(model, "nodes") and hasattr(model, "is_directed"):
        return model
    raise ParameterError(
        f"{shown_type(model)} has no graph; pass a model, a fitted learner or networkx graph."
    )


def _draw_edge(
    ax: Any,
    edge: Edge,
    points: tuple[Point, ...],
    curved: bool,
    marks: tuple[int, int],
    width: float,
) -> None:
    from matplotlib.patches import Circle, PathPatch, Polygon
    from matplotlib.path import Path

    line = marked_line(points, marks, curved=curved, length=ARROW)
    for head in line.heads:
        ax.add_patch(Polygon(head, closed=True, color=ink(), alpha=0.8, linewidth=0, zorder=2))
    for center in line.circles:
        ring = Circle(
            center, line.radius, fill=False, color=ink(), alpha=0.8, linewidth=min(width, RING)
        )
        ax.add_patch(ring)
    points = line.points
    pieces = edge_curve(points, curved=curved)
    codes = [Path.MOVETO]
    for piece in pieces:
        codes += [Path.CURVE4] * 3 if len(piece) == 3 else [Path.LINETO]
    path = Path([points[0], *(point for piece in pieces for point in piece)], codes)
    label = edge_text(*edge, directed=marks[1] == HEAD)
    dashes = (0, (5, 3)) if marks == (HEAD, HEAD) else "solid"
    ax.add_patch(
        PathPatch(path, fill=False, color=ink(), alpha=0.8, linewidth=width, label=label, zorder=1,
                  linestyle=dashes)
    )  # fmt: skip


def _label_edge(
    ax: Any,
    points: tuple[Point, ...],
    text: str,
    unit: float,
    height: float,
    written: Sequence[Point],
) -> Point:
    """Write on the middle of an edge, or beside it where another label is; return the place."""
    path, size = np.array(points), unit * height
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])

    def at(share: float) -> Point:
        x, y = (float(np.interp(share * along[-1], along, path[:, k])) for k in (0, 1))
        return x, y

    places = [at(share) for share in (0.5, 0.35, 0.65, 0.25, 0.75)]
    clear = [
        place
        for place in places
        if all(
            abs(place[0] - x) > 1.3 * height or abs(place[1] - y) > 0.5 * height for x, y in written
        )
    ]
    middle = (clear or places)[0]
    box = {"facecolor": paper(), "edgecolor": "none", "pad": 0.04 * size, "alpha": 0.85}
    ax.text(*middle, text, ha="center", va="center", fontsize=0.3 * size, color=ink(), bbox=box,
            zorder=2.5)  # fmt: skip
    return middle


def _draw_named_box(
    ax: Any, name: str, point: Point, layout: GraphLayout, marked: bool, unit: float
) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = layout.sizes[name]
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
    text = literal(short_label(name))
    size = unit * height / 2
    ax.text(*point, text, ha="center", va="center_baseline", fontsize=size, zorder=5, color=ink())

"""A model as a notebook shows it: what it is, its graph, and how it was learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from counterpane.drawing.layout import Edge, lay_out_networkx
from counterpane.drawing.svg import graph_svg
from counterpane.markup import folded, framed, grid
from counterpane.models.links import arrow_names, edge_text

DRAWN_NODES = 60
DRAWN_EDGES = 250
LISTED = 20
TOLD = ("learner", "rows", "target", "seconds", "random_state", "counterpane", "data")


def model_html(model: Any, title: str) -> str:
    """A small page on a model with a graph, or with hyperedges."""
    provenance = model.provenance or {}
    told = [(name, provenance[name]) for name in TOLD if provenance.get(name) is not None]
    how = folded("how it was learned", grid(("", ""), told)) if told else ""
    if hasattr(model, "graph"):
        drawing = graph_html(
            model.graph, marked=provenance.get("target"), arrows=arrow_names(model),
            titles=edge_titles(model),
        )  # fmt: skip
        return framed(title, drawing, how)
    edges = [(" × ".join(names),) for names in model.hyperedges]
    listed = grid(("columns that bear on the class together",), edges[:LISTED],
                  more=max(len(edges) - LISTED, 0))  # fmt: skip
    return framed(title, listed, how)


def graph_html(
    graph: Any,
    *,
    marked: str | None = None,
    strengths: Mapping[Edge, float] | None = None,
    arrows: Collection[Edge] | None = None,
    titles: Mapping[str | Edge, str] | None = None,
) -> str:
    """A drawing of a networkx graph, or a list of its first edges where it is large.

    `arrows` are the edges with an arrowhead; see `lay_out_networkx`. `titles` are shown over edges.
    """
    if len(graph) <= DRAWN_NODES and graph.number_of_edges() <= DRAWN_EDGES:
        layout, heads = lay_out_networkx(graph, arrows)
        chosen = () if marked is None else (marked,)
        svg = graph_svg(layout, arrows=heads, marked=chosen, strengths=strengths, titles=titles)
        return f'<div style="max-width:{layout.size[0]:.0f}px">{svg}</div>'
    pairs = [
        (edge_text(a, b, graph.is_directed() and (arrows is None or (a, b) in arrows)),)
        for a, b in islice(graph.edges, LISTED)
    ]
    return grid(("edge",), pairs, more=graph.number_of_edges() - LISTED)


def edge_titles(model: Any) -> dict[str | Edge, str] | None:
    """The text over each edge of a Bayesian network: its ends and its strength."""
    if not hasattr(model, "edge_strengths"):
        return None
    return {(e.parent, e.child): str(e) for e in model.edge_strengths()}

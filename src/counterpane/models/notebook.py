"""A model as a notebook shows it: what it is, its graph, and how it was learned."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from counterpane.graphs.layout import Edge, lay_out_networkx
from counterpane.graphs.svg import graph_svg
from counterpane.markup import folded, framed, grid

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
        return framed(title, graph_html(model.graph, marked=provenance.get("target")), how)
    edges = [(" × ".join(names),) for names in model.hyperedges]
    listed = grid(("columns that bear on the class together",), edges[:LISTED],
                  more=max(len(edges) - LISTED, 0))  # fmt: skip
    return framed(title, listed, how)


def graph_html(
    graph: Any, *, marked: str | None = None, strengths: Mapping[Edge, float] | None = None
) -> str:
    """A drawing of a networkx graph, or a list of its first edges where it is large."""
    if len(graph) <= DRAWN_NODES and graph.number_of_edges() <= DRAWN_EDGES:
        layout, arrows = lay_out_networkx(graph)
        chosen = () if marked is None else (marked,)
        svg = graph_svg(layout, arrows=arrows, marked=chosen, strengths=strengths)
        return f'<div style="max-width:{layout.size[0]:.0f}px">{svg}</div>'
    head = ("from", "to") if graph.is_directed() else ("one end", "other end")
    return grid(head, islice(graph.edges, LISTED), more=graph.number_of_edges() - LISTED)

"""Pictures of models: HTML for notebooks; DOT, SVG and PNG files."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

from counterpane.additive.interactions import Interactions
from counterpane.disk import write_atomically
from counterpane.drawing.layout import (
    Edge,
    GraphLayout,
    lay_out_graph,
    lay_out_mixed,
    lay_out_networkx,
)
from counterpane.drawing.svg import graph_dot, graph_svg
from counterpane.errors import MissingExtraError, ParameterError
from counterpane.formats.suffixes import suffix_of
from counterpane.graphs.mixed import MixedEdge, MixedGraph
from counterpane.models.edges import edge_text
from counterpane.models.record import LearningRecord
from counterpane.plotting import draw_plot
from counterpane.present.html import folded, framed, line
from counterpane.present.table import LISTED, TextTable
from counterpane.tools.links import arrow_names, arrows_of

DRAWN_NODES = 60
DRAWN_EDGES = 250
PICTURES = (".dot", ".svg", ".png")
DOTS_PER_INCH = 150
MAX_NODES = 1_200  # of an SVG
MAX_HYPEREDGES = 60  # interactions of a classifier that are drawn


def model_html(model: Any, title: str) -> str:
    """A small page on a model with a graph, or with hyperedges."""
    record = model.record
    told = [(name, value) for name, value in _told(record) if value is not None]
    how = folded("how it was learned", TextTable.of(("", ""), told).to_html()) if told else ""
    if hasattr(model, "graph"):
        drawing = graph_html(
            model.graph, marked=record.data.target, arrows=arrow_names(model),
            titles=edge_titles(model),
        )  # fmt: skip
        return framed(title, drawing, how)
    pool = record.pool.note
    table = _ranked(model).table()
    return framed(title, table.to_html(), *([line(pool)] if pool else []), how)


def _told(record: LearningRecord) -> list[tuple[str, Any]]:
    """What the page of a notebook says about the learning of a model."""
    learner, data = record.learner, record.data
    return [
        ("learner", learner.text),
        ("rows", data.rows),
        ("target", data.target),
        ("seconds", learner.seconds),
        ("random_state", learner.random_state),
        ("counterpane", learner.versions.get("counterpane")),
        ("data", data.fingerprint),
    ]


def _ranked(model: Any) -> Interactions:
    """The interactions of a classifier, the largest effects first where they are known."""
    if hasattr(model, "interactions"):
        found: Interactions = model.interactions()
        return found
    return Interactions({"columns": names} for names in model.hyperedges)


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
    return TextTable.of(("edge",), pairs, total=graph.number_of_edges()).to_html()


def edge_titles(model: Any) -> dict[str | Edge, str] | None:
    """The text over each edge of a Bayesian network: its ends and its strength."""
    if not hasattr(model, "edge_strengths"):
        return None
    return {edge.ends: str(edge) for edge in model.edge_strengths()}


class ModelPicture(NamedTuple):
    """What is drawn of a model; `hubs` are nodes that stand for an interaction of several."""

    nodes: list[str]
    edges: list[Edge]
    arrows: frozenset[Edge] = frozenset()
    marked: frozenset[str] = frozenset()
    hubs: frozenset[str] = frozenset()
    layered: bool = False  # by the directions of the edges


def write_picture(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the graph of a model, or a `MixedGraph`, to a `.dot`, `.svg` or `.png` file.

    It is written whole or not at all.

    Arrows are the edges whose direction the data decide; the others are lines. A model of `FCI` is
    drawn as its partial ancestral graph. The class that the
    model was learned for is filled. PNG needs matplotlib.
    """
    suffix = suffix_of(path)
    if suffix not in PICTURES:
        raise ParameterError(
            f"{str(path)!r} has no suffix of a picture; {', '.join(PICTURES)} are known."
        )
    if suffix == ".png":
        write_atomically(path, [_png(model)])
        return
    mixed = mixed_graph_of(model)
    texts = _texts(drawn_of(model), suffix) if mixed is None else mixed_texts(mixed, suffix)
    write_atomically(path, (text.encode() for text in texts))


def mixed_graph_of(model: Any) -> MixedGraph | None:
    """The partial ancestral graph that a model came with, or a `MixedGraph` itself."""
    if isinstance(model, MixedGraph):
        return model
    if hasattr(model, "pag_"):
        return model.pag_  # type: ignore[no-any-return]
    kept = model.record.marks if hasattr(model, "record") else ()
    if not kept:
        return None
    return MixedGraph(model.schema.names, [MixedEdge(*edge) for edge in kept])


def mixed_texts(graph: MixedGraph, suffix: str, *, page: bool = True) -> Iterator[str]:
    """A graph with marks as DOT or SVG."""
    if suffix == ".dot":
        marks = {(e.a, e.b): e.marks for e in graph.edges if e.kind != "<->"}
        both = {(e.a, e.b): e.marks for e in graph.edges if e.kind == "<->"}
        both = {(b, a) if (a, b) in marks else (a, b): ends for (a, b), ends in both.items()}
        yield from graph_dot(graph.names, [*marks, *both], arrows=(), marks=marks | both)
        return
    _check_size(len(graph.names))
    layout, ends = lay_out_mixed(graph.names, graph.edges)
    yield graph_svg(layout, marks=ends, page=page)


def drawn_of(model: Any) -> ModelPicture:
    """What is drawn of any model, by the names of its columns."""
    target = model.record.data.target
    marked = frozenset([target] if isinstance(target, str) else [])
    names = list(model.schema.names)
    if hasattr(model, "hyperedges"):
        return _interactions(model)
    if hasattr(model, "dag"):
        edges = [(names[a], names[b]) for a, b in model.dag.edges]
        arrows = frozenset((names[a], names[b]) for a, b in arrows_of(model))
        return ModelPicture(names, edges, arrows, marked, layered=True)
    pairs = {(str(a), str(b)) for a, b in model.graph.edges if a != b}
    if not model.graph.is_directed():
        return ModelPicture(names, sorted(pairs), marked=marked)
    arrows = frozenset((a, b) for a, b in pairs if (b, a) not in pairs)
    return ModelPicture(
        names, sorted(e for e in pairs if e in arrows or e[0] < e[1]), arrows, marked
    )


def _interactions(model: Any) -> ModelPicture:
    """The columns of a classifier; lines and hubs join those whose effect is a joint one."""
    columns = [name for name in model.schema.names if name != model.target.name]
    scopes = [tuple(record["columns"]) for record in _ranked(model)[:MAX_HYPEREDGES]]
    joint = [scope for scope in scopes if len(scope) > 1]
    hubs = {" × ".join(scope): scope for scope in joint if len(scope) > 2}
    edges = [(scope[0], scope[1]) for scope in joint if len(scope) == 2]
    edges += [(hub, name) for hub, scope in hubs.items() for name in scope]
    alone = frozenset(scope[0] for scope in model.hyperedges if len(scope) == 1)
    return ModelPicture([*columns, *hubs], edges, marked=alone, hubs=frozenset(hubs))


def _texts(drawn: ModelPicture, suffix: str) -> Iterator[str]:
    if suffix == ".dot":
        yield from graph_dot(
            drawn.nodes, drawn.edges, arrows=drawn.arrows, marked=drawn.marked, hubs=drawn.hubs
        )
        return
    _check_size(len(drawn.nodes))
    layout: GraphLayout = lay_out_graph(
        drawn.nodes,
        drawn.edges,
        directed=drawn.layered,
    )
    yield graph_svg(layout, arrows=drawn.arrows, marked=drawn.marked, page=True)


def _check_size(n: int) -> None:
    if n > MAX_NODES:
        raise ParameterError(
            f"{n} columns are too many for a picture of at most {MAX_NODES}; write .dot for a "
            "layout of Graphviz, or a report."
        )


def _png(model: Any) -> bytes:
    if find_spec("matplotlib") is None:
        raise MissingExtraError(
            "a PNG picture needs matplotlib, which is not installed; install counterpane[plot], or "
            "write .svg or .dot, which need nothing."
        )
    axes = draw_plot("graph", model) if isinstance(model, MixedGraph) else model.plot()
    out = io.BytesIO()
    axes.figure.savefig(out, format="png", dpi=DOTS_PER_INCH)
    import matplotlib.pyplot as plt

    plt.close(axes.figure)
    return out.getvalue()

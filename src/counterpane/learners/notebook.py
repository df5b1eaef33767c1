"""Learners and bootstraps as a notebook shows them: parameters, then what was found."""

from __future__ import annotations

from typing import Any

from counterpane.models.edges import LEAST_SAMPLES
from counterpane.present.html import folded, framed
from counterpane.present.table import TextTable
from counterpane.tools.links import arrow_names
from counterpane.tools.pictures import DRAWN_NODES, edge_titles, graph_html, mixed_texts


def learner_html(learner: Any) -> str:
    """A small page on a learner: its parameters, and its results once it is fitted."""
    defaults = learner._parameters()
    rows = [
        (name, repr(value), "" if repr(value) == repr(defaults[name]) else "changed")
        for name, value in learner.get_params().items()
    ]
    parameters = folded(
        "parameters", TextTable.of(("name", "value", ""), rows, most=None).to_html()
    )
    results = {name: value for name, value in vars(learner).items() if name.endswith("_")}
    if not results:
        return framed(repr(learner), parameters, "<div>not fitted yet</div>")
    numbers = [
        (name, f"{value:.6g}" if isinstance(value, float) else value)
        for name, value in results.items()
        if isinstance(value, int | float | str)
    ]
    found = TextTable.of(("result", "value"), numbers)
    parts = [parameters, found.to_html()] if numbers else [parameters]
    target = getattr(results.get("target_"), "name", None)
    model = results.get("model_")
    if "pag_" in results and len(results["pag_"].names) <= DRAWN_NODES:
        parts.append("".join(mixed_texts(results["pag_"], ".svg", page=False)))
    elif "graph_" in results:
        drawing = graph_html(
            results["graph_"], marked=target, arrows=arrow_names(model), titles=edge_titles(model)
        )
        parts.append(drawing)
    elif model is not None:
        parts.append(model._repr_html_())
    names = ", ".join(sorted(results))
    return framed(repr(learner), *parts, folded("all results", f"<code>{names}</code>"))


def bootstrap_html(result: Any) -> str:
    """A small page on a bootstrap: the graph of what was found in half of the samples or more."""
    graph = result.averaged_graph()
    title = f"BootstrapResult: {result.n} samples, {len(result.names):,} columns"
    if result.n < LEAST_SAMPLES:
        few = f"<div>No shares are shown: at least {LEAST_SAMPLES} samples are needed.</div>"
        return framed(title, graph_html(graph), few)
    widths = {(a, b): float(s) for a, b, s in graph.edges(data="strength")}
    return framed(title, graph_html(graph, strengths=widths), result.edges.table().to_html())

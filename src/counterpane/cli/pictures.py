"""Models and answers as text that a terminal draws well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid
from rich.tree import Tree

from counterpane.data.schema import state_text

BAR = 30
SHOWN = 12  # variables, and neighbors of one


def forest_picture(
    model: Any, edges: Sequence[Mapping[str, Any]], weight: float, first: str | None
) -> Tree:
    """The forest of a network with one parent at most, each edge with its gain."""
    told = {(e["parent"], e["child"]): e for e in edges}
    graph = model.graph
    top = Tree("", hide_root=True)

    def grow(branch: Tree, name: str) -> None:
        for child in sorted(graph.successors(name), key=lambda c: -told[name, c]["gain"]):
            worth = _worth(told[name, child], weight)
            grow(branch.add(f"[bold]{escape(child)}[/bold] {worth}"), child)

    roots = [n for n in graph.nodes if graph.in_degree(n) == 0]
    for root in sorted(roots, key=lambda n: (n != first, graph.out_degree(n) == 0)):
        grow(top.add(f"[bold]{escape(root)}[/bold]"), root)
    return top


def edge_list(
    model: Any, edges: Sequence[Mapping[str, Any]], weight: float, first: str | None
) -> Grid:
    """The edges of a network, those at `first` on top, each with its gain."""
    grid = Grid(box=None, show_header=False)
    at_first = {(e["parent"], e["child"]): first in (e["parent"], e["child"]) for e in edges}
    for edge in sorted(edges, key=lambda e: (not at_first[e["parent"], e["child"]], -e["gain"])):
        parent, child = escape(edge["parent"]), escape(edge["child"])
        grid.add_row(f"[bold]{parent}[/bold] → [bold]{child}[/bold]", _worth(edge, weight))
    return grid


def _worth(edge: Mapping[str, Any], weight: float) -> str:
    """What an edge gains, and how sure it is, if that is known."""
    bits = edge["gain"] / weight / math.log(2)
    sure = f", in {edge['confidence']:.0%} of the samples" if "confidence" in edge else ""
    return f"[dim]gains {bits:.4f} bits a row{sure}[/dim]"


def parts_picture(parts: Sequence[Mapping[str, Any]]) -> Grid:
    """The first parts of a classifier, one a line."""
    grid = Grid(box=None, show_header=False)
    for part in parts[:SHOWN]:
        if "parent" in part:
            names = f"[bold]{escape(part['parent'])}[/bold] → [bold]{escape(part['child'])}[/bold]"
        else:
            names = " × ".join(f"[bold]{escape(name)}[/bold]" for name in part["columns"])
        note = ""
        if "share" in part:
            note = f"[dim]moves the log-odds by {part['strength']:.2f}, "
            note += f"in {part['share']:.0%} of the fits[/dim]"
        grid.add_row(names, note)
    if len(parts) > SHOWN:
        grid.add_row(f"[dim]… and {len(parts) - SHOWN} more[/dim]")
    return grid


def field_picture(model: Any, first: str | None) -> Grid:
    """The variables with the most neighbors, `first` on top, each with some of them."""
    graph = model.graph.to_undirected()
    grid = Grid(box=None, show_header=False)
    names = sorted(graph.nodes, key=lambda n: (n != first, -graph.degree(n)))
    for name in names[:SHOWN]:
        near = sorted(graph.neighbors(name), key=lambda n: -graph.degree(n))
        more = f", … {len(near) - SHOWN} more" if len(near) > SHOWN else ""
        told = ", ".join(map(escape, near[:SHOWN])) + more if near else "nothing"
        grid.add_row(f"[bold]{escape(name)}[/bold]", f"[dim]beside[/dim] {told}")
    if len(names) > SHOWN:
        grid.add_row(f"[dim]… {len(names) - SHOWN:,} more[/dim]")
    return grid


def ranking(
    found: Sequence[tuple[str, float]], chosen: Sequence[str], *, probabilities: bool
) -> Grid:
    """Items and their probabilities, or scores, the best first."""
    title = f"after {', '.join(chosen)}" if chosen else "with nothing chosen yet"
    grid = Grid(title=escape(title), box=None, min_width=len(title) + 2)
    for name in ("", "item", "probability" if probabilities else "score"):
        grid.add_column(name, justify="left" if name == "item" else "right")
    for place, (item, score) in enumerate(found, start=1):
        value = math.exp(score) if probabilities else score
        grid.add_row(str(place), f"[bold]{escape(item)}[/bold]", f"{value:.4f}")
    return grid


def probability_bars(answer: Any, evidence: Mapping[str, str]) -> Grid:
    """A table of states and probabilities with bars."""
    given = ", ".join(f"{k}={v}" for k, v in evidence.items())
    asked = ", ".join(answer.names)
    grid = Grid(title=escape(f"P({asked} | {given})" if given else f"P({asked})"), box=None)
    for name in answer.names:
        grid.add_column(escape(name))
    grid.add_column("probability", justify="right")
    grid.add_column("")
    for states, p in answer.rows():
        cells = [escape(state_text(s)) for s in states]
        grid.add_row(*cells, f"{p:.4f}", "█" * round(BAR * p))
    return grid


def what_was_done(schema: Any, has_missing: Iterable[bool], missing: str, rows: Any) -> str:
    """Which columns and rows were left out, which were cut or have missing cells; a line each."""
    cut = [v.name for v in schema if v.cuts is not None]
    holes = [n for n, m in zip(schema.names, has_missing, strict=True) if m]
    done = rows.prepared
    lines = [f"Left out {name}: {why}." for name, why in done.left_out.items()]
    lines += rows.notes
    lines += [f"Read {name} as {words}." for name, words in done.read_as.items()]
    lines += [f"Cut into intervals: {', '.join(cut)}."] if cut else []
    lines += [f"Missing cells ({missing}): {', '.join(holes)}."] if holes else []
    return "".join(f"[dim]{escape(line)}[/dim]\n" for line in lines)

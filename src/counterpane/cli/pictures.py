"""Models and answers as text that a terminal draws well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid
from rich.tree import Tree

BAR = 30
SHOWN = 12  # variables, and neighbors of one


def forest_picture(
    model: Any, gains: Sequence[tuple[str, str, float]], weight: float, first: str | None
) -> Tree:
    """The forest of a network with one parent at most, each edge with its gain."""
    bits = {(p, c): g / weight / math.log(2) for p, c, g in gains}
    graph = model.graph
    top = Tree("", hide_root=True)

    def grow(branch: Tree, name: str) -> None:
        for child in sorted(graph.successors(name), key=lambda c: -bits[name, c]):
            label = (
                f"[bold]{escape(child)}[/bold] [dim]gains {bits[name, child]:.4f} bits a row[/dim]"
            )
            grow(branch.add(label), child)

    roots = [n for n in graph.nodes if graph.in_degree(n) == 0]
    for root in sorted(roots, key=lambda n: (n != first, graph.out_degree(n) == 0)):
        grow(top.add(f"[bold]{escape(root)}[/bold]"), root)
    return top


def edge_list(
    model: Any, gains: Sequence[tuple[str, str, float]], weight: float, first: str | None
) -> Grid:
    """The edges of a network, those at `first` on top, each with its gain."""
    grid = Grid(box=None, show_header=False)
    for parent, child, gain in sorted(gains, key=lambda e: (first not in e[:2], -e[2])):
        bits = gain / weight / math.log(2)
        arrow = f"[bold]{escape(parent)}[/bold] → [bold]{escape(child)}[/bold]"
        grid.add_row(arrow, f"[dim]gains {bits:.4f} bits a row[/dim]")
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


def ranking(found: Sequence[tuple[str, float]], chosen: Sequence[str]) -> Grid:
    """Items and their probabilities, the best first."""
    title = f"after {', '.join(chosen)}" if chosen else "with nothing chosen yet"
    grid = Grid(title=escape(title), box=None)
    for name in ("", "item", "probability"):
        grid.add_column(name, justify="left" if name == "item" else "right")
    for place, (item, score) in enumerate(found, start=1):
        grid.add_row(str(place), f"[bold]{escape(item)}[/bold]", f"{math.exp(score):.4f}")
    return grid


def comparison(rows: Sequence[Mapping[str, Any]], score: str) -> Grid:
    """One line a learner, the best score first."""
    grid = Grid(box=None)
    for title in ("method", score, "edges", "parameters", "seconds", "distance to best"):
        grid.add_column(title, justify="left" if title == "method" else "right")
    for row in sorted(rows, key=lambda r: -r["score"]["value"]):
        grid.add_row(
            row["method"],
            f"{row['score']['value']:,.3f}",
            str(len(row["edges"])),
            f"{row['parameters']:,}",
            f"{row['seconds']:.2f}",
            str(row["distance_to_best"]),
        )
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
        cells = [escape("(missing)" if s is None else str(s)) for s in states]
        grid.add_row(*cells, f"{p:.4f}", "█" * round(BAR * p))
    return grid


def what_was_done(schema: Any, has_missing: Iterable[bool], missing: str) -> str:
    """Which columns were cut, and which have missing cells; a line each."""
    cut = [v.name for v in schema if v.cuts is not None]
    holes = [n for n, m in zip(schema.names, has_missing, strict=True) if m]
    lines = [f"Cut into intervals: {escape(', '.join(cut))}."] if cut else []
    lines += [f"Missing cells ({missing}): {escape(', '.join(holes))}."] if holes else []
    return "".join(f"[dim]{line}[/dim]\n" for line in lines)

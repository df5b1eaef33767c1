"""Models and answers as text that a terminal draws well."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid
from rich.tree import Tree

from counterpane.cli.app import many
from counterpane.lazy import lazy

prepare = lazy("counterpane.data.prepare")
schema = lazy("counterpane.data.schema")  # numpy comes with it, and --help needs none
BAR = 30
SHOWN = 12  # variables, and neighbors of one


def forest_picture(model: Any, edges: Sequence[Mapping[str, Any]], first: str | None) -> Tree:
    """The forest of a network with one parent at most, each edge with its strength."""
    told = {(e["parent"], e["child"]): e for e in edges}
    graph = model.graph
    top = Tree("", hide_root=True)

    def grow(branch: Tree, name: str) -> None:
        ranked = sorted(graph.successors(name), key=lambda c: -told[name, c]["strength_bits"])
        for child in ranked:
            edge = told[name, child]
            arrow = "→ " if edge["directed"] else ""  # the branch itself is a line
            line = f"{arrow}[bold]{escape(child)}[/bold]   {_worth(edge)}"
            grow(branch.add(line), child)

    roots = [n for n in graph.nodes if graph.in_degree(n) == 0]
    for root in sorted(roots, key=lambda n: (n != first, graph.out_degree(n) == 0)):
        grow(top.add(f"[bold]{escape(root)}[/bold]"), root)
    return top


def edge_list(model: Any, edges: Sequence[Mapping[str, Any]], first: str | None) -> Grid:
    """The edges of a network, those at `first` on top, each with its strength."""
    grid = Grid(box=None, show_header=False)

    def rank(edge: Mapping[str, Any]) -> tuple[bool, float]:
        return first not in (edge["parent"], edge["child"]), -edge["strength_bits"]

    for edge in sorted(edges, key=rank):
        parent, child = escape(edge["parent"]), escape(edge["child"])
        names = f"[bold]{parent}[/bold] {_arrow(edge)} [bold]{child}[/bold]"
        grid.add_row(names, _worth(edge))
    return grid


def _arrow(edge: Mapping[str, Any]) -> str:
    """An arrow, or a line where the data do not tell the direction."""
    return "→" if edge["directed"] else "—"


def _worth(edge: Mapping[str, Any]) -> str:
    """How strong an edge is, and in how many of how many samples it was found."""
    found = ""
    if "confidence" in edge:
        found = f", in {edge['confidence']:.0%} of {many(edge['samples'], 'bootstrap sample')}"
    return f"[dim]{edge['strength_bits']:.4f} bits per row{found}[/dim]"


def bootstrap_note(resampled: Mapping[str, Any] | None) -> str:
    """A line on a bootstrap that was too short for shares, or shorter than it should be."""
    if resampled is None or resampled["samples"] >= resampled["requested"] >= resampled["needed"]:
        return ""
    done, needed = resampled["samples"], resampled["needed"]
    if resampled["requested"] < needed:
        words = (
            f"No shares are shown: {many(done, 'bootstrap sample')}; at least {needed} are needed."
        )
    elif done < needed:
        within = f" within {resampled['seconds']:g} s" if resampled["seconds"] else ""
        words = (
            f"No shares are shown: {many(done, 'bootstrap sample')} done{within}; at least "
            f"{needed} are needed. --bootstrap {needed} takes as long as it needs."
        )
    else:
        words = f"{done:,} of {resampled['requested']:,} bootstrap samples were done in time."
    return f"[dim]{words}[/dim]\n"


def parts_picture(parts: Mapping[str, Sequence[Mapping[str, Any]]]) -> Grid:
    """The first interactions, with their effects if known, or edges of a classifier."""
    effects = [i for i in parts.get("interactions", ()) if "effect" in i]
    grid = Grid(box=None, show_header=bool(effects), header_style="dim")
    grid.add_column("interaction")
    for edge in parts.get("edges", ())[:SHOWN]:
        parent, child = escape(edge["parent"]), escape(edge["child"])
        names = f"[bold]{parent}[/bold] {_arrow(edge)} [bold]{child}[/bold]"
        grid.add_row(names, _worth(edge))
    if effects:
        selected = ["selected"] if any("share" in i for i in effects) else []
        for title in ("effect on log-odds", "explains", *selected):
            grid.add_column(title, justify="right")
    for interaction in parts.get("interactions", ())[:SHOWN]:
        names = " × ".join(f"[bold]{escape(name)}[/bold]" for name in interaction["columns"])
        grid.add_row(names, *(f"[dim]{cell}[/dim]" for cell in _effect(interaction)))
    more = sum(map(len, parts.values())) - SHOWN
    if more > 0:
        grid.add_row(f"[dim]… and {more} more[/dim]")
    return grid


def edge_words(edges: Sequence[Mapping[str, Any]]) -> str:
    """What the numbers and signs of an edge mean."""
    words = (
        "bits per row: what two columns tell about each other beyond the child's other parents, "
    )
    words += "corrected for chance"
    if not all(edge["directed"] for edge in edges):
        words += "; a — b: no data can show the direction"
    return f"[dim]{words}.[/dim]\n"


def effect_words(interactions: Sequence[Mapping[str, Any]]) -> str:
    """What the columns of `parts_picture` mean."""
    if not interactions or "effect" not in interactions[0]:
        return ""
    samples = max(interaction.get("samples", 0) for interaction in interactions)
    words = "effect: standard deviation over the rows of what the interaction adds to the log-odds"
    words += " of the class; explains: share of the variance of the log-odds"
    if samples:
        words += f"; selected: share of {samples} random halves of the rows on which the search"
        words += " selects it"
    return f"[dim]{words}.[/dim]\n"


def _effect(interaction: Mapping[str, Any]) -> list[str]:
    """How much an interaction changes the log-odds, and how often it is selected, if known."""
    if "effect" not in interaction:
        return []
    cells = [f"±{interaction['effect']:.2f}", f"{interaction['explained']:.0%}"]
    return [*cells, f"{interaction['share']:.0%}"] if "share" in interaction else cells


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


def probability_bars(answer: Any, evidence: Sequence[str]) -> Grid:
    """A table of states and probabilities with bars; `evidence` is as it was written."""
    given = ", ".join(evidence)
    asked = ", ".join(answer.names)
    grid = Grid(title=escape(f"P({asked} | {given})" if given else f"P({asked})"), box=None)
    for name in answer.names:
        grid.add_column(escape(name))
    grid.add_column("probability", justify="right")
    grid.add_column("")
    for states, p in answer.rows():
        cells = [escape(schema.state_text(s)) for s in states]
        grid.add_row(*cells, f"{p:.4f}", "█" * round(BAR * p))
    return grid


def what_was_done(schema: Any, missing_note: str, rows: Any) -> str:
    """What was left out, cut or read as something else, and what became of gaps; a line each."""
    cut = [v.name for v in schema if v.cuts is not None]
    done = rows.prepared
    lines = [f"Left out {name}: {why}." for name, why in done.left_out.items()]
    lines += rows.notes
    lines += [f"Read {name} as {words}." for name, words in done.read_as.items()]
    lines += [f"Cut into intervals: {', '.join(cut)}."] if cut else []
    lines += prepare.gap_word_notes(schema)
    lines += [missing_note] if missing_note else []
    return "".join(f"[dim]{escape(line)}[/dim]\n" for line in lines)

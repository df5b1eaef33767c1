"""Learned models as text for a terminal: edges, interactions, measures, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from rich.markup import escape
from rich.tree import Tree

from counterpane.cli.app import (
    console,
    many,
    notes,
    say,
    say_saved,
    show_note,
    show_table,
    show_whole,
    stopped_early,
)
from counterpane.lazy import lazy
from counterpane.present.table import Heading, TextTable, mentioned, right
from counterpane.workflow.choose import CLASSIFIERS, METHODS, POSTERIORS, RANKER

posterior = lazy("counterpane.cli.posterior")
interactions = lazy("counterpane.additive.interactions")
model_edges = lazy("counterpane.models.edges")
schemas = lazy("counterpane.data.schema")
workflow = lazy("counterpane.workflow.learned")

GROUPS = 3  # of rows, by their predictions


def show_learned(learned: Any, path: Path) -> None:
    """Print how the table was prepared, the model, its size, and what to do next."""
    method, facts, learner, schema = learned.method, learned.facts, learned.learner, learned.schema
    show_preparation(schema, getattr(learner, "missing_note_", ""), learned.table)
    step = f"query {{}} {_question(facts, schema)}"
    if method in CLASSIFIERS:
        size, step = _show_classifier(facts), "predict {} NEW.csv"
    elif method == RANKER:
        if facts["candidates"]:
            show_table(candidates_table(facts["candidates"]))
        size, step = f"ranker {facts['ranker']}", f"rank {{}} --chosen {quote(schema.names[0])}"
    elif method in POSTERIORS:
        posterior.show_posterior(facts)
        size = f"best network: {network_size(facts)}"
    elif method in METHODS:
        size = _show_network(learner.model_, facts)
    elif "conflicts_" in vars(learner):
        size = _show_tested(facts)
    else:
        if stopped_early and not facts["edges"]:
            console.print(nothing_found("edges", ""))
        else:
            show_table(_neighbor_table(learner.model_, facts["target"]))
        size = many(len(facts["edges"]), "edge")
        size += f", {facts['n_tests']:,} tests executed" if "n_tests" in facts else ""
        if all(variable.states == (0, 1) for variable in schema):  # links
            step = f"rank {{}} --chosen {quote(schema.names[0])}"
    shape = f"{many(facts['rows'], 'row')} × {many(facts['columns'], 'column')}"
    seconds = f"{facts['seconds']:.2f} s"
    figures = learned.measures
    if figures is not None and not figures.chose:
        seconds += f", and {facts['held_out_seconds']:.2f} s to measure it on held-out rows"
    console.print(f"{shape} → {size}, {seconds}", soft_wrap=True)
    if figures is not None:
        _show_measures(figures, learner.classes_.tolist())
        if leak := learned.leak:
            say(
                f"[yellow]{escape(leak)} alone nearly tells {escape(facts['target'])}.[/yellow] Is "
                f"it known when you predict? --drop {escape(quote(leak))} learns without it."
            )
    command = f"counterpane {step.format(quote(str(path)))}"
    say_saved(path, more=f"; next: {escape(command)}")


def _question(facts: Mapping[str, Any], schema: Any) -> str:
    """What to ask next: a column given its strongest neighbor, in the words of a shell."""
    target = facts["target"]
    edges = [e for e in facts.get("edges", ()) if e["strength"] is not None]
    edges = [e for e in edges if target in (None, e["source"], e["target"])]
    if not edges:
        return quote(target or schema.names[0])
    strongest = max(edges, key=lambda edge: edge["strength"])
    name = target or strongest["source"]
    other = strongest["target"] if name == strongest["source"] else strongest["source"]
    state = next(state for state in schema[other].states if state is not None)
    return f"{quote(name)} --given {quote(f'{other}={schemas.state_text(state)}')}"


def show_preparation(schema: Any, missing_note: str, table: Any) -> None:
    """Print what was left out, cut or converted, and how gaps were treated; a line each."""
    if notes.quiet:
        return
    for line in workflow.learning_notes(schema, table, missing_note):
        show_note(line)


def _show_network(model: Any, facts: Mapping[str, Any]) -> str:
    """Print the edges of a network, and return its size in words."""
    edges = facts["edges"]
    if edges:
        if facts["method"] == "chow-liu":
            show_whole(_forest_picture(model, edges, facts["target"]))
        else:
            show_table(_edge_table(edges, facts["target"]))
        show_note(_bootstrap_words(facts.get("bootstrap")))
        direction = "; a — b: the direction cannot be determined from the data"
        show_note(
            "bits per row: what two columns tell about each other beyond the child's other "
            "parents, corrected for chance"
            f"{'' if all(edge['mark'] == model_edges.ARROW for edge in edges) else direction}."
        )
        if edges[0]["samples"]:
            show_note("samples: bootstrap samples of the rows that have the edge as it is printed.")
    else:
        console.print(nothing_found("edges", "no dependency improves the score"))
    return network_size(facts)


def _show_tested(facts: Mapping[str, Any]) -> str:
    """Print the edges of a network by independence tests, and return its size in words."""
    edges = facts["edges"]
    if edges:
        show_table(_edge_table(edges, facts["target"]))
        words = "a — b: tests leave the direction open."
        if any(edge["mark"] not in (model_edges.ARROW, model_edges.LINE) for edge in edges):
            words = (
                "a → b: a causes b; a ↔ b: a common cause is missing; o: tests leave this end open."
            )
        show_note(f"bits per row: what two columns tell about each other; {words}")
    else:
        console.print(nothing_found("edges", "no test shows a dependency"))
    return f"{many(len(edges), 'edge')}, {facts['n_tests']:,} tests executed"


def nothing_found(what: str, why: str) -> str:
    """A sentence about a model without edges or effects; a stopped search proves nothing."""
    if stopped_early:
        return f"No {what} so far: the search was stopped before it found any."
    return f"No {what} found: {why}."


def network_size(facts: Mapping[str, Any]) -> str:
    """The edges, parameters and score of a network in words."""
    score = facts["score"]
    size = f"{many(len(facts['edges']), 'edge')}, {many(facts['parameters'], 'parameter')}"
    return f"{size}, {score['name']} {score['value']:,.3f}"


def _forest_picture(model: Any, edges: Sequence[Mapping[str, Any]], first: str | None) -> Tree:
    """The forest of a network with at most one parent a node, each edge with its strength."""
    records = {(e["source"], e["target"]): e for e in edges}
    graph = model.graph
    top = Tree("", hide_root=True)

    def grow(branch: Tree, name: str) -> None:
        ranked = sorted(graph.successors(name), key=lambda c: -records[name, c]["strength"])
        for child in ranked:
            edge = records[name, child]
            arrow = "→ " if edge["mark"] == model_edges.ARROW else ""  # the branch itself is a line
            line = f"{arrow}[bold]{escape(child)}[/bold]   [dim]{_strength_words(edge)}[/dim]"
            grow(branch.add(line), child)

    roots = [n for n in graph.nodes if graph.in_degree(n) == 0]
    for root in sorted(roots, key=lambda n: (n != first, graph.out_degree(n) == 0)):
        grow(top.add(f"[bold]{escape(root)}[/bold]"), root)
    return top


def _edge_table(edges: Sequence[Mapping[str, Any]], first: str | None = None) -> TextTable:
    """The edges of a network, those at `first` on top, each with its strength."""

    def order(edge: Mapping[str, Any]) -> tuple[bool, float]:
        return first not in (edge["source"], edge["target"]), -edge["strength"]

    rows = [(model_edges.Edge(**e).text, _strength_words(e)) for e in sorted(edges, key=order)]
    return TextTable.of((Heading("", style="bold"), Heading("", style="dim")), rows, most=None)


def _strength_words(edge: Mapping[str, Any]) -> str:
    """The strength of an edge, and in how many samples it is as it is printed, if known."""
    share = ""
    if edge["samples"]:
        found = round(edge["share_of_mark"] * edge["samples"])
        share = f", in {found:,} of {edge['samples']:,} samples"
    return f"{edge['strength']:.4f} {edge['unit']}{share}"


def _bootstrap_words(resampled: Mapping[str, Any] | None) -> str:
    """A line on a bootstrap that was too short for shares, or shorter than it should be."""
    if resampled is None or resampled["samples"] >= resampled["requested"] >= resampled["needed"]:
        return ""
    done, needed = resampled["samples"], resampled["needed"]
    few = f"No shares are shown: {many(done, 'bootstrap sample')}"
    if resampled["requested"] < needed:
        return f"{few}; at least {needed} are needed."
    if done < needed:
        within = f" within {resampled['seconds']:g} s" if resampled["seconds"] else ""
        return (
            f"{few} done{within}; at least {needed} are needed. --bootstrap {needed} takes as long "
            "as it needs."
        )
    return f"{done:,} of {resampled['requested']:,} bootstrap samples were done in time."


def _show_classifier(facts: Mapping[str, Any]) -> str:
    """Print the interactions or edges of a classifier, and return its size in words."""
    kind = "interaction" if "interactions" in facts else "edge"
    parts = facts[f"{kind}s"]
    if not parts:
        console.print(nothing_found("effects", "no column improves the prediction"))
    elif kind == "interaction":
        _show_interactions(parts)
        show_note(facts.get("pool", {}).get("note", ""))
    else:
        show_table(_edge_table(parts))
    return f"{many(len(parts), kind)}, {len(facts['classes'])} classes"


def _show_interactions(parts: Sequence[Mapping[str, Any]]) -> None:
    """Print the first interactions, with their effects if known, and what the columns mean."""
    measured = any("effect" in part for part in parts)
    samples = max(part.get("samples", 0) for part in parts)
    show_table(interactions.Interactions(parts).table())
    if measured:
        words = "effect: standard deviation over the rows of what the interaction adds to the "
        words += "log-odds of the class; share of variance: its variance over the sum of the "
        words += "variances of all interactions"
        if samples:
            words += f"; selected: share of {samples} random halves of the rows on which the "
            words += "search selects it"
        show_note(f"{words}.")


def _neighbor_table(model: Any, first: str | None) -> TextTable:
    """The variables with the most neighbors, `first` on top, each with some of them."""
    graph = model.graph.to_undirected()
    names = sorted(graph.nodes, key=lambda n: (n != first, -graph.degree(n)))
    near = [sorted(graph.neighbors(name), key=lambda n: -graph.degree(n)) for name in names]
    rows = [
        (name, f"beside {mentioned(others) or 'nothing'}")
        for name, others in zip(names, near, strict=True)
    ]
    return TextTable.of((Heading("", style="bold"), ""), rows)


def candidates_table(records: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return rankers and the mean reciprocal ranks of left-out links, the best first."""
    compared = bool(records) and "behind" in records[0]
    rows = []
    for record in records:
        line = [record["ranker"], f"{record['mrr']:.4f} ±{record['error']:.4f}"]
        if compared:
            error = record["behind_error"]
            line.append(f"{record['behind']:+.4f} ±{error:.4f}" if error else "")
        rows.append(line)
    titles = ["mean reciprocal rank of left-out links", *(["behind"] if compared else [])]
    return TextTable.of(["ranker", *map(right, titles)], rows, most=None)


def _show_measures(figures: Any, classes: Sequence[Any]) -> None:
    """Print the held-out measures of a classifier beside those of the class shares."""
    show_table(figures.table())
    about = f"P({escape(schemas.state_text(classes[1]))})" if len(classes) == 2 else "top class"
    off = figures.calibration_error
    say(
        f" calibration of {about}: predicted and observed shares differ by "
        f"{100 * off.value:.1f} points on average ({100 * off.by_chance:.1f} by chance)"
    )
    means = [_group_means(bins) for bins in _groups(figures.calibration)]
    lines = [f"predicted {p:.0%} → observed {o:.0%} of {n:,.0f} rows" for n, p, o in means]
    say(f"   [dim]{'; '.join(lines)}[/dim]")
    if figures.chose:
        words = "These folds also chose the structure, so the figures can be slightly optimistic."
        say(f" [dim]{words}[/dim]")


def _groups(bins: Sequence[Any]) -> list[list[Any]]:
    """Bins in three groups with similar numbers of rows, the lowest predictions first."""
    total, before = sum(b.rows for b in bins), 0.0
    groups: list[list[Any]] = [[] for _ in range(GROUPS)]
    for each in bins:
        middle = (before + each.rows / 2) / total
        groups[min(int(middle * GROUPS), GROUPS - 1)].append(each)
        before += each.rows
    return [group for group in groups if group]


def _group_means(bins: Sequence[Any]) -> tuple[float, float, float]:
    """(rows, mean prediction, share of the rows in which it came true)."""
    n = sum(b.rows for b in bins)
    predicted = sum(b.rows * b.predicted for b in bins) / n
    return n, predicted, sum(b.rows * b.observed for b in bins) / n

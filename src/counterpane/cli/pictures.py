"""Learned models as text for a terminal: edges, interactions, measures, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid
from rich.tree import Tree

from counterpane.cli.app import console, many, notes, say, say_saved, stopped_early
from counterpane.cli.methods import CLASSIFIERS, METHODS, POSTERIORS, RANKER
from counterpane.lazy import lazy

posterior = lazy("counterpane.cli.posterior")
gap_words = lazy("counterpane.data.gap_words")
prepare = lazy("counterpane.data.prepare")
schemas = lazy("counterpane.data.schema")

LITTLE = 0.1  # of the log-loss of the class shares, and of the variance of the log-odds
WIDEST = 1000  # letters of a line of names
SHOWN = 12  # variables, interactions, and neighbors of a variable
GROUPS = 3  # of rows, by their predictions
CHOSEN = "the folds that chose the structure"


def show_learned(
    learner: Any, source: Any, table: Any, facts: Mapping[str, Any], path: Path
) -> None:
    """Print how the table was prepared, the model, its size, and what to do next."""
    method = facts["method"]
    schema = learner.schema_ if method in CLASSIFIERS else source.schema
    choice = getattr(learner, "cut_choice_", None)
    show_preparation(
        schema, getattr(learner, "missing_note_", ""), table, choice.sentence if choice else ""
    )
    step = f"query {{}} {_question(facts, schema)}"
    if method in CLASSIFIERS:
        size, step = _show_classifier(facts), "predict {} NEW.csv"
    elif method == RANKER:
        if facts["candidates"]:
            console.print(candidates_picture(facts["candidates"]))
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
            console.print(_neighbors_picture(learner.model_, facts["target"]))
        size = many(len({frozenset(edge) for edge in facts["edges"]}), "edge")
        size += f", {facts['n_tests']:,} tests executed" if "n_tests" in facts else ""
        if all(variable.states == (0, 1) for variable in schema):  # links
            step = f"rank {{}} --chosen {quote(schema.names[0])}"
    shape = f"{many(facts['rows'], 'row')} × {many(facts['columns'], 'column')}"
    seconds = f"{facts['seconds']:.2f} s"
    if facts.get("held_out", {}).get("how", CHOSEN) != CHOSEN:
        seconds += f", and {facts['held_out_seconds']:.2f} s to measure it on held-out rows"
    console.print(f"{shape} → {size}, {seconds}", soft_wrap=True)
    if "held_out" in facts:
        _show_measures(facts["held_out"], learner.classes_.tolist())
        if leak := _leak(facts):
            say(
                f"[yellow]{escape(leak)} alone nearly tells {escape(facts['target'])}.[/yellow] Is "
                f"it known when you predict? --drop {escape(quote(leak))} learns without it."
            )
    command = f"counterpane {step.format(quote(str(path)))}"
    say_saved(path, more=f"; next: {escape(command)}")


def _question(facts: Mapping[str, Any], schema: Any) -> str:
    """What to ask next: a column given its strongest neighbor, in the words of a shell."""
    target = facts["target"]
    edges = [e for e in facts.get("edges", ()) if isinstance(e, Mapping)]
    edges = [e for e in edges if target in (None, e["parent"], e["child"])]
    if not edges:
        return quote(target or schema.names[0])
    strongest = max(edges, key=lambda edge: edge["strength_bits"])
    name = target or strongest["parent"]
    other = strongest["child"] if name == strongest["parent"] else strongest["parent"]
    state = next(state for state in schema[other].states if state is not None)
    return f"{quote(name)} --given {quote(f'{other}={schemas.state_text(state)}')}"


def show_preparation(schema: Any, missing_note: str, table: Any, cuts_note: str = "") -> None:
    """Print what was left out, cut or converted, and how gaps were treated; a line each."""
    if notes.quiet:
        return
    prepared = table.prepared
    lines = [f"Left out {name}: {why}." for name, why in prepared.left_out.items()]
    lines += table.notes
    lines += [f"Read {name} as {words}." for name, words in prepared.read_as.items()]
    lines += gap_words.taken_notes(prepared.gap_words)
    lines += prepare.cut_notes(schema)
    lines += [cuts_note] if cuts_note else []
    lines += gap_words.kept_notes(schema)
    lines += [missing_note] if missing_note else []
    for line in lines:
        console.print(f"[dim]{escape(line)}[/dim]", soft_wrap=True)


def _show_dim(words: str) -> None:
    if words:
        console.print(f"[dim]{words}[/dim]", soft_wrap=True)


def _show_whole(picture: Any) -> None:
    """Print each row of a picture on one line, however narrow the terminal is."""
    width = console.width
    console.width = max(width, WIDEST)
    try:
        console.print(picture)
    finally:
        console.width = width


def _show_network(model: Any, facts: Mapping[str, Any]) -> str:
    """Print the edges of a network, and return its size in words."""
    edges = facts["edges"]
    if edges:
        picture = _forest_picture if facts["method"] == "chow-liu" else _edge_list
        _show_whole(picture(model, edges, facts["target"]))
        _show_dim(_bootstrap_words(facts.get("bootstrap")))
        direction = "; a — b: the direction cannot be determined from the data"
        _show_dim(
            "bits per row: what two columns tell about each other beyond the child's other "
            "parents, corrected for chance"
            f"{'' if all(edge['directed'] for edge in edges) else direction}."
        )
        if "confidence" in edges[0]:
            _show_dim("samples: bootstrap samples of the rows that have the edge as it is printed.")
    else:
        console.print(nothing_found("edges", "no dependency improves the score"))
    return network_size(facts)


def _show_tested(facts: Mapping[str, Any]) -> str:
    """Print the edges of a network by independence tests, and return its size in words."""
    edges = facts["edges"]
    if edges:
        _show_whole(_edge_list(None, edges, facts["target"]))
        words = "a — b: tests leave the direction open."
        if "mark" in edges[0]:
            words = (
                "a → b: a causes b; a ↔ b: a common cause is missing; o: tests leave this end open."
            )
        _show_dim(f"bits per row: what two columns tell about each other; {words}")
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
    records = {(e["parent"], e["child"]): e for e in edges}
    graph = model.graph
    top = Tree("", hide_root=True)

    def grow(branch: Tree, name: str) -> None:
        ranked = sorted(graph.successors(name), key=lambda c: -records[name, c]["strength_bits"])
        for child in ranked:
            edge = records[name, child]
            arrow = "→ " if edge["directed"] else ""  # the branch itself is a line
            line = f"{arrow}[bold]{escape(child)}[/bold]   {_strength_words(edge)}"
            grow(branch.add(line), child)

    roots = [n for n in graph.nodes if graph.in_degree(n) == 0]
    for root in sorted(roots, key=lambda n: (n != first, graph.out_degree(n) == 0)):
        grow(top.add(f"[bold]{escape(root)}[/bold]"), root)
    return top


def _edge_list(model: Any, edges: Sequence[Mapping[str, Any]], first: str | None) -> Grid:
    """The edges of a network, those at `first` on top, each with its strength."""
    grid = Grid(box=None, show_header=False)

    def order(edge: Mapping[str, Any]) -> tuple[bool, float]:
        return first not in (edge["parent"], edge["child"]), -edge["strength_bits"]

    for edge in sorted(edges, key=order):
        grid.add_row(_edge_names(edge), _strength_words(edge))
    return grid


def _edge_names(edge: Mapping[str, Any]) -> str:
    """The names with an arrow, or a line where the data do not show the direction."""
    if "mark" in edge:
        return f"[bold]{escape(edge['mark'])}[/bold]"
    sign = "→" if edge["directed"] else "—"
    return f"[bold]{escape(edge['parent'])}[/bold] {sign} [bold]{escape(edge['child'])}[/bold]"


def _strength_words(edge: Mapping[str, Any]) -> str:
    """The strength of an edge, and in how many samples it is as it is printed, if known."""
    share = ""
    if "confidence" in edge:
        found = round(edge["confidence"] * edge["samples"])
        share = f", in {found:,} of {edge['samples']:,} samples"
    return f"[dim]{edge['strength_bits']:.4f} bits per row{share}[/dim]"


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
        _show_dim(escape(facts.get("pool", {}).get("note", "")))
    else:
        rows = [(_edge_names(edge), _strength_words(edge)) for edge in parts[:SHOWN]]
        _show_whole(_with_more(Grid(box=None, show_header=False), rows, len(parts)))
    return f"{many(len(parts), kind)}, {len(facts['classes'])} classes"


def _show_interactions(interactions: Sequence[Mapping[str, Any]]) -> None:
    """Print the first interactions, with their effects if known, and what the columns mean."""
    measured = any("effect" in i for i in interactions)
    samples = max(i.get("samples", 0) for i in interactions)
    shares = any("share" in i for i in interactions)
    grid = Grid("interaction", box=None, show_header=measured, header_style="dim")
    for title in ("effect on log-odds", "share of variance", *(["selected"] if shares else [])):
        if measured:
            grid.add_column(title, justify="right")
    rows = []
    for record in interactions[:SHOWN]:
        names = " × ".join(f"[bold]{escape(name)}[/bold]" for name in record["columns"])
        cells = []
        if "effect" in record:
            cells = [f"±{record['effect']:.2f}", f"{record['explained']:.0%}"]
            cells += [f"{record['share']:.0%}"] if "share" in record else []
        rows.append((names, *(f"[dim]{cell}[/dim]" for cell in cells)))
    console.print(_with_more(grid, rows, len(interactions)))
    if measured:
        words = "effect: standard deviation over the rows of what the interaction adds to the "
        words += "log-odds of the class; share of variance: its variance over the sum of the "
        words += "variances of all interactions"
        if samples:
            words += f"; selected: share of {samples} random halves of the rows on which the "
            words += "search selects it"
        _show_dim(f"{words}.")


def _with_more(grid: Grid, rows: Sequence[Sequence[str]], total: int) -> Grid:
    for row in rows:
        grid.add_row(*row)
    if total > SHOWN:
        grid.add_row(f"[dim]… {total - SHOWN:,} more[/dim]")
    return grid


def _neighbors_picture(model: Any, first: str | None) -> Grid:
    """The variables with the most neighbors, `first` on top, each with some of them."""
    graph = model.graph.to_undirected()
    grid = Grid(box=None, show_header=False)
    names = sorted(graph.nodes, key=lambda n: (n != first, -graph.degree(n)))
    for name in names[:SHOWN]:
        near = sorted(graph.neighbors(name), key=lambda n: -graph.degree(n))
        more = f", … {len(near) - SHOWN} more" if len(near) > SHOWN else ""
        words = ", ".join(map(escape, near[:SHOWN])) + more if near else "nothing"
        grid.add_row(f"[bold]{escape(name)}[/bold]", f"[dim]beside[/dim] {words}")
    if len(names) > SHOWN:
        grid.add_row(f"[dim]… {len(names) - SHOWN:,} more[/dim]")
    return grid


def candidates_picture(records: Sequence[Mapping[str, Any]]) -> Grid:
    """Rankers and the mean reciprocal ranks of left-out links, the best first."""
    grid = Grid("ranker", box=None, padding=(0, 2, 0, 0))
    compared = bool(records) and "behind" in records[0]
    for title in ("mean reciprocal rank of left-out links", *(["behind"] if compared else [])):
        grid.add_column(title, justify="right")
    for record in records:
        line = [record["ranker"], f"{record['mrr']:.4f} ±{record['error']:.4f}"]
        if compared:
            error = record["behind_error"]
            line.append(f"{record['behind']:+.4f} ±{error:.4f}" if error else "")
        grid.add_row(*line)
    return grid


def _show_measures(facts: Mapping[str, Any], classes: Sequence[Any]) -> None:
    """Print the held-out measures of a classifier beside those of the class shares."""
    grid = Grid(box=None, padding=(0, 2, 0, 0))
    what = f"{facts['rows']:,} rows held out" if facts["folds"] > 1 else "rows held out once"
    folds = f" in {facts['folds']} folds" if facts["folds"] > 1 else ""
    for title in (f"On {what}{folds}", "this model", "class shares"):
        grid.add_column(title, justify="left" if title.startswith("On") else "right")
    titles = {
        "log_loss": "log-loss, in nats (lower is better)",
        "auc": "AUC" if len(classes) == 2 else "AUC, mean of each class against the rest",
        "accuracy": "accuracy",
    }
    for name, title in titles.items():
        if name in facts:
            percent = name == "accuracy"
            grid.add_row(title, _number(**facts[name], percent=percent),
                         _number(facts["prior"][name], percent=percent))  # fmt: skip
    console.print(grid)
    about = f"P({escape(schemas.state_text(classes[1]))})" if len(classes) == 2 else "top class"
    off = facts["calibration_error"]
    say(
        f" calibration of {about}: predicted and observed shares differ by "
        f"{100 * off['value']:.1f} points on average ({100 * off['by_chance']:.1f} by chance)"
    )
    means = [_group_means(bins) for bins in _groups(facts["calibration"])]
    lines = [f"predicted {p:.0%} → observed {o:.0%} of {n:,.0f} rows" for n, p, o in means]
    say(f"   [dim]{'; '.join(lines)}[/dim]")
    if facts["how"] == CHOSEN:
        words = "These folds also chose the structure, so the figures can be slightly optimistic."
        say(f" [dim]{words}[/dim]")


def _leak(facts: Mapping[str, Any]) -> str:
    """The column that explains nearly all of a class that is nearly certain; else empty."""
    parts: Sequence[Mapping[str, Any]] = facts.get("interactions", ())
    largest = max(parts, key=lambda part: part.get("explained", 0.0), default={})
    measured = facts["held_out"]
    certain = measured["log_loss"]["value"] <= LITTLE * measured["prior"]["log_loss"]
    names = largest.get("columns", ())
    alone = len(names) == 1 and largest.get("explained", 0.0) >= 1 - LITTLE
    return str(names[0]) if certain and alone else ""


def _number(value: float, error: float | None = None, *, percent: bool) -> str:
    times, unit, digits = (100, " %", 1) if percent else (1, "", 3)
    plus_minus = "" if not error else f" ± {times * error:.{digits}f}"
    return f"{times * value:.{digits}f}{plus_minus}{unit}"


def _groups(bins: Sequence[Mapping[str, float]]) -> list[list[Mapping[str, float]]]:
    """Bins in three groups with similar numbers of rows, the lowest predictions first."""
    total, before = sum(b["rows"] for b in bins), 0.0
    groups: list[list[Mapping[str, float]]] = [[] for _ in range(GROUPS)]
    for each in bins:
        middle = (before + each["rows"] / 2) / total
        groups[min(int(middle * GROUPS), GROUPS - 1)].append(each)
        before += each["rows"]
    return [group for group in groups if group]


def _group_means(bins: Sequence[Mapping[str, float]]) -> tuple[float, float, float]:
    """(rows, mean prediction, share of the rows in which it came true)."""
    n = sum(b["rows"] for b in bins)
    predicted = sum(b["rows"] * b["predicted"] for b in bins) / n
    return n, predicted, sum(b["rows"] * b["observed"] for b in bins) / n

"""What was learned as tables of texts: edges, interactions, candidates, and measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counterpane.additive.interactions import Interactions
from counterpane.data.schema import state_text
from counterpane.errors import Note, Option
from counterpane.evaluate.ranking import RankerScores
from counterpane.models.edges import ARROW, LINE, Edge
from counterpane.models.record import CalibrationBin, ClassFigures
from counterpane.present.table import Heading, TextTable, many, mentioned, right
from counterpane.workflow.choose import CLASSIFIERS, METHODS, POSTERIORS, RANKER

if TYPE_CHECKING:
    from counterpane.workflow.learned import Learned

GROUPS = 3  # of rows, by their predictions
LEAST = 0.005  # a probability of an edge that is printed
BITS = "bits per row: what two columns tell about each other"
PAIR = (Heading("", style="bold"), Heading("", style="dim"))
FORESTS = ("chow-liu",)  # methods whose networks are printed as trees


def part_tables(learned: Learned) -> list[TextTable]:
    """Return the parts of a model: its edges, interactions or candidates."""
    method, facts = learned.method, learned.facts
    if method == RANKER:
        return [RankerScores(facts["candidates"]).table()] if facts["candidates"] else []
    if method in CLASSIFIERS:
        return [_class_table(learned)]
    if method in POSTERIORS:
        return [_posterior_table(facts)]
    tested = method not in METHODS and "conflicts_" in vars(learned.learner)
    if not facts["edges"] and (method in METHODS or tested or learned.stopped):
        why = "no test shows a dependency" if tested else "no dependency improves the score"
        return [_nothing("edges", why, learned.stopped)]
    if method in FORESTS:
        return [_forest_table(learned)]
    if method in METHODS:
        return [replace(edge_table(facts["edges"], facts["target"]), notes=_network_notes(facts))]
    if tested:
        notes = (f"{BITS}; {_marks(facts['edges'])}",)
        return [replace(edge_table(facts["edges"], facts["target"]), notes=notes)]
    return [_neighbor_table(learned.model, facts["target"])]


def model_size(learned: Learned) -> str:
    """Return the size of a model in words."""
    method, facts = learned.method, learned.facts
    if method == RANKER:
        return f"ranker {facts['ranker']}"
    if method in CLASSIFIERS:
        kind = "interaction" if "interactions" in facts else "edge"
        return f"{many(len(facts[f'{kind}s']), kind)}, {len(facts['classes'])} classes"
    size = many(len(facts["edges"]), "edge")
    if method in METHODS or method in POSTERIORS:
        score = facts["score"]
        size += f", {many(facts['parameters'], 'parameter')}"
        size += f", {score['name']} {score['value']:,.3f}"
        return f"best network: {size}" if method in POSTERIORS else size
    return size + (f", {facts['n_tests']:,} tests executed" if "n_tests" in facts else "")


def edge_table(edges: Sequence[Mapping[str, Any]], first: str | None = None) -> TextTable:
    """Return the edges of a network, those at `first` on top, each with its strength."""

    def order(edge: Mapping[str, Any]) -> tuple[bool, float]:
        return first not in (edge["source"], edge["target"]), -edge["strength"]

    rows = [(Edge(**e).text, _strength_text(e)) for e in sorted(edges, key=order)]
    return TextTable.of(PAIR, rows, most=None)


def measure_table(figures: ClassFigures, classes: Sequence[Any]) -> TextTable:
    """Return held-out measures beside those of the class shares, with the calibration below."""
    about = f"P({state_text(classes[1])})" if len(classes) == 2 else "top class"
    off = figures.calibration_error
    notes = [
        f"calibration of {about}: predicted and observed shares differ by "
        f"{100 * off.value:.1f} points on average ({100 * off.by_chance:.1f} by chance)"
    ]
    means = [_group_means(bins) for bins in _groups(figures.calibration)]
    parts = [f"predicted {p:.0%} → observed {o:.0%} of {n:,.0f} rows" for n, p, o in means]
    notes.append("; ".join(parts))
    if figures.chose:
        notes.append(
            "These folds also chose the structure, so the figures can be slightly optimistic: "
            "`compare` learns it again in each fold."
        )
    return replace(figures.table(), notes=tuple(notes))


def _strength_text(edge: Mapping[str, Any]) -> str:
    """The strength of an edge, and in how many samples it is as it is printed, if known."""
    share = ""
    if edge["samples"]:
        found = round(edge["share_of_mark"] * edge["samples"])
        share = f", in {found:,} of {edge['samples']:,} samples"
    return f"{edge['strength']:.4f} {edge['unit']}{share}"


def _nothing(what: str, why: str, stopped: bool) -> TextTable:
    """A sentence about a model without edges or effects; a stopped search proves nothing."""
    words = f"No {what} found: {why}."
    if stopped:
        words = f"No {what} so far: the search was stopped before it found any."
    return TextTable((), (), notes=(words,))


def _network_notes(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What strengths, marks and samples mean."""
    edges = facts["edges"]
    notes = _bootstrap_notes(facts.get("bootstrap"))
    words = f"{BITS} beyond the child's other parents, corrected for chance"
    if any(edge["mark"] != ARROW for edge in edges):
        words += "; a — b: the direction cannot be determined from the data"
    notes.append(f"{words}.")
    if edges[0]["samples"]:
        notes.append("samples: bootstrap samples of the rows that have the edge as it is printed.")
    return tuple(notes)


def _bootstrap_notes(resampled: Mapping[str, Any] | None) -> list[str]:
    """A line on a bootstrap that was too short for shares, or shorter than it should be."""
    if resampled is None or resampled["samples"] >= resampled["requested"] >= resampled["needed"]:
        return []
    done, needed = resampled["samples"], resampled["needed"]
    few = f"No shares are shown: {many(done, 'bootstrap sample')}"
    if resampled["requested"] < needed:
        return [f"{few}; at least {needed} are needed."]
    if done < needed:
        within = f" within {resampled['seconds']:g} s" if resampled["seconds"] else ""
        words = f"{few} done{within}; at least {needed} are needed. "
        return [Note(words, Option("bootstrap", needed), " takes as long as it needs.")]
    return [f"{done:,} of {resampled['requested']:,} bootstrap samples were done in time."]


def _marks(edges: Sequence[Mapping[str, Any]]) -> str:
    """What the marks of edges by tests mean."""
    if all(edge["mark"] in (ARROW, LINE) for edge in edges):
        return "a — b: tests leave the direction open."
    return "a → b: a causes b; a ↔ b: a common cause is missing; o: tests leave this end open."


def _forest_table(learned: Learned) -> TextTable:
    """The forest of a network with at most one parent per column, each edge with its strength."""
    facts, graph = learned.facts, learned.model.graph
    records = {(e["source"], e["target"]): e for e in facts["edges"]}

    def branches(name: str, indent: str) -> Iterator[tuple[str, str]]:
        children = sorted(graph.successors(name), key=lambda c: -records[name, c]["strength"])
        for child in children:
            edge, last = records[name, child], child == children[-1]
            arrow = "→ " if edge["mark"] == ARROW else ""  # the branch itself is a line
            yield f"{indent}{'└── ' if last else '├── '}{arrow}{child}", _strength_text(edge)
            yield from branches(child, indent + ("    " if last else "│   "))

    roots = [n for n in graph.nodes if graph.in_degree(n) == 0]
    rows: list[tuple[str, str]] = []
    for root in sorted(roots, key=lambda n: (n != facts["target"], graph.out_degree(n) == 0)):
        rows += [(root, ""), *branches(root, "")]
    return TextTable.of(PAIR, rows, notes=_network_notes(facts), most=None)


def _neighbor_table(model: Any, first: str | None) -> TextTable:
    """The variables with the most neighbors, `first` on top, each with some of them."""
    graph = model.graph.to_undirected()
    names = sorted(graph.nodes, key=lambda n: (n != first, -graph.degree(n)))
    near = [sorted(graph.neighbors(name), key=lambda n: -graph.degree(n)) for name in names]
    rows = [
        (name, f"beside {mentioned(others) or 'nothing'}")
        for name, others in zip(names, near, strict=True)
    ]
    return TextTable.of((PAIR[0], ""), rows)


def _posterior_table(facts: Mapping[str, Any]) -> TextTable:
    """The most probable edges, each with the probability of either direction."""
    sampled = "rhat" in facts
    rows = [
        (
            f"{r['source']} {r['mark']} {r['target']}",
            f"{r['share_of_mark']:.3f}" + (f" ±{r['standard_error']:.3f}" if sampled else ""),
            f"{r['share']:.3f}",
        )
        for r in facts["edge_probabilities"]
        if r["share_of_mark"] >= LEAST
    ]
    heads = (Heading("edge", style="bold"), right("probability"), right("either direction"))
    if sampled:
        words = f"largest R-hat of an edge {facts['rhat']:.3f} (1 if the chains agree), smallest "
        words += f"effective sample size {facts['effective_size']:,.0f}"
    else:
        words = f"exact sum over all networks; their log-evidence {facts['log_evidence']:,.3f}"
    return TextTable.of(heads, rows, notes=[words], most=None)


def _class_table(learned: Learned) -> TextTable:
    """The interactions or edges of a classifier."""
    facts = learned.facts
    if "interactions" not in facts:
        edges = facts["edges"]
        return edge_table(edges) if edges else _no_effects(learned)
    parts = facts["interactions"]
    if not parts:
        return _no_effects(learned)
    notes = []
    if any("effect" in part for part in parts):
        words = "effect: standard deviation over the rows of what the interaction adds to the "
        words += "log-odds of the class; share of variance: its variance over the sum of the "
        words += "variances of all interactions"
        samples = max(part.get("samples", 0) for part in parts)
        if samples:
            words += f"; selected: share of {samples} random halves of the rows on which the "
            words += "search selects it"
        notes.append(f"{words}.")
    notes += [note for note in [facts.get("pool", {}).get("note", "")] if note]
    return replace(Interactions(parts).table(), notes=tuple(notes))


def _no_effects(learned: Learned) -> TextTable:
    return _nothing("effects", "no column improves the prediction", learned.stopped)


def _groups(bins: Sequence[CalibrationBin]) -> list[list[CalibrationBin]]:
    """Bins in three groups with similar numbers of rows, the lowest predictions first."""
    total, before = sum(b.rows for b in bins), 0.0
    groups: list[list[CalibrationBin]] = [[] for _ in range(GROUPS)]
    for each in bins:
        middle = (before + each.rows / 2) / total
        groups[min(int(middle * GROUPS), GROUPS - 1)].append(each)
        before += each.rows
    return [group for group in groups if group]


def _group_means(bins: Sequence[CalibrationBin]) -> tuple[float, float, float]:
    """(rows, mean prediction, share of the rows in which it came true)."""
    n = sum(b.rows for b in bins)
    predicted = sum(b.rows * b.predicted for b in bins) / n
    return n, predicted, sum(b.rows * b.observed for b in bins) / n

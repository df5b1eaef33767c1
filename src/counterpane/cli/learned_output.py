"""What `learn` prints: notes on the columns, the model, its measures, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from rich.markup import escape

from counterpane.cli.app import console, many, notes, say, say_saved, show_note, show_table
from counterpane.cli.app import with_option_names as in_options
from counterpane.lazy import lazy
from counterpane.workflow.choose import CLASSIFIERS, METHODS, POSTERIORS, RANKER

schemas = lazy("counterpane.data.schema")
workflow = lazy("counterpane.workflow.learned")


def show_learned(learned: Any, path: Path) -> None:
    """Print how the table was prepared, the model, its size, and what to do next."""
    facts, figures = learned.facts, learned.measures
    missing_note = getattr(learned.learner, "missing_note_", "")
    for line in workflow.learning_notes(learned.schema, learned.table, missing_note):
        if not notes.quiet:
            show_note(line)
    tables = learned.tables()
    for table in tables if figures is None else tables[:-1]:
        show_table(table)
    shape = f"{many(facts['rows'], 'row')} × {many(facts['columns'], 'column')}"
    seconds = f"{facts['seconds']:.2f} s"
    if figures is not None and not figures.chose:
        seconds += f", and {facts['held_out_seconds']:.2f} s to measure it on held-out rows"
    console.print(f"{shape} → {learned.size}, {seconds}", soft_wrap=True)
    if figures is not None:
        show_table(tables[-1])
    if learned.caution:
        say(f"[yellow]{escape(in_options(learned.caution))}[/yellow]")
    command = f"counterpane {_next_step(learned).format(quote(str(path)))}"
    say_saved(path, more=f"; next: {escape(command)}")


def _next_step(learned: Any) -> str:
    """The command to go on with, `{}` for the model file."""
    method, schema = learned.method, learned.schema
    if method in CLASSIFIERS:
        return "predict {} NEW.csv"
    network = method in METHODS or method in POSTERIORS
    links = not network and all(variable.states == (0, 1) for variable in schema)
    if method == RANKER or (links and "conflicts_" not in vars(learned.learner)):
        return f"rank {{}} --chosen {quote(schema.names[0])}"
    return f"query {{}} {_question(learned.facts, schema)}"


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

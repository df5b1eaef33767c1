"""`counterpane explain`: why a row gets its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import emit, note, say, show_table
from counterpane.cli.options import (
    DATA_HELP,
    ModelFile,
    ModelTarget,
    Printing,
    TextFormat,
    complete_evidence,
)
from counterpane.errors import ParameterError, StateError, unknown_name
from counterpane.lazy import lazy
from counterpane.present.table import Heading, TextTable, right

columns_of = lazy("counterpane.data.columns")
effects = lazy("counterpane.additive.effects")
models = lazy("counterpane.models.base")
prepare = lazy("counterpane.data.prepare")
schemas = lazy("counterpane.data.schema")
remote = lazy("counterpane.data.remote")
tables = lazy("counterpane.cli.tables")
clean = lazy("counterpane.data.clean")

LEAST_SHOWN = 0.0005  # of log-odds, which are printed with three decimals


def run_explain(
    *,
    model: ModelFile,
    row: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLUMN=VALUE...",
            help="The row to explain, such as sex=female age=41.",
            autocompletion=complete_evidence,
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", "-d", help=f"The file of the row. {DATA_HELP}")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--row", min=1, help="The number of the row in DATA, from 1.")
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option("--class", help="The class to explain; by default the most probable one."),
    ] = None,
    target: ModelTarget = None,
    top: Annotated[int, typer.Option(min=1, help="The number of interactions to show.")] = 12,
    text: TextFormat,
    printing: Printing,
) -> None:
    """Explain the prediction for one row: what each interaction adds to the log-odds of its class.

    The row is given as column=value pairs, or as the number of a row in a file. Columns that are
    not given are averaged over. MODEL is a classifier, or a Bayesian or Markov network. The lines
    sum to the log-odds. "(intercept)" is what the class has in all rows, and "(not given: …)" what
    the values of columns that are not given add on average.
    """
    if bool(row) == (data is not None) or (number is not None and data is None):
        raise ParameterError(
            "one row is needed: give it as column=value pairs, or as --data FILE --row NUMBER."
        )
    loaded: Any = cp.load(model)
    _check_kind(loaded)
    if data is None:
        columns = _columns_of_pairs(loaded, row or [], text.decimal)
    else:
        columns = _columns_of_file(loaded, data, number or 1, text)
    facts, chosen = _explanation(loaded, columns, target, of_class)
    absent = [n for n in loaded.schema.names if n not in facts["row"] and n != facts["target"]]
    if absent:
        note(f"Not given, so averaged over: {', '.join(absent)}.")
    if printing.as_json:
        emit({"model": str(model), **facts})
        return
    shares = ", ".join(f"{state} {p:.4f}" for state, p in facts["probabilities"].items())
    say(escape(f"P({facts['target']} | row): {shares}"))
    show_table(_part_table(facts, schemas.state_text(chosen), top))


def _explanation(
    model: Any, columns: Sequence[Any], target: str | None, of_class: str | None
) -> tuple[dict[str, Any], Any]:
    """The probabilities of the classes, what each interaction adds, and the class explained."""
    name = models.class_name(model, target)
    records = model.explain(tables.as_learned(model, columns), target)
    shares = effects.explained_probabilities(records)
    if of_class is None:
        chosen = max(shares, key=lambda state: shares[state])
    else:
        chosen = model.schema[name].states[model.schema[name].code(of_class)]
    parts = [
        {"columns": r["columns"], "name": r["name"], "log_odds": r["contributions"][chosen]}
        for r in records
    ]
    parts.sort(key=lambda part: -abs(part["log_odds"]))
    facts = {
        "target": name,
        "row": _cells(model, columns, name),
        "class": str(chosen),
        "probabilities": {schemas.state_text(s): p for s, p in shares.items()},
        "log_odds": sum(part["log_odds"] for part in parts),
        "interactions": parts,
    }
    return facts, chosen


def _check_kind(model: Any) -> None:
    """Refuse models whose class probabilities are no product over interactions."""
    parts = getattr(model, "models", (model,))
    kinds = {part.kind for part in parts}
    if not kinds <= {"additive", "bayesian_network", "markov_network"}:
        raise ParameterError(
            f"a model of the kind {model.kind!r} cannot be explained; learn a classifier with "
            "--target, or a network with --method structure-search."
        )


def _columns_of_pairs(model: Any, pairs: Sequence[str], decimal: str | None) -> list[Any]:
    """The columns of one row that is written as column=value pairs."""
    cells: dict[str, str] = {}
    for pair in pairs:
        signs = [place for place, letter in enumerate(pair) if letter == "="]
        if not signs:
            raise ParameterError(f"{pair!r} is not of the form column=value, such as sex=female.")
        names = [pair[:place].strip() for place in signs]
        name = next((n for n in names if n in model.schema.names), None)
        if name is None:
            raise unknown_name("column", names[0], model.schema.names)
        if name in cells:
            raise ParameterError(f"column {name!r} is given twice; give each column once.")
        cells[name] = pair[signs[names.index(name)] + 1 :].strip()
    columns = clean.text_columns(
        clean.columns_of_rows([tuple(cells.values())], list(cells)),
        decimal=decimal or model.record.preparation.decimal,
        formats=schemas.formats_of(model.schema),
    )
    for column in tables.as_learned(model, columns):
        variable = model.schema[column.name]
        if isinstance(column, columns_of.Numbers) and variable.cuts is None:
            column = column.labels()
        states = column.states if isinstance(column, columns_of.Labels) else ()
        strange = [state for state in states if variable.find(state) is None]
        no_number = isinstance(column, columns_of.Numbers) and column.missing[0]
        if strange or (no_number and cells[column.name]):
            raise StateError(f"column {column.name!r}: {variable.not_a_state(cells[column.name])}.")
    return list(columns)


def _columns_of_file(model: Any, data: str, number: int, text: TextFormat) -> list[Any]:
    """The columns of one row of a file."""
    columns = tables.read_raw(data, text, model)
    rows = columns_of.n_rows(columns[0]) if columns else 0
    if number > rows:
        raise ParameterError(f"--row {number}; {remote.without_secrets(data)!r} has {rows:,} rows.")
    return [column.take(slice(number - 1, number)) for column in columns]


def _cells(model: Any, columns: Sequence[Any], target: str) -> dict[str, Any]:
    """The cells of the model's columns as they were written; missing only where a state."""
    cells = {}
    for column in columns:
        if column.name in model.schema.names and column.name != target:
            cell = tables.cell_texts(column, 0, 1)[0]
            if cell == "" and model.schema[column.name].find(None) is not None:
                cell = schemas.MISSING
            if cell != "":
                cells[column.name] = cell
    return cells


def _part_table(facts: Mapping[str, Any], chosen: str, top: int) -> TextTable:
    """A line for each interaction, and the sum."""
    relative = "" if len(facts["probabilities"]) == 2 else ", relative to the mean of all classes"
    parts = facts["interactions"]
    rows = [(_signed(part["log_odds"]), part["name"]) for part in parts[:top]]
    if len(parts) > top:
        rest = sum(part["log_odds"] for part in parts[top:])
        rows.append((_signed(rest), f"{len(parts) - top} more"))
    rows.append((_signed(facts["log_odds"]), "in total"))
    title = f"Log-odds of {facts['target']}={chosen}{relative}"
    return TextTable.of((right(""), Heading("", style="bold")), rows, title=title, most=None)


def _signed(log_odds: float) -> str:
    """The number with its sign; what rounds to 0 has none."""
    return f"{log_odds:+.3f}" if abs(log_odds) >= LEAST_SHOWN else "0.000"

"""`counterpane explain`: why a row gets its class."""

from __future__ import annotations

from collections.abc import Sequence
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
from counterpane.errors import ParameterError, unknown_name
from counterpane.lazy import lazy

effects = lazy("counterpane.additive.effects")
schemas = lazy("counterpane.data.schema")
csv_text = lazy("counterpane.workflow.csv_text")
model_rows = lazy("counterpane.workflow.model_rows")


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
    if data is None:
        cells = _cells_of_pairs(loaded, row or [])
        rows = model_rows.row_of_texts(loaded, cells, decimal=text.decimal)
    else:
        rows = text.read_for(loaded, data)
        rows = rows.row(number or 1)
    explained = rows.explain(target)
    state = explained.predicted
    if of_class is not None:
        variable = loaded.schema[explained.target]
        state = variable.states[variable.code(of_class)]
    given = _given_cells(rows, explained.target)
    absent = [n for n in loaded.schema.names if n not in given and n != explained.target]
    if absent:
        note(f"Not given, so averaged over: {', '.join(absent)}.")
    shares = effects.explained_probabilities(explained)
    if printing.as_json:
        emit({"model": str(model), "target": explained.target, "row": given, "class": str(state),
              "probabilities": {schemas.state_text(s): p for s, p in shares.items()},
              "log_odds": explained.log_odds(state),
              "interactions": explained.records(state)})  # fmt: skip
        return
    listed = ", ".join(f"{schemas.state_text(s)} {p:.4f}" for s, p in shares.items())
    say(escape(f"P({explained.target} | row): {listed}"))
    show_table(explained.class_table(state, top))


def _cells_of_pairs(model: Any, pairs: Sequence[str]) -> dict[str, str]:
    """The cells of one row that is written as column=value pairs."""
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
    return cells


def _given_cells(rows: Any, target: str) -> dict[str, Any]:
    """The cells of the model's columns as they were written; missing only where a state."""
    schema = rows.model.schema
    cells = {}
    for column in rows.raw:
        if column.name in schema.names and column.name != target:
            cell = csv_text.cell_texts(column, 0, 1)[0]
            if cell == "" and schema[column.name].find(None) is not None:
                cell = schemas.MISSING
            if cell != "":
                cells[column.name] = cell
    return cells

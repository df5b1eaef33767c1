"""`counterpane explain`: why a row gets its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import (
    DATA_HELP,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    ModelFile,
    Quiet,
    Sheet,
    app,
    complete_evidence,
    console,
    emit,
    note,
    settle,
    tables,
    text_options,
)
from counterpane.errors import ParameterError, StateError, unknown_name
from counterpane.lazy import lazy

columns_of = lazy("counterpane.data.columns")
clean = lazy("counterpane.data.clean")
prepare = lazy("counterpane.data.prepare")
classify = lazy("counterpane.cli.classify")
explaining = lazy("counterpane.models.explaining")
schemas = lazy("counterpane.data.schema")

LEAST_SHOWN = 0.0005  # of log-odds, which are printed with three decimals


@app.command()
def explain(
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
    target: Annotated[
        str | None, typer.Option(help="The column to predict; by default the target of the model.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="The number of interactions to show.")] = 12,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain the prediction for one row: what each interaction adds to the log-odds of its class.

    The row is given as column=value pairs, or as the number of a row in a file. Columns that are
    not given are treated as unknown. MODEL is a classifier, or a Bayesian or Markov network. The
    line "(other)" holds what smoothing, averaging over models and unknown columns add.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    if bool(row) == (data is not None) or (number is not None and data is None):
        raise ParameterError(
            "one row is needed: give it as column=value pairs, or as --data FILE --row NUMBER."
        )
    loaded: Any = cp.load(model)
    _check_kind(loaded)
    if data is None:
        columns = _of_pairs(loaded, row or [], decimal)
    else:
        text = text_options(encoding, delimiter, decimal, sheet)
        columns = _of_file(loaded, data, number or 1, text, progress=progress)
    name = loaded.target.name if loaded.kind == "additive" else loaded._class_name(target)
    records = loaded.explain(tables().as_learned(loaded, columns), target)
    probabilities = explaining.explained_probabilities(records)
    chosen = _class_of(loaded.schema[name], of_class, probabilities)
    cells = _cells(loaded, columns, name)
    absent = [n for n in loaded.schema.names if n not in cells and n != name]
    if absent:
        note(f"Not given, so treated as unknown: {', '.join(absent)}.")
    shown = _interactions(records, chosen)
    if as_json:
        emit({
            "model": str(model), "target": name, "row": cells, "class": str(chosen),
            "probabilities": {schemas.state_text(s): p for s, p in probabilities.items()},
            "log_odds": sum(part["log_odds"] for part in shown), "interactions": shown,
        })  # fmt: skip
        return
    shares = ", ".join(f"{schemas.state_text(s)} {p:.4f}" for s, p in probabilities.items())
    console.print(escape(f"P({name} | row): {shares}"), highlight=False, soft_wrap=True)
    console.print(_picture(shown, cells, name, chosen, top, two=len(probabilities) == 2))


def _check_kind(model: Any) -> None:
    """Refuse models whose class probabilities are no product over interactions."""
    parts = getattr(model, "models", (model,))
    kinds = {part.kind for part in parts}
    if not kinds <= {"additive", "bayesian_network", "markov_network"}:
        raise ParameterError(
            f"a model of the kind {model.kind!r} cannot be explained; learn a classifier with "
            "--target, or a network with --method structure-search."
        )


def _of_pairs(model: Any, pairs: Sequence[str], decimal: str | None) -> list[Any]:
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
    told = model.provenance or {}
    columns = clean.text_columns(
        list(cells),
        clean.collect([tuple(cells.values())], len(cells)),
        decimal=decimal or told.get("decimal"),
        formats=prepare.formats_of(told),
    )
    for column in tables().as_learned(model, columns):
        variable = model.schema[column.name]
        if isinstance(column, columns_of.Numbers) and variable.cuts is None:
            column = column.labels()
        states = column.states if isinstance(column, columns_of.Labels) else ()
        strange = [state for state in states if variable.find(state) is None]
        no_number = isinstance(column, columns_of.Numbers) and column.missing[0]
        if strange or (no_number and cells[column.name]):
            raise StateError(f"column {column.name!r}: {variable.not_a_state(cells[column.name])}.")
    return list(columns)


def _of_file(
    model: Any, data: str, number: int, text: Mapping[str, str | None], *, progress: bool
) -> list[Any]:
    """The columns of one row of a file."""
    columns = tables().read_raw(data, text, model, progress=progress)
    rows = columns_of.n_rows(columns[0]) if columns else 0
    if number > rows:
        raise ParameterError(f"--row {number}; {data!r} has {rows:,} rows.")
    return [classify.slice_rows(column, number - 1, number) for column in columns]


def _cells(model: Any, columns: Sequence[Any], target: str) -> dict[str, Any]:
    """What the row says of the model's columns, as it was written; missing only where a state."""
    known = [c for c in columns if c.name in model.schema.names and c.name != target]
    found = {c.name: classify.row_cells(c, 0, 1)[0] for c in known}
    states = {name for name in found if model.schema[name].find(None) is not None}
    missing = {name: schemas.MISSING for name in states if found[name] == ""}
    return {name: value for name, value in (found | missing).items() if value != ""}


def _class_of(variable: Any, named: str | None, probabilities: Mapping[Any, float]) -> Any:
    if named is not None:
        return variable.states[variable.code(named)]
    return max(probabilities, key=lambda state: probabilities[state])


def _interactions(records: Sequence[Mapping[str, Any]], chosen: Any) -> list[dict[str, Any]]:
    """What each interaction adds to the log-odds of the chosen class, the largest first."""
    found = [
        {"columns": record["columns"], "log_odds": record["contributions"][chosen]}
        for record in records
    ]
    return sorted(found, key=lambda part: -abs(part["log_odds"]))


def _picture(
    parts: Sequence[Mapping[str, Any]],
    cells: Mapping[str, Any],
    target: str,
    chosen: Any,
    top: int,
    *,
    two: bool,
) -> Grid:
    """A line an interaction, and the sum."""
    than = "" if two else ", relative to the mean of all classes"
    title = f"Log-odds of {target}={schemas.state_text(chosen)}{than}"
    console.print(f"[italic]{escape(title)}[/italic]", highlight=False, soft_wrap=True)
    grid = Grid(box=None, show_header=False)
    grid.add_column(justify="right")
    total = sum(part["log_odds"] for part in parts)
    parts = [p for p in parts if p["columns"] is not None or abs(p["log_odds"]) >= LEAST_SHOWN]
    for part in parts[:top]:
        grid.add_row(_signed(part["log_odds"]), _name(part["columns"], cells))
    if len(parts) > top:
        rest = sum(part["log_odds"] for part in parts[top:])
        grid.add_row(_signed(rest), f"[dim]{len(parts) - top} more[/dim]")
    grid.add_row(_signed(total), "[bold]in total[/bold]")
    return grid


def _signed(log_odds: float) -> str:
    """The number with its sign; what rounds to 0 has none."""
    return f"{log_odds:+.3f}" if abs(log_odds) >= LEAST_SHOWN else "0.000"


def _name(columns: Sequence[str] | None, cells: Mapping[str, Any]) -> str:
    if columns is None:
        return "[dim](other)[/dim]"
    if not columns:
        return "[dim](all rows)[/dim]"
    told = [f"{name}={cells.get(name, '?')}" for name in columns]
    return " × ".join(f"[bold]{escape(text)}[/bold]" for text in told)

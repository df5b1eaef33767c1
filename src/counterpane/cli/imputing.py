"""`counterpane impute`: a table with its gaps filled by a model."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import (
    CsvFile,
    Data,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    ModelFile,
    Quiet,
    Seed,
    Sheet,
    app,
    check_place,
    classify,
    console,
    emit,
    many,
    notes,
    settle,
    tables,
    text_options,
)
from counterpane.errors import ParameterError

SHOWN = 12  # cells on a terminal


@app.command()
def impute(
    model: ModelFile,
    data: Data,
    output: CsvFile = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Draw this many completed tables (multiple imputation) instead of the most "
            "probable values; they are saved as OUTPUT-1.csv, OUTPUT-2.csv, ….",
        ),
    ] = None,
    probabilities: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file for the filled cells: row (from 1), column, value, and the "
            "probability of the value given the rest of the row."
        ),
    ] = None,
    seed: Seed = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fill the missing cells of DATA with the most probable values under MODEL, or with draws.

    Each gap gets its most probable value given the other cells of its row. Numbers that were cut
    into intervals get the median of the training values in the interval. Observed cells and
    columns that MODEL does not know stay as they are.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    files = _files(output, draws)
    for path in (*files, probabilities):
        check_place(path)
    loaded: Any = cp.load(model)
    if loaded.kind == "additive":
        raise ParameterError(
            f"the model knows only P({loaded.target.name} | other columns), and `impute` needs a "
            "model of all columns; learn one without --target, or with --method tan."
        )
    text = text_options(encoding, delimiter, decimal, sheet)
    raw = tables().read_raw(data, text, loaded, progress=progress)
    done = filling().completed(loaded, raw, draws, seed)
    for line in tables().what_a_model_lacks(loaded, raw, None):
        notes.print(f"[dim]{escape(line)}[/dim]", soft_wrap=True)
    for path, part in zip(files, done, strict=False):
        classify().write_atomically(path, classify().csv_columns(part.frame))
    if probabilities is not None:
        classify().write_atomically(probabilities, filling().cell_lines(done, draws))
    _tell(str(model), done, files, probabilities, drawn=draws is not None, as_json=as_json)


def filling() -> Any:
    """The module that fills tables, imported when it is needed."""
    return import_module("counterpane.cli.filling")


def _files(output: Path | None, draws: int | None) -> list[Path]:
    """The files to write: one, or one for each draw."""
    if draws is None:
        return [] if output is None else [output]
    if output is None:
        raise ParameterError("--draws makes several tables; name their files with --output.")
    stem, dot, rest = output.name.partition(".")
    return [output.with_name(f"{stem}-{k}{dot}{rest}") for k in range(1, draws + 1)]


def _tell(
    model: str,
    done: Sequence[Any],
    files: Sequence[Path],
    probabilities: Path | None,
    *,
    drawn: bool,
    as_json: bool,
) -> None:
    cells = done[0].cells
    by_column: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        by_column[cell.column].append(cell.probability)
    rows = len({cell.row for cell in cells})
    if as_json:
        columns = {
            name: {"cells": len(shares)}
            | ({} if drawn else {"mean_probability": sum(shares) / len(shares)})
            for name, shares in by_column.items()
        }
        emit({"model": model, "cells": len(cells), "rows": rows, "columns": columns,
              "draws": len(done) if drawn else None, "output": [str(f) for f in files],
              "probabilities": probabilities and str(probabilities)})  # fmt: skip
        return
    if not files and not console.is_terminal:
        for chunk in classify().csv_columns(done[0].frame):
            sys.stdout.write(chunk.decode())
        return
    if cells:
        console.print(_columns_picture(by_column, drawn) if files else _cells_picture(cells))
    console.print(
        f"{many(len(cells), 'cell')} filled in {many(rows, 'row')}", highlight=False, soft_wrap=True
    )
    for path in (*files, *([probabilities] if probabilities else [])):
        console.print(f"Saved to [bold]{escape(str(path))}[/bold]", soft_wrap=True)


def _columns_picture(by_column: dict[str, list[float]], drawn: bool) -> Grid:
    """How many cells of each column were filled; how sure the most probable values are."""
    grid = Grid("column", box=None)
    for head in ("cells filled",) if drawn else ("cells filled", "mean probability"):
        grid.add_column(head, justify="right")
    for name, shares in by_column.items():
        mean = [] if drawn else [f"{sum(shares) / len(shares):.4f}"]
        grid.add_row(escape(name), f"{len(shares):,}", *mean)
    return grid


def _cells_picture(cells: Sequence[Any]) -> Grid:
    grid = Grid(box=None)
    grid.add_column("row", justify="right")
    grid.add_column("column")
    grid.add_column("value")
    grid.add_column("probability", justify="right")
    for row, column, value, probability in cells[:SHOWN]:
        grid.add_row(
            str(row + 1), escape(column), escape(filling().value_text(value)), f"{probability:.4f}"
        )
    if len(cells) > SHOWN:
        grid.add_row("…", f"[dim]{len(cells) - SHOWN:,} more cells[/dim]")
    return grid

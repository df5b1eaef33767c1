"""`counterpane impute`: a table with its gaps filled by a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, console, emit, many, note, say, say_saved, show_table
from counterpane.cli.options import CsvFile, Data, ModelFile, Printing, Seed, TextFormat
from counterpane.errors import ParameterError
from counterpane.lazy import lazy
from counterpane.present.table import LISTED, TextTable, right

columns_of = lazy("counterpane.data.columns")
imputing = lazy("counterpane.tools.imputing")
tables = lazy("counterpane.cli.tables")


def run_impute(
    *,
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
    text: TextFormat,
    printing: Printing,
) -> None:
    """Fill the missing cells of DATA with the most probable values under MODEL, or with draws.

    Each gap gets its most probable value given the other cells of its row. Numbers that were cut
    into intervals get the median of the training values in the interval. Observed cells and
    columns that MODEL does not know stay as they are; only numbers such as $1,234 or 12,5% are
    written as plain numbers, 1234 and 12.5, and fields are separated by commas.
    """
    files = _files(output, draws)
    for path in (*files, probabilities):
        check_output(path)
    loaded: Any = cp.load(model)
    if loaded.kind == "additive":
        raise ParameterError(
            f"the model knows only P({loaded.target.name} | other columns), and `impute` needs a "
            "model of all columns; learn one without --target, or with --method tan."
        )
    raw = tables.read_raw(data, text, loaded)
    for line in tables.data_notes(loaded, raw, None):
        note(line)
    completed = _completed(loaded, raw, draws, seed)
    for path, table in zip(files, completed, strict=False):
        tables.write_csv(table.frame, path)
    if probabilities is not None:
        header = ["row", "column", "value", "probability"]
        header = header if draws is None else ["draw", *header]
        tables.write_lines(header, _cell_lines(completed, draws), probabilities)
    if printing.as_json:
        facts = _facts(completed, drawn=draws is not None)
        emit({"model": str(model), **facts, "output": [str(f) for f in files],
              "probabilities": probabilities and str(probabilities)})  # fmt: skip
    elif not files and not console.is_terminal:
        tables.write_csv(completed[0].frame)
    else:
        _show(completed[0].cells, files, drawn=draws is not None)
        say_saved(*files, probabilities)


def _files(output: Path | None, draws: int | None) -> list[Path]:
    """The files to write: one, or one for each draw."""
    if draws is None:
        return [] if output is None else [output]
    if output is None:
        raise ParameterError("--draws makes several tables; name their files with --output.")
    stem, dot, rest = output.name.partition(".")
    return [output.with_name(f"{stem}-{k}{dot}{rest}") for k in range(1, draws + 1)]


def _completed(model: Any, raw: Sequence[Any], draws: int | None, seed: int | None) -> list[Any]:
    """The completed columns and the filled cells; an odd text among numbers is no gap."""
    read = tables.as_learned(model, raw)
    observed = {
        column.name: tables.kept_texts(before, column)
        for before, column in zip(raw, read, strict=True)
        if column.name in model.schema.names
        and isinstance(before, columns_of.Labels)
        and isinstance(column, columns_of.Numbers)
    }
    for name, cells in observed.items():
        if cells.any():
            stay = "stays" if cells.sum() == 1 else "stay"
            note(f"Column {name!r}: {many(int(cells.sum()), 'such cell')} {stay} as written.")
    kept = [v.name for v in model.schema if v.written is not None and v.written.empty_is_value]
    if kept:
        note(f"Not imputed: {', '.join(kept)}; an empty cell is a value there.")
    completed: list[Any] = imputing.impute_frame(
        model, list(raw), draws, seed, read=read, fixed=observed
    )
    return completed


def _cell_lines(completed: Sequence[Any], draws: int | None) -> Iterator[list[Any]]:
    """The filled cells, with the number of the draw first if there are draws."""
    for place, table in enumerate(completed, start=1):
        for row, column, value, probability in table.cells:
            cells = [row + 1, column, _value_text(value), f"{probability:.6g}"]
            yield cells if draws is None else [place, *cells]


def _value_text(value: Any) -> str:
    """A value as it is written; a date without a time that is midnight."""
    return str(value).removesuffix(" 00:00:00") if isinstance(value, datetime) else str(value)


def _by_column(cells: Sequence[Any]) -> dict[str, list[float]]:
    """The probabilities of the filled cells, by column."""
    shares: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        shares[cell.column].append(cell.probability)
    return shares


def _facts(completed: Sequence[Any], *, drawn: bool) -> dict[str, Any]:
    """How many cells were filled, for JSON."""
    cells = completed[0].cells
    columns = {
        name: {"cells": len(shares)}
        | ({} if drawn else {"mean_probability": sum(shares) / len(shares)})
        for name, shares in _by_column(cells).items()
    }
    return {
        "cells": len(cells),
        "rows": len({cell.row for cell in cells}),
        "columns": columns,
        "draws": len(completed) if drawn else None,
    }


def _show(cells: Sequence[Any], files: Sequence[Path], *, drawn: bool) -> None:
    """Print how many cells were filled: by column with files, else the first cells."""
    if cells:
        show_table(_column_table(_by_column(cells), drawn) if files else _cell_table(cells))
    rows = len({cell.row for cell in cells})
    say(f"{many(len(cells), 'cell')} filled in {many(rows, 'row')}")


def _column_table(by_column: dict[str, list[float]], drawn: bool) -> TextTable:
    """The number of filled cells of each column, and the mean probability of what is in them."""
    heads = ("cells filled",) if drawn else ("cells filled", "mean probability")
    rows = []
    for name, shares in by_column.items():
        mean = [] if drawn else [f"{sum(shares) / len(shares):.4f}"]
        rows.append([name, f"{len(shares):,}", *mean])
    return TextTable.of(["column", *map(right, heads)], rows, most=None)


def _cell_table(cells: Sequence[Any]) -> TextTable:
    rows = [
        (row + 1, column, _value_text(value), f"{probability:.4f}")
        for row, column, value, probability in cells[:LISTED]
    ]
    heads = (right("row"), "column", "value", right("probability"))
    return TextTable.of(heads, rows, total=len(cells))

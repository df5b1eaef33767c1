"""`counterpane impute`: a table with its gaps filled by a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import (
    check_output,
    console,
    emit,
    many,
    note,
    say,
    say_saved,
    show_table,
)
from counterpane.cli.csv_output import print_csv
from counterpane.cli.options import CsvFile, Data, ModelFile, Printing, Seed, TextFormat
from counterpane.errors import ParameterError
from counterpane.lazy import lazy

csv_text = lazy("counterpane.workflow.csv_text")


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
    rows = text.read_for(loaded, data)
    imputed = rows.impute(draws, random_state=seed)
    for line in imputed.notes:
        note(line)
    for draw, path in enumerate(files):
        imputed.write(path, draw)
    if probabilities is not None:
        csv_text.write_csv(probabilities, imputed.cell_lines())
    if printing.as_json:
        emit({"model": str(model), **imputed.to_dict(), "output": [str(f) for f in files],
              "probabilities": probabilities and str(probabilities)})  # fmt: skip
    elif not files and not console.is_terminal:
        print_csv(csv_text.column_lines(imputed.to_columns()))
    else:
        if imputed.cells:
            show_table(imputed.column_table() if files else imputed.table())
        filled, where = many(len(imputed.cells), "cell"), many(imputed.n_rows, "row")
        say(f"{filled} filled in {where}")
        say_saved(*files, probabilities)


def _files(output: Path | None, draws: int | None) -> list[Path]:
    """The files to write: one, or one for each draw."""
    if draws is None:
        return [] if output is None else [output]
    if output is None:
        raise ParameterError("--draws makes several tables; name their files with --output.")
    stem, dot, rest = output.name.partition(".")
    return [output.with_name(f"{stem}-{k}{dot}{rest}") for k in range(1, draws + 1)]

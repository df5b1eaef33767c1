"""`counterpane predict`: the class of each row of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

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
from counterpane.cli.options import CsvFile, Data, ModelFile, ModelTarget, Printing, TextFormat


def run_predict(
    *,
    model: ModelFile,
    data: Data,
    output: CsvFile = None,
    target: ModelTarget = None,
    keep: Annotated[bool, typer.Option("--keep", help="Also write the columns of DATA.")] = False,
    text: TextFormat,
    printing: Printing,
) -> None:
    """Predict the class of each row of DATA: the most probable one, and all probabilities.

    The predictions are written to OUTPUT, or as CSV to a pipe; a terminal shows the first rows.
    Columns that MODEL does not know are ignored. Columns that DATA lacks are summed out, and a
    note names them.
    """
    check_output(output)
    loaded: Any = cp.load(model)
    if target is not None:
        loaded.schema.index(target)
    rows = text.read_for(loaded, data)
    predictions = rows.predict(target)
    for line in predictions.notes:
        note(line)
    if output is not None:
        predictions.write(output, keep=keep)
    if printing.as_json:
        emit({"model": str(model), "rows": len(predictions), "target": predictions.target.name,
              "predicted": predictions.counts(), **predictions.losses(),
              "training_rows": predictions.training, "notes": predictions.notes,
              "output": output and str(output)})  # fmt: skip
    elif output is None and not console.is_terminal:
        print_csv(predictions.lines(keep=keep))
    else:
        _show(predictions, output)


def _show(predictions: Any, output: Path | None) -> None:
    """Print the first rows, or where they were saved, and how good the predictions are."""
    if output is None:
        show_table(predictions.table())
    shares = ", ".join(f"{n:,} {escape(str(c))}" for c, n in predictions.counts().items())
    say(f"{many(len(predictions), 'row')}, predicted: {shares}")
    losses = ", ".join(f"{k.replace('_', '-')} {v:.4f}" for k, v in predictions.losses().items())
    if losses:
        caution = " (the training rows: new rows will be predicted less well)"
        say(f"On these rows{caution if predictions.training else ''}: {losses}")
    say_saved(output)

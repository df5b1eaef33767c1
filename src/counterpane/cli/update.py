"""`counterpane update`: further rows added to the tables of a Bayesian network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, many, note, say, say_saved
from counterpane.cli.options import Data, ModelFile, Printing, TextFormat


def run_update(
    *,
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file to write; by default MODEL itself."),
    ] = None,
    missing: Annotated[
        Literal["error", "drop"],
        typer.Option(
            help="What to do with rows that have a missing value: error, or drop: count them only "
            "in the tables that they are complete for."
        ),
    ] = "error",
    unseen: Annotated[
        Literal["error", "missing"],
        typer.Option(help="What to do with a value that MODEL does not know: error or missing."),
    ] = "error",
    text: TextFormat,
    printing: Printing,
) -> None:
    """Add the rows of DATA to the tables of MODEL, a Bayesian network; its graph stays as it is."""
    path = output or model
    check_output(path, model=True)
    loaded: Any = cp.load(model)
    rows = text.read_for(loaded, data)
    updated = rows.update(missing=missing, unseen=unseen)
    updated.save(path)
    before, after = (m.record.data.rows for m in (loaded, updated))
    if loaded.training_rows is not None:
        note("The updated model keeps no training rows; `query` shows no shares in the rows.")
    if loaded.record.learned:
        note("The graph and the intervals are those of the first rows; learn again to revise them.")
    if printing.as_json:
        emit(
            {"model": str(path), "rows_added": rows.n_counted, "rows_before": before, "rows": after}
        )
        return
    total = "" if after is None else f", {many(int(after), 'row')} in all"
    say(f"{many(rows.n_counted, 'row')} added{total}")
    say_saved(path)

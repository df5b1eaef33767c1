"""`counterpane report`: a model as a page to open, print, or send to someone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, notes, say_saved
from counterpane.cli.options import (
    ModelFile,
    PageData,
    PageFile,
    PageTarget,
    PageTitle,
    Printing,
    TextFormat,
    data_title,
)


def run_report(
    *,
    model: ModelFile,
    data: PageData = None,
    output: PageFile = None,
    target: PageTarget = None,
    title: PageTitle = None,
    folds: Annotated[
        int,
        typer.Option(
            help="If MODEL has no held-out measures: the parts of DATA that are held out in turn."
        ),
    ] = 5,
    text: TextFormat,
    printing: Printing,
) -> None:
    """Write a report of MODEL: one HTML file with its graph, tables, fit and history.

    With DATA the report shows how well such a model predicts held-out rows. The file works
    offline and needs no other file.
    """
    name = Path(model.name.removesuffix(".gz")).stem
    path = output or Path(f"{name}.html")
    check_output(path)
    loaded: Any = cp.load(model)
    rows = None if data is None else text.read_for(loaded, data).counted()
    cp.write_report(
        loaded,
        rows,
        path,
        title=title or data_title(data),
        target=target,
        folds=folds,
        progress=not notes.quiet,
    )
    if printing.as_json:
        emit({"model": str(model), "report": str(path), "bytes": path.stat().st_size})
        return
    say_saved(path, more="; open it in a browser.")

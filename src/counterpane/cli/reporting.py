"""`counterpane report`: a model as a page to open, print, or send to someone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

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
    check_place,
    console,
    emit,
    settle,
    tables,
    text_options,
)


@app.command()
def report(
    model: ModelFile,
    data: Annotated[str | None, typer.Option("--data", "-d", help=DATA_HELP)] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file; by default MODEL's name.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The class; by default the target of the model.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title; by default MODEL's name.")] = None,
    held_out: Annotated[
        float, typer.Option(help="The share of the rows of DATA that is held out for the test.")
    ] = 0.2,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a report of MODEL: one HTML file with its graph, tables, fit and history.

    With DATA the report shows how well such a model predicts held-out rows. The file works
    offline and needs no other file.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    name = Path(model.name.removesuffix(".gz")).stem
    path = output or Path(f"{name}.html")
    check_place(path)
    loaded, rows = cp.load(model), None
    if data is not None:
        text = text_options(encoding, delimiter, decimal, sheet)
        rows = tables().read_raw(data, text, loaded, progress=progress)
    cp.write_report(
        loaded,
        rows,
        path,
        title=title or name,
        target=target,
        held_out=held_out,
        progress=progress,
    )
    if as_json:
        emit({"model": str(model), "report": str(path), "bytes": path.stat().st_size})
        return
    console.print(
        f"Saved to [bold]{escape(str(path))}[/bold]; open it in a browser.", highlight=False
    )

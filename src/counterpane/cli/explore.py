"""`counterpane explore`: a page in which a click is evidence, written to a file and opened."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, say_saved
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


def run_explore(
    *,
    model: ModelFile,
    data: PageData = None,
    output: PageFile = None,
    target: PageTarget = None,
    title: PageTitle = None,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page, if this is a terminal.")
    ] = True,
    text: TextFormat,
    printing: Printing,
) -> None:
    """Write the explorer of MODEL and open it: click a state, and all bars show what follows.

    One HTML file that infers by itself: it works offline and needs no server and no other file, so
    that it can be sent to anyone. With DATA the edges have the strength that they have in DATA.
    """
    name = Path(model.name.removesuffix(".gz")).stem
    path = output or Path(f"{name}.explore.html")
    check_output(path)
    loaded: Any = cp.load(model)
    rows = None if data is None else text.read_for(loaded, data).counted()
    cp.explore_model(loaded, path, data=rows, title=title or data_title(data), target=target)
    if printing.as_json:
        emit({"model": str(model), "explorer": str(path), "bytes": path.stat().st_size})
        return
    opened = browser and sys.stdout.isatty() and webbrowser.open(path.absolute().as_uri())
    say_saved(path, more="" if opened else "; open it in a browser.")

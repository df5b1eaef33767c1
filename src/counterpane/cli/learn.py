"""`counterpane learn`: from a table to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterpane.cli.app import check_output, emit, interrupted, note, notes
from counterpane.cli.constraints import ConstraintOptions
from counterpane.cli.learned_output import show_learned
from counterpane.cli.options import (
    ClassColumn,
    ColumnOptions,
    Data,
    LinkColumns,
    MethodName,
    Printing,
    ScoreName,
    SearchOptions,
    Settings,
    TextFormat,
    data_title,
    n_threads,
)
from counterpane.errors import FitError
from counterpane.lazy import lazy

inputs = lazy("counterpane.workflow.inputs")
method_settings = lazy("counterpane.cli.settings")
workflow = lazy("counterpane.workflow.learn")


def run_learn(
    *,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file; by default DATA's name with .cp."),
    ] = None,
    target: ClassColumn = None,
    method: MethodName = "auto",
    score: ScoreName = None,
    settings: Settings = None,
    columns: ColumnOptions,
    edges: ConstraintOptions,
    text: TextFormat,
    search: SearchOptions,
    links: LinkColumns,
    keep_rows: Annotated[
        bool,
        typer.Option(
            "--keep-rows/--no-keep-rows",
            help="Whether MODEL's file keeps training rows, at most a sample of 4 MB, for `query`, "
            "`effect` and `explain`.",
        ),
    ] = True,
    printing: Printing,
) -> None:
    """Learn a model from DATA, print it, and save it. With --target, learn a classifier.

    Identifiers, constants and text columns with too many values are left out; texts that are dates
    or numbers are converted; numbers and dates are cut into intervals. Notes say what was done.
    Ctrl-C stops the search and keeps the best model so far. With --user and --item, DATA is a list
    of links, and `counterpane rank` predicts the next ones. The methods exact-posterior and
    order-mcmc print the probabilities of edges, and save the best network.
    """
    path = output or Path(f"{data_title(data)}.cp")
    check_output(path, model=True)
    request = workflow.Request(
        data,
        target,
        method,
        score,
        lambda name: method_settings.settings_of(name, settings),
        inputs.ColumnChoices(**columns.to_dict()),
        edges.read(),
        text.to_dict(),
        search.bootstrap,
        search.time_limit,
        search.checkpoint,
        search.seed,
        n_threads(search.jobs),
        search.device,
        links.user,
        links.item,
        keep_rows,
        not notes.quiet,
    )
    learned = workflow.run_request(request, note)
    interrupted.extend(["the search"] if learned.interrupted and not interrupted else [])
    if learned.stopped and path.exists() and not learned.has_parts:
        _refuse_empty(path)
    learned.save(path)
    if printing.as_json:
        emit({"model": str(path), **learned.to_dict()})
    else:
        show_learned(learned, path)
    if interrupted:
        raise typer.Exit(130)


def _refuse_empty(path: Path) -> None:
    """Keep a file that a stopped search, which found nothing, would replace."""
    words = (
        f"the search was stopped before it found anything; {str(path)!r} stays as it was: "
        "give it more time, or name another file."
    )
    if not interrupted:
        raise FitError(words)
    note(words)
    raise typer.Exit(130)

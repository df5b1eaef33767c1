"""`counterpane compare`: several learners on one table, judged on rows they have not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import counterpane as cp
from counterpane.cli.app import (
    check_output,
    emit,
    interrupted,
    notes,
    say_saved,
    show_note,
    show_table,
)
from counterpane.cli.options import (
    ClassColumn,
    ColumnOptions,
    Data,
    Jobs,
    LinkColumns,
    MethodNames,
    Printing,
    ScoreName,
    Settings,
    SplitOptions,
    TextFormat,
    TimeLimit,
    n_threads,
)
from counterpane.disk import write_atomically
from counterpane.errors import DataError, ParameterError
from counterpane.lazy import lazy
from counterpane.learners.registry import find_learner

method_settings = lazy("counterpane.cli.settings")

MEASURES_OF_CLASSES = ("log_loss", "auc", "accuracy", "edges", "seconds")


def run_compare(
    *,
    data: Data,
    method: MethodNames = None,
    target: ClassColumn = None,
    split: SplitOptions,
    score: ScoreName = None,
    settings: Settings = None,
    columns: ColumnOptions,
    text: TextFormat,
    baselines: Annotated[
        bool | None,
        typer.Option(
            help="Also fit classifiers of scikit-learn; by default with --target, up to 50,000 "
            "rows."
        ),
    ] = None,
    links: LinkColumns,
    seed: Annotated[int, typer.Option(help="The random seed of the folds.")] = 0,
    time_limit: TimeLimit = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this Markdown file.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write a plot of the measures to this file, such as compare.png."),
    ] = None,
    jobs: Jobs = None,
    printing: Printing,
) -> None:
    """Compare learners on DATA: how well each predicts held-out rows, and how far they agree."""
    check_output(markdown)
    check_output(plot, picture=True)
    if links:
        if settings:
            raise ParameterError("--set has no use for lists of links; leave it out.")
        _compare_links(data, method, links, seed, as_json=printing.as_json)
        return
    comparison = cp.compare_methods(
        data,
        target,
        method,
        criterion=score,
        parameters=lambda names: method_settings.read_settings(settings, map(find_learner, names)),
        folds=split.folds,
        holdout=split.holdout,
        baselines=baselines,
        random_state=seed,
        time_limit=time_limit,
        n_jobs=n_threads(jobs),
        progress=not notes.quiet,
        **columns.to_dict(),
        **text.to_dict(),
    )
    if markdown is not None:
        write_atomically(markdown, [comparison.to_markdown().encode(errors="replace")])
    if plot is not None:
        comparison.plot(plot)
    if printing.as_json:
        emit(comparison.to_dict())
    else:
        for words in () if notes.quiet else comparison.notes:
            show_note(words)
        classes = "log_loss" in comparison.measures
        show_table(comparison.table(measures=MEASURES_OF_CLASSES if classes else None))
        if comparison.edges:
            show_table(comparison.edge_table())
        say_saved(markdown, plot)
    if interrupted:
        raise typer.Exit(130)


def _compare_links(
    data: str, method: list[str] | None, links: LinkColumns, seed: int, *, as_json: bool
) -> None:
    """Compare rankers by links left out: those named, or the usual ones."""
    records = cp.evaluate.compare_rankers(
        data,
        **({"learners": method} if method else {}),
        user=links.user,
        item=links.item,
        random_state=seed,
    )
    if as_json:
        emit({"rankers": records})
        return
    if not records:
        raise DataError("no user has two links, so none can be left out; add links.")
    show_table(records.table())

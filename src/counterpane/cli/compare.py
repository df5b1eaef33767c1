"""`counterpane compare`: several learners on one table, judged on rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, interrupted, notes, say_saved, show_table
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
    TextFormat,
    TimeLimit,
    n_threads,
)
from counterpane.cli.pictures import candidates_table, show_preparation
from counterpane.disk import write_atomically
from counterpane.errors import DataError, ParameterError
from counterpane.lazy import lazy
from counterpane.learners.registry import find_learner
from counterpane.workflow.choose import CLASSIFIERS, check_method, make_learner

gap_policy = lazy("counterpane.learners.gap_policy")
method_settings = lazy("counterpane.cli.settings")
inputs = lazy("counterpane.workflow.inputs")

USUAL = ("chow-liu", "structure-search", "hill-climb", "ges", "dn-tree", "hybrid")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
SAME_CELLS = "all methods must be measured on the same cells"
MAX_BASELINE_ROWS = 50_000
MEASURES_OF_CLASSES = ("log_loss", "auc", "accuracy", "edges", "seconds")


@dataclass(frozen=True)
class SplitOptions:
    """How rows are held out."""

    folds: Annotated[int, typer.Option(help="The number of cross-validation folds.")] = 5
    holdout: Annotated[
        float | None,
        typer.Option(help="Instead of folds: the share of rows held out for the test."),
    ] = None


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
    _check_files(markdown, plot)
    if links:
        if settings:
            raise ParameterError("--set has no use for lists of links; leave it out.")
        _compare_links(data, method, links, seed, as_json=printing.as_json)
        return
    options = {"missing": columns.missing, "n_jobs": n_threads(jobs), "time_limit": time_limit}
    learners = _learners(method, score, target, options, settings)
    rows, table = _read(data, target, columns, text)
    if baselines is None:
        baselines = target is not None and table.n_rows <= MAX_BASELINE_ROWS
    comparison = cp.evaluate.compare(
        learners,
        rows.raw() if columns.bins is None else table,
        target,
        folds=split.folds,
        holdout=split.holdout,
        discretize=_cuts(columns),
        baselines=baselines,
        random_state=seed,
        progress=not notes.quiet,
    )
    if markdown is not None:
        write_atomically(markdown, [comparison.to_markdown().encode(errors="replace")])
    if plot is not None:
        comparison.plot(plot)
    if printing.as_json:
        emit(comparison.to_dict() | rows.to_record())
    else:
        gaps = gap_policy.explicit_policy("state", table.schema.names, table.has_missing, None)
        show_preparation(table.schema, gaps._replace(why=SAME_CELLS).sentence, rows)
        _show(comparison)
        say_saved(markdown, plot)
    if interrupted:
        raise typer.Exit(130)


def _check_files(markdown: Path | None, plot: Path | None) -> None:
    check_output(markdown)
    check_output(plot)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"--plot {str(plot)!r} is no picture; {', '.join(PICTURES)} are known."
        )


def _learners(
    methods: list[str] | None,
    score: str | None,
    target: str | None,
    options: dict[str, Any],
    settings: list[str] | None,
) -> dict[str, Any]:
    """The learners by their names on the command line: those named, or the usual ones."""
    usual = [*(CLASSIFIERS if target is not None else ()), *USUAL]
    for name in methods or ():
        check_method(name, target, auto=False)
    names = list(dict.fromkeys(methods or usual))
    parameters = method_settings.read_settings(settings, map(find_learner, names))
    return {name: make_learner(name, score, options | parameters[name]) for name in names}


def _cuts(columns: ColumnOptions) -> str | None:
    """How numbers are cut for learners that do not cut them by the class."""
    how = "quantile" if columns.discretize == "auto" else columns.discretize
    if columns.bins is not None and how != "quantile":
        raise ParameterError(f"--bins and --discretize {how} exclude each other; leave one out.")
    return None if how == "none" else how


def _read(
    data: str, target: str | None, columns: ColumnOptions, text: TextFormat
) -> tuple[Any, Any]:
    """The rows of DATA, and the same as a table of states."""
    classes = target is not None
    rows = inputs.read_input(
        data,
        target,
        columns.choices(),
        text.to_dict(),
        classes=classes,
        in_memory=True,
        progress=not notes.quiet,
    )
    if target is not None and rows.source is not None:
        rows.source.schema.index(target)
    return rows, rows.to_table(target, _cuts(columns) or "none", columns.bins)


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
    show_table(candidates_table(records))


def _show(comparison: Any) -> None:
    """Print a table of the learners, the best first, and the edges with who missed them."""
    classes = "log_loss" in comparison.measures
    table = comparison.table(measures=MEASURES_OF_CLASSES if classes else None)
    show_table(table)
    if comparison.edges:
        show_table(comparison.edge_table())

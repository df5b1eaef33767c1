"""`counterpane compare`: several learners on one table, judged on rows they have not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import (
    Bins,
    Categorical,
    Data,
    Decimal,
    Delimiter,
    Discretize,
    Drop,
    Encoding,
    Jobs,
    Json,
    Methods,
    Missing,
    Quiet,
    ScoreName,
    Sheet,
    Target,
    TimeLimit,
    Use,
    app,
    check_place,
    console,
    emit,
    interrupted,
    notes,
    rankers,
    settle,
    tables,
    text_options,
    threads,
)
from counterpane.cli.choosing import ALL_METHODS, CLASSIFIERS, FIELDS, METHODS
from counterpane.cli.pictures import what_was_done
from counterpane.errors import DataError, ParameterError, unknown_name
from counterpane.lazy import lazy

gap_policy = lazy("counterpane.learn.gap_policy")

USUAL = ("chow-liu", "structure-search", "hill-climb", "ges", "dn-tree", "hybrid")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
TOP = 10  # edges on a terminal
SAME_CELLS = "all methods must be measured on the same cells"
MAX_BASELINE_ROWS = 50_000
DENSITY = ("PLL", "log-lik.")  # not shown beside measures of the target


@app.command()
def compare(
    data: Data,
    method: Methods = None,
    target: Target = None,
    folds: Annotated[int, typer.Option(help="The number of cross-validation folds.")] = 5,
    holdout: Annotated[
        float | None,
        typer.Option(help="Instead of folds: the share of rows held out for the test."),
    ] = None,
    score: ScoreName = "bic",
    discretize: Discretize = "auto",
    missing: Missing = "auto",
    bins: Bins = None,
    use: Use = None,
    drop: Drop = None,
    categorical: Categorical = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    baselines: Annotated[
        bool | None,
        typer.Option(
            help="Also fit classifiers of scikit-learn; by default with --target, up to 50,000 "
            "rows."
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="The column of users, if DATA is a list of links.")
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="The column of items, if DATA is a list of links.")
    ] = None,
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare learners on DATA: how well each predicts held-out rows, and how far they agree."""
    progress = settle(as_json=as_json, quiet=quiet)
    check_place(markdown)
    check_place(plot)
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"--plot {str(plot)!r} is no picture; {', '.join(PICTURES)} are known."
        )
    if user is not None or item is not None:
        _compare_links(data, method, user, item, seed, as_json=as_json)
        return
    options = {"missing": missing, "n_jobs": threads(jobs), "time_limit": time_limit}
    usual = [*(CLASSIFIERS if target is not None else ()), *USUAL]
    learners = {name: _learner(name, score, target, options) for name in method or usual}
    rows = tables().read_rows(
        data,
        target,
        tables().ColumnOptions(use or (), drop or (), categorical or (), bins),
        classes=target is not None,
        progress=progress,
        text=text_options(encoding, delimiter, decimal, sheet),
        in_memory=True,
    )
    if target is not None and rows.source is not None:
        rows.source.schema.index(target)
    how = "quantile" if discretize == "auto" else discretize
    if bins is not None and how != "quantile":
        raise ParameterError(f"--bins and --discretize {how} exclude each other; leave one out.")
    table = rows.table(target, how, bins)
    if baselines is None:
        baselines = target is not None and table.n_rows <= MAX_BASELINE_ROWS
    found = cp.evaluate.compare(
        learners,
        rows.raw() if bins is None else table,
        target,
        folds=folds,
        holdout=holdout,
        discretize=None if how == "none" else how,
        baselines=baselines,
        random_state=seed,
        progress=progress,
    )
    if markdown is not None:
        markdown.write_text(found.to_markdown(), encoding="utf-8")
    if plot is not None:
        found.plot(plot)
    if as_json:
        emit(found.to_dict() | rows.remembered())
    else:
        gaps = table.schema.names, table.has_missing
        note = gap_policy.explicit_policy("state", *gaps, None)._replace(why=SAME_CELLS).sentence
        if not notes.quiet:
            console.print(what_was_done(table.schema, note, rows), end="", soft_wrap=True)
        _show(found)
    for path in filter(None, () if as_json else (markdown, plot)):
        console.print(f"Saved to [bold]{escape(str(path))}[/bold]")
    if interrupted:
        raise typer.Exit(130)


def _compare_links(
    data: str,
    method: list[str] | None,
    user: str | None,
    item: str | None,
    seed: int,
    *,
    as_json: bool,
) -> None:
    """Compare rankers by links left out: those named, or the usual ones."""
    names = {"learners": method} if method else {}
    records = cp.evaluate.compare_rankers(data, **names, user=user, item=item, random_state=seed)
    if as_json:
        emit({"rankers": records})
        return
    if not records:
        raise DataError("no user has two links, so none can be left out; add links.")
    console.print(rankers().candidates_picture(records))


def _learner(name: str, score: str, target: str | None, options: dict[str, Any]) -> Any:
    """A learner by its name on the command line."""
    if name in CLASSIFIERS and target is None:
        raise ParameterError(f"--method {name} needs --target, the column of classes.")
    if name in CLASSIFIERS:
        return getattr(cp, CLASSIFIERS[name])(**options)
    if name in METHODS:
        return getattr(cp, METHODS[name])(score, **options)
    if name in FIELDS:
        kind, fixed = FIELDS[name]
        return getattr(cp, kind)(**fixed, **options)
    raise unknown_name("method", name, ALL_METHODS[1:])


def _show(found: Any) -> None:
    """Print a line a learner, the best first, then the edges and who missed them."""
    titles, lines = found.table
    if "log-loss" in titles:
        shown = [k for k, title in enumerate(titles) if title not in DENSITY]
        titles, *lines = ([line[k] for k in shown] for line in (titles, *lines))
    first = next(r["method"] for r in found.records if r["edges"] is not None)
    names = [r["method"] for r in found.records if r["edges"] is not None]
    grid = Grid(box=None, padding=(0, 1, 0, 0))
    for title in (*titles, "agreement"):
        grid.add_column(title, justify="left" if title == "method" else "right", no_wrap=True)
    for line in lines:
        same = found.agreement[first][line[0]]
        grid.add_row(*line, "–" if same is None else f"{same:.0%}")
    # Lines of a narrow terminal may break; a number that is cut off says nothing.
    grid.width = console.measure(grid, options=console.options.update(width=10**4)).maximum
    console.print(grid, crop=False)
    for record in found.records:
        if record["failed"]:
            console.print(f"[dim]{record['method']} failed: {escape(record['failed'])}[/dim]")
    if "log-loss" in titles:
        words = f"behind: log-loss minus that of {lines[0][0]}; ± is one standard error"
        console.print(f"[dim]{words}, over the rows[/dim]")
    console.print(f"[dim]agreement: edges shared with {first} / edges of either[/dim]")
    edges = Grid(box=None)
    for title in ("edge", "in all fits", "found less often by"):
        edges.add_column(title, justify="right" if "fits" in title else "left")
    for edge in found.edges[:TOP]:
        pair = f"[bold]{escape(edge['a'])}[/bold] – [bold]{escape(edge['b'])}[/bold]"
        less = [f"{n} ({edge['by'][n]:.0%})" for n in names if edge["by"][n] < 0.999]
        told = ", ".join(less[:4]) + (f", {len(less) - 4} more" if len(less) > 4 else "")
        edges.add_row(pair, f"{edge['share']:.0%}", f"[dim]{told}[/dim]")
    if len(found.edges) > TOP:
        edges.add_row(f"[dim]… {len(found.edges) - TOP:,} more[/dim]")
    if found.edges:
        console.print(edges)

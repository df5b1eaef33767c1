"""`counterpane compare`: several learners on one table, judged on rows they have not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import (
    Data,
    Delimiter,
    Discretize,
    Encoding,
    Jobs,
    Json,
    Methods,
    Missing,
    Quiet,
    ScoreName,
    Target,
    TimeLimit,
    Use,
    app,
    check_place,
    console,
    emit,
    interrupted,
    rankers,
    settle,
    tables,
    threads,
)
from counterpane.cli.choosing import ALL_METHODS, CLASSIFIERS, FIELDS, METHODS
from counterpane.cli.pictures import what_was_done
from counterpane.errors import DataError, ParameterError, unknown_name

USUAL = ("chow-liu", "structure-search", "hill-climb", "ges", "dn-tree", "hybrid")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
TOP = 10  # edges on a terminal
MAX_BASELINE_ROWS = 50_000
DENSITY = ("PLL", "log-lik.")  # not shown beside measures of the target


@app.command()
def compare(
    data: Data,
    method: Methods = None,
    target: Target = None,
    folds: Annotated[int, typer.Option(help="Parts of the rows, each judged once.")] = 5,
    holdout: Annotated[
        float | None, typer.Option(help="Instead of folds: the share of rows that is judged.")
    ] = None,
    score: ScoreName = "bic",
    discretize: Discretize = "auto",
    missing: Missing = "state",
    use: Use = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    baselines: Annotated[
        bool | None,
        typer.Option(
            help="Classifiers of scikit-learn beside ours; auto up to 50,000 rows, with --target."
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="DATA is a list of links: its column of users.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="The column of items; see --user.")] = None,
    seed: Annotated[int, typer.Option(help="A number that draws the folds.")] = 0,
    time_limit: TimeLimit = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this Markdown file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the measures to this file, such as compare.png.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several learners on DATA: what each tells of unseen rows, and how far they agree."""
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
        use or [],
        classes=target is not None,
        progress=progress,
        text={"encoding": encoding, "delimiter": delimiter},
        in_memory=True,
    )
    if target is not None and rows.source is not None:
        rows.source.schema.index(target)
    how = "quantile" if discretize == "auto" else discretize
    table = rows.table(target, how)
    if baselines is None:
        baselines = target is not None and table.n_rows <= MAX_BASELINE_ROWS
    found = cp.evaluate.compare(
        learners,
        rows.raw(),
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
        console.print(what_was_done(table.schema, table.has_missing, missing, rows), end="")
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

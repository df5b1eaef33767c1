"""`counterpane`: from a table to a model, and from a model to an answer.

Commands touch the library through `counterpane`'s lazy names, so that `--help` stays quick.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import counterpane as cp
from counterpane.cli.pictures import comparison, edge_list, forest_picture, probability_bars
from counterpane.errors import CounterpaneError, ParameterError, unknown_name

app = typer.Typer(
    help="Learn discrete graphical models from any table, then ask them questions.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
notes = Console(stderr=True, highlight=False)

METHODS = {
    "chow-liu": "ChowLiu",
    "structure-search": "StructureSearch",
    "hill-climb": "HillClimb",
    "ges": "GES",
    "k2": "K2Search",
}
MODEL_HELP = "A model file: .cp, .bif, .xmlbif, .uai, .net or .xdsl, also with .gz."
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]


def _version(asked: bool) -> None:
    if asked:
        console.print(f"counterpane {cp.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """Options of every command; `main` looks for --debug itself."""


@app.command()
def learn(
    data: Annotated[str, typer.Argument(help="A CSV, parquet or ARFF file, or an embedded set.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file; else DATA's name with .cp.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column of interest: root of the tree, class for cuts.")
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of: {', '.join(METHODS)}.")] = "chow-liu",
    score: Annotated[str, typer.Option(help="loglik, aic, bic, k2 or bdeu.")] = "bic",
    discretize: Annotated[
        str, typer.Option(help="Numeric columns: mdl (needs a target), quantile, none, or auto.")
    ] = "auto",
    missing: Annotated[
        str, typer.Option(help="Missing cells: state, drop, error or em.")
    ] = "state",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; keeps the best so far.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.")] = 1,
    as_json: Json = False,
) -> None:
    """Learn a model from DATA, show it, and save it."""
    table = _read(data, target, discretize)
    options = {"missing": missing, "time_limit": time_limit, "n_jobs": jobs}
    learner, seconds = _fitted(method, score, target, table, {**options, "progress": not as_json})
    path = output or Path(Path(data).name.split(".")[0] + ".cp")
    learner.model_.save(path)
    if as_json:
        facts = _facts(method, score, learner, seconds)
        print(json.dumps({"model": str(path), "rows": table.n_rows,
                          "columns": table.n_columns, **facts}))  # fmt: skip
        return
    _say_what_was_done(table, missing)
    picture = forest_picture if method == "chow-liu" else edge_list
    console.print(picture(learner.model_, learner.gains_, table.total_weight, target))
    console.print(
        f"{table.n_rows:,} rows × {table.n_columns} columns → {len(learner.gains_)} edges, "
        f"{learner.model_.n_parameters} parameters, {score} {learner.score_:,.3f}, {seconds:.2f} s"
    )
    first = target or table.schema.names[0]
    console.print(f"Saved to [bold]{path}[/bold]; next: counterpane query {path} {first!r}")


@app.command()
def compare(
    data: Annotated[str, typer.Argument(help="A CSV, parquet or ARFF file, or an embedded set.")],
    method: Annotated[
        list[str] | None, typer.Option(help=f"Repeat for each of: {', '.join(METHODS)}; else all.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of interest.")] = None,
    score: Annotated[str, typer.Option(help="loglik, aic, bic, k2 or bdeu.")] = "bic",
    discretize: Annotated[
        str, typer.Option(help="Numeric columns: mdl (needs a target), quantile, none, or auto.")
    ] = "auto",
    missing: Annotated[
        str, typer.Option(help="Missing cells: state, drop, error or em.")
    ] = "state",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.")] = 1,
    as_json: Json = False,
) -> None:
    """Run several learners on DATA, and show how their networks differ."""
    table = _read(data, target, discretize)
    options = {"missing": missing, "n_jobs": jobs, "progress": not as_json}
    asked = [m for m in method or METHODS if m != "ges" or method or score != "k2"]
    found = {m: _fitted(m, score, target, table, options) for m in asked}
    best = max(found, key=lambda m: found[m][0].score_)
    rows = [
        {
            **_facts(m, score, learner, seconds),
            "distance_to_best": cp.structural_hamming_distance(
                learner.model_, found[best][0].model_
            ),
        }
        for m, (learner, seconds) in found.items()
    ]
    if as_json:
        print(json.dumps({"rows": table.n_rows, "best": best, "learners": rows}))
        return
    _say_what_was_done(table, missing)
    console.print(comparison(rows, score))


@app.command()
def convert(
    model: Annotated[Path, typer.Argument(help=MODEL_HELP)],
    output: Annotated[Path, typer.Argument(help="The file to write; its suffix says the format.")],
    plain_names: Annotated[
        bool, typer.Option(help="Spell names so that every tool reads them.")
    ] = False,
) -> None:
    """Write MODEL in another format."""
    cp.load(model).save(output, plain_names=plain_names)
    console.print(f"Saved to [bold]{output}[/bold]")


@app.command()
def query(
    model: Annotated[Path, typer.Argument(help=MODEL_HELP)],
    variables: Annotated[list[str], typer.Argument(help="What to ask about: one or more columns.")],
    given: Annotated[
        list[str] | None, typer.Option("--given", "-g", help="Evidence as column=state; repeat.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print P(VARIABLES | evidence), exactly."""
    evidence = dict(_split_evidence(item) for item in given or [])
    answer = cp.load(model).query(variables, evidence)
    if as_json:
        cells = [{"states": list(states), "probability": p} for states, p in answer.rows()]
        print(json.dumps({"variables": list(answer.names), "given": evidence, "cells": cells}))
        return
    console.print(probability_bars(answer, evidence))


def _fitted(
    method: str, score: str, target: str | None, table: Any, options: dict[str, Any]
) -> tuple[Any, float]:
    """A learner fitted to a table, and the seconds it took; wrong names are said first."""
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if target is not None:
        table.schema.index(target)
    rooted = {"root": target} if method == "chow-liu" else {}
    began = time.monotonic()
    learner = getattr(cp, METHODS[method])(score, **rooted, **options).fit(table)
    return learner, time.monotonic() - began


def _facts(method: str, score: str, learner: Any, seconds: float) -> dict[str, Any]:
    """What is known of a fitted learner, for JSON."""
    return {
        "method": method,
        "edges": [{"parent": p, "child": c, "gain": g} for p, c, g in learner.gains_],
        "score": {"name": score, "value": learner.score_},
        "parameters": learner.model_.n_parameters,
        "seconds": round(seconds, 3),
    }


def _say_what_was_done(table: Any, missing: str) -> None:
    """Which columns were cut, and which have missing cells."""
    cut = [v.name for v in table.schema if v.cuts is not None]
    if cut:
        console.print(f"[dim]Cut into intervals: {escape(', '.join(cut))}.[/dim]")
    holes = [n for n, m in zip(table.schema.names, table.has_missing, strict=True) if m]
    if holes:
        console.print(f"[dim]Missing cells ({missing}): {escape(', '.join(holes))}.[/dim]")


def _split_evidence(item: str) -> tuple[str, str]:
    name, sign, state = item.partition("=")
    if not sign or not name:
        raise ParameterError(f"--given {item!r} is not of the form column=state.")
    return name.strip(), state.strip()


def _read(data: str, target: str | None, discretize: str) -> Any:
    """The table of a file, or of an embedded set if no such file exists."""
    if discretize not in ("auto", "mdl", "quantile", "none"):
        raise unknown_name("--discretize", discretize, ("auto", "mdl", "quantile", "none"))
    if not Path(data).exists() and not Path(data).suffix:
        return cp.load_dataset(data)  # an unknown name is answered with the nearest ones
    if discretize == "auto":
        discretize = "quantile" if target is None else "mdl"
    return cp.read(data, target=target, discretize=None if discretize == "none" else discretize)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    notes.print(f"[yellow]Note:[/yellow] {message}")


def main() -> None:
    """Run the command line: our errors become one sentence, and exit code 2."""
    warnings.showwarning = _show_warning
    try:
        app()
    except CounterpaneError as error:
        if "--debug" in sys.argv:
            raise
        notes.print(f"[red]Error:[/red] {error}", soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        notes.print("Stopped; nothing was written.")
        sys.exit(130)

"""`counterpane`: from a table to a model, and from a model to an answer.

Commands touch the library through `counterpane`'s lazy names, so that `--help` stays quick.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import counterpane as cp
from counterpane.cli.pictures import (
    comparison,
    edge_list,
    forest_picture,
    probability_bars,
    what_was_done,
)
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
CLASSIFIERS = {
    "interaction": "InteractionClassifier",
    "markov": "MarkovClassifier",
    "bnc": "BayesNetClassifier",
    "tan": "TAN",
    "naive-bayes": "NaiveBayes",
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
    method: Annotated[
        str | None,
        typer.Option(
            help=f"For a target: {', '.join(CLASSIFIERS)} (the first unless told). "
            f"Else: {', '.join(METHODS)}."
        ),
    ] = None,
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
    """Learn a model from DATA, show it, and save it; for a target, a classifier."""
    path = output or Path(Path(data).name.split(".")[0] + ".cp")
    method = method or ("chow-liu" if target is None else "interaction")
    options = {
        "missing": missing,
        "n_jobs": jobs,
        "time_limit": time_limit,
        "progress": not as_json,
    }
    if method in CLASSIFIERS:
        if target is None:
            raise ParameterError(f"--method {method} needs --target, the column of classes.")
        inside = discretize in ("auto", "mdl")  # by the classifier itself
        source = _classify().read_raw(data) if inside else _read(data, target, discretize)
        learner = getattr(cp, CLASSIFIERS[method])(**options)
        facts = _classify().learn_and_save(
            learner, source, target, path, None if as_json else console
        )
        if as_json:
            print(json.dumps({**facts, "method": method}))
        return
    table = _read(data, target, discretize)
    learner, seconds = _fitted(method, score, target, table, options)
    learner.model_.save(path)
    if as_json:
        facts = _facts(method, score, learner, seconds)
        print(json.dumps({"model": str(path), "rows": table.n_rows,
                          "columns": table.n_columns, **facts}))  # fmt: skip
        return
    console.print(what_was_done(table.schema, table.has_missing, missing), end="")
    picture = forest_picture if method == "chow-liu" else edge_list
    console.print(picture(learner.model_, learner.gains_, table.total_weight, target))
    console.print(
        f"{table.n_rows:,} rows × {table.n_columns} columns → {len(learner.gains_)} edges, "
        f"{learner.model_.n_parameters} parameters, {score} {learner.score_:,.3f}, {seconds:.2f} s"
    )
    first = target or table.schema.names[0]
    console.print(f"Saved to [bold]{path}[/bold]; next: counterpane query {path} {first!r}")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help=MODEL_HELP)],
    data: Annotated[str, typer.Argument(help="A CSV, parquet or ARFF file, or an embedded set.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A CSV file to write, also with .gz.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="What to predict; else what the model was learned for.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write DATA's columns as well.")] = False,
    as_json: Json = False,
) -> None:
    """Predict the class of each row of DATA: its probabilities, and the most probable one.

    Rows go to OUTPUT, or as CSV to a pipe; a terminal shows the first of them.
    """
    loaded = cp.load(model)
    if target is not None:
        loaded.schema.index(target)
    found = _classify().predictions(loaded, data, target)
    if output is not None:
        found.save(output, keep=keep)
    if as_json:
        print(json.dumps({"model": str(model), "rows": len(found.probabilities),
                          "target": found.target.name, "predicted": found.counts(),
                          **found.losses(), "output": output and str(output)}))  # fmt: skip
        return
    if output is None and not console.is_terminal:
        for chunk in found.to_csv(keep=keep):
            sys.stdout.write(chunk.decode())
        return
    if output is None:
        console.print(found.picture())
    shares = ", ".join(f"{n:,} {escape(str(c))}" for c, n in found.counts().items())
    losses = "".join(f", {k.replace('_', ' ')} {v:.4f}" for k, v in found.losses().items())
    console.print(f"{len(found.probabilities):,} rows: {shares}{losses}", highlight=False)
    if output is not None:
        console.print(f"Saved to [bold]{output}[/bold]")


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
    console.print(what_was_done(table.schema, table.has_missing, missing), end="")
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
    loaded = cp.load(model)
    answer = loaded.query(variables, evidence)
    left = [n for n in loaded.schema.names if n not in evidence and n not in answer.names]
    if loaded.kind == "additive" and left:
        notes.print(f"[dim]Taken as unknown, not summed out: {escape(', '.join(left))}.[/dim]")
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
        raise unknown_name("method", method, [*METHODS, *CLASSIFIERS])
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


def _classify() -> Any:
    """The module of classifiers, imported when it is needed: it would double the time of --help."""
    return import_module("counterpane.cli.classify")


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

"""`counterpane query`, `predict`, `rank`, `score` and `sample`: from a model to answers."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import (
    CsvFile,
    Data,
    Delimiter,
    Encoding,
    Given,
    Json,
    ModelFile,
    Quiet,
    Seed,
    app,
    check_place,
    classify,
    complete_column,
    console,
    emit,
    many,
    notes,
    settle,
    tables,
)
from counterpane.cli.evidence import evidence_for, evidence_of
from counterpane.cli.pictures import probability_bars, ranking
from counterpane.errors import ParameterError, unknown_name

METRICS = ("pll", "normalized-pll", "loglik", "cmll")


def _check_whole(model: Any, what: str) -> None:
    """Refuse a model that knows its class alone."""
    if model.kind == "link_scores":
        raise ParameterError(
            f"the model ranks items without probabilities, and {what} whole rows; learn another "
            "with --method hybrid."
        )
    if model.kind == "additive":
        raise ParameterError(
            f"the model knows only P({model.target.name} | other columns), and {what} whole rows; "
            "learn another without --target, or with --method tan."
        )


@app.command()
def query(
    model: ModelFile,
    variables: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMNS",
            help="What to ask about: one or more columns.",
            autocompletion=complete_column,
        ),
    ],
    given: Given = None,
    method: Annotated[
        str, typer.Option(help="exact, gibbs, mean_field, bp, or auto: exact where that fits.")
    ] = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print P(COLUMNS | evidence)."""
    settle(as_json=as_json, quiet=quiet)
    evidence = evidence_of(given)
    loaded = cp.load(model)
    evidence = evidence_for(loaded, evidence)
    answer = loaded.query(variables, evidence, method=method)
    left = [n for n in loaded.schema.names if n not in evidence and n not in answer.names]
    if loaded.kind == "additive" and left:
        words = escape(f"Taken as unknown, not summed out: {', '.join(left)}.")
        notes.print(f"[dim]{words}[/dim]", soft_wrap=True)
    if as_json:
        cells = [{"states": list(states), "probability": p} for states, p in answer.rows()]
        emit({"variables": list(answer.names), "given": evidence, "cells": cells})
        return
    console.print(probability_bars(answer, evidence))


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    output: CsvFile = None,
    target: Annotated[
        str | None, typer.Option(help="What to predict; else what the model was learned for.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write DATA's columns as well.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the class of each row of DATA: its probabilities, and the most probable one.

    Rows go to OUTPUT, or as CSV to a pipe; a terminal shows the first of them. Columns that MODEL
    does not know are passed over; what DATA lacks of the others is taken as unknown, and said.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    check_place(output)
    loaded = cp.load(model)
    if target is not None:
        loaded.schema.index(target)
    text = {"encoding": encoding, "delimiter": delimiter}
    found = classify().predictions(loaded, data, target, progress=progress, text=text)
    for line in found.notes:
        notes.print(f"[dim]{escape(line)}[/dim]", soft_wrap=True)
    if output is not None:
        found.save(output, keep=keep)
    if as_json:
        emit({"model": str(model), "rows": len(found.probabilities),
                          "target": found.target.name, "predicted": found.counts(),
                          **found.losses(), "notes": found.notes,
                          "output": output and str(output)})  # fmt: skip
        return
    if output is None and not console.is_terminal:
        for chunk in found.to_csv(keep=keep):
            sys.stdout.write(chunk.decode())
        return
    if output is None:
        console.print(found.picture())
    shares = ", ".join(f"{n:,} {escape(str(c))}" for c, n in found.counts().items())
    losses = "".join(f", {k.replace('_', ' ')} {v:.4f}" for k, v in found.losses().items())
    size = many(len(found.probabilities), "row")
    console.print(f"{size}: {shares}{losses}", highlight=False, soft_wrap=True)
    if output is not None:
        console.print(f"Saved to [bold]{escape(str(output))}[/bold]", soft_wrap=True)


@app.command()
def rank(
    model: ModelFile,
    chosen: Annotated[
        list[str] | None,
        typer.Option("--chosen", "-c", help="What the user has: names, with commas, or repeated."),
    ] = None,
    top: Annotated[int, typer.Option(help="How many items to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Rank the items of MODEL by how likely a user who has chosen these will choose them."""
    ranker = cp.LinkRanker.from_model(cp.load(model))
    known = set(ranker.items_)
    names = [n for part in chosen or [] for n in ([part] if part in known else part.split(","))]
    names = [n if n in known else n.strip() for n in names if n.strip()]
    found = ranker.rank(names, top=top)
    if as_json:
        emit({"chosen": names, "items": [r._asdict() for r in found]})
        return
    console.print(ranking(found, names, probabilities=ranker.model_ is not None))


@app.command()
def score(
    model: ModelFile,
    data: Data,
    metric: Annotated[str, typer.Option(help=f"One of: {', '.join(METRICS)}.")] = "pll",
    seed: Annotated[int, typer.Option(help="For cmll: a number that draws its groups.")] = 0,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print how probable MODEL finds the rows of DATA: nats a row, with its standard error."""
    if metric not in METRICS:
        raise unknown_name("--metric", metric, METRICS)
    progress = settle(as_json=as_json, quiet=quiet)
    loaded = cp.load(model)
    _check_whole(loaded, "`score` measures")
    text = {"encoding": encoding, "delimiter": delimiter}
    table = tables().rows_for(loaded, data, text, progress=progress)
    mean, error = classify().measured(metric, loaded, table, seed, progress=progress)
    if as_json:
        emit({"model": str(model), "rows": table.n_rows, "metric": metric,
                          "mean": mean, "standard_error": error})  # fmt: skip
        return
    console.print(
        f"{metric} {mean:.6f} ± {error:.6f} nats a row, {many(table.n_rows, 'row')}",
        highlight=False,
    )


@app.command()
def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", help="How many rows.")] = 100,
    given: Given = None,
    output: CsvFile = None,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Draw rows from MODEL, given evidence; CSV to OUTPUT, or to the terminal or a pipe."""
    check_place(output)
    loaded = cp.load(model)
    _check_whole(loaded, "`sample` draws")
    table = loaded.sample(n, evidence_for(loaded, evidence_of(given)), random_state=seed)
    lines = classify().csv_lines(table)
    if output is not None:
        classify().write_atomically(output, lines)
    if as_json:
        own = {name: table.column(name).tolist() for name in table.schema.names}
        told = {"output": str(output)} if output is not None else {"columns": own}
        emit({"model": str(model), "rows": n, **told})
        return
    if output is None:
        for chunk in lines:
            sys.stdout.write(chunk.decode())
        return
    console.print(f"{many(n, 'row')} saved to [bold]{escape(str(output))}[/bold]", soft_wrap=True)

"""`counterpane query`, `predict`, `rank`, `score` and `sample`: from a model to answers."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import (
    CsvFile,
    Data,
    Decimal,
    Delimiter,
    Encoding,
    Given,
    Json,
    ModelFile,
    Quiet,
    Seed,
    Sheet,
    app,
    check_place,
    classify,
    complete_column,
    console,
    emit,
    many,
    note,
    settle,
    tables,
    text_options,
)
from counterpane.cli.evidence import evidence_of
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


def _caution(model: Any, answer: Any, known: Any) -> str:
    """What to say of a network that is fitted to its class, where columns are not given."""
    about = model.provenance or {}
    left = [n for n in model.schema.names if n not in known.evidence and n not in answer.names]
    fitted = str(about.get("learner", "")).startswith(("BayesNetClassifier", "MarkovClassifier"))
    if not fitted or not left or answer.names != (about.get("target"),):
        return ""
    return (
        f"Not given: {', '.join(left)}; summed out by the network, whose structure was chosen to "
        f"predict {answer.names[0]!r} from all columns: the answer can be off."
    )


def _parted(model: Any, known: Any) -> list[str]:
    """A note for each range that ends within an interval of a model that knows intervals alone."""
    notes = []
    for name, value in known.evidence.items():
        if not isinstance(value, cp.Range) or model.kind == "additive":
            continue
        variable = model.schema[name]
        shares = value.shares(variable).tolist()
        inside = [str(s) for s, p in zip(variable.states, shares, strict=True) if 0 < p < 1]
        if inside:
            notes.append(
                f"{value.text(name)} ends within the interval {' and '.join(inside)}: the model "
                "treats all values of an interval alike, so the answer is approximate."
            )
    return notes


@app.command()
def query(
    model: ModelFile,
    variables: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMNS",
            help="The columns to ask about: one or more.",
            autocompletion=complete_column,
        ),
    ],
    given: Given = None,
    method: Annotated[
        str,
        typer.Option(
            help="The inference method: exact, gibbs, mean_field, bp, or auto, which is exact if "
            "that is affordable."
        ),
    ] = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print P(COLUMNS | evidence)."""
    settle(as_json=as_json, quiet=quiet)
    loaded: Any = cp.load(model)
    known = evidence_of(loaded, given)
    answer = loaded.query(variables, known.evidence, method=method)
    words = str(answer.basis) if answer.basis is not None else _caution(loaded, answer, known)
    notes = [*_parted(loaded, known), *([words] if words else [])]
    for line in notes:
        note(line)
    if as_json:
        cells = [{"states": list(states), "probability": p} for states, p in answer.rows()]
        basis = {} if answer.basis is None else {"averaged_over": answer.basis._asdict()}
        about = {**basis, **({"notes": notes} if notes else {})}
        emit({"columns": list(answer.names), "given": known.facts(), "cells": cells, **about})
        return
    console.print(probability_bars(answer, known.texts))


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    output: CsvFile = None,
    target: Annotated[
        str | None,
        typer.Option(help="The column to predict; by default the target of the model."),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Also write the columns of DATA.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the class of each row of DATA: the most probable one, and all probabilities.

    The predictions are written to OUTPUT, or as CSV to a pipe; a terminal shows the first rows.
    Columns that MODEL does not know are ignored. Columns that DATA lacks are summed out, and a
    note names them.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    check_place(output)
    loaded: Any = cp.load(model)
    if target is not None:
        loaded.schema.index(target)
    text = text_options(encoding, delimiter, decimal, sheet)
    found = classify().predictions(loaded, data, target, progress=progress, text=text)
    for line in found.notes:
        note(line)
    if output is not None:
        found.save(output, keep=keep)
    if as_json:
        emit({"model": str(model), "rows": len(found.probabilities),
                          "target": found.target.name, "predicted": found.counts(),
                          **found.losses(), "training_rows": found.training,
                          "notes": found.notes,
                          "output": output and str(output)})  # fmt: skip
        return
    if output is None and not console.is_terminal:
        for chunk in found.to_csv(keep=keep):
            sys.stdout.write(chunk.decode())
        return
    if output is None:
        console.print(found.picture())
    shares = ", ".join(f"{n:,} {escape(str(c))}" for c, n in found.counts().items())
    size = many(len(found.probabilities), "row")
    console.print(f"{size}, predicted: {shares}", highlight=False, soft_wrap=True)
    losses = ", ".join(f"{k.replace('_', '-')} {v:.4f}" for k, v in found.losses().items())
    if losses:
        these = " (the training rows: new rows will be predicted less well)"
        where = f"On these rows{these if found.training else ''}"
        console.print(f"{where}: {losses}", highlight=False, soft_wrap=True)
    if output is not None:
        console.print(f"Saved to [bold]{escape(str(output))}[/bold]", soft_wrap=True)


@app.command()
def rank(
    model: ModelFile,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            "--chosen", "-c", help="The items that the user has, with commas between; or repeat."
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="The number of items to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Rank the items of MODEL by the probability that a user with the chosen items takes them."""
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
    metric: Annotated[
        str,
        typer.Option(
            help="pll (pseudo-log-likelihood), normalized-pll (the same per column), loglik "
            "(log-likelihood) or cmll (conditional marginal log-likelihood)."
        ),
    ] = "pll",
    rows: Annotated[
        bool,
        typer.Option("--rows", help="List the rows of least probability and their odd cells."),
    ] = False,
    n: Annotated[int, typer.Option("-n", min=1, help="With --rows, the number of rows.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="With --rows, the CSV file to write, also with .gz."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The random seed, used by cmll.")] = 0,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print how well MODEL predicts the rows of DATA: mean and standard error, in nats per row.

    With --rows it lists the oddest rows instead: the log-probability of each in nats, and the
    cells that are improbable given the rest of the row.
    """
    if output is not None and not rows:
        raise ParameterError("--output is for --rows; a score is printed.")
    if metric not in METRICS:
        raise unknown_name("--metric", metric, METRICS)
    progress = settle(as_json=as_json, quiet=quiet)
    loaded: Any = cp.load(model)
    _check_whole(loaded, "`score` measures")
    text = text_options(encoding, delimiter, decimal, sheet)
    if rows:
        check_place(output)
        anomalies = import_module("counterpane.cli.anomalies")
        anomalies.show(loaded, data, text, n, output, progress=progress, as_json=as_json)
        return
    table = tables().rows_for(loaded, data, text, progress=progress)
    mean, error = classify().measured(metric, loaded, table, seed, progress=progress)
    if as_json:
        emit({"model": str(model), "rows": table.n_rows, "metric": metric,
                          "mean": mean, "standard_error": error})  # fmt: skip
        return
    console.print(
        f"{metric} {mean:.6f} ± {error:.6f} nats per row, {many(table.n_rows, 'row')}",
        highlight=False,
    )


@app.command()
def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", help="The number of rows.")] = 100,
    given: Given = None,
    output: CsvFile = None,
    seed: Seed = None,
    as_intervals: Annotated[
        bool,
        typer.Option("--as-intervals", help="Write intervals instead of numbers drawn in them."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Draw rows from MODEL, given evidence; CSV to OUTPUT, or to the terminal or a pipe.

    Columns of numbers that were cut into intervals are numbers again, drawn as the values of
    the training data lie in the interval.
    """
    check_place(output)
    loaded: Any = cp.load(model)
    _check_whole(loaded, "`sample` draws")
    evidence = evidence_of(loaded, given).evidence
    table = loaded.sample(n, evidence, random_state=seed, as_intervals=as_intervals)
    lines = classify().csv_lines(table)
    if output is not None:
        classify().write_atomically(output, lines)
    if as_json:
        cells = classify().json_columns(table)
        result = {"output": str(output)} if output is not None else {"columns": cells}
        emit({"model": str(model), "rows": n, **result})
        return
    if output is None:
        for chunk in lines:
            sys.stdout.write(chunk.decode())
        return
    console.print(f"{many(n, 'row')} saved to [bold]{escape(str(output))}[/bold]", soft_wrap=True)

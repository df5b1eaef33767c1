"""`counterpane fit-weights`: the weights of a model's features, learned from rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, interrupted, many, notes, say, say_saved
from counterpane.cli.options import (
    Data,
    Jobs,
    ModelFile,
    Printing,
    TextFormat,
    TimeLimit,
    n_threads,
)
from counterpane.lazy import lazy

typed_values = lazy("counterpane.models.typed_values")


def run_fit_weights(
    *,
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file; by default MODEL-weights.cp."),
    ] = None,
    prior_sd: Annotated[
        float,
        typer.Option(help="The standard deviation of the Gaussian prior of a weight; inf: none."),
    ] = 1.0,
    l1: Annotated[float, typer.Option(help="The penalty of the absolute value of a weight.")] = 0.0,
    validation: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Rows by which the prior, or the penalty, is chosen."),
    ] = None,
    from_model: Annotated[
        bool, typer.Option("--from-model", help="Start from the weights of MODEL, not from zero.")
    ] = False,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with missing cells.")
    ] = False,
    text: TextFormat,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    printing: Printing,
) -> None:
    """Learn the weights of MODEL's features from the rows of DATA, and save a Markov network.

    The weights maximize the pseudo-likelihood. The features are the tables of a Bayesian or Markov
    network, or the leaves and weights of a dependency network (`learn --method dn-tree`).
    """
    path = output or model.with_name(f"{model.name.split('.')[0]}-weights.cp")
    check_output(path, model=True)
    loaded: Any = cp.load(model)
    rows = text.read_for(loaded, data).table()
    held_out = None if validation is None else text.read_for(loaded, validation).table()
    weighted = cp.fit_weights(
        loaded,
        rows,
        prior_sd=prior_sd,
        l1=l1,
        start="model" if from_model else "zero",
        validation=held_out,
        missing="drop" if drop_missing else "error",
        time_limit=time_limit,
        n_jobs=n_threads(jobs),
        progress=not notes.quiet,
    )
    weighted.save(path)
    facts = _facts(weighted)
    if printing.as_json:
        emit({"model": str(path), **facts})
    else:
        _show(facts, path)
    if interrupted:
        raise typer.Exit(130)


def _facts(weighted: Any) -> dict[str, Any]:
    """The size of the network, and how its weights were learned."""
    record = weighted.record
    search = typed_values.plain(record.weights)
    search.pop("structure")
    n = sum(part.weights.size for part in weighted.rules)
    n += sum(part.log_values.size for part in weighted.potentials)
    return {
        "kind": weighted.kind,
        "weights": n,
        "rows": record.data.rows,
        "learner": record.learner.text,
        "seconds": record.learner.seconds,
        **search,
    }


def _show(facts: dict[str, Any], path: Path) -> None:
    for sd, l1, pll in facts.get("tried", ()):
        say(f"[dim]prior_sd {sd:g}, l1 {l1:g}: validation PLL {pll:.4f}[/dim]")
    ended = "converged" if facts["converged"] else "not converged"
    size = f"{many(facts['rows'], 'row')} → {many(facts['weights'], 'weight')}"
    say(f"{size}, {facts['learner']}, {many(facts['steps'], 'step')}, {ended}, "
        f"{facts['seconds']:.2f} s")  # fmt: skip
    say_saved(path)

"""`counterpane query`: the probabilities of columns, given evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.answer_output import (
    answer_basis,
    answer_cells,
    answer_trust,
    probability_table,
)
from counterpane.cli.app import console, emit, note, progress_bar, show_table, with_option_names
from counterpane.cli.evidence import ParsedEvidence, evidence_of
from counterpane.cli.options import (
    Do,
    Evidence,
    InferenceOptions,
    ModelFile,
    Printing,
    complete_column,
)
from counterpane.errors import shown_type
from counterpane.lazy import lazy

inference = lazy("counterpane.inference.limits")
cautions = lazy("counterpane.workflow.cautions")

DRAWS = 2000  # of the tables, for an interval


def run_query(
    *,
    model: ModelFile,
    variables: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMNS",
            help="The columns to ask about: one or more.",
            autocompletion=complete_column,
        ),
    ],
    given: Evidence = None,
    do: Do = None,
    how: InferenceOptions,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add the credible interval of each probability, such as 0.95.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    printing: Printing,
) -> None:
    """Print P(COLUMNS | evidence).

    `counterpane uai` answers the tasks of the UAI competitions.
    """
    loaded: Any = cp.load(model)
    parsed = evidence_of(loaded, given)
    limits = how.limits()
    interventions = evidence_of(loaded, do, "--do")
    if do:
        cautions.check_causal(loaded)
        limits["do"] = interventions.evidence
    with progress_bar() as report, inference.limited(report=report):
        answer = loaded.query(variables, parsed.evidence, method=how.method, **limits)
    words = str(answer.basis or cautions.class_caution(loaded, answer.names, parsed.evidence))
    lines = [*answer.notes, *([words] if words else [])]
    lines += map(with_option_names, cautions.open_directions(loaded, interventions.evidence))
    for line in lines:
        note(line)
    if answer.support is not None:
        note(f"{str(answer.support)[0].upper()}{str(answer.support)[1:]}.")
    ends = None if interval is None else _interval(loaded, variables, parsed, do, limits, interval)
    if printing.as_json:
        about = {**answer_basis(answer), **({"notes": lines} if lines else {})}
        question = {"columns": list(answer.names), "given": parsed.to_dict()}
        question |= {"do": interventions.to_dict()} if do else {}
        emit({**answer_trust(answer), **question, "cells": answer_cells(answer, ends), **about})
        return
    if answer.doubt:
        console.print(f"[bold]{escape(answer.doubt)}[/bold]")
    set_by_do = [f"do({text})" for text in interventions.texts]
    show_table(probability_table(answer, [*set_by_do, *parsed.texts], ends))


def _interval(
    model: Any,
    columns: Sequence[str],
    parsed: ParsedEvidence,
    do: Sequence[str] | None,
    limits: dict[str, Any],
    level: float,
) -> tuple[list[float], list[float]]:
    """The lower and upper ends of the credible intervals, in the order of the answer's rows."""
    if not isinstance(model, cp.BayesianNetwork):
        raise cp.CounterpaneError(
            f"{shown_type(model)} has no credible intervals; --interval is for Bayesian networks."
        )
    options = {"do": limits["do"]} if do else {}
    found = cp.query_interval(
        model, list(columns), parsed.evidence, level=level, draws=DRAWS, random_state=0, **options
    )
    note(
        f"The {100 * level:g}% intervals express the uncertainty of the tables; the graph is taken "
        "as certain."
    )
    return [p for _, p in found.lower.rows()], [p for _, p in found.upper.rows()]

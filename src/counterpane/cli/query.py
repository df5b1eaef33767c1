"""`counterpane query`: the probabilities of columns, given evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import console, emit, note
from counterpane.cli.evidence import ParsedEvidence, evidence_of
from counterpane.cli.options import Evidence, ModelFile, Printing, complete_column
from counterpane.lazy import lazy

schemas = lazy("counterpane.data.schema")

BAR = 30  # letters of the bar of probability 1


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
    method: Annotated[
        str,
        typer.Option(
            help="The inference method: exact, gibbs, mean_field, bp, or auto, which is exact if "
            "that is affordable."
        ),
    ] = "auto",
    printing: Printing,
) -> None:
    """Print P(COLUMNS | evidence)."""
    loaded: Any = cp.load(model)
    parsed = evidence_of(loaded, given)
    answer = loaded.query(variables, parsed.evidence, method=method)
    words = str(answer.basis) if answer.basis is not None else _caution(loaded, answer, parsed)
    lines = [*_cut_intervals(loaded, parsed), *([words] if words else [])]
    for line in lines:
        note(line)
    if printing.as_json:
        cells = [{"states": list(states), "probability": p} for states, p in answer.rows()]
        basis = {} if answer.basis is None else {"averaged_over": answer.basis._asdict()}
        about = {**basis, **({"notes": lines} if lines else {})}
        emit({"columns": list(answer.names), "given": parsed.to_dict(), "cells": cells, **about})
        return
    console.print(_probability_bars(answer, parsed.texts))


def _caution(model: Any, answer: Any, parsed: ParsedEvidence) -> str:
    """A caution for networks fitted to their class, if some columns are not given."""
    left = [n for n in model.schema.names if n not in parsed.evidence and n not in answer.names]
    origin = model.origin
    fitted = origin.learner in ("BayesNetClassifier", "MarkovClassifier")
    if not fitted or not left or answer.names != (origin.target,):
        return ""
    return (
        f"Not given: {', '.join(left)}; summed out by the network, whose structure was chosen to "
        f"predict {answer.names[0]!r} from all columns: the answer can be off."
    )


def _cut_intervals(model: Any, parsed: ParsedEvidence) -> list[str]:
    """A note for each range that ends within an interval of a model that knows intervals alone."""
    lines = []
    for name, value in parsed.evidence.items():
        if not isinstance(value, cp.Range) or model.kind == "additive":
            continue
        variable = model.schema[name]
        shares = value.shares(variable).tolist()
        inside = [str(s) for s, p in zip(variable.states, shares, strict=True) if 0 < p < 1]
        if inside:
            lines.append(
                f"{value.text(name)} ends within the interval {' and '.join(inside)}: the model "
                "treats all values of an interval alike, so the answer is approximate."
            )
    return lines


def _probability_bars(answer: Any, evidence: Sequence[str]) -> Grid:
    """A table of states and probabilities with bars; `evidence` is as it was written."""
    names, given = ", ".join(answer.names), ", ".join(evidence)
    grid = Grid(title=escape(f"P({names} | {given})" if given else f"P({names})"), box=None)
    for name in answer.names:
        grid.add_column(escape(name))
    grid.add_column("probability", justify="right")
    grid.add_column("")
    for states, p in answer.rows():
        cells = [escape(schemas.state_text(s)) for s in states]
        grid.add_row(*cells, f"{p:.4f}", "█" * round(BAR * p))
    return grid

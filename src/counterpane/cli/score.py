"""`counterpane score`: how well a model predicts rows, and which rows it finds improbable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, many, note, say, say_saved, show_table
from counterpane.cli.options import Data, ModelFile, Printing, TextFormat
from counterpane.errors import ParameterError, unknown_name
from counterpane.lazy import lazy

schemas = lazy("counterpane.data.schema")
csv_text = lazy("counterpane.workflow.csv_text")

MEASURES = {"pll": "pll", "normalized-pll": "normalized_pll", "loglik": "log_likelihood",
            "cmll": "cmll"}  # fmt: skip
TITLES = {"pll": "pseudo-log-likelihood", "normalized-pll": "pseudo-log-likelihood",
          "loglik": "log-likelihood", "cmll": "conditional marginal log-likelihood"}  # fmt: skip
CELLS = 3  # improbable cells that are shown of a row
LEGEND = (
    "below mean: nats by which the row's ln P is below that of the mean row, a missing cell "
    "counting as the mean of its column; P: probability of the cell, and of the most probable "
    "value, given the other cells of the row. A number far from those of training is printed as it "
    "is, and P has the chance of a number so far out."
)


def run_score(
    *,
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
    text: TextFormat,
    printing: Printing,
) -> None:
    """Print how well MODEL predicts the rows of DATA: mean and standard error, in nats per row.

    With --rows it lists the oddest rows instead: the log-probability of each in nats, and the
    cells that are improbable given the rest of the row.
    """
    if output is not None and not rows:
        raise ParameterError("--output is for --rows; a score is printed.")
    if metric not in MEASURES:
        raise unknown_name("--metric", metric, MEASURES)
    check_output(output)
    loaded: Any = cp.load(model)
    found: Any = text.read_for(loaded, data)
    if rows:
        _list_odd_rows(found, n, output, as_json=printing.as_json)
        return
    score = found.score(MEASURES[metric], random_state=seed)
    if printing.as_json:
        emit({"model": str(model), "rows": score.rows.size, "metric": metric, "mean": score.mean,
              "standard_error": score.standard_error})  # fmt: skip
        return
    unit = "nats per cell" if metric == "normalized-pll" else "nats per row"
    measured = f"{TITLES[metric]} {score.mean:.6f} ± {score.standard_error:.6f} {unit}"
    say(f"{measured}, {many(score.rows.size, 'row')}")


def _list_odd_rows(rows: Any, n: int, output: Path | None, *, as_json: bool) -> None:
    """Print or write the `n` least probable rows of DATA."""
    odd = rows.odd_rows(n, cells=CELLS)
    absent = rows.lacking()
    if absent:
        note(f"Not in DATA, so summed out: {', '.join(absent)}.")
    if output is not None:
        parts = ("column", "value", "probability", "expected", "expected_probability")
        header = ["row", "log_probability", "nats_below_mean"]
        header += [f"{part}_{k}" for k in range(1, CELLS + 1) for part in parts]
        csv_text.write_csv(output, (header, _odd_lines(odd, len(header))))
    if as_json:
        emit({"rows": [_odd_record(row) for row in odd], "output": output and str(output)})
    elif output is not None:
        say_saved(output)
    else:
        show_table(odd.table(first=1))
        say(f"[dim]{LEGEND}[/dim]")


def _odd_record(odd: Any) -> dict[str, Any]:
    """A row for JSON; rows are counted from 1, as in the other outputs."""
    cells = [cell._asdict() for cell in odd.cells]
    return {**odd._asdict(), "row": odd.row + 1, "cells": cells}


def _odd_lines(odd: Sequence[Any], width: int) -> Iterator[list[Any]]:
    """The lines of the CSV file, each row with its cells beside it."""
    for row in odd:
        line = [row.row + 1, f"{row.log_prob:.6g}", f"{row.excess:.6g}"]
        for cell in row.cells:
            line += [cell.column, schemas.state_text(cell.value), f"{cell.probability:.6g}"]
            line += [schemas.state_text(cell.expected), f"{cell.expected_probability:.6g}"]
        yield [*line, *[""] * (width - len(line))]

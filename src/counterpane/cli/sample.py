"""`counterpane sample`: rows drawn from a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import check_output, emit, many, note, say
from counterpane.cli.evidence import evidence_of
from counterpane.cli.options import CsvFile, Do, Evidence, Json, ModelFile, Seed
from counterpane.cli.query import check_causal, open_directions
from counterpane.cli.score import check_joint
from counterpane.lazy import lazy

tables = lazy("counterpane.cli.tables")


def run_sample(
    *,
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", help="The number of rows.")] = 100,
    given: Evidence = None,
    do: Do = None,
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
    check_output(output)
    loaded: Any = cp.load(model)
    check_joint(loaded, "`sample` draws")
    evidence = evidence_of(loaded, given).evidence
    options: dict[str, Any] = {}
    if do:
        check_causal(loaded)
        options["do"] = evidence_of(loaded, do, "--do").evidence
        for line in [] if as_json else open_directions(loaded, list(options["do"])):
            note(line)
    table = loaded.sample(n, evidence, random_state=seed, as_intervals=as_intervals, **options)
    columns = table.to_columns()
    if output is not None:
        tables.write_csv(columns, output)
    if as_json:
        result = {"output": str(output)} if output else {"columns": tables.json_columns(columns)}
        emit({"model": str(model), "rows": n, **result})
    elif output is None:
        tables.write_csv(columns)
    else:
        say(f"{many(n, 'row')} saved to [bold]{escape(str(output))}[/bold]")

"""`counterpane sample`: rows drawn from a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import check_output, emit, many, note, say
from counterpane.cli.csv_output import print_csv
from counterpane.cli.evidence import evidence_of
from counterpane.cli.options import CsvFile, Do, Evidence, Json, ModelFile, Seed
from counterpane.lazy import lazy

cautions = lazy("counterpane.workflow.cautions")
csv_text = lazy("counterpane.workflow.csv_text")
model_rows = lazy("counterpane.workflow.model_rows")


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
    model_rows.check_joint(loaded, "`sample` draws")
    evidence = evidence_of(loaded, given).evidence
    options: dict[str, Any] = {}
    if do:
        cautions.check_causal(loaded)
        options["do"] = evidence_of(loaded, do, "--do").evidence
        for line in [] if as_json else cautions.open_directions(loaded, list(options["do"])):
            note(line)
    table = loaded.sample(n, evidence, random_state=seed, as_intervals=as_intervals, **options)
    columns = table.to_columns()
    if output is not None:
        csv_text.write_csv(output, csv_text.column_lines(columns))
    if as_json:
        result = {"output": str(output)} if output else {"columns": csv_text.json_columns(columns)}
        emit({"model": str(model), "rows": n, **result})
    elif output is None:
        print_csv(csv_text.column_lines(columns))
    else:
        say(f"{many(n, 'row')} saved to [bold]{escape(str(output))}[/bold]")

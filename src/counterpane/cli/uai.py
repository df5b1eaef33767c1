"""`counterpane uai`: a task of the UAI competitions, from files to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, console, note, progress_bar
from counterpane.cli.evidence import evidence_of
from counterpane.cli.options import (
    Evidence,
    InferenceOptions,
    ModelFile,
    Printing,
    complete_column,
)
from counterpane.lazy import lazy

inference = lazy("counterpane.inference.limits")
tasks = lazy("counterpane.formats.uai_tasks")
uai = lazy("counterpane.workflow.uai")


def run_uai(
    *,
    model: ModelFile,
    task: Annotated[str, typer.Argument(metavar="TASK", help="MAR, PR, MPE or MMAP.")],
    variables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLUMNS", help="The columns of MMAP.", autocompletion=complete_column
        ),
    ] = None,
    given: Evidence = None,
    evidence: Annotated[
        Path | None, typer.Option(help="A file of evidence in UAI's format, .evid.")
    ] = None,
    query: Annotated[
        Path | None, typer.Option(help="A file with the columns of MMAP in UAI's format, .query.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file for the result.")
    ] = None,
    how: InferenceOptions,
    printing: Printing,
) -> None:
    """Answer a task of the UAI competitions about MODEL, in their format."""
    check_output(output)
    loaded: Any = cp.load(model)
    parsed = evidence_of(loaded, given)
    if evidence is not None:
        parsed = parsed.merged(tasks.read_uai_evidence(evidence, loaded.schema))
    columns = variables if query is None else tasks.read_uai_query(query, loaded.schema)
    with progress_bar() as report, inference.limited(report=report):
        text, cautions = uai.uai_result(
            loaded, task.upper(), parsed.evidence, columns, method=how.method, **how.limits()
        )
    for line in cautions:
        note(line)
    if output is None:
        console.print(text, end="", markup=False, highlight=False, soft_wrap=True)
    else:
        output.write_text(text)

"""`counterpane datasets`: the embedded tables, and one of them as a file."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import check_output, emit, say, show_table
from counterpane.cli.options import CsvFile, Json, complete_data
from counterpane.errors import ParameterError
from counterpane.lazy import lazy
from counterpane.present.table import TextTable, right

csv_text = lazy("counterpane.workflow.csv_text")

ABOUT = {
    "titanic": "the people aboard, and who survived (Dawson 1995)",
    "tictactoe": "the boards on which a game can end, and whether x has won",
    "monks1": "robots: head and body alike, or a red jacket (Thrun et al. 1991)",
    "monks2": "robots: just two of six parts have their first value",
    "monks3": "robots: by jacket, body and what they hold",
    "balance": "loads of a balance, and the side that goes down (Siegler 1976)",
    "iris": "flowers of three kinds by four lengths (Fisher 1936)",
    "wine": "wines of three growers by thirteen measurements",
    "breast_cancer": "tumors by thirty measurements of cells",
}


def run_datasets(
    *,
    name: Annotated[
        str | None, typer.Argument(help="The data set to write.", autocompletion=complete_data)
    ] = None,
    output: CsvFile = None,
    as_json: Json = False,
) -> None:
    """List the embedded data sets, or write one of them to a CSV file."""
    if name is None:
        if output is not None:
            raise ParameterError("the data set to write is missing; name one, such as titanic.")
        _list(as_json=as_json)
        return
    table = cp.load_dataset(name)
    if output is None:
        raise ParameterError(f"the output file is missing; add -o {name}.csv.")
    check_output(output)
    csv_text.write_csv(output, csv_text.column_lines(table.to_columns()))
    if as_json:
        emit(_facts(name, table) | {"output": str(output)})
        return
    say(f"{table.n_rows:,} rows saved to [bold]{escape(str(output))}[/bold]")


def _facts(name: str, table: cp.Table) -> dict[str, object]:
    return {
        "name": name,
        "rows": table.n_rows,
        "columns": table.n_columns,
        "target": table.schema.names[-1],
        "about": ABOUT[name],
    }


def _list(*, as_json: bool) -> None:
    records = [_facts(name, cp.load_dataset(name)) for name in cp.dataset_names()]
    if as_json:
        emit({"datasets": records})
        return
    rows = [[f"{v:,}" if isinstance(v, int) else v for v in facts.values()] for facts in records]
    heads = ("name", right("rows"), right("columns"), "target", "about")
    next_step = "Next: counterpane learn titanic --target survived"
    show_table(TextTable.of(heads, rows, notes=[next_step], most=None))

"""`counterpane plan`: what learning will cost, before it begins."""

from __future__ import annotations

from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import emit, note, notes, say, with_option_names
from counterpane.cli.options import (
    ClassColumn,
    ColumnOptions,
    Data,
    MethodName,
    Printing,
    ScoreName,
    TextFormat,
)
from counterpane.errors import Note
from counterpane.lazy import lazy

remote = lazy("counterpane.data.remote")


def run_plan(
    *,
    data: Data,
    target: ClassColumn = None,
    method: MethodName = "auto",
    score: ScoreName = None,
    columns: ColumnOptions,
    text: TextFormat,
    printing: Printing,
) -> None:
    """Say what `learn` will cost: scans of DATA, their bytes, count tables and a rough time.

    Files that are read block by block are not read for it, apart from their first rows, on which
    the method is rehearsed. Numbers that depend on the data are ranges. A file that fits into
    memory is read once. The time is that of one fit; a note says what `learn` adds to it.
    """
    plan = cp.plan_learning(
        data,
        target,
        method,
        criterion=score,
        progress=not notes.quiet,
        **columns.to_dict(),
        **text.to_dict(),
    )
    if plan.in_memory:
        note("DATA fits into memory: it is read once, and scans are passes over memory.")
    if printing.as_json:
        more = {"left_out": with_option_names(plan.left_out)} if plan.left_out else {}
        emit({"data": remote.without_secrets(data), **plan.to_dict(), **more})
        return
    say(escape(str(plan)))
    if plan.left_out:
        note(Note("Not in this time: ", plan.left_out, "."))

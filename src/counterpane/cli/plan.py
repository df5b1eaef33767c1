"""`counterpane plan`: what learning will cost, before it begins."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import emit, note, say
from counterpane.cli.methods import (
    CLASSIFIERS,
    MANY_STATES,
    check_method,
    choose_method,
    make_learner,
)
from counterpane.cli.options import (
    ClassColumn,
    ColumnOptions,
    Data,
    MethodName,
    Printing,
    ScoreName,
    TextFormat,
)
from counterpane.lazy import lazy

file_plan = lazy("counterpane.counts.file_plan")
opening = lazy("counterpane.counts.open")
tables = lazy("counterpane.cli.tables")


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
    memory is read once.
    """
    check_method(method, target, auto=True)
    if tables.is_embedded(data) or not opening.is_large(data):
        method, _ = choose_method(method, target=target, links=False, n_columns=1)
        many, classes = method in MANY_STATES, method in CLASSIFIERS
        table = tables.read_input(data, target, columns, text, classes=classes, many_states=many)
        source = cp.MemoryCounts(table.to_table(target, columns.discretize, columns.bins))
        plan = source.explain(make_learner(method, score, {}), _class(method, target))
        note("DATA fits into memory: it is read once, and scans are passes over memory.")
    else:
        method, _ = choose_method(method, target=target, links=False, n_columns=1)
        how = columns.discretize
        if how == "auto":
            how = "quantile" if target is None else "mdl"
        learner = make_learner(method, score, {})
        plan = file_plan.plan_files(
            data,
            learner,
            target,
            classes=method in CLASSIFIERS,
            delimiter=text.delimiter,
            discretize=None if how == "none" else how,
        )
    if printing.as_json:
        emit({"data": tables.without_secrets(data), "method": method, **plan.to_dict()})
        return
    say(escape(str(plan)))


def _class(method: str, target: Any) -> Any:
    return target if method in CLASSIFIERS else None

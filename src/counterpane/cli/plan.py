"""`counterpane plan`: what learning will cost, before it begins."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import emit, note, notes, say
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
from counterpane.workflow.choose import (
    CLASSIFIERS,
    MANY_STATES,
    METHODS,
    check_method,
    choose_method,
    make_learner,
)

stability = lazy("counterpane.workflow.stability")
cost = lazy("counterpane.evaluate.cost")
opening = lazy("counterpane.counts.open")
inputs = lazy("counterpane.workflow.inputs")


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
    check_method(method, target, auto=True)
    more = ""
    if inputs.is_embedded(data) or not opening.is_large(data):
        by_default = method == "auto"
        method, _ = choose_method(method, target=target, links=False, n_columns=1)
        more = _not_planned(method, by_default=by_default)
        many, classes = method in MANY_STATES, method in CLASSIFIERS
        table = inputs.read_input(
            data,
            target,
            columns.choices(),
            text.to_dict(),
            classes=classes,
            many_states=many,
            progress=not notes.quiet,
        )
        source = cp.MemoryCounts(table.to_table(target, columns.discretize, columns.bins))
        plan = cost.estimate_cost(source, make_learner(method, score, {}), _class(method, target))
        note("DATA fits into memory: it is read once, and scans are passes over memory.")
    else:
        method, _ = choose_method(method, target=target, links=False, n_columns=1)
        how = columns.discretize
        if how == "auto":
            how = "quantile" if target is None else "mdl"
        learner = make_learner(method, score, {})
        plan = cost.estimate_file_cost(
            data,
            learner,
            target,
            classes=method in CLASSIFIERS,
            delimiter=text.delimiter,
            discretize=None if how == "none" else how,
        )
    if printing.as_json:
        about = {"left_out": more} if more else {}
        emit({"data": inputs.without_secrets(data), "method": method, **plan.to_dict(), **about})
        return
    say(escape(str(plan)))
    if more:
        note(f"Not in this time: {more}.")


def _not_planned(method: str, *, by_default: bool) -> str:
    """What `learn` does with rows in memory beyond one fit, in words; empty if nothing."""
    if method in CLASSIFIERS:
        return "up to five more fits, which measure the classifier on held-out rows"
    if method in METHODS and by_default:
        return f"bootstrap samples, for at most {stability.SECONDS:g} s (--bootstrap 0: none)"
    return ""


def _class(method: str, target: Any) -> Any:
    return target if method in CLASSIFIERS else None

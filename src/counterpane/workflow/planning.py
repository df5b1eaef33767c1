"""`plan_learning`: what `learn` will cost, before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import is_large
from counterpane.errors import Note, Option
from counterpane.evaluate.cost import CostEstimate, estimate_cost, estimate_file_cost
from counterpane.workflow.choose import (
    CLASSIFIERS,
    MANY_STATES,
    METHODS,
    check_method,
    choose_method,
    make_learner,
)
from counterpane.workflow.inputs import ColumnChoices, is_embedded, read_input
from counterpane.workflow.stability import SECONDS


@dataclass(frozen=True)
class LearningPlan:
    """The method and the cost of one fit, and in words what `learn` does beyond it."""

    method: str
    cost: CostEstimate
    left_out: str = ""
    in_memory: bool = True

    def __str__(self) -> str:
        return str(self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, for JSON."""
        about = {"left_out": str(self.left_out)} if self.left_out else {}
        return {"method": self.method, **self.cost.to_dict(), **about}


def plan_learning(
    data: Any,
    target: str | None = None,
    method: str = "auto",
    *,
    criterion: str | None = None,
    progress: bool = False,
    **options: Any,
) -> LearningPlan:
    """Estimate what `learn` will cost: scans of the data, their bytes, tables and a rough time.

    Files that are read block by block are not read for it, apart from their first rows, on which
    the method is rehearsed.

    Parameters
    ----------
    data : path, frame, Table or CountSource
        The data, as for `learn`.
    target, method, criterion : optional
        As for `learn`.
    progress : bool
        Whether to show a bar.
    **options
        Options of `learn` for columns and for text files.

    Returns
    -------
    LearningPlan
        Prints as a sentence.

    Examples
    --------
    >>> import counterpane as cp
    >>> cp.plan_learning("titanic", method="chow-liu").cost.scans
    (4, 4)
    """
    columns, text = ColumnChoices.split(options)
    check_method(method, target, auto=True)
    by_default = method == "auto"
    method, _ = choose_method(method, target=target, links=False, n_columns=1)
    learner = make_learner(method, criterion, {})
    classes = method in CLASSIFIERS
    if isinstance(data, str) and not is_embedded(data) and is_large(data):
        how = columns.discretize
        if how == "auto":
            how = "quantile" if target is None else "mdl"
        cost = estimate_file_cost(
            data,
            learner,
            target,
            classes=classes,
            delimiter=text.get("delimiter"),
            discretize=None if how == "none" else how,
        )
        return LearningPlan(method, cost, in_memory=False)
    table = read_input(
        data,
        target,
        columns,
        text,
        classes=classes,
        many_states=method in MANY_STATES,
        progress=progress,
    )
    source = MemoryCounts(table.to_table(target, columns.discretize, columns.bins))
    cost = estimate_cost(source, learner, target if classes else None)
    return LearningPlan(method, cost, _beyond(method, by_default=by_default))


def _beyond(method: str, *, by_default: bool) -> str:
    """What `learn` does with rows in memory beyond one fit, in words; empty if nothing."""
    if method in CLASSIFIERS:
        return "up to five more fits, which measure the classifier on held-out rows"
    if method in METHODS and by_default:
        words = f"bootstrap samples, for at most {SECONDS:g} s ("
        return Note(words, Option("bootstrap", 0), ": none)")
    return ""

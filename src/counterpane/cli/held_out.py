"""`counterpane learn --target`: how good the classifier is on rows that it has not learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid

import counterpane as cp
from counterpane.cli.app import console
from counterpane.data.schema import state_text
from counterpane.errors import CounterpaneError
from counterpane.learn.classifiers.class_measures import ClassMeasures
from counterpane.learn.classifiers.held_out import MIN_WEIGHT

FOLDS = 5
QUICK, SLOW = 4.0, 40.0  # seconds of a fit: up to here five folds, one, are learned again
CHOSEN = "the folds that chose the structure"
GROUPS = 3  # of rows, by their predictions
SMALL = 2000  # rows up to which folds that chose the structure do not measure it


def held_out_facts(learner: Any, source: Any, target: str, seconds: float) -> dict[str, Any]:
    """The measures of a fitted classifier as plain values.

    Empty where they would take too long, or where fewer than 20 rows say little.
    """
    inner = vars(learner).get("held_out_")
    weight = learner.model_.provenance["weight"]
    if weight < MIN_WEIGHT:
        return {}
    rows = isinstance(source, cp.Table | list)
    if inner is not None and (weight > SMALL or seconds > QUICK or not rows):
        # Without the import of all of `evaluate`; of many rows, a choice by the folds fits little.
        found = {"folds": FOLDS, "how": CHOSEN}
        return found | ClassMeasures(*inner).to_dict()
    if not rows or seconds > SLOW:
        return {}
    if inner is not None:  # the choice of columns and interactions is learned again as well
        learner = type(learner)(**learner.get_params(deep=False)).set_params(bootstrap=0)
    holdout = None if seconds <= QUICK else 1 / FOLDS
    try:
        measures = cp.evaluate.held_out_measures(learner, source, target, holdout=holdout)
    except CounterpaneError:  # too few rows for folds, or a fold without a class
        return {}
    found = {"folds": 1 if holdout else FOLDS, "how": "learned again without them"}
    return found | measures.to_dict()


def show_held_out(facts: Mapping[str, Any], classes: Sequence[Any]) -> None:
    """Print the measures beside those of the classes' shares."""
    grid = Grid(box=None, padding=(0, 2, 0, 0))
    what = f"{facts['rows']:,} rows held out" if facts["folds"] > 1 else "rows held out once"
    folds = f" in {facts['folds']} folds" if facts["folds"] > 1 else ""
    for title in (f"On {what}{folds}", "this model", "class shares"):
        grid.add_column(title, justify="left" if title.startswith("On") else "right")
    prior = facts["prior"]
    names = {
        "log_loss": "log-loss, in nats (lower is better)",
        "auc": "AUC" if len(classes) == 2 else "AUC, mean of each class against the rest",
        "accuracy": "accuracy",
    }
    for name, title in names.items():
        if name in facts:
            percent = name == "accuracy"
            grid.add_row(title, _number(**facts[name], percent=percent),
                         _number(prior[name], percent=percent))  # fmt: skip
    console.print(grid)
    about = f"P({escape(state_text(classes[1]))})" if len(classes) == 2 else "top class"
    off = facts["calibration_error"]
    console.print(
        f" calibration of {about}: predicted and observed shares differ by "
        f"{100 * off['value']:.1f} points on average ({100 * off['by_chance']:.1f} by chance)",
        soft_wrap=True, highlight=False,
    )  # fmt: skip
    groups = [_joined(bins) for bins in _thirds(facts["calibration"])]
    told = [f"predicted {p:.0%} → observed {o:.0%} of {n:,.0f} rows" for n, p, o in groups]
    console.print(f"   [dim]{'; '.join(told)}[/dim]", soft_wrap=True, highlight=False)
    if facts["how"] == CHOSEN:
        words = "These folds also chose the structure, so the figures can be slightly optimistic."
        console.print(f" [dim]{words}[/dim]", soft_wrap=True, highlight=False)


def _number(value: float, error: float | None = None, *, percent: bool) -> str:
    times, unit, digits = (100, " %", 1) if percent else (1, "", 3)
    sure = "" if not error else f" ± {times * error:.{digits}f}"
    return f"{times * value:.{digits}f}{sure}{unit}"


def _thirds(bins: Sequence[Mapping[str, float]]) -> list[list[Mapping[str, float]]]:
    """Bins in groups of about as many rows, the lowest predictions first."""
    total, before = sum(b["rows"] for b in bins), 0.0
    groups: list[list[Mapping[str, float]]] = [[] for _ in range(GROUPS)]
    for each in bins:
        middle = (before + each["rows"] / 2) / total
        groups[min(int(middle * GROUPS), GROUPS - 1)].append(each)
        before += each["rows"]
    return [group for group in groups if group]


def _joined(bins: Sequence[Mapping[str, float]]) -> tuple[float, float, float]:
    """(rows, mean prediction, share that came true)."""
    n = sum(b["rows"] for b in bins)
    predicted = sum(b["rows"] * b["predicted"] for b in bins) / n
    return n, predicted, sum(b["rows"] * b["observed"] for b in bins) / n

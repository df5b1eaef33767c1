"""How a search went, step by step."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from counterpane.errors import ParameterError
from counterpane.plots.axes import axes_or_new

# What records of different learners call their objective, the better name first.
OBJECTIVES = (
    "score", "log_posterior", "log_score", "pll", "inner_log_loss", "objective", "entropy",
    "best_gain", "nodes", "n_tests", "variables",
)  # fmt: skip


def trace(learner: Any, *, value: str | None = None, title: str = "", ax: Any = None) -> Any:
    """Matplotlib axes with one value of a search's records against the seconds it took.

    `learner` is fitted, or a model that keeps the trace of its learner, or a list of records.
    `value` names the number to show; by default the search's objective.

    >>> from matplotlib.figure import Figure
    >>> records = [{"seconds": 1.0, "score": -9.0}, {"seconds": 2.0, "score": -7.0}]
    >>> ax = trace(records, ax=Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_ydata().tolist()
    ('score', [-9.0, -7.0])
    """
    records = _records(learner)
    known = {k for record in records for k, v in record.items() if _number(v)}
    value = value or next((name for name in OBJECTIVES if name in known), None)
    if value not in known:
        offered = ", ".join(sorted(known - {"step", "seconds"}))
        raise ParameterError(
            f"the trace has no number called {value!r}; known: {offered or 'none'}."
        )
    kept = [record for record in records if _number(record.get(value))]
    times = np.array([record.get("seconds", step) for step, record in enumerate(kept)])
    ax = axes_or_new(ax)
    ax.plot(times, [record[value] for record in kept], marker="." if len(kept) < 60 else "")
    ax.set(title=title, xlabel="seconds", ylabel=value.replace("_", " "))
    return ax


def _records(learner: Any) -> list[dict[str, Any]]:
    found = learner if isinstance(learner, list) else getattr(learner, "trace_", None)
    if found is None:
        found = (getattr(learner, "provenance", None) or {}).get("trace")
    if not found:
        raise ParameterError(f"a {type(learner).__name__} without a trace has no steps to show.")
    records: list[dict[str, Any]] = found
    return records


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)

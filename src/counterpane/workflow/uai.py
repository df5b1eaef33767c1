"""The tasks of the UAI competitions: the text of a result file for a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from counterpane.errors import ParameterError, unknown_name
from counterpane.formats.uai_tasks import (
    TASKS,
    uai_marginals,
    uai_partition,
    uai_states,
)
from counterpane.models.weights import log_weight, log_weight_bounds

CLOSE = 1e-9  # relative difference of bounds that are one number


def uai_result(
    model: Any,
    task: str,
    evidence: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    method: str = "auto",
    strict: bool = False,
    **limits: Any,
) -> tuple[str, list[str]]:
    """The text of a result file and cautions; `task` is MAR, PR, MPE or MMAP.

    MMAP is about `columns`. `limits` are those of `query`.
    """
    schema = model.schema
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    own = {"strict": True} if strict else {}
    if task == "MAR":
        answers = model.marginals(evidence, method=method, **own, **limits)
        tables = [
            answers[v.name].probabilities
            if v.name in answers
            else [float(k == v.code(evidence[v.name])) for k in range(v.card)]
            for v in schema
        ]
        return str(uai_marginals(tables)), []
    if task == "PR":
        if strict or method == "exact":
            return str(uai_partition(float(log_weight(model, evidence, **limits)))), []
        weight, notes = _partition(model, evidence, limits)
        return str(uai_partition(weight)), notes
    if task == "MMAP" and not columns:
        raise ParameterError("MMAP needs columns: pass a query file, or name them.",
                             parameter="columns")  # fmt: skip
    asked = list(columns or ()) if task == "MMAP" else None
    best = model.map_query(asked, evidence, method=method, **own, **limits)
    states = {**(evidence if not asked else {}), **best}
    return str(uai_states(schema, states, pairs=bool(asked))), []


def _partition(
    model: Any, evidence: Mapping[str, Any], limits: Mapping[str, Any]
) -> tuple[float, list[str]]:
    """ln of the partition function; if it is not exact, an estimate, with its bounds in a note."""
    bounds = log_weight_bounds(model, evidence, **limits)
    lower, upper = bounds
    if upper - lower <= CLOSE * max(1.0, abs(upper)) or lower == upper:
        return float(lower), []
    low = math.floor(1e4 * lower / math.log(10)) / 1e4  # what is printed is a bound as well
    high = math.ceil(1e4 * upper / math.log(10)) / 1e4
    words = f"Not exact: log10 Z lies between {low:.4f} and {high:.4f}; an estimate is printed."
    return float(bounds.estimate), [words]

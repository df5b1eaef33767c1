"""The rows that a bootstrap draws from where cells are missing."""

from __future__ import annotations

from typing import Any

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.learn.base import Missing
from counterpane.learn.bayesian.completed_rows import completed_rows
from counterpane.learn.bayesian.structural_em import COMPLETIONS


def rows_to_resample(learner: Any, table: Table) -> tuple[Table | CountSource, Missing]:
    """Rows to draw samples from, and the policy by which to learn from each.

    `learner` was fitted to `table`; its policy is kept for all samples. EM is not run again: each
    row stands for its completions, weighted by their probability under the learned network, so that
    a sample is drawn from the rows, and its missing cells from the network.

    >>> import counterpane as cp
    >>> table = cp.read({"a": [0, 0, 1, 1, None, 1], "b": [0, 0, 1, None, 1, 1]})
    >>> rows, missing = rows_to_resample(cp.HillClimb().fit(table), table)
    >>> rows.n_rows, round(rows.total_weight), missing
    (6, 6, 'error')
    """
    policy: Missing = learner.missing_
    if not table.has_missing.any():
        return table, learner.missing
    if policy in ("state", "drop"):
        return table.resolve_missing(policy), policy
    if policy != "em":
        return table, policy
    model = learner.model_
    gaps = Table(model.schema, table.codes, table.weights)
    rows = MemoryCounts(completed_rows(gaps, model, most=COMPLETIONS, seed=0))
    whole = table.weights is not None and table.weights.dtype.kind == "i"
    rows.n_rows = int(table.total_weight) if whole else table.n_rows
    return rows, "error"

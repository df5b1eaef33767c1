"""How stable the edges of a network are: their shares of bootstrap samples."""

from __future__ import annotations

import warnings
from typing import Any

import counterpane
from counterpane.data.table import Table
from counterpane.learners.bootstrap import rows_to_resample
from counterpane.learners.driver import StoppedEarly
from counterpane.models.edges import LEAST_SAMPLES

SAMPLES, SECONDS = 100, 5.0  # the limits of the bootstrap of method="auto"
MAX_EDGES = 2000  # with a share in a model's file


def add_edge_shares(
    learner: Any, table: Any, samples: int, *, limit: float | None, seed: int, stops: list[str]
) -> dict[str, Any] | None:
    """The number of bootstrap samples; the model keeps the edges with their shares of the samples.

    Too few samples give no shares. None if the rows cannot be resampled. Each sample has the time
    limit of all of them, so that a slow search ends soon.
    """
    model = learner.model_
    if not isinstance(table, Table):
        return None
    rows, missing = rows_to_resample(learner, table)
    copy = type(learner)(**learner.get_params())
    copy.set_params(progress=False, time_limit=limit, n_jobs=1, missing=missing)
    done = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StoppedEarly)
        try:
            result = counterpane.bootstrap(
                copy,
                rows,
                samples,
                random_state=seed,
                time_limit=limit,
                n_jobs=learner.n_jobs,
                progress=learner.progress,
            )
            done = result.n
        except KeyboardInterrupt:
            stops.append("the bootstrap")
    for warning in caught:
        if getattr(warning.message, "by_user", True):  # a stop by the time limit is noted below
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    if done >= LEAST_SAMPLES:
        model.record = model.record.with_parts(edge_shares=tuple(result.edges[:MAX_EDGES]))
    return {"samples": done, "requested": samples, "needed": LEAST_SAMPLES,
            "seconds": limit}  # fmt: skip

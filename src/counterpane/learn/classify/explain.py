"""Why a row gets its class probabilities: what each face adds, in the same form for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.errors import DataError
from counterpane.typing import Array, Floats, State

Explanation = list[dict[str, Any]]
NEGLIGIBLE = 1e-9


def explanation(
    faces: Sequence[tuple[str, ...] | None],
    states: Sequence[tuple[State, ...]],
    values: Floats,
    shares: Sequence[float],
    log_proba: Floats,
    classes: Array,
) -> Explanation:
    """What moved the probabilities of one row, the largest first.

    `values`, (faces, classes), are logs that each face adds to each class. A record has `face` (the
    names of its columns; empty for the classes as such), `states` of the row, `share` (the weight
    of the structures or fits that hold the face), `contributions` by class, relative to their mean
    over the classes, and `size`, the largest of these. The contributions of two classes differ, in
    sum over the records, by exactly the log-odds of the two; where averaging over structures is no
    sum over faces, what is left over is the record whose face is None.

    >>> logs = np.log(np.array([0.2, 0.8]))
    >>> record, = explanation([("x",)], [("a",)], logs[None], [1.0], logs, np.array(["n", "y"]))
    >>> record["face"], round(record["contributions"]["y"], 4)
    (('x',), 0.6931)
    """
    centered = values - values.mean(axis=1, keepdims=True)
    left = log_proba - log_proba.mean() - centered.sum(axis=0)
    rows = list(zip(faces, states, shares, centered, strict=True))
    if np.abs(left).max() > NEGLIGIBLE:
        rows.append((None, (), 1.0, left))
    labels = classes.tolist()
    records = [
        {
            "face": face,
            "states": own,
            "share": float(share),
            "contributions": dict(zip(labels, row.tolist(), strict=True)),
            "size": float(np.abs(row).max()),
        }
        for face, own, share, row in rows
    ]
    return sorted(records, key=lambda record: -record["size"])


def one_row(row: Any) -> Any:
    """A single row (a mapping, a series, a list, a frame of one row) as a frame of one row."""
    if hasattr(row, "to_dict") and getattr(row, "ndim", 2) == 1:
        row = row.to_dict()
    if isinstance(row, Mapping):
        return {
            k: [v] if isinstance(v, str) or not hasattr(v, "__len__") else v for k, v in row.items()
        }
    if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
        return np.array([row], dtype=object if isinstance(row, list | tuple) else row.dtype)
    return row


def check_one(n_rows: int) -> None:
    """Refuse more than one row."""
    if n_rows != 1:
        raise DataError(f"{n_rows} rows were given to explain; pass one row at a time.")

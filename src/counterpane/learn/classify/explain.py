"""Why a row gets its class probabilities: what each interaction adds to the log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.errors import DataError
from counterpane.models.effects import log_odds
from counterpane.typing import Array, Floats, State

Explanation = list[dict[str, Any]]
NEGLIGIBLE = 1e-9


def explanation(
    faces: Sequence[tuple[str, ...] | None],
    states: Sequence[tuple[State, ...]],
    values: Floats,
    shares: Sequence[float | None],
    log_proba: Floats,
    classes: Array,
) -> Explanation:
    """What moved the probabilities of one row, the largest first.

    `values`, (faces, classes), are what each interaction adds to the log-odds of each class, as
    `counterpane.models.effects.log_odds` has them. A record has `columns` (the names; empty for the
    classes as such), also as a tuple called `face`, `states` of the row, `share` (the weight of the
    structures that hold the interaction, or the share of half samples; None where neither is
    known), `contributions`, the values by class, and `size`, the largest of these. The
    contributions to a class sum over the records to exactly its log-odds, ln P(class) / P(other
    class) for two classes; where averaging over structures is no sum over interactions, what is
    left over is the record whose columns are None.

    >>> logs = np.log(np.array([0.2, 0.8]))
    >>> odds = log_odds(logs)[None]
    >>> record, = explanation([("x",)], [("a",)], odds, [1.0], logs, np.array(["n", "y"]))
    >>> record["columns"], round(record["contributions"]["y"], 4)
    (['x'], 1.3863)
    """
    left = log_odds(log_proba) - values.sum(axis=0)
    rows = list(zip(faces, states, shares, values, strict=True))
    if np.abs(left).max() > NEGLIGIBLE:
        rows.append((None, (), None, left))
    labels = classes.tolist()
    records = [
        {
            "columns": None if face is None else list(face),
            "face": face,
            "states": own,
            "share": None if share is None else float(share),
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

"""Tables with a column of counts: a row stands for as many rows as that column says."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from counterpane.data.columns import Column, Labels, Numbers, find_column, n_rows
from counterpane.data.fill import gaps_in
from counterpane.errors import DataError, Option
from counterpane.memory import need_memory
from counterpane.typing import Bools

FEW_STATES = 20  # of a column in a table of counts
BYTES = 8  # of a cell of a repeated row
_COUNT_NAME = re.compile(r"(^|[^a-z])(freq|frequency|counts?|weights?|n|cases|total|anzahl)$")


def repeated(columns: Sequence[Column], name: str) -> list[Column]:
    """The other columns, each row as often as the column called `name` says."""
    counts = find_column({c.name: c for c in columns}, name)
    values = counts.values if isinstance(counts, Numbers) else np.array([np.nan])
    wrong: Bools = (values < 0) | (values != np.floor(values)) | gaps_in(counts)
    if not isinstance(counts, Numbers) or counts.dated or wrong.any() or not values.sum():
        raise DataError(
            Option("weights", name),
            " must hold an integer in each row, not all 0: the number of rows that it stands for. "
            "In Python, fit(…, sample_weight=…) takes other weights.",
        )
    total = int(values.sum())
    need_memory(total * len(columns) * BYTES, f"{total:,} rows", "divide the counts")
    rows = np.repeat(np.arange(len(values)), values.astype(np.int64))
    return [column.take(rows) for column in columns if column.name != name]


def count_column(columns: Sequence[Column]) -> str | None:
    """The column that seems to count rows: it is called so, and no row of the others repeats."""
    counts = [c for c in columns if isinstance(c, Numbers) and _is_count(c)]
    others = [c for c in columns if isinstance(c, Labels) and len(c.states) <= FEW_STATES]
    if len(counts) != 1 or len(others) < 2 or len(others) + 1 < len(columns):
        return None
    rows = np.unique(np.stack([c.codes for c in others]), axis=1)
    return counts[0].name if rows.shape[1] == n_rows(counts[0]) else None


def _is_count(column: Numbers) -> bool:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column.name).lower()
    whole = column.distinct.dtype.kind in "iu" and not column.dated and not column.missing.any()
    return whole and int(column.distinct[0]) >= 0 and bool(_COUNT_NAME.search(words))

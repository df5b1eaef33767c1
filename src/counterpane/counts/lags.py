"""Rows in time: columns of earlier rows beside those of the present one."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from counterpane.checks import INTEGER, NONE, STRING, accepts
from counterpane.counts.open import read
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, shown_type, unknown_name
from counterpane.typing import Ints


class LaggedTable(NamedTuple):
    """A table with lagged columns, and the tiers that keep arrows from leading into the past.

    `tiers` has the columns of the oldest slice first; pass it to a learner as `tiers=`.
    """

    table: Table
    tiers: list[list[str]]


@accepts(k=INTEGER, by=STRING | NONE)
def lagged(table: Any, k: int = 1, *, by: str | None = None) -> LaggedTable:
    """The rows of a table with the k rows before each one beside it.

    Rows are in the order of time. Column `x` is the present value, `x[t-1]` that of the row before,
    up to `x[t-k]`. The first k rows, of each series, have no such past and are left out.

    Parameters
    ----------
    table : frame, path or Table
        The rows; a frame or a file is read as by `counterpane.read`, so that numbers are cut at the
        same places in all slices.
    k : int
        The number of earlier rows, at least 1.
    by : str, optional
        A column that tells series apart, such as a patient or a machine; each is lagged on its own.
        It is not among the columns of the result.

    Returns
    -------
    LaggedTable
        `table` and `tiers`.

    Examples
    --------
    >>> import counterpane as cp
    >>> days = {"rain": ["no", "yes", "yes", "no"], "river": ["low", "low", "high", "high"]}
    >>> table, tiers = cp.lagged(days, 1)
    >>> table.n_rows, tiers
    (3, [['rain[t-1]', 'river[t-1]'], ['rain', 'river']])
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ParameterError(f"k={k!r}; one or more earlier rows are needed.")
    rows, series = _read(table, by)
    order = np.argsort(series, kind="stable")
    start = np.r_[0, np.flatnonzero(np.diff(series[order])) + 1]
    age = np.arange(rows.n_rows) - np.repeat(start, np.diff(np.r_[start, rows.n_rows]))
    present = np.flatnonzero(age >= k)
    if not len(present):
        where = "the table" if by is None else f"the longest series of {by!r}"
        raise DataError(
            f"k={k}, but {where} has {int(age.max()) + 1} rows; at least {k + 1} are needed."
        )
    present = present[np.argsort(order[present], kind="stable")]  # as the rows of the table
    kept = [i for i, name in enumerate(rows.schema.names) if name != by]
    codes = np.concatenate([rows.codes[kept][:, order[present - lag]] for lag in range(k + 1)])
    variables, tiers = [], []
    for lag in range(k + 1):
        mark = f"[t-{lag}]" if lag else ""
        slice_ = [replace(rows.schema[i], name=rows.schema.names[i] + mark) for i in kept]
        variables += slice_
        tiers.append([variable.name for variable in slice_])
    weights = None if rows.weights is None else rows.weights[order[present]]
    result = Table(Schema(tuple(variables)), codes, weights)
    result.frame_kind = rows.frame_kind
    return LaggedTable(result, tiers[::-1])


def _read(table: Any, by: str | None) -> tuple[Table, Ints]:
    """The rows, and the number of the series of each."""
    path = isinstance(table, str | os.PathLike)
    rows = table
    if not isinstance(table, Table):
        rows = read(table) if by is None or path else read(table, drop=[by])
    if not isinstance(rows, Table):
        raise DataError(f"{shown_type(rows)} has no rows in order; pass a frame or a Table.")
    if by is None:
        return rows, np.zeros(rows.n_rows, dtype=np.int64)
    if rows is table or path:
        if by not in rows.schema.names:
            raise unknown_name("column", by, rows.schema.names)
        return rows, rows.codes[rows.schema.index(by)].astype(np.int64)
    texts = np.array([str(value) for value in list(table[by])])
    return rows, np.unique(texts, return_inverse=True)[1].astype(np.int64)

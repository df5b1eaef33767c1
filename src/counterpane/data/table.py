"""A table of state codes: schema, column-major codes, optional weights. Read-only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from counterpane.data.schema import Schema, Variable
from counterpane.errors import DataError, ParameterError, WeightError
from counterpane.typing import Array, Bools, Codes, Floats, Ints

Missing = Literal["state", "drop", "error"]


def code_dtype(cards: Ints) -> np.dtype[np.unsignedinteger[Any]]:
    """The narrowest type that holds every code and the missing code."""
    return np.dtype(np.uint8 if cards.max(initial=0) < 256 else np.uint16)


def check_weights(weights: npt.ArrayLike, n_rows: int) -> Ints | Floats:
    """`weights` as int64 where all are whole numbers, else float64; checked and read-only."""
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise WeightError(f"weights have shape {array.shape}; {n_rows} rows need ({n_rows},).")
    if array.dtype.kind not in "biuf":
        raise WeightError(f"weights have type {array.dtype}; whole or real numbers are allowed.")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise WeightError(
            f"the weight of row {row} is {array[row]}; weights must be finite and not negative."
        )
    if n_rows and values.sum() == 0:
        raise WeightError("all weights are zero; at least one row needs a positive weight.")
    whole = bool((values == np.floor(values)).all()) and values.sum() < 2**53
    result: Ints | Floats = values.astype(np.int64) if whole else values
    result.flags.writeable = False
    return result


class Table:
    """Codes of `schema`'s variables, shape (n_variables, n_rows); a missing cell has code `card`.

    Built by `Table.from_frame`, `counterpane.read` or `load_dataset`; from arrays of codes here.

    >>> table = Table(Schema.from_cards([2, 3]), [[0, 1, 1], [2, 0, 3]])
    >>> table.n_rows, table.has_missing.tolist()
    (3, [False, True])
    """

    def __init__(
        self, schema: Schema, codes: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> None:
        given = np.asarray(codes)
        if len(schema) == 0:
            raise DataError("the table has no columns; at least one is needed.")
        if given.ndim != 2 or given.shape[0] != len(schema):
            raise DataError(
                f"codes have shape {given.shape}; ({len(schema)}, rows) is needed: variable by row."
            )
        if given.shape[1] == 0:
            raise DataError("the table has no rows; at least one is needed.")
        largest, smallest = given.max(axis=1), given.min(axis=1)
        for i in np.flatnonzero((largest > schema.cards) | (smallest < 0)):
            raise DataError(
                f"column {schema.names[i]!r} holds a code outside 0 … {schema.cards[i]} "
                f"({schema.cards[i]} marks a missing cell)."
            )
        self.schema = schema
        dtype = code_dtype(schema.cards)
        self.codes: Codes = np.ascontiguousarray(given, dtype=dtype).view(dtype)
        self.codes.flags.writeable = False  # of the view: the caller's array stays as it is
        self.weights = None if weights is None else check_weights(weights, given.shape[1])
        self.has_missing: Bools = largest == schema.cards
        self.has_missing.flags.writeable = False

    @property
    def n_rows(self) -> int:
        """Rows stored, whatever their weights."""
        return int(self.codes.shape[1])

    @property
    def n_columns(self) -> int:
        """Number of variables."""
        return len(self.schema)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows where there are none."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else f", weight {self.total_weight:g}"
        return f"Table({self.n_rows} rows × {self.n_columns} columns{weighted}: {self.schema!r})"

    def column(self, name: str) -> Array:
        """The labels of one column, as an object array; a missing cell is None."""
        variable = self.schema[name]
        labels = np.empty(variable.card + 1, dtype=object)
        labels[:-1] = variable.states
        values: Array = labels[self.codes[self.schema.index(name)]]
        return values

    def select(self, columns: Sequence[str | int]) -> Table:
        """The table of some columns, in the order given."""
        where = [c if isinstance(c, int) else self.schema.index(c) for c in columns]
        return Table(self.schema.select(where), self.codes[where], self.weights)

    def take(self, rows: npt.ArrayLike) -> Table:
        """The table of some rows: positions or a mask."""
        rows = np.asarray(rows)
        weights = None if self.weights is None else self.weights[rows]
        return Table(self.schema, self.codes[:, rows], weights)

    def reweighted(self, weights: npt.ArrayLike | None) -> Table:
        """The same rows with other weights."""
        return Table(self.schema, self.codes, weights)

    def distinct(self, columns: Sequence[str | int] | None = None) -> Table:
        """Distinct rows over some columns, sorted, each with the weight of its copies.

        Whole weights stay whole, so that every count is unchanged to the last bit.
        """
        part = self if columns is None else self.select(columns)
        order = np.lexsort(part.codes[::-1])
        ordered = part.codes[:, order]
        fresh = np.ones(part.n_rows, dtype=bool)
        fresh[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
        starts = np.flatnonzero(fresh)
        if part.weights is None:
            weights: Ints | Floats = np.diff(np.append(starts, part.n_rows))
        else:
            weights = np.add.reduceat(part.weights[order], starts)
        return Table(part.schema, ordered[:, starts], weights)

    def resolve_missing(self, policy: Missing) -> Table:
        """A table without missing codes.

        `"state"` makes missing a last state (None) of each column that has such cells, `"drop"`
        keeps the complete rows, `"error"` raises if there is any.
        """
        if policy not in ("state", "drop", "error"):
            raise ParameterError(f"missing={policy!r}; 'state', 'drop' or 'error' is allowed.")
        if not self.has_missing.any():
            return self
        if policy == "state":
            schema = with_missing_state(self.schema, self.has_missing)
            return Table(schema, self.codes, self.weights)
        incomplete = (self.codes == self.schema.cards[:, None]).any(axis=0)
        if policy == "drop":
            if incomplete.all():
                raise DataError(
                    f"each of {self.n_rows} rows has a missing cell; pass missing='state'."
                )
            return self.take(~incomplete)
        name = self.schema.names[int(np.argmax(self.has_missing))]
        raise DataError(
            f"column {name!r} has missing cells ({int(incomplete.sum())} of {self.n_rows} rows are "
            "incomplete); pass missing='state' or missing='drop'."
        )


def with_missing_state(schema: Schema, columns: Iterable[bool]) -> Schema:
    """`schema` with one more state, None, for the columns flagged."""
    return Schema(
        Variable(v.name, (*v.states, None), v.cuts) if flag else v
        for v, flag in zip(schema, columns, strict=True)
    )

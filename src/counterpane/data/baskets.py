"""Baskets: rows that list the items they have, never written out as a table of zeros and ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane.checks import NONE, SEQUENCE, accepts, instance_of
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, TableSizeError
from counterpane.lazy import lazy
from counterpane.memory import need_memory
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Codes, Ints

sparse = lazy("scipy.sparse")

MAX_DENSE = 2**33  # cells that are written out where a method needs them all


class BasketLists(NamedTuple):
    """The items of each row and the rows of each item, end to end; what kernels read."""

    row_from: Ints
    row_items: Array
    item_from: Ints
    item_rows: Array


class Baskets:
    """Rows of 0 and 1 by their ones: memory is proportional to the items that rows have.

    Parameters
    ----------
    schema : Schema
        A column of two states for each item.
    rows, items : arrays of int
        The row and the item of each entry, in any order; an entry that occurs twice counts once.
    n_rows : int
        The number of rows, those without items included.

    Attributes
    ----------
    schema : Schema
        The items.
    n_rows : int
        The number of rows.
    lists : BasketLists
        The items of each row and the rows of each item.

    Examples
    --------
    >>> baskets = read_baskets([["tea", "jam"], ["tea"], []])
    >>> baskets, baskets.items_of(0).tolist()
    (Baskets(3 rows × 2 items, 3 entries), [0, 1])
    """

    def __init__(
        self, schema: Schema, rows: npt.ArrayLike, items: npt.ArrayLike, n_rows: int
    ) -> None:
        if n_rows < 1 or len(schema) < 1:
            raise DataError(
                f"the baskets have {n_rows} rows and {len(schema)} items; one at least is needed."
            )
        if (schema.cards != 2).any():
            name = schema.names[int(np.argmax(schema.cards != 2))]
            raise DataError(f"column {name!r} has not two states; an item is in a row or not.")
        matrix = sparse.csr_array(
            (np.ones(np.size(rows), dtype=np.int8), (rows, items)), shape=(n_rows, len(schema))
        )
        matrix.sum_duplicates()
        self._set(schema, matrix.indptr, matrix.indices)

    def _set(self, schema: Schema, row_from: Array, row_items: Array) -> None:
        """Take sorted lists of items, and list the rows of each item."""
        self.schema = schema
        self.n_rows = len(row_from) - 1
        columns = sparse.csr_array(
            (np.ones(len(row_items), dtype=np.int8), row_items, row_from),
            shape=(self.n_rows, len(schema)),
        ).tocsc()
        self.lists = BasketLists(
            np.asarray(row_from, dtype=np.int64), np.asarray(row_items, dtype=np.int32),
            np.asarray(columns.indptr, dtype=np.int64), np.asarray(columns.indices, dtype=np.int32),
        )  # fmt: skip

    def __repr__(self) -> str:
        size = f"{self.n_rows:,} rows × {self.n_columns:,} items"
        return f"Baskets({size}, {self.n_entries:,} entries)"

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_columns(self) -> int:
        """The number of items."""
        return len(self.schema)

    @property
    def n_entries(self) -> int:
        """The number of items of all rows together."""
        return len(self.lists.row_items)

    @property
    def n_cells(self) -> int:
        """Rows × items: what a table of bytes would take."""
        return self.n_rows * self.n_columns

    @cached_property
    def counts(self) -> Ints:
        """The number of rows that have each item."""
        return np.diff(self.lists.item_from)

    @property
    def sizes(self) -> Ints:
        """The number of items of each row."""
        return np.diff(self.lists.row_from)

    def items_of(self, row: int) -> Ints:
        """The items of one row, sorted."""
        begin, end = self.lists.row_from[row : row + 2]
        items: Ints = self.lists.row_items[begin:end].astype(np.int64)
        return items

    def codes_of(self, rows: npt.ArrayLike) -> Codes:
        """Some rows written out, shape (items, rows)."""
        where = np.asarray(rows, dtype=np.int64)
        need_memory(len(where) * self.n_columns, f"{len(where):,} rows of baskets", "take fewer")
        codes: Codes = np.zeros((self.n_columns, len(where)), dtype=np.uint8)
        for place, row in enumerate(where.tolist()):
            codes[self.items_of(row), place] = 1
        return codes

    def take(self, rows: npt.ArrayLike) -> Baskets:
        """The baskets of some rows: positions, perhaps repeated, or a mask."""
        where = np.asarray(rows)
        where = np.flatnonzero(where) if where.dtype == bool else where.astype(np.int64)
        sizes = self.sizes[where]
        row_from = offsets_of(sizes)
        places = np.repeat(self.lists.row_from[where] - row_from[:-1], sizes)
        taken = Baskets.__new__(Baskets)
        taken._set(
            self.schema, row_from, self.lists.row_items[places + np.arange(int(row_from[-1]))]
        )
        return taken

    def to_table(self) -> Table:
        """All rows written out, a byte for each cell, if they fit."""
        if self.n_cells > MAX_DENSE:
            raise TableSizeError(
                f"{self.n_rows:,} rows × {self.n_columns:,} items exceed {MAX_DENSE:,} cells; take "
                "fewer rows or items, or a method that reads baskets as they are: hybrid random "
                "fields, dependency networks, pairwise Markov networks, LinkRanker."
            )
        need_memory(self.n_cells, f"{self.n_rows:,} rows × {self.n_columns:,} items", "take fewer")
        codes: Codes = np.zeros((self.n_columns, self.n_rows), dtype=np.uint8)
        codes[np.repeat(np.arange(self.n_columns), self.counts), self.lists.item_rows] = 1
        return Table(self.schema, codes)


def items_schema(items: Iterable[Any]) -> Schema:
    """A column of the states 0 and 1 for each item, under its name as text."""
    return Schema(Variable(str(name), (0, 1)) for name in items)


@accepts(schema=instance_of(Schema) | NONE, items=SEQUENCE | NONE)
def read_baskets(
    X: Any, *, items: Sequence[Any] | None = None, schema: Schema | None = None
) -> Baskets:
    """The baskets of a scipy matrix (rows × items), or of lists of items, one for each row.

    Every learner takes them in place of a table. Hybrid random fields, dependency networks,
    pairwise Markov networks and `LinkRanker` read them as they are; other learners need them
    written out, if that fits.

    Parameters
    ----------
    X : scipy sparse matrix, or iterable of iterables
        Entries other than 0 and 1 are an error. Items in lists are names; they are sorted.
    items : sequence, optional
        The names of the columns of a matrix, by default `item0`, `item1`, …
    schema : Schema, optional
        The items of a model; other items are an error.

    Returns
    -------
    Baskets
        The rows.

    Examples
    --------
    >>> read_baskets([["tea", "jam"], {"tea", "ham"}]).schema.names
    ('ham', 'jam', 'tea')
    """
    if isinstance(X, Baskets):
        return X
    if sparse.issparse(X):
        return _of_matrix(X, items, schema)
    if items is not None:
        raise ParameterError("items name the columns of a matrix; lists have their own names.")
    return _of_lists(X, schema)


def is_baskets(X: Any) -> bool:
    """Whether `X` is a sparse matrix or a list of sets: baskets, whatever else they might mean."""
    if isinstance(X, Baskets) or type(X).__module__.startswith("scipy.sparse"):
        return True
    return (
        isinstance(X, list | tuple) and bool(X) and all(isinstance(x, set | frozenset) for x in X)
    )


def _of_matrix(X: Any, items: Sequence[Any] | None, schema: Schema | None) -> Baskets:
    if X.ndim != 2:
        raise DataError(f"a matrix of rows × items is needed; got {X.ndim} dimensions.")
    n_rows, n_items = X.shape
    if schema is not None and items is None and n_items != len(schema):
        raise DataError(f"the matrix has {n_items} columns; the model knows {len(schema)} items.")
    if items is not None and len(items) != n_items:
        raise DataError(f"{len(items)} items are named for a matrix of {n_items} columns.")
    entries = X.tocoo()
    odd = entries.data[(entries.data != 0) & (entries.data != 1)]
    if odd.size:
        raise DataError(
            f"an entry is 0 or 1, and the matrix holds {odd[0]}; pass (matrix > 0), say."
        )
    names = [f"item{j}" for j in range(n_items)] if items is None else items
    known = items_schema(names) if schema is None else schema
    rows, columns = entries.row, entries.col
    if not entries.data.all():
        rows, columns = rows[entries.data != 0], columns[entries.data != 0]
    if schema is not None and items is not None:
        columns = np.array([known.index(str(name)) for name in items], dtype=np.int64)[columns]
    return Baskets(known, rows, columns, n_rows)


def _of_lists(X: Iterable[Any], schema: Schema | None) -> Baskets:
    if not isinstance(X, Iterable):
        raise DataError(f"baskets cannot be read from {X!r}; a list of lists of items is needed.")
    place: dict[str, int] = {} if schema is None else {n: i for i, n in enumerate(schema.names)}
    codes: list[int] = []
    sizes: list[int] = []
    for number, basket in enumerate(X):
        if isinstance(basket, str) or not isinstance(basket, Iterable):
            raise DataError(f"row {number}: {basket!r} is no list of items; pass a list or a set.")
        names = [str(item) for item in basket]
        if schema is None:
            codes += [place.setdefault(name, len(place)) for name in names]
        else:
            codes += [place[n] if n in place else schema.index(n) for n in names]
        sizes.append(len(names))
    columns: Ints = np.array(codes, dtype=np.int64)
    if schema is None:
        ordered = sorted(place)
        schema = items_schema(ordered)
        where: Ints = np.empty(len(place), dtype=np.int64)
        where[[place[name] for name in ordered]] = np.arange(len(place))
        columns = where[columns] if columns.size else columns
    return Baskets(schema, np.repeat(np.arange(len(sizes)), sizes), columns, len(sizes))

"""Links between users and items as a table: a row a user, a column of 0 and 1 an item."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from counterpane.checks import NONE, SEQUENCE, STRING, accepts, instance_of
from counterpane.data.baskets import Baskets, items_schema, read_baskets
from counterpane.data.columns import Column, Labels, columns_of, find_column
from counterpane.data.reading import read_columns
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting
from counterpane.typing import Array, Codes, Ints

DENSE_CELLS = 2**26  # of users × items: up to so many are written out, a byte each
SUGGESTED = (("user", "item"), ("source", "target"), ("citing", "cited"), ("from", "to"))


class Links(NamedTuple):
    """What `read_links` returns: the table or baskets, and the users in the order of the rows."""

    table: Any
    users: tuple[Any, ...]


@accepts(
    schema=instance_of(Schema) | NONE, items=SEQUENCE | NONE, user=STRING | NONE, item=STRING | NONE
)
def read_links(
    X: Any,
    *,
    items: Sequence[Any] | None = None,
    user: str | None = None,
    item: str | None = None,
    schema: Schema | None = None,
) -> Links:
    """The links in a matrix (users × items), baskets, an edge list, or a table of 0 and 1.

    A matrix is dense or sparse; baskets are lists of items, one for each user. An edge list is a
    frame, a mapping of columns or the path of a file, with one row per link. Duplicate links count
    once. Users and items are in the order of their sorted names. A frame of which all cells are 0,
    1 or booleans has a column for each item and a row for each user, unless `user` and `item` name
    its columns. Above 64 million cells the links stay lists.

    Parameters
    ----------
    X : matrix, list, frame, mapping or path
        The links.
    items : sequence, optional
        The names of the columns of a matrix.
    user, item : str, optional
        The columns of an edge list; by default `user` and `item`, or the first and the second of
        two columns.
    schema : Schema, optional
        The items of a model; other items are an error.

    Returns
    -------
    Links
        The table, and the users in the order of its rows.

    Examples
    --------
    >>> links = read_links({"user": ["ann", "ann", "bob"], "item": ["tea", "jam", "tea"]})
    >>> links.table.schema.names, links.users, links.table.codes.T.tolist()
    (('jam', 'tea'), ('ann', 'bob'), [[1, 1], [0, 1]])
    """
    if isinstance(X, Table):
        return Links(_checked(X, schema), tuple(range(X.n_rows)))
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise DataError(f"a matrix of users × items is needed; got {X.ndim} dimensions.")
        X = sparse.csr_array(X)
    if isinstance(X, Baskets | list | tuple) or sparse.issparse(X):
        baskets = read_baskets(X, items=items, schema=schema)
        return Links(_dense_if_small(baskets), tuple(range(baskets.n_rows)))
    if items is not None:
        raise ParameterError("items name the columns of a matrix; an edge list has its own names.")
    columns = columns_of(read_columns(X, strict=True) if isinstance(X, str | os.PathLike) else X)
    by_name = {column.name: column for column in columns}
    if user is None and item is None and not any(set(pair) <= set(by_name) for pair in SUGGESTED):
        flags = [_flags(column) for column in columns]
        if flags and all(each is not None for each in flags):
            matrix = sparse.csr_array(np.array(flags).T)
            baskets = read_baskets(matrix, items=list(by_name), schema=schema)
            return Links(_dense_if_small(baskets), tuple(range(baskets.n_rows)))
    user, item = _link_columns(tuple(by_name), user, item)
    ends = [find_column(by_name, name) for name in (user, item)]
    users, things = (c if isinstance(c, Labels) else c.labels() for c in ends)
    for labels in (users, things):
        if (labels.codes < 0).any():
            row = int(np.argmax(labels.codes < 0))
            raise DataError(f"column {labels.name!r}, row {row}: a link needs both of its ends.")
    item_schema = items_schema(things.states) if schema is None else schema
    place = np.array([item_schema.index(str(name)) for name in things.states], dtype=np.int64)
    linked = Baskets(item_schema, users.codes, place[things.codes], len(users.states))
    return Links(_dense_if_small(linked), users.states)


def numbers_of_links(table: Table | Baskets) -> Ints:
    """The number of items of each user."""
    if isinstance(table, Baskets):
        return table.sizes
    sizes: Ints = table.codes.sum(axis=0, dtype=np.int64)
    return sizes


def items_of_user(table: Table | Baskets, user: int) -> Ints:
    """The items of one user, by position."""
    if isinstance(table, Baskets):
        return table.items_of(user)
    return np.flatnonzero(table.codes[:, user])


def codes_of_users(table: Table | Baskets, users: Ints | slice) -> Codes:
    """The codes of some users, shape (items, users)."""
    if isinstance(table, Baskets):
        return table.codes_of(np.arange(table.n_rows)[users])
    return np.ascontiguousarray(table.codes[:, users])


def _link_columns(names: tuple[str, ...], user: str | None, item: str | None) -> tuple[str, str]:
    """The names of the users' and the items' columns."""
    if user is not None and item is not None:
        return user, item
    if user is None and item is None:
        for pair in SUGGESTED:
            if set(pair) <= set(names):
                return pair
        if len(names) == 2:
            return names[0], names[1]
    raise ParameterError(
        Setting("user", user),
        ", ",
        Setting("item", item),
        ": which columns hold the links is not clear; name both, among "
        f"{', '.join(map(repr, names[:12]))}.",
    )


def _flags(column: Column) -> Array | None:
    """The cells of a column of 0 and 1, or of booleans; None of any other one."""
    labels = column if isinstance(column, Labels) else column.labels()
    if (labels.codes < 0).any() or not set(labels.states) <= {0, 1}:  # False == 0
        return None
    flags: Array = np.array(labels.states, dtype=np.uint8)[labels.codes]
    return flags


def _dense_if_small(baskets: Baskets) -> Table | Baskets:
    """Few cells are written out, which is faster; many stay lists."""
    return baskets.to_table() if baskets.n_cells <= DENSE_CELLS else baskets


def _checked(table: Table, schema: Schema | None) -> Table:
    """A table of zeros and ones, with the columns of `schema`."""
    if schema is not None and table.schema != schema:
        table = Table.from_frame(table, schema=schema)
    for variable, missing in zip(table.schema, table.has_missing, strict=True):
        if variable.card != 2 or missing:
            raise DataError(
                f"column {variable.name!r} has {variable.card} states or missing cells; a column "
                "of links says for each user 0 or 1."
            )
    return table


def chosen_codes(chosen: Any, schema: Schema) -> Array:
    """One user's row of codes: 1 for each of the items in `chosen`, names or {name: anything}."""
    if isinstance(chosen, str):
        raise ParameterError(f"items were given as the text {chosen!r}; pass a list of names.")
    names = list(chosen.keys() if isinstance(chosen, Mapping) else chosen)
    row = np.zeros(len(schema), dtype=np.uint8)
    row[list(schema.indices(map(str, names)))] = 1
    return row

"""Links between users and items as a table: a row a user, a column of 0 and 1 an item."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from counterpane.data.columns import Labels, columns_of, find_column
from counterpane.data.files import read_columns
from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting, TableSizeError
from counterpane.typing import Array, Codes

MAX_CELLS = 2**33  # of users × items, a byte each
SUGGESTED = (("user", "item"), ("source", "target"), ("citing", "cited"), ("from", "to"))


class Links(NamedTuple):
    """What `read_links` returns: the table, and the users in the order of its rows."""

    table: Table
    users: tuple[Any, ...]


def read_links(
    X: Any,
    *,
    items: Sequence[Any] | None = None,
    user: str | None = None,
    item: str | None = None,
    schema: Schema | None = None,
) -> Links:
    """The links in a sparse or dense matrix (users × items), an edge list, or a table of 0 and 1.

    An edge list is a frame, a mapping of columns or the path of a file, with one row per link.
    Duplicate links count once. Users and items are in the order of their sorted names.

    Parameters
    ----------
    X : matrix, frame, mapping or path
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
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        return _of_matrix(X, items, schema)
    if items is not None:
        raise ParameterError("items name the columns of a matrix; an edge list has its own names.")
    columns = columns_of(read_columns(X, strict=True) if isinstance(X, str | os.PathLike) else X)
    by_name = {column.name: column for column in columns}
    user, item = _link_columns(tuple(by_name), user, item)
    ends = [find_column(by_name, name) for name in (user, item)]
    users, things = (c if isinstance(c, Labels) else c.labels() for c in ends)
    for labels in (users, things):
        if (labels.codes < 0).any():
            row = int(np.argmax(labels.codes < 0))
            raise DataError(f"column {labels.name!r}, row {row}: a link needs both of its ends.")
    item_schema = links_schema(things.states) if schema is None else schema
    place = np.array([item_schema.index(str(name)) for name in things.states], dtype=np.int64)
    codes = _empty(len(item_schema), len(users.states))
    codes[place[things.codes], users.codes] = 1
    return Links(Table(item_schema, codes), users.states)


def links_schema(items: Sequence[Any]) -> Schema:
    """A column of the states 0 and 1 for each item, under its name as text."""
    return Schema(Variable(str(name), (0, 1)) for name in items)


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


def _of_matrix(X: Any, items: Sequence[Any] | None, schema: Schema | None) -> Links:
    if X.ndim != 2:
        raise DataError(f"a matrix of users × items is needed; got {X.ndim} dimensions.")
    n_users, n_items = X.shape
    if schema is not None and (items is None and n_items != len(schema)):
        raise DataError(f"the matrix has {n_items} columns; the model knows {len(schema)} items.")
    if items is not None and len(items) != n_items:
        raise DataError(f"{len(items)} items are named for a matrix of {n_items} columns.")
    entries = sparse.coo_array(X)
    if not np.isin(entries.data, (0, 1)).all():
        odd = entries.data[~np.isin(entries.data, (0, 1))][0]
        raise DataError(f"a link is 0 or 1, and the matrix holds {odd}; pass (matrix > 0), say.")
    names = [f"item{j}" for j in range(n_items)] if items is None else items
    item_schema = links_schema(names) if schema is None else schema
    place = np.arange(n_items)
    if items is not None:
        place = np.array([item_schema.index(str(name)) for name in items], dtype=np.int64)
    codes = _empty(len(item_schema), n_users)
    linked = entries.data != 0
    codes[place[entries.coords[1][linked]], entries.coords[0][linked]] = 1
    return Links(Table(item_schema, codes), tuple(range(n_users)))


def _empty(n_items: int, n_users: int) -> Codes:
    """No links, where a byte for each possible one fits."""
    if n_items * n_users > MAX_CELLS:
        raise TableSizeError(
            f"{n_users:,} users × {n_items:,} items exceed {MAX_CELLS:,} cells; take fewer users, "
            "or the items with more than a few links."
        )
    codes: Codes = np.zeros((n_items, n_users), dtype=np.uint8)
    return codes


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

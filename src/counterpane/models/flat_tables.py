"""Tables of many families in one flat array."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from counterpane.counts.layout import CountBatch
from counterpane.data.schema import Schema
from counterpane.errors import ParameterError, ScopeError
from counterpane.ragged import flatten, offsets_of, split
from counterpane.typing import Array, Floats, Ints


def as_numbers(values: npt.ArrayLike, what: str) -> Floats:
    """`values` as a table of numbers; `what` it is, for the error."""
    try:
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError(f"{what} is not a full table of numbers; a row is missing.") from None


def joined_tables(
    schema: Schema,
    shapes: Sequence[tuple[int, ...]],
    given: Sequence[npt.ArrayLike] | CountBatch,
    what: str,
) -> Floats:
    """Tables of the given shapes as one flat array."""
    if isinstance(given, CountBatch) and given.layout.n_cells == sum(map(math.prod, shapes)):
        return given.joined().astype(np.float64)  # one table a family, as they were asked for
    tables = [
        as_numbers(t, f"{what} of {name!r}") for t, name in zip(given, schema.names, strict=True)
    ]
    for table, shape, name in zip(tables, shapes, schema.names, strict=True):
        if table.shape != shape:
            raise ScopeError(
                f"{what} of {name!r} have the shape {table.shape}; {shape} is needed: the parents "
                "in schema order, then itself."
            )
    return flatten(tables, np.float64)


def cut_at(array: Array, sizes: Ints) -> list[Array]:
    """`array` in pieces of the given sizes, which must use it up."""
    if (sizes < 0).any() or sizes.sum() != array.size:
        raise ScopeError(f"{array.size} entries cannot be cut into pieces of {sizes.sum()}.")
    return split(array, offsets_of(sizes))


def shaped_tables(array: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The tables of the given shapes that `array` holds end to end."""
    sizes = np.array([math.prod(shape) for shape in shapes])
    return [part.reshape(s) for part, s in zip(cut_at(array, sizes), shapes, strict=True)]

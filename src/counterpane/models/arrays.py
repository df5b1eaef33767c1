"""Models as int64 and float64 arrays, for files; tables of many families end to end.

The module of a kind of model registers how it is written and read; nested models have prefixes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from counterpane.counts.layout import CountBatch
from counterpane.data.schema import Schema
from counterpane.errors import ParameterError, ScopeError, unknown_name
from counterpane.models.record import LearningRecord
from counterpane.ragged import flatten, offsets_of, split
from counterpane.typing import Array, Floats, Ints

Arrays = Mapping[str, Array]
Writer = Callable[[Any], dict[str, Array]]
Reader = Callable[[Schema, Arrays, LearningRecord | None], Any]

_FORMS: dict[str, tuple[Writer, Reader]] = {}


def store_as(kind: str, write: Writer, read: Reader) -> None:
    """Register how models of a kind become arrays, and come back with their schema and record."""
    _FORMS[kind] = write, read


def arrays_of(model: Any) -> dict[str, Array]:
    """All that `model_from_arrays` needs beside the schema."""
    return _FORMS[model.kind][0](model)


def model_from_arrays(
    kind: str, schema: Schema, arrays: Arrays, record: LearningRecord | None
) -> Any:
    """The model that `arrays_of` described."""
    if kind not in _FORMS:
        raise unknown_name("kind of model", kind, _FORMS)
    return _FORMS[kind][1](schema, arrays, record)


def with_prefix(prefix: object, arrays: Arrays) -> dict[str, Array]:
    """The arrays of a part, under names that begin with a prefix and a dot."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def by_prefix(arrays: Arrays) -> dict[str, dict[str, Array]]:
    """The arrays of each part by its prefix; those without a part are under their own name.

    >>> by_prefix({"total": np.ones(1), "0.cells": np.ones(2)})["0"]["cells"].size
    2
    """
    groups: dict[str, dict[str, Array]] = {}
    for name, array in arrays.items():
        prefix, _, rest = name.partition(".")
        groups.setdefault(prefix, {})[rest] = array
    return groups


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

"""Files that hold the state of a search, and their validation.

A state is any nesting of named tuples, tuples, lists, dictionaries, sets, arrays and plain values.
Its types are those of the annotated fields of its named tuples. A file is read back by these types.
An array has the shape that it has in the first state of the search, except that an array without
rows, or one that is declared as `GROWS`, may have any number of rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import CounterpaneError, FitError
from counterpane.formats.native import Content, read_native, write_native
from counterpane.typing import Array

GROWS = "the number of rows changes"
"""Declares an array, as in `Annotated[Ints, GROWS]`."""

ARRAY = "array"  # the key of a packed array

S = TypeVar("S")


class Saved(NamedTuple, Generic[S]):
    """The state of a search, the records of its steps, and the seconds that they took."""

    state: S
    trace: list[dict[str, Any]]
    spent: float


def write_checkpoint(
    path: str | os.PathLike[str], schema: Schema, fingerprint: Mapping[str, Any], saved: Saved[Any]
) -> None:
    """Write a state, whole or not at all; `fingerprint` says whose state it is."""
    packing = Packing()
    note = {
        "fingerprint": fingerprint,
        "state": packing.pack(saved.state),
        "shapes": [[array.dtype.str, *array.shape] for array in packing.arrays],
        "trace": saved.trace,
        "spent": saved.spent,
    }
    write_native(path, Content("checkpoint", schema, packing.joined(), note))


def read_checkpoint(
    path: str | os.PathLike[str],
    schema: Schema,
    fingerprint: Mapping[str, Any],
    fresh: S,
    kind: Any,
    check: Callable[[S], None],
) -> Saved[S]:
    """Read the state that `write_checkpoint` wrote.

    `fresh` is the first state of the search, `kind` the type of all, and `check` raises ValueError
    for a state that the search cannot have.
    """
    content = read_native(path)
    note = content.note
    same = json.loads(json.dumps(fingerprint)) == note.get("fingerprint")
    if content.kind != "checkpoint" or content.schema != schema or not same:
        raise FitError(
            f"{str(path)!r} is not a checkpoint of this learner on this data; "
            "delete it, or name another file."
        )
    try:
        arrays = list(split_arrays(note["shapes"], content.arrays))
        state = Unpacking(arrays).unpack(note["state"], kind, fresh, "the state")
        check(state)
        trace = [_checked_record(record) for record in note["trace"]]
        return Saved(state, trace, float(note["spent"]))
    except (LookupError, TypeError, ValueError, OverflowError, CounterpaneError) as error:
        raise FitError(
            f"the checkpoint {str(path)!r} is damaged ({error}); delete it, or name another file."
        ) from None


def check_range(name: str, values: Any, low: float, stop: float) -> None:
    """Raise a `ValueError` unless all values of a state are from `low` up to, not with, `stop`."""
    array = np.asarray(values)
    if array.size and not (array.min() >= low and array.max() < stop):
        raise ValueError(f"{name} is out of range")


class Packing:
    """Turns values into JSON; arrays are put aside, each one once."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._places: dict[int, int] = {}

    def pack(self, value: Any) -> Any:
        """Return a value as JSON; of an array, its place in `arrays`."""
        if isinstance(value, np.ndarray):
            if id(value) not in self._places:
                self._places[id(value)] = len(self.arrays)
                self.arrays.append(value)
            return {ARRAY: self._places[id(value)]}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Mapping):
            return [[self.pack(key), self.pack(item)] for key, item in value.items()]
        if isinstance(value, Collection) and not isinstance(value, str):
            return [self.pack(item) for item in value]
        return value

    def joined(self) -> dict[str, Array]:
        """Return the numbers of all arrays, integers and floats apart."""
        ints, floats = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for array in self.arrays:
            kind = floats if array.dtype.kind == "f" else ints
            kind.append(np.ascontiguousarray(array).reshape(-1).astype(kind[0].dtype))
        return {"ints": np.concatenate(ints), "floats": np.concatenate(floats)}


def split_arrays(shapes: Any, joined: Mapping[str, Array]) -> Iterator[Array]:
    """Yield the arrays of which `Packing.joined` has the numbers."""
    used = {"ints": 0, "floats": 0}
    for text, *shape in shapes:
        dtype = np.dtype(text)
        if dtype.kind not in "iufb" or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"an array has the type {text!r} and the shape {shape}")
        name = "floats" if dtype.kind == "f" else "ints"
        first = used[name]
        used[name] = stop = first + int(np.prod(shape, dtype=object))
        if stop > len(joined[name]):
            raise ValueError("numbers are missing")
        yield joined[name][first:stop].astype(dtype).reshape(shape)
    if any(used[name] != len(joined[name]) for name in used):
        raise ValueError("there are more numbers than arrays have")


class Unpacking:
    """Turns what `Packing` made into values of given types."""

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays = arrays

    def unpack(self, packed: Any, kind: Any, fresh: Any, name: str) -> Any:
        """Return a value of a type; `fresh` is the value in the first state, None without one."""
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Annotated:
            grown = fresh[:0] if kind.__metadata__ == (GROWS,) and fresh is not None else fresh
            return self.unpack(packed, parts[0], grown, name)
        if origin in (Union, UnionType):
            return self._first_of(packed, parts, fresh, name)
        if kind is np.ndarray or origin is np.ndarray:
            return self._array(packed, parts, fresh, name)
        if kind is float and type(packed) is int:
            return float(packed)
        if kind in (bool, int, float, str, type(None)):
            return _accept(packed, type(packed) is kind, name)
        if origin is Literal:
            return _accept(packed, isinstance(packed, str) and packed in parts, name)
        _accept(packed, isinstance(packed, list), name)
        if origin is dict:
            return dict(self._all(pair, parts, None, name) for pair in packed)
        if origin is tuple and parts[1:] != (...,):
            return tuple(self._all(packed, parts, fresh, name))
        if origin is not None:
            return origin(self.unpack(item, parts[0], None, name) for item in packed)
        return kind(*self._all(packed, tuple(_hints(kind).values()), fresh, name, kind._fields))

    def _all(
        self,
        packed: Any,
        kinds: tuple[Any, ...],
        fresh: Any,
        name: str,
        names: tuple[str, ...] | None = None,
    ) -> list[Any]:
        """Return values of several types."""
        _accept(packed, isinstance(packed, list) and len(packed) == len(kinds), name)
        firsts = [None] * len(kinds) if fresh is None else fresh
        fields = zip(packed, kinds, firsts, names or [name] * len(kinds), strict=True)
        return [self.unpack(*field) for field in fields]

    def _first_of(self, packed: Any, kinds: Iterable[Any], fresh: Any, name: str) -> Any:
        """Return a value of the first type that fits."""
        for kind in kinds:
            try:
                return self.unpack(packed, kind, fresh, name)
            except ValueError:
                continue
        return _accept(packed, False, name)

    def _array(self, packed: Any, parts: tuple[Any, ...], fresh: Any, name: str) -> Array:
        """Return an array of the type and the shape of the one in the first state."""
        _accept(packed, isinstance(packed, dict) and type(packed.get(ARRAY)) is int, name)
        array: Array = self.arrays[packed[ARRAY]]
        scalar = get_args(parts[1])[0] if parts else Any
        scalar = np.generic if scalar is Any else get_origin(scalar) or scalar
        _accept(packed, issubclass(array.dtype.type, scalar), name)
        if isinstance(fresh, np.ndarray):
            grown = fresh.shape[:1] == (0,) and array.ndim > 0
            shape = (len(array), *fresh.shape[1:]) if grown else fresh.shape
            if (array.dtype, array.shape) != (fresh.dtype, shape):
                raise ValueError(f"{name} has the type {array.dtype} and the shape {array.shape}")
        return array


_hints = cache(lambda kind: get_type_hints(kind, include_extras=True))


def _accept(packed: Any, good: bool, name: str) -> Any:
    """Return what was packed if it is good."""
    if not good:
        raise ValueError(f"{name} has a value of another type")
    return packed


def _checked_record(record: Any) -> dict[str, Any]:
    """Return the record of a step, whose values are plain ones and lists."""

    def is_plain(value: Any) -> bool:
        if isinstance(value, list):
            return all(map(is_plain, value))
        return value is None or isinstance(value, bool | int | float | str)

    if not isinstance(record, dict) or not all(map(is_plain, record.values())):
        raise ValueError("a record of a step has a value of another type")
    return record

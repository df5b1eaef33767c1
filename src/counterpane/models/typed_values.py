"""Frozen dataclasses as plain values for JSON, and back with every type checked."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from counterpane.errors import shown_type


def plain(value: Any) -> Any:
    """A value as JSON holds it: dataclasses are objects without the fields at their default."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: plain(own)
            for f in fields(value)
            if (own := getattr(value, f.name)) != _default(f)
            or f.default is MISSING is f.default_factory
        }
    if isinstance(value, Mapping):
        return {key: plain(own) for key, own in value.items()}
    if isinstance(value, tuple | list):
        return [plain(own) for own in value]
    return value.item() if isinstance(value, np.generic) else value


def typed(kind: Any, value: Any, where: str = "value") -> Any:
    """The value of a type that `plain` wrote; TypeError, with the place, if it has another shape.

    >>> typed(tuple[int, ...], [1, 2]), typed(float | None, None)
    ((1, 2), None)
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return None if value is None else typed(_first(parts), value, where)
    if is_dataclass(kind):
        return _typed_fields(kind, value, where)
    if origin is tuple and isinstance(value, list):
        if parts[-1] is ...:
            return tuple(typed(parts[0], own, where) for own in value)
        if len(parts) == len(value):
            return tuple(typed(p, own, where) for p, own in zip(parts, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        return {key: typed(parts[1], own, where) for key, own in value.items()}
    accepted = (int, float) if kind is float else kind
    if (
        origin is None
        and isinstance(value, accepted)
        and (kind is bool or not isinstance(value, bool))
    ):
        return value
    raise TypeError(f"the record has a strange {where}: {shown_type(value)}")


def _typed_fields(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"the record has a strange {where}: {shown_type(value)}")
    hints = _hints(kind)
    strange = value.keys() - hints.keys()
    if strange:
        raise TypeError(f"the record has a strange {where}: it has no {min(strange)!r}")
    return kind(**{name: typed(hints[name], own, name) for name, own in value.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _first(parts: tuple[Any, ...]) -> Any:
    """The type beside None in a union."""
    return next(part for part in parts if part is not types.NoneType)


def _default(field: Any) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default

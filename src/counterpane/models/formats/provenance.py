"""What a file says of a model's learning has the shape that predictions and reports read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Shape = Callable[[Any], bool]


def _any(value: Any) -> bool:
    return True


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _maybe(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def _list_of(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def _row(*shapes: Shape) -> Shape:
    """A list with one value of each shape."""
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(shapes)
        and all(shape(some) for shape, some in zip(shapes, value, strict=True))
    )


def _each(shape: Shape) -> Shape:
    """A record with values of one shape."""
    return lambda value: isinstance(value, dict) and all(map(shape, value.values()))


def _fields(**shapes: Shape) -> Shape:
    """A record that has these fields, and others."""
    return lambda value: (
        isinstance(value, dict)
        and all(key in value and shape(value[key]) for key, shape in shapes.items())
    )


_measure = _fields(value=_number, error=_number)
_measured = _fields(
    folds=_count, how=_text, rows=_number, log_loss=_measure, accuracy=_measure,
    prior=_fields(log_loss=_number, accuracy=_number),
)  # fmt: skip


def _held_out(value: Any) -> bool:
    return _measured(value) and _measure(value.get("auc", value["accuracy"]))


SHAPES: dict[str, Shape] = {
    "config": _maybe(_fields(**{"class": _text, "parameters": _each(_any)})),
    "data": _maybe(_text),
    "decimal": _maybe(_text),
    "edge_confidence": _list_of(_row(_text, _text, _number)),
    "edge_directions": _list_of(_row(_text, _text, _number)),
    "edge_samples": _count,
    "gap_words": _each(_list_of(_text)),
    "held_out": _maybe(_held_out),
    "kept_rows": _maybe(_fields(kept=_count, distinct=_count)),
    "known_directions": _list_of(_row(_text, _text)),
    "left_out": _each(_text),
    "missing": _maybe(_fields(note=_text)),
    "pag": _list_of(_row(_text, _text, _text)),
    "pool": _fields(note=_text),
    "prior_size": _maybe(_number),
    "read_as": _each(_text),
    "rows": _maybe(_number),
    "seconds": _maybe(_number),
    "target": _maybe(_text),
    "trace": _list_of(_each(_any)),
}


def check_provenance(record: Any) -> None:
    """Refuse a provenance whose entries are of another shape than those of `SHAPES`."""
    if record is None:
        return
    if not isinstance(record, dict):
        raise TypeError("its provenance is no record")
    for key, shape in SHAPES.items():
        if key in record and not shape(record[key]):
            raise TypeError(f"its provenance has a strange {key}")

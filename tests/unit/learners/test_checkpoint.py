"""Checkpoints: nested states come back as they were, and no others are taken."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pytest

from counterpane.data import Schema
from counterpane.errors import FitError
from counterpane.formats.native import Content, read_native, write_native
from counterpane.learners.checkpoint import (
    GROWS,
    Saved,
    check_range,
    read_checkpoint,
    write_checkpoint,
)
from counterpane.typing import Bools, Codes, Floats, Ints, Words
from error_checks import raises

SCHEMA = Schema.from_cards([2, 3])
KEY = {"learner": "Nested"}


class Leaf(NamedTuple):
    column: int
    values: Floats


class Nested(NamedTuple):
    """A state with every kind of value."""

    stage: Literal["first", "second"]
    done: int
    best: float
    note: str | None
    flags: Bools
    codes: Codes
    bits: Words
    rows: Annotated[Ints, GROWS]
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, float] = (0, 0.0)
    sets: dict[tuple[int, int], list[frozenset[int]]] = {}  # noqa: RUF012
    other: Ints | None = None


def fresh() -> Nested:
    rows = np.array([[1, 2]])
    bits = np.array([0, 2**64 - 1], dtype=np.uint64)
    return Nested("first", 0, -np.inf, None, np.zeros(2, bool), np.zeros(3, np.uint8), bits, rows)


def later() -> Nested:
    shared = np.array([0.5, np.nan])
    return fresh()._replace(
        stage="second",
        done=7,
        best=np.float64(2.5),
        note="half",
        flags=np.array([True, False]),
        rows=np.arange(8).reshape(4, 2),
        leaves=(Leaf(1, shared), Leaf(2, shared), Leaf(3, np.zeros(0))),
        sets={(0, 1): [frozenset({3, 1})], (2, 0): []},
        other=np.arange(3),
    )


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def accept(state: Nested) -> None:
    check_range("done", state.done, 0, 10)


def written(path: Any, state: Nested) -> Content:
    write_checkpoint(path, SCHEMA, KEY, Saved(state, [{"step": 0, "gain": 0.5}], 1.5))
    return read_native(path)


def test_a_nested_state_comes_back(tmp_path):
    path = tmp_path / "state.cp"
    content = written(path, later())
    assert [len(array) for array in content.arrays.values()] == [2 + 3 + 2 + 8 + 3, 2]  # once each
    saved = read_checkpoint(path, SCHEMA, KEY, fresh(), Nested, accept)
    assert equal(saved.state, later())
    assert type(saved.state.sets[0, 1][0]) is frozenset
    assert saved.trace == [{"step": 0, "gain": 0.5}]
    assert saved.spent == 1.5


WRONG = [
    ({"stage": "third"}, "stage has a value of another type"),
    ({"done": 1.5}, "done has a value of another type"),
    ({"done": True}, "done has a value of another type"),
    ({"done": 11}, "done is out of range"),
    ({"best": "x"}, "best has a value of another type"),
    ({"flags": np.zeros(3, bool)}, "flags has the type bool and the shape"),
    ({"flags": np.zeros(2)}, "flags has a value of another type"),
    ({"codes": np.zeros(3, np.uint16)}, "codes has the type uint16"),
    ({"codes": np.zeros((3, 1), np.uint8)}, "codes has the type uint8 and the shape"),
    ({"bits": np.zeros(2, np.int64)}, "bits has a value of another type"),
    ({"rows": np.zeros((4, 3), np.int64)}, "rows has the type int64 and the shape"),
    ({"rows": [1, 2]}, "rows has a value of another type"),
    ({"leaves": (Leaf(0, np.zeros(1, np.int64)),)}, "(leaves|values) has a value of another type"),
    ({"leaves": ((1,),)}, "(leaves|values) has a value of another type"),
    ({"pair": (1, 0.5, 2)}, "pair has a value of another type"),
    ({"sets": {5: []}}, "sets has a value of another type"),
    ({"other": np.zeros(2)}, "other has a value of another type"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_state_of_another_form_is_refused(tmp_path, change, message):
    path = tmp_path / "state.cp"
    written(path, later()._replace(**change))
    with pytest.raises(FitError, match=rf"state\.cp' is damaged \({message}.*delete it"):
        read_checkpoint(path, SCHEMA, KEY, fresh(), Nested, accept)


@pytest.mark.parametrize(
    "change",
    [
        {"state": None}, {"state": [1]}, {"shapes": 5}, {"shapes": [["<f8", -1]]},
        {"shapes": [["O", 1]]}, {"shapes": []}, {"shapes": [["<i8", 10**9]]}, {"trace": [5]},
        {"trace": 7}, {"trace": [{"gain": {"a": 1}}]}, {"spent": "soon"}, {"spent": None},
    ],
)  # fmt: skip
def test_a_forged_file_is_refused(tmp_path, change):
    path = tmp_path / "state.cp"
    content = written(path, later())
    write_native(path, content._replace(note=content.note | change))
    with raises(FitError, about="state.cp"):
        read_checkpoint(path, SCHEMA, KEY, fresh(), Nested, accept)
    note = {name: value for name, value in content.note.items() if name not in change}
    write_native(path, content._replace(note=note))
    with raises(FitError, about="state.cp"):
        read_checkpoint(path, SCHEMA, KEY, fresh(), Nested, accept)

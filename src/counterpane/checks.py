"""Checks of arguments: declared kinds for public functions, and for what `fit` takes.

A `Kind` says what a value may be. `accepts` declares the kinds of a public function's arguments;
`declared_kind` reads those of an estimator's parameters from their types, which `fit` checks once.
`check` is for a single value. Arguments that are not declared are checked by the code that reads
them.
"""

from __future__ import annotations

import inspect
import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce, wraps
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np

from counterpane.errors import ParameterError, Setting
from counterpane.memory import memory_errors

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Kind(NamedTuple):
    """What a value may be: the names of the alternatives, and the function that decides."""

    words: tuple[str, ...]
    accepts: Callable[[Any], bool]

    def __or__(self, other: Kind) -> Kind:
        """Either of two kinds."""
        words = tuple(dict.fromkeys(self.words + other.words))
        return Kind(words, lambda value: self.accepts(value) or other.accepts(value))


def _is_integer(value: Any) -> bool:
    """Whether a value is an integer; 3.0 is one, True is not."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return isinstance(value, numbers.Integral) or float(value).is_integer()


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (_is_integer(value) and value in (0, 1))


def _is_index(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_sequence(value: Any) -> bool:
    listed = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return _is_iterable(value) and listed and not isinstance(value, Mapping)


def _are_numbers(value: Any) -> bool:
    return _is_sequence(value) and all(isinstance(v, numbers.Real) for v in value)


def _are_lists(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_iterable, value))


def _are_pairs(value: Any) -> bool:
    return _is_iterable(value) and all(isinstance(v, tuple | list) and len(v) == 2 for v in value)


def _kind(words: str, accepts: Callable[[Any], bool]) -> Kind:
    return Kind((words,), accepts)


NONE = _kind("None", lambda value: value is None)
BOOLEAN = _kind("True or False", _is_boolean)
INTEGER = _kind("a whole number", _is_integer)
INDEX = _kind("a whole number", _is_index)
NUMBER = _kind("a number", lambda value: isinstance(value, numbers.Real))
STRING = _kind("a text", lambda value: isinstance(value, str))
CHOICE = _kind("one of its names", STRING.accepts)
PATH = _kind("a path", lambda value: isinstance(value, str | os.PathLike))
ITERABLE = _kind("a list", _is_iterable)
SEQUENCE = _kind("a list", _is_sequence)
NUMBERS = _kind("a list of numbers", _are_numbers)
LISTS = _kind("a list of lists", _are_lists)
PAIRS = _kind("a list of pairs of columns", _are_pairs)
MAPPING = _kind("a dictionary", lambda value: isinstance(value, Mapping))
FUNCTION = _kind("a function", callable)
NO_ARRAY = _kind("no array", lambda value: not isinstance(value, np.ndarray))
"""An object that its reader checks; an array is refused, since its comparisons are arrays."""
ANYTHING = _kind("anything", lambda value: True)
"""What its reader checks."""

KIND_OF_TYPE: Mapping[Any, Kind] = {
    type(None): NONE, bool: BOOLEAN, int: INTEGER, float: NUMBER, str: STRING,
    Iterable: ITERABLE, Sequence: SEQUENCE, Sequence[float]: NUMBERS, Callable: FUNCTION,
    Any: ANYTHING,
}  # fmt: skip
"""The kinds of plain types."""

NAMES = STRING | ITERABLE
EVIDENCE = MAPPING | NONE
INTERVENTION = _kind("a dictionary from columns to states", EVIDENCE.accepts)
LIMITS = {"exact": BOOLEAN | NUMBER | NONE, "max_memory": NUMBER | STRING | NONE}
"""How long an exact answer may take, and the memory that it may use."""


def instance_of(*classes: type) -> Kind:
    """Return the kind of the objects of some classes; the first one is named in messages."""
    return _kind(f"a {classes[0].__name__}", lambda value: isinstance(value, classes))


def declared_kind(annotation: Any) -> Kind:
    """Return the kind that a type declares; `Annotated[type, kind]` names another one.

    >>> " or ".join(declared_kind(int | Literal["auto"] | None).words)
    "a whole number or 'auto' or None"
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        kind: Kind = annotation.__metadata__[0]
        return kind
    if origin is Literal:
        names = " or ".join(filter(None, [", ".join(map(repr, parts[:-1])), repr(parts[-1])]))
        return _kind(names, lambda value: isinstance(value, str) and value in parts)
    if origin in (Union, UnionType):
        return reduce(or_, map(declared_kind, parts))
    return KIND_OF_TYPE[annotation if annotation in KIND_OF_TYPE else origin]


def check(name: str, value: Any, kind: Kind) -> None:
    """Raise a `ParameterError` if a value is not of a kind.

    >>> check("n_jobs", 4, INTEGER | NONE)
    >>> check("n_jobs", "4", INTEGER | NONE)
    Traceback (most recent call last):
        ...
    counterpane.errors.ParameterError: n_jobs='4'; a whole number or None is needed.
    """
    if not kind.accepts(value):
        if kind is NO_ARRAY:
            raise ParameterError(Setting(name, value), "; it cannot be an array.", allowed=())
        raise ParameterError(
            Setting(name, value), f"; {' or '.join(kind.words)} is needed.", allowed=kind.words
        )


def accepts(
    **kinds: Kind,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Check the arguments of a public function before it runs; defaults are not checked.

    A failed allocation in the function becomes a `TableSizeError` that names it.
    """

    def declare(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        parameters = inspect.signature(function).parameters
        defaults = {name: parameters[name].default for name in kinds}
        by_position = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

        @wraps(function)
        def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            passed: dict[str, Any] = dict(zip(by_position, arguments, strict=False)) | options
            for name, value in passed.items():
                if name in kinds and value is not defaults[name]:
                    check(name, value, kinds[name])
            with memory_errors(f"{function.__qualname__}()"):
                return function(*arguments, **options)

        return run

    return declare

"""The boundary of public calls: arguments of a wrong kind, and memory that runs out, are ours.

The kind of an argument is checked by the hint of its parameter, where that consists of the words
in `KINDS`; other hints say nothing here.
"""

from __future__ import annotations

import inspect
import numbers
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from counterpane.errors import ParameterError, Setting
from counterpane.memory import memory_errors

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Check = Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    """Whether a value is a whole number; 3.0 is one, and True is none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return isinstance(value, numbers.Integral) or float(value).is_integer()


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1))


def _is_index(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def _is_list(value: Any) -> bool:
    listed = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return _is_iterable(value) and listed and not isinstance(value, Mapping)


def _is_lists(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_iterable, value))


def _is_numbers(value: Any) -> bool:
    return _is_list(value) and all(isinstance(number, numbers.Real) for number in value)


def _is_pairs(value: Any) -> bool:
    return _is_iterable(value) and all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in value
    )


KINDS: dict[str, tuple[Check, str]] = {
    "None": (lambda value: value is None, "None"),
    "bool": (_is_truth, "True or False"),
    "int": (_is_whole, "a whole number"),
    "SupportsIndex": (_is_index, "a whole number"),
    "float": (lambda value: isinstance(value, numbers.Real), "a number"),
    "str": (lambda value: isinstance(value, str), "a text"),
    "Iterable": (_is_iterable, "a list"),
    "Collection": (_is_iterable, "a list"),
    "Sequence": (_is_list, "a list"),
    "Lists": (_is_lists, "a list of lists"),
    "Numbers": (_is_numbers, "a list of numbers"),
    "Edges": (_is_pairs, "a list of pairs of columns"),
    "Orders": (lambda value: isinstance(value, str) or _is_list(value), "a name or a list"),
    "Mapping": (lambda value: isinstance(value, Mapping), "a dictionary"),
    "Intervention": (
        lambda value: value is None or isinstance(value, Mapping),
        "a dictionary from columns to states",
    ),
    **dict.fromkeys(("Report", "Price"), (callable, "a function")),
    **dict.fromkeys(
        ("Literal", "Missing", "Unseen", "Variant"),
        (lambda value: isinstance(value, str), "one of its names"),
    ),
}
CLASSES = ("Schema", "Table", "CountSource", "Dag", "UndirectedGraph", "BayesianNetwork")
_ARRAYS = re.compile("Any|Array|Base|Floats|Ints|Bools|Codes|Iterable|Sequence")
_INNER = re.compile(r"\[[^\[\]]*\]")


@cache
def _checks(hint: str) -> tuple[tuple[Check, ...], str] | None:
    """The checks of a hint, one of which must hold, and its words; None if it says nothing."""
    checks, words = [], []
    hint = hint.replace("Sequence[Sequence[str]]", "Lists").replace("Sequence[float]", "Numbers")
    while _INNER.search(hint):
        hint = _INNER.sub("", hint)
    for name in hint.split(" | "):
        if name in CLASSES:
            checks.append(_is_a(name))
            words.append(f"a {name}")
        elif name in KINDS:
            checks.append(KINDS[name][0])
            words.append(KINDS[name][1])
        else:
            return None
    return tuple(checks), " or ".join(dict.fromkeys(words))


def _is_a(name: str) -> Check:
    """Whether a value is of a class, by its name: no module is imported for it.

    Other models are not refused here: the call knows what they lack.
    """
    names = {name, "JointModel"} if name == "BayesianNetwork" else {name}
    return lambda value: any(kind.__name__ in names for kind in type(value).__mro__)


def check_kind(name: str, hint: Any, value: Any) -> None:
    """Raise a `ParameterError` if a value is of no kind that the hint of its parameter names.

    >>> check_kind("n_jobs", "int | None", 4)
    >>> check_kind("n_jobs", "int | None", "4")
    Traceback (most recent call last):
        ...
    counterpane.errors.ParameterError: n_jobs='4'; a whole number or None is needed.
    """
    known = _checks(hint) if isinstance(hint, str) else None
    if known is None and isinstance(value, np.ndarray) and not _ARRAYS.search(str(hint)):
        raise ParameterError(Setting(name, value), "; it cannot be an array.")
    if known is not None and not any(check(value) for check in known[0]):
        raise ParameterError(Setting(name, value), f"; {known[1]} is needed.")


def public(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, which refuses arguments of a wrong kind and says where memory runs out."""
    parameters = inspect.signature(function).parameters.values()
    hints = {p.name: p.annotation for p in parameters if p.kind is not p.VAR_POSITIONAL}
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    checked = {name: hint for name, hint in hints.items() if isinstance(hint, str)}
    defaults = {p.name: p.default for p in parameters}

    @wraps(function)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        passed: dict[str, Any] = dict(zip(names, arguments, strict=False)) | options
        for name, value in passed.items():
            if name in checked and value is not defaults[name]:
                check_kind(name, checked[name], value)
        with memory_errors(f"{function.__qualname__}()"):
            return function(*arguments, **options)

    return run

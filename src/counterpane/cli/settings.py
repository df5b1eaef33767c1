"""`--set name=value`: parameters of a method that have no option, checked by name and by type."""

from __future__ import annotations

import contextlib
import json
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from counterpane.cli.app import OPTIONS
from counterpane.errors import ParameterError, unknown_name
from counterpane.learners.estimator import parameter_types
from counterpane.learners.registry import LearnerEntry, find_learner
from counterpane.workflow.choose import RANKER

OWN_OPTIONS = OPTIONS | {"bootstrap": "--bootstrap", "progress": "--quiet"}
"""Parameters that are set by options of their own."""
CONSTANTS = {"true": True, "false": False, "none": None}
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false",
         type(None): "none"}  # fmt: skip


def read_settings(
    texts: Sequence[str] | None, entries: Iterable[LearnerEntry]
) -> dict[str, dict[str, Any]]:
    """The parameters that `texts` set, by the names of the methods; each is taken by one at least.

    A text is NAME=VALUE, for every method that has the parameter, or METHOD.NAME=VALUE.
    """
    by_name = {entry.name: entry for entry in entries}
    chosen: dict[str, dict[str, Any]] = {name: {} for name in by_name}
    for text in texts or ():
        left, sign, value = text.partition("=")
        method, dot, name = left.strip().rpartition(".")
        if not sign or not name:
            raise ParameterError(f"--set {text!r} has no value; write it as name=value.")
        if dot and method not in by_name:
            raise unknown_name(f"--set {text!r}: the method", method, by_name)
        takers = [by_name[method]] if dot else list(by_name.values())
        known = {e.name: e.learner_class._parameters() for e in takers}
        if not any(name in parameters for parameters in known.values()):
            settable = {p for parameters in known.values() for p in parameters if p not in OPTIONS}
            raise unknown_name(f"--set {text!r}: the parameter", name, sorted(settable))
        for entry in takers:
            if name in known[entry.name]:
                chosen[entry.name][name] = _setting(entry, name, value.strip())
    return chosen


def settings_of(method: str, texts: list[str] | None) -> dict[str, Any]:
    """The parameters of --set for one method."""
    if not texts:
        return {}
    if method == RANKER:
        raise ParameterError("--set needs a --method with parameters, such as hybrid or chow-liu.")
    return read_settings(texts, [find_learner(method)])[method]


def _setting(entry: LearnerEntry, name: str, text: str) -> Any:
    """The value of a parameter of a method, refused if it has an option or another type."""
    if name in OWN_OPTIONS:
        raise ParameterError(f"--set {name}={text}: use the option {OWN_OPTIONS[name]} instead.")
    if name in entry.defaults:
        raise ParameterError(
            f"--set {name}={text}: --method {entry.name} sets it to {entry.defaults[name]!r}; "
            "name another method."
        )
    kind = parameter_types(entry.learner_class)[name]
    for value in _readings(text):
        if fits_type(value, kind):
            return value
    raise ParameterError(
        f"--set {name}={text}: {name} of --method {entry.name} is {type_words(kind)}; "
        f"by default {entry.learner_class._parameters()[name]!r}."
    )


def _readings(text: str) -> Iterator[Any]:
    """What a text may mean: JSON, a constant of Python, a number such as inf, or itself."""
    try:
        yield json.loads(text)
    except ValueError:
        if text.lower() in CONSTANTS:
            yield CONSTANTS[text.lower()]
    with contextlib.suppress(ValueError):
        yield float(text)
    yield text


def fits_type(value: Any, kind: Any) -> bool:
    """Whether a value read from text is of a type: plain values, lists of them, and unions.

    >>> fits_type(3, float), fits_type(True, int), fits_type("a", Literal["a", "b"] | None)
    (True, False, True)
    """
    if kind is Any:
        return True
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return fits_type(value, parts[0])
    if origin in (typing.Union, types.UnionType):
        return any(fits_type(value, part) for part in parts)
    if origin is Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if origin is not None:
        inner = [part for part in parts if part is not ...]
        return isinstance(value, list) and all(
            any(fits_type(item, part) for part in inner) for item in value
        )
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return kind in WORDS and type(value) is kind


def type_words(kind: Any) -> str:
    """A type in words, for a message.

    >>> type_words(int | None), type_words(Literal["tree", "logistic"])
    ('a whole number or none', "'tree' or 'logistic'")
    """
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return type_words(parts[0])
    if origin in (typing.Union, types.UnionType):
        words = [type_words(part) for part in parts]
        return " or ".join(dict.fromkeys(w for w in words if w)) or "no value of the command line"
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin is not None:
        return "a list in JSON"
    return WORDS.get(kind, "")

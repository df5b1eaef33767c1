"""Every public name is described, with an example; that these run is checked as doctests."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import pytest

import counterpane as cp

NAMES = sorted(cp.__all__)
MODULES = ("evaluate", "plots")
ALL = [(cp, name) for name in NAMES] + [
    (module, name) for module in (getattr(cp, m) for m in MODULES) for name in module.__all__
]


def described(ident: Any) -> str:
    return ident if isinstance(ident, str) else ident.__name__


@pytest.mark.parametrize(("module", "name"), ALL, ids=described)
def test_name_has_a_runnable_example(module: Any, name: str) -> None:
    text = getattr(module, name).__doc__ or ""
    assert text.strip(), f"{name} has no docstring"
    first = inspect.cleandoc(text).splitlines()[0]
    assert first.endswith((".", ":")), f"{name}: the first line is a sentence, not {first!r}"
    result = module is not cp and inspect.isclass(getattr(module, name))
    if not result:  # those are shown by the functions that return them
        assert doctest.DocTestParser().get_examples(text), f"{name} has no >>> example"


def test_names_are_listed_once() -> None:
    listed = [name for names in cp._HOMES.values() for name in names]
    assert sorted(listed) == NAMES
    assert len(set(listed)) == len(listed)

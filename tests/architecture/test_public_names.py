"""Every public name is described, with an example; that these run is checked as doctests."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import counterpane as cp
from counterpane.learners.registry import LEARNERS
from counterpane.models import JointModel

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


def parameters_of(value: Any) -> list[str]:
    """The parameters that a caller can pass."""
    if inspect.isclass(value) and value.__init__ is object.__init__:
        return []
    if inspect.isclass(value) and issubclass(value, (Exception, tuple)):
        return []  # errors are raised by us, results are made by us
    names = list(inspect.signature(value).parameters)
    return [name for name in names if name not in ("self", "args", "kwargs")]


@pytest.mark.parametrize(("module", "name"), ALL, ids=described)
def test_sections_of_the_docstring(module: Any, name: str) -> None:
    """Parameters are described, functions say what they return (numpydoc)."""
    value = getattr(module, name)
    text = inspect.cleandoc(value.__doc__ or "")
    if not callable(value) or inspect.ismodule(value):
        return
    made_by_us = module is not cp and inspect.isclass(value)
    if parameters_of(value) and not made_by_us:
        assert "Parameters\n----------" in text, f"{name} does not describe its parameters"
    if inspect.isfunction(value) and value.__annotations__.get("return") != "None":
        assert "Returns\n-------" in text, f"{name} does not say what it returns"


def test_the_stub_lists_each_name_once() -> None:
    stub = ast.parse(Path(cp.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    listed = [
        alias.name
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    ]
    assert sorted(listed) == sorted([*NAMES, *MODULES])
    assert {e.class_name for e in LEARNERS if e.task != "ranker"} <= set(listed)


def test_models_have_few_public_names() -> None:
    """Options and functions are easier to find than a thirtieth method."""
    for kind in (cp.BayesianNetwork, *JointModel.__subclasses__()):
        assert len([name for name in dir(kind) if not name.startswith("_")]) <= 25, kind


def test_private_hooks_of_models_stay_in_their_modules() -> None:
    """What other modules need of a model is public: its engine answers in codes."""
    hook = re.compile(
        r"\b(?:model|part|network|member|loaded)\.(_(?!repr_|replace|asdict)[a-z]\w*)"
    )
    source = Path(cp.__file__).parent
    used = {
        f"{path.relative_to(source)}: {name}"
        for path in source.rglob("*.py")
        for text in [path.read_text("utf-8")]
        for name in hook.findall(text)
        if f"self.{name}" not in text and f"def {name}" not in text
    }
    assert not used

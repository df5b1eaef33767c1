"""Every exported kernel states its types, and has a test beside a naive reference."""

from __future__ import annotations

import ast
import inspect
import runpy
from pathlib import Path
from types import BuiltinFunctionType

import pytest

from counterpane import _core

HERE = Path(__file__).parent
STUBS = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "stubs.py"))
AREAS = sorted(name for name, value in vars(_core).items() if inspect.ismodule(value))


def functions(area):
    module = getattr(_core, area)
    return {k: v for k, v in vars(module).items() if isinstance(v, BuiltinFunctionType)}


@pytest.mark.parametrize("area", AREAS)
def test_stub_lists_every_export(area):
    module = getattr(_core, area)
    tree = ast.parse(STUBS["area_stub"](module, area))
    stubs = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name, function in functions(area).items():
        arguments = [a.arg for a in stubs[name].args.posonlyargs]
        assert arguments == list(inspect.signature(function).parameters)
        assert all(a.annotation is not None for a in stubs[name].args.posonlyargs)
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    for name in (k for k, v in vars(module).items() if isinstance(v, type)):
        fields = [n.target.id for n in classes[name].body]
        assert fields == list(getattr(module, name)._fields)


def test_stub_states_types_of_arguments_and_results():
    text = STUBS["area_stub"](_core.counts, "counts")
    assert "def count_radix(codes: Codes, cards: Ints," in text
    text = STUBS["area_stub"](_core.inference, "inference")
    assert "class Tree(NamedTuple):\n    parents: Ints\n" in text
    assert "rules: features.RuleMasks" in text


@pytest.mark.parametrize("area", AREAS)
def test_every_kernel_is_tested_here(area):
    called = set()
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == area
            ):
                called.add(node.attr)
    assert set(functions(area)) - called == set()

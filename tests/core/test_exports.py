"""Every exported kernel has a stub that agrees with it and a test beside a naive reference."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import BuiltinFunctionType

import pytest

from counterpane import _core

HERE = Path(__file__).parent
STUBS = Path(__file__).parents[2] / "src" / "counterpane" / "_core"
AREAS = sorted(p.stem for p in STUBS.glob("*.pyi") if p.stem != "__init__")


def functions(area):
    module = getattr(_core, area)
    return {k: v for k, v in vars(module).items() if isinstance(v, BuiltinFunctionType)}


def test_every_area_has_a_stub():
    modules = {name for name, value in vars(_core).items() if inspect.ismodule(value)}
    assert modules == set(AREAS)


@pytest.mark.parametrize("area", AREAS)
def test_stubs_agree(area):
    tree = ast.parse((STUBS / f"{area}.pyi").read_text())
    module = getattr(_core, area)
    stubs = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    constants = {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert set(stubs) == set(functions(area))
    for name, stub in stubs.items():
        names = [a.arg for a in stub.args.posonlyargs]
        assert names == list(inspect.signature(functions(area)[name]).parameters), name
    types = {k for k, v in vars(module).items() if isinstance(v, type)}
    assert set(classes) == types
    for name, stub in classes.items():
        fields = [n.target.id for n in stub.body if isinstance(n, ast.AnnAssign)]
        assert fields == list(getattr(module, name)._fields), name
    numbers = {k for k, v in vars(module).items() if isinstance(v, int)}
    assert constants == numbers


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

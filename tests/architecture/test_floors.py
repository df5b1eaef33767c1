"""The tree shows the architecture: a package imports only from lower floors."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "counterpane"
FLOORS = [
    {"errors", "typing", "lazy"},
    {"ragged", "disk", "memory", "seeds"},
    {"boundary"},
    {"_core"},
    {"progress", "plotting", "markup"},
    {"parallel"},
    {"data", "graphs"},
    {"drawing"},
    {"counts"},
    {"scores", "independence", "features"},
    {"inference"},
    {"models"},
    {"learn"},
    {"causes"},
    {"evaluate"},
    {"cli", "plots", "report"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(SOURCE.rglob("*.py")) + sorted((SOURCE / "_core").glob("*.pyi"))
# Importing scikit-learn's data sets costs a second that no other call of `read` should pay.
LATE_IMPORTS = {"data/datasets.py"}
# The `plot` methods of tables, learners and models draw by `counterpane.plots` (PEP 562).
REACHES_UP = {"plotting.py"}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> list[tuple[str, int]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import at line {node.lineno}"
            module = node.module or ""
            named = [f"counterpane.{alias.name}" for alias in node.names]
            found += [(m, node.lineno) for m in (named if module == "counterpane" else [module])]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy":
            found += [(str(a.value), node.lineno) for a in node.args if isinstance(a, ast.Constant)]
    return found


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__", "__main__"}
    assert rooms == set(FLOOR_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for module, line in imported(ast.parse(path.read_text())):
        parts = module.split(".")
        if parts[0] == "counterpane" and len(parts) > 1:
            below = FLOOR_OF[parts[1]] < FLOOR_OF[room]
            assert below or parts[1] == room, f"{path.name}:{line} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_stand_at_the_top(path: Path) -> None:
    if str(path.relative_to(SOURCE)) in LATE_IMPORTS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            late = imported(node)
            ours = [f"{path.name}:{line} {name}" for name, line in late if "counterpane" in name]
            assert not ours


def test_only_plotting_reaches_up() -> None:
    reaching = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "counterpane":
                floor = FLOOR_OF.get(node.attr, -1)
                if floor > FLOOR_OF.get(room_of(path), len(FLOORS)):
                    reaching.add(str(path.relative_to(SOURCE)))
    assert reaching == REACHES_UP


def test_modules_that_load_late_exist() -> None:
    lazy = r'(?:lazy|import_module)\("(counterpane[\w.]*)"\)'
    for path in FILES:
        for module in re.findall(lazy, path.read_text()):
            place = SOURCE.parent.joinpath(*module.split("."))
            assert place.is_dir() or place.with_suffix(".py").exists(), f"{path.name}: {module}"


def test_no_vague_names() -> None:
    assert not {p.stem for p in FILES} & {"utils", "core", "common", "helpers"}


def test_files_stay_small() -> None:
    files = [*FILES, *(Path(__file__).parents[1]).rglob("*.py")]
    long = {p.name: n for p in files if (n := len(p.read_text("utf-8").splitlines())) > 500}
    assert not long

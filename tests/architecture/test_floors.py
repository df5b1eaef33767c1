"""The tree shows the architecture: a package imports only from lower floors."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "counterpane"
FLOORS = [
    {"errors", "typing", "lazy"},
    {"ragged", "disk", "memory", "seeds"},
    {"checks"},
    {"_core"},
    {"progress", "plotting", "present"},
    {"parallel"},
    {"data", "graphs"},
    {"drawing"},
    {"counts"},
    {"scores", "independence", "features"},
    {"inference", "formats"},
    {"models"},
    {"additive"},
    {"tools"},
    {"learners"},
    {"storage"},
    {"causes"},
    {"evaluate"},
    {"workflow"},
    {"cli", "plots", "report"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text("utf-8")) for path in FILES}
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
    assert rooms | {"_core"} == set(FLOOR_OF)  # the compiled core has no file here


def test_imports_go_down() -> None:
    offenders = []
    for path, tree in TREES.items():
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        for module, line in imported(tree):
            top, _, rest = module.partition(".")
            target = rest.partition(".")[0]
            ours = top == "counterpane" and target not in ("", room)
            if ours and FLOOR_OF[target] >= FLOOR_OF[room]:
                offenders.append(f"{path.relative_to(SOURCE)}:{line} imports {module}")
    assert not offenders


def test_imports_stand_at_the_top() -> None:
    late = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path, tree in TREES.items()
        if str(path.relative_to(SOURCE)) not in LATE_IMPORTS
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for name, line in imported(node)
        if "counterpane" in name
    ]
    assert not late


def test_only_plotting_reaches_up() -> None:
    reaching = set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "counterpane":
                floor = FLOOR_OF.get(node.attr, -1)
                if floor > FLOOR_OF.get(room_of(path), len(FLOORS)):
                    reaching.add(str(path.relative_to(SOURCE)))
    assert reaching == REACHES_UP


# Packages in which `lazy` still names modules of this package, so that a call loads few of them.
LOADED_LATE = {"cli", "counts", "data", "evaluate", "learners", "__main__"}


def test_no_cycle_hides_behind_lazy() -> None:
    """`lazy` names other libraries; a module that is loaded late is still an import."""
    hidden = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in FILES
        if room_of(path) not in LOADED_LATE
        for name in re.findall(r'lazy\(f?"(counterpane[^"]*)"', path.read_text("utf-8"))
    }
    assert not hidden


def test_modules_that_load_late_exist() -> None:
    lazy = r'(?:lazy|import_module)\("(counterpane[\w.]*)"\)'
    for path in FILES:
        for module in set(re.findall(lazy, path.read_text())) - {"counterpane._core"}:
            place = SOURCE.parent.joinpath(*module.split("."))
            assert place.is_dir() or place.with_suffix(".py").exists(), f"{path.name}: {module}"


def test_no_vague_names() -> None:
    assert not {p.stem for p in FILES} & {"utils", "core", "common", "helpers"}


def test_files_stay_small() -> None:
    files = [*FILES, *(Path(__file__).parents[1]).rglob("*.py")]
    long = {p.name: n for p in files if (n := len(p.read_text("utf-8").splitlines())) > 500}
    assert not long

"""Rules of the tree beyond the floors: no cycles, unique names, no hidden imports."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "counterpane"
TREES = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def module_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = ("counterpane", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): tree for path, tree in TREES.items()}
IS_PACKAGE = {module_of(path) for path in TREES if path.stem == "__init__"}


def imports_of(module: str) -> set[str]:
    """The modules of the package that a module imports when it is loaded.

    Names that only type checkers read, and modules behind `lazy`, are no part of it.
    """
    targets: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for other in node.orelse:
                visit(other)
            return
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                targets.add(name if name in MODULES else node.module)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(MODULES[module])
    return {name for name in targets if name in MODULES and name != module}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """A cycle as a list of names, or an empty list."""
    done: set[str] = set()
    path: list[str] = []

    def visit(node: str) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        path.append(node)
        for other in sorted(graph.get(node, ())):
            if cycle := visit(other):
                return cycle
        path.pop()
        done.add(node)
        return []

    for node in sorted(graph):
        if cycle := visit(node):
            return cycle
    return []


def test_no_cycle_of_modules() -> None:
    graph = {module: imports_of(module) for module in MODULES if module != "counterpane"}
    for module in graph:
        if module in IS_PACKAGE:  # loading a package's module loads the package first
            graph[module] -= {module}
    assert not cycle_in(graph)


def test_no_cycle_of_packages() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module in MODULES:
        if module in IS_PACKAGE:  # re-exports
            continue
        home = module.rpartition(".")[0]
        for target in imports_of(module):
            other = target if target in IS_PACKAGE else target.rpartition(".")[0]
            nested = f"{other}.".startswith(f"{home}.") or f"{home}.".startswith(f"{other}.")
            if not nested:  # a package and its parts are one room
                graph[home].add(other)
    assert not cycle_in(graph)


def definitions(kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> dict[str, list[str]]:
    """The modules in which each module-level name of a kind is defined."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, tree in MODULES.items():
        for node in tree.body:
            if isinstance(node, kind):
                homes[node.name].append(module)
    return homes


def test_a_class_name_is_defined_once() -> None:
    assert not {name: at for name, at in definitions(ast.ClassDef).items() if len(at) > 1}


def test_a_public_function_name_is_defined_once() -> None:
    repeated = {
        name: at
        for name, at in definitions(ast.FunctionDef).items()
        if len(at) > 1 and not name.startswith("_")
    }
    assert not repeated


def test_hidden_imports_stand_in_the_package_root() -> None:
    """`import_module("counterpane.…")` is written in `counterpane/__init__.py` alone."""
    calls = [
        (path, node)
        for path, tree in TREES.items()
        if path != SOURCE / "__init__.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "import_module" in ast.dump(node.func)
    ]
    hidden = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, node in calls
        if any("counterpane" in str(c.value) for c in ast.walk(node) if isinstance(c, ast.Constant))
    ]
    assert not hidden

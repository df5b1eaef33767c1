"""Measures of the source tree: sizes, repeated names, importers, and the files that a walk crosses.

`python tools/house.py [ROOT]` prints a JSON object for the tree at ROOT (by default this one).
A walk is a public call, run under a tracer once everything is imported: the files of the package
in which a function ran, the distinct lines that ran there, and the most calls of it that were open
at a time. Walks run the installed package.
"""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

WALKS = {
    "read": """
import random
import counterpane as cp
path = os.path.join(folder, "x.csv")
random.seed(0)
rows = [(random.randint(18, 80), random.choice("fm"), random.gauss(2e3, 300)) for _ in range(300)]
with open(path, "w") as file:
    file.write("age,sex,wage\\n" + "".join(f"{a},{s},{w:.2f}\\n" for a, s, w in rows))
def walk():
    cp.read(path)
""",
    "learn titanic": """
from counterpane.__main__ import main
sys.argv = ["counterpane", "learn", "titanic", "-o", os.path.join(folder, "m.cp")]
def walk():
    try:
        main()
    except SystemExit:
        pass
""",
    "InteractionClassifier.fit": """
import counterpane as cp
table = cp.load_dataset("titanic")
def walk():
    cp.InteractionClassifier().fit(table, "survived")
""",
    "BayesianNetwork.query": """
import counterpane as cp
model = cp.HillClimb().fit(cp.load_dataset("titanic")).model_
def walk():
    model.query("survived", {"sex": "male"})
""",
    "GSIMN.fit(duckdb)": """
import duckdb
import counterpane as cp
frame = cp.load_dataset("titanic").to_pandas()
source = cp.read(duckdb.connect().from_df(frame))
def walk():
    cp.GSIMN().fit(source)
""",
}
TRACER = """
import os, sys, tempfile, threading, json
folder = tempfile.mkdtemp()
{setup}
package = os.path.dirname(__import__("counterpane").__file__) + os.sep
lines, deepest = {{}}, 0
def local(frame, event, arg):
    if event == "line":
        lines[frame.f_code.co_filename].add(frame.f_lineno)
    return local
def trace(frame, event, arg):
    code = frame.f_code
    if code.co_name == "<module>" or not code.co_filename.startswith(package):
        return None
    lines.setdefault(code.co_filename, set())
    global deepest
    depth, caller = 0, frame
    while caller is not None:
        depth += caller.f_code.co_filename.startswith(package)
        caller = caller.f_back
    deepest = max(deepest, depth)
    return local
out, sys.stdout = sys.stdout, open(os.devnull, "w")
walk()  # the imports
threading.settrace(trace)
sys.settrace(trace)
walk()
sys.settrace(None)
sys.stdout = out
measures = {{"files": len(lines), "lines": sum(map(len, lines.values())), "depth": deepest}}
print(json.dumps(measures))
"""


def sizes(files: list[Path]) -> dict[str, float]:
    """Numbers of files and lines, and the median and 90th percentile of a file's lines."""
    lines = sorted(len(path.read_text().splitlines()) for path in files)
    return {
        "files": len(lines),
        "lines": sum(lines),
        "median": statistics.median(lines),
        "p90": lines[int(0.9 * (len(lines) - 1))],
        "below_30": sum(n < 30 for n in lines),
    }


def code_lines(path: Path) -> int:
    """The lines of a Python file without docstrings, comments and blanks."""
    text = path.read_text(encoding="utf-8")
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                documented.update(range(first.lineno, (first.end_lineno or 0) + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in documented
        for number, line in enumerate(text.splitlines(), 1)
    )


def core_lines(path: Path) -> int:
    """The lines of a C++ file without comment lines and blanks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in lines)


def lines_by_part(top: Path) -> dict[str, int]:
    """Code lines of each package, of the modules beside them, of the core and of the tests."""
    package = top / "src" / "counterpane"
    parts: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        inside = path.relative_to(package).parts
        parts[inside[0] if len(inside) > 1 else "modules"] += code_lines(path)
    parts["core"] = sum(core_lines(path) for path in (top / "src" / "core").rglob("*.?pp"))
    parts["tests"] = sum(code_lines(path) for path in (top / "tests").rglob("*.py"))
    return dict(sorted(parts.items()))


def repeated_names(trees: dict[Path, ast.Module]) -> dict[str, object]:
    """Names of module-level classes and functions that are defined in more than one file."""
    classes: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            elif isinstance(node, ast.FunctionDef):
                functions[node.name] += 1
    twice = sorted(name for name, n in functions.items() if n > 1)
    return {
        "classes": sorted(name for name, n in classes.items() if n > 1),
        "public_functions": [name for name in twice if not name.startswith("_")],
        "functions": len(twice),
    }


def one_importer(root: Path, trees: dict[Path, ast.Module]) -> int:
    """The number of modules that exactly one other module imports."""
    names = {
        "counterpane." + ".".join(path.relative_to(root).with_suffix("").parts): path
        for path in trees
    }
    importers: defaultdict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy":
                modules = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
            for module in modules:
                if module in names and names[module] != path:
                    importers[module].add(path)
    return sum(len(paths) == 1 for paths in importers.values())


def any_parameters(trees: dict[Path, ast.Module]) -> int:
    """The number of parameters whose annotation mentions `Any`."""
    total = 0
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                a = node.args
                for arg in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]:
                    if arg is not None and arg.annotation is not None:
                        named = {n.id for n in ast.walk(arg.annotation) if isinstance(n, ast.Name)}
                        total += "Any" in named
    return total


def longest_functions(trees: dict[Path, ast.Module], limit: int = 60) -> int:
    """The number of functions of more than `limit` lines."""
    return sum(
        (node.end_lineno or 0) - node.lineno >= limit
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )


def walked(setup: str) -> dict[str, int] | str:
    """Files, lines and depth of calls of a walk, in a process of its own."""
    code = TRACER.format(setup=setup)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr[-300:]


def main() -> None:
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1])
    package, core = top / "src" / "counterpane", top / "src" / "core"
    files = sorted(package.rglob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in files}
    measures = {
        "code_lines": lines_by_part(top),
        "python": sizes(files),
        "core": sizes(sorted(path for path in core.rglob("*.?pp"))),
        "tests": sizes(sorted((top / "tests").rglob("*.py"))),
        "defined_twice": repeated_names(trees),
        "one_importer": one_importer(package, trees),
        "any_parameters": any_parameters(trees),
        "functions_over_60_lines": longest_functions(trees),
        "walks": {name: walked(setup) for name, setup in WALKS.items()},
    }
    print(json.dumps(measures, indent=1))


if __name__ == "__main__":
    main()

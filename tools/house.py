"""Measures of the source tree: sizes, repeated names, importers, and the files that a walk crosses.

`python tools/house.py [ROOT]` prints a JSON object for the tree at ROOT (by default this one).
A walk is a public call, run under a tracer once everything is imported: the files of the package
in which a function ran, and the distinct lines that ran there. Walks run the installed package.
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
lines = {{}}
def local(frame, event, arg):
    if event == "line":
        lines[frame.f_code.co_filename].add(frame.f_lineno)
    return local
def trace(frame, event, arg):
    code = frame.f_code
    if code.co_name == "<module>" or not code.co_filename.startswith(package):
        return None
    lines.setdefault(code.co_filename, set())
    return local
out, sys.stdout = sys.stdout, open(os.devnull, "w")
walk()  # the imports
threading.settrace(trace)
sys.settrace(trace)
walk()
sys.settrace(None)
sys.stdout = out
print(json.dumps({{"files": len(lines), "lines": sum(map(len, lines.values()))}}))
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
    """Files and lines that run in a walk, in a process of its own."""
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

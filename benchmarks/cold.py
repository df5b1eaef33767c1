"""What a newcomer waits for: build, install, and the first run of each command, nothing cached.

A fresh virtual environment gets the package by `pip install` from this tree; the commands then run
in an empty folder. Processor seconds are user and system time of the command and its children; each
command's first run is its own figure, the repeated one the least of three. Downloads are not timed:
what pip needs is fetched beforehand. `--quick` leaves out the bare clone.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from harness import publish

ROOT = Path(__file__).parents[1]
BUILD = ("scikit-build-core>=0.11", "cmake", "ninja")


class Cost(NamedTuple):
    """Processor and wall seconds."""

    cpu: float
    wall: float


def run(command: list[str], folder: Path, **settings: str) -> Cost:
    """What a command costs; it may fail with a usage error, as a wrong command does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **settings},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    output = process.communicate()[0]
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(command)}:\n{output[-3000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall)


def peak(command: list[str], folder: Path) -> float:
    """The peak of resident memory of a command, in MB, measured by a process that only waits."""
    code = "import resource, subprocess, sys\n"
    code += "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return float(done.stdout)


def size_of(folder: Path) -> float:
    """Megabytes of the files below a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def build(folder: Path) -> tuple[Path, Cost]:
    """A wheel built from source, and what the build cost."""
    tools = folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
    pip = [str(tools / "bin" / "python"), "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *BUILD], check=True)
    clone = folder / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    command = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(clone)]
    path = f"{tools / 'bin'}:{os.environ['PATH']}"
    cost = run(command, folder, CCACHE_DISABLE="1", PATH=path)
    return next(folder.glob("counterpane-*.whl")), cost


def commands(python: Path, folder: Path) -> list[dict[str, Any]]:
    """The first and repeated costs of each command."""
    counterpane = str(python.with_name("counterpane"))
    learn = [counterpane, "learn", "titanic", "-o", "titanic.cp"]
    rows = []

    def add(what: str, command: list[str], limit: float) -> None:
        first = run(command, folder)
        again = min((run(command, folder) for _ in range(3)), key=lambda c: c.cpu)
        rows.extend(
            [
                {"what": f"{what}, first", "value": first.cpu, "unit": "CPU s", "limit": limit},
                {"what": f"{what}, again", "value": again.cpu, "unit": "CPU s", "limit": limit},
                {"what": f"{what}, first, wall", "value": first.wall, "unit": "s"},
            ]
        )

    add("learn titanic", learn, 1.3)
    target = [counterpane, "learn", "titanic", "--target", "survived", "-o", "survived.cp"]
    add("learn titanic --target survived", target, 1.0)
    add("compare titanic --target survived",
        [counterpane, "compare", "titanic", "--target", "survived"], 1.5)  # fmt: skip
    report = [counterpane, "report", "titanic.cp", "--data", "titanic", "-o", "titanic.html"]
    add("report titanic.cp", report, 1.5)
    query = [counterpane, "query", "titanic.cp", "survived", "--given", "sex=female"]
    add("query titanic.cp", query, 0.35)
    add("--help", [counterpane, "--help"], 0.2)
    add("wrong command", [counterpane, "leern"], 0.2)
    bare = min(run([str(python), "-c", "import numpy"], folder).cpu for _ in range(5))
    ours = "import numpy, counterpane"
    imported = min(run([str(python), "-c", ours], folder).cpu for _ in range(5))
    rows.append({"what": "import counterpane, beyond numpy", "value": imported - bare,
                 "unit": "CPU s", "limit": 0.06})  # fmt: skip
    rows.append({"what": "learn titanic, peak memory", "value": peak(learn, folder),
                 "unit": "MB", "limit": 100})  # fmt: skip
    return rows


def bare_clone(folder: Path, python: Path) -> list[dict[str, Any]]:
    """`make demo` in a bare clone, with what pip needs lying on disk."""
    clone, wheels = folder / "clone", folder / "wheels"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "download", "-d", str(wheels), *BUILD, str(clone)], check=True)
    shutil.rmtree(clone / "build", ignore_errors=True)
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "CCACHE_DISABLE": "1"}
    cost = run(["make", "demo"], clone, **settings)
    return [
        {"what": "make demo in a bare clone, without downloads", "value": cost.wall, "unit": "s",
         "limit": 45},
        {"what": "make demo in a bare clone", "value": cost.cpu, "unit": "CPU s"},
    ]  # fmt: skip


def main(*, quick: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, cost = build(folder)
        rows = [
            {"what": "build from source", "value": cost.cpu, "unit": "CPU s", "limit": 60},
            {"what": "build from source, wall", "value": cost.wall, "unit": "s", "limit": 40},
            {"what": "wheel", "value": wheel.stat().st_size / 1e6, "unit": "MB"},
        ]
        fresh = folder / "fresh"
        subprocess.run([sys.executable, "-m", "venv", str(fresh)], check=True)
        python = fresh / "bin" / "python"
        site = next((fresh / "lib").glob("python*/site-packages"))
        empty = size_of(site)
        pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", str(wheel)], check=True)
        rows.append({"what": "installed, with all required dependencies",
                     "value": size_of(site) - empty, "unit": "MB"})  # fmt: skip
        work = folder / "work"
        work.mkdir()
        rows += commands(python, work)
        if not quick:
            rows += bare_clone(folder, python)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    publish("cold", main(quick=parser.parse_args().quick))

"""`counterpane doctor`: what is installed, whether it works, and what to do where it does not."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import typer

import counterpane as cp
from counterpane.cli.app import console, emit, show_table
from counterpane.cli.options import Json
from counterpane.errors import CounterpaneError
from counterpane.lazy import lazy
from counterpane.present.table import Heading, TextTable

core = lazy("counterpane._core")
cuda = lazy("counterpane.counts.gpu.cuda")
metadata = lazy("importlib.metadata")

NEEDED = ("numpy", "scipy", "scikit-learn", "narwhals", "networkx", "typer", "rich")
EXTRAS = {
    "plot": (("matplotlib",), "pictures"),
    "duckdb": (("duckdb", "pyarrow"), "tables in DuckDB, parquet and Arrow files"),
    "dask": (("dask", "distributed"), "Dask frames"),
    "spark": (("pyspark",), "Spark frames"),
    "remote": (("fsspec",), "https:// and other URLs"),
    "delta": (("deltalake",), "Delta tables"),
    "iceberg": (("pyiceberg",), "Iceberg tables"),
    "excel": (("openpyxl",), "Excel files"),
    "gpu": (("cupy",), "counting on an NVIDIA card"),
}


def run_doctor(*, as_json: Json = False) -> None:
    """Check the installation: versions, extras, kernels, cores, memory, and a self-test."""
    checks = list(_checks())
    sound = all(check["ok"] is not False for check in checks)
    if as_json:
        emit({"ok": sound, "checks": checks})
    else:
        _show(checks, sound=sound)
    if not sound:
        raise typer.Exit(1)


def _checks() -> Iterator[dict[str, Any]]:
    """One record a check; `ok` is None where something optional is absent."""
    yield _check("counterpane", True, cp.__version__)
    yield _check("python", True, f"{platform.python_version()} on {platform.platform(terse=True)}")
    for name in NEEDED:
        try:
            yield _check(name, True, metadata.version(name))
        except metadata.PackageNotFoundError:
            yield _check(name, False, "absent; install counterpane again")
    for extra, (modules, use) in EXTRAS.items():
        absent = [m for m in modules if util.find_spec(m) is None]
        result = f"for {use}"
        if absent:
            result += f": absent ({', '.join(absent)}); pip install 'counterpane[{extra}]'"
        yield _check(f"extra {extra}", None if absent else True, result)
    yield _core_check()
    yield _check("cores", True, str(os.cpu_count()))
    yield _memory_check()
    if util.find_spec("cupy") is not None:
        yield _card_check()
    yield _self_test()


def _check(name: str, ok: bool | None, result: str) -> dict[str, Any]:
    return {"check": name, "ok": ok, "told": result}


def _core_check() -> dict[str, Any]:
    """Which kernels were loaded, and for which instructions of the processor."""
    forced = ", by COUNTERPANE_LEVEL" if os.environ.get("COUNTERPANE_LEVEL") else ""
    result = f"instruction level {core.level}{forced} (this processor has {core.levels})"
    return _check("kernels", True, result + (", every index checked" if core.checked else ""))


def _memory_check() -> dict[str, Any]:
    try:
        pages, free = (os.sysconf(name) for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
        page = os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return _check("memory", None, "not known on this system")
    return _check("memory", True, f"{pages * page / 1e9:.1f} GB, {free * page / 1e9:.1f} GB free")


def _card_check() -> dict[str, Any]:
    """The card, and whether it counts as the processor does."""
    try:
        card = cuda.CudaBits()
        table = cp.load_dataset("titanic")
        counted = cp.GpuCounts(table, device=card).pair_counts().counts
        right = bool((counted == cp.MemoryCounts(table).pair_counts().counts).all())
    except CounterpaneError as error:
        return _check("card", None, str(error))
    if not right:
        return _check("card", False, f"{card.name} counts wrongly; update its driver")
    return _check("card", True, f"{cuda.card_text(card)}; it counts as the processor does")


def _self_test() -> dict[str, Any]:
    """Learn a network, ask it, save it and read it back."""
    began = time.monotonic()
    try:
        model = cp.StructureSearch().fit(cp.load_dataset("titanic")).model_
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cp"
            model.save(path)
            loaded: Any = cp.load(path)
            answer = loaded.query("survived", {"sex": "female"}).to_dict()
        right = abs(answer["yes"] - 344 / 470) < 0.05  # the share in the rows
    except Exception as error:  # whatever is broken is the result
        words = " ".join(str(error).split())
        kind = type(error).__name__
        return _check("self-test", False, f"{kind}: {words}; install counterpane again")
    seconds = time.monotonic() - began
    result = f"learned, asked, saved and loaded a network in {seconds:.1f} s"
    if not right:
        return _check("self-test", False, f"P(survived | female) is {answer}; it should be 0.73")
    return _check("self-test", True, result)


def _show(checks: list[dict[str, Any]], *, sound: bool) -> None:
    marks = {True: "ok", None: "–", False: "no"}
    rows = [(marks[check["ok"]], check["check"], check["told"]) for check in checks]
    show_table(TextTable.of((Heading("", style="bold"), "", ""), rows, most=None))
    console.print("All checks passed." if sound else "Some checks failed: see the lines marked no.")

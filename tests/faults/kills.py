"""Processes that are killed while they save, learn or report: nothing torn, nothing lost."""

from __future__ import annotations

import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.learners import driver
from counterpane.models.arrays import arrays_of


def killed_while(work: Callable[[], Any], seconds: float) -> None:
    """Run `work` again and again in a child of this process, and kill it (-9) after a while."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                work()
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@cache
def _fitted() -> tuple[Any, Any, dict[str, Any]]:
    table = cp.load_dataset("titanic")
    slow = cp.HillClimb("bdeu", restarts=40, random_state=1)
    return (
        cp.ChowLiu().fit(table).model_,
        cp.HillClimb().fit(table).model_,
        arrays_of(slow.fit(table).model_),
    )


def _saving(folder: Path, wait: float, seed: int) -> str | None:
    first, second, _ = _fitted()
    name = folder / ("m.cp", "m.cp.gz", "m.bif", "m.xdsl")[seed % 4]
    second.save(name)
    pages = {name.read_bytes()}
    first.save(name)
    pages.add(name.read_bytes())
    killed_while(lambda: (second.save(name), first.save(name)), wait)
    if name.read_bytes() not in pages:
        return f"{name.name} is torn"
    return None


def _reporting(folder: Path, wait: float, seed: int) -> str | None:
    first, second, _ = _fitted()
    path, pages = folder / "r.html", set()
    for model in (first, second):
        cp.write_report(model, path=path)
        pages.add(path.read_bytes())

    def write() -> None:
        cp.write_report(first, path=path)
        cp.write_report(second, path=path)

    killed_while(write, wait)
    if path.read_bytes() not in pages:
        return "the report is torn"
    return None


def _learning(folder: Path, wait: float, seed: int) -> str | None:
    table, path, expected = cp.load_dataset("titanic"), folder / "c.cp", _fitted()[2]
    driver.SAVE_EVERY, former = -1.0, driver.SAVE_EVERY  # after each step

    def fit() -> Any:
        learner = cp.HillClimb("bdeu", restarts=40, random_state=1, checkpoint=path)
        return learner.fit(table).model_

    try:
        killed_while(fit, wait)
        arrays = arrays_of(fit())
    finally:
        driver.SAVE_EVERY = former
    if any(not np.array_equal(arrays[name], array) for name, array in expected.items()):
        return "the model of a search that was resumed differs"
    return "the checkpoint of a finished search is left" if path.exists() else None


KINDS = {"saving": _saving, "learning": _learning, "reporting": _reporting}


def try_once(seed: int) -> str | None:
    """What is wrong after one kill; the kinds take turns, and every second folder is in memory."""
    _fitted()
    rng = np.random.default_rng([seed, 9])
    name = list(KINDS)[seed % 3]
    memory = "/dev/shm" if seed % 2 and Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fault = KINDS[name](Path(folder), float(rng.uniform(0.0, 0.06)), seed // 3)
    return None if fault is None else f"killed while {name}, seed {seed}: {fault}"

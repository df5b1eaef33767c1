"""What every learner learns from five tables, as digests: a renovation must not change them.

A digest has the edges and two sums over log-probabilities of the first rows. After a change that is
meant to change results, write them again and name in the commit what changed and why:

    python tests/golden/test_learner_digests.py
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.registry import LEARNERS, LearnerEntry

STORED = Path(__file__).with_name("learner_digests.json")
SHORT: dict[str, dict[str, Any]] = {
    "interaction": {"bootstrap": 2},
    "order-mcmc": {"n_samples": 40, "random_state": 0},
}
ROWS = 50


def chain_of_states(n_rows: int, n_columns: int, *, gaps: float = 0.0) -> cp.Table:
    """Columns of two to four states; each copies one of the two before it in 60 % of the rows."""
    rng = np.random.default_rng(n_columns)
    codes = np.empty((n_columns, n_rows), dtype=np.int64)
    cards = 2 + np.arange(n_columns) % 3
    for i in range(n_columns):
        codes[i] = rng.integers(cards[i], size=n_rows)
        if i:
            copied = rng.random(n_rows) < 0.6
            before = codes[max(0, i - 1 - int(rng.integers(2)))]
            codes[i, copied] = before[copied] % cards[i]
    missing = rng.random(codes.shape) < gaps
    missing[-1] = False  # the class
    return cp.read(
        {
            f"c{i}": [None if gap else f"s{code}" for code, gap in zip(own, empty, strict=True)]
            for i, (own, empty) in enumerate(zip(codes, missing, strict=True))
        }
    )


TABLES: dict[str, tuple[Callable[[], cp.Table], str]] = {  # and the class
    "titanic": (lambda: cp.load_dataset("titanic"), "survived"),
    "chain": (lambda: chain_of_states(1000, 9), "c8"),
    "gaps": (lambda: chain_of_states(400, 6, gaps=0.1), "c5"),
    "numbers": (lambda: cp.load_dataset("iris"), "class"),
    "wide": (lambda: chain_of_states(300, 1200), "c0"),
}
ON_WIDE = ("chow-liu", "structure-search")
CASES = [
    (entry, table)
    for entry in LEARNERS
    for table in TABLES
    if entry.task != "ranker" and (table != "wide" or entry.name in ON_WIDE)
]


def summary(values: Any) -> list[float]:
    """The mean of an array's finite numbers, and a sum that depends on their order."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    flat = np.where(np.isfinite(flat), flat, -1e3)
    return [float(flat.mean()), float(flat @ np.cos(np.arange(flat.size)))]


def digest(entry: LearnerEntry, name: str) -> dict[str, Any]:
    """What a learner learns from a table."""
    make, target = TABLES[name]
    table = make()
    learner = entry.make(**SHORT.get(entry.name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(table, target if entry.task == "classifier" else None)
        first = table.take(np.arange(min(ROWS, table.n_rows)))
        if entry.task == "classifier":
            numbers = summary(learner.predict_log_proba(first))
        elif entry.task == "posterior":
            numbers = summary(learner.edge_probabilities_)
        elif learner.model_ is None or name == "gaps":
            numbers = []
        else:
            numbers = summary(learner.model_.full_conditionals(first))
    graph = getattr(learner, "graph_", None)
    edges = [] if graph is None else sorted(sorted(map(str, edge)) for edge in graph.edges)
    return {"edges": len(edges), "crc": zlib.crc32(json.dumps(edges).encode()), "numbers": numbers}


@pytest.mark.parametrize(("entry", "table"), CASES, ids=lambda x: getattr(x, "name", x))
def test_learner_learns_what_it_did(entry: LearnerEntry, table: str) -> None:
    stored = json.loads(STORED.read_text())[f"{entry.name} {table}"]
    found = digest(entry, table)
    assert (found["edges"], found["crc"]) == (stored["edges"], stored["crc"])
    assert found["numbers"] == pytest.approx(stored["numbers"], rel=1e-9, abs=1e-9)


if __name__ == "__main__":
    digests = {f"{entry.name} {table}": digest(entry, table) for entry, table in CASES}
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in digests.items())
    STORED.write_text(f"{{\n{lines}\n}}\n")

"""Larger generated tables, 1,000 to 20,000 rows: the pool beside tuned LightGBM.

Even seeds were there to try changes on; odd seeds are looked at once, after all choices. Classes
are predicted for 4,000 rows that take no part in learning.

    python benchmarks/large_tables.py open [--methods pool lgbm-tuned] [--kinds codes]
    python benchmarks/large_tables.py closed
    python benchmarks/large_tables.py summary

Every task is one line of `results/large_tables.jsonl`, and is not run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "papers"))

import numpy as np
import pandas as pd
from resumable import known_records, run_lines

from fresh_tables import (
    METHODS,
    TEST_ROWS,
    WORDS,
    FreshTask,
    Generator,
    Made,
    classes_of,
    draw,
    loss_of,
    named,
    summary,
    two_classes,
)
from harness import RESULTS

LINES = RESULTS / "large_tables.jsonl"
SEEDS = {"open": (0,), "closed": (1,)}


def as_states(codes: np.ndarray) -> pd.Categorical:
    return pd.Categorical([f"v{code}" for code in codes])


def zones(rng: Generator, n: int):
    """Seven unequal classes by waves of numbers and 25 zones, each zone a column of 0 and 1."""
    x = rng.normal(size=(n, 8))
    zone = np.minimum(rng.geometric(0.15, n) - 1, 24)
    scores = np.stack([
        2 * np.sin(1.5 * x[:, 0] + k) + x[:, 1] * np.cos(k) + rng.normal(0, 1.2, 25)[zone]
        + 1.5 * np.tanh(x[:, 2] * x[:, 3]) * rng.normal() - 0.6 * k
        for k in range(7)
    ], axis=1)  # fmt: skip
    frame = named(x)
    for j in range(25):
        frame[f"zone{j}"] = (zone == j).astype(int)
    return frame, classes_of(2 * scores, rng)


def letters(rng: Generator, n: int):
    """26 classes of three oblique clusters each, in 16 whole numbers from 0 to 15."""
    points, spread = rng.normal(size=(78, 16)), rng.normal(0, 0.25, (78, 16, 16))
    c = rng.integers(0, 78, n)
    x = points[c] + 0.35 * rng.normal(size=(n, 16))
    x += 0.5 * np.einsum("nij,nj->ni", spread[c], rng.normal(size=(n, 16)))
    return named(np.clip(np.round(2.5 * x + 7), 0, 15)), c % 26


def codes(rng: Generator, n: int):
    """States of 3 to 2,000 values, most of them rare, beside a number and an hour."""
    score = np.full(n, -2.0)
    frame = {}
    drawn = []
    for j, size in enumerate((30, 300, 2000, 8, 3)):
        p = 1 / np.arange(1, size + 1)
        drawn.append(rng.choice(size, n, p=p / p.sum()))
        score += rng.normal(0, 0.7, size)[drawn[-1]]
        frame[f"s{j}"] = as_states(drawn[-1])
    x, hour = rng.normal(size=n), rng.integers(0, 24, n)
    score += rng.normal(0, 0.8, 30)[drawn[0]] * x + np.sin(hour / 24 * 2 * np.pi)
    return pd.DataFrame({**frame, "x": x, "hour": hour}), two_classes(score, rng)


def grades(rng: Generator, n: int):
    """Six ordered classes of shares from 1 to 40 %, by whole numbers with common causes."""
    causes = rng.normal(size=(n, 3))
    x = causes @ rng.normal(size=(3, 12)) + rng.normal(size=(n, 12))
    x = np.round(x * rng.uniform(1, 6, 12))
    score = 2 * causes[:, 0] + causes[:, 1] * causes[:, 2] + 0.2 * (x[:, 3] > 2) * x[:, 5]
    score += rng.normal(size=n)
    return named(x), np.digitize(score, np.quantile(score, [0.01, 0.06, 0.45, 0.85, 0.97]))


def tails(rng: Generator, n: int):
    """Columns of heavy tails; the class depends on their ranks."""
    x = rng.standard_cauchy((n, 15))
    x[:, 5:] = np.exp(2 * rng.normal(size=(n, 10))) * np.sign(rng.normal(size=(n, 10)))
    r = np.argsort(np.argsort(x, axis=0), axis=0) / n - 0.5
    score = 4 * r[:, 0] + 24 * r[:, 1] * r[:, 6] + 3 * np.sin(8 * r[:, 7]) + 2 * (r[:, 8] > 0.45)
    return named(x), two_classes(score - 1, rng)


def alarms(rng: Generator, n: int):
    """One class in thirty, by tails, a rule and a product of correlated numbers."""
    x = rng.normal(size=(n, 20)) @ (np.eye(20) + rng.normal(0, 0.15, (20, 20)))
    score = -6.5 + 1.2 * np.abs(x[:, 0]) + x[:, 1] + 2 * ((x[:, 2] > 1) & (x[:, 3] < -0.5))
    return named(x), two_classes(score + 0.6 * x[:, 4] * x[:, 5], rng)


def census(rng: Generator, n: int):
    """Rounded numbers, a number that is mostly zero, states of up to 40 values, missing cells."""
    x = rng.normal(size=(n, 5))
    gain = np.where(rng.random(n) < 0.9, 0, np.exp(8 + rng.normal(size=n)))
    frame = named(np.round(x * [10, 5, 40, 3, 1] + 40)).assign(gain=gain)
    score = 0.8 * x[:, 0] - 0.5 * x[:, 0] ** 2 + 0.7 * x[:, 1] + 0.3 * x[:, 2]
    score += np.log1p(gain) / 4 - 1.5
    for j, size in enumerate((7, 14, 5, 16, 40)):
        state = rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.5)))
        score += rng.normal(0, 0.7, size)[state] * (1 + 0.4 * x[:, 1])
        frame[f"s{j}"] = as_states(state)
        frame.loc[rng.random(n) < 0.03, f"s{j}"] = np.nan
    frame.loc[rng.random(n) < 0.1, "x1"] = np.nan
    return frame, two_classes(score, rng)


def sensors(rng: Generator, n: int):
    """Six classes in 60 columns that share eight causes."""
    y = rng.integers(0, 6, n)
    causes = rng.normal(size=(n, 8)) + rng.normal(0, 1.1, (6, 8))[y]
    return named(np.tanh(causes @ rng.normal(0, 0.5, (8, 60))) + rng.normal(0, 0.3, (n, 60))), y


def needles(rng: Generator, n: int):
    """Sixteen clusters at corners of a cube of five columns, beside idle ones; two classes."""
    d = draw(rng, 30, 100)
    corners = np.array([[(k >> j) & 1 for j in range(5)] for k in range(32)]) * 3.0 - 1.5
    chosen = rng.permutation(32)[:16]
    c = rng.integers(0, 16, n)
    mix = rng.uniform(-1, 1, (16, 5, 5))
    x = rng.normal(size=(n, d))
    x[:, :5] = np.einsum("ni,nij->nj", x[:, :5], mix[c]) + corners[chosen[c]]
    y = c % 2
    return named(x[:, rng.permutation(d)]), np.where(rng.random(n) < 0.01, 1 - y, y)


KINDS: dict[str, Callable[..., Any]] = {
    "zones": zones, "letters": letters, "codes": codes, "grades": grades, "tails": tails,
    "alarms": alarms, "census": census, "sensors": sensors, "needles": needles,
}  # fmt: skip
ROWS = {"letters": (5000, 8000), "needles": (1000, 4000)}


def made(kind: str, seed: int) -> Made:
    """The table of a kind and a seed."""
    rng = np.random.default_rng([seed, *kind.encode()])
    rows = draw(rng, *ROWS.get(kind, (5000, 20_000)))
    frame, y = KINDS[kind](rng, rows + TEST_ROWS)
    return Made(frame, y, rows)


def run(task: FreshTask) -> list[dict[str, Any]]:
    """The loss of a method on one table, and its CPU seconds."""
    return loss_of(task, made(task.kind, task.seed))


def part_of(record: dict[str, Any]) -> str:
    """Which half a table is of."""
    return "closed" if record["seed"] % 2 else "open"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("half", choices=[*SEEDS, "summary"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(WORDS))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS))
    options = parser.parse_args()
    if options.half != "summary":
        tasks = [
            FreshTask(kind, seed, method)
            for seed in SEEDS[options.half] for kind in options.kinds or KINDS
            for method in options.methods
        ]  # fmt: skip
        run_lines(tasks, run, LINES, 1)
    summary("large_tables", known_records(LINES), part_of)


if __name__ == "__main__":
    main()

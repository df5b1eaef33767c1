"""Tables that no choice was made on: the pool beside tuned LightGBM on generated tables.

Every kind of table draws its sizes, columns and noise from a seed. Even seeds of the kinds in
`OPEN` are for development; odd seeds, and the kinds in `CLOSED`, are looked at once, after all
choices.
Classes are predicted for 4,000 rows that take no part in learning.

    python benchmarks/fresh_tables.py open [--methods pool lgbm-tuned] [--kinds clusters]
    python benchmarks/fresh_tables.py closed
    python benchmarks/fresh_tables.py summary

Every task is one line of `results/fresh_tables.jsonl`, and is not run again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "papers"))

import numpy as np
import pandas as pd
from resumable import known_records, run_lines
from rivals import RIVALS, smooth

import counterpane as cp
from harness import RESULTS, publish
from tuned_boosting import tuned_proba

LINES = RESULTS / "fresh_tables.jsonl"
TEST_ROWS = 4000
WORDS = {
    "faces": "tables alone", "boosted": "boosted tables alone", "pool": "InteractionClassifier",
    "lgbm-tuned": "LightGBM, tuned", "lgbm": "LightGBM, defaults", "lr": "logistic regression",
    "rf": "random forest",
}  # fmt: skip
METHODS = ("pool", "lgbm-tuned")
OTHERS = {"lgbm": "LGBM", "lr": "LR-raw", "rf": "RF"}
RANKED = (*METHODS, *OTHERS)

Generator = np.random.Generator


class Made(NamedTuple):
    """Columns and classes of the rows to learn from, then of the rows to predict."""

    X: pd.DataFrame
    y: np.ndarray
    rows: int

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def draw(rng: Generator, low: int, high: int) -> int:
    """A whole number, uniform on the log scale."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def classes_of(scores: np.ndarray, rng: Generator) -> np.ndarray:
    """A class for each row from scores, one column for each class."""
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
    return np.minimum((rng.random((len(p), 1)) > p).sum(axis=1), p.shape[1] - 1)


def two_classes(score: np.ndarray, rng: Generator) -> np.ndarray:
    return (rng.random(len(score)) < 1 / (1 + np.exp(-score))).astype(int)


def flipped(y: np.ndarray, share: float, rng: Generator) -> np.ndarray:
    """Some rows with a class drawn at random."""
    return np.where(rng.random(len(y)) < share, rng.integers(0, y.max() + 1, len(y)), y)


def clusters(rng: Generator, n: int):
    """Classes of one to three round or oblique clusters in many columns, some of them idle."""
    k, d, each = draw(rng, 3, 16), draw(rng, 20, 100), int(rng.integers(1, 4))
    centers = rng.normal(0, rng.uniform(0.35, 0.9), (k * each, d))
    centers[:, rng.random(d) < 0.3] = 0
    c = rng.integers(0, k * each, n)
    spread = rng.normal(0, 1 / np.sqrt(d), (k * each, d, d)) if rng.random() < 0.5 else None
    z = rng.normal(size=(n, d))
    return centers[c] + (
        z if spread is None else 0.5 * z + np.einsum("nij,nj->ni", spread[c], z)
    ), c % k


def ordered(rng: Generator, n: int):
    """Three to seven ordered classes of unequal shares, by a score of numbers and pairs."""
    d, k = draw(rng, 6, 20), int(rng.integers(3, 8))
    x = rng.normal(size=(n, d))
    x[:, 1:4] += 0.6 * x[:, :1]
    a, b, c, e = (int(i) for i in rng.choice(d, 4, replace=False))
    score = x @ (rng.normal(size=d) * (rng.random(d) < 0.5)) + x[:, a] * x[:, b]
    score += (
        np.abs(x[:, c]) * rng.normal()
        + np.sin(2 * x[:, e])
        + rng.normal(0, rng.uniform(0.3, 1.5), n)
    )
    cuts = np.sort(rng.random(k - 1))
    return x, np.digitize(score, np.quantile(score, cuts))


def rare(rng: Generator, n: int):
    """One class in a hundred to one in ten, by rules on skewed numbers."""
    d = draw(rng, 6, 25)
    x = np.exp(rng.normal(size=(n, d)) * rng.uniform(0.5, 1.5))
    y = np.zeros(n, bool)
    share = rng.uniform(0.004, 0.04)
    for _ in range(int(rng.integers(1, 4))):
        inside = np.ones(n, bool)
        columns = rng.choice(d, int(rng.integers(2, 4)), replace=False)
        for c in columns:
            cut = np.quantile(x[:, c], share ** (1 / len(columns)))
            inside &= (
                x[:, c] < cut
                if rng.random() < 0.5
                else x[:, c] > np.quantile(x[:, c], 1 - share ** (1 / len(columns)))
            )
        y |= inside
    return x, flipped(y.astype(int), rng.uniform(0, 0.01), rng)


def gaps(rng: Generator, n: int):
    """Rules on numbers of which up to a third are missing, some of them for a reason."""
    d, k = draw(rng, 5, 15), int(rng.integers(2, 5))
    x = rng.normal(size=(n, d))
    scores = np.zeros((n, k))
    for c in range(k):
        for _ in range(3):
            i, j = rng.choice(d, 2, replace=False)
            scores[:, c] += 2 * rng.normal() * ((x[:, i] > rng.normal()) & (x[:, j] > rng.normal()))
    y = classes_of(2 * scores, rng)
    x[rng.random(x.shape) < rng.uniform(0.05, 0.3)] = np.nan
    told = int(rng.integers(d))
    x[(y == 0) & (rng.random(n) < 0.4), told] = np.nan
    return x, y


def correlated(rng: Generator, n: int):
    """Many columns that share a few causes; the classes are linear in them."""
    d, k, causes = draw(rng, 20, 80), int(rng.integers(2, 5)), draw(rng, 3, 10)
    hidden = rng.normal(size=(n, causes))
    x = hidden @ rng.normal(size=(causes, d)) + rng.normal(0, rng.uniform(0.3, 1.5), (n, d))
    scores = x @ rng.normal(0, 1 / np.sqrt(d), (d, k)) * rng.uniform(0.7, 2)
    return x, classes_of(scores, rng)


def mixed(rng: Generator, n: int):
    """Numbers and states of up to forty values; some states change the effect of a number."""
    numbers, states = draw(rng, 2, 8), draw(rng, 2, 8)
    x = rng.normal(size=(n, numbers))
    codes = [
        np.minimum(rng.geometric(rng.uniform(0.1, 0.5), n), draw(rng, 3, 40)) for _ in range(states)
    ]
    score = x @ rng.normal(size=numbers)
    for c in codes:
        score += rng.normal(0, 0.8, 41)[c]
    score += (
        rng.normal(0, 1.5, 41)[codes[0]] * np.abs(x[:, 0])
        + rng.normal(0, 1, 41)[codes[1]] * x[:, 1]
    )
    frame = named(x)
    for j, c in enumerate(codes):
        frame[f"s{j}"] = pd.Categorical([f"v{v}" for v in c])
    return frame, two_classes(score - score.mean(), rng)


def small(rng: Generator, n: int):
    """Few rows; smooth and stepped effects."""
    d, k = draw(rng, 4, 20), int(rng.integers(2, 4))
    x = rng.normal(size=(n, d))
    scores = x @ (rng.normal(size=(d, k)) * (rng.random((d, 1)) < 0.5))
    scores += np.sign(x[:, [0]]) * rng.normal(size=k) + x[:, [1]] * x[:, [2]] * rng.normal(size=k)
    return x, classes_of(1.5 * scores, rng)


def many(rng: Generator, n: int):
    """Fifteen to forty classes, each near one or two points of few columns."""
    k, d = draw(rng, 15, 40), draw(rng, 4, 14)
    points = rng.normal(size=(2 * k, d))
    x = rng.normal(size=(n, d)) * 1.2
    away = ((x[:, None] - points) ** 2).sum(axis=2)
    return x, flipped(away.argmin(axis=1) % k, rng.uniform(0, 0.1), rng)


def idle(rng: Generator, n: int):
    """Two or three columns matter, together; twenty to eighty do not."""
    d = draw(rng, 20, 80)
    x = rng.random((n, d)) * 2 - 1
    a, b, c = (int(i) for i in rng.choice(d, 3, replace=False))
    kind = int(rng.integers(3))
    if kind == 0:
        score = 6 * np.sin(3 * x[:, a]) * x[:, b]
    elif kind == 1:
        score = 8 * (np.hypot(x[:, a], x[:, b]) - 0.8) * np.where(x[:, c] > 0, 1, 0.3)
    else:
        score = 3 * np.sign(x[:, a] * x[:, b]) + 2 * x[:, c]
    return x, two_classes(score, rng)


def network(rng: Generator, n: int):
    """Classes by a random network of one hidden layer."""
    d, k, units = draw(rng, 4, 16), int(rng.integers(2, 6)), draw(rng, 5, 20)
    x = rng.normal(size=(n, d))
    hidden = np.tanh(x @ rng.normal(0, 1.5 / np.sqrt(d), (d, units)) + rng.normal(0, 0.5, units))
    return x, classes_of(hidden @ rng.normal(0, rng.uniform(0.7, 2), (units, k)), rng)


def deep(rng: Generator, n: int):
    """Classes by a deep decision tree, some rows wrong."""
    d, k = draw(rng, 5, 20), int(rng.integers(2, 7))
    x = rng.normal(size=(n, d))
    leaf = np.zeros(n, int)
    for level in range(int(rng.integers(4, 8))):
        columns, cuts = rng.integers(0, d, 2**level), rng.normal(0, 0.7, 2**level)
        leaf = 2 * leaf + (x[np.arange(n), columns[leaf]] > cuts[leaf])
    return x, flipped(rng.integers(0, k, leaf.max() + 1)[leaf], rng.uniform(0, 0.15), rng)


def smooth_sums(rng: Generator, n: int):
    """Many columns with waves, steps and lines, that add up."""
    d, k = draw(rng, 10, 40), int(rng.integers(2, 4))
    x = rng.standard_t(4, (n, d))
    scores = np.zeros((n, k))
    for j in range(d):
        shape = (np.sin(2 * x[:, j]), np.sign(x[:, j] - 0.5), x[:, j], np.abs(x[:, j]))[
            int(rng.integers(4))
        ]
        scores += shape[:, None] * rng.normal(0, 0.7, k)
    return x, classes_of(scores, rng)


def shells(rng: Generator, n: int):
    """Classes by the distance from a center, in several columns."""
    d, k = draw(rng, 3, 12), int(rng.integers(2, 5))
    x = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d)
    away = np.sqrt(((x - rng.normal(0, 0.3, d)) ** 2).sum(axis=1))
    y = np.digitize(away, np.quantile(away, np.arange(1, k) / k))
    return x, flipped(y, rng.uniform(0, 0.1), rng)


def states(rng: Generator, n: int):
    """Columns of states alone, with pairs that act together."""
    d, k = draw(rng, 5, 25), int(rng.integers(2, 6))
    sizes = rng.integers(2, 8, d)
    codes = np.stack([rng.choice(s, n, p=rng.dirichlet(np.full(s, 2.0))) for s in sizes], axis=1)
    scores = np.zeros((n, k))
    for j in range(d):
        scores += rng.normal(0, 0.5, (8, k))[codes[:, j]]
    for _ in range(3):
        i, j = rng.choice(d, 2, replace=False)
        scores += rng.normal(0, 1, (64, k))[codes[:, i] * 8 + codes[:, j]]
    frame = pd.DataFrame(
        {f"s{j}": pd.Categorical([f"v{v}" for v in codes[:, j]]) for j in range(d)}
    )
    return frame, classes_of(scores, rng)


OPEN: dict[str, Callable[..., Any]] = {
    "clusters": clusters, "ordered": ordered, "rare": rare, "gaps": gaps, "correlated": correlated,
    "mixed": mixed, "small": small, "many": many, "idle": idle, "network": network,
}  # fmt: skip
CLOSED: dict[str, Callable[..., Any]] = {
    "deep": deep, "smooth sums": smooth_sums, "shells": shells, "states": states,
}  # fmt: skip
KINDS = OPEN | CLOSED
SEEDS = {"open": (0, 2, 4), "closed": (1, 3)}
ROWS = {"small": (60, 250), "rare": (2000, 5000), "many": (1500, 4000)}


def named(x: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(x).set_axis([f"x{i}" for i in range(x.shape[1])], axis=1)


def made(kind: str, seed: int) -> Made:
    """The table of a kind and a seed."""
    rng = np.random.default_rng([seed, *kind.encode()])
    rows = draw(rng, *ROWS.get(kind, (400, 3000)))
    x, y = KINDS[kind](rng, rows + TEST_ROWS)
    known = np.unique(y[:rows])  # classes without a row to learn from cannot be predicted
    keep = np.isin(y, known)
    frame = x if isinstance(x, pd.DataFrame) else named(x)
    return Made(frame[keep].reset_index(drop=True), np.searchsorted(known, y[keep]), rows)


class FreshTask(NamedTuple):
    """One line of the results."""

    kind: str
    seed: int
    method: str


def learner(method: str) -> Any:
    return {
        "pool": cp.InteractionClassifier(),
        "faces": cp.InteractionClassifier(parts="tables"),
        "boosted": cp.InteractionClassifier(parts="trees"),
    }[method]


def run(task: FreshTask) -> list[dict[str, Any]]:
    """The loss of a method on the table of a task, and its CPU seconds."""
    return loss_of(task, made(task.kind, task.seed))


def loss_of(task: FreshTask, table: Made) -> list[dict[str, Any]]:
    """The loss of a method on one table, and its CPU seconds."""
    X, T, y = table.X[: table.rows], table.X[table.rows :], table.y[: table.rows]
    truth = table.y[table.rows :]
    began = time.process_time()
    note = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if task.method == "lgbm-tuned":
            p = smooth(tuned_proba(X, y, T, table.classes), table.rows)
        elif task.method in OTHERS:
            p = RIVALS[OTHERS[task.method]].predict_proba(X, y, T, table.classes)
        else:
            classifier = learner(task.method).fit(X, y)
            p, note = classifier.predict_proba(T), getattr(classifier, "pool_note_", "")
    loss = -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-300))
    return [{
        **task._asdict(), "rows": table.rows, "columns": X.shape[1], "classes": table.classes,
        "log_loss": float(loss.mean()), "error": float((p.argmax(axis=1) != truth).mean()),
        "cpu": round(time.process_time() - began, 2), "note": note,
    }]  # fmt: skip


def part_of(record: dict[str, Any]) -> str:
    """Which half a table is of."""
    return "open" if record["kind"] in OPEN and record["seed"] % 2 == 0 else "closed"


def summary(
    name: str, records: list[dict[str, Any]], half_of: Callable[[dict[str, Any]], str]
) -> None:
    """Write a row for each table, and the figures of each half, for the page `name`."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for r in records:
        row = rows.setdefault((r["kind"], r["seed"]), {
            "table": f"{half_of(r)}: {r['kind']} {r['seed']}".rstrip(), "rows": r["rows"],
            "columns": r["columns"], "classes": r["classes"],
        })  # fmt: skip
        row[WORDS[r["method"]]] = round(r["log_loss"], 4)
        row[f"CPU, {WORDS[r['method']]} (s)"] = r["cpu"]
    known = [row for row in rows.values() if all(WORDS[m] in row for m in METHODS)]
    for row in known:
        row["difference"] = round(row[WORDS["pool"]] - row[WORDS["lgbm-tuned"]], 4)
    known.sort(key=lambda row: row["table"].split(":")[0], reverse=True)
    ours = [r for r in records if r["method"] != "lgbm-tuned"]
    halves = [
        figures(half, [row for row in known if row["table"].startswith(half)])
        for half in ("open", "closed")
    ]
    publish(name, [figure for half in halves for figure in half], known, ours)


def figures(half: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often the pool is better, and by how much it is worse."""
    if not rows:
        return []
    gap = np.array([row["difference"] for row in rows])
    worst = rows[int(gap.argmax())]["table"]
    of = f"of {len(rows)}"
    return [
        {"what": f"{half}: mean log-loss, {WORDS[m]}", "unit": "nats",
         "value": float(np.mean([row[WORDS[m]] for row in rows]))}
        for m in METHODS
    ] + [
        {"what": f"{half}: tables with a lower log-loss", "value": int((gap < 0).sum()),
         "unit": of},
        {"what": f"{half}: tables worse by at most 0.03 nats, or better",
         "value": int((gap <= 0.03).sum()), "unit": of, "limit": len(rows), "sign": "≥"},
        {"what": f"largest difference, {worst}", "value": float(gap.max()),
         "unit": "nats", "limit": 0.03},
        *({"what": f"{half}: CPU of all, {WORDS[m]}", "unit": "s",
           "value": float(sum(row[f"CPU, {WORDS[m]} (s)"] for row in rows))} for m in METHODS),
        *ranks(half, rows),
    ]  # fmt: skip


def ranks(half: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean rank of each method, where all were run on all tables."""
    words = [WORDS[m] for m in RANKED]
    if not all(word in row for row in rows for word in words):
        return []
    loss = np.array([[row[word] for word in words] for row in rows])
    rank = (loss[:, :, None] > loss[:, None] + 5e-4).sum(axis=2) + 1.0  # .0005 nats are a tie
    return [
        {"what": f"{half}: mean rank, {word}", "value": round(float(x), 2),
         "unit": f"of {len(words)}"}
        for word, x in zip(words, rank.mean(axis=0), strict=True)
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("half", choices=[*SEEDS, "summary"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(WORDS))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS))
    options = parser.parse_args()
    if options.half != "summary":
        kinds = OPEN if options.half == "open" else KINDS
        tasks = [
            FreshTask(kind, seed, method)
            for seed in SEEDS[options.half] for kind in kinds for method in options.methods
            if not options.kinds or kind in options.kinds
        ]  # fmt: skip
        run_lines(tasks, run, LINES, 1)
    summary("fresh_tables", known_records(LINES), part_of)


if __name__ == "__main__":
    main()

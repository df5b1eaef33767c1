"""Classifiers on synthetic tables, their speed on large ones, and how many tables one must read.

    python benchmarks/classifier_tables.py synthetic [--methods pool faces lgbm-tuned] [--noise 40]
    python benchmarks/classifier_tables.py speed [--sizes "26 classes"] [--methods pool lgbm-tuned]
    python benchmarks/classifier_tables.py readability [--sets cmc bupa glass]

Every task is one line of `results/classifier_tables.jsonl`, and is not run again. Speed is measured
in a process of its own, with the peak of its memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "papers"))

import numpy as np
import pandas as pd
import uci
from resumable import known_records, run_lines

import counterpane as cp
from counterpane.additive.boosted_member import BoostedMember
from counterpane.additive.effects import log_odds
from harness import RESULTS, publish
from tuned_boosting import tuned_proba

LINES = RESULTS / "classifier_tables.jsonl"
FLIPPED = 0.05
SYNTHETIC = ("crescents", "ring", "checker 2", "checker 4", "checker 8", "xor of three")
SIZES = ("26 classes", "million rows")  # 16,000 × 16 and 1,000,000 × 20 numbers
WORDS = {
    "pool": "InteractionClassifier", "faces": "tables alone", "boosted": "boosted tables alone",
    "lgbm-tuned": "LightGBM, tuned",
}  # fmt: skip
READ = ("cmc", "bupa", "glass", "pima", "ecoli", "wine", "german", "vehicle")


class TableTask(NamedTuple):
    """One line of the results."""

    mode: str
    name: str
    method: str
    noise: int = 0


def synthetic(name: str, rows: int, noise: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two or three numbers that tell the class only together, and columns of noise."""
    rng = np.random.default_rng(seed)
    x = rng.random((rows, 3 if name == "xor of three" else 2)) * 2 - 1
    if name == "crescents":
        y, t = rng.integers(0, 2, rows), rng.random(rows) * np.pi
        first = np.where(y == 0, np.cos(t), 1 - np.cos(t))
        second = np.where(y == 0, np.sin(t), 0.5 - np.sin(t))
        x = np.column_stack([first, second]) + rng.normal(0, 0.15, (rows, 2))
    elif name == "ring":
        y = np.abs(np.hypot(*x.T) - 0.7) < 0.25
    elif name == "xor of three":
        y = x.prod(axis=1) > 0
    else:
        k = int(name.split()[1])
        y = np.floor((x + 1) / 2 * k).sum(axis=1) % 2
    y = np.where(rng.random(rows) < FLIPPED, 1 - np.asarray(y, int), np.asarray(y, int))
    frame = pd.DataFrame(np.column_stack([x, rng.normal(size=(rows, noise))]))
    return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1), y


def large(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """26 classes × 16,000 rows × 16 numbers, or two classes × 1,000,000 rows × 20 numbers."""
    rng = np.random.default_rng(0)
    if name == "26 classes":
        n, k, d = 16_000, 26, 16
        centers, turns = rng.normal(0, 2.2, (3 * k, d)), rng.normal(0, 0.4, (3 * k, d, d))
        c = rng.integers(0, 3 * k, n)
        x = centers[c] + np.einsum("nij,nj->ni", turns[c], rng.normal(size=(n, d)))
        x, y = np.clip(np.round(x + 7), 0, 15), c % k
    else:
        x = rng.normal(size=(1_000_000, 20))
        score = x[:, 0] + x[:, 1] * x[:, 2] + np.sin(2 * x[:, 3]) + 0.5 * x[:, 4] * (x[:, 5] > 0)
        y = (rng.random(len(x)) < 1 / (1 + np.exp(-score))).astype(int)
    return pd.DataFrame(x).set_axis([f"x{i}" for i in range(x.shape[1])], axis=1), y


def learner(method: str) -> Any:
    return {
        "pool": cp.InteractionClassifier(),
        "faces": cp.InteractionClassifier(parts="tables"),
        "boosted": cp.InteractionClassifier(parts="trees"),
    }[method]


def predicted(method: str, X, y, T) -> tuple[np.ndarray, Any]:
    """P(class | row of T), and the classifier where it is one of ours."""
    if method == "lgbm-tuned":
        return tuned_proba(X, y, T, int(y.max()) + 1), None
    classifier = learner(method).fit(X, y)
    return classifier.predict_proba(T), classifier


def run_synthetic(task: TableTask) -> dict[str, Any]:
    """The loss on fresh rows, and where the true set of columns stands among the interactions."""
    X, y = synthetic(task.name, 4000, task.noise, 0)
    T, truth = synthetic(task.name, 4000, task.noise, 1)
    began = time.process_time()
    p, classifier = predicted(task.method, X, y, T)
    loss = -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-15)).mean()
    found = {"log_loss": float(loss), "cpu": round(time.process_time() - began, 2)}
    if classifier is not None:
        true = {f"x{i}" for i in range(3 if task.name == "xor of three" else 2)}
        joint = [set(r["columns"]) for r in classifier.interactions_ if r["order"] > 1]
        inside = [r["explained"] for r in classifier.interactions_ if set(r["columns"]) <= true]
        found["rank"] = joint.index(true) + 1 if true in joint else None
        found["explained"] = round(float(sum(inside)), 4)
    return found


def run_speed(task: TableTask) -> dict[str, Any]:
    """CPU seconds, peak memory and held-out loss, in a process of its own."""
    command = [sys.executable, __file__, "one", "--sizes", task.name, "--methods", task.method]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def one(name: str, method: str) -> None:
    """A fit and the prediction of a fifth of the rows."""
    X, y = large(name)
    test = np.arange(len(y)) % 5 == 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, wall = time.process_time(), time.perf_counter()
    p, classifier = predicted(method, X[~test], y[~test], X[test])
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {
        "log_loss": float(-np.log(np.maximum(p[np.arange(test.sum()), y[test]], 1e-15)).mean()),
        "cpu": round(seconds, 1), "wall": round(time.perf_counter() - wall, 1),
        "peak_mb": peak // 1024, "data_mb": before // 1024,
        "note": getattr(classifier, "pool_note_", ""),
    }  # fmt: skip
    print(json.dumps(found))


def run_readability(task: TableTask) -> dict[str, Any]:
    """How many tables carry 95 and 99 % of the variances, before and after purification."""
    data = next(s for s in uci.load_all() if s.name == task.name)
    classifier = learner(task.method).set_params(categorical=data.categorical)
    model = classifier.fit(data.X, data.y).model_
    codes, numbers = model.encode(data.X.sample(min(len(data.X), 500), random_state=0))
    pure = model.contributions(codes, numbers)[1:]
    raw: dict[tuple[int, ...], Any] = {}
    for share, member in zip(model.shares, model.members, strict=True):
        parts = raw_parts(member, codes, numbers)
        for face, part in parts:
            raw[face] = raw.get(face, 0.0) + share * part
    before = np.array([log_odds(part).var(axis=0).mean() for part in raw.values()])
    after = pure.var(axis=1).mean(axis=1)
    orders = np.array([len(face) for face in model.faces])
    shares = [float(after[orders == k].sum() / after.sum()) for k in (1, 2, 3, 4)]
    return {
        "tables_by_order": [int((orders == k).sum()) for k in (1, 2, 3, 4)],
        "share_by_order": [round(share, 4) for share in shares],
        **{f"before_{s}": count_for(before, s / 100) for s in (95, 99)},
        **{f"after_{s}": count_for(after, s / 100) for s in (95, 99)},
    }


def raw_parts(member: Any, codes, numbers):
    """(columns, what its tables or boxes add) as they were fitted."""
    if not isinstance(member, BoostedMember):
        yield from member.parts(codes, numbers)
        return
    bins = member.binning(codes, numbers)
    sets, where = np.unique(member.boxes.columns, axis=0, return_inverse=True)
    for k, columns in enumerate(sets.tolist()):
        total = np.zeros((len(bins), member.box_values.shape[1]))
        for box in np.flatnonzero(where.reshape(-1) == k):
            inside = np.ones(len(bins), bool)
            for place, column in enumerate(c for c in columns if c >= 0):
                bits = member.boxes.bins[box, place].view(np.uint8)
                inside &= np.unpackbits(bits, bitorder="little").astype(bool)[bins[:, column]]
            total[inside] += member.box_values[box]
        scores = np.concatenate([-total / 2, total / 2], axis=1) if total.shape[1] == 1 else total
        yield tuple(sorted(member.binning.columns[[c for c in columns if c >= 0]].tolist())), scores


def count_for(variances: np.ndarray, share: float) -> int:
    """The number of largest variances that make up a share of their sum."""
    ranked = np.sort(variances)[::-1].cumsum()
    return int(np.searchsorted(ranked, share * ranked[-1]) + 1)


RUNS = {"synthetic": run_synthetic, "speed": run_speed, "readability": run_readability}


def run(task: TableTask) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [{**task._asdict(), **RUNS[task.mode](task)}]


def summary(records: list[dict[str, Any]]) -> None:
    """Write a table of each mode that has lines."""
    tables = {"synthetic": synthetic_rows, "speed": speed_rows, "readability": readability_rows}
    for mode, rows in tables.items():
        known = [r for r in records if r["mode"] == mode]
        if known:
            publish(f"classifier_{mode}", [], rows(known), known)


def synthetic_rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each table: the losses, and what became of the true set of columns."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for r in records:
        name = f"{r['name']}, {r['noise']} columns of noise" if r["noise"] else r["name"]
        row = rows.setdefault((r["name"], r["noise"]), {"table": name})
        row[f"log-loss, {WORDS[r['method']]}"] = round(r["log_loss"], 4)
        row[f"CPU, {WORDS[r['method']]} (s)"] = r["cpu"]
        if "rank" in r:
            row["place of the true set"] = r["rank"]
            row["variance that its columns explain"] = r["explained"]
    return list(rows.values())


def speed_rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each table and classifier."""
    return [
        {"table and classifier": f"{r['name']}: {WORDS[r['method']]}",
         "CPU of fit and prediction (s)": r["cpu"], "peak memory (MB)": r["peak_mb"],
         "memory before the fit (MB)": r["data_mb"], "log-loss": round(r["log_loss"], 4)}
        for r in records
    ]  # fmt: skip


def readability_rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each set: tables by order, and how many carry most of the variance."""
    return [
        {"set": r["name"],
         **{f"tables of {k}": n for k, n in enumerate(r["tables_by_order"][:3], start=1)},
         "variance of single columns": r["share_by_order"][0],
         "95 %, as fitted": r["before_95"], "95 %, purified": r["after_95"],
         "99 %, as fitted": r["before_99"], "99 %, purified": r["after_99"]}
        for r in records
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("mode", choices=[*RUNS, "one", "summary"])
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--sets", nargs="+", default=list(READ))
    parser.add_argument("--noise", type=int, nargs="+", default=[0, 40])
    options = parser.parse_args()
    mode = options.mode
    if mode == "one":
        one(options.sizes[0], options.methods[0])
        return
    methods = options.methods or (["pool"] if mode == "readability" else ["pool", "lgbm-tuned"])
    if mode == "synthetic":
        grid = product(options.noise, SYNTHETIC, methods)
        tasks = [TableTask(mode, name, method, noise) for noise, name, method in grid]
    else:
        names = options.sizes if mode == "speed" else options.sets
        tasks = [TableTask(mode, n, m) for n in names for m in methods]
    if mode != "summary":
        run_lines(tasks, run, LINES, 1)
    summary(known_records(LINES))


if __name__ == "__main__":
    main()

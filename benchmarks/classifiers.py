"""Readable classifiers beside boosted trees: 39 UCI sets, five times five folds.

Every fold of every method is one line of `results/classifiers.jsonl`; a run that was stopped goes
on where it was. `--summary` prints the means and ranks of what is there and writes them for the
site. Choices within the package were made on these sets, so they flatter our methods.

    python benchmarks/classifiers.py [--sets iris wine] [--methods pool lgbm-tuned] \
        [--repetitions 5] [--folds 5] [--jobs 1] [--largest 40000]
    python benchmarks/classifiers.py --summary [--folds 2]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # CPU seconds are those of one thread
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "papers"))

import numpy as np
import uci
from resumable import finished, known_records, run_lines
from rivals import RIVALS, smooth

import counterpane as cp
from harness import RESULTS, publish
from tuned_boosting import tuned_proba

LINES = RESULTS / "classifiers.jsonl"
OURS = {
    "faces": partial(cp.InteractionClassifier, boosted=False),
    "boosted": cp.BoostedTables,
    "pool": cp.InteractionClassifier,
}
OTHERS = {"lgbm": "LGBM", "ebm": "EBM", "lr": "LR-raw", "rf": "RF"}
METHODS = (*OURS, "lgbm", "lgbm-tuned", "ebm", "lr", "rf")
TITLES = {
    "faces": "tables alone", "boosted": "boosted tables alone", "pool": "InteractionClassifier",
    "lgbm": "LightGBM, defaults", "lgbm-tuned": "LightGBM, tuned", "ebm": "EBM, defaults",
    "lr": "logistic regression", "rf": "random forest",
}  # fmt: skip
BINS = 10  # of predicted probabilities, for the calibration error


class FoldTask(NamedTuple):
    """One line of the results."""

    name: str
    repetition: int
    fold: int
    method: str


def run(task: FoldTask) -> list[dict[str, Any]]:
    """The measures of one method on one fold, or why there are none."""
    data = uci_sets()[task.name]
    train, test = list(data.folds(task.repetition))[task.fold]
    y = data.y.cat.codes.to_numpy().astype(np.int64)
    classes = len(data.y.cat.categories)
    began, wall = time.process_time(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = predict(task.method, data, train, test, y, classes)
    except Exception as error:  # of other libraries, whatever they are
        return [{**task._asdict(), "failure": repr(error)[:200]}]
    seconds = {"cpu": time.process_time() - began, "wall": time.perf_counter() - wall}
    return [
        {**task._asdict(), **measures(p, y[test]), **{k: round(v, 3) for k, v in seconds.items()}}
    ]


def predict(method, data, train, test, y, classes) -> np.ndarray:
    """P(class | row) of the test rows; all are smoothed alike."""
    X, T = data.X.iloc[train], data.X.iloc[test]
    if method in OURS:
        classifier = OURS[method](categorical=data.categorical)
        return classifier.fit(X, data.y.iloc[train]).predict_proba(T)
    if method == "lgbm-tuned":
        return smooth(tuned_proba(X, y[train], T, classes), len(train))
    return RIVALS[OTHERS[method]].predict_proba(X, y[train], T, classes)


def measures(p: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Log-loss (nats), Brier score, error rate, and sums by bin of predicted probabilities."""
    hot = np.eye(p.shape[1])[y]
    bins = np.minimum((p * BINS).astype(int), BINS - 1).ravel()
    sums = [np.bincount(bins, values, BINS) for values in (np.ones(p.size), p.ravel(), hot.ravel())]
    return {
        "rows": len(y),
        "classes": p.shape[1],
        "log_loss": float(-np.log(np.maximum(p[np.arange(len(y)), y], 1e-300)).mean()),
        "brier": float(((p - hot) ** 2).sum(axis=1).mean()),
        "error": float((p.argmax(axis=1) != y).mean()),
        "bins": np.round(sums, 4).tolist(),
    }


_SETS: dict[str, uci.UciSet] = {}


def uci_sets() -> dict[str, uci.UciSet]:
    """The sets by name, read once."""
    if not _SETS:
        _SETS.update({data.name: data for data in uci.load_all()})
    return _SETS


def summary(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(figures, a table by set) of the folds that all methods have."""
    by_key: dict[tuple[str, int, int], dict[str, dict[str, Any]]] = {}
    for record in records:
        key = record["name"], record["repetition"], record["fold"]
        by_key.setdefault(key, {})[record["method"]] = record
    methods = [m for m in METHODS if any(m in row for row in by_key.values())]
    complete = {k: r for k, r in by_key.items() if all("cpu" in r.get(m, {}) for m in methods)}
    sets = list(dict.fromkeys(name for name, _, _ in complete))
    table, losses, cpu = [], [], []
    for name in sets:
        rows = [r for (other, _, _), r in complete.items() if other == name]
        own = {m: np.mean([row[m]["log_loss"] for row in rows]) for m in methods}
        losses.append(list(own.values()))
        cpu.append([np.mean([row[m]["cpu"] for row in rows]) for m in methods])
        table.append({"set": name, "folds": len(rows), **{m: round(v, 4) for m, v in own.items()}})
    values, seconds = np.array(losses), np.array(cpu)
    ranks = (values[:, :, None] > values[:, None] + 5e-4).sum(axis=2) + 1.0  # .0005 nats are a tie
    figures = []

    def add(what: str, each: Any, unit: str = "") -> None:
        for method, value in zip(methods, each, strict=True):
            figures.append(
                {"what": f"{what}: {TITLES[method]}", "value": float(value), "unit": unit}
            )

    add(f"mean log-loss over {len(sets)} sets", values.mean(axis=0), "nats")
    add("mean rank of the log-loss", ranks.mean(axis=0))
    for key, words in (("brier", "mean Brier score"), ("error", "mean error rate")):
        add(words, [np.mean([[_mean(complete, s, m, key)] for s in sets]) for m in methods])
    add("mean calibration error", [np.mean([_off(complete, s, m) for s in sets]) for m in methods])
    add("CPU of fit and prediction, median", np.median(seconds, axis=0), "s")
    add("CPU of fit and prediction, maximum", seconds.max(axis=0), "s")
    if {"pool", "lgbm-tuned"} <= set(methods):
        gap = values[:, methods.index("pool")] - values[:, methods.index("lgbm-tuned")]
        figures += [
            {"what": "sets on which the pool is better than tuned LightGBM",
             "value": int((gap < 0).sum()), "unit": f"of {len(sets)}"},
            {"what": f"largest loss against tuned LightGBM ({sets[int(gap.argmax())]})",
             "value": float(gap.max()), "unit": "nats", "limit": 0.03},
        ]  # fmt: skip
    return figures, table


def _mean(complete, name, method, key) -> float:
    return float(np.mean([r[method][key] for (s, _, _), r in complete.items() if s == name]))


def _off(complete, name, method) -> float:
    """Σ |predicted − observed| over bins of all folds of a set, divided by the predictions."""
    bins = np.sum([r[method]["bins"] for (s, _, _), r in complete.items() if s == name], axis=0)
    return float(np.abs(bins[1] - bins[2]).sum() / bins[0].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--folds", type=int, default=5, help="the first folds of each repetition")
    parser.add_argument("--largest", type=int, default=10**9, help="rows of the largest set")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--summary", action="store_true", help="only what is there")
    options = parser.parse_args()
    if not options.summary:
        sets = [
            name for name, data in uci_sets().items()
            if len(data.y) <= options.largest and (not options.sets or name in options.sets)
        ]  # fmt: skip
        tasks = [
            FoldTask(name, repetition, fold, method)
            for repetition, name, fold, method in product(
                range(options.repetitions), sets, range(options.folds), options.methods
            )
        ]
        done = len(finished(tasks, LINES))
        print(f"{done:,} of {len(tasks):,} folds are there", flush=True)
        run_lines(tasks, run, LINES, options.jobs)
    figures, table = summary(known_records(LINES))
    publish("classifiers", figures, table)


if __name__ == "__main__":
    main()

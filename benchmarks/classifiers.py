"""Readable classifiers beside boosted trees: 39 UCI sets, five times five folds.

Every fold of every method is one line of `results/classifiers.jsonl`; a run that was stopped goes
on where it was. `--summary` writes the means and ranks of what is there for the site, and packs the
lines into `docs/_figures/folds`, from which a run on another machine goes on. Choices within the
package were made on these sets, so they flatter our methods.

    python benchmarks/classifiers.py [--sets iris wine] [--methods pool lgbm-tuned] \
        [--repetitions 5] [--folds 5] [--jobs 1] [--largest 40000]
    python benchmarks/classifiers.py --summary [--repetitions 2]
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
from resumable import finished, keep, known_records, restore, run_lines
from rivals import RIVALS, smooth

import counterpane as cp
from harness import RESULTS, publish
from tuned_boosting import tuned_proba

LINES = RESULTS / "classifiers.jsonl"
KEPT = Path(__file__).parents[1] / "docs" / "_figures" / "folds" / "classifiers.jsonl.gz"
OURS = {
    "faces": partial(cp.InteractionClassifier, parts="tables"),
    "boosted": partial(cp.InteractionClassifier, parts="trees"),
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


Folds = dict[tuple[str, int, int], dict[str, dict[str, Any]]]
"""By set, repetition and fold: the record of each method."""


def summary(records: list[dict[str, Any]]) -> None:
    """Write the table by method, and that by set, of the folds that all methods but EBM have."""
    folds: Folds = {}
    for record in records:
        if "cpu" in record:
            key = record["name"], record["repetition"], record["fold"]
            folds.setdefault(key, {})[record["method"]] = record
    methods = [m for m in METHODS if m != "ebm"]
    complete = {key: row for key, row in folds.items() if set(methods) <= set(row)}
    sets = list(dict.fromkeys(name for name, _, _ in complete))
    loss = np.array([[mean_of(complete, s, m, "log_loss") for m in methods] for s in sets])
    ours = [record for record in records if record["method"] in OURS]  # of the commits to name
    publish("classifiers", ebm_figures(folds), by_method(complete, sets, methods, loss), ours)
    gap = loss[:, methods.index("pool")] - loss[:, methods.index("lgbm-tuned")]
    by_set = [
        {"set": name, "folds": sum(s == name for s, _, _ in complete),
         **{TITLES[m]: round(float(x), 4) for m, x in zip(methods, row, strict=True)},
         "difference to LightGBM, tuned": round(float(d), 4)}
        for name, row, d in zip(sets, loss, gap, strict=True)
    ]  # fmt: skip
    publish("classifier_sets", gap_figures(gap, sets), by_set, ours)


def by_method(complete: Folds, sets: list[str], methods: list[str], loss: np.ndarray):
    """A row for each method: means over sets of means over folds."""
    ranks = (loss[:, :, None] > loss[:, None] + 5e-4).sum(axis=2) + 1.0  # .0005 nats are a tie
    rows = []
    for j, method in enumerate(methods):
        cpu = [mean_of(complete, s, method, "cpu") for s in sets]
        rows.append({
            "classifier": TITLES[method],
            "log-loss (nats)": round(float(loss[:, j].mean()), 4),
            f"rank of {len(methods)}": round(float(ranks[:, j].mean()), 2),
            **{words: round(float(np.mean([mean_of(complete, s, method, key) for s in sets])), 4)
               for key, words in (("brier", "Brier score"), ("error", "error rate"))},
            "calibration error": round(float(np.mean([off(complete, s, method) for s in sets])), 4),
            "CPU, median of sets (s)": round(float(np.median(cpu)), 2),
            "CPU, slowest set (s)": round(float(np.max(cpu)), 1),
        })  # fmt: skip
    return rows


def ebm_figures(folds: Folds) -> list[dict[str, Any]]:
    """EBM beside others on the folds that it has."""
    others = ("ebm", "pool", "lgbm-tuned")
    known = {key: row for key, row in folds.items() if set(others) <= set(row)}
    sets = list(dict.fromkeys(name for name, _, _ in known))
    figures = []
    for method in others if known else ():
        where = f"the {len(known)} folds of {len(sets)} sets that EBM has"
        for key, what, unit in (("log_loss", "mean log-loss", "nats"), ("cpu", "mean CPU", "s")):
            value = float(np.mean([mean_of(known, s, method, key) for s in sets]))
            figures.append(
                {"what": f"{what} on {where}: {TITLES[method]}", "value": value, "unit": unit}
            )
    return figures


def gap_figures(gap: np.ndarray, sets: list[str]) -> list[dict[str, Any]]:
    """The differences of the pool to tuned LightGBM."""
    worst, best = int(gap.argmax()), int(gap.argmin())
    of = f"of {len(sets)}"
    return [
        {"what": "sets with a lower log-loss than tuned LightGBM", "value": int((gap < 0).sum()),
         "unit": of},
        {"what": "sets worse by at most 0.03 nats, or better", "value": int((gap <= 0.03).sum()),
         "unit": of},
        {"what": f"largest difference, {sets[worst]}", "value": float(gap[worst]), "unit": "nats",
         "limit": 0.03},
        {"what": f"smallest difference, {sets[best]}", "value": float(gap[best]), "unit": "nats"},
    ]  # fmt: skip


def mean_of(folds: Folds, name: str, method: str, key: str) -> float:
    """The mean of a measure over the folds of a set."""
    return float(np.mean([row[method][key] for (s, _, _), row in folds.items() if s == name]))


def off(folds: Folds, name: str, method: str) -> float:
    """Σ |predicted − observed| over bins of all folds of a set, divided by the predictions."""
    bins = np.sum([r[method]["bins"] for (s, _, _), r in folds.items() if s == name], axis=0)
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
    restore(LINES, KEPT)
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
    keep(LINES, KEPT)
    known = known_records(LINES)
    summary([record for record in known if record["repetition"] < options.repetitions])


if __name__ == "__main__":
    main()

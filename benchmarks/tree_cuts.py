"""Cuts by minimum description length and cuts of boosted trees, for the classifiers of networks.

The UCI sets with numbers (one repetition; all five folds up to 400 rows, else the first two), a
checkerboard of 4 × 4 squares beside four columns of noise, and two crescents. Every fold is one
line of `results/tree_cuts.jsonl`; a run that was stopped goes on where it was.

    python benchmarks/tree_cuts.py [--sets iris wine] [--jobs 1] [--summary]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parent / "papers"))

import numpy as np
import pandas as pd
import uci
from resumable import known_records, run_lines
from rivals import smooth

import counterpane as cp
from harness import RESULTS, publish

LINES = RESULTS / "tree_cuts.jsonl"
LEARNERS = (cp.NaiveBayes, cp.TAN, cp.BayesNetClassifier, cp.MarkovClassifier)
FEW_ROWS, MOST_ROWS = 400, 3000
CUTS = ("auto", "trees")


class CutTask(NamedTuple):
    """One line of the results."""

    name: str
    fold: int
    learner: str
    cuts: str


def checkerboard(rows: int = 4000) -> uci.UciSet:
    """Squares of two colors, a tenth of them flipped, and four more columns without meaning."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, 6))
    color = np.floor(4 * X[:, :2]).sum(axis=1) % 2
    color = np.where(rng.random(rows) < 0.1, 1 - color, color)
    return _synthetic("checkerboard", X, color)


def crescents(rows: int = 4000) -> uci.UciSet:
    """Two half circles with noise, a twentieth of the classes flipped."""
    rng = np.random.default_rng(1)
    y, t = rng.integers(0, 2, rows), rng.random(rows) * np.pi
    a = np.where(y == 0, np.cos(t), 1 - np.cos(t))
    b = np.where(y == 0, np.sin(t), 0.5 - np.sin(t))
    X = np.column_stack([a, b]) + rng.normal(0, 0.3, (rows, 2))
    return _synthetic("crescents", X, np.where(rng.random(rows) < 0.05, 1 - y, y))


def _synthetic(name: str, X: np.ndarray, y: np.ndarray) -> uci.UciSet:
    frame = pd.DataFrame(X, columns=[f"v{k}" for k in range(X.shape[1])])
    return uci.UciSet(name, name, frame, pd.Series(pd.Categorical(y.astype(int).astype(str))))


_SETS: dict[str, uci.UciSet] = {}


def all_sets() -> dict[str, uci.UciSet]:
    """The sets with numbers, by name, read once."""
    if not _SETS:
        sets = [checkerboard(), crescents(), *uci.load_all()]
        kept = [s for s in sets if len(s.X) <= MOST_ROWS or s.name in ("checkerboard", "crescents")]
        _SETS.update({s.name: s for s in kept if len(s.categorical) < s.X.shape[1]})
    return _SETS


def run(task: CutTask) -> list[dict[str, Any]]:
    """The log-loss of one learner on one fold, smoothed as in the other benchmarks."""
    data = all_sets()[task.name]
    train, test = list(data.folds(0))[task.fold]
    y = data.y.cat.codes.to_numpy().astype(np.int64)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = getattr(cp, task.learner)(categorical=data.categorical, discretize=task.cuts)
        learner.fit(data.X.iloc[train], data.y.iloc[train])
        p = smooth(learner.predict_proba(data.X.iloc[test]), len(train))
    record = {"log_loss": float(-np.log(p[np.arange(len(test)), y[test]]).mean())}
    record["cpu"] = round(time.process_time() - began, 3)
    if learner.cut_choice_ is not None:
        losses = learner.cut_choice_.log_loss
        record["chosen"] = min(losses, key=losses.__getitem__) if losses else "mdl"
    return [{**task._asdict(), **record}]


def summary(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(figures, a table by set) of the folds that all learners have with both kinds of cuts."""
    folds: dict[tuple[str, int], dict[tuple[str, str], dict[str, Any]]] = {}
    for r in records:
        folds.setdefault((r["name"], r["fold"]), {})[r["learner"], r["cuts"]] = r
    names = [kind.__name__ for kind in LEARNERS]
    whole = {k: v for k, v in folds.items() if len(v) == len(names) * len(CUTS)}
    figures, details = [], []
    for name in dict.fromkeys(set_name for set_name, _ in whole):
        row: dict[str, Any] = {"set": name}
        for learner in names:
            for cuts, words in zip(CUTS, ("mdl", "trees"), strict=True):
                own = [v[learner, cuts]["log_loss"] for k, v in whole.items() if k[0] == name]
                row[f"{learner}_{words}"] = round(float(np.mean(own)), 4)
        details.append(row)
    real = [row for row in details if row["set"] not in ("checkerboard", "crescents")]
    for learner in names:
        mdl, trees = (np.array([r[f"{learner}_{w}"] for r in real]) for w in ("mdl", "trees"))
        own = [v[learner, "trees"] for v in whole.values()]
        sets = f"{learner}, {len(real)} UCI sets"
        figures += [
            {"what": f"{sets}: mean log-loss, cuts by MDL", "value": mdl.mean(), "unit": "nats"},
            {"what": f"{sets}: mean log-loss, trees", "value": trees.mean(), "unit": "nats"},
            {"what": f"{sets}: trees better on", "value": int((trees < mdl).sum()), "unit": "sets"},
            {"what": f"{sets}: trees worse on", "value": int((trees > mdl).sum()), "unit": "sets"},
            {"what": f"{sets}: most lost by trees", "value": (trees - mdl).max(), "unit": "nats"},
            {"what": f"{sets}: MDL kept on", "unit": "% of folds",
             "value": 100 * np.mean([r["chosen"] == "mdl" for r in own])},
            {"what": f"{sets}: CPU seconds of a fold, trees", "unit": "s",
             "value": float(np.mean([r["cpu"] for r in own]))},
        ]  # fmt: skip
    return figures, details


def main() -> None:
    """Run what is left, and write the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if not options.summary:
        tasks = [
            CutTask(name, fold, kind.__name__, cuts)
            for name, data in all_sets().items()
            if not options.sets or name in options.sets
            for fold in range(uci.FOLDS if len(data.X) <= FEW_ROWS else 2)
            for kind in LEARNERS
            for cuts in CUTS
        ]
        run_lines(tasks, run, LINES, options.jobs)
    records = known_records(LINES)
    figures, details = summary(records)
    publish("tree_cuts", figures, details, records)


if __name__ == "__main__":
    main()

"""Jakulin & Rish's tables again: 39 UCI sets, five times five folds, our classifiers and rivals.

Every fold of every method is one line of `results/jakulin_rish.jsonl`, so that a run that was
stopped goes on where it was. Two protocols: "first" discretizes the whole set before the folds,
as the paper did, and "inside" leaves that to `fit`, on the training rows alone. Log-loss in nats.

    python benchmarks/papers/jakulin_rish.py [--quick] [--jobs 2] [--repetitions 5] [--methods B4 …]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # folds run side by side
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import uci
from joblib import Parallel, delayed
from report import publish_tables
from rivals import RIVALS
from speed import measure_speed

import counterpane as cp
from counterpane.progress import TextBar
from harness import RESULTS, commit

QUICK_SETS = ("lenses", "iris", "zoo", "monk1", "tic-tac-toe", "titanic", "wine", "voting")
QUICK_METHODS = (*uci.METHODS, "IC", "LR", "LR-raw", "SVM", "HGB")


def markov(order: int, **options: Any) -> Callable[..., Any]:
    return lambda **more: cp.MarkovClassifier(max_order=order, floor=False, **options, **more)


OURS: dict[str, Callable[..., Any]] = {
    "NB": partial(cp.NaiveBayes, smoothing="even"),
    "TN": partial(cp.TAN, smoothing="even"),
    "BC": partial(cp.BayesNetClassifier, smoothing="even"),
    **{f"M{k}": markov(k, average=False) for k in (2, 3, 4)},
    **{f"B{k}": markov(k) for k in (2, 3, 4)},
    "BT": markov(3, cycles=False),
    "IC": lambda **options: cp.InteractionClassifier(**options),
}
"""By the paper's letters, and IC for the interaction classifier."""


class Task(NamedTuple):
    """One line of the results: what is learned from where."""

    name: str
    protocol: str
    repetition: int
    fold: int
    method: str


def tasks_of(
    sets: list[uci.UciSet], methods: list[str], repetitions: int, folds: int
) -> Iterator[Task]:
    """All tasks, the small sets first; rivals see numbers as they are."""
    for data, repetition, fold in product(sets, range(repetitions), range(folds)):
        for method in methods:
            protocols = ("first", "inside") if method in uci.METHODS else ("inside",)
            for protocol in protocols:
                yield Task(data.name, protocol, repetition, fold, method)


def run(task: Task, data: uci.UciSet) -> dict[str, Any]:
    """The losses of one task: mean log-loss and share of errors on the test rows."""
    train, test = list(data.folds(task.repetition))[task.fold]
    y = data.y.cat.codes.to_numpy().astype(np.int64)
    classes = len(data.y.cat.categories)
    began = time.perf_counter()
    if task.method in OURS:
        classifier = OURS[task.method](categorical=data.categorical)
        classifier.fit(data.X.iloc[train], data.y.iloc[train])
        p = classifier.predict_proba(data.X.iloc[test])
    else:
        p = RIVALS[task.method].predict_proba(
            data.X.iloc[train], y[train], data.X.iloc[test], classes
        )
    with np.errstate(divide="ignore"):
        losses = -np.log(p[np.arange(len(test)), y[test]])
    return {
        **task._asdict(),
        "log_loss": float(losses.mean()),
        "error": float((p.argmax(axis=1) != y[test]).mean()),
        "seconds": round(time.perf_counter() - began, 4),
    }


def attempt(task: Task, data: uci.UciSet) -> dict[str, Any]:
    """`run`, or a line that says why there is no result."""
    try:
        return run(task, data)
    except Exception as error:  # of other libraries, whatever they are
        return {**task._asdict(), "log_loss": None, "error": None, "failure": repr(error)[:200]}


def read_lines(path: Path) -> dict[Task, dict[str, Any]]:
    """The results so far; a line that was cut short is passed over."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[Task(*(record[k] for k in Task._fields))] = record
    return found


def run_all(tasks: list[Task], sets: list[uci.UciSet], path: Path, jobs: int) -> None:
    """Run what has no line yet, and write each line as it comes."""
    known = read_lines(path)
    left = [task for task in tasks if task not in known]
    data = {(s.name, "inside"): s for s in sets} | {
        (s.name, "first"): uci.discretized(s) for s in sets
    }
    path.parent.mkdir(exist_ok=True)
    now = commit()
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    work = (delayed(attempt)(task, data[task.name, task.protocol]) for task in left)
    with path.open("a") as file, TextBar() as bar:
        for done, record in enumerate(workers(work), start=1):
            file.write(json.dumps({**record, "commit": now}) + "\n")
            file.flush()
            bar(f"{record['name']}, {record['method']}", done, len(left))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="eight small sets, two folds, few rivals"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="folds at a time")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--methods", nargs="+", help=f"of {', '.join([*OURS, *RIVALS])}")
    parser.add_argument("--sets", nargs="+", help="by their file's name")
    parser.add_argument("--name", default="jakulin_rish", help="of the files in benchmarks/results")
    parser.add_argument("--no-speed", action="store_true", help="leave out the timings")
    options = parser.parse_args()
    sets = uci.load_all()
    names = options.sets or (QUICK_SETS if options.quick else [s.name for s in sets])
    sets = [s for s in sets if s.name in names]
    methods = options.methods or (list(QUICK_METHODS) if options.quick else [*OURS, *RIVALS])
    methods = [m for m in methods if m in RIVALS or m in OURS]
    path = RESULTS / f"{options.name}{'_quick' * options.quick}.jsonl"
    repetitions, folds = (1, 2) if options.quick else (options.repetitions, uci.FOLDS)
    tasks = list(tasks_of(sets, methods, repetitions, folds))
    run_all(tasks, sets, path, options.jobs)
    known = read_lines(path)
    speed = [] if options.no_speed else measure_speed(sets, quick=options.quick)
    publish_tables(path.stem, [known[task] for task in tasks if task in known], sets, speed)


if __name__ == "__main__":
    main()

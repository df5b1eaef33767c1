"""Pseudo-likelihood weights beside Libra's: time, memory, and what they are worth on test rows.

The features of dependency networks learned on NLTCS (16,181 × 16) and Plants (17,412 × 69), by L1
logistic regression and by trees, get their weights as Libra's mnlearnw sets them: prior_sd = 1, at
most 100 steps from zero. Each case runs in a process of its own, a second time to be measured
warm: processor seconds on one thread, the peak of the whole process, and the mean PLL of
a test row.
Libra's figures were measured on a machine of two cores and serve as ratios. Needs COUNTERPANE_DATA.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.learners.dependency.dependency_network import DependencyNetworkLearner
from harness import publish, write

FOLDER = Path(os.environ.get("COUNTERPANE_DATA", ".")) / "density"
LEARNERS = {
    "logistic": {"local": "logistic", "l1": 1.0},
    "trees": {"local": "tree", "kappa": float(np.exp(-5))},  # Libra's -ps 5
}
LIBRA: dict[tuple[str, str], dict[str, float | None]] = {
    ("nltcs", "logistic"): {"seconds": 2.1, "megabytes": None, "test_pll": -4.955},
    ("nltcs", "trees"): {"seconds": 39.5, "megabytes": 1700.0, "test_pll": -4.946},
    ("plants", "logistic"): {"seconds": 79.0, "megabytes": 3000.0, "test_pll": -9.38},
    ("plants", "trees"): {"seconds": 180.0, "megabytes": None, "test_pll": None},  # stopped there
}


def load(name: str) -> list[cp.Table]:
    """The train, validation and test tables."""
    file = np.load(FOLDER / f"{name}.npz")
    n = int(file["n_vars"])
    schema = cp.Schema.from_cards([2] * n)
    parts = (np.unpackbits(file[part], axis=1, count=n) for part in ("train", "valid", "test"))
    return [cp.Table(schema, rows.T) for rows in parts]


def measure(name: str, kind: str, tune: bool) -> dict[str, Any]:
    """A record of one case."""
    train, valid, test = load(name)
    options: Any = LEARNERS[kind]
    structure = DependencyNetworkLearner(**options).fit(train).model_
    cp.fit_weights(structure, train, max_steps=1)  # warm
    began = time.process_time()
    model = cp.fit_weights(structure, train)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = model.record.weights
    record = {
        "table": name,
        "structure": kind,
        "features": len(model.rules[0]),
        "steps": told.steps,
        "seconds": seconds,
        "megabytes": peak,
        "test_pll": _mean_pll(model, test),
    }
    record |= {f"libra_{key}": value for key, value in LIBRA[name, kind].items()}
    if tune:
        for label, penalty in (("tuned_sd", 0.0), ("tuned_l1", 1.0)):
            began = time.process_time()
            tuned = cp.fit_weights(structure, train, l1=penalty, validation=valid)
            record[f"{label}_seconds"] = time.process_time() - began
            record[f"{label}_test_pll"] = _mean_pll(tuned, test)
    return record


def _mean_pll(model: cp.MarkovNetwork, table: cp.Table) -> float:
    return float(model.pseudo_log_likelihood(table, total=True).mean())


def summary(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one case that are judged."""
    case = f"{record['table']}, {record['structure']}"
    ratio = record["libra_seconds"] / record["seconds"]
    return [
        {"what": f"{case}: seconds", "value": record["seconds"], "unit": "s"},
        {"what": f"{case}: Libra's time over ours", "value": ratio, "unit": "×", "sign": "≥",
         "limit": 8.0 if record["table"] == "plants" else None},
        {"what": f"{case}: peak memory", "value": record["megabytes"], "unit": "MB",
         "limit": 300.0},
        {"what": f"{case}: test PLL", "value": record["test_pll"], "unit": "nats a row"},
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="no tuning")
    tune = not parser.parse_args().quick
    details: list[dict[str, Any]] = []
    for name, kind in LIBRA:
        for asked in (False, tune):  # the first is not measured
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                record = pool.apply(measure, (name, kind, asked))
        details.append(record)
        print(details[-1], flush=True)
        write("weights", [row for record in details for row in summary(record)], details)
    publish("weights", [row for record in details for row in summary(record)], details)


if __name__ == "__main__":
    main()

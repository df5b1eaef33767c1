"""Dependency networks of density-estimation data, beside loops of scikit-learn, in one run.

Trees: `DecisionTreeClassifier` with min_samples_leaf=10 and as many leaves as ours has for the
variable, leaves smoothed as ours are. Logistic: `LogisticRegression` by liblinear, whose penalty
includes the intercept as ours does, sparse where it is faster so. Both are timed in processor
seconds of one thread, ours as the whole of `fit`; where a loop would take too long it is run for
some of the variables, evenly spread, and its time scaled up. Libra's figures (`dnlearn -ps 5`,
processor seconds) are those of our own earlier measurements and are cited, not run.

Needs COUNTERPANE_DATA. `--quick` leaves out the large sets.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from harness import publish, seconds

# set: variables for the loops of trees and of regressions, l1, Libra's seconds, PLLs to reach
SETS: dict[str, tuple[int, int, float, float | None, float | None, float | None]] = {
    "nltcs": (16, 16, 1.0, 0.135, -4.977, -4.9485),
    "plants": (69, 69, 1.0, 2.4, -9.07, -9.355),
    "msnbc": (17, 17, 1.0, None, None, None),
    "c20ng": (6, 6, 5.0, None, None, None),
}
QUICK = ("nltcs", "plants")


def opened(name: str) -> list[cp.Table]:
    """The training, validation and test rows."""
    packed = np.load(Path(os.environ["COUNTERPANE_DATA"]) / "density" / f"{name}.npz")
    n = int(packed["n_vars"])
    schema = cp.Schema.from_cards([2] * n)
    parts = (packed[part] for part in ("train", "valid", "test"))
    return [cp.Table(schema, np.unpackbits(rows, axis=1, count=n).T) for rows in parts]


def mean_pll(model: cp.DependencyNetwork, table: cp.Table, variables: Any = slice(None)) -> float:
    """The mean log pseudo-likelihood of a row, over some variables."""
    scores = model.engine.blanket.pseudo_log_likelihood(table.codes)
    return float(scores[:, variables].sum(axis=1).mean())


def tree_loop(
    train: cp.Table, test: cp.Table, leaves: list[int], variables: list[int]
) -> tuple[float, float]:
    """Seconds of scikit-learn's trees, and their test log-likelihood."""
    x, y = train.codes.T.astype(np.float32), test.codes.T.astype(np.float32)
    spent = total = 0.0
    for v in variables:
        own, other = np.delete(x, v, axis=1), np.delete(y, v, axis=1)
        tree = DecisionTreeClassifier(
            criterion="log_loss", min_samples_leaf=10, max_leaf_nodes=max(2, leaves[v])
        )
        began = time.process_time()
        tree.fit(own, train.codes[v])
        spent += time.process_time() - began
        at, sizes = tree.apply(other), tree.tree_.weighted_n_node_samples
        ones = tree.tree_.value[:, 0, -1] * sizes if tree.n_classes_ == 2 else 0.0 * sizes
        p = (ones[at] + 0.5) / (sizes[at] + 1.0)
        total += float(np.log(np.where(test.codes[v] == 1, p, 1.0 - p)).mean())
    return spent, total


def regression_loop(
    train: cp.Table, test: cp.Table, l1: float, variables: list[int]
) -> tuple[float, float]:
    """Seconds of scikit-learn's regressions, and their test log-likelihood."""
    x, y = train.codes.T.astype(np.float64), test.codes.T.astype(np.float64)
    spent = total = 0.0
    for v in variables:
        if len(np.unique(train.codes[v])) < 2:  # refused by scikit-learn
            continue
        own, other = np.delete(x, v, axis=1), np.delete(y, v, axis=1)
        given = sparse.csr_array(own) if own.mean() < 0.1 else own
        model = LogisticRegression(l1_ratio=1.0, solver="liblinear", C=1 / l1, max_iter=1000)
        began = time.process_time()
        model.fit(given, train.codes[v])
        spent += time.process_time() - began
        logs = model.predict_log_proba(other)
        total += float(logs[np.arange(test.n_rows), test.codes[v]].mean())
    return spent, total


def spread(n: int, wanted: int) -> list[int]:
    """Some of n variables, evenly spread."""
    return [int(v) for v in np.unique(np.linspace(0, n - 1, wanted).astype(int))]


def measure(name: str, local: str, repeat: int) -> list[dict[str, Any]]:
    """The rows of one set and one kind of conditional."""
    trees, regressions, l1, libra, tree_pll, regression_pll = SETS[name]
    by_tree = local == "tree"
    train, valid, test = opened(name)
    n = len(train.schema)
    options: dict[str, Any] = {} if by_tree else {"l1": l1}

    def fit(n_jobs: int = 1) -> cp.DependencyNetworkLearner:
        learner = cp.DependencyNetworkLearner(local, n_jobs=n_jobs, **options)
        return learner.fit(cp.Table(train.schema, train.codes))

    model = fit().model_
    ours = seconds(fit, repeat=repeat)
    wall = seconds(lambda: fit(2), repeat=repeat, clock=time.perf_counter)
    began = time.process_time()
    tuned = cp.DependencyNetworkLearner(local).fit(train, validation=valid)
    path = time.process_time() - began
    variables = spread(n, trees if by_tree else regressions)
    if by_tree:
        leaves = [int((parts[0].variables < 0).sum()) for parts in model.conditionals]
        theirs, pll = tree_loop(train, test, leaves, variables)
    else:
        theirs, pll = regression_loop(train, test, l1, variables)
    scaled = theirs * n / len(variables)
    what = f"{name}, {local}"
    part = "" if len(variables) == n else f" ({len(variables)} of {n} variables, scaled)"
    peer = "DecisionTreeClassifier" if by_tree else "liblinear"
    rows: list[dict[str, Any]] = [
        {"what": f"{what}: fit, one thread, processor", "value": ours, "unit": "s"},
        {"what": f"{what}: fit, two threads, wall clock", "value": wall, "unit": "s"},
        {"what": f"{what}: test PLL", "value": mean_pll(model, test), "unit": "nats"},
        {"what": f"{what}: fit for all settings, one thread", "value": path, "unit": "s"},
        {"what": f"{what}: test PLL, tuned", "value": mean_pll(tuned.model_, test), "unit": "nats"},
        {"what": f"{what}: {peer}{part}", "value": scaled, "unit": "s"},
        {"what": f"{what}: test PLL of {peer} less ours, same variables",
         "value": pll - mean_pll(model, test, variables), "unit": "nats"},
        {"what": f"{what}: times as fast as {peer}", "value": scaled / ours, "unit": "×",
         "limit": 20 if by_tree else 4, "sign": "≥"},
    ]  # fmt: skip
    least = tree_pll if by_tree else regression_pll
    if least is not None:
        rows[2] |= {"limit": least, "sign": "≥"}
    if by_tree and libra is not None:
        rows.append(
            {"what": f"{what}: times as fast as Libra's {libra:g} s", "value": libra / ours,
             "unit": "×", "limit": 10, "sign": "≥"}
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="the small sets only")
    quick = parser.parse_args().quick
    if "COUNTERPANE_DATA" not in os.environ:
        sys.exit("COUNTERPANE_DATA must name the folder of the benchmark data.")
    rows = []
    for name in QUICK if quick else SETS:
        for local in ("tree", "logistic"):
            print(f"{name}, {local} …", flush=True)
            rows += measure(name, local, repeat=1 if name == "c20ng" else 3)
    publish("dependency-quick" if quick else "dependency", rows)


if __name__ == "__main__":
    main()

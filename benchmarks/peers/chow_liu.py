"""Chow–Liu trees of 1,000 binary columns × 5,000 rows, beside deeprob-kit, on one thread.

Ours is timed as `fit` (everything) and as the tree alone, which is what the pairs cost and the
spanning tree; deeprob-kit's `fit` has tree and parameters. Its data is given as the float32 matrix
that it works on, ours as a table. Both trees are scored by one scorer, the log-likelihood.

deeprob-kit brings torch with it and is no part of the benchmark extra: install it anywhere, and
name that interpreter in COUNTERPANE_DEEPROB (this one, unless given).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.graphs import Dag
from counterpane.learners.bayesian.chow_liu import GainSearch, maximum_forest
from counterpane.learners.driver import Driver
from counterpane.scores import LogLikelihood, score_dag
from harness import publish, seconds

COLUMNS, ROWS, REPEAT = 1000, 5000, 5
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SCRIPT = """
import json, sys, time
import numpy as np
from deeprob.spn.structure.cltree import BinaryCLT
from deeprob.utils.graph import maximum_spanning_tree
from deeprob.utils.statistics import compute_mutual_information, estimate_priors_joints
data = np.load(sys.argv[1])
n = data.shape[1]
fit, tree = [], []
for _ in range(int(sys.argv[2])):
    leaf = BinaryCLT(list(range(n)), root=0)
    began = time.process_time()
    leaf.fit(data, [[0, 1]] * n, alpha=0.01)
    fit.append(time.process_time() - began)
    began = time.process_time()
    priors, joints = estimate_priors_joints(data, alpha=0.01)
    maximum_spanning_tree(0, compute_mutual_information(priors, joints))
    tree.append(time.process_time() - began)
print(json.dumps({"fit": min(fit), "tree": min(tree), "parents": leaf.tree.tolist()}))
"""


def random_tree_table(n: int, rows: int, seed: int = 0) -> cp.Table:
    """Rows of a random tree: each column copies an earlier one, with noise of its own."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n, rows), dtype=np.uint8)
    codes[0] = rng.random(rows) < 0.5
    for i in range(1, n):
        on, off = rng.uniform(0.55, 0.95), rng.uniform(0.05, 0.45)
        codes[i] = rng.random(rows) < np.where(codes[rng.integers(0, i)] == 1, on, off)
    return cp.Table(cp.Schema.from_cards([2] * n), codes)


def by_deeprob(table: cp.Table) -> dict[str, Any] | None:
    """Seconds and the tree (each node's parent, −1 at the root); None where it is not installed."""
    python = os.environ.get("COUNTERPANE_DEEPROB", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npy"
        np.save(path, np.ascontiguousarray(table.codes.T, dtype=np.float32))
        done = subprocess.run(
            [python, "-c", SCRIPT, str(path), str(REPEAT)],
            capture_output=True, text=True, env={**os.environ, **ONE_THREAD, "PYTHONPATH": ""},
        )  # fmt: skip
    if done.returncode:
        print("deeprob-kit gave no answer:", done.stderr.strip().splitlines()[-1:])
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tree_only(table: cp.Table) -> None:
    """The gains of all pairs and the spanning tree, without parameters and edge gains."""
    source = cp.MemoryCounts(table)
    search = GainSearch(source, LogLikelihood(), None)
    gains = Driver(source.schema).run(search, "scoring pairs").state.gains
    maximum_forest(gains, root=0, spanning=True)


def main() -> None:
    table = random_tree_table(COLUMNS, ROWS)
    fitted = cp.ChowLiu().fit(table)
    fit = seconds(lambda: cp.ChowLiu().fit(table), repeat=REPEAT)
    tree = seconds(lambda: tree_only(table), repeat=REPEAT)
    size = f"{COLUMNS:,} binary columns × {ROWS:,} rows"
    rows = [
        {"what": f"{size}: ChowLiu, fit", "value": fit, "unit": "s"},
        {"what": f"{size}: ChowLiu, tree alone", "value": tree, "unit": "s"},
        {"what": f"{size}: ChowLiu, log-likelihood", "value": fitted.score_, "unit": "nats"},
    ]
    if (peer := by_deeprob(table)) is not None:
        dag = Dag(COLUMNS, [(p, c) for c, p in enumerate(peer["parents"]) if p >= 0])
        parents = [dag.parents(i) for i in range(COLUMNS)]
        score = score_dag(LogLikelihood(), cp.MemoryCounts(table), parents)
        asked = {"unit": "×", "limit": 3, "sign": "≥"}
        rows += [
            {"what": f"{size}: deeprob-kit, fit", "value": peer["fit"], "unit": "s"},
            {"what": f"{size}: deeprob-kit, tree alone", "value": peer["tree"], "unit": "s"},
            {"what": f"{size}: deeprob-kit, log-likelihood", "value": score, "unit": "nats"},
            {"what": "fit, times as fast as deeprob-kit", "value": peer["fit"] / fit, **asked},
            {"what": "tree alone, times as fast as deeprob-kit", "value": peer["tree"] / tree,
             **asked},
            {"what": "log-likelihood above deeprob-kit", "value": round(fitted.score_ - score, 6),
             "unit": "nats", "limit": 0, "sign": "≥"},
        ]  # fmt: skip
    publish("chow_liu", rows)


if __name__ == "__main__":
    main()

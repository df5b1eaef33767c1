"""Lowd's closed-form road again: dependency networks, converted and with learned weights.

Twelve binary sets × {trees, L1 logistic, boosted trees} × {the dependency network, its conversions
with each averaging, weights by pseudo-likelihood on the same features}: test PLL, CMLL by the
four-group protocol, seconds. Each combination is one line of `results/lowd.jsonl`, so that a run
that was stopped goes on where it was; dependency networks are kept beside it. `--pll` leaves out
weights and CMLL, which take most of the time; boosted trees, whose features are tables of up to
four columns, have none of them in any case. Tables for the site go to `docs/_figures/papers`.

    python benchmarks/papers/lowd.py [--quick] [--pll] [--sets nltcs …] [--locals tree …]

The report is of all lines in the file, so that sets and kinds may be run one after the other.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from lowd_report import publish_report
from lowd_tables import publish_site
from resumable import known_records, run_lines
from tree_prices import PRICES, Price, run_price

import counterpane as cp
from counterpane.evaluate import cmll, pll
from harness import RESULTS

SETS = ("nltcs", "msnbc", "kdd", "plants", "baudio", "jester", "bnetflix", "msweb", "book",
        "cwebkb", "cr52", "c20ng")  # fmt: skip
LOCALS = ("tree", "logistic", "boosted")
CONVERSIONS = (
    "1 order, row", "2 orders, row", "1 order", "2 orders", "linear", "linear, rows", "all",
)  # fmt: skip
"""One order or two opposite ones from a base row, the same and more from marginals, or all rows."""
METHODS = ("dn", *CONVERSIONS, "weights")
WITH_CMLL = ("dn", "linear", "weights")
FAST = ("dn", "1 order, row", "linear", "linear, rows")  # for PLL alone
LONGEST = 5  # features beyond it go by rotations where all orders are asked for
UPDATES = 10**8  # variable updates that one CMLL may cost: so many test rows are taken
WIDE = ("msweb", "book", "cwebkb", "cr52", "c20ng")  # sets that get a fifth of them
MAX_ROWS = 1000
SWEEPS = (100, 1000)  # burn-in and sampling, Libra's defaults
NARROW = ("nltcs", "msnbc", "kdd", "plants", "baudio", "jester", "bnetflix")
ROW_BASES = {"tree": NARROW, "logistic": NARROW, "boosted": NARROW[:2]}  # the others take too long
SDS = {"tree": (0.05, 0.1, 0.2, 0.5, 1.0), "logistic": (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)}


class Task(NamedTuple):
    """One line of the results."""

    name: str
    local: str
    method: str
    updates: int  # 0: no CMLL
    folder: str


class Split(NamedTuple):
    train: cp.Table
    valid: cp.Table
    test: cp.Table


def read_set(name: str) -> Split:
    """The three parts of a set, two states a column."""
    with np.load(Path(os.environ["COUNTERPANE_DATA"]) / "density" / f"{name}.npz") as file:
        n = int(file["n_vars"])
        parts = [np.unpackbits(file[part], axis=1, count=n) for part in Split._fields]
    schema = cp.Schema.from_cards([2] * n)
    return Split(*(cp.Table(schema, np.ascontiguousarray(part.T)) for part in parts))


def dependency_network(task: Task, split: Split) -> tuple[Any, float]:
    """The network, tuned on the validation rows, and its seconds; learned once and kept."""
    path = Path(task.folder) / f"{task.name}_{task.local}.cp"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        learner = cp.DependencyNetworkLearner(task.local)
        learner.fit(split.train, validation=split.valid)
        learner.model_.save(path)
    network = cp.load(path)
    return network, float(network.record.learner.seconds)


def base_row(table: cp.Table) -> list[Any]:
    """The most frequent state of each column."""
    return [int(2 * np.count_nonzero(column) > column.size) for column in table.codes]


def convert(network: Any, method: str, train: cp.Table) -> Any:
    """The Markov network by one of the averagings."""
    n = len(network.schema)
    natural = list(range(n))
    orders: Any = {
        "1 order": natural, "2 orders": [natural, natural[::-1]],
        "linear": "linear", "all": "all",
    }[method.split(",")[0]]  # fmt: skip
    if method.endswith("rows"):
        return cp.to_markov_network(network, orders=orders, base=train)
    if method.endswith("row"):
        return cp.to_markov_network(network, orders=orders, base=base_row(train))
    longest = LONGEST if orders == "all" else None
    return cp.to_markov_network(
        network, orders=orders, base="marginals", data=train, max_length=longest
    )


def model_of(task: Task, split: Split) -> tuple[Any, dict[str, float]]:
    """A model, and how long it took beyond its dependency network."""
    network, learned = dependency_network(task, split)
    facts = {"learned": learned}
    if task.method == "dn":
        return network, facts
    if task.method == "weights":
        began = time.process_time(), time.perf_counter()
        model = cp.fit_weights(
            network, split.train, prior_sd=SDS[task.local], validation=split.valid
        )
    else:
        small = cp.Table(network.schema, split.train.codes[:, :50])
        convert(network, task.method, small)  # warm
        began = time.process_time(), time.perf_counter()
        model = convert(network, task.method, split.train)
    facts["seconds"] = time.process_time() - began[0]
    facts["wall"] = time.perf_counter() - began[1]
    facts["features"] = sum(len(rules) for rules in model.rules)
    return model, facts


def run(task: Task) -> list[dict[str, Any]]:
    """The record of one task."""
    split = read_set(task.name)
    model, facts = model_of(task, split)
    n = len(model.schema)
    found = pll(model, split.test)
    record = {
        **task._asdict(), **facts, "n": n, "rows": split.train.n_rows,
        "pll": found.mean, "pll_se": found.standard_error,
    }  # fmt: skip
    if task.method in WITH_CMLL and task.updates:
        rows = min(MAX_ROWS, split.test.n_rows, max(20, task.updates // (n * sum(SWEEPS))))
        some = np.sort(np.random.default_rng(0).permutation(split.test.n_rows)[:rows])
        began = time.process_time()
        answer = cmll(
            model, split.test.take(some), random_state=0, burn_in=SWEEPS[0], n_samples=SWEEPS[1]
        )
        record |= {
            "cmll": answer.mean, "cmll_se": answer.standard_error, "cmll_rows": rows,
            "cmll_seconds": time.process_time() - began,
        }  # fmt: skip
    return [record]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small sets, short chains")
    parser.add_argument("--pll", action="store_true", help="no weights, no CMLL")
    parser.add_argument("--jobs", type=int, default=1, help="combinations at a time")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--locals", nargs="*", choices=LOCALS, default=LOCALS)
    options = parser.parse_args()
    name = f"lowd{'_quick' * options.quick}{'_pll' * options.pll}"
    sets = ("nltcs", "plants", "jester") if options.quick else options.sets
    updates = UPDATES // 20 if options.quick else UPDATES
    folder = str(RESULTS / name)
    tasks = []
    for one in sets:
        for local in options.locals:
            fast = options.pll or local == "boosted"
            spent = 0 if fast else updates // (5 if one in WIDE else 1)
            methods = FAST if fast else METHODS
            tasks += [
                Task(one, local, method, spent, folder)
                for method in methods
                if not (fast and method == "linear, rows" and one not in ROW_BASES[local])
            ]
    path = RESULTS / f"{name}.jsonl"
    run_lines(tasks, run, path, options.jobs)
    records = sorted(known_records(path), key=lambda r: (SETS.index(r["name"]), r["local"]))
    publish_report(name, records)
    if not options.quick:
        prices = [Price("nltcs", price) for price in PRICES]
        told = run_lines(prices, run_nltcs, RESULTS / "lowd_prices.jsonl", options.jobs)
        publish_site(records, told)


def run_nltcs(task: Price) -> list[dict[str, Any]]:
    """The record of one price of a split."""
    split = read_set(task.name)
    return run_price(task, split.train, split.test)


if __name__ == "__main__":
    main()

"""Edge probabilities of `OrderMCMC` by its defaults compared with the exact sum, on random tables.

`python benchmarks/posterior_check.py [--tables N] [--seeds N]` prints one line per table and writes
benchmarks/results/posterior_check.json: the largest error of an edge probability over the seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import counterpane as cp
import harness
from counterpane.data import Schema, Table

LIMIT = 0.05  # the error of an edge probability that is asked


def random_table(seed: int) -> Table:
    """A table of 4 to 12 columns sampled from a random network; each tenth has one strong edge."""
    rng = np.random.default_rng(seed)
    if seed % 10 == 0:  # as in haberman: 306 rows, and a direction that no data can show
        codes = rng.integers(0, 3, (4, 306))
        codes[1] = np.where(rng.random(306) < 0.7, codes[0], codes[1])
        return Table(Schema.from_cards([3] * 4), codes)
    n = 4 + seed % 9
    cards, rows = rng.integers(2, 6, n), int(np.exp(rng.uniform(np.log(100), np.log(4000))))
    concentration, most = rng.choice([0.1, 0.3, 1.0]), int(rng.integers(1, 4))
    order = rng.permutation(n)
    codes = np.zeros((n, rows), dtype=np.int64)
    for place, i in enumerate(order):
        parents = rng.choice(order[:place], min(place, int(rng.integers(0, most + 1))), False)
        context = np.zeros(rows, dtype=np.int64)
        for p in parents:
            context = context * cards[p] + codes[p]
        shares = rng.dirichlet(np.full(cards[i], concentration), int(context.max()) + 1)
        bounds = shares.cumsum(axis=1)[context][:, :-1]
        codes[i] = (rng.random(rows)[:, None] > bounds).sum(axis=1)
    return Table(Schema.from_cards(cards.tolist()), codes)


def measure(number: int, seeds: int) -> dict[str, Any]:
    """The errors, the diagnostics and the CPU time on one table."""
    table = random_table(number)
    exact = cp.ExactPosterior(max_parents=3).fit(table).edge_probabilities_
    errors, rhats, sizes, times = [], [], [], []
    for seed in range(seeds):
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cp.UnsettledChains)  # reported as a number
            learner = cp.OrderMCMC(random_state=seed).fit(table)
        times.append(time.process_time() - began)
        errors.append(float(np.abs(learner.edge_probabilities_ - exact).max()))
        rhats.append(float(learner.rhat_.max()))
        sizes.append(float(learner.effective_sizes_.min()))
    return {
        "table": number, "columns": table.n_columns, "rows": table.n_rows,
        "largest_error": round(max(errors), 4), "largest_rhat": round(max(rhats), 3),
        "smallest_effective_size": round(min(sizes)), "cpu_s": round(float(np.mean(times)), 3),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    found = []
    for number in range(asked.tables):
        found.append(measure(number, asked.seeds))
        print(*(f"{name} {value}" for name, value in found[-1].items()), sep="  ", flush=True)
    runs = f"{asked.tables} tables, {asked.seeds} seeds each"
    harness.publish(
        "posterior_check",
        [
            {"what": f"largest error of an edge probability, {runs}", "unit": "",
             "value": max(record["largest_error"] for record in found), "limit": LIMIT},
            {"what": "mean CPU time of OrderMCMC", "unit": "s",
             "value": float(np.mean([record["cpu_s"] for record in found]))},
        ],
        found,
    )  # fmt: skip


if __name__ == "__main__":
    main()

"""What missing="auto" chooses, and whether another policy would have been better.

Held-out nats of a shown cell, gaps summed out (where missing is a state, given that the cell is
shown), by `StructureSearch` with every policy. Cells are hidden completely at random, by the state
of another column, or where they do not apply; test rows of the first two are complete, so that the
lost values count. Tables with natural gaps are measured on the cells that test rows show. Four
folds of a table, or 2,000 rows of a network and 2,000 others. `auto - best` is the mean of the
rows' differences between "auto" and the best policy, per cell, and its standard error.
Needs COUNTERPANE_DATA.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import counterpane as cp
from counterpane.errors import CounterpaneError
from counterpane.learners.gap_policy import observed_log_prob
from harness import publish

FOLDER = Path(os.environ["COUNTERPANE_DATA"])
NETWORKS = ("asia", "child", "insurance", "alarm")
WHOLE = ("titanic", "car", "nursery", "tic-tac-toe", "german", "zoo")
NATURAL = (
    "voting", "mushroom", "horse-colic", "hepatitis", "breast-lj", "primary-tumor", "crx",
    "bridges-v2", "imports-85", "dermatology", "adult-test", "breast-wisc", "heart-cleveland",
    "post-operative",
)  # fmt: skip
POLICIES = {
    "state": {"missing": "state"},
    "drop": {"missing": "drop"},
    "available": {"criterion": "nal", "missing": "available"},
    "em": {"missing": "em"},
    "auto": {"missing": "auto"},
}
ROWS, FOLDS, MOST_ROWS = 2000, 4, 4000
Split = tuple[cp.Table, cp.Table]


def hide(table: cp.Table, mechanism: str, rng: np.random.Generator) -> cp.Table:
    """`table` with cells hidden at random, by another column, or where they do not apply.

    By another column: every fourth column loses nothing, and each other one loses 40 % of its cells
    where one of them is in its most frequent state, 10 % elsewhere. Not applicable: each fourth
    column decides for another one, which has no value where it is in its second state by frequency.
    """
    codes, cards = table.codes.astype(np.int64), table.schema.cards
    lost = rng.random(codes.shape) < (0.1 if mechanism == "at random" else 0.0)
    causes = np.arange(0, len(cards), 4)
    others = np.setdiff1d(np.arange(len(cards)), causes)
    if mechanism == "by another column":
        for v in others:
            cause = codes[rng.choice(causes)]
            share = np.where(cause == np.bincount(cause).argmax(), 0.4, 0.1)
            lost[v] = rng.random(codes.shape[1]) < share
    if mechanism == "not applicable":
        for cause in causes:
            second = np.argsort(-np.bincount(codes[cause], minlength=cards[cause]))[1]
            lost[rng.choice(others)] |= codes[cause] == second
    return cp.Table(table.schema, np.where(lost, cards[:, None], codes))


def hidden(table: cp.Table, test: cp.Table, mechanism: str) -> Split:
    """Training rows with hidden cells, and test rows: complete ones, unless cells do not apply."""
    both = cp.Table(table.schema, np.concatenate([table.codes, test.codes], axis=1))
    gaps = hide(both, mechanism, np.random.default_rng(1))
    n = table.n_rows
    return gaps.take(range(n)), (
        gaps.take(range(n, both.n_rows)) if mechanism == "not applicable" else test
    )


def folds(table: cp.Table) -> Iterator[Split]:
    order = np.random.default_rng(0).permutation(table.n_rows)[:MOST_ROWS]
    for k in range(FOLDS):
        yield table.take(order[np.arange(order.size) % FOLDS != k]), table.take(order[k::FOLDS])


def settings() -> Iterator[tuple[str, list[Split]]]:
    """Each table with its gaps, and its splits."""
    for mechanism in ("at random", "by another column", "not applicable"):
        for name in NETWORKS:
            network = cp.load(FOLDER / "networks" / f"{name}.bif.gz")
            parts = (network.sample(ROWS, random_state=seed) for seed in (0, 1))
            yield f"{name}, {mechanism}", [hidden(*parts, mechanism)]
    for name in WHOLE:
        table = cp.read(FOLDER / "uci" / f"{name}.csv.gz", discretize="quantile")
        yield f"{name}, at random", [hidden(*split, "at random") for split in folds(table)]
    for name in NATURAL:
        table = cp.read(FOLDER / "uci" / f"{name}.csv.gz", discretize="quantile")
        yield f"{name}, as it is", list(folds(table))


def measure(splits: list[Split]) -> tuple[dict[str, np.ndarray], int, str]:
    """(each policy's ln P of test rows, the cells they show, what "auto" was)."""
    logs: dict[str, list[np.ndarray]] = {policy: [] for policy in POLICIES}
    cells, chosen = 0, []
    for train, test in splits:
        cells += int((test.codes < test.schema.cards[:, None]).sum())
        for policy, options in POLICIES.items():
            try:
                learner = cp.StructureSearch(**options).fit(train)  # type: ignore[arg-type]
            except CounterpaneError:  # no complete row is left
                logs[policy].append(np.full(test.n_rows, np.nan))
                continue
            logs[policy].append(observed_log_prob(learner.model_, test))
            if policy == "auto":
                n = len(learner.model_.record.preparation.missing.states)
                chosen.append(learner.missing_ + (f" + {n} states" if n else "")
                              if learner.missing_ == "em" else learner.missing_)  # fmt: skip
    return {p: np.concatenate(parts) for p, parts in logs.items()}, cells, chosen[0]


def main() -> None:
    warnings.simplefilter("ignore")
    details = []
    print(f"| table, gaps | {' | '.join(POLICIES)} | auto is | auto - best |")
    print("|---|" + "---:|" * len(POLICIES) + "---|---:|")
    for name, splits in settings():
        logs, cells, chosen = measure(splits)
        nats = {policy: -float(rows.sum()) / cells for policy, rows in logs.items()}
        others = {p: n for p, n in nats.items() if p != "auto" and np.isfinite(n)}
        best = min(others, key=lambda p: others[p])
        gain = logs[best] - logs["auto"]
        off = float(gain.sum()) / cells
        error = float(gain.std()) * np.sqrt(gain.size) / cells
        shown = " | ".join(f"{n:.4f}" if np.isfinite(n) else "–" for n in nats.values())
        print(f"| {name} | {shown} | {chosen} | {off:+.4f} ± {error:.4f} |", flush=True)
        details.append({"table": name, **nats, "chosen": chosen, "off": off, "error": error})
    worst = max(d["off"] for d in details)
    publish(
        "missing_default",
        [{"what": "auto less the best policy, at most", "value": worst, "unit": "nats a cell"}],
        details,
    )


if __name__ == "__main__":
    main()

"""Weights on the leaves of trees: what the price of a split does to them, on NLTCS.

Libra's −4.946 on NLTCS is of trees and settings that are not known in full. Here trees are grown at
several prices −ln κ, and weights are learned with several priors; five folds of the training rows
choose, and the test rows only report it. One line a price, in `results/lowd_prices.jsonl`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import counterpane as cp
from counterpane.typing import Floats

PRICES = (5, 7, 9, 12, 15)
PRIORS = {  # (prior_sd, l1)
    "sd 1": (1.0, 0.0), "sd 0.5": (0.5, 0.0), "L1 5": (math.inf, 5.0), "L1 10": (math.inf, 10.0),
}  # fmt: skip
FOLDS = 5
LIBRA = -4.946


class Price(NamedTuple):
    """One line of the results."""

    name: str
    price: int


def run_price(task: Price, train: cp.Table, test: cp.Table) -> list[dict[str, Any]]:
    """PLL of held-out folds and of the test rows for trees of one price."""
    fold = np.random.default_rng(0).permutation(train.n_rows) % FOLDS
    held: dict[str, Floats] = {name: np.zeros(train.n_rows) for name in ("dn", *PRIORS)}
    for f in range(FOLDS):
        rest, own = train.take(np.flatnonzero(fold != f)), train.take(np.flatnonzero(fold == f))
        for name, model in models(task.price, rest).items():
            held[name][fold == f] = rows_pll(model, own)
    record: dict[str, Any] = {**task._asdict()}
    for name, model in models(task.price, train).items():
        tested = rows_pll(model, test)
        record |= {
            f"folds {name}": float(held[name].mean()),
            f"test {name}": float(tested.mean()),
            f"train {name}": float(rows_pll(model, train).mean()),
            f"test {name}, s.e.": float(tested.std() / len(tested) ** 0.5),
        }
        if name == "sd 1":
            record["features"] = sum(len(rules) for rules in model.rules)
    return [record]


def models(price: int, rows: cp.Table) -> dict[str, Any]:
    """The dependency network of trees, and Markov networks with weights of each prior."""
    network = cp.DependencyNetworkLearner(kappa=math.exp(-price)).fit(rows).model_
    weighted = {
        name: cp.fit_weights(network, rows, prior_sd=sd, l1=l1) for name, (sd, l1) in PRIORS.items()
    }
    return {"dn": network, **weighted}


def rows_pll(model: Any, table: cp.Table) -> Floats:
    """Σ ln P(x_v | rest) of each row."""
    return np.asarray(model.pseudo_log_likelihood(table, total=True))

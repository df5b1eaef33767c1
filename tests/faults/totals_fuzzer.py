"""Learners on rows whose weights sum to 10⁹ … 2⁵³: no crash, no hang, no NaN."""

from __future__ import annotations

import numpy as np

import counterpane as cp
from counterpane.learners.registry import LEARNERS, LearnerEntry
from counterpane.models.arrays import arrays_of
from faults.outcomes import judge

ENTRIES = [entry for entry in LEARNERS if entry.task != "ranker"]
SCORES = ("bic", "bdeu", "k2", "aic")
SHORT = {"particle-filter": {"moves": 20}, "k2": {"restarts": 3}, "order-mcmc": {"random_state": 0}}
TOTALS = (1e9, 2e9, 2.0**31, 2.0**32, 1e12, 2.0**52, 2.0**53)


def make_table(seed: int, total: float) -> cp.Table:
    """A small table of dependent, independent or equal columns whose weights sum to `total`."""
    rng = np.random.default_rng([seed, 22])
    n, rows = int(rng.integers(2, 7)), int(rng.integers(2, 80))
    cards = rng.integers(2, 5, n)
    shared, noise = rng.random(rows), rng.choice([0.0, 0.2, 1.0])
    codes = [
        np.where(rng.random(rows) >= noise, shared * card, rng.random(rows) * card).astype(int)
        for card in cards
    ]
    weights = rng.random(rows) ** rng.choice([0, 1, 8, 30])
    if rng.random() < 0.3:
        weights[0] += rows * 1e6  # one row outweighs all others
    weights *= total / weights.sum()
    whole = rng.random() < 0.5
    return cp.Table(cp.Schema.from_cards(cards), codes, np.floor(weights) + 1 if whole else weights)


def fault_of(entry: LearnerEntry, table: cp.Table, score: str | None) -> str | None:
    """What is wrong with what a learner learns from a table."""
    parameters = dict(SHORT.get(entry.name, {}))
    if score is not None:
        parameters["criterion"] = score
    learner = entry.make(**parameters)
    first, second = table.schema.names[:2]
    if entry.task == "classifier":
        learner.fit(table, first)
        shares = learner.predict_proba(table)
    else:
        learner.fit(table)
        if learner.model_ is None:  # a graph too dense for tables
            return None
        for name, array in arrays_of(learner.model_).items():
            if array.dtype.kind == "f" and np.isnan(array).any():
                return f"NaN in the model's {name}"
        value = table.schema[second].states[int(table.codes[1, 0])]
        answer = learner.model_.query(first, {second: value})
        shares = np.asarray(answer.probabilities, dtype=float)[None]
    if not (np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0)):
        return f"probabilities {shares[~np.isfinite(shares).all(axis=1)][:1]} do not sum to 1"
    return None


def try_learner(entry: LearnerEntry, seed: int, total: float) -> str | None:
    """What is wrong when one learner meets one table; None if nothing is."""
    rng = np.random.default_rng([seed, 23])
    scored = entry.task in ("network", "posterior")
    score = str(rng.choice(SCORES)) if scored else None
    label = f"{entry.name}, score {score}, seed {seed}, weight {total:g}"
    return judge(label, lambda: fault_of(entry, make_table(seed, total), score))


def try_once(seed: int) -> str | None:
    """What is wrong with a random learner on a random table; None if nothing is."""
    rng = np.random.default_rng(seed)
    entry = ENTRIES[rng.integers(len(ENTRIES))]
    exponent = rng.uniform(np.log(1e9), np.log(2.0**53))
    total = float(rng.choice([*TOTALS, np.exp(exponent)]))
    return try_learner(entry, seed, total)

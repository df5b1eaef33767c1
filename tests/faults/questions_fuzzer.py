"""Questions to random models, compared with brute force over all rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

import counterpane as cp
from counterpane.errors import CounterpaneError
from counterpane.features import Potential, Rules
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.markov_network import MarkovNetwork
from faults.outcomes import judge

CLOSE = 1e-7  # of an answer, absolute
QUESTIONS = 5  # to one model


def make_model(rng: np.random.Generator) -> Any:
    """A network of a few columns with odd tables: zeros, large constants, tiny probabilities."""
    n = int(rng.integers(2, 6))
    schema = cp.Schema.from_cards(rng.integers(1, 4, n))
    if rng.random() < 0.5:
        return _bayesian(rng, schema)
    parts: list[Potential | Rules] = []
    size = float(rng.choice([0.1, 1.0, 30.0, 800.0]))
    for _ in range(int(rng.integers(1, 6))):
        scope = tuple(rng.permutation(n)[: rng.integers(1, min(n, 3) + 1)].tolist())
        values = np.round(rng.normal(0, size, schema.cards[list(scope)]) * 64) / 64
        values[rng.random(values.shape) < rng.choice([0.0, 0.3])] = -np.inf
        parts.append(Potential(scope, values + rng.choice([0.0, 2.0**20, -(2.0**25)])))
    if rng.random() < 0.5:
        parts.append(_rules(rng, schema, size))
    return MarkovNetwork(schema, parts)


def _bayesian(rng: np.random.Generator, schema: cp.Schema) -> BayesianNetwork:
    parents = [np.flatnonzero(rng.random(v) < 0.5).tolist() for v in range(len(schema))]
    tables = []
    for v, above in enumerate(parents):
        weights = rng.random(schema.cards[[*above, v]]) ** rng.choice([1.0, 20.0, 200.0])
        weights[rng.random(weights.shape) < rng.choice([0.0, 0.3])] = 0.0
        weights[weights.sum(axis=-1) == 0] = 1.0
        tables.append(weights / weights.sum(axis=-1, keepdims=True))
    return BayesianNetwork(schema, cp.Dag.from_parents(parents), tables)


def _rules(rng: np.random.Generator, schema: cp.Schema, size: float) -> Rules:
    listed = []
    for _ in range(int(rng.integers(1, 5))):
        chosen = [v for v in rng.permutation(len(schema))[:2].tolist() if schema.cards[v] > 1]
        terms = [(v, int(rng.integers(schema.cards[v])), bool(rng.random() < 0.3)) for v in chosen]
        listed.append((float(np.round(rng.normal(0, size) * 64) / 64), terms))
    return Rules.from_list(schema.cards, listed)


def log_weights(model: Any) -> np.ndarray[Any, Any]:
    """ln of the weight of every row, of axes (variables…), from the parts of the model."""
    cards = model.schema.cards.tolist()
    total = np.zeros(cards)
    for row in np.ndindex(*cards):
        if isinstance(model, BayesianNetwork):
            logs = [_log_share(model, v, row) for v in range(len(cards))]
        else:
            logs = [float(p.log_values[tuple(row[v] for v in p.scope)]) for p in model.potentials]
            logs += [w for r in model.rules for w in _held(r, row)]
        total[row] = -math.inf if -math.inf in logs else math.fsum(logs)
    return total


def _log_share(model: BayesianNetwork, v: int, row: tuple[int, ...]) -> float:
    cell = (*(row[p] for p in model.dag.parents(v)), row[v])
    with np.errstate(divide="ignore"):
        return float(np.log(model.tables[v][cell]))


def _held(rules: Rules, row: tuple[int, ...]) -> list[float]:
    weights = []
    for r, weight in enumerate(rules.weights.tolist()):
        terms = range(rules.offsets[r], rules.offsets[r + 1])
        if all((row[rules.variables[k]] == rules.values[k]) != rules.negated[k] for k in terms):
            weights.append(weight)
    return weights


@lru_cache(maxsize=1)
def made_model(number: int) -> tuple[Any, np.ndarray[Any, Any]]:
    """A random model, and ln of the weight of every row."""
    model = make_model(np.random.default_rng([number, 24]))
    return model, log_weights(model)


def fault_of(seed: int) -> str | None:
    """What is wrong with the answers of a random model; `QUESTIONS` seeds ask the same one."""
    model, logs = made_model(seed // QUESTIONS)
    rng = np.random.default_rng([seed, 26])
    n, names = logs.ndim, model.schema.names
    asked = rng.permutation(n)[: rng.integers(1, min(n, 2) + 1)].tolist()
    told = [v for v in range(n) if v not in asked and rng.random() < 0.5]
    codes = {v: int(rng.integers(model.schema.cards[v])) for v in told}
    kept = logs[tuple(codes.get(v, slice(None)) for v in range(n))]
    free = [v for v in range(n) if v not in codes]
    top = kept.max()
    evidence = {names[v]: model.schema[v].states[code] for v, code in codes.items()}
    question = [names[v] for v in asked]
    try:
        answer = model.query(question, evidence)
        best = model.map_query(question, evidence)
        ln = model.log_evidence(evidence)
        rows = model.sample(20, evidence, random_state=0)
    except CounterpaneError:
        if top == -np.inf:
            return None  # impossible evidence, or a model without a possible row
        raise
    if top == -np.inf:
        return f"evidence {evidence} is impossible, and {question} has an answer"
    joint = np.exp(kept - top)
    others = tuple(k for k, v in enumerate(free) if v not in asked)
    summed = joint.sum(axis=others)
    order = [v for v in free if v in asked]
    expected = np.transpose(summed, [order.index(v) for v in asked]) / joint.sum()
    shares = np.asarray(answer.probabilities, dtype=float).reshape(expected.shape)
    if not (np.abs(shares - expected) <= CLOSE).all():
        return f"P({question} | {evidence}) is {shares.tolist()} and not {expected.tolist()}"
    place = tuple(model.schema[v].code(best[names[v]]) for v in asked)
    if expected[place] < expected.max() - CLOSE:
        return (
            f"the best states {best} have probability {expected[place]}, {expected.max()} is best"
        )
    total = logs.max()
    truth = float(np.log(joint.sum()) + top - np.log(np.exp(logs - total).sum()) - total)
    if abs(ln - truth) > CLOSE * max(1.0, abs(truth)):
        return f"ln P({evidence}) is {ln} and not {truth}"
    drawn = logs[tuple(rows.codes[v].astype(int) for v in range(n))]
    if not (drawn > -np.inf).all():
        return f"an impossible row was drawn given {evidence}"
    return None


def try_once(seed: int) -> str | None:
    """What is wrong with the answers of a random model; None if nothing is."""
    return judge(f"question {seed}", lambda: fault_of(seed))

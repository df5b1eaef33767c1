"""Random small networks, and all exact tasks on them beside enumeration of all rows.

Networks have zeros, constant axes, columns that decide each other, evidence, virtual evidence, and
weights beyond the range of a float.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-9


class Network(NamedTuple):
    cards: Any
    tables: list[tuple[tuple[int, ...], Any]]  # scopes and natural logs
    evidence: dict[int, int]


def random_network(rng: np.random.Generator) -> Network:
    n = int(rng.integers(3, 10))
    cards = rng.integers(1, 4, n) + (rng.random(n) < 0.3)
    zeros, wide = 0.6 * rng.random(), rng.random() < 0.15
    tables = []
    for _ in range(int(rng.integers(2, 2 + 2 * n))):
        k = min(int(rng.integers(1, 4)), n)
        scope = tuple(rng.choice(n, k, replace=False).tolist())
        shape = tuple(cards[list(scope)].tolist())
        logs = 3 * (rng.random(shape) - 0.5) * (rng.choice([1, 100, 400]) if wide else 1)
        logs[rng.random(shape) < zeros] = -np.inf
        kind = rng.integers(6)
        if kind == 0:  # only the first axis matters
            first = np.log(1.0 + np.arange(shape[0])).reshape([-1] + [1] * (k - 1))
            logs = np.broadcast_to(first, shape).copy()
        if kind == 2 and k > 1:  # two columns decide each other
            i, j = np.indices(shape)[:2]
            logs = np.where(i == shape[0] - 1 - j, logs, -np.inf)
        tables.append((scope, logs))
    evidence = {}
    if rng.random() < 0.5:
        v = int(rng.integers(n))
        evidence = {v: int(rng.integers(cards[v]))}
    if rng.random() < 0.3:  # virtual evidence
        v = int(rng.integers(n))
        weights = rng.random(cards[v]) * (rng.random(cards[v]) < 0.7)
        with np.errstate(divide="ignore"):
            tables.append(((v,), np.log(weights)))
    return Network(cards, tables, evidence)


def all_rows(network: Network) -> Any:
    """The log-weight of every row; minus infinity where it contradicts the evidence."""
    n = network.cards.size
    total = np.zeros(tuple(network.cards.tolist()))
    for scope, logs in network.tables:
        inside = [slice(None) if v in scope else None for v in range(n)]
        total = total + logs.transpose(np.argsort(scope))[tuple(inside)]
    for v, code in network.evidence.items():
        keep = np.full(network.cards[v], -np.inf)
        keep[code] = 0.0
        total = total + keep.reshape([-1 if u == v else 1 for u in range(n)])
    return total


def log_sum(logs: Any, axis: Any = None) -> Any:
    top = logs.max()
    if top == -np.inf:
        return logs.max(axis=axis)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - top).sum(axis=axis)) + top


def near(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= TOLERANCE * max(1.0, abs(b))


def faults(network: Network, keep: list[int], answers: dict[str, Any]) -> list[str]:
    """What is wrong in the answers of the tasks "marginals", "joint", "mpe" and "mmap"."""
    logs, n = all_rows(network), network.cards.size
    weight, wrong = log_sum(logs), []

    def check(task: str, right: bool) -> None:
        if not right:
            wrong.append(task)

    marginals, log_weight = answers["marginals"]
    joint, joint_weight = answers["joint"]
    best, best_weight = answers["mpe"]
    some, some_weight = answers["mmap"]
    if weight == -np.inf:
        weights = (log_weight, joint_weight, best_weight, some_weight)
        return [] if all(w == -np.inf for w in weights) else ["possible"]
    p = np.exp(logs - weight)
    check("weight", near(log_weight, weight) and near(joint_weight, weight))
    for v in range(n):
        expected = p.sum(axis=tuple(u for u in range(n) if u != v))
        check(f"marginal {v}", bool(np.abs(marginals[v] - expected).max() <= TOLERANCE))
    others = tuple(u for u in range(n) if u not in keep)
    expected = p.sum(axis=others).transpose(np.argsort(np.argsort(keep)))
    check("joint", bool(np.abs(joint - expected).max() <= TOLERANCE))
    check(
        "mpe",
        near(best_weight, logs.max()) and near(logs[tuple(best[v] for v in range(n))], logs.max()),
    )
    table = log_sum(logs, others)
    check(
        "mmap",
        near(some_weight, table.max())
        and near(table[tuple(some[v] for v in sorted(keep))], table.max()),
    )
    return wrong

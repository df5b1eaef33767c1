"""Effects by their definitions: sums over all rows, subsets and graphs. Imports nothing of ours.

A network is (parents, tables): tables[i] has the axes (parents of i…, i).
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

Network = tuple[list[tuple[int, ...]], list[Any]]


def random_network(
    rng: np.random.Generator, n: int, density: float, most_states: int = 3, *, zeros: bool = False
) -> Network:
    """Random parents along a random order, and random tables."""
    order = rng.permutation(n).tolist()
    parents: list[tuple[int, ...]] = [()] * n
    for k, v in enumerate(order):
        parents[v] = tuple(sorted(u for u in order[:k] if rng.random() < density))
    cards = rng.integers(2, most_states + 1, n).tolist()
    tables = []
    for v in range(n):
        shape = [cards[p] for p in parents[v]]
        table = rng.dirichlet(np.ones(cards[v]), size=shape)
        if zeros and rng.random() < 0.3:
            table = np.eye(cards[v])[table.argmax(axis=-1)]
        tables.append(table)
    return parents, tables


def joint_after(network: Network, do: dict[int, int]) -> Any:
    """P(row | do) of all rows: the product of all tables but those of what is set."""
    parents, tables = network
    cards = [t.shape[-1] for t in tables]
    joint = np.ones(cards)
    for v, table in enumerate(tables):
        if v in do:
            factor, scope = np.arange(cards[v]) == do[v], [v]
        else:
            factor, scope = table, [*parents[v], v]
        axes = np.argsort(scope)
        shape = [cards[u] if u in scope else 1 for u in range(len(cards))]
        joint = joint * factor.transpose(axes).reshape(shape)
    return joint


def answer(network: Network, targets: list[int], do: dict[int, int], given: dict[int, int]) -> Any:
    """P(targets | do, given), axes in the order of `targets`; None where given is impossible."""
    joint = joint_after(network, do)
    joint = joint[tuple(slice(given[v], given[v] + 1) if v in given else slice(None)
                        for v in range(joint.ndim))]  # fmt: skip
    table = joint.sum(axis=tuple(v for v in range(joint.ndim) if v not in targets), keepdims=True)
    table = table.transpose([*targets, *(v for v in range(joint.ndim) if v not in targets)])
    table = table.reshape(table.shape[: len(targets)])
    return None if table.sum() == 0 else table / table.sum()


def effect_table(network: Network, x: list[int], y: int) -> Any:
    """P(y | do(x)) for all states, axes (x…, y)."""
    tables = network[1]
    shape = [tables[v].shape[-1] for v in x]
    rows = [
        answer(network, [y], dict(zip(x, cell, strict=True)), {}) for cell in np.ndindex(*shape)
    ]
    return np.array(rows).reshape(*shape, -1)


def graphs_of_class(parents: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """All DAGs with the same skeleton and the same colliders, by trying all directions."""
    n = len(parents)
    pairs = sorted({tuple(sorted((p, v))) for v in range(n) for p in parents[v]})
    target = _colliders(parents)
    members = []
    for turns in product((False, True), repeat=len(pairs)):
        turned: list[list[int]] = [[] for _ in range(n)]
        for (a, b), back in zip(pairs, turns, strict=True):
            turned[a if back else b].append(b if back else a)
        graph = [tuple(sorted(family)) for family in turned]
        if _acyclic(graph) and _colliders(graph) == target:
            members.append(graph)
    return members


def _acyclic(parents: list[tuple[int, ...]]) -> bool:
    placed: set[int] = set()
    while True:
        ready = {v for v in range(len(parents)) if v not in placed and set(parents[v]) <= placed}
        if not ready:
            return len(placed) == len(parents)
        placed |= ready


def _colliders(parents: list[tuple[int, ...]]) -> set[tuple[int, int, int]]:
    joined = {frozenset((p, v)) for v, family in enumerate(parents) for p in family}
    return {
        (a, v, b)
        for v, family in enumerate(parents)
        for a, b in combinations(sorted(family), 2)
        if frozenset((a, b)) not in joined
    }


def refitted(network: Network, parents: list[tuple[int, ...]]) -> Network:
    """The network of other parents with the same joint distribution."""
    joint = joint_after(network, {})
    tables = []
    for v, family in enumerate(parents):
        drop = tuple(u for u in range(joint.ndim) if u != v and u not in family)
        scope = [u for u in range(joint.ndim) if u not in drop]
        table = joint.sum(axis=drop).transpose([*(scope.index(u) for u in family), scope.index(v)])
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return list(parents), tables


def adjusted(joint: Any, x: int, y: int, z: tuple[int, ...]) -> Any:
    """Σ_z P(y | x, z) P(z), axes (x, y)."""
    drop = tuple(v for v in range(joint.ndim) if v not in (x, y, *z))
    table = joint.sum(axis=drop, keepdims=True)
    given_x = table / table.sum(axis=y, keepdims=True)
    weights = table.sum(axis=(x, y), keepdims=True)
    summed = (given_x * weights).sum(axis=tuple(v for v in range(joint.ndim) if v not in (x, y)))
    return summed if x < y else summed.T


def minimal_adjustment_sets(networks: list[Network], x: int, y: int) -> set[frozenset[int]]:
    """The minimal sets that give the effect of every network, by trying all; they share a joint."""
    joint = joint_after(networks[0], {})
    effects = [effect_table(network, [x], y) for network in networks]
    others = [v for v in range(joint.ndim) if v not in (x, y)]
    minimal: list[frozenset[int]] = []
    for size in range(len(others) + 1):
        for z in combinations(others, size):
            if any(smaller <= set(z) for smaller in minimal):
                continue
            value = adjusted(joint, x, y, z)
            if all(np.abs(value - effect).max() < 1e-9 for effect in effects):
                minimal.append(frozenset(z))
    return set(minimal)


def has_hedge(
    n: int, arrows: set[tuple[int, int]], arcs: set[frozenset[int]], x: set[int], y: set[int]
) -> bool:
    """Whether two C-forests of Shpitser & Pearl's hedge exist, by trying all pairs of node sets.

    F contains F′; F has a node of x and F′ none; both are joined by ↔; all their nodes lead, within
    their own set, to common roots in F′ that are ancestors of y after edges into x are cut.
    """
    roots = _leading([e for e in arrows if e[1] not in x], y)
    nodes = range(n)
    districts = [
        set(s) for k in range(1, n + 1) for s in combinations(nodes, k) if _joined(set(s), arcs)
    ]
    for inner in districts:
        common = inner & roots
        if inner & x or not common or not inner <= _within(inner, arrows, common):
            continue
        for outer in districts:
            if inner < outer and outer & x and outer <= _within(outer, arrows, common):
                return True
    return False


def _leading(arrows: Any, ends: set[int]) -> set[int]:
    """The nodes from which a directed path leads to `ends`, and these."""
    seen = set(ends)
    while True:
        more = {a for a, b in arrows if b in seen} - seen
        if not more:
            return seen
        seen |= more


def _within(nodes: set[int], arrows: set[tuple[int, int]], ends: set[int]) -> set[int]:
    return _leading([(a, b) for a, b in arrows if a in nodes and b in nodes], ends)


def _joined(nodes: set[int], arcs: set[frozenset[int]]) -> bool:
    seen = {min(nodes)}
    while True:
        more = {v for v in nodes - seen if any(frozenset((u, v)) in arcs for u in seen)}
        if not more:
            return seen == nodes
        seen |= more

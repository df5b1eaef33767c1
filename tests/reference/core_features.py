"""Conditionals and paths from their definitions, for the kernels of features.

Potentials are (scope, log-values), rules (weight, [(variable, value, negated), …]), trees
(target, rows of (variable, value, node if so, node otherwise), log-values by node): a leaf has the
variable −1.
"""

from __future__ import annotations

import numpy as np


def offsets(lists):
    return np.cumsum([0, *map(len, lists)])


def joined(lists, dtype=np.int64):
    return np.array([x for some in lists for x in some], dtype)


def flat_parts(cards, potentials=(), rules=(), trees=()):
    """The fields of `Parts`, for potentials and rules that serve all variables they name."""
    n = len(cards)
    scopes = [scope for scope, _ in potentials]
    tables = [np.ravel(table) for _, table in potentials]
    strides = [np.cumprod([1, *table.shape[:0:-1]])[::-1][: table.ndim] for _, table in potentials]
    conditions = [some for _, some in rules]
    named = [{v for v, _, _ in some} for some in conditions]
    touched = [[t for t, scope in enumerate(scopes) if v in scope] for v in range(n)]
    touching = [[r for r, some in enumerate(named) if v in some] for v in range(n)]
    nodes, leaves = [], []
    roots = offsets([rows for _, rows, _ in trees])
    for root, (_, rows, logs) in zip(roots, trees, strict=False):
        for k, (variable, value, yes, no) in enumerate(rows):
            if variable < 0:
                nodes.append((-1, 0, sum(map(len, leaves)), 0))
                leaves.append(logs[k])
            else:
                nodes.append((variable, value, root + yes, root + no))
    return (
        np.array(cards), offsets(touched), joined(touched), offsets(scopes), joined(scopes),
        joined(strides), offsets(tables), joined(tables, float), offsets(touching),
        joined(touching), np.array([w for w, _ in rules], float), offsets(conditions),
        joined([[v for v, _, _ in some] for some in conditions]),
        joined([[s for _, s, _ in some] for some in conditions]),
        joined([[no for _, _, no in some] for some in conditions], bool),
        np.searchsorted([target for target, _, _ in trees], np.arange(n + 1)), roots,
        np.array(nodes, np.int64).reshape(-1, 4), joined(leaves, float),
    )  # fmt: skip


def holds(conditions, row):
    return all((row[v] == value) != negated for v, value, negated in conditions)


def leaf_of(rows, row):
    k = 0
    while rows[k][0] >= 0:
        variable, value, yes, no = rows[k]
        k = yes if row[variable] == value else no
    return k


def log_potential(potentials, rules, row):
    """The sum of all potentials and of the rules that hold."""
    total = sum(table[tuple(row[v] for v in scope)] for scope, table in potentials)
    return total + sum(weight for weight, conditions in rules if holds(conditions, row))


def conditional(cards, potentials, rules, trees, row, v):
    """Logits of v given the rest of the row: what names v, and the trees of v."""
    logits = np.zeros(cards[v])
    for s in range(cards[v]):
        other = [s if u == v else code for u, code in enumerate(row)]
        logits[s] = log_potential(
            [part for part in potentials if v in part[0]],
            [part for part in rules if any(c[0] == v for c in part[1])],
            other,
        ) + sum(logs[leaf_of(rows, other)][s] for target, rows, logs in trees if target == v)
    return logits


def normalized(logits):
    top = np.max(logits)
    return logits - top - np.log(np.sum(np.exp(logits - top)))


def first_contradiction(cards, rules):
    """The first condition that leaves its rule no row, over all rules end to end; or −1."""
    k = 0
    for _, conditions in rules:
        left = [set(range(r)) for r in cards]
        for v, value, negated in conditions:
            left[v] = left[v] - {value} if negated else left[v] & {value}
            if not left[v]:
                return k
            k += 1
    return -1


def paths(cards, rows, node=0, left=None, conditions=()):
    """[(leaf, conditions on the way that those before do not imply)] of leaves some row reaches."""
    left = left or [set(range(r)) for r in cards]
    variable, value, *children = rows[node]
    if variable < 0:
        return [(node, list(conditions))]
    out = []
    for negated, child in enumerate(children):
        values = left[variable] - {value} if negated else left[variable] & {value}
        if not values:
            continue
        new = [(variable, value, bool(negated))]
        if negated and cards[variable] == 2:
            new = [(variable, 1 - value, False)]
        if values == left[variable]:
            new = []
        below = [values if v == variable else some for v, some in enumerate(left)]
        out += paths(cards, rows, child, below, [*conditions, *new])
    return out

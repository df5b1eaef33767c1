"""Naive classifiers over plain lists of codes: loops and dictionaries, nothing else."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, product


def smoothed(rows, weights, cards, child, parents, theta=1.0):
    """P(child | parents) as a function of a row, each cell with theta / cells beside its count."""
    cells = math.prod(cards[v] for v in (*parents, child))
    above, below = Counter(), Counter()
    for row, weight in zip(rows, weights, strict=True):
        given = tuple(row[p] for p in parents)
        above[given, row[child]] += weight
        below[given] += weight

    def probability(row):
        given = tuple(row[p] for p in parents)
        count = above[given, row[child]] + theta / cells
        return count / (below[given] + theta * cards[child] / cells)

    return probability


def class_posterior(rows, weights, cards, parents, theta=1.0):
    """P(last variable | rest of a row) under a network, by the product of all families."""
    families = [smoothed(rows, weights, cards, v, parents[v], theta) for v in range(len(cards))]

    def posterior(row):
        joint = [math.prod(family((*row[:-1], c)) for family in families) for c in range(cards[-1])]
        return [p / sum(joint) for p in joint]

    return posterior


def conditional_log_likelihood(rows, weights, cards, parents, theta=1.0):
    posterior = class_posterior(rows, weights, cards, parents, theta)
    return sum(
        weight * math.log(posterior(row)[row[-1]])
        for row, weight in zip(rows, weights, strict=True)
    )


def conditional_information(rows, weights, cards, i, j):
    """I(X_i; X_j | last), in nats."""
    total = sum(weights)

    def share(**known):
        wanted = {int(k[1:]): v for k, v in known.items()}
        hits = (w for r, w in zip(rows, weights, strict=True)
                if all(r[k] == v for k, v in wanted.items()))  # fmt: skip
        return sum(hits) / total

    found = 0.0
    last = len(cards) - 1
    for a, b, c in product(range(cards[i]), range(cards[j]), range(cards[-1])):
        both = share(**{f"v{i}": a, f"v{j}": b, f"v{last}": c})
        if both > 0:
            alone = share(**{f"v{last}": c})
            left = share(**{f"v{i}": a, f"v{last}": c})
            right = share(**{f"v{j}": b, f"v{last}": c})
            found += both * math.log(both * alone / (left * right))
    return found


def best_tree_weight(weights):
    """The weight of the heaviest spanning tree, by trying every set of edges."""
    n = len(weights)
    best = -math.inf
    for edges in combinations(list(combinations(range(n), 2)), n - 1):
        group = list(range(n))
        for a, b in edges:
            group = [group[b] if g == group[a] else g for g in group]
        if len(set(group)) == 1:
            best = max(best, sum(weights[a][b] for a, b in edges))
    return best


def is_acyclic(parents):
    left = set(range(len(parents)))
    while True:
        free = {v for v in left if not set(parents[v]) & left}
        if not free:
            return not left
        left -= free


def moves_into(parents, child):
    """(kind, parent, network) for each edge into `child` added (1), deleted (2) or reversed (3)."""
    for p in range(len(parents)):
        changed = [list(family) for family in parents]
        if p == child:
            continue
        if p in parents[child]:
            changed[child].remove(p)
            yield 2, p, [tuple(family) for family in changed]
            changed[p].append(child)
        else:
            changed[child].append(p)
        if max(map(len, changed)) <= 2 and is_acyclic(changed):
            yield 1 + 2 * (p in parents[child]), p, [tuple(family) for family in changed]


def neighbors(parents):
    """Every network of at most two parents that differs by one edge added, deleted or reversed."""
    return [network for v in range(len(parents)) for _, _, network in moves_into(parents, v)]

"""Wide searches the slow way: scores from plain counts, and patterns by Meek's rules."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations


def family_score(codes, weights, cards, prices, kind, a, child, parents):
    """The score of a family less the price of its edges; "likelihood" or "equivalent"."""
    cells, rows = Counter(), Counter()
    for row, weight in enumerate(weights):
        config = tuple(int(codes[p][row]) for p in parents)
        cells[config, int(codes[child][row])] += weight
        rows[config] += weight
    r, q = cards[child], math.prod(cards[p] for p in parents)
    price = sum(prices[(cards[p] - 1) * (r - 1)] for p in parents)
    if kind == "likelihood":
        fit = sum(n * math.log(n / rows[config]) for (config, _), n in cells.items() if n > 0)
        return fit - a * q * (r - 1) - price
    alpha = a / (r * q)
    total = sum(math.lgamma(alpha * r) - math.lgamma(alpha * r + n) for n in rows.values())
    total += sum(math.lgamma(alpha + n) - math.lgamma(alpha) for n in cells.values())
    return total - price


def arrows_by_meek(n, parents):
    """The edges (tail, head) that all DAGs of the class share."""
    joined = {frozenset((p, x)) for x in range(n) for p in parents[x]}

    def adjacent(u, v):
        return frozenset((u, v)) in joined

    arrows = {
        (p, x)
        for x in range(n)
        for a, b in combinations(parents[x], 2)
        if not adjacent(a, b)
        for p in (a, b)
    }
    edges = [(p, x) for x in range(n) for p in parents[x]]
    grew = True
    while grew:
        grew = False
        for x, y in edges + [(y, x) for x, y in edges]:
            if (x, y) in arrows or (y, x) in arrows:
                continue
            lines = [
                z
                for z in range(n)
                if (z, y) in arrows and adjacent(x, z) and not {(x, z), (z, x)} & arrows
            ]
            if (
                any((z, x) in arrows and not adjacent(z, y) for z in range(n) if z != y)
                or any((x, z) in arrows and (z, y) in arrows for z in range(n))
                or any(not adjacent(u, v) for u, v in combinations(lines, 2))
            ):
                arrows.add((x, y))
                grew = True
    return arrows


def has_cycle(n, parents):
    """Whether parent lists hold a cycle."""
    left = {x: set(parents[x]) for x in range(n)}
    while True:
        ready = [x for x, before in left.items() if not before]
        if not ready:
            return bool(left)
        for x in ready:
            del left[x]
        for before in left.values():
            before.difference_update(ready)


def reaches(parents, start, end):
    """Whether a directed path leads from `start` to `end`."""
    seen, waiting = {end}, [end]
    while waiting:
        for p in parents[waiting.pop()]:
            if p == start:
                return True
            if p not in seen:
                seen.add(p)
                waiting.append(p)
    return False


def best_change(n, parents, score):
    """The largest gain of one edge more or less that closes no cycle."""
    gains = [0.0]
    for x in range(n):
        alone = score(x, parents[x])
        for p in range(n):
            if p in parents[x]:
                rest = tuple(v for v in parents[x] if v != p)
                gains.append(score(x, rest) - alone)
            elif p != x and x not in parents[p] and not reaches(parents, x, p):
                gains.append(score(x, tuple(sorted((*parents[x], p)))) - alone)
    return max(gains)

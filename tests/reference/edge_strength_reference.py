"""The strength of an edge the slow way: all networks of a class, all permutations of a column."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations


def hypergeometric(a, b, n):
    """{x: P(x)} of the cell of margins a and b when one column of n rows is shuffled."""
    return {
        x: math.comb(a, x) * math.comb(n - a, b - x) / math.comb(n, b)
        for x in range(max(0, a + b - n), min(a, b) + 1)
    }


def corrected_bits(rows, x, y, given):
    """I(x; y | given) in bits per row less its mean under shuffling, never negative."""
    strata = {}
    for row in rows:
        strata.setdefault(tuple(row[v] for v in given), []).append((row[x], row[y]))
    total = 0.0
    for pairs in strata.values():
        n, cells = len(pairs), Counter(pairs)
        left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
        for i, a in left.items():
            for j, b in right.items():
                seen = cells[i, j]
                total += seen * math.log2(seen * n / (a * b)) if seen else 0.0
                for k, p in hypergeometric(a, b, n).items():
                    total -= p * k * math.log2(k * n / (a * b)) if k else 0.0
    return max(total, 0.0) / len(rows)


def class_strengths(graphs, rows):
    """{frozenset of two nodes: strength} of a class, given as all of its networks' edge sets.

    Of the sets of other parents that some network gives the child of an edge, those count that are
    in no larger one, and of these the one with the least information.
    """
    sets = {}
    for edges in graphs:
        for p, x in edges:
            rest = frozenset(q for q, c in edges if c == x and q != p)
            sets.setdefault(frozenset((p, x)), set()).add(rest)
    found = {}
    for pair, rests in sets.items():
        largest = [s for s in rests if not any(s < other for other in rests)]
        a, b = sorted(pair)
        found[pair] = min(corrected_bits(rows, a, b, sorted(s)) for s in largest)
    return found


def graphs_with(graphs, known):
    """(edges that all graphs with the known directions share, edges that they turn)."""
    kept = [g for g in graphs if set(known) <= set(g)]
    shared = frozenset.intersection(*map(frozenset, kept))
    turned = {tuple(sorted(e)) for g in kept for e in g} - {tuple(sorted(e)) for e in shared}
    return shared, turned


def subsets(items, most):
    """All subsets of up to `most` items."""
    return [s for k in range(most + 1) for s in combinations(items, k)]

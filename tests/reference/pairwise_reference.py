"""Each variable's most dependent partners, by χ² over all pairs. Slow, plain, and free of the
library."""

from __future__ import annotations

from fractions import Fraction


def chi_square(xs, ys, weights):
    """Σ (N − E)² / E over cells with E > 0, exactly."""
    rows, columns, cells, total = {}, {}, {}, Fraction(0)
    for x, y, weight in zip(xs, ys, weights, strict=True):
        w = Fraction(weight)
        rows[x] = rows.get(x, 0) + w
        columns[y] = columns.get(y, 0) + w
        cells[x, y] = cells.get((x, y), 0) + w
        total += w
    statistic = Fraction(0)
    for x, row in rows.items():
        for y, column in columns.items():
            expected = row * column / total
            if expected > 0:
                statistic += (cells.get((x, y), 0) - expected) ** 2 / expected
    return statistic


def edges(codes, k, weights=None):
    """Pairs of which one is among the k of the other; the later column wins a tie."""
    n = len(codes)
    weights = [1] * len(codes[0]) if weights is None else weights
    found = set()
    for i in range(n):
        scored = [(chi_square(codes[i], codes[j], weights), j) for j in range(n) if j != i]
        for statistic, j in sorted(scored, reverse=True)[:k]:
            if statistic > 0:
                found.add((min(i, j), max(i, j)))
    return found

"""Jakulin & Rish, as literally as it can be said: region graphs, dictionaries and Python loops."""

from __future__ import annotations

import math
from itertools import combinations

WINDOW = math.log(100)


def regions(hyperedges):
    """Counting numbers of the hyperedges (with the class in each) closed under intersection."""
    edges = {frozenset(h) for h in hyperedges} or {frozenset()}
    edges = {e for e in edges if not any(e < f for f in edges)}
    closed = set(edges)
    while True:
        more = {a & b for a in closed for b in closed} - closed
        if not more:
            break
        closed |= more
    counts = {}
    for region in sorted(closed, key=len, reverse=True):
        counts[region] = 1 - sum(c for other, c in counts.items() if region < other)
    return counts


def complex_of(hyperedges):
    """The hyperedges and all their subsets: what makes two structures the same."""
    return frozenset(
        frozenset(part)
        for h in hyperedges
        for size in range(len(h) + 1)
        for part in combinations(sorted(h), size)
    ) | {frozenset()}


class Reference:
    """Rows as tuples of codes, labels, weights; everything is counted again each time."""

    def __init__(self, rows, labels, weights, cards, n_classes, outliers=1.0, prior="aicc"):
        self.rows, self.labels, self.weights = rows, labels, weights
        self.cards, self.n_classes = cards, n_classes
        self.outliers, self.prior = outliers, prior
        self.total = sum(weights)

    def probability(self, columns, cells, y):
        """The posterior mean P(x_columns = cells, y)."""
        count = 0.0
        for row, label, weight in zip(self.rows, self.labels, self.weights, strict=True):
            if label == y and all(row[c] == cells[c] for c in columns):
                count += weight
        size = self.n_classes * math.prod(self.cards[c] for c in columns)
        return (self.outliers / size + count) / (self.total + self.outliers)

    def predict(self, hyperedges, row):
        """P(class | row) of one structure; states that are None or unknown leave their column."""
        known = {c for c in range(len(self.cards)) if 0 <= row[c] < self.cards[c]}
        counts = regions([set(h) & known for h in hyperedges])
        logs = [
            sum(c * math.log(self.probability(r, row, y)) for r, c in counts.items())
            for y in range(self.n_classes)
        ]
        top = max(logs)
        weights = [math.exp(v - top) for v in logs]
        return [w / sum(weights) for w in weights]

    def freedom(self, hyperedges):
        total = 0
        for region, c in regions(hyperedges).items():
            cells = math.prod(self.cards[a] for a in region)
            total += c * (cells * self.n_classes - cells)
        return total

    def penalty(self, free):
        if self.prior == "orthodox":
            return free
        left = self.total - free - 1
        return self.total * free / left if left > 0 else math.inf

    def likelihood(self, hyperedges):
        seen = {}
        total = 0.0
        for row, label, weight in zip(self.rows, self.labels, self.weights, strict=True):
            if row not in seen:
                seen[row] = self.predict(hyperedges, row)
            total += weight * math.log(seen[row][label])
        return total

    def log_posterior(self, hyperedges):
        penalty = self.penalty(self.freedom(hyperedges))
        return -math.inf if penalty == math.inf else self.likelihood(hyperedges) - penalty

    def saturated(self):
        by_row = {}
        for row, label, weight in zip(self.rows, self.labels, self.weights, strict=True):
            by_row.setdefault(row, {}).setdefault(label, 0.0)
            by_row[row][label] += weight
        return sum(
            n * math.log(n / sum(counts.values()))
            for counts in by_row.values()
            for n in counts.values()
            if n
        )

    def climb(self, max_order=4, forest=False, max_candidates=None, tolerance=1e-7):
        """(hyperedges chosen, log-posteriors on the way, {complex: log-posterior} of all seen)."""
        path, scores = [], [self.log_posterior([])]
        seen = {complex_of([]): scores[0]}
        lists, gains = {}, {}
        best_possible = self.saturated()

        def hopeless(free):
            bound = best_possible - self.penalty(free)
            return bound < max(scores) - WINDOW

        def look(candidates):
            found = []
            for t in candidates:
                if frozenset(t) in complex_of(path):
                    continue
                if forest and len(t) == 2 and connected(path, *t):
                    continue
                if max_candidates is not None and hopeless(self.freedom([*path, t])):
                    continue
                score = self.log_posterior([*path, t])
                seen[complex_of([*path, t])] = score
                gains[t] = score - scores[-1]
                found.append((score, t))
            top = max((s for s, _ in found), default=-math.inf)
            first = next((t for s, t in found if s >= top - tolerance), None)
            return top, first

        for size in range(1, max_order):
            columns = [c for c in range(len(self.cards)) if self.cards[c] > 1]
            candidates = list(combinations(columns, size))
            if max_candidates is not None and size > 1:
                candidates = self.promising(
                    candidates, lists[size - 1], gains, path, hopeless, max_candidates
                )
            lists[size] = candidates
            while True:
                top, t = look(candidates)
                if not top > scores[-1] + tolerance:
                    break
                path.append(t)
                scores.append(top)
        everything = [t for size in sorted(lists) for t in lists[size]]
        while True:
            top, t = look(everything)
            if not top > max(scores) - WINDOW:
                break
            path.append(t)
            scores.append(top)
        return path, scores, seen

    def promising(self, candidates, smaller, gains, path, hopeless, limit):
        smaller = set(smaller)
        able = []
        for t in candidates:
            parts = list(combinations(t, len(t) - 1))
            if all(p in smaller for p in parts) and not hopeless(self.freedom([*path, t])):
                own = [gains.get(p, -math.inf) for p in parts]
                able.append((-round(sum(own), 6), -max(own), t))
        if len(able) <= limit:
            return [t for *_, t in able]
        return sorted(t for *_, t in sorted(able)[:limit])


def connected(path, a, b):
    reached, waiting = {a}, [a]
    while waiting:
        here = waiting.pop()
        for t in path:
            if len(t) == 2 and here in t:
                other = t[0] if t[1] == here else t[1]
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
    return b in reached


def interaction(reference, columns):
    """Σ over subsets of (−1)^… I(subset; class), by entropies, over the entropy of the class."""

    def entropy(part, with_class):
        total = 0.0
        cells = [()]
        for c in part:
            cells = [(*cell, k) for cell in cells for k in range(reference.cards[c])]
        for cell in cells:
            row = dict(zip(part, cell, strict=True))
            each = [reference.probability(part, row, y) for y in range(reference.n_classes)]
            for p in each if with_class else [sum(each)]:
                total -= p * math.log(p)
        return total

    alone = entropy((), True)
    total = 0.0
    for size in range(1, len(columns) + 1):
        for part in combinations(columns, size):
            information = entropy(part, False) + alone - entropy(part, True)
            total += (-1) ** (len(columns) - size) * information
    return total / alone

"""Joint models of hyperedges by region graphs, dictionaries and sums over every joint state."""

from __future__ import annotations

import math
from itertools import combinations, product

from reference.markov_classifier_reference import complex_of, regions


class JointReference:
    """Rows as tuples of codes, with weights; everything is counted again each time."""

    def __init__(self, rows, weights, cards, outliers=1.0, prior="aicc"):
        self.rows, self.weights, self.cards = rows, weights, cards
        self.outliers, self.prior = outliers, prior
        self.total = sum(weights)

    def probability(self, columns, cells):
        """The posterior mean P(x_columns = cells)."""
        count = sum(
            weight
            for row, weight in zip(self.rows, self.weights, strict=True)
            if all(row[c] == cells[c] for c in columns)
        )
        size = math.prod(self.cards[c] for c in columns)
        return (self.outliers / size + count) / (self.total + self.outliers)

    def distribution(self, hyperedges):
        """P of every joint state: the product over regions, divided by its sum."""
        counts = regions(hyperedges)
        weights = {
            state: math.prod(self.probability(r, state) ** c for r, c in counts.items() if r)
            for state in product(*map(range, self.cards))
        }
        total = sum(weights.values())
        return {state: weight / total for state, weight in weights.items()}

    def freedom(self, hyperedges):
        counts = regions(hyperedges)
        return sum(c * (math.prod(self.cards[a] for a in r) - 1) for r, c in counts.items())

    def log_posterior(self, hyperedges):
        free = self.freedom(hyperedges)
        left = self.total - free - 1
        if self.prior == "aicc" and left <= 0:
            return -math.inf
        penalty = self.total * free / left if self.prior == "aicc" else free
        proba = self.distribution(hyperedges)
        fit = sum(
            w * math.log(proba[tuple(r)]) for r, w in zip(self.rows, self.weights, strict=True)
        )
        return fit - penalty

    def climb(self, max_order):
        """(hyperedges in the order chosen, log-posterior): by stages, then of any size."""
        chosen, score = [], self.log_posterior([])
        columns = range(len(self.cards))
        stages = [[size] for size in range(1, max_order + 1)] + [list(range(1, max_order + 1))]
        for sizes in stages:
            while True:
                best, best_score = None, score + 1e-7
                for size in sizes:
                    for edge in combinations(columns, size):
                        if frozenset(edge) not in complex_of(chosen):
                            value = self.log_posterior([*chosen, edge])
                            if value > best_score + (1e-7 if best else 0):
                                best, best_score = edge, value
                if best is None:
                    break
                chosen, score = [*chosen, best], best_score
        return chosen, score

    def best(self):
        """The largest log-posterior of all structures, by trying every one of them."""
        subsets = [s for k in range(1, len(self.cards) + 1) for s in
                   combinations(range(len(self.cards)), k)]  # fmt: skip
        structures = {frozenset()}
        for subset in sorted(subsets, key=len):
            below = set(complex_of([subset])) - {frozenset(subset), frozenset()}
            structures |= {s | {frozenset(subset)} for s in structures if below <= s}
        return max(self.log_posterior(s) for s in structures)

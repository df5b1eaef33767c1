"""Markov blanket merging in plain Python, row by row: slow, and written from the paper alone.

A network is {child: set of parents}. Tables are lists of rows of codes.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

TIE = 1e-7  # gains that differ by less are equal
RISE = 1e-9  # of a likelihood, relative


class Reference:
    """The learner's setting; `order` lists the columns: moves tie to the first, χ² to the last."""

    def __init__(self, rows, cards, names, weights=None, *, k=8, k_max=10, prior=None, ml=False):
        self.rows = [tuple(map(int, row)) for row in rows]
        self.weights = [1.0] * len(self.rows) if weights is None else list(map(float, weights))
        self.cards = [int(r) for r in cards]
        self.n, self.total = len(cards), sum(self.weights)
        self.k, self.k_max = k, k_max
        self.prior = float(max(self.cards) if prior is None else prior)
        self.ml = ml
        self.families = {}
        shares = []
        for v in range(self.n):
            counts = self.count([v])
            shares.append(sorted(c / self.total for c in counts.values() if c > 0))
        entropies = [-math.fsum(p * math.log(p) for p in own) for own in shares]
        self.order = sorted(range(self.n), key=lambda v: (-round(entropies[v], 10), names[v]))

    def count(self, columns):
        counts = Counter()
        for row, weight in zip(self.rows, self.weights, strict=True):
            counts[tuple(row[c] for c in columns)] += weight
        return counts

    # ---- relatives ---------------------------------------------------------------------------

    def chi_square(self, a, b):
        joint, left, right = self.count([a, b]), self.count([a]), self.count([b])
        statistic = 0.0
        for s, t in product(range(self.cards[a]), range(self.cards[b])):
            expected = left[s,] * right[t,] / self.total
            if expected > 0:
                statistic += (joint[s, t] - expected) ** 2 / expected
        return statistic

    def relatives(self, v):
        found = [
            (round(self.chi_square(v, u), 9), self.order.index(u)) for u in range(self.n) if u != v
        ]
        best = sorted(found)[::-1][: self.k]
        return {self.order[place] for value, place in best if value > 1e-9}

    # ---- one network -------------------------------------------------------------------------

    def probability(self, counts, totals, child, parents, state, given, prior):
        q = math.prod(self.cards[p] for p in parents)
        r = self.cards[child]
        return (counts[(*given, state)] + prior / (r * q)) / (totals[given] + prior / q)

    def family(self, child, parents):
        parents = tuple(sorted(parents))
        if (child, parents) not in self.families:
            counts, totals = self.count([*parents, child]), self.count(parents)
            prior = 0.0 if self.ml else self.prior
            terms = [
                c * math.log(self.probability(counts, totals, child, parents, s, tuple(g), prior))
                for (*g, s), c in counts.items()
                if c > 0
            ]
            q = math.prod(self.cards[p] for p in parents)
            price = 0.5 * math.log(self.total) * q * (self.cards[child] - 1)
            self.families[child, parents] = math.fsum(terms) - price
        return self.families[child, parents]

    def mdl(self, network):
        return math.fsum(self.family(child, parents) for child, parents in network.items())

    def moves(self, network, columns):
        for child in columns:
            for parent in columns:
                if parent == child:
                    continue
                changed = {c: set(p) for c, p in network.items()}
                changed[child] ^= {parent}
                if acyclic(changed):
                    yield changed
                if parent in network[child]:
                    turned = {c: set(p) for c, p in changed.items()}
                    turned[parent].add(child)
                    if acyclic(turned):
                        yield turned

    def learn(self, members):
        columns = [v for v in self.order if v in members]
        network = {v: set() for v in columns}
        while True:
            here = self.mdl(network)
            best, chosen = TIE, None
            for changed in self.moves(network, columns):
                gain = self.mdl(changed) - here
                if gain > best:
                    best, chosen = gain + TIE, changed
            if chosen is None:
                return network
            network = chosen

    def likelihood(self, v, network):
        """Σ ln P(x_v | its blanket)."""
        touched = [c for c in network if c == v or v in network[c]]
        tables = {}
        for c in touched:
            parents = tuple(sorted(network[c]))
            tables[c] = parents, self.count([*parents, c]), self.count(parents)
        terms = []
        for row, weight in zip(self.rows, self.weights, strict=True):
            chances = []
            for s in range(self.cards[v]):
                at = dict(enumerate(row)) | {v: s}
                chance = 1.0
                for c, (parents, counts, totals) in tables.items():
                    given = tuple(at[p] for p in parents)
                    chance *= self.probability(counts, totals, c, parents, at[c], given, self.prior)
                chances.append(chance)
            terms.append(weight * math.log(chances[row[v]] / sum(chances)))
        return math.fsum(terms)

    # ---- merging -----------------------------------------------------------------------------

    def union(self, v, networks):
        found = set()
        for network in networks:
            if v in network:
                found |= blanket(v, network)
        return found

    def proposals(self, networks):
        proposed = []
        for v in range(self.n):
            union = self.union(v, networks)
            proposed.append(self.learn(union | {v}) if len(union) <= self.k_max else networks[v])
        return proposed

    def better(self, v, new, old):
        before = self.likelihood(v, old)
        return self.likelihood(v, new) > before + RISE * max(1.0, -before)

    def merge(self):
        """(networks, passes, PLL after each pass, the first networks' included)."""
        networks = [self.learn(self.relatives(v) | {v}) for v in range(self.n)]
        plls, passes = [self.pll(networks)], 0
        while True:
            passes += 1
            proposed = self.proposals(networks)
            taken = [self.better(v, proposed[v], networks[v]) for v in range(self.n)]
            networks = [proposed[v] if taken[v] else networks[v] for v in range(self.n)]
            if not any(taken):
                return networks, passes, plls
            plls.append(self.pll(networks))

    def merge_as_printed(self, most):
        """(networks, passes): relatives become blankets, and networks are learned anew."""
        relatives = [self.relatives(v) for v in range(self.n)]
        passes = 0
        while True:
            passes += 1
            networks = [self.learn(relatives[v] | {v}) for v in range(self.n)]
            proposed = self.proposals(networks)
            refined = False
            for v in range(self.n):
                if self.better(v, proposed[v], networks[v]):
                    relatives[v] = blanket(v, proposed[v])
                    refined = True
            if not refined or passes == most:
                return networks, passes

    def pll(self, networks):
        return math.fsum(self.likelihood(v, network) for v, network in enumerate(networks))


def blanket(v, network):
    children = [c for c, parents in network.items() if v in parents]
    found = network[v] | set(children)
    for c in children:
        found |= network[c]
    return found - {v}


def acyclic(network):
    left = {c: set(parents) for c, parents in network.items()}
    while left:
        roots = [c for c, parents in left.items() if not parents]
        if not roots:
            return False
        for c in roots:
            del left[c]
        for parents in left.values():
            parents.difference_update(roots)
    return True

"""Searches over networks of a few nodes by plain enumeration, and a row store that holds them all.

A graph is a tuple of frozensets, the parents of each node; a score is {(child, parents): number}.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

TIE = 1e-7


def subsets(nodes):
    nodes = sorted(nodes)
    return [frozenset(c) for k in range(len(nodes) + 1) for c in combinations(nodes, k)]


def random_scores(n, seed):
    """A score of families with few ties, worse for many parents."""
    rng = np.random.default_rng(seed)
    families = [(x, p) for x in range(n) for p in subsets(set(range(n)) - {x})]
    return {(x, p): 2 * rng.standard_normal() - 0.7 * len(p) ** 2 for x, p in families}


def equivalent_scores(n, seed):
    """f(x, P) − f(P) of random f: the same for all members of a class."""
    rng = np.random.default_rng(seed)
    f = {s: rng.standard_normal() - 0.5 * len(s) ** 2 for s in subsets(range(n))}
    return {(x, p): f[p | {x}] - f[p] for x in range(n) for p in subsets(set(range(n)) - {x})}


def bit_rows(graph, words=1):
    out = np.zeros((len(graph), words), np.uint64)
    for x, parents in enumerate(graph):
        for p in parents:
            out[x, p // 64] |= np.uint64(1) << np.uint64(p % 64)
    return out


def graph_of(rows):
    return tuple(
        frozenset(p for p in range(64 * rows.shape[1]) if row[p // 64] >> p % 64 & 1)
        for row in rows.tolist()
    )


def row_store(n, scores, families=None):
    """The arrays of a store with the rows of `families`, by default of all."""
    families = list(scores) if families is None else families
    slots, buckets = len(families), 16
    rng = np.random.default_rng(7)
    zobrist = rng.integers(0, 2**63, (2, n)).astype(np.uint64)
    head, following = np.zeros(buckets, np.int64), np.zeros(slots, np.int64)
    keys, child = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
    parents = np.zeros((slots, 1), np.uint64)
    values = np.zeros((slots, n))
    improving, n_improving = np.full((slots, n), -1), np.zeros(slots, np.int64)
    for slot, (x, family) in enumerate(families):
        key = int(zobrist[0, x])
        for p in family:
            key ^= int(zobrist[1, p])
            parents[slot, 0] |= np.uint64(1) << np.uint64(p)
        keys[slot], child[slot] = key, x
        following[slot], head[key % buckets] = head[key % buckets], slot + 1
        values[slot] = [scores[x, family ^ {y} if y != x else family] for y in range(n)]
        others = sorted(set(range(n)) - family - {x}, key=lambda y: -values[slot, y])
        better = [y for y in others if values[slot, y] > values[slot, x]]
        improving[slot, : len(better)], n_improving[slot] = better, len(better)
    ring = np.array([slots, 0, 0, slots])
    return zobrist, head, following, keys, child, parents, values, improving, n_improving, ring


def descendants(graph, u):
    """u and all that a directed path leads to."""
    seen = {u}
    while True:
        more = {x for x, parents in enumerate(graph) if parents & seen} - seen
        if not more:
            return seen
        seen |= more


def acyclic(graph):
    return all(p not in descendants(graph, x) for x, parents in enumerate(graph) for p in parents)


def toggled(graph, p, x):
    return tuple(own ^ {p} if i == x else own for i, own in enumerate(graph))


class Naive:
    """Searches by one score; `allowed` and `required` hold (parent, child) pairs."""

    def __init__(self, n, scores, allowed=None, required=()):
        self.n, self.scores, self.required = n, scores, set(required)
        pairs = {(p, x) for p in range(n) for x in range(n) if p != x}
        self.allowed = pairs if allowed is None else set(allowed)

    def score(self, graph):
        return sum(self.scores[x, p] for x, p in enumerate(graph))

    # ---- DAGs ----------------------------------------------------------------------------------

    def moves(self, graph):
        """Graphs one addition, removal or reversal away."""
        for x, p in product(range(self.n), repeat=2):
            if p in graph[x] and (p, x) not in self.required:
                yield toggled(graph, p, x)
                turned = toggled(toggled(graph, p, x), x, p)
                if (x, p) in self.allowed and acyclic(turned):
                    yield turned
            elif p not in graph[x] and (p, x) in self.allowed and acyclic(toggled(graph, p, x)):
                yield toggled(graph, p, x)

    def climb(self, graph, most=10**9):
        """(the local optimum, moves)."""
        for made in range(most):
            best = max(self.moves(graph), key=self.score, default=graph)
            if self.score(best) <= self.score(graph) + TIE:
                return graph, made
            graph = best
        return graph, most

    def tabu_walk(self, graph, length):
        """(the best graph met, moves)."""
        empty = (frozenset(),) * self.n
        visited, best, idle, made = [empty] * length, graph, 0, 0
        while True:
            if self.score(graph) > self.score(best) + TIE:
                best, idle = graph, 0
            visited[made % length] = graph
            fresh = [g for g in self.moves(graph) if g not in visited]
            if not fresh or idle == length:
                return best, made
            graph = max(fresh, key=self.score)
            made, idle = made + 1, idle + 1

    def better(self, new, old):
        return self.score(new) > self.score(old) + TIE

    def reinsert(self, graph):
        """(graph, gains) after each node was cut out and climbed from."""
        gains = 0
        for v in range(self.n):
            cut = tuple(
                frozenset(p for p in own if v not in (p, x) or (p, x) in self.required)
                for x, own in enumerate(graph)
            )
            found, _ = self.climb(cut)
            if self.better(found, graph):
                graph, gains = found, gains + 1
        return graph, gains

    def knock_out(self, graph):
        """(graph, gains) after each edge was dropped, forbidden for one climb and allowed again."""
        gains = 0
        for x in range(self.n):
            for p in range(self.n):
                if p not in graph[x] or (p, x) in self.required:
                    continue
                without = Naive(self.n, self.scores, self.allowed - {(p, x)}, self.required)
                found, _ = self.climb(without.climb(toggled(graph, p, x))[0])
                if self.better(found, graph):
                    graph, gains = found, gains + 1
        return graph, gains

    # ---- orders --------------------------------------------------------------------------------

    def grown(self, x, before, shrink):
        """The parents of x among `before`, greedily."""
        family = frozenset(p for p in range(self.n) if (p, x) in self.required)
        while True:
            more = [family | {y} for y in before if y not in family and (y, x) in self.allowed]
            fewer = [family - {y} for y in family if (y, x) not in self.required] if shrink else []
            best = max(more + fewer, key=lambda f: self.scores[x, f], default=family)
            if self.scores[x, best] <= self.scores[x, family] + TIE:
                return family
            family = best

    def in_order(self, order, shrink):
        """The graph of an order."""
        graph = [frozenset()] * self.n
        for place, x in enumerate(order):
            graph[x] = self.grown(x, order[:place], shrink)
        return tuple(graph)

    def place_nodes(self, order):
        """(order, nodes moved) after each node was put into its best place."""
        moved = 0
        for v in range(self.n):
            rest = [u for u in order if u != v]
            places = [[*rest[:j], v, *rest[j:]] for j in range(self.n)]
            scores = [self.score(self.in_order(o, True)) for o in places]
            if max(scores) > scores[order.index(v)] + TIE:
                order, moved = places[int(np.argmax(scores))], moved + 1
        return order, moved


class Classes(Naive):
    """Searches over classes, each a frozenset of graphs, by a score that is the same in a class."""

    def __init__(self, n, scores, allowed=None):
        super().__init__(n, scores, allowed)
        self.of = {}
        grouped = {}
        families = [subsets(set(range(n)) - {x}) for x in range(n)]
        for graph in product(*families):
            if acyclic(graph):
                grouped.setdefault(signature(graph), []).append(graph)
        for members in grouped.values():
            for graph in members:
                self.of[graph] = frozenset(members)

    def class_score(self, members):
        return self.score(next(iter(members)))

    def deleted(self, members, pairs=None):
        """The classes of members without one edge."""
        return {
            self.of[toggled(g, p, x)]
            for g in members
            for x in range(self.n)
            for p in g[x]
            if pairs is None or {p, x} in pairs
        }

    def inserted(self, members):
        return {
            self.of[toggled(g, p, x)]
            for g in members
            for p, x in self.allowed
            if p not in g[x] and x not in g[p] and acyclic(toggled(g, p, x))
        }

    def ges(self, members, most=10**9):
        """(class, steps): the best delete while one gains, else the best insert."""
        for made in range(most):
            for options in (self.deleted(members), self.inserted(members)):
                best = max(options, key=self.class_score, default=members)
                if self.class_score(best) > self.class_score(members) + TIE:
                    members = best
                    break
            else:
                return members, made
        return members, most

    def knock_out_classes(self, members):
        """(class, gains): for each edge, delete it, search without it, and then with it."""
        gains = 0
        for y in range(self.n):
            for x in range(y):
                graph = next(iter(members))
                if x not in graph[y] and y not in graph[x]:
                    continue
                start = max(self.deleted(members, [{x, y}]), key=self.class_score)
                everything = self.allowed
                self.allowed = everything - {(x, y), (y, x)}
                found, _ = self.ges(start)
                self.allowed = everything
                found, _ = self.ges(found)
                if self.class_score(found) > self.class_score(members) + TIE:
                    members, gains = found, gains + 1
        return members, gains


def signature(graph):
    """Skeleton and colliders."""
    skeleton = frozenset(frozenset((p, x)) for x, own in enumerate(graph) for p in own)
    colliders = frozenset(
        (frozenset((a, b)), x)
        for x, own in enumerate(graph)
        for a, b in combinations(sorted(own), 2)
        if frozenset((a, b)) not in skeleton
    )
    return skeleton, colliders


def heaviest_forest(weights, threshold):
    """The edges of Kruskal's forest; no two weights may be equal."""
    n = len(weights)
    part = list(range(n))
    edges = set()
    for i, j in sorted(combinations(range(n), 2), key=lambda e: -weights[e]):
        if weights[i, j] > threshold and part[i] != part[j]:
            edges.add((i, j))
            part = [part[i] if q == part[j] else q for q in part]
    return edges


def chi_square(table):
    """Σ (N − E)² / E over cells with E > 0."""
    table = np.asarray(table, float)
    expected = table.sum(1, keepdims=True) * table.sum(0) / max(table.sum(), 1)
    inside = expected > 0
    return float((((table - expected) ** 2)[inside] / expected[inside]).sum())

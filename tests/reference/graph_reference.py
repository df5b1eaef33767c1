"""Graphs the slow way: sets, paths and enumeration. Imports nothing of the library."""

from __future__ import annotations

from itertools import chain, combinations, product
from math import prod

Edge = tuple[int, int]
Edges = frozenset[Edge]


def random_dag(rng, n: int, density: float) -> list[Edge]:
    """Edges that follow a random order of the nodes."""
    order = rng.permutation(n).tolist()
    return [
        (order[i], order[j]) for i in range(n) for j in range(i + 1, n) if rng.random() < density
    ]


def random_graph(rng, n: int, density: float) -> list[Edge]:
    return [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < density]


def find_cycle(n: int, edges) -> bool:
    """Whether removing nodes without parents gets stuck."""
    left = set(range(n))
    while True:
        roots = {v for v in left if not any(b == v and a in left for a, b in edges)}
        if not roots:
            return bool(left)
        left -= roots


def ancestral(edges, nodes) -> set[int]:
    """The nodes and all their ancestors."""
    seen = set(nodes)
    while True:
        more = {a for a, b in edges if b in seen} - seen
        if not more:
            return seen
        seen |= more


def reachable(edges, start, blocked=()) -> set[int]:
    """What undirected edges reach from `start` without entering `blocked`."""
    seen = set(start)
    while True:
        more = {a for a, b in edges if b in seen} | {b for a, b in edges if a in seen}
        more -= seen | set(blocked)
        if not more:
            return seen
        seen |= more


def moral_edges(edges, nodes) -> set[Edge]:
    """The moral graph of the subgraph on `nodes`, pairs rising."""
    kept = [(a, b) for a, b in edges if a in nodes and b in nodes]
    joined = {tuple(sorted(e)) for e in kept}
    for (a, c), (b, d) in combinations(kept, 2):
        if c == d:
            joined.add((min(a, b), max(a, b)))
    return joined


def trail_separated(edges, x: int, y: int, given) -> bool:
    """d-separation of two nodes by listing every simple trail between them."""
    arcs = set(edges)
    neighbors: dict[int, set[int]] = {}
    for a, b in arcs:
        neighbors.setdefault(a, set()).add(b)
        neighbors.setdefault(b, set()).add(a)
    opened = ancestral(arcs, given)

    def active(trail) -> bool:
        for a, m, b in zip(trail, trail[1:], trail[2:], strict=False):
            collider = (a, m) in arcs and (b, m) in arcs
            if (m not in opened) if collider else (m in given):
                return False
        return True

    stack = [(x,)]
    while stack:
        trail = stack.pop()
        for v in neighbors.get(trail[-1], ()):
            if v not in trail and active((*trail, v)):
                if v == y:
                    return False
                stack.append((*trail, v))
    return True


def all_dags(n: int) -> list[Edges]:
    """Every directed acyclic graph on n labeled nodes."""
    pairs = list(combinations(range(n), 2))
    found = []
    for ways in product(range(3), repeat=len(pairs)):
        edges = [(a, b) if w == 1 else (b, a) for (a, b), w in zip(pairs, ways, strict=True) if w]
        if not find_cycle(n, edges):
            found.append(frozenset(edges))
    return found


def signature(edges: Edges):
    """Skeleton and colliders: equal iff Markov equivalent (Verma & Pearl 1990)."""
    skeleton = frozenset(frozenset(e) for e in edges)
    colliders = frozenset(
        (frozenset((a, b)), c)
        for (a, c), (b, d) in combinations(sorted(edges), 2)
        if c == d and frozenset((a, b)) not in skeleton
    )
    return skeleton, colliders


def classes(n: int) -> dict[object, list[Edges]]:
    """All graphs on n nodes by equivalence class."""
    grouped: dict[object, list[Edges]] = {}
    for edges in all_dags(n):
        grouped.setdefault(signature(edges), []).append(edges)
    return grouped


def running_intersection(cliques, links) -> bool:
    """Whether, for every node, the cliques that hold it are connected among themselves."""
    for v in set(chain(*cliques)):
        holders = {k for k, clique in enumerate(cliques) if v in clique}
        inner = [(i, j) for i, j in links if i in holders and j in holders]
        if reachable(inner, {min(holders)}) != holders:
            return False
    return True


def least_fill(n: int, edges, cards) -> tuple[list[int], set[Edge]]:
    """Order and added edges, counting every node's missing pairs anew at every step."""
    joined = {frozenset(e) for e in edges}
    left, order, added = set(range(n)), [], set()

    def missing(v):
        near = sorted(u for u in left if frozenset((u, v)) in joined)
        return near, [p for p in combinations(near, 2) if frozenset(p) not in joined]

    while left:
        v = min(
            left,
            key=lambda v: (len(missing(v)[1]), prod(cards[u] for u in (v, *missing(v)[0])), v),
        )
        fresh = missing(v)[1]
        joined |= {frozenset(p) for p in fresh}
        added |= set(fresh)
        order.append(v)
        left.remove(v)
    return order, added


def subsets(nodes) -> list[frozenset[int]]:
    nodes = sorted(nodes)
    return [frozenset(c) for k in range(len(nodes) + 1) for c in combinations(nodes, k)]


def maximal_cliques(n: int, edges) -> set[tuple[int, ...]]:
    """By testing every set of nodes."""
    joined = {frozenset(e) for e in edges}
    complete = [
        set(nodes)
        for k in range(1, n + 1)
        for nodes in combinations(range(n), k)
        if all(frozenset(p) in joined for p in combinations(nodes, 2))
    ]
    return {tuple(sorted(c)) for c in complete if not any(c < d for d in complete)}


def all_intersections(edges) -> set[frozenset[int]]:
    """Intersections of every non-empty choice of edges."""
    return {
        frozenset.intersection(*chosen)
        for k in range(1, len(edges) + 1)
        for chosen in combinations(edges, k)
    }


def coefficient(complex_, face) -> int:
    """a(U) = Σ over faces T ⊇ U of (−1)^|T∖U|, term by term."""
    return sum((-1) ** len(t - face) for t in complex_ if t >= face)

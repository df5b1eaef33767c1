"""Partial ancestral graphs by their definition: the marks that all equivalent graphs share.

Enumerates the maximal ancestral graphs with the same m-separations. Imports nothing of the library.
Marks: 0 no edge, 1 tail, 2 arrowhead, 3 circle; marks[i][j] is the mark at j.
"""

from __future__ import annotations

from itertools import combinations

from reference.graph_reference import trail_separated

KINDS = ((1, 2), (2, 1), (2, 2), (1, 1))  # marks at (i, j)


def separations(n: int, separated) -> frozenset:
    """All (x, y, given) that are separated."""
    return frozenset(
        (x, y, given)
        for x, y in combinations(range(n), 2)
        for size in range(n - 1)
        for given in combinations([v for v in range(n) if v not in (x, y)], size)
        if separated(x, y, given)
    )


def of_dag(edges, observed) -> frozenset:
    """The separations of the observed nodes of a DAG, by their places in `observed`."""
    return separations(
        len(observed),
        lambda x, y, z: trail_separated(edges, observed[x], observed[y], {observed[v] for v in z}),
    )


def m_separated(n: int, marks, x: int, y: int, given) -> bool:
    """No walk from x to y is open: colliders are ancestors of the given, others are not given."""
    above = set(given)
    while True:
        more = {i for i in range(n) for j in above if marks[i][j] == 2 and marks[j][i] == 1} - above
        if not more:
            break
        above |= more
    seen, waiting = set(), [(x, j) for j in range(n) if marks[x][j]]
    while waiting:
        u, v = waiting.pop()
        if v == y:
            return False
        if (u, v) in seen:
            continue
        seen.add((u, v))
        for w in range(n):
            if w != u and w != x and marks[v][w]:
                collider = marks[u][v] == 2 and marks[w][v] == 2
                if (v in above) if collider else (v not in given):
                    waiting.append((v, w))
    return True


def is_ancestral(n: int, marks) -> bool:
    """No directed or almost directed cycle, and no arrowhead at the end of an undirected edge."""
    parents = [{i for i in range(n) if marks[i][j] == 2 and marks[j][i] == 1} for j in range(n)]
    above = []
    for j in range(n):
        seen = set(parents[j])
        while True:
            more = {p for v in seen for p in parents[v]} - seen
            if not more:
                break
            seen |= more
        above.append(seen)
    for i in range(n):
        if i in above[i]:
            return False
        for j in range(n):
            if marks[i][j] == 2 and marks[j][i] == 2 and i in above[j]:
                return False
            if marks[i][j] == marks[j][i] == 1 and any(marks[k][i] == 2 for k in range(n)):
                return False
    return True


def partial_ancestral_graph(n: int, facts: frozenset) -> list[list[int]]:
    """The marks that all maximal ancestral graphs with these separations share; else circles."""
    joined = [
        (x, y)
        for x, y in combinations(range(n), 2)
        if not any((x, y) == fact[:2] for fact in facts)
    ]
    sets = {}
    for x, y, given in facts:
        sets.setdefault((x, y), []).append(given)
    triples = [
        (a, b, c)
        for (a, c), some in sets.items()
        for b in range(n)
        if tuple(sorted((a, b))) in joined and tuple(sorted((b, c))) in joined
    ]
    collider = {(a, b, c): not any(b in given for given in sets[a, c]) for a, b, c in triples}
    marks = [[0] * n for _ in range(n)]
    members: list[list[list[int]]] = []

    def fits() -> bool:
        for (a, b, c), truth in collider.items():
            if marks[a][b] and marks[c][b] and (marks[a][b] == marks[c][b] == 2) != truth:
                return False
        return True

    def extend(k: int) -> None:
        if k == len(joined):
            if is_ancestral(n, marks):
                found = separations(n, lambda x, y, z: m_separated(n, marks, x, y, set(z)))
                if found == facts:
                    members.append([row[:] for row in marks])
            return
        i, j = joined[k]
        for at_i, at_j in KINDS:
            marks[j][i], marks[i][j] = at_i, at_j
            if fits():
                extend(k + 1)
        marks[j][i] = marks[i][j] = 0

    extend(0)
    return [
        [members[0][i][j] if len({m[i][j] for m in members}) == 1 else 3 for j in range(n)]
        for i in range(n)
    ]

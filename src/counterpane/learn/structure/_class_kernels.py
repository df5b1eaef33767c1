"""Greedy equivalence search (Chickering 2002) on the rows of a `RowCache`.

Insert(x, y, T) is indexed by its whole conditioning clique T, which holds all neighbors of y that
are adjacent to x. So one row, of (y, parents of y + T), serves every x, inserts and deletes alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel, popcount
from counterpane.graphs._kernels import bit, gather, has, label_compelled, lowest, topological
from counterpane.learn.structure._dag_kernels import MISS, load_row
from counterpane.typing import Bools, Floats, Ints, Words

MAX_CLIQUES = 256  # conditioning sets tried per node
TOO_MANY = -2


class Pattern(NamedTuple):
    """A class of DAGs (its CPDAG), one member, and what was found at each node."""

    parents: Words  # directed edges into a node
    children: Words
    neighbors: Words  # undirected edges
    member: Words  # parents in a DAG of the class
    bound: Floats  # no insert into the node gains more
    drop_gain: Floats  # the best delete at the node
    drop_node: Ints
    drop_clique: Words
    dirty: Bools


@kernel
def list_cliques(pattern: Any, y: int, cliques: Any, open_to: Any) -> int:
    """Fill `cliques` with the cliques among y's neighbors, the empty one first; their number.

    `open_to[i]` holds the later neighbors that may join clique i.
    """
    words = pattern.neighbors.shape[1]
    cliques[0] = 0
    open_to[0] = pattern.neighbors[y]
    count = 1
    done = 0
    while done < count:
        v = lowest(open_to[done], 0)
        while v >= 0 and count < cliques.shape[0]:
            for w in range(words):
                around = pattern.parents[v, w] | pattern.children[v, w] | pattern.neighbors[v, w]
                cliques[count, w] = cliques[done, w]
                later = open_to[done, w] & around
                if w < v >> 6:
                    later = np.uint64(0)
                elif w == v >> 6:
                    later &= ~(bit(v) | (bit(v) - np.uint64(1)))
                open_to[count, w] = later
            cliques[count, v >> 6] |= bit(v)
            count += 1
            v = lowest(open_to[done], v + 1)
        done += 1
    return count


@kernel
def adjacent(pattern: Any, x: int, y: int) -> bool:
    return has(pattern.parents[y], x) or has(pattern.children[y], x) or has(pattern.neighbors[y], x)


@kernel
def within_adjacent(pattern: Any, x: int, nodes: Any) -> bool:
    """Whether all `nodes` but x itself are adjacent to x."""
    for w in range(nodes.size):
        around = pattern.parents[x, w] | pattern.children[x, w] | pattern.neighbors[x, w]
        if w == x >> 6:
            around |= bit(x)
        if nodes[w] & ~around != 0:
            return False
    return True


@kernel
def clique_row(rows: Any, pattern: Any, max_parents: int, y: int, clique: Any, family: Any) -> int:
    """The slot of (y, its parents and `clique`), the set in `family`; MISS, or TOO_MANY parents."""
    size = 0
    for w in range(family.size):
        family[w] = pattern.parents[y, w] | clique[w]
        size += popcount(family[w])
    return load_row(rows, y, family) if size <= max_parents else TOO_MANY


@kernel
def scan_node(rows: Any, pattern: Any, limits: Any, max_parents: int, y: int,
              cliques: Any, open_to: Any, family: Any) -> int:  # fmt: skip
    """Bring `bound` and the best delete of y up to date; 0, or MISS."""
    store = rows.store
    bound = drop_gain = -np.inf
    drop_node = drop_clique = -1
    missed = False
    for t in range(list_cliques(pattern, y, cliques, open_to)):
        slot = clique_row(rows, pattern, max_parents, y, cliques[t], family)
        if slot == TOO_MANY:
            continue
        missed = missed or slot < 0
        if missed:  # note what else is missing
            continue
        own = store.scores[slot, y]
        for i in range(store.n_improving[slot]):
            x = store.improving[slot, i]
            gain = store.scores[slot, x] - own
            if gain <= bound:
                break
            if has(limits.allowed[y], x) and not adjacent(pattern, x, y):
                bound = gain
                break
        x = lowest(family, 0)
        while x >= 0:
            gain = store.scores[slot, x] - own
            if gain > drop_gain and within_adjacent(pattern, x, cliques[t]):
                drop_gain, drop_node, drop_clique = gain, x, t
            x = lowest(family, x + 1)
    if missed:
        return MISS
    pattern.bound[y] = bound
    pattern.drop_gain[y] = drop_gain
    pattern.drop_node[y] = drop_node
    if drop_clique >= 0:
        pattern.drop_clique[y] = cliques[drop_clique]
    return 0


@kernel
def _blocked(pattern: Any, y: int, x: int, clique: Any) -> bool:
    """Whether every semi-directed path from y to x meets `clique`."""
    words = clique.size
    seen = np.zeros(words, np.uint64)
    frontier = np.zeros(words, np.uint64)
    following = np.empty(words, np.uint64)
    frontier[y >> 6] = bit(y)
    seen[y >> 6] = bit(y)
    grows = True
    while grows:
        following[:] = 0
        gather(pattern.children, frontier, following)
        gather(pattern.neighbors, frontier, following)
        grows = False
        for w in range(words):
            frontier[w] = following[w] & ~seen[w] & ~clique[w]
            seen[w] |= frontier[w]
            grows = grows or frontier[w] != 0
        if has(seen, x):
            return False
    return True


@kernel
def best_insert(rows: Any, pattern: Any, limits: Any, max_parents: int, y: int, best: float,
                cliques: Any, open_to: Any, family: Any, chosen: Any) -> Any:  # fmt: skip
    """(x, gain) of the best valid insert into y above `best`, its clique in `chosen`.

    x is −1 where there is none, MISS − 1 where a row is missing.
    """
    store = rows.store
    found = -1
    for t in range(list_cliques(pattern, y, cliques, open_to)):
        slot = clique_row(rows, pattern, max_parents, y, cliques[t], family)
        if slot == TOO_MANY:
            continue
        if slot < 0:
            return MISS - 1, best
        own = store.scores[slot, y]
        for i in range(store.n_improving[slot]):
            x = store.improving[slot, i]
            gain = store.scores[slot, x] - own
            if gain <= best:
                break
            if not has(limits.allowed[y], x) or adjacent(pattern, x, y):
                continue
            covered = True
            for w in range(family.size):
                around = (pattern.parents[x, w] | pattern.children[x, w]
                          | pattern.neighbors[x, w])  # fmt: skip
                covered = covered and pattern.neighbors[y, w] & around & ~cliques[t, w] == 0
            if covered and _blocked(pattern, y, x, cliques[t]):
                best, found = gain, x
                chosen[:] = cliques[t]
                break
    return found, best


@kernel
def _orient_component(pattern: Any, y: int, clique: Any) -> None:
    """Direct y's chain component in `member` so that y's parents there are just `clique`.

    Maximum cardinality search, started with the clique and y: no new collider arises, since the
    component is chordal.
    """
    n = pattern.dirty.size
    words = clique.size
    component = np.zeros(words, np.uint64)
    component[y >> 6] = bit(y)
    grown = component.copy()
    more = True
    while more:
        gather(pattern.neighbors, component, grown)
        more = False
        for w in range(words):
            more = more or grown[w] != component[w]
            component[w] = grown[w]
    numbered = np.zeros(words, np.uint64)
    weight = np.zeros(n, np.int64)
    weight[y] = n  # after the clique, before all others
    v = lowest(clique, 0)
    while v >= 0:
        weight[v] = 2 * n
        v = lowest(clique, v + 1)
    while True:
        best = -1
        v = lowest(component, 0)
        while v >= 0:
            if not has(numbered, v) and (best < 0 or weight[v] > weight[best]):
                best = v
            v = lowest(component, v + 1)
        if best < 0:
            return
        for w in range(words):
            pattern.member[best, w] = pattern.parents[best, w] | (
                pattern.neighbors[best, w] & numbered[w]
            )
        numbered[best >> 6] |= bit(best)
        v = lowest(pattern.neighbors[best], 0)
        while v >= 0:
            weight[v] += 1
            v = lowest(pattern.neighbors[best], v + 1)


@kernel
def relabel(pattern: Any) -> None:
    """Bring the CPDAG in line with `member`, and mark the nodes whose edges changed as dirty."""
    n, words = pattern.member.shape
    children = np.zeros((n, words), np.uint64)
    compelled = np.zeros((n, words), np.uint64)
    order = np.empty(n, np.int64)
    for v in range(n):
        p = lowest(pattern.member[v], 0)
        while p >= 0:
            children[p, v >> 6] |= bit(v)
            p = lowest(pattern.member[v], p + 1)
    topological(pattern.member, children, order)
    label_compelled(pattern.member, order, compelled)
    pattern.children[:] = 0
    for v in range(n):
        p = lowest(compelled[v], 0)
        while p >= 0:
            pattern.children[p, v >> 6] |= bit(v)
            p = lowest(compelled[v], p + 1)
    for v in range(n):
        for w in range(words):
            free = (pattern.member[v, w] | children[v, w]) & ~(
                compelled[v, w] | pattern.children[v, w]
            )
            if free != pattern.neighbors[v, w] or compelled[v, w] != pattern.parents[v, w]:
                pattern.dirty[v] = True
            pattern.neighbors[v, w] = free
            pattern.parents[v, w] = compelled[v, w]


@kernel
def apply_operator(pattern: Any, x: int, y: int, clique: Any) -> None:
    """Toggle the edge x → y, given that y's parents are its directed ones and `clique`."""
    n = pattern.dirty.size
    for z in range(n):
        around_x = has(pattern.parents[z], x) or has(pattern.neighbors[z], x)
        around_y = has(pattern.parents[z], y) or has(pattern.neighbors[z], y)
        if around_x and around_y:
            pattern.dirty[z] = True
    pattern.dirty[x] = True
    pattern.dirty[y] = True
    _orient_component(pattern, y, clique)
    pattern.member[y, x >> 6] ^= bit(x)
    relabel(pattern)


@kernel
def ges(rows: Any, pattern: Any, limits: Any, max_parents: int, max_steps: int) -> int:
    """Delete and insert until nothing gains or `max_steps` were made; their number, or MISS.

    Deletes go first. Nodes are visited by falling bound, so that most are never looked at.
    """
    n, words = pattern.member.shape
    cliques = np.empty((MAX_CLIQUES, words), np.uint64)
    open_to = np.empty((MAX_CLIQUES, words), np.uint64)
    family = np.empty(words, np.uint64)
    chosen = np.empty(words, np.uint64)
    best_clique = np.empty(words, np.uint64)
    looked_at = np.empty(n, np.bool_)
    steps = 0
    while True:
        missed = False
        for y in range(n):
            if pattern.dirty[y]:
                if scan_node(rows, pattern, limits, max_parents, y, cliques, open_to,
                             family) == MISS:  # fmt: skip
                    missed = True
                else:
                    pattern.dirty[y] = False
        if missed:
            return MISS
        if steps == max_steps:
            return steps
        y = 0
        for v in range(n):
            if pattern.drop_gain[v] > pattern.drop_gain[y]:
                y = v
        if pattern.drop_gain[y] > limits.tolerance:
            best_clique[:] = pattern.drop_clique[y]
            apply_operator(pattern, pattern.drop_node[y], y, best_clique)
            steps += 1
            rows.n_moves[0] += 1
            continue
        best = limits.tolerance
        best_x: Any = np.int64(-1)  # not a literal
        best_y: Any = np.int64(-1)
        looked_at[:] = False
        while True:
            y = -1
            for v in range(n):
                if not looked_at[v] and (y < 0 or pattern.bound[v] > pattern.bound[y]):
                    y = v
            if y < 0 or pattern.bound[y] <= best:
                break
            looked_at[y] = True
            x, gain = best_insert(rows, pattern, limits, max_parents, y, best, cliques, open_to,
                                  family, chosen)  # fmt: skip
            if x == MISS - 1:
                return MISS
            if x >= 0:
                best, best_x, best_y = gain, x, y
                best_clique[:] = chosen
        if best_x < 0:
            return steps
        apply_operator(pattern, best_x, best_y, best_clique)
        steps += 1
        rows.n_moves[0] += 1

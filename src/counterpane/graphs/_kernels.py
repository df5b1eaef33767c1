"""Loops over bit rows, arrays of shape (n, words).

A graph that is only read comes in read-only, one that is consumed as a copy: always the same for
the same argument, so that each kernel compiles once. In `parent_rows` bit p of row v says p → v;
in `rows` of an undirected graph bit u of row v says u – v. A mask is one row. Scratch is made
here, results are the caller's.
"""

from __future__ import annotations

import numpy as np

from counterpane._jit import inlined, kernel, popcount, trailing_zeros
from counterpane.typing import Floats, Ints, Words

ONE = np.uint64(1)


@inlined
def bit(i: int) -> np.uint64:
    """The word that holds bit i of a row, at word i >> 6."""
    return ONE << np.uint64(i & 63)


@inlined
def has(row: Words, i: int) -> bool:
    """Whether bit i is set."""
    return bool((row[i >> 6] >> np.uint64(i & 63)) & ONE)


@kernel
def lowest(row: Words, start: int) -> int:
    """The first set bit at or after `start`, or −1: `while` it is not, a loop over a set."""
    w = start >> 6
    if w >= row.size:
        return -1
    word = row[w] >> np.uint64(start & 63)
    if word != 0:
        return start + int(trailing_zeros(word))
    for k in range(w + 1, row.size):
        if row[k] != 0:
            return 64 * k + int(trailing_zeros(row[k]))
    return -1


@kernel
def gather(rows: Words, chosen: Words, out: Words) -> None:
    """Add to the mask `out` the rows of the nodes in the mask `chosen`."""
    v = lowest(chosen, 0)
    while v >= 0:
        for w in range(out.size):
            out[w] |= rows[v, w]
        v = lowest(chosen, v + 1)


@kernel
def spread(rows: Words, blocked: Words, seen: Words) -> None:
    """Grow `seen` along `rows` to all it reaches without entering `blocked`."""
    frontier = seen.copy()
    reached = np.empty_like(seen)
    moved = True
    while moved:
        moved = False
        reached[:] = 0
        gather(rows, frontier, reached)
        for w in range(seen.size):
            frontier[w] = reached[w] & ~blocked[w] & ~seen[w]
            seen[w] |= frontier[w]
            moved |= frontier[w] != 0


@kernel
def spread_active(
    parent_rows: Words, child_rows: Words, given: Words, up: Words, down: Words
) -> None:
    """Grow `up` ∪ `down` to all that active walks reach (Shachter's Bayes ball, 1998).

    `up` holds nodes entered from a child (or at the start), `down` those entered from a parent.
    A walk leaves a node that is not given to its children, and to its parents if it came up; from
    a given node it only bounces, from parent to parent. A collider above a given node is thus
    passed by walking down to that node and back.
    """
    new_up, new_down = up.copy(), down.copy()
    rising, falling = np.empty_like(up), np.empty_like(up)
    moved = True
    while moved:
        moved = False
        for w in range(up.size):
            rising[w] = (new_up[w] & ~given[w]) | (new_down[w] & given[w])
            falling[w] = (new_up[w] | new_down[w]) & ~given[w]
        new_up[:] = 0
        new_down[:] = 0
        gather(parent_rows, rising, new_up)
        gather(child_rows, falling, new_down)
        for w in range(up.size):
            new_up[w] &= ~up[w]
            new_down[w] &= ~down[w]
            up[w] |= new_up[w]
            down[w] |= new_down[w]
            moved |= (new_up[w] | new_down[w]) != 0


@kernel
def transpose(rows: Words, out: Words) -> None:
    """Set bit i of row j of `out` wherever bit j of row i is set."""
    for i in range(rows.shape[0]):
        j = lowest(rows[i], 0)
        while j >= 0:
            out[j, i >> 6] |= bit(i)
            j = lowest(rows[i], j + 1)


@kernel
def topological(parent_rows: Words, child_rows: Words, order: Ints) -> int:
    """Fill `order`, smallest ready node first; the number of nodes placed (< n: a cycle)."""
    n = parent_rows.shape[0]
    waiting = np.zeros(n, dtype=np.int64)
    ready = np.zeros(parent_rows.shape[1], dtype=np.uint64)
    for v in range(n):
        for word in parent_rows[v]:
            waiting[v] += popcount(word)
        if waiting[v] == 0:
            ready[v >> 6] |= bit(v)
    placed = 0
    v = lowest(ready, 0)
    while v >= 0:
        ready[v >> 6] ^= bit(v)
        order[placed] = v
        placed += 1
        c = lowest(child_rows[v], 0)
        while c >= 0:
            waiting[c] -= 1
            if waiting[c] == 0:
                ready[c >> 6] |= bit(c)
            c = lowest(child_rows[v], c + 1)
        v = lowest(ready, 0)
    return placed


@kernel
def moral(parent_rows: Words, out: Words) -> None:
    """Add the moral graph to `out`: every node with its parents made a clique."""
    for v in range(parent_rows.shape[0]):
        p = lowest(parent_rows[v], 0)
        while p >= 0:
            out[v, p >> 6] |= bit(p)
            for w in range(out.shape[1]):
                out[p, w] |= parent_rows[v, w]
            out[p, p >> 6] ^= bit(p)
            out[p, v >> 6] |= bit(v)
            p = lowest(parent_rows[v], p + 1)


@kernel
def shared(a: Words, b: Words) -> int:
    """The size of the intersection of two masks."""
    total = 0
    for w in range(a.size):
        total += popcount(a[w] & b[w])
    return total


@kernel
def join(rows: Words, fill: Ints, a: int, b: int) -> None:
    """Add the edge a – b to `rows` and keep `fill` (missing edges among neighbors) true."""
    common = 0
    for w in range(rows.shape[1]):
        word = rows[a, w] & rows[b, w]
        common += popcount(word)
        while word != 0:
            fill[64 * w + trailing_zeros(word)] -= 1
            word &= word - ONE
    fill[a] += shared(rows[a], rows[a]) - common
    fill[b] += shared(rows[b], rows[b]) - common
    rows[a, b >> 6] |= bit(b)
    rows[b, a >> 6] |= bit(a)


@kernel
def count_fill(rows: Words, fill: Ints) -> None:
    """Fill in, for each node, the number of its neighbors' pairs that are not joined."""
    for v in range(rows.shape[0]):
        degree = shared(rows[v], rows[v])
        missing = 0
        u = lowest(rows[v], 0)
        while u >= 0:
            missing += degree - 1 - shared(rows[u], rows[v])
            u = lowest(rows[v], u + 1)
        fill[v] = missing // 2


@kernel
def cheapest(rows: Words, fill: Ints, cards: Floats, alive: Words) -> int:
    """The living node of least fill; ties by the size of its clique's table, then by index."""
    best, best_weight = -1, np.inf
    v = lowest(alive, 0)
    while v >= 0:
        if best < 0 or fill[v] <= fill[best]:
            weight = cards[v]
            u = lowest(rows[v], 0)
            while u >= 0:
                weight *= cards[u]
                u = lowest(rows[v], u + 1)
            if best < 0 or fill[v] < fill[best] or weight < best_weight:
                best, best_weight = v, weight
        v = lowest(alive, v + 1)
    return best


@kernel
def eliminate(rows: Words, cards: Floats, alive: Words, order: Ints, cliques: Words) -> None:
    """Eliminate all nodes by least fill, consuming `rows` and `alive`.

    `cliques[k]` becomes `order[k]` with its neighbors at that moment. The fill counts are kept up
    by O(words + common neighbors) work per added edge, never counted anew.
    """
    fill = np.empty(rows.shape[0], dtype=np.int64)
    count_fill(rows, fill)
    for k in range(order.size):
        v = cheapest(rows, fill, cards, alive)
        order[k] = v
        cliques[k] = rows[v]
        a = lowest(rows[v], 0)
        while a >= 0 and fill[v] > 0:
            b = lowest(rows[v], a + 1)
            while b >= 0:
                if not has(rows[a], b):
                    join(rows, fill, a, b)
                b = lowest(rows[v], b + 1)
            a = lowest(rows[v], a + 1)
        degree = shared(rows[v], rows[v])
        a = lowest(rows[v], 0)
        while a >= 0:  # N(v) is a clique: v's other neighbors are all a's, the rest of a's are not
            fill[a] -= shared(rows[a], rows[a]) - degree
            rows[a, v >> 6] ^= bit(v)
            a = lowest(rows[v], a + 1)
        cliques[k, v >> 6] |= bit(v)
        alive[v >> 6] ^= bit(v)


@kernel
def spanning_tree(cliques: Words, nearest: Ints, order: Ints) -> None:
    """Prim's maximum spanning tree by shared nodes: `order` from clique 0 on, `nearest` its links.

    Ties go to the smaller index; cliques that share nothing are linked too.
    """
    k = cliques.shape[0]
    weight = np.full(k, -1, dtype=np.int64)
    done = np.zeros(k, dtype=np.bool_)
    latest = 0
    for step in range(k):
        done[latest] = True
        order[step] = latest
        best = -1
        for j in range(k):
            if not done[j]:
                common = shared(cliques[latest], cliques[j])
                if common > weight[j]:
                    weight[j], nearest[j] = common, latest
                if best < 0 or weight[j] > weight[best]:
                    best = j
        latest = best


@kernel
def label_compelled(parent_rows: Words, order: Ints, compelled: Words) -> None:
    """Set in `compelled` the edges that every equivalent graph has (Chickering 1995).

    Children are visited in topological order; x, the last of y's parents, decides: a compelled
    w → x with w no parent of y compels all edges into y, and so does a parent of y other than x
    that is no parent of x; otherwise w → y is compelled where w → x is, and no more.
    """
    position = np.empty(order.size, dtype=np.int64)
    for k in range(order.size):
        position[order[k]] = k
    for y in order:
        x = p = lowest(parent_rows[y], 0)
        while p >= 0:
            if position[p] > position[x]:
                x = p
            p = lowest(parent_rows[y], p + 1)
        if x < 0:
            continue
        parent_of_x_only = False
        parent_of_y_only = False
        for w in range(compelled.shape[1]):
            own = bit(x) if w == x >> 6 else np.uint64(0)
            parent_of_x_only |= compelled[x, w] & ~parent_rows[y, w] != 0
            parent_of_y_only |= parent_rows[y, w] & ~parent_rows[x, w] & ~own != 0
        if parent_of_x_only or parent_of_y_only:
            compelled[y] = parent_rows[y]
        else:
            compelled[y] = compelled[x]


@kernel
def extend(child_rows: Words, links: Words, adjacent: Words, out: Words) -> bool:
    """Fill `out` with the parents of a graph that directs `links` and adds no collider.

    Dor & Tarsi (1992): take a node with no child left, whose linked neighbors are joined to all
    its other neighbors; direct its links into it; remove it. False if no such node is left.
    `adjacent` holds children, parents and links together; all three inputs are consumed.
    """
    n = adjacent.shape[0]
    alive = np.ones(n, dtype=np.bool_)
    for _ in range(n):
        sink = -1
        for x in range(n - 1, -1, -1):
            if alive[x] and lowest(child_rows[x], 0) < 0:
                others = shared(adjacent[x], adjacent[x]) - 1
                y = lowest(links[x], 0)
                while y >= 0 and shared(adjacent[x], adjacent[y]) == others:
                    y = lowest(links[x], y + 1)
                if y < 0:
                    sink = x
                    break
        if sink < 0:
            return False
        alive[sink] = False
        out[sink] = adjacent[sink]
        p = lowest(adjacent[sink], 0)
        while p >= 0:
            for rows in (child_rows, links, adjacent):
                rows[p, sink >> 6] &= ~bit(sink)
            p = lowest(adjacent[sink], p + 1)
    return True

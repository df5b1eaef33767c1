"""Searches in the space of DAGs, on the rows of a `RowCache`.

A kernel that lacks rows notes their families and returns `MISS`; it is called again once the rows
are there, and goes on where it stopped. So rows are filled in batches, by threads or in one scan of
a source that is not in memory, and search kernels stay small.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel, popcount
from counterpane.graphs._kernels import bit, has, lowest
from counterpane.scores._row_kernels import find_row
from counterpane.typing import Floats, Ints, Words

MISS = -1
NONE, ADD, DROP, TURN = 0, 1, 2, 3
# As a number, not a literal: Numba compiles a function again for each literal it is given.
WITHOUT_END: Any = np.int64(1 << 30)


class DagState(NamedTuple):
    """A DAG that is being searched: bit rows, and the cached row and score of each family."""

    parents: Words
    children: Words
    reach: Words  # reach[u]: u and its descendants
    slot: Ints  # of the row of (u, parents of u), −1 where not looked up yet
    own: Floats


class Limits(NamedTuple):
    """What a search may do: `allowed[x]` holds the parents x may have, `required[x]` must have."""

    allowed: Words
    required: Words
    tolerance: float


class Rows(NamedTuple):
    """The row cache as a search sees it: rows, and room for the families whose rows it lacks."""

    store: Any
    n_wanted: Ints  # one number: how many families are noted
    children: Ints
    families: Words
    n_moves: Ints  # one number: moves made so far, whatever calls were cut short by missing rows


@kernel
def load_row(rows: Any, child: int, family: Any) -> int:
    """The slot of (child, the set `family`), or MISS; then the family is noted as wanted."""
    slot = find_row(rows.store, child, family)
    k = rows.n_wanted[0]
    if slot < 0 and k < rows.children.size:
        rows.children[k] = child
        rows.families[k] = family
        rows.n_wanted[0] = k + 1
    return slot


@kernel
def load_families(rows: Any, dag: Any) -> int:
    """Look up the row of every node whose slot is not its own; 0, or MISS."""
    store = rows.store
    result = 0
    for x in range(dag.slot.size):
        slot = dag.slot[x]
        if slot >= 0 and store.child[slot] == x:
            same = True
            for w in range(dag.parents.shape[1]):
                same = same and store.parents[slot, w] == dag.parents[x, w]
            if same:
                continue
        slot = load_row(rows, x, dag.parents[x])
        if slot < 0:
            result = MISS
        else:
            dag.slot[x] = slot
            dag.own[x] = store.scores[slot, x]
    return result


@kernel
def _reach_again(dag: Any, node: int) -> None:
    """Recompute what `node` and its ancestors reach, after an edge out of `node` was dropped.

    A node's descendants reach strictly less than it does, so the order by size is topological.
    """
    n = dag.slot.size
    affected = np.empty(n, np.int64)
    size = np.empty(n, np.int64)
    count = 0
    for u in range(n):
        if has(dag.reach[u], node):
            total = 0
            for word in dag.reach[u]:
                total += popcount(word)
            place = count
            while place > 0 and size[place - 1] > total:
                size[place] = size[place - 1]
                affected[place] = affected[place - 1]
                place -= 1
            size[place] = total
            affected[place] = u
            count += 1
    for u in affected[:count]:
        dag.reach[u] = 0
        dag.reach[u, u >> 6] = bit(u)
        c = lowest(dag.children[u], 0)
        while c >= 0:
            for w in range(dag.reach.shape[1]):
                dag.reach[u, w] |= dag.reach[c, w]
            c = lowest(dag.children[u], c + 1)


@kernel
def add_edge(dag: Any, p: int, x: int) -> None:
    """Add p → x, which must close no cycle."""
    dag.parents[x, p >> 6] |= bit(p)
    dag.children[p, x >> 6] |= bit(x)
    dag.slot[x] = -1
    for u in range(dag.slot.size):
        if has(dag.reach[u], p):
            for w in range(dag.reach.shape[1]):
                dag.reach[u, w] |= dag.reach[x, w]


@kernel
def add_edges(dag: Any, parents: Any) -> None:
    """Add all edges of a DAG's parent rows."""
    for x in range(parents.shape[0]):
        p = lowest(parents[x], 0)
        while p >= 0:
            add_edge(dag, p, x)
            p = lowest(parents[x], p + 1)


@kernel
def drop_edge(dag: Any, p: int, x: int) -> None:
    """Remove p → x."""
    dag.parents[x, p >> 6] &= ~bit(p)
    dag.children[p, x >> 6] &= ~bit(x)
    dag.slot[x] = -1
    _reach_again(dag, p)


@kernel
def _turnable(dag: Any, p: int, x: int) -> bool:
    """Whether p → x may be turned: no other way leads from p to x."""
    c = lowest(dag.children[p], 0)
    while c >= 0:
        if c != x and has(dag.reach[c], x):
            return False
        c = lowest(dag.children[p], c + 1)
    return True


@kernel
def best_move(rows: Any, dag: Any, limits: Any) -> Any:
    """(kind, parent, child, gain) of the best improving move; the first found of equals.

    `best` is kept a tolerance above the gain found: both directions of an edge score alike but
    for rounding, and rounding must not choose between them.
    """
    store = rows.store
    best = limits.tolerance
    kind, parent, child = NONE, -1, -1
    for x in range(dag.slot.size):
        slot = dag.slot[x]
        own = dag.own[x]
        for i in range(store.n_improving[slot]):
            y = store.improving[slot, i]
            gain = store.scores[slot, y] - own
            if gain <= best:
                break
            if has(limits.allowed[x], y) and not has(dag.reach[x], y):
                best, kind, parent, child = gain + limits.tolerance, ADD, y, x
                break
        p = lowest(dag.parents[x], 0)
        while p >= 0:
            if not has(limits.required[x], p):
                drop = store.scores[slot, p] - own
                if drop > best:
                    best, kind, parent, child = drop + limits.tolerance, DROP, p, x
                turn = drop + store.scores[dag.slot[p], x] - dag.own[p]
                if turn > best and has(limits.allowed[p], x) and _turnable(dag, p, x):
                    best, kind, parent, child = turn + limits.tolerance, TURN, p, x
            p = lowest(dag.parents[x], p + 1)
    return kind, parent, child, best


@kernel
def make_move(dag: Any, kind: int, p: int, x: int) -> None:
    """Apply a move that is legal."""
    if kind == ADD:
        add_edge(dag, p, x)
    else:
        drop_edge(dag, p, x)
        if kind == TURN:
            add_edge(dag, x, p)


@kernel
def climb(rows: Any, dag: Any, limits: Any, max_moves: int) -> int:
    """Take the best move until none improves or `max_moves` were made; their number, or MISS."""
    moves = 0
    while True:
        if load_families(rows, dag) == MISS:
            return MISS
        if moves == max_moves:
            return moves
        kind, p, x, _ = best_move(rows, dag, limits)
        if kind == NONE:
            return moves
        make_move(dag, kind, p, x)
        moves += 1
        rows.n_moves[0] += 1


@kernel
def copy_dag(source: Any, target: Any) -> None:
    """Make `target` equal to `source`; by loops, which compile faster than whole assignments."""
    for x in range(source.slot.size):
        for w in range(source.parents.shape[1]):
            target.parents[x, w] = source.parents[x, w]
            target.children[x, w] = source.children[x, w]
            target.reach[x, w] = source.reach[x, w]
        target.slot[x] = source.slot[x]
        target.own[x] = source.own[x]


@kernel
def _cut(dag: Any, limits: Any, v: int) -> None:
    """Remove all edges at v that are not required."""
    p = lowest(dag.parents[v], 0)
    while p >= 0:
        if not has(limits.required[v], p):
            drop_edge(dag, p, v)
        p = lowest(dag.parents[v], p + 1)
    c = lowest(dag.children[v], 0)
    while c >= 0:
        if not has(limits.required[c], v):
            drop_edge(dag, v, c)
        c = lowest(dag.children[v], c + 1)


@kernel
def _keep_better(dag: Any, kept: Any, tolerance: float) -> bool:
    """Whether `dag` is better than `kept`; the better of the two is in both afterwards."""
    if dag.own.sum() > kept.own.sum() + tolerance:
        copy_dag(dag, kept)
        return True
    copy_dag(kept, dag)
    return False


@kernel
def reinsert(rows: Any, dag: Any, kept: Any, limits: Any, cursor: Any, last: int) -> int:
    """For each node up to `last`: cut it out, climb, keep what is better. Returns 0, or MISS.

    `cursor` is (next node, whether it was cut already, -, how many nodes brought a gain).
    """
    while cursor[0] < last:
        if cursor[1] == 0:
            if load_families(rows, dag) == MISS:
                return MISS
            copy_dag(dag, kept)
            _cut(dag, limits, cursor[0])
            cursor[1] = 1
        if climb(rows, dag, limits, WITHOUT_END) == MISS:
            return MISS
        cursor[3] += _keep_better(dag, kept, limits.tolerance)
        cursor[0] += 1
        cursor[1] = 0
    return 0


@kernel
def knock_out(rows: Any, dag: Any, kept: Any, limits: Any, cursor: Any, last: int) -> int:
    """For each edge: drop it, climb without it, climb with it allowed, keep what is better.

    `cursor` is (next child, up to `last`; next parent; stage; gains). Returns 0, or MISS.
    """
    while cursor[0] < last:
        x, p = cursor[0], cursor[1]
        if cursor[2] == 0:
            p = lowest(dag.parents[x], p)
            if p < 0:
                cursor[0] += 1
                cursor[1] = 0
                continue
            cursor[1] = p
            if has(limits.required[x], p):
                cursor[1] += 1
                continue
            if load_families(rows, dag) == MISS:
                return MISS
            copy_dag(dag, kept)
            drop_edge(dag, p, x)
            limits.allowed[x, p >> 6] &= ~bit(p)
            cursor[2] = 1
        if cursor[2] == 1:
            if climb(rows, dag, limits, WITHOUT_END) == MISS:
                return MISS
            limits.allowed[x, p >> 6] |= bit(p)
            cursor[2] = 2
        if climb(rows, dag, limits, WITHOUT_END) == MISS:
            return MISS
        cursor[3] += _keep_better(dag, kept, limits.tolerance)
        cursor[1] += 1
        cursor[2] = 0
    return 0


@kernel
def _edge_word(p: int, x: int) -> Any:
    """A hash of the edge p → x; a graph's is the exclusive or of its edges'."""
    word = np.uint64(p) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(x) + np.uint64(1)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def _visited(tabu: Any, word: Any) -> bool:
    for old in tabu:
        if old == word:
            return True
    return False


@kernel
def _best_fresh_move(rows: Any, dag: Any, limits: Any, tabu: Any, here: Any) -> Any:
    """(kind, parent, child) of the best move, a loss if need be, to a graph not in `tabu`."""
    store = rows.store
    best = -np.inf
    kind, parent, child = NONE, -1, -1
    for x in range(dag.slot.size):
        slot = dag.slot[x]
        own = dag.own[x]
        for y in range(dag.slot.size):
            gain = store.scores[slot, y] - own
            if y == x or gain <= best:
                continue
            there = here ^ _edge_word(y, x)
            if has(dag.parents[x], y):
                if not has(limits.required[x], y) and not _visited(tabu, there):
                    best, kind, parent, child = gain, DROP, y, x
            elif has(limits.allowed[x], y) and not has(dag.reach[x], y):
                if not _visited(tabu, there):
                    best, kind, parent, child = gain, ADD, y, x
        p = lowest(dag.parents[x], 0)
        while p >= 0:
            gain = store.scores[slot, p] - own + store.scores[dag.slot[p], x] - dag.own[p]
            if gain > best and not has(limits.required[x], p) and has(limits.allowed[p], x):
                there = here ^ _edge_word(p, x) ^ _edge_word(x, p)
                if _turnable(dag, p, x) and not _visited(tabu, there):
                    best, kind, parent, child = gain, TURN, p, x
            p = lowest(dag.parents[x], p + 1)
    return kind, parent, child


@kernel
def tabu_walk(rows: Any, dag: Any, best: Any, limits: Any, tabu: Any, cursor: Any) -> int:
    """Walk to the best graph not visited lately until `tabu.size` moves in a row bring no gain.

    The best graph met is left in `best` and in `dag`. `cursor` is (moves, moves without gain).
    Returns 0, or MISS.
    """
    while True:
        if load_families(rows, dag) == MISS:
            return MISS
        if cursor[0] == 0 or dag.own.sum() > best.own.sum() + limits.tolerance:
            copy_dag(dag, best)
            cursor[1] = 0
        here = np.uint64(0)
        for x in range(dag.slot.size):
            p = lowest(dag.parents[x], 0)
            while p >= 0:
                here ^= _edge_word(p, x)
                p = lowest(dag.parents[x], p + 1)
        tabu[cursor[0] % tabu.size] = here
        kind, p, x = _best_fresh_move(rows, dag, limits, tabu, here)
        if kind == NONE or cursor[1] == tabu.size:
            copy_dag(best, dag)
            return 0
        make_move(dag, kind, p, x)
        cursor[0] += 1
        cursor[1] += 1

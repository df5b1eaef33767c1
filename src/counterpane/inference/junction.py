"""Junction trees compiled to flat arrays, and their cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane._core.inference import Tree
from counterpane.errors import TableSizeError
from counterpane.features import MAX_CELLS, Potential
from counterpane.graphs import Triangulation, UndirectedGraph, junction_tree, min_fill
from counterpane.inference.exact_run import count_text, quick_cells
from counterpane.ragged import flatten, offsets_of
from counterpane.typing import Floats, Ints

SEARCHED_CELLS = 2.0**17  # of a tree, from which the search for a better order pays
SEARCH_WORDS = 1e8  # of this search: about a quarter of a second
LARGE_NETWORK = 5_000  # variables or pairs from which a tree is compiled only if it will be small
LARGE_CELLS = 2**25  # of all cliques; from there on each question has a plan for itself
USES = 100.0  # how often such a tree is run


def is_worth_compiling(potentials: Sequence[Potential], cards: Ints) -> bool:
    """Whether a network is small, or a short search finds cliques that are.

    The search for a good tree of a large network would take minutes.
    """
    pairs = sum(len(p.scope) * (len(p.scope) - 1) // 2 for p in potentials)
    if max(cards.size, pairs) <= LARGE_NETWORK:
        return True
    return quick_cells(potentials, cards, range(cards.size)) <= LARGE_CELLS


class CliqueTree:
    """A junction tree for factors of the given scopes, compiled once and run for any evidence.

    Variables in `observed` are observed in every run and are left out; those in `keep` are together
    in the root. Evidence on other variables shrinks their tables. Without `keep` the root is the
    largest clique, because the root's table is read least. Cost: that of `min_fill` and
    `junction_tree`; no table is allocated. Final.

    >>> tree = CliqueTree([(0, 1), (1, 2), (2, 3)], [2, 3, 2, 2])
    >>> tree.cliques, tree.cells(tree.cards)
    (((0, 1), (2, 1), (3, 2)), 16)
    """

    def __init__(
        self,
        scopes: Iterable[Sequence[int]],
        cards: npt.ArrayLike,
        *,
        keep: Sequence[int] = (),
        observed: Collection[int] = (),
    ) -> None:
        self.cards: Ints = np.array(cards, dtype=np.int64)
        factors = [tuple(scope) for scope in scopes]
        absent = {*np.flatnonzero(self.cards == 1).tolist(), *observed}
        live = [tuple(v for v in scope if v not in absent) for scope in factors]
        root = tuple(v for v in keep if v not in absent)
        cliques, parents = _rooted(*_joined([*live, root], self.cards), root, self.cards)
        self.cliques = _ordered(cliques, parents)
        self.parents = parents
        sizes = [math.prod(self.cards[list(c)].tolist()) for c in self.cliques]
        holding = _holding(self.cliques)
        self.owners = [_smallest(scope, holding, sizes) for scope in live]
        self.order: Ints = np.argsort(self.owners, kind="stable")
        self.arrays = _compiled(self.cliques, parents, factors, self.owners, self.order, self.cards)
        self.homes = self._homes(sizes)

    def __repr__(self) -> str:
        return f"CliqueTree({len(self.cliques)} cliques, {self.cells(self.cards):,} cells)"

    def cells(self, cards: Ints) -> int:
        """The number of cells of all cliques; give observed variables one state in `cards`."""
        return int(self._tables(cards).sum())

    def check(self, cards: Ints, names: Sequence[str] | None = None) -> None:
        """Raise `TableSizeError` if a table, or four times that for all, exceeds the limit."""
        tables = self._tables(cards)
        largest, total = tables.max(), tables.sum()
        if largest <= MAX_CELLS and total <= 4 * MAX_CELLS:
            return
        culprit = [v for v in self.cliques[int(tables.argmax())] if cards[v] > 1]
        shown = [f"variable {v}" if names is None else repr(names[v]) for v in culprit[:8]]
        more = f" and {len(culprit) - 8} more" if len(culprit) > 8 else ""
        in_all = f" and {count_text(total)} cells in all" if total > 4 * MAX_CELLS else ""
        raise TableSizeError(
            f"the query needs a table of {count_text(largest)} cells (width {len(culprit) - 1}) "
            f"over {', '.join(shown)}{more}{in_all}; at most {MAX_CELLS:,} are allowed"
            f"{f', {4 * MAX_CELLS:,} in all' if in_all else ''}: ask about fewer variables, give "
            "evidence on some of these, or estimate by method='gibbs', 'mean_field', 'bp' "
            "or 'join_graph'."
        )

    def _tables(self, cards: Ints) -> Floats:
        """The number of cells of each clique; floats, as it may exceed any integer."""
        logs = np.log2(cards[self.arrays.scopes], dtype=np.float64)
        sums = np.add.reduceat(np.append(logs, 0.0), self.arrays.scope_from[:-1])
        tables: Floats = np.rint(np.exp2(sums)) if self.arrays.scopes.size else np.ones(1)
        return tables

    def _homes(self, sizes: Sequence[int]) -> Ints:
        """For each variable the smallest clique, or n_cliques + k: separator k, that holds it."""
        best = dict.fromkeys(range(self.cards.size), math.inf)
        homes: Ints = np.zeros(self.cards.size, dtype=np.int64)
        n_new = (self.arrays.shared_from - self.arrays.scope_from[:-1]).tolist()
        for k, clique in enumerate(self.cliques):
            shared = clique[n_new[k] :]
            cells = math.prod(self.cards[list(shared)].tolist())
            options = ((clique, sizes[k], k), (shared, cells, len(self.cliques) + k))
            for scope, size, place in options:
                for v in scope:
                    if size < best[v]:
                        best[v], homes[v] = size, place
        return homes


Clique = tuple[int, ...]


def _triangulated(scopes: Iterable[Sequence[int]], cards: Ints) -> tuple[list[int], Triangulation]:
    """The variables of the scopes, and a triangulation of their graph by places in this list."""
    pairs = {pair for scope in scopes for pair in combinations(sorted(scope), 2)}
    live = sorted({v for scope in scopes for v in scope})
    place = {v: i for i, v in enumerate(live)}
    graph = UndirectedGraph(len(live), [(place[a], place[b]) for a, b in pairs])
    return live, _best_triangulation(graph, np.ascontiguousarray(cards[live]))


def _joined(scopes: Sequence[Clique], cards: Ints) -> tuple[list[Clique], list[tuple[int, int]]]:
    """The cliques of the variables in `scopes`, and the edges of a tree over them."""
    live, chosen = _triangulated(scopes, cards)
    if not live:
        return [()], []
    tree = junction_tree(chosen)
    return [tuple(live[i] for i in c) for c in tree.cliques], [(i, j) for i, j, _ in tree.edges]


def _best_triangulation(graph: UndirectedGraph, cards: Ints) -> Triangulation:
    """That of least fill; for large tables, the better one of a search that counts its steps."""
    first = min_fill(graph, cards)
    cells = _cells(first, cards)
    if cells < SEARCHED_CELLS:
        return first
    order = np.zeros(graph.n, dtype=np.int64)
    kernels.order_graph(graph.neighbor_bits, cards, SEARCH_WORDS, USES, order)
    rows = [set(graph.neighbors(v)) for v in range(graph.n)]
    edges = set(graph.edges)
    for v in order.tolist():
        around = sorted(rows[v])
        edges |= set(combinations(around, 2))
        for u in around:
            rows[u] |= rows[v]
            rows[u] -= {u, v}
    other = min_fill(UndirectedGraph(graph.n, edges), cards)  # adds no edge
    return other if _cells(other, cards) < cells else first


def _cells(triangulation: Triangulation, cards: Ints) -> float:
    sizes = cards.astype(np.float64)
    return float(sum(sizes[list(clique)].prod() for clique in triangulation.cliques))


def _rooted(
    cliques: list[Clique], edges: Iterable[tuple[int, int]], keep: Clique, cards: Ints
) -> tuple[list[Clique], list[int]]:
    """The cliques breadth first from the root, and the parent of each, −1 for the root."""
    sizes = [math.prod(cards[list(c)].tolist()) for c in cliques]
    holders = [k for k, c in enumerate(cliques) if set(keep) <= set(c)]
    root = min(holders, key=sizes.__getitem__) if keep else max(holders, key=sizes.__getitem__)
    neighbors: list[list[int]] = [[] for _ in cliques]
    for i, j in edges:
        neighbors[i].append(j)
        neighbors[j].append(i)
    order, parents = [root], [-1]
    for k, old in enumerate(order):
        for new in neighbors[old]:
            if k == 0 or new != order[parents[k]]:
                order.append(new)
                parents.append(k)
    return [cliques[k] for k in order], parents


def _ordered(cliques: Sequence[Clique], parents: Sequence[int]) -> tuple[Clique, ...]:
    """The cliques with axes (new…, shared with the parent…), the shared ones as in the parent.

    New variables that many children share come last: then the loops that multiply the children's
    messages run along longer stretches of memory.
    """
    popular = np.zeros(1 + max((v for c in cliques for v in c), default=0), dtype=np.int64)
    for clique, p in zip(cliques[1:], parents[1:], strict=True):
        popular[list(set(clique) & set(cliques[p]))] += 1
    ordered: list[Clique] = []
    for clique, p in zip(cliques, parents, strict=True):
        shared = [v for v in ordered[p] if v in set(clique)] if p >= 0 else []
        new = sorted(set(clique) - set(shared), key=lambda v: (popular[v], v))
        ordered.append((*new, *shared))
    return tuple(ordered)


def _holding(cliques: Sequence[Clique]) -> dict[int, set[int]]:
    """For each variable the cliques that hold it."""
    holding: dict[int, set[int]] = {}
    for k, clique in enumerate(cliques):
        for v in clique:
            holding.setdefault(v, set()).add(k)
    return holding


def _smallest(scope: Sequence[int], holding: dict[int, set[int]], sizes: Sequence[int]) -> int:
    """The clique of smallest table that holds `scope`; clique 0 where it is empty."""
    if not scope:
        return 0
    return min(set.intersection(*(holding[v] for v in scope)), key=lambda k: (sizes[k], k))


def _compiled(
    cliques: Sequence[Clique],
    parents: Sequence[int],
    scopes: Sequence[Clique],
    owners: Sequence[int],
    order: Ints,
    cards: Ints,
) -> Tree:
    """The arrays that the kernels read; factors are sorted by the clique that owns them."""
    shapes = [cards[list(scope)].tolist() for scope in scopes]
    starts = offsets_of(math.prod(shape) for shape in shapes)
    strides = [[math.prod(shape[k + 1 :]) for k in range(len(shape))] for shape in shapes]
    scope_from = offsets_of(map(len, cliques))
    n_new = [
        len(c) - len(set(c) & set(cliques[p])) if p >= 0 else len(c)
        for c, p in zip(cliques, parents, strict=True)
    ]
    ends = np.arange(len(cliques) + 1)
    return Tree(
        parents=np.array(parents, dtype=np.int64),
        child_from=np.searchsorted(parents, ends),
        scope_from=scope_from,
        shared_from=scope_from[:-1] + n_new,
        factor_from=np.searchsorted(np.sort(owners), ends),
        scopes=flatten(cliques),
        axis_from=offsets_of(len(scopes[f]) for f in order),
        value_from=starts[:-1][order],
        axes=flatten(scopes[f] for f in order),
        strides=flatten(strides[f] for f in order),
    )

"""The cost of a query before any table is allocated: an elimination order and its tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from counterpane.errors import ScopeError, TableSizeError
from counterpane.features import MAX_CELLS

CHEAP = 2**14  # total cells below which a second plan costs more than it saves


@dataclass(frozen=True)
class Plan:
    """An order of elimination that leaves `keep`, and the largest table on the way.

    `width` is one less than the number of variables in the largest table, `culprit` names these
    variables, `cells` is the sum over all tables, `shape` the numbers of states of `keep`.
    """

    keep: tuple[int, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    width: int
    largest_table: int
    culprit: tuple[int, ...]
    cells: int


def plan_query(
    scopes: Iterable[Iterable[int]],
    cards: npt.ArrayLike,
    keep: Iterable[int],
    *,
    joint: bool = True,
    max_cells: int = MAX_CELLS,
    names: Sequence[str] | None = None,
) -> Plan:
    """The cheaper of two greedy plans, by smallest table and by fewest fill-in edges.

    Every variable in a scope or in `keep` takes part. With `joint=False` the variables in `keep`
    are not brought into one table. Raises `TableSizeError` when a table would exceed `max_cells`.
    Cost: about n · width² steps; no table is allocated.

    >>> plan_query([(0, 1), (1, 2), (2, 3)], [2, 3, 2, 2], keep=[3]).largest_table
    6
    """
    targets = tuple(keep)
    if len(set(targets)) != len(targets):
        raise ScopeError(f"the variables to keep, {targets}, hold a repeat.")
    sizes: list[int] = np.asarray(cards).tolist()
    neighbors = _neighbors([*scopes, targets] if joint else [*scopes, *((v,) for v in targets)])
    most = max_cells.bit_length() - 1  # variables of two states in one table
    if sum(around.bit_count() for around in neighbors.values()) > most * most:
        clique = _wide_clique(neighbors, sizes)  # planning would take minutes, and find no plan
        if len(clique) > most:
            refuse(clique, 2 ** len(clique), names, max_cells=max_cells, least=True)
    hidden = [v for v in sorted(neighbors) if v not in targets]
    final = targets if joint else ()
    best = _greedy(neighbors, sizes, hidden, _smallest_table, final)
    if best[2] > CHEAP:
        best = min(best, _greedy(neighbors, sizes, hidden, _fewest_fill, final), key=lambda t: t[2])
    order, tables, cells = best
    culprit = tuple(sorted(max(tables, key=lambda scope: _cells(sizes, scope))))
    shape = tuple(sizes[v] for v in targets)
    plan = Plan(targets, shape, order, len(culprit) - 1, _cells(sizes, culprit), culprit, cells)
    if plan.largest_table > max_cells:
        refuse(culprit, plan.largest_table, names, max_cells=max_cells)
    return plan


def refuse(
    culprit: Sequence[int],
    largest: int,
    names: Sequence[str] | None = None,
    total: int = 0,
    *,
    max_cells: int = MAX_CELLS,
    least: bool = False,
) -> NoReturn:
    """Raise the `TableSizeError` of a plan whose largest table, over `culprit`, is too large.

    `total` is the number of cells of all tables, if these are in memory at the same time; four
    times `max_cells` is allowed. With `least`, `largest` is a lower bound.
    """
    shown = [f"variable {v}" if names is None else repr(names[v]) for v in culprit[:8]]
    more = f" and {len(culprit) - 8} more" if len(culprit) > 8 else ""
    in_all = f" and {total:,} cells in all" if total > 4 * max_cells else ""
    raise TableSizeError(
        f"the query needs a table of {'at least ' * least}{_count(largest)} cells (width "
        f"{len(culprit) - 1}) over "
        f"{', '.join(shown)}{more}{in_all}; at most {max_cells:,} are allowed"
        f"{f', {4 * max_cells:,} in all' if in_all else ''}: ask about fewer variables, give "
        "evidence on some of these, or estimate by method='gibbs', 'mean_field', 'bp' "
        "or 'join_graph'."
    )


def _count(cells: int) -> str:
    return f"{cells:,}" if cells < 10**18 else f"10^{len(str(cells)) - 1}"


Neighbors = dict[int, int]  # for each variable, the variables it shares a table with, as bits
Weigh = Callable[[Neighbors, Sequence[int], int], tuple[float, ...]]


def _greedy(
    start: Neighbors,
    cards: Sequence[int],
    hidden: Iterable[int],
    weigh: Weigh,
    final: Sequence[int],
) -> tuple[tuple[int, ...], list[tuple[int, ...]], int]:
    """(order, scopes of the tables, total cells) if the lightest variable is always next."""
    neighbors = dict(start)
    weights = {v: weigh(neighbors, cards, v) for v in hidden}
    order: list[int] = []
    tables = [tuple(final)]
    while weights:
        v = min(weights, key=weights.__getitem__)
        del weights[v]
        around = list(_bits(neighbors[v]))
        clique = neighbors.pop(v)
        changed = clique
        for u in around:
            old = neighbors[u]
            neighbors[u] = (old | clique) & ~(1 << u) & ~(1 << v)
            if weigh is _fewest_fill and neighbors[u] & ~old:
                changed |= neighbors[u]  # a new edge may complete a triangle one step away
        for u in _bits(changed):
            if u in weights:
                weights[u] = weigh(neighbors, cards, u)
        order.append(v)
        tables.append((*around, v))
    return tuple(order), tables, sum(_cells(cards, scope) for scope in tables)


def _wide_clique(neighbors: Neighbors, cards: Sequence[int]) -> tuple[int, ...]:
    """A clique that bounds the treewidth from below; all its variables have two states or more.

    The variable with the fewest neighbors is removed again and again: the largest number of
    neighbors at a removal is a lower bound on the width (Bodlaender & Koster 2011). Cost: the
    number of edges.
    """
    left = sum(1 << v for v in neighbors if cards[v] > 1)
    waiting = [((neighbors[v] & left).bit_count(), v) for v in _bits(left)]
    heapify(waiting)
    widest: tuple[int, ...] = ()
    while waiting:
        degree, v = heappop(waiting)
        around = neighbors[v] & left
        if not left >> v & 1 or degree != around.bit_count():
            continue  # removed already, or in the heap again with fewer neighbors
        left ^= 1 << v
        if degree >= len(widest):
            widest = (v, *_bits(around))
        for u in _bits(around):
            heappush(waiting, ((neighbors[u] & left).bit_count(), u))
    return widest


def _smallest_table(neighbors: Neighbors, cards: Sequence[int], v: int) -> tuple[float, ...]:
    return (_cells(cards, _bits(neighbors[v])) * cards[v],)


def _fewest_fill(neighbors: Neighbors, cards: Sequence[int], v: int) -> tuple[float, ...]:
    clique = neighbors[v]
    fill = sum((clique & ~neighbors[u]).bit_count() - 1 for u in _bits(clique))
    return (fill, *_smallest_table(neighbors, cards, v))


def _neighbors(scopes: Iterable[Iterable[int]]) -> Neighbors:
    neighbors: Neighbors = {}
    for scope in scopes:
        members = tuple(scope)
        together = sum(1 << v for v in members)
        for v in members:
            neighbors[v] = (neighbors.get(v, 0) | together) & ~(1 << v)
    return neighbors


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _cells(cards: Sequence[int], scope: Iterable[int]) -> int:
    return math.prod(cards[v] for v in scope)

"""Count a superset, sum to the subset: one cache of counts, and plans that need fewer passes.

Costs are nanoseconds per row, measured on one core; only their ratios matter.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from counterpane.counts.layout import CountLayout
from counterpane.counts.tasks import CodeBlock
from counterpane.typing import Array, Ints

T = TypeVar("T")
Columns = tuple[int, ...]

SUPERSET_CELLS = 8192
DISTINCT_CELLS = 2**22
OPEN_GROUPS = 24  # how many groups a table is compared with: keeps planning linear in the batch


def sum_to(table: Array, columns: Sequence[int], scope: Sequence[int]) -> Array:
    """Return the table of `scope`, axes in this order, from the table of more `columns`.

    >>> sum_to(np.array([[1, 2, 3], [4, 5, 6]]), (7, 9), [9]).tolist()
    [5, 7, 9]
    """
    gone = tuple(i for i, c in enumerate(columns) if c not in scope)
    table = table.sum(axis=gone) if gone else table
    left = [c for c in columns if c in scope]
    return table.transpose([left.index(c) for c in scope])


class ColumnSets:
    """Sets of columns, indexed by their columns."""

    def __init__(self) -> None:
        self._masks: dict[Columns, int] = {}
        self._with_column: dict[int, dict[Columns, None]] = {}  # the sets with each column

    def add(self, columns: Columns) -> None:
        """Add a set."""
        self._masks[columns] = sum(1 << c for c in columns)
        for column in columns:
            self._with_column.setdefault(column, {})[columns] = None

    def remove(self, columns: Columns) -> None:
        """Remove a set."""
        del self._masks[columns]
        for column in columns:
            del self._with_column[column][columns]

    def find(self, scope: Sequence[int]) -> Columns | None:
        """Return the first set that contains all columns of `scope`, or None."""
        mask = sum(1 << c for c in scope)
        few = min((self._with_column.get(c, {}) for c in scope), key=len, default=self._masks)
        return next((columns for columns in few if self._masks[columns] & mask == mask), None)


class ColumnCache(Generic[T]):
    """Values by their sets of columns, found by subsets of these, of a bounded size together.

    The least recently used values go first.

    >>> cache = ColumnCache[str](10)
    >>> cache.add((4, 7), "a", 6)
    >>> cache.find([7]), cache.get((7,))
    (((4, 7), 'a'), None)
    >>> cache.add((1, 2), "b", 6)
    >>> cache.find([7]) is None
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self._values: OrderedDict[Columns, tuple[T, int]] = OrderedDict()
        self._sets = ColumnSets()

    def add(self, columns: Columns, value: T, size: int) -> None:
        """Add a value, unless one of the same columns is there."""
        if columns in self._values:
            self._values.move_to_end(columns)
            return
        self._values[columns] = value, size
        self._sets.add(columns)
        self.size += size
        while self.size > self.limit:
            old, (_, size) = self._values.popitem(last=False)
            self._sets.remove(old)
            self.size -= size

    def get(self, columns: Columns) -> T | None:
        """Return the value of exactly these columns, or None."""
        if columns not in self._values:
            return None
        self._values.move_to_end(columns)
        return self._values[columns][0]

    def find(self, scope: Sequence[int]) -> tuple[Columns, T] | None:
        """Return a value of columns that include `scope`, with these columns; else None."""
        columns = self._sets.find(scope)
        if columns is None:
            return None
        self._values.move_to_end(columns)
        return columns, self._values[columns][0]

    def clear(self) -> None:
        """Remove all values."""
        self._values.clear()
        self._sets, self.size = ColumnSets(), 0


class DistinctRowCache(ColumnCache[CodeBlock]):
    """Weighted distinct rows of sets of columns, at most `limit` rows together.

    >>> cache = DistinctRowCache(10)
    >>> blocks = iter([(np.array([[0, 1], [2, 0]]), np.array([5, 3]))])
    >>> _ = list(cache.passing([4, 7], blocks))
    >>> cache.rows([7])
    (array([[2, 0]]), array([5, 3]))
    >>> cache.rows([7, 8]) is None
    True
    """

    def rows(self, columns: Sequence[int]) -> CodeBlock | None:
        """Return weighted rows of these columns, not always distinct; None if none are kept."""
        found = self.find(columns)
        if found is None:
            return None
        cached, (codes, weights) = found
        return codes[[cached.index(c) for c in columns]], weights

    def passing(self, columns: Sequence[int], blocks: Iterator[CodeBlock]) -> Iterator[CodeBlock]:
        """Yield the blocks as they come; keep their rows after the last one if they are few."""
        taken: list[CodeBlock] = []
        n_rows = 0
        for block in blocks:
            n_rows += block[0].shape[1]
            taken = [*taken, block] if n_rows <= self.limit else []
            yield block
        if taken:
            codes = np.concatenate([codes for codes, _ in taken], axis=1)
            weights = np.concatenate([w for _, w in taken if w is not None])
            self.add(tuple(columns), (codes, weights), n_rows)


def within_largest(scopes: Sequence[Sequence[int]]) -> list[tuple[Columns, list[int]]]:
    """Return (columns, places of scopes): a scope joins a larger one that contains its columns.

    >>> within_largest([[1], [2, 0, 1], [3]])
    [((2, 0, 1), [1, 0]), ((3,), [2])]
    """
    groups: dict[Columns, list[int]] = {}
    sets = ColumnSets()
    for q in sorted(range(len(scopes)), key=lambda q: -len(scopes[q])):
        columns = sets.find(scopes[q])
        if columns is None:
            columns = tuple(scopes[q])
            sets.add(columns)
        groups.setdefault(columns, []).append(q)
    return list(groups.items())


# ---- plans: a larger table instead of several, or distinct rows ----------------------------------


def table_cost(cells: float, by_bits: bool) -> float:
    """Nanoseconds a row to count a table of `cells` cells."""
    if by_bits:
        return 0.02 + 0.0021 * cells
    return 0.4 if cells <= 1024 else 0.55 if cells <= 65_536 else 2.0


def marginal_cost(cells: float, rows: int) -> float:
    """Nanoseconds a row of the table to sum a table of `cells` cells down to a smaller one."""
    return (15_000 + 2.0 * cells) / rows


@dataclass
class Group:
    """Tables that are counted through their union `columns`."""

    columns: frozenset[int]
    cells: float
    members: list[int] = field(default_factory=list)
    direct: float = 0.0  # the cost of counting the members one by one


def group_tables(
    layout: CountLayout, queries: Ints, by_bits: frozenset[int], rows: int
) -> tuple[list[Group], list[int]]:
    """Groups worth counting through their union, and the queries to count directly."""
    cards = layout.cards.tolist()
    cells = {int(q): int(layout.out_from[q + 1] - layout.out_from[q]) for q in queries}
    groups: list[Group] = []
    for q in sorted(cells, key=lambda q: -cells[q]):
        scope = frozenset(layout.scope(q).tolist())
        direct = table_cost(cells[q], q in by_bits)
        best = None
        for group in groups[-OPEN_GROUPS:]:
            union = group.columns | scope
            size = float(math.prod([cards[c] for c in union]))
            if size <= SUPERSET_CELLS and (best is None or size / group.cells < best[1]):
                best = group, size / group.cells, union, size
        if best is None:
            groups.append(Group(scope, cells[q], [q], direct))
        else:
            group, _, group.columns, group.cells = best
            group.members.append(q)
            group.direct += direct
    worth = []
    alone: list[int] = []
    for group in groups:
        through = table_cost(group.cells, False)
        through += len(group.members) * marginal_cost(group.cells, rows)
        if through < group.direct:
            worth.append(group)
        else:
            alone.extend(group.members)
    return worth, sorted(alone)


def worth_compressing(cards: Ints, cost: float, n_tables: int, rows: int) -> bool:
    """Whether `n_tables` tables over columns of `cards` are cheaper on their distinct rows.

    `cost` is that of counting them on all rows. The number of distinct rows is not known yet: its
    bound, the number of cells, is used.
    """
    cells = float(min(math.prod(cards.tolist()), 2**62))
    if cells > DISTINCT_CELLS or cells > rows / 4:
        return False
    return table_cost(cells, False) + n_tables * 0.8 * cells / rows < cost / 2

"""Fewer passes for a batch of tables: one larger table instead of several, or distinct rows.

Costs are nanoseconds per row, measured on one core; only their ratios matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from counterpane.counts.layout import CountLayout
from counterpane.typing import Ints

SUPERSET_CELLS = 8192
DISTINCT_CELLS = 2**22
OPEN_GROUPS = 24  # how many groups a table is compared with: keeps planning linear in the batch


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

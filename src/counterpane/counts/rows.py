"""The rows of a source, for work that counts are not enough for."""

from __future__ import annotations

import os

from counterpane.counts.layout import Scope
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.schema import code_dtype
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.progress import Control

MAX_BYTES = 2**31  # of rows that are fetched, on machines of 8 gigabytes and more


def rows_of(
    source: CountSource, columns: Scope | None = None, *, ctl: Control | None = None
) -> Table:
    """The rows of some columns, all by default: a table in memory as it is, else distinct rows.

    Distinct rows are sorted and carry their weights, so that whatever sums over rows gets the same
    from both: to the last bit where weights are whole. At most `MAX_BYTES` of them are held, a
    quarter of the machine's memory where that is less.

    >>> table = Table.from_frame({"a": ["x", "y", "x"], "b": [0, 1, 0]})
    >>> from counterpane.counts.stream import StreamCounts
    >>> rows_of(StreamCounts(table.schema, lambda: [table])).weights.tolist()
    [2, 1]
    """
    where = source.positions(range(len(source.schema)) if columns is None else columns)
    if isinstance(source, MemoryCounts):
        return source.table if columns is None else source.table.select(where)
    each = code_dtype(source.schema.cards).itemsize * len(where) + 8
    room = min(MAX_BYTES, _physical_memory() // 4)
    try:
        return source.distinct(where, limit=room // each, ctl=ctl)
    except TableSizeError:
        raise TableSizeError(
            f"the source has more than {room // each:,} distinct rows of {len(where)} columns, "
            f"which must be held in memory here ({room:,} bytes at most); select columns, sample "
            "rows, or take a learner that works from counts, such as HillClimb or NaiveBayes."
        ) from None


def _physical_memory() -> int:
    """In bytes; as if there were enough where the system does not tell."""
    if not hasattr(os, "sysconf"):
        return 4 * MAX_BYTES
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

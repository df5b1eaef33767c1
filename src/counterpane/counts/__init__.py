"""Contingency counts over small sets of columns, from wherever the rows are."""

from counterpane.counts.layout import CountBatch, PairCounts, SparseCounts
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.counts.stream import StreamCounts

__all__ = [
    "CountBatch",
    "CountSource",
    "MemoryCounts",
    "PairCounts",
    "SparseCounts",
    "StreamCounts",
]

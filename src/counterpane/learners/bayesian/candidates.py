"""Pairs of columns that a search may join, from what users pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import GraphError, ParameterError, Setting
from counterpane.graphs import MixedGraph
from counterpane.memory import FEWER_COLUMNS, need_memory
from counterpane.typing import Bools


def candidate_pairs(candidates: Any, source: CountSource) -> Bools:
    """A symmetric matrix: which columns of `source` may be joined.

    A pair is allowed if either column names the other. A learner without a graph is copied and
    fitted to `source`.

    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))
    >>> int(candidate_pairs({"sex": ["survived"]}, source).sum())
    2
    """
    schema = source.schema
    need_memory(2 * len(schema) ** 2, f"candidates of {len(schema):,} columns", FEWER_COLUMNS)
    allowed: Bools = np.zeros((len(schema), len(schema)), dtype=bool)
    for a, b in _named_pairs(candidates, source):
        x, y = schema.index(a), schema.index(b)
        if x == y:
            raise GraphError(f"candidates names {a!r} as a neighbor of itself; leave it out.")
        allowed[x, y] = allowed[y, x] = True
    return allowed


def _named_pairs(candidates: Any, source: CountSource) -> list[tuple[str, str]]:
    if hasattr(candidates, "fit"):
        if getattr(candidates, "graph_", None) is None:
            candidates = type(candidates)(**candidates.get_params()).fit(source)
        candidates = candidates.graph_
    if isinstance(candidates, MixedGraph):
        return [(edge.a, edge.b) for edge in candidates.edges]
    graph = candidates if hasattr(candidates, "nodes") else getattr(candidates, "graph", None)
    if graph is not None and hasattr(graph, "edges"):
        return [(str(a), str(b)) for a, b in graph.edges if a != b]
    if isinstance(candidates, Mapping):
        pairs = []
        for a, near in candidates.items():
            if isinstance(near, str) or not isinstance(near, Iterable):
                raise ParameterError(f"candidates[{a!r}] is {near!r}; a list of columns is needed.")
            pairs += [(a, b) for b in near]
        return pairs
    raise ParameterError(
        Setting("candidates", candidates),
        "; {column: [columns]}, a graph, or a learner with a graph, such as PC(), is needed.",
    )

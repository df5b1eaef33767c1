"""Counts of rows that arrive in batches: the smallest source there can be."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from counterpane.counts.layout import CountBatch, Scope
from counterpane.counts.source import CountSource, Policy
from counterpane.counts.tasks import CodeBlock, sum_over_blocks
from counterpane.data.readers.blocks import BLOCK_ROWS
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError
from counterpane.progress import Control


class StreamCounts(CountSource):
    """Counts of rows that arrive in batches, of which one at a time is held.

    The first full pass finds the number of rows; columns that were counted with missing="error" are
    known to be complete.

    Parameters
    ----------
    schema : Schema
        The columns and their states.
    batches : callable
        Returns an iterable of batches; each call starts a new pass. Batches are tables of `schema`,
        or frames that `Table.from_frame` encodes with it.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> halves = [table.take(range(1000)), table.take(range(1000, 2201))]
    >>> source = StreamCounts(table.schema, lambda: halves)
    >>> source.counts([["sex", "survived"]])[0].tolist()
    [[1364, 367], [126, 344]]
    """

    def __init__(self, schema: Schema, batches: Callable[[], Iterable[Any]]) -> None:
        self.schema = schema
        self.has_missing = np.ones(len(schema), dtype=bool)
        self.n_rows = None
        self.total_weight = None
        self._batches = batches

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", **options: Any
    ) -> CountBatch:
        batch = super().counts(subsets, missing=missing, **options)
        if missing == "error":
            self.has_missing[batch.layout.scopes] = False
        return batch

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        total, n_rows = sum_over_blocks(
            fn, self._blocks(list(columns)), n_rows=self.n_rows, ctl=ctl
        )
        if total is None:
            raise DataError("the source has no rows; at least one is needed.")
        self.n_rows = n_rows
        return total

    def _blocks(self, columns: list[int]) -> Generator[CodeBlock, None, None]:
        """The codes and weights of all batches; the weight of all rows is known at the end."""
        weight = 0.0
        for batch in self._batches():
            rows = next(iter(batch.values()), ()) if isinstance(batch, Mapping) else batch
            if not isinstance(batch, Table) and len(rows) == 0:
                continue
            table = (
                batch if isinstance(batch, Table) else Table.from_frame(batch, schema=self.schema)
            )
            if table.schema != self.schema:
                raise DataError(
                    "a batch has another schema than the source; encode it by that one."
                )
            if (table.has_missing & ~self.has_missing).any():
                raise DataError("a batch has missing cells where an earlier pass found none.")
            codes = table.codes[columns]
            for lo in range(0, table.n_rows, BLOCK_ROWS):
                rows = slice(lo, lo + BLOCK_ROWS)
                yield codes[:, rows], None if table.weights is None else table.weights[rows]
            weight += table.total_weight
        self.total_weight = weight

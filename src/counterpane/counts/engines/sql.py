"""Counts of a table in a database: each table of counts is one GROUP BY, run by the database.

The statements hold quoted names and nothing else: states are read from the database and matched
here, so that no value is ever written into a statement.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing
from typing import Any, Unpack

import numpy as np

from counterpane.counts.blocks import EncodedSource, rules_of
from counterpane.counts.cache import DistinctRowCache, within_largest
from counterpane.counts.engines.database import DatabaseTable, block_of, sql_name
from counterpane.counts.layout import (
    MAX_CELLS,
    CountBatch,
    PairCounts,
    Scope,
    lay_out_counts,
)
from counterpane.counts.source import (
    Policy,
    checked_layout,
    checked_pairs,
    counted_cards,
    finish_counts,
    observed_pairs,
    positions,
)
from counterpane.counts.tasks import (
    CodeBlock,
    CountTask,
    DistinctTask,
    PairTask,
    sum_over_blocks,
)
from counterpane.data.block_schema import RowFacts, SchemaOptions
from counterpane.data.number_formats import plain_scalar
from counterpane.data.readers.blocks import BLOCK_ROWS, Block
from counterpane.data.table import Table
from counterpane.data.tallies import TableTally
from counterpane.data.weights import check_total_weight
from counterpane.errors import DataError, ParameterError, Setting, WeightError
from counterpane.progress import Control
from counterpane.typing import Array, Codes

FEW_STATEMENTS = 16  # up to which a call never reads the rows themselves
SAME_TOTAL = 1e-9  # sums of real weights differ by their order


class SqlSource(EncodedSource):
    """Counts of a table or view, over any DB-API connection whose SQL quotes names by `"`.

    The distinct values of each column are read once, and become states by the rules of rows in
    memory; enums keep their order and unobserved states. NULL is missing. SQLite and DuckDB
    distinguish texts that are equal by a column's collation; for other databases, make a view with
    one spelling of each text. The database adds real weights in its own order. If the weight of all
    rows has changed since the source was made, a scan raises `DataError`. `n_queries` counts the
    statements that were sent, and `rows_scanned` the rows that they scan.

    The source never writes. On PostgreSQL (psycopg, 2 or 3) each call is one READ ONLY transaction
    with a consistent view of the rows, which ends when the call returns; large answers use a
    server-side cursor. If the caller has an open transaction, it is used and stays open. Set other
    drivers that begin transactions by themselves to autocommit.

    Parameters
    ----------
    connection : DB-API connection
        Of SQLite, DuckDB, PostgreSQL or another database.
    table : str or (schema, name)
        A table or view. Other data, such as a parquet file in DuckDB, is made a view first:
        `CREATE VIEW visits AS SELECT * FROM 'visits.parquet'`.
    keep_distinct : int
        Up to so many distinct rows are cached, so that further counts of their columns need no
        statement: the distinct rows of all columns if they are likely to be few enough, by the
        number of rows, the number of joint states, or the first rows (more than 32 columns lower
        the limit in proportion); otherwise those of each table of counts.
    **options
        Those of `FileSource` that describe columns.

    Examples
    --------
    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE visits (sex TEXT, ill TEXT)")
    >>> rows = [("f", "no"), ("m", "yes"), ("f", None), ("m", "no")]
    >>> _ = connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
    >>> source = SqlSource(connection, "visits")
    >>> before = source.n_queries
    >>> source.counts([["sex", "ill"], ["ill"]])[0].tolist(), source.n_queries - before
    ([[1, 0], [1, 1]], 1)
    >>> source.counts([["sex"]])[0].tolist(), source.n_queries - before
    ([2, 2], 1)
    """

    def __init__(
        self,
        connection: Any,
        table: str | Sequence[str],
        *,
        keep_distinct: int = 65_536,
        **options: Unpack[SchemaOptions],
    ) -> None:
        if not isinstance(keep_distinct, int) or keep_distinct < 0:
            raise ParameterError(
                Setting("keep_distinct", keep_distinct), "; it must be 0 rows or more."
            )
        rules = rules_of(options)
        self._cache = DistinctRowCache(keep_distinct)
        self._tried = keep_distinct == 0
        self._table = DatabaseTable(connection, table)
        facts = RowFacts(
            f"table {self._table.name}", tuple(self._table.types), "the table's column"
        )
        names = rules.names(facts.names, facts.kind)  # SQLite reads an unknown name as a text
        with self._table.reading():
            self._measure(rules.weights)
            self._declared = {} if rules.schema is not None else self._table.declared(names)
            self._find_schema(self._tally, facts, rules)

    def _tally(self, tally: Any, names: list[str], as_text: Collection[str]) -> Any:
        """A tally of the distinct values of columns, or of those of numbers by class."""
        if isinstance(tally, TableTally):
            for name in tally.columns:
                for block, rows, weights in self._values([name]):
                    tally.add_values(block[0], rows, weights)
            tally.n_rows, tally.total_weight = self.n_rows, self.total_weight
            tally.whole = self._dtype.kind == "i"
            return tally
        for name in tally.names:
            for block, rows, weights in self._values([name, tally.target]):
                tally.add_values(*block, rows, weights)
        return tally

    def _values(self, names: list[str]) -> Iterator[tuple[Block, Array, Array]]:
        """The distinct values of columns, the rows of each, and the sum of their weights."""
        keys = [self._table.key(name) for name in names]
        tail = f" GROUP BY {', '.join(keys)}"
        sums = [] if self._weight is None else [self._summed]
        with closing(self._table.blocks([*keys, "COUNT(*)", *sums], tail)) as blocks:
            for arrays in blocks:
                rows = _numbers(arrays[len(keys)], np.dtype(np.int64))
                weights = _numbers(arrays[-1], np.dtype(np.float64))
                yield block_of(names, arrays[: len(keys)], self._declared), rows, weights

    def _measure(self, weights: str | None) -> None:
        """Find the number of rows, and what to select for their weights."""
        if weights is None:
            (self.n_rows,) = self._table.row("COUNT(*)")
            self.total_weight = float(self.n_rows)
            self._weight: str | None = None
            self._summed = "COUNT(*)"
            self._dtype: np.dtype[Any] = np.dtype(np.int64)
        else:
            w = sql_name(weights)
            real = f"CAST({w} AS DOUBLE PRECISION)"  # sums of narrower types lose digits
            self.n_rows, present, *measures = self._table.row(
                "COUNT(*)", f"COUNT({w})", f"MIN({w})", f"MAX({w})", f"SUM({real})"
            )
        if self.n_rows == 0:
            raise DataError(f"the table {self._table.name} has no rows; at least one is needed.")
        self._table.n_rows = self._table.rows_scanned = self.n_rows
        if weights is None:
            return
        least, most, total = map(plain_scalar, measures)
        if not all(isinstance(x, int | float) for x in (least, most)):
            raise WeightError(f"the weight column {weights!r} holds no numbers; it must.")
        if present < self.n_rows or least < 0 or not 0 < total < math.inf:
            raise WeightError(
                f"the weight column {weights!r} has {self.n_rows - present} missing cells, the "
                f"least weight {least} and the sum {total}; weights must be finite and not "
                "negative, with a positive sum."
            )
        check_total_weight(total)
        whole = total < 2**53
        if whole:  # counts of whole weights are exact
            kind = f"CASE WHEN {w} = CAST({w} AS BIGINT) THEN 0 ELSE 1 END"
            whole = self._table.row(f"MAX({kind})")[0] == 0
        self.total_weight = float(total)
        self._weight = f"CAST({w} AS BIGINT)" if whole else real
        self._summed = f"CAST(SUM({self._weight}) AS {'BIGINT' if whole else 'DOUBLE PRECISION'})"
        self._dtype = np.dtype(np.int64 if whole else np.float64)

    @property
    def n_queries(self) -> int:
        """The number of statements sent so far, including those that read the states."""
        return self._table.n_queries

    @property
    def rows_scanned(self) -> int:
        """The number of rows that these statements have scanned."""
        return self._table.rows_scanned

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        return self._reduce(fn, columns, grouped=False, ctl=ctl)

    def counts(
        self, subsets: Iterable[Scope], *, missing: Policy = "drop", max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:  # fmt: skip
        """The tables of several sets of columns, one GROUP BY each, or all from one SELECT.

        A subset of another set of the same call is summed from the counts of that set. If more
        statements than columns would be needed, the rows are read once instead.
        """
        layout = checked_layout(self, subsets, missing, max_cells)
        sent = self.n_queries
        out = np.zeros(layout.n_cells, dtype=self._dtype)
        scopes = {q: layout.scope(q).tolist() for q in layout.dense.tolist()}
        with self._table.reading():
            union = sorted({v for scope in scopes.values() for v in scope})
            by_rows = self._least_statements(scopes) > max(len(union), FEW_STATEMENTS)
            asked = list(scopes)
            groups: list[tuple[Sequence[int], list[int]]] = [
                (columns, [asked[k] for k in members])
                for columns, members in within_largest(list(scopes.values()))
            ]
            groups = [(union, asked)] if by_rows else groups
            for done, (columns, members) in enumerate(groups):
                place = {v: k for k, v in enumerate(columns)}
                local = lay_out_counts(
                    [[place[v] for v in scopes[q]] for q in members],
                    self.schema.select(columns), counted_cards(self)[list(columns)], layout.n_cells,
                )  # fmt: skip
                self._report(ctl, done / len(groups))
                values = self._reduce(
                    CountTask(local), columns, grouped=not by_rows, ctl=ctl if by_rows else None
                )
                for k, q in enumerate(members):
                    cells = values[local.out_from[k] : local.out_from[k + 1]]
                    out[layout.out_from[q] : layout.out_from[q + 1]] = cells
            self._report(ctl, 1)
            batch = finish_counts(self, layout, out, missing, scans=0, ctl=ctl)
        batch.scans = self.n_queries - sent
        return batch

    def _least_statements(self, scopes: Mapping[int, Sequence[int]]) -> int:
        """How many sets of columns need a statement of their own at least: the largest ones."""
        size = max(map(len, scopes.values()), default=0)
        largest = {tuple(sorted(scope)) for scope in scopes.values() if len(scope) == size}
        return sum(self._cached_rows(columns) is None for columns in largest)

    def pair_counts(
        self, columns: Scope | None = None, *, against: Scope | None = None,
        ctl: Control | None = None,
    ) -> PairCounts:  # fmt: skip
        """Joint counts of pairs of columns by one statement, grouped if that gives fewer rows."""
        left, right = checked_pairs(self, columns, against)
        both = left + (right or [])
        task = PairTask(len(left), right is None, counted_cards(self)[both])
        with self._table.reading():
            few = self._cached_rows(both) is not None or self._cells(both) <= self.n_rows / 2
            counted = self._reduce(task, both, grouped=few, ctl=ctl)
        return observed_pairs(self, counted, left, right)

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        where = positions(self, columns)
        task = DistinctTask(self.schema.select(where), limit)
        rows: Table = self._reduce(task, where, grouped=True, ctl=ctl).table
        return rows

    def _reduce(
        self,
        fn: Callable[..., Any],
        columns: Sequence[int],
        *,
        grouped: bool,
        ctl: Control | None,
    ) -> Any:
        """The sum of `fn` over blocks of rows, or of their groups, each with its weight."""
        if grouped and not columns:  # all rows are equal
            weight = np.array([self.total_weight], dtype=self._dtype)
            return fn(np.zeros((0, 1), dtype=np.uint8), weight)
        self._report(ctl, 0)
        with self._table.reading():
            blocks = self._groups(columns) if grouped else self._select(columns)
            total, _ = sum_over_blocks(fn, blocks, n_rows=self.n_rows, ctl=None if grouped else ctl)
        if grouped:
            self._report(ctl, 1)
        if total is None:
            raise DataError(f"the table {self._table.name} has lost its rows; make it again.")
        return total

    def _groups(self, columns: Sequence[int]) -> Generator[CodeBlock, None, None]:
        """The distinct rows of some columns, from the cache or from a statement."""
        cached = self._cached_rows(columns)
        if cached is not None:
            yield cached
        else:
            yield from self._cache.passing(columns, self._select(columns, grouped=True))

    def _cached_rows(self, columns: Sequence[int]) -> CodeBlock | None:
        """Cached rows of some columns; the first call reads those of all columns if few."""
        if not self._tried:
            self._tried = True
            all_columns = range(len(self.schema))
            # Wide rows take long to read.
            limit = self._cache.limit * 32 // max(32, len(all_columns))
            names = [sql_name(name) for name in self.schema.names]
            if (
                min(self.n_rows, self._cells(all_columns)) <= limit
                or self._table.distinct_in_head(names, limit) <= limit / 2
            ):
                rows = self._select(all_columns, grouped=True, limit=self._cache.limit + 1)
                deque(self._cache.passing(all_columns, rows), maxlen=0)
        return self._cache.rows(columns)

    def _cells(self, columns: Sequence[int]) -> int:
        """The largest number of groups of some columns; numbers are grouped before they are cut."""
        cut = any(self.schema[v].cuts is not None for v in columns)
        return self.n_rows if cut else math.prod(counted_cards(self)[sorted(set(columns))].tolist())

    def _select(
        self, columns: Sequence[int], *, grouped: bool = False, limit: int | None = None
    ) -> Generator[CodeBlock, None, None]:
        """Blocks of rows, or of their groups, from one statement."""
        names = [self._table.key(self.schema.names[v]) for v in columns]
        weight = self._summed if grouped else self._weight
        tail = f" GROUP BY {', '.join(names)}" if grouped else ""
        tail += "" if limit is None else f" LIMIT {limit}"
        expressions = [*names, *([] if weight is None else [weight])]
        few = grouped and min(self._cells(columns), limit or self.n_rows) <= BLOCK_ROWS
        with closing(self._table.blocks(expressions or ["1"], tail, few=few)) as blocks:
            total: float = 0
            n_read = 0
            for block in blocks:
                weights = None if weight is None else _numbers(block[-1], self._dtype)
                n_read += len(block[0])
                total += len(block[0]) if weights is None else weights.sum().item()
                yield self._encode(block, columns), weights
        if limit is None or n_read < limit:
            self._check_total(total)

    def _check_total(self, total: float) -> None:
        """Refuse what a statement read if its rows are other ones than when the source was made."""
        if not math.isclose(total, self.total_weight, rel_tol=SAME_TOTAL):
            raise DataError(
                f"the rows of {self._table.name} came to a weight of {self.total_weight:.15g} when "
                f"the source was made, and come to {total:.15g} now; make it again, or count in a "
                "transaction or a copy that nobody changes."
            )

    def _report(self, ctl: Control | None, share: float) -> None:
        if ctl is not None:
            ctl.report("counting rows", share * self.n_rows, self.n_rows)

    def _encode(self, arrays: list[Any], columns: Sequence[int]) -> Codes:
        names = [self.schema.names[v] for v in columns]
        block = block_of(names, arrays[: len(names)], self._declared)
        codes: Codes = np.empty((len(names), len(arrays[0])), dtype=self._encoder.dtype)
        self._encoder.encode(block, columns, codes)
        return codes


def _numbers(values: Any, dtype: np.dtype[Any]) -> Array:
    """Weights, from a tuple or an Arrow array."""
    if isinstance(values, tuple):
        return np.array(values, dtype=dtype)
    numbers: Array = values.to_numpy(zero_copy_only=False).astype(dtype)
    return numbers

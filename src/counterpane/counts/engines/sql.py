"""Counts of a table in a database: each table of counts is one GROUP BY, run by the database.

The statements hold quoted names and nothing else: states are read from the database and matched
here, so that no value is ever written into a statement.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from counterpane.counts.distinct import CodeBlock, DistinctRowCache, DistinctTask
from counterpane.counts.engines.database import (
    DatabaseTable,
    objects,
    sql_name,
)
from counterpane.counts.layout import CountBatch, CountLayout, PairCounts, lay_out_counts
from counterpane.counts.source import CountSource, Policy, columns_to_count
from counterpane.counts.tasks import BLOCK_ROWS, CountTask, PairTask
from counterpane.data.columns import Column, Numbers, from_objects
from counterpane.data.encoder import ValueCodes, check_total_weight
from counterpane.data.number_formats import plain_scalar
from counterpane.data.schema import MAX_STATES, Schema, code_dtype
from counterpane.data.schema_inference import infer_schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, WeightError, unknown_name
from counterpane.progress import Control
from counterpane.typing import Array, Codes, State

FEW_STATEMENTS = 16  # up to which a call never reads the rows themselves
SAME_TOTAL = 1e-9  # sums of real weights differ by their order


class SqlSource(CountSource):
    """Counts of a table or view, over any DB-API connection whose SQL quotes names by `"`.

    States are read once and sorted as `Table.from_frame` does; DuckDB's enums keep their order and
    unobserved states. NULL is missing. SQLite and DuckDB distinguish texts that are equal by a
    column's collation; for other databases, make a view with one spelling of each text. The
    database adds real weights in its own order. If the weight of all rows has changed since the
    source was made, a scan raises `DataError`. `n_queries` counts the statements that were sent,
    and `rows_scanned` the rows that they scan.

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
    columns : list of str
        The columns to use, all by default.
    states : {column: states}
        The states of some columns, in order.
    schema : Schema
        The columns and states of an older table.
    weights : str
        The name of a column of row weights.
    max_states : int
        Whole numbers of at most so many values are states.
    keep_distinct : int
        Up to so many distinct rows are cached, so that further counts of their columns need no
        statement: the distinct rows of all columns if they are likely to be few enough, by the
        number of rows, the number of joint states, or the first rows (more than 32 columns lower
        the limit in proportion); otherwise those of each table of counts.

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

    n_rows: int
    total_weight: float

    def __init__(
        self,
        connection: Any,
        table: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
        schema: Schema | None = None,
        weights: str | None = None,
        max_states: int = 20,
        keep_distinct: int = 65_536,
    ) -> None:
        if not isinstance(keep_distinct, int) or keep_distinct < 0:
            raise ParameterError(f"keep_distinct={keep_distinct!r}; it must be 0 rows or more.")
        self._cache = DistinctRowCache(keep_distinct)
        self._tried = keep_distinct == 0
        self._table = DatabaseTable(connection, table)
        known = self._table.types
        names = columns_to_count(columns, known if schema is None else schema.names, weights)
        for name in (*names, *([] if weights is None else [weights])):
            if name not in known:  # SQLite would read an unknown name as a text
                raise unknown_name("the table's column", name, known)
        with self._table.reading():
            self._measure(weights)
            observed = {name: self._observed(name) for name in names}
            declared = {} if schema is not None else self._table.declared(names)
        if schema is None:
            schema = infer_schema(
                {name: _column(name, values) for name, values in observed.items()},
                {**declared, **(states or {})},
                None, None, np.ones(0), max_states=max_states, n_bins=1,
            )  # fmt: skip
        self.schema = schema.select([schema.index(name) for name in names])
        self._codes = [ValueCodes(v) for v in self.schema]
        self.has_missing = np.array([_has_gap(codes, observed) for codes in self._codes])

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

    def _observed(self, column: str) -> list[Any]:
        """The distinct values of a column, NULL included, up to just above the limit."""
        expression, limit = f"DISTINCT {self._table.key(column)}", f" LIMIT {MAX_STATES + 2}"
        return [v for block in self._table.blocks([expression], limit) for v in objects(block[0])]

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

    def _counts(
        self, layout: CountLayout, missing: Policy, max_cells: int, ctl: Control | None
    ) -> CountBatch:
        """The tables of several sets of columns, one GROUP BY each, or all from one SELECT.

        A subset of another set of the same call is summed from the counts of that set. If more
        statements than columns would be needed, the rows are read once instead.
        """
        sent = self.n_queries
        out = np.zeros(layout.n_cells, dtype=self._dtype)
        scopes = {q: layout.scope(q).tolist() for q in layout.dense.tolist()}
        with self._table.reading():
            union = sorted({v for scope in scopes.values() for v in scope})
            by_rows = self._least_statements(scopes) > max(len(union), FEW_STATEMENTS)
            groups = [(union, list(scopes))] if by_rows else _under_largest(scopes)
            for done, (columns, members) in enumerate(groups):
                place = {v: k for k, v in enumerate(columns)}
                local = lay_out_counts(
                    [[place[v] for v in scopes[q]] for q in members],
                    self.schema.select(columns), self.counted_cards[columns], layout.n_cells,
                )  # fmt: skip
                share = (done / len(groups), (done + 1) / len(groups))
                values = self._reduce(
                    CountTask(local), columns, grouped=not by_rows, ctl=ctl, share=share
                )
                for k, q in enumerate(members):
                    cells = values[local.out_from[k] : local.out_from[k + 1]]
                    out[layout.out_from[q] : layout.out_from[q + 1]] = cells
            sparse = self._sparse_tables(layout, missing, ctl)
        return self._settle(layout, out, sparse, self.n_queries - sent, missing)

    def _least_statements(self, scopes: Mapping[int, Sequence[int]]) -> int:
        """How many sets of columns need a statement of their own at least: the largest ones."""
        size = max(map(len, scopes.values()), default=0)
        largest = {tuple(sorted(scope)) for scope in scopes.values() if len(scope) == size}
        return sum(self._cached_rows(columns) is None for columns in largest)

    def _pair_counts(
        self, left: list[int], right: list[int] | None, ctl: Control | None
    ) -> PairCounts:
        """Joint counts of pairs of columns by one statement, grouped if that gives fewer rows."""
        columns = left + (right or [])
        task = PairTask(len(left), right is None, self.counted_cards[columns])
        with self._table.reading():
            few = self._cached_rows(columns) is not None or self._cells(columns) <= self.n_rows / 2
            counted = self._reduce(task, columns, grouped=few, ctl=ctl)
        return self._observed_pairs(counted, left, right)

    def _distinct(self, columns: list[int], limit: int | None, ctl: Control | None) -> Table:
        task = DistinctTask(self.schema.select(columns), limit)
        rows: Table = self._reduce(task, columns, grouped=True, ctl=ctl).table
        return rows

    def _reduce(
        self,
        fn: Callable[..., Any],
        columns: Sequence[int],
        *,
        grouped: bool,
        ctl: Control | None,
        share: tuple[float, float] = (0.0, 1.0),
    ) -> Any:
        """The sum of `fn` over blocks of rows, or of their groups, each with its weight."""
        if grouped and not columns:  # all rows are equal
            weight = np.array([self.total_weight], dtype=self._dtype)
            return fn(np.zeros((0, 1), dtype=np.uint8), weight)
        total, done = None, 0
        self._report(ctl, share[0])
        with self._table.reading():
            for codes, weights in self._groups(columns) if grouped else self._select(columns):
                part = fn(codes, weights)
                total = part if total is None else total + part
                done += codes.shape[1]
                if not grouped:
                    self._report(ctl, min(1.0, done / self.n_rows))
        if grouped:
            self._report(ctl, share[1])
        if total is None:
            raise DataError(f"the table {self._table.name} has lost its rows; make it again.")
        return total

    def _groups(self, columns: Sequence[int]) -> Iterator[CodeBlock]:
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
        return self._cache.find(columns)

    def _cells(self, columns: Sequence[int]) -> int:
        """The largest number of groups of some columns; numbers are grouped before they are cut."""
        cut = any(self.schema[v].cuts is not None for v in columns)
        return self.n_rows if cut else math.prod(self.counted_cards[sorted(set(columns))].tolist())

    def _select(
        self, columns: Sequence[int], *, grouped: bool = False, limit: int | None = None
    ) -> Iterator[CodeBlock]:
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

    def _encode(self, block: list[Any], columns: Sequence[int]) -> Codes:
        codes: Codes = np.empty((len(columns), len(block[0])), code_dtype(self.schema.cards))
        for out, values, v in zip(codes, block, columns, strict=False):  # without the weights
            _encode(self._codes[v], values, out)
            if not self.has_missing[v] and (out == self.schema.cards[v]).any():
                raise DataError(
                    f"column {self.schema.names[v]!r} has missing cells, and had none when the "
                    "source was made; make it again."
                )
        return codes


def _numbers(values: Any, dtype: np.dtype[Any]) -> Array:
    """Weights, from a tuple or an Arrow array."""
    if isinstance(values, tuple):
        return np.array(values, dtype=dtype)
    numbers: Array = values.to_numpy(zero_copy_only=False).astype(dtype)
    return numbers


def _under_largest(scopes: Mapping[int, Sequence[int]]) -> list[tuple[list[int], list[int]]]:
    """(columns, queries): a query joins the first group that contains its columns."""
    groups: list[tuple[list[int], list[int]]] = []
    for q in sorted(scopes, key=lambda q: -len(scopes[q])):
        for columns, members in groups:
            if set(scopes[q]) <= set(columns):
                members.append(q)
                break
        else:
            groups.append((list(scopes[q]), [q]))
    return groups


def _has_gap(codes: ValueCodes, observed: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a column may have missing cells, by its values if they are not too many."""
    seen = observed[codes.variable.name]
    if len(seen) > MAX_STATES:
        return True
    seen_codes = np.empty(len(seen), dtype=np.int64)
    codes.encode(seen, None, seen_codes)
    return codes.variable.card in seen_codes


def _encode(codes: ValueCodes, values: Any, out: Array) -> None:
    """Write the codes of a tuple or an Arrow array to `out`."""
    if isinstance(values, tuple):
        codes.encode(values, None, out)
        return
    coded = values if hasattr(values, "dictionary") else values.dictionary_encode()
    listed = coded.dictionary.to_pylist()
    places = coded.indices.cast("int64").fill_null(len(listed)).to_numpy()
    codes.encode(listed, places, out)


def _column(name: str, values: list[Any]) -> Column:
    column = from_objects(name, values)
    if isinstance(column, Numbers) and column.dated:
        raise DataError(
            f"column {name!r} holds dates or times; group them in a view, such as by "
            "EXTRACT(YEAR FROM …), or leave it out by columns=…."
        )
    return column

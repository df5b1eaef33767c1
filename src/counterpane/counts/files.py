"""Counts of files larger than memory: blocks of rows are read, encoded, counted and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from os import PathLike
from typing import Any, Literal

import numpy as np

from counterpane.counts.arrow_codes import ArrowCodes
from counterpane.counts.batch import MAX_CELLS, CountBatch, Scope
from counterpane.counts.duckdb_reader import DuckdbReader, has_duckdb
from counterpane.counts.file_readers import ParquetReader, Paths, open_files
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.packed import PackedRows, packed_bytes
from counterpane.counts.source import CountSource, Policy
from counterpane.counts.survey import Survey, declared_variables, weights_of
from counterpane.counts.tasks import BLOCK_ROWS, DistinctTask
from counterpane.data.schema import Schema, code_dtype
from counterpane.data.table import Table
from counterpane.errors import DataError, MissingExtraError, ParameterError
from counterpane.progress import Control
from counterpane.typing import Array, Codes, State

LEAST_MEMORY = 2**26  # bytes: below, DuckDB cannot work
Engine = Literal["auto", "duckdb", "pyarrow"]


class FileSource(CountSource):
    """Counts of parquet, Arrow (Feather) or delimited text files, whatever their size.

    `paths` is a file, a folder, a pattern such as `"visits/*.parquet"`, or a list of these. All
    files hold the same columns, of which `columns` names those to use, all by default. One scan
    finds their states, as `Table.from_frame` would: categories keep their order and unobserved
    states, `states` declares them by column, `discretize` cuts numbers at {column: cuts}, and
    `schema` takes all that from an older table. `weights` names a column of row weights.

    At most about `max_memory` bytes are taken beside what the counts need. With `cache`, all
    columns are kept, packed to the bits they need, if half of that is enough; no later call then
    reads the files again. Parquet is scanned by the `engine` "pyarrow", or by "duckdb", which also
    finds distinct rows on disk, in the folder `spill`, when they are many; "auto" scans by the one
    that is faster and groups by DuckDB if it is there. `ctl` reports on the first scan.

    `n_scans` counts how often the files were read. They must not change meanwhile.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "visits.csv")
    >>> _ = path.write_text("sex,ill\\nf,no\\nm,yes\\nf,\\nm,no\\n")
    >>> source = FileSource(path)
    >>> source.counts([["sex", "ill"]])[0].tolist(), source.n_scans
    ([[1, 0], [1, 1]], 2)
    >>> folder.cleanup()
    """

    n_rows: int
    total_weight: float

    def __init__(
        self,
        paths: Paths,
        *,
        columns: Sequence[str] | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
        schema: Schema | None = None,
        weights: str | None = None,
        discretize: Mapping[str, Sequence[float]] | None = None,
        max_states: int = 20,
        max_memory: int = 2**30,
        cache: bool = True,
        engine: Engine = "auto",
        spill: str | PathLike[str] | None = None,
        delimiter: str | None = None,
        ctl: Control | None = None,
    ) -> None:
        if max_memory < LEAST_MEMORY:
            raise ParameterError(f"max_memory={max_memory}; at least {LEAST_MEMORY} are needed.")
        self._files = open_files(paths, delimiter=delimiter)
        names = list(columns or (self._files.types if schema is None else schema.names))
        self._files.check([*names, *([] if weights is None else [weights])])
        names = [name for name in names if name != weights]
        if schema is None:
            known = {v.name: v for v in
                     declared_variables(self._files, names, states or {}, discretize)}  # fmt: skip
        else:
            known = {name: schema[name] for name in names}
        self._blocks, self._groups = self._choose(engine, max_memory // 2, spill)
        self.n_scans = 1
        found = Survey(self._files, names, known, weights, max_states=max_states, ctl=ctl)
        self.schema, self.has_missing = found.schema, found.has_missing
        self.n_rows, self.total_weight = found.n_rows, found.total_weight
        self._weights = weights
        self._weight_dtype = np.dtype(np.int64 if found.whole else np.float64)
        self._max_memory = max_memory
        self._codes = [ArrowCodes(v, texts=self._files.texts) for v in self.schema]
        self._packed: PackedRows | None = None
        size = packed_bytes(self.counted_cards, self.n_rows, weights is not None)
        self._packs = cache and size <= max_memory // 2

    def _choose(
        self, engine: Engine, max_memory: int, spill: str | PathLike[str] | None
    ) -> tuple[Callable[[Sequence[str]], Generator[list[Any], None, None]], DuckdbReader | None]:
        """What reads blocks, and what finds groups of rows."""
        if engine not in ("auto", "duckdb", "pyarrow"):
            raise ParameterError(f"engine={engine!r}; 'auto', 'duckdb' or 'pyarrow' is allowed.")
        if engine == "duckdb" and not has_duckdb():
            raise MissingExtraError("DuckDB is not installed; install counterpane[duckdb].")
        if engine == "pyarrow" or not has_duckdb() or not isinstance(self._files, ParquetReader):
            if engine == "duckdb":
                raise ParameterError("engine='duckdb' scans parquet only; leave engine out.")
            return self._files.blocks, None
        duckdb = DuckdbReader(self._files, max_memory, spill)
        return (duckdb if engine == "duckdb" else self._files).blocks, duckdb

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        total, done = None, 0
        with closing(self._rows(list(columns))) as blocks:
            for codes, weights in blocks:
                part = fn(codes, weights)
                total = part if total is None else total + part
                done += codes.shape[1]
                if ctl is not None:
                    ctl.report("counting rows", done, self.n_rows)
        return total

    def counts(
        self,
        subsets: Iterable[Scope],
        *,
        missing: Policy = "drop",
        max_cells: int = MAX_CELLS,
        ctl: Control | None = None,
    ) -> CountBatch:
        before = self.n_scans
        batch = super().counts(subsets, missing=missing, max_cells=max_cells, ctl=ctl)
        batch.scans = self.n_scans - before
        return batch

    def distinct(
        self, columns: Scope, *, limit: int | None = None, ctl: Control | None = None
    ) -> Table:
        """The distinct rows of some columns, sorted, with their weights.

        DuckDB groups them unless they are packed in memory, cut from numbers, or of real weights,
        whose sums depend on their order.
        """
        where = self.positions(columns)
        cut = any(self.schema[v].cuts is not None for v in where)
        real = self._weights is not None and self._weight_dtype == np.float64
        if self._groups is None or self._packs or cut or real or not where:
            return super().distinct(where, limit=limit, ctl=ctl)
        task = DistinctTask(self.schema.select(where), limit)
        names = [self.schema.names[v] for v in where]
        self.n_scans += 1
        codes: list[Codes] = []
        weights: list[Array] = []
        with closing(self._groups.groups(names, self._weights, ctl)) as groups:
            for block in groups:
                codes.append(self._encode(block, where))
                weights.append(block[-1].to_numpy())
                if limit is not None and sum(map(len, weights)) > limit:
                    # Values that differ may have one code: NULL and NaN, or texts of one state.
                    merged = task(np.concatenate(codes, axis=1), np.concatenate(weights))
                    codes, weights = [merged.codes], [merged.weights]
        found = task(np.concatenate(codes, axis=1), np.concatenate(weights))
        if ctl is not None:
            ctl.report("counting rows", self.n_rows, self.n_rows)
        return found.table

    def prepare(self) -> None:
        """Read all columns into memory, if they fit there."""
        if self._packs and self._packed is None:
            for _ in self._rows([]):
                pass

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        """The counts of the whole table in memory, where half of `max_memory` holds it."""
        each = self._dtype.itemsize * len(self.schema) + 8 * (self._weights is not None)
        if self.n_rows * each > self._max_memory // 2:
            return self
        blocks = list(self._rows(list(range(len(self.schema)))))
        codes = np.concatenate([c for c, _ in blocks], axis=1)
        weights = None if self._weights is None else np.concatenate([w for _, w in blocks])
        return MemoryCounts(Table(self.schema, codes, weights))

    # ---- rows, in blocks of one size: float sums are then those of memory --------------------

    @property
    def _dtype(self) -> np.dtype[Any]:
        return code_dtype(self.schema.cards)

    def _rows(self, columns: list[int]) -> Generator[tuple[Codes, Array | None], None, None]:
        """The codes of some columns, from packed rows or else from the files."""
        if self._packed is not None:
            yield from self._packed.blocks(columns)
        elif self._packs:
            packed = PackedRows(self.counted_cards)
            for codes, weights in self._read(list(range(len(self.schema)))):
                packed.append(codes, weights)
                yield codes[columns], weights
            self._packed = packed
        else:
            once = list(dict.fromkeys(columns))  # pairs may ask for a column on both sides
            for codes, weights in self._read(once):
                yield codes if once == columns else codes[[*map(once.index, columns)]], weights

    def _read(self, columns: list[int]) -> Generator[tuple[Codes, Array | None], None, None]:
        """The codes of some columns, read and encoded, `BLOCK_ROWS` rows at a time."""
        names = [self.schema.names[v] for v in columns]
        names += [] if self._weights is None else [self._weights]
        self.n_scans += 1
        codes, weights = self._room(columns, 0)
        done = filled = 0
        with closing(self._blocks(names or [self.schema.names[0]])) as blocks:
            for block in blocks:
                rows, at = len(block[0]), 0
                done += rows
                if done > self.n_rows:
                    break
                while at < rows:
                    n = min(rows - at, codes.shape[1] - filled)
                    part = [values.slice(at, n) for values in block]
                    self._encode(part, columns, codes[:, filled : filled + n])
                    if weights is not None:
                        weights[filled : filled + n] = weights_of(part[-1], self._weights or "")
                    at, filled = at + n, filled + n
                    if filled == codes.shape[1]:
                        yield codes, weights
                        codes, weights = self._room(columns, done - rows + at)
                        filled = 0
        if done != self.n_rows:
            raise DataError(
                f"the files had {self.n_rows} rows when the source was made, and have another "
                "number now; make it again."
            )

    def _room(self, columns: list[int], done: int) -> tuple[Codes, Array | None]:
        """Arrays for the next block; `fn` may keep those of the last one."""
        rows = min(BLOCK_ROWS, self.n_rows - done)
        codes: Codes = np.empty((len(columns), rows), dtype=self._dtype)
        return codes, None if self._weights is None else np.empty(rows, self._weight_dtype)

    def _encode(self, block: list[Any], columns: Sequence[int], out: Codes | None = None) -> Codes:
        if out is None:
            out = np.empty((len(columns), len(block[0])), dtype=self._dtype)
        for codes, values, v in zip(out, block, columns, strict=False):  # the weight is left over
            self._codes[v].encode(values, codes)
            if not self.has_missing[v] and (codes == self.schema.cards[v]).any():
                raise DataError(
                    f"column {self.schema.names[v]!r} has missing cells, and had none when the "
                    "source was made; make it again."
                )
        return out

"""Counts of files and lazy frames: blocks of rows are read, encoded and counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Unpack

import numpy as np

from counterpane.counts.distinct import DistinctTask
from counterpane.counts.engines.arrow_cells import Block, Cells, family
from counterpane.counts.engines.file_readers import BlockReader, Paths, bytes_of, open_files
from counterpane.counts.engines.frame_readers import Engine, choose_readers, open_frame
from counterpane.counts.engines.packed_rows import PackedRows, packed_bytes
from counterpane.counts.engines.schema_scan import SchemaOptions, plan_schema_scan
from counterpane.counts.engines.stream_cuts import StreamCuts
from counterpane.counts.engines.table_readers import open_arrow
from counterpane.counts.layout import CountBatch, CountLayout
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, Policy
from counterpane.data.schema import code_dtype
from counterpane.data.schema_inference import check_limits, check_rule
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, unknown_name
from counterpane.lazy import lazy
from counterpane.progress import Control
from counterpane.typing import Array, Codes

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")

LEAST_MEMORY = 2**26  # bytes: below, DuckDB cannot work
DEFAULT_MEMORY = 2**30


class ScanOptions(SchemaOptions, total=False):
    """The options that sources of Arrow blocks share; see `FileSource`."""

    target: str | None
    n_bins: int
    max_memory: int
    cache: bool
    ctl: Control | None


class Grouper(Protocol):
    """Groups equal rows; the last array of each block is their number or summed whole weight."""

    def groups(
        self, names: Sequence[str], weight: str | None, ctl: Control | None
    ) -> Generator[Block, None, None]: ...


class ArrowSource(CountSource):
    """Counts of rows that a `reader` hands over as blocks of Arrow arrays; base of two sources.

    `blocks` reads them again after the first scan, and `groups` groups equal rows, where these are
    not the reader's own. For the other parameters see `FileSource`.
    """

    option_names: ClassVar[frozenset[str]] = frozenset(ScanOptions.__annotations__)
    n_rows: int
    total_weight: float

    def __init__(
        self,
        reader: BlockReader,
        blocks: Cells,
        groups: Grouper | None,
        *,
        target: str | None = None,
        n_bins: int = 4,
        max_memory: int = DEFAULT_MEMORY,
        cache: bool = True,
        ctl: Control | None = None,
        **options: Unpack[SchemaOptions],
    ) -> None:
        weights = options.get("weights")
        if max_memory < LEAST_MEMORY:
            raise ParameterError(f"max_memory={max_memory}; at least {LEAST_MEMORY} are needed.")
        if not isinstance(weights, str | None):
            raise ParameterError("weights must name a column here; they are no array.")
        check_limits(options.get("max_states", 20), n_bins)
        rule = check_rule(options.get("discretize"), target, by_block=True)
        if not isinstance(options.get("discretize"), Mapping):
            options["discretize"] = None
        self._files, self._blocks, self._groups = reader, blocks, groups
        scan = plan_schema_scan(reader, **options, cuts=rule is not None)
        names = [name for name in scan.names if name != weights]
        if target is not None and target not in names:
            raise unknown_name(f"column of {reader.what}", target, names)
        self.n_scans = 1
        began = time.perf_counter()
        with closing(reader.blocks(scan.names)) as cells:
            for block in cells:
                scan.add(block)
                if ctl is not None:
                    ctl.report("reading states", scan.n_rows, None)
        self._scan_seconds = time.perf_counter() - began
        if scan.n_rows == 0:
            raise DataError(f"{reader.what}: there are no rows; at least one is needed.")
        cut = {}
        if scan.uncut:
            cutting = StreamCuts(reader, scan, weights, max_memory // 4, ctl)
            cut = cutting.variables(rule or "", target, n_bins)
            self.n_scans += cutting.n_scans
        self._encoder = scan.encoder(cut)
        self.schema, self.has_missing = self._encoder.schema, self._encoder.has_missing
        self.n_rows, self.total_weight = scan.n_rows, scan.total_weight
        self._max_memory = max_memory
        self._packed: PackedRows | None = None
        size = packed_bytes(self.counted_cards, self.n_rows, weights is not None)
        self._packs = cache and size <= max_memory // 2

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

    def _counts(
        self, layout: CountLayout, missing: Policy, max_cells: int, ctl: Control | None
    ) -> CountBatch:
        before = self.n_scans
        batch = super()._counts(layout, missing, max_cells, ctl)
        batch.scans = self.n_scans - before
        return batch

    def _distinct(self, where: list[int], limit: int | None, ctl: Control | None) -> Table:
        """The distinct rows of some columns.

        DuckDB, or the engine of a frame, groups them unless they are packed in memory, cut from
        numbers, spelled by folders, or of weights that are real, whose sums depend on their order,
        or written as texts.
        """
        cut = any(self.schema[v].cuts is not None for v in where)
        weight, real = self._encoder.weights, self._encoder.weight_dtype == np.float64
        texts = weight is not None and family(self._files.types[weight]) == "text"
        names = [self.schema.names[v] for v in where]
        encoded = cut or real or texts or not self._files.folders.keys().isdisjoint(names)
        if self._groups is None or self._packs or encoded or not names:
            return super()._distinct(where, limit, ctl)
        task = DistinctTask(self.schema.select(where), limit)
        self.n_scans += 1
        codes: list[Codes] = []
        weights: list[Array] = []
        with closing(self._groups.groups(names, weight, ctl)) as groups:
            for block in groups:
                codes.append(self._encoder.encode(block, where))
                weights.append(block[-1].cast("int64").to_numpy())
                if limit is not None and sum(map(len, weights)) > limit:
                    # Values that differ may have one code: NULL and NaN, or texts of one state.
                    merged = task(np.concatenate(codes, axis=1), np.concatenate(weights))
                    codes, weights = [merged.codes], [merged.weights]
        if sum(int(w.sum()) for w in weights) != self.total_weight:
            raise self._changed()
        distinct = task(np.concatenate(codes, axis=1), np.concatenate(weights))
        if ctl is not None:
            ctl.report("counting rows", self.n_rows, self.n_rows)
        return distinct.table

    def head(self, rows: int) -> Table:
        """The first rows, from one block."""
        with closing(self._encoder.rows(self._blocks, range(len(self.schema)))) as blocks:
            codes, weights = next(blocks)
        first = None if weights is None else weights[:rows]
        return Table(self.schema, codes[:, :rows], first)

    def scans_of(self, passes: int, before: int | None) -> int:
        """One if the rows are then kept in memory, none if they are; else one for each pass."""
        if self._packed is not None:
            return 0
        return min(passes, 1) if self._packs else passes

    @property
    def scan_seconds(self) -> float:
        """The seconds of the first scan."""
        return self._scan_seconds

    @property
    def scan_bytes(self) -> int | None:
        """The size of the files."""
        return bytes_of(self._files)

    def prepare(self) -> None:
        """Read all columns into memory, packed, if they fit."""
        if self._packs and self._packed is None:
            for _ in self._rows([]):
                pass

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        """A source of the table in memory, if half of `max_memory` is enough."""
        weighted = self._encoder.weights is not None
        each = code_dtype(self.schema.cards).itemsize * len(self.schema) + 8 * weighted
        if self.n_rows * each > self._max_memory // 2:
            return self
        blocks = list(self._rows(list(range(len(self.schema)))))
        codes = np.concatenate([c for c, _ in blocks], axis=1)
        weights = np.concatenate([w for _, w in blocks]) if weighted else None
        return MemoryCounts(Table(self.schema, codes, weights))

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
            yield from self._read(columns)

    def _read(self, columns: list[int]) -> Generator[tuple[Codes, Array | None], None, None]:
        """The codes of some columns, read and encoded."""
        self.n_scans += 1
        done = 0
        with closing(self._encoder.rows(self._blocks, columns)) as blocks:
            for codes, weights in blocks:
                done += codes.shape[1]
                if done > self.n_rows:
                    break
                yield codes, weights
        if done != self.n_rows:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(
            f"{self._files.what} had {self.n_rows} rows when the source was made, and other ones "
            "now; make it again."
        )


class FileSource(ArrowSource):
    """Counts of parquet, Arrow (Feather) or delimited text files of any size.

    One scan finds the states, as `Table.from_frame` would: categories keep their order and
    unobserved states. `n_scans` counts how often the files were read. They must not change
    meanwhile. At most about `max_memory` bytes are used, besides the counts.

    Parameters
    ----------
    paths : path, or list of paths
        A file, a folder, a pattern such as `"visits/*.parquet"`, or a list of these. All files hold
        the same columns. A folder called `year=2024`, below the given folder or in the varying part
        of a pattern, gives the column `year` of its files, unless they have such a column
        themselves.
    engine : "auto", "pyarrow" or "duckdb"
        What scans parquet; DuckDB also finds distinct rows on disk, in the folder `spill`, when
        they are many. "auto" scans with the faster one and groups with DuckDB if it is installed.
    spill : path
        A folder for DuckDB's temporary files.
    delimiter : str
        Of text files; detected by default.
    columns : list of str
        The columns to use, all by default.
    states : {column: states}
        The states of some columns, in order.
    schema : Schema
        The columns and states of an older table.
    weights : str
        The name of a column of row weights.
    discretize : {column: cuts}, "quantile", "mdl" or None
        How numbers are cut that are not states: at given cuts, into `n_bins` intervals of equal
        weight, or against `target`; at the same cuts as `Table.from_frame`, up to the rounding of
        real weights. One more scan counts the values. If a column has more distinct values than a
        256th of `max_memory` (shared by all such columns), "quantile" needs four more scans, which
        find the cuts digit by digit, and "mdl" raises an error.
    target : str
        The class of "mdl".
    max_states, n_bins : int
        Whole numbers of at most `max_states` values are states.
    max_memory : int
        In bytes.
    cache : bool
        Keep all columns in memory, bit-packed, if half of `max_memory` is enough; later calls then
        do not read the files.
    ctl : Control
        Reports on the first scan, and can stop it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "visits.csv")
    >>> _ = path.write_text("sex,ill\\nf,no\\nm,yes\\nf,\\nm,no\\n")
    >>> source = FileSource(path)
    >>> source.counts([["sex", "ill"]])[0].tolist(), source.n_scans
    ([[1, 0], [1, 1]], 2)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        paths: Paths,
        *,
        engine: Engine = "auto",
        spill: str | PathLike[str] | None = None,
        delimiter: str | None = None,
        **options: Unpack[ScanOptions],
    ) -> None:
        files = open_files(paths, delimiter=delimiter)
        max_memory = options.get("max_memory", DEFAULT_MEMORY)
        super().__init__(files, *choose_readers(files, engine, max_memory // 2, spill), **options)


class FrameSource(ArrowSource):
    """Counts of a lazy frame, an Arrow dataset, or a Delta or Iceberg table.

    The frame is evaluated once to find the states, and again for each call unless its rows are
    packed in memory; `n_scans` counts the evaluations. It is never collected as a whole. The engine
    of the frame finds distinct rows if the rows are not packed; its settings limit its memory.

    Enums of polars and DuckDB keep their order and unobserved states. An engine may return the rows
    in a different order each time: counts are the same, and only the rounding of sums of real
    weights may differ. The data of the frame must not change in the meantime.

    Parameters
    ----------
    frame : lazy frame, dataset, table or function
        A lazy frame of polars, DuckDB or Ibis, or any that offers a stream of Arrow batches; a
        `pyarrow.dataset.Dataset`; a `deltalake.DeltaTable`; a table or scan of pyiceberg; a
        function that opens a `RecordBatchReader` each time it is called. A function with a
        parameter `columns` is called with the names that are needed. Delta and Iceberg tables are
        counted as they were when the source was made, whatever is written to them later.
    **options
        Those of `FileSource` that describe columns: columns, states, schema, weights, discretize,
        target, max_states, n_bins, max_memory, cache, ctl.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"sex": ["f", "m", "f", "m"], "ill": ["no", "yes", None, "no"]})
    >>> source = FrameSource(frame)
    >>> source.counts([["sex", "ill"]])[0].tolist(), source.n_scans
    ([[1, 0], [1, 1]], 2)
    """

    def __init__(self, frame: Any, **options: Unpack[ScanOptions]) -> None:
        table = open_arrow(frame)
        if table is not None:
            super().__init__(table, table.blocks, None, **options)
            return
        wrapped = nw.from_native(frame, pass_through=True)
        if not isinstance(wrapped, nw.LazyFrame):
            raise DataError(
                f"{type(frame).__name__} is no lazy frame; pass it to counterpane.read, which "
                "chooses how it is counted."
            )
        reader = open_frame(wrapped)
        super().__init__(reader, reader.blocks, reader, **options)

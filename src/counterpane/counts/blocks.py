"""Counts of rows that are read block by block: files of any size, lazy frames and streams."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from counterpane.counts.layout import CountBatch, Scope
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.packed_rows import PackedRows, packed_bytes
from counterpane.counts.source import CountSource, counted_cards, first_rows
from counterpane.counts.tasks import CodeBlock, sum_over_blocks
from counterpane.data.block_schema import ColumnRules, Pass, Rows, SchemaOptions, find_schema
from counterpane.data.readers.blocks import BLOCK_ROWS, BlockReader
from counterpane.data.readers.files import Paths
from counterpane.data.readers.streams import open_frame, open_stream
from counterpane.data.readers.text_files import FileOptions
from counterpane.data.reading import open_files
from counterpane.data.schema import code_dtype
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError, DataError, ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.progress import Control

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    from counterpane.data import prepare
else:
    nw = lazy("narwhals.stable.v2")
    prepare = lazy("counterpane.data.prepare")

LEAST_MEMORY = 2**26  # bytes
DEFAULT_MEMORY = 2**30


class SourceOptions(SchemaOptions, total=False):
    """The options that sources of blocks share; see `FileSource`."""

    max_memory: int
    cache: bool
    ctl: Control | None


def rules_of(options: SchemaOptions) -> ColumnRules:
    """Return what the options of a source say of its columns; None stands for a default."""
    given: Any = {name: value for name, value in options.items() if value is not None}
    return ColumnRules(**given)


class EncodedSource(CountSource):
    """A source whose rows are encoded as they are read: files, frames, partitions, databases.

    The first pass finds the schema by the rules of rows in memory; `preparation` and `notes` say
    what was done to the columns.
    """

    option_names: ClassVar[frozenset[str]] = frozenset(SchemaOptions.__annotations__)
    n_rows: int
    total_weight: float

    def _find_schema(self, read: Pass, rows: Rows, rules: ColumnRules) -> None:
        """Find the states of the columns of `rows`, over which `read` passes."""
        found = find_schema(read, rows, rules)
        self._encoder, self.preparation = found.encoder, found.preparation
        self.schema, self.has_missing = found.encoder.schema, found.encoder.has_missing
        self.n_rows, self.total_weight = found.n_rows, found.total_weight

    @property
    def notes(self) -> list[str]:
        """What was done to the columns, a sentence for each change."""
        return prepare.preparation_notes(self.preparation, self.schema)

    def _packed_bytes(self) -> int:
        """The memory that the rows take, packed."""
        weighted = self._encoder.weights is not None
        return packed_bytes(counted_cards(self), self.n_rows, weighted)


class ScannedSource(EncodedSource):
    """A source that reads its rows for each pass, unless `prepare` keeps them: files and frames.

    Attributes
    ----------
    n_scans : int
        How often the rows were read.
    scan_seconds : float
        The time of the first scan.
    scan_bytes : int or None
        The size of the files; None if the rows are not in files.
    """

    n_scans: int
    scan_seconds: float
    scan_bytes: int | None

    def head(self, rows: int) -> Table:
        """Return up to `rows` of the first rows. The default implementation scans the data."""
        return first_rows(self, rows)

    def scans_of(self, passes: int, before: int | None) -> int:
        """Return the scans of `passes` passes if `prepare` is called after `before` of them."""
        return passes


class BlockSource(ScannedSource):
    """Counts of rows that a reader gives block by block; base of `FileSource` and `FrameSource`."""

    option_names: ClassVar[frozenset[str]] = frozenset(SourceOptions.__annotations__)

    def __init__(
        self,
        reader: BlockReader,
        *,
        max_memory: int = DEFAULT_MEMORY,
        cache: bool = True,
        ctl: Control | None = None,
        **options: Unpack[SchemaOptions],
    ) -> None:
        if max_memory < LEAST_MEMORY:
            raise ParameterError(
                Setting("max_memory", max_memory), f"; at least {LEAST_MEMORY} are needed."
            )
        self._reader, self.n_scans = reader, 0
        self.scan_seconds, self.scan_bytes = 0.0, reader.n_bytes

        def read(tally: Any, names: list[str], as_text: Collection[str]) -> Any:
            began, empty = time.perf_counter(), copy.deepcopy(tally)
            try:
                done = self._tally(tally, names, as_text, ctl)
            except CounterpaneError as error:
                if not reader.read_otherwise(error):
                    raise
                done = self._tally(empty, names, as_text, ctl)
            self.scan_seconds = self.scan_seconds or time.perf_counter() - began
            return done

        self._find_schema(read, reader, rules_of(options))
        self._max_memory = max_memory
        self._packed: PackedRows | None = None
        self._packs = cache and self._packed_bytes() <= max_memory // 2

    def _tally(
        self, tally: Any, names: list[str], as_text: Collection[str], ctl: Control | None
    ) -> Any:
        """The tally after a pass over all rows."""
        self.n_scans += 1
        done = 0
        with closing(self._reader.blocks(names, as_text)) as blocks:
            for block in blocks:
                tally.add(block)
                if ctl is not None:
                    done += BLOCK_ROWS
                    ctl.report("reading states", getattr(tally, "n_rows", done), None)
        return tally

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        return sum_over_blocks(fn, self._rows(list(columns)), n_rows=self.n_rows, ctl=ctl)[0]

    def counts(self, subsets: Iterable[Scope], **options: Any) -> CountBatch:
        before = self.n_scans
        batch = super().counts(subsets, **options)
        batch.scans = self.n_scans - before
        return batch

    def head(self, rows: int) -> Table:
        """The first rows, from one block."""
        columns = range(len(self.schema))
        with closing(self._reader.blocks(self._encoder.names(columns), self._encoder.as_text)) as b:
            codes, weights = next(self._encoder.rows(b, columns, BLOCK_ROWS))
        return Table(self.schema, codes[:, :rows], None if weights is None else weights[:rows])

    def scans_of(self, passes: int, before: int | None) -> int:
        """One if the rows are then kept in memory, none if they are; else one for each pass."""
        if self._packed is not None:
            return 0
        return min(passes, 1) if self._packs else passes

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

    def _rows(self, columns: list[int]) -> Generator[CodeBlock, None, None]:
        """The codes of some columns, from packed rows or else from the reader."""
        if self._packed is not None:
            yield from self._packed.blocks(columns)
        elif self._packs:
            packed = PackedRows(counted_cards(self))
            for codes, weights in self._read(list(range(len(self.schema)))):
                packed.append(codes, weights)
                yield codes[columns], weights
            self._packed = packed
        else:
            yield from self._read(columns)

    def _read(self, columns: list[int]) -> Generator[CodeBlock, None, None]:
        """The codes of some columns, read and encoded."""
        self.n_scans += 1
        done, encoder = 0, self._encoder
        with closing(self._reader.blocks(encoder.names(columns), encoder.as_text)) as blocks:
            for codes, weights in encoder.rows(blocks, columns, BLOCK_ROWS):
                done += codes.shape[1]
                if done > self.n_rows:
                    break
                yield codes, weights
        if done != self.n_rows:
            raise DataError(
                f"{self._reader.what} had {self.n_rows} rows when the source was made, and other "
                "ones now; make it again."
            )


class FileSource(BlockSource):
    """Counts of parquet, Arrow (Feather) or delimited text files of any size.

    One pass finds the states as `Table.from_frame` would: categories keep their order and
    unobserved states. `n_scans` counts how often the files were read. They must not change
    meanwhile. At most about `max_memory` bytes are used, besides the counts.

    Parameters
    ----------
    paths : path, or list of paths
        A file, a folder, a pattern such as `"visits/*.parquet"`, or a list of these. All files hold
        the same columns. A folder called `year=2024`, below the given folder or in the varying part
        of a pattern, gives the column `year` of its files, unless they have such a column
        themselves.
    delimiter, encoding, decimal : str
        Of text files; detected by default.
    header : bool
        Whether the first row of a text file has the names of the columns; detected by default.
    columns : list of str
        The columns to use, all by default.
    drop, categorical : list of str
        Columns to leave out, and columns whose numbers are states.
    states : {column: states}
        The states of some columns, in order.
    schema : Schema
        The columns and states of an older table.
    weights : str
        The name of a column of row weights.
    discretize : "auto", "mdl", "quantile", {column: cuts} or None
        How numbers become states, as in `counterpane.read`; None refuses numbers that are not
        states. "mdl" needs one more pass. The intervals are those of the same rows in memory, but
        for columns of more than 131,072 different numbers: their cut points may move by 0.003
        percent of their size.
    target : str
        The class of "mdl".
    unseen : "error", "missing" or "unknown"
        What a cell is that has none of the states of `schema`.
    max_states, n_bins : int
        Integers of at most `max_states` values are states.
    on_unusable : "error" or "drop"
        As in `counterpane.read`.
    max_memory : int
        In bytes.
    cache : bool
        Keep all columns in memory, bit-packed, if half of `max_memory` is enough; later calls then
        do not read the files.
    ctl : Control
        Reports on the first pass, and can stop it.

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
        delimiter: str | None = None,
        encoding: str | None = None,
        header: bool | None = None,
        **options: Unpack[SourceOptions],
    ) -> None:
        strict = not ColumnRules(
            discretize=options.get("discretize"), target=options.get("target"),
            schema=options.get("schema"), on_unusable=options.get("on_unusable"),
        ).lenient  # fmt: skip
        text = FileOptions(
            delimiter, encoding, options.get("decimal"), header=header, strict=strict
        )
        super().__init__(open_files(paths, text), **options)


class FrameSource(BlockSource):
    """Counts of a lazy frame, an Arrow dataset, or a Delta or Iceberg table.

    The frame is evaluated once to find the states, and again for each call unless its rows are
    packed in memory; `n_scans` counts the evaluations. It is never collected as a whole.

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
        Those of `FileSource` that describe columns, and max_memory, cache, ctl.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"sex": ["f", "m", "f", "m"], "ill": ["no", "yes", None, "no"]})
    >>> source = FrameSource(frame)
    >>> source.counts([["sex", "ill"]])[0].tolist(), source.n_scans
    ([[1, 0], [1, 1]], 2)
    """

    def __init__(self, frame: Any, **options: Unpack[SourceOptions]) -> None:
        reader = open_stream(frame)
        if reader is None:
            wrapped = nw.from_native(frame, pass_through=True)
            if not isinstance(wrapped, nw.LazyFrame):
                raise DataError(
                    f"{type(frame).__name__} is no lazy frame; pass it to counterpane.read, "
                    "which chooses how it is counted."
                )
            reader = open_frame(wrapped)
        super().__init__(reader, **options)

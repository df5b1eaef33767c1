"""Blocks of columns from what speaks Arrow: datasets, Delta and Iceberg tables, opened streams."""

from __future__ import annotations

import importlib
import inspect
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from functools import partial
from os import PathLike
from typing import Any

from counterpane.counts.engines.arrow_cells import Block, pyarrow_module
from counterpane.counts.engines.file_readers import BlockReader
from counterpane.counts.engines.frame_readers import running
from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.remote import without_secrets
from counterpane.errors import DataError, MissingExtraError, shown_type

READAHEAD = 4  # batches that pyarrow reads before they are needed


def open_arrow(source: Any) -> ArrowTableReader | None:
    """The reader of a dataset, a Delta or Iceberg table or scan, or a function; None for others."""
    reader = _reader_of(source)
    return None if reader is None else reader(source)


def streams_arrow(source: Any) -> bool:
    """Whether `open_arrow` has a reader of a source."""
    return _reader_of(source) is not None


def _reader_of(source: Any) -> Callable[[Any], ArrowTableReader] | None:
    """What makes the reader of a source; the packages are not imported for it."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__}
    if isinstance(source, ArrowTableReader):
        return lambda reader: reader
    if ("pyarrow", "Dataset") in kinds:
        return DatasetReader
    if ("deltalake", "DeltaTable") in kinds:
        return open_delta
    if ("pyiceberg", "Table") in kinds or ("pyiceberg", "DataScan") in kinds:
        return IcebergReader
    if ("pyarrow", "RecordBatchReader") in kinds:
        raise DataError(
            "a RecordBatchReader can be read only once; pass a function that opens it, such as "
            "lambda: dataset.scanner().to_reader(), or its table: reader.read_all()."
        )
    plain = inspect.isfunction(source) or inspect.ismethod(source) or isinstance(source, partial)
    return StreamOpener if plain else None


class ArrowTableReader(BlockReader):
    """A table whose batches can be read again for each scan, some columns at a time."""

    engine = "pyarrow"

    def __init__(self, what: str) -> None:
        with self._guarded():
            schema = self._schema()
        names = schema.names
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{what}: the column name {name!r} occurs twice; rename one.")
        super().__init__(dict(zip(names, schema.types, strict=True)), what=what)

    def _guarded(self) -> Any:
        return running(self.engine, "read the table", "it reads is still there")

    def _cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        with self._guarded():
            batches = self._batches(names)
            try:
                for batch in batches:
                    for start in range(0, batch.num_rows, BLOCK_ROWS):
                        part = batch.slice(start, BLOCK_ROWS)
                        yield [self._column(part, name) for name in names]
            finally:
                if hasattr(batches, "close"):
                    batches.close()

    def _column(self, batch: Any, name: str) -> Any:
        place = batch.schema.get_field_index(name)
        if place < 0:
            raise DataError(f"{self.what} has no column {name!r} any more; make the source again.")
        return batch.column(place)

    @abstractmethod
    def _schema(self) -> Any:
        """The Arrow schema, without reading rows where that is possible."""

    @abstractmethod
    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        """Record batches with at least the columns `names`, always in the same order."""


class DatasetReader(ArrowTableReader):
    """A dataset of pyarrow."""

    def __init__(self, dataset: Any, what: str = "the dataset") -> None:
        self._dataset = dataset
        super().__init__(what)

    def _schema(self) -> Any:
        return self._dataset.schema

    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        scanner = self._dataset.scanner(
            columns=list(names),
            batch_size=BLOCK_ROWS,
            batch_readahead=READAHEAD,
            fragment_readahead=1,
        )
        batches: Iterable[Any] = scanner.to_batches()
        return batches


def open_delta(table: Any) -> DatasetReader:
    """The reader of a version of a Delta table: the one that is loaded, or the newest of a path."""
    with running("deltalake", "open the table", "it needs is there"):
        if isinstance(table, str | PathLike):
            table = _delta_module(str(table)).DeltaTable(str(table))
        return DatasetReader(table.to_pyarrow_dataset(), "the Delta table")


def _delta_module(path: str) -> Any:
    try:
        return importlib.import_module("deltalake")
    except ImportError:
        raise MissingExtraError(
            f"{without_secrets(path)!r} is a Delta table, and deltalake is not installed; install "
            "counterpane[delta]."
        ) from None


class IcebergReader(ArrowTableReader):
    """A snapshot of an Iceberg table, the current one when the source is made, or a scan of it."""

    engine = "pyiceberg"

    def __init__(self, table: Any) -> None:
        self._scan = table.scan() if hasattr(table, "scan") else table
        super().__init__("the Iceberg table")

    def _schema(self) -> Any:
        return self._scan.projection().as_arrow()

    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        batches: Iterable[Any] = self._scan.select(*names).to_arrow_batch_reader()
        return batches


class StreamOpener(ArrowTableReader):
    """A function that opens a stream of Arrow batches, each time anew.

    It is called with `columns`, the names that are needed, if it has such a parameter.
    """

    engine = "the function"

    def __init__(self, opener: Callable[..., Any]) -> None:
        self._opener = opener
        self._prunes = "columns" in inspect.signature(opener).parameters
        super().__init__("the stream")

    def _schema(self) -> Any:
        with closing(self._open(None)) as stream:
            return stream.schema

    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        stream: Iterable[Any] = self._open(list(names))
        return stream

    def _open(self, names: list[str] | None) -> Any:
        stream = self._opener(columns=names) if self._prunes else self._opener()
        reader = pyarrow_module("lib").RecordBatchReader
        if isinstance(stream, reader):
            return stream
        if not hasattr(stream, "__arrow_c_stream__"):
            raise DataError(
                f"the function returned {shown_type(stream)}; a RecordBatchReader, or an "
                "object with __arrow_c_stream__, is needed."
            )
        return reader.from_stream(stream)

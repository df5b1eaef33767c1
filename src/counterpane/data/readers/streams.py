"""Blocks of columns from lazy frames, datasets, Delta and Iceberg tables, and opened streams."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from counterpane.data.readers.arrow import kinds_of
from counterpane.data.readers.blocks import (
    BLOCK_ROWS,
    Block,
    BlockReader,
    batch_columns,
    pyarrow_module,
)
from counterpane.data.remote import without_secrets
from counterpane.errors import DataError, MissingExtraError, library_errors, shown_type
from counterpane.lazy import lazy

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")

READAHEAD = 4  # batches that pyarrow reads before they are needed
READING = "read the table", "it reads is still there"  # what engines of stored tables do


def open_stream(source: Any) -> StreamReader | None:
    """The reader of what is read as a stream of Arrow batches; None for anything else."""
    opener = _opener_of(source)
    return None if opener is None else opener(source)


def streams_arrow(source: Any) -> bool:
    """Whether a source is no frame, but read as a stream of Arrow batches."""
    return _opener_of(source) is not None


def _opener_of(source: Any) -> Callable[[Any], StreamReader] | None:
    """What makes the reader of a source; the packages are not imported for it."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__}
    if isinstance(source, StreamReader):
        return lambda reader: reader
    if ("pyarrow", "Dataset") in kinds:
        return _open_dataset
    if ("deltalake", "DeltaTable") in kinds:
        return open_delta
    if ("pyiceberg", "Table") in kinds or ("pyiceberg", "DataScan") in kinds:
        return _open_iceberg
    if ("pyarrow", "RecordBatchReader") in kinds:
        raise DataError(
            "a RecordBatchReader can be read only once; pass a function that opens it, such as "
            "lambda: dataset.scanner().to_reader(), or its table: reader.read_all()."
        )
    plain = inspect.isfunction(source) or inspect.ismethod(source) or isinstance(source, partial)
    return _open_function if plain else None


def open_frame(frame: nw.LazyFrame[Any]) -> StreamReader:
    """The reader of a lazy frame, by the engine that runs it."""
    engine, native = frame.implementation, frame.to_native()
    if engine.is_polars():
        return _open_polars(native)
    if engine.is_duckdb():
        return _open_duckdb(native)
    if engine.is_ibis():
        backend = native.get_backend()
        if backend.name != "duckdb":  # Ibis has no declared states
            return StreamReader(
                "the frame",
                partial(frame_errors, "Ibis"),
                lambda: native.schema().to_pyarrow(),
                lambda names: native.select(*names).to_pyarrow_batches(chunk_size=BLOCK_ROWS),
            )
        with frame_errors("Ibis"):  # run by DuckDB itself: Ibis loses the order of enums
            return _open_duckdb(backend.con.sql(str(backend.compile(native))))
    if hasattr(native, "__arrow_c_stream__"):
        return StreamReader(
            "the frame",
            partial(frame_errors, "the engine"),
            lambda: _schema_of(pyarrow_module("lib").RecordBatchReader.from_stream(native)),
            lambda names: pyarrow_module("lib").RecordBatchReader.from_stream(
                nw.from_native(native).select(*names).to_native()
            ),
        )
    raise DataError(
        f"the lazy frame is of {engine.value}, which hands over no blocks of rows; write it to "
        "parquet and read that, or collect() it first."
    )


def frame_errors(
    engine: str,
    work: str = "run the lazy frame",
    check: str = "it reads is still there and its connection open",
) -> AbstractContextManager[None]:
    """Turns what an engine raises into one message; engines share no base class of errors."""
    return library_errors(
        lambda words: DataError(
            f"{engine} cannot {work}: {without_secrets(words)}; check that what {check}, then make "
            "the source again."
        )
    )


class StreamReader(BlockReader):
    """A table whose Arrow batches can be read again for each pass, some columns at a time.

    `schema` gives its Arrow schema, if possible without reading rows, and `batches` record batches
    of some columns; `errors` turns what the engine raises into one message.
    """

    def __init__(
        self,
        what: str,
        errors: Callable[[], AbstractContextManager[None]],
        schema: Callable[[], Any],
        batches: Callable[[list[str]], Iterable[Any]],
    ) -> None:
        self.what, self._errors, self._batches = what, errors, batches
        with errors():
            found = schema()
        self.names, self._kinds = tuple(found.names), kinds_of(found, f"{what}: ")

    def blocks(
        self, names: Sequence[str], as_text: Collection[str] = ()
    ) -> Generator[Block, None, None]:
        with self._errors():
            batches = self._batches(list(dict.fromkeys(names)))
            try:
                for batch in batches:
                    self._check_kinds(batch.schema, names)
                    yield from batch_columns(batch, names)
            finally:
                if hasattr(batches, "close"):  # the engine stops, and its connection is free again
                    batches.close()

    def _check_kinds(self, schema: Any, names: Sequence[str]) -> None:
        """Refuse batches whose columns hold other kinds of values than when the reader was made."""
        kinds = kinds_of(schema, f"{self.what}: ")
        for name in names:
            if name not in kinds:
                raise DataError(
                    f"{self.what} has no column {name!r} any more; make the source again."
                )
            old, new = self._kinds[name], kinds[name]
            if old and new and old != new:
                raise DataError(
                    f"column {name!r} held {old} when the source was made, and holds {new} now; "
                    "make it again."
                )


def _schema_of(stream: Any) -> Any:
    """The schema of a stream, which is closed."""
    with closing(stream):
        return stream.schema


# ---- engines -------------------------------------------------------------------------------------


def _open_polars(frame: Any) -> StreamReader:
    """A polars lazy frame, run by its streaming engine.

    An Enum declares its states. A Categorical declares nothing, as its pool of texts is shared by
    the whole process. Arrow has no integers of 128 bits, which become decimals.
    """
    polars = importlib.import_module("polars")
    if not hasattr(frame, "collect_batches"):
        raise MissingExtraError("lazy frames of polars need a newer one: 1.34 or above.")

    def in_arrow() -> Any:
        other = {"Categorical": polars.String}
        other |= dict.fromkeys(("Int128", "UInt128"), polars.Decimal(38, 0))
        kinds = {name: other.get(str(kind)) for name, kind in frame.collect_schema().items()}
        return frame.with_columns(
            polars.col(name).cast(kind) for name, kind in kinds.items() if kind is not None
        )

    def batches(names: list[str]) -> Iterable[Any]:
        chosen = in_arrow().select(names)
        for part in chosen.collect_batches(
            chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming"
        ):
            yield from part.to_arrow().to_batches()

    return StreamReader(
        "the frame",
        partial(frame_errors, "polars"),
        lambda: in_arrow().head(0).collect().to_arrow().schema,
        batches,
    )


def _open_duckdb(relation: Any) -> StreamReader:
    """A DuckDB relation, run on its own connection, which is busy meanwhile."""

    def opened(rows: Any) -> Any:
        older = not hasattr(rows, "to_arrow_reader")
        return (rows.fetch_arrow_reader if older else rows.to_arrow_reader)(BLOCK_ROWS)

    def batches(names: list[str]) -> Iterable[Any]:
        quoted = ('"' + name.replace('"', '""') + '"' for name in names)
        stream: Iterable[Any] = opened(relation.project(", ".join(quoted)))
        return stream

    errors = partial(frame_errors, "DuckDB")
    return StreamReader("the frame", errors, lambda: _schema_of(opened(relation.limit(0))), batches)


def _open_dataset(dataset: Any) -> StreamReader:
    """A pyarrow dataset, or a version of a Delta table."""
    return StreamReader(
        "the dataset",
        partial(frame_errors, "pyarrow", *READING),
        lambda: dataset.schema,
        lambda names: dataset.scanner(
            columns=names, batch_size=BLOCK_ROWS, batch_readahead=READAHEAD, fragment_readahead=1
        ).to_batches(),
    )


def open_delta(table: Any) -> StreamReader:
    """The reader of a version of a Delta table: the one that is loaded, or the newest of a path."""
    with frame_errors("deltalake", "open the table", "it needs is there"):
        if isinstance(table, str | PathLike):
            try:
                deltalake = importlib.import_module("deltalake")
            except ImportError:
                raise MissingExtraError(
                    f"{without_secrets(str(table))!r} is a Delta table, and deltalake is not "
                    "installed; install counterpane[delta]."
                ) from None
            table = deltalake.DeltaTable(str(table))
        return _open_dataset(table.to_pyarrow_dataset())


def _open_iceberg(table: Any) -> StreamReader:
    """A snapshot of an Iceberg table, the current one when the source is made, or a scan of it."""
    scan = table.scan() if hasattr(table, "scan") else table
    return StreamReader(
        "the Iceberg table",
        partial(frame_errors, "pyiceberg", *READING),
        lambda: scan.projection().as_arrow(),
        lambda names: scan.select(*names).to_arrow_batch_reader(),
    )


def _open_function(opener: Callable[..., Any]) -> StreamReader:
    """A function that opens a stream of Arrow batches, each time anew.

    It is called with `columns`, the names that are needed, if it has such a parameter.
    """
    prunes = "columns" in inspect.signature(opener).parameters

    def opened(names: list[str] | None) -> Any:
        stream = opener(columns=names) if prunes else opener()
        reader = pyarrow_module("lib").RecordBatchReader
        if isinstance(stream, reader):
            return stream
        if not hasattr(stream, "__arrow_c_stream__"):
            raise DataError(
                f"the function returned {shown_type(stream)}; a RecordBatchReader, or an "
                "object with __arrow_c_stream__, is needed."
            )
        return reader.from_stream(stream)

    errors = partial(frame_errors, "the function", *READING)
    return StreamReader("the stream", errors, lambda: _schema_of(opened(None)), opened)

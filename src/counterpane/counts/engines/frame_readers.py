"""Blocks of columns from lazy frames: polars, DuckDB and Ibis run them, block after block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from counterpane.counts.engines.arrow_types import Block, arrow
from counterpane.counts.engines.duckdb_reader import grouped
from counterpane.counts.engines.file_readers import BlockReader
from counterpane.counts.engines.sessions import arrow_reader
from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.errors import CounterpaneError, DataError, MissingExtraError
from counterpane.lazy import lazy
from counterpane.progress import Control

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy("narwhals.stable.v2")


def open_frame(frame: nw.LazyFrame[Any]) -> FrameReader:
    """The reader of a lazy frame, by the engine that runs it."""
    engine, native = frame.implementation, frame.to_native()
    if engine.is_polars():
        return PolarsReader(frame)
    if engine.is_ibis():
        backend = native.get_backend()
        if backend.name == "duckdb":  # asked itself: Ibis forgets the order of enums
            with _running("Ibis"):
                return DuckdbFrameReader(
                    nw.from_native(backend.con.sql(str(backend.compile(native))))
                )
        return IbisReader(frame)
    if engine.is_duckdb():
        return DuckdbFrameReader(frame)
    if hasattr(native, "__arrow_c_stream__"):
        return StreamReader(frame)
    raise DataError(
        f"the lazy frame is of {engine.value}, which hands over no blocks of rows; write it to "
        "parquet and read that, or collect() it first."
    )


class FrameReader(BlockReader):
    """A lazy frame that is run anew for each scan, and its groups of equal rows."""

    engine = "the engine"

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        self._frame = frame
        with _running(self.engine):
            schema = self._schema(frame.to_native())
        super().__init__(dict(zip(schema.names, schema.types, strict=True)), what="the frame")

    def _cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        with _running(self.engine):
            chosen = self._frame.select(*names).to_native()
        return self._guarded(chosen, names)

    def groups(
        self, names: Sequence[str], weight: str | None, ctl: Control | None
    ) -> Generator[Block, None, None]:
        """The distinct rows of some columns, with their number or their summed whole weight.

        The engine groups them; the control is asked before, and between the blocks of its answer.
        """
        total = "weight"
        while total in map(str.lower, self.types):  # DuckDB knows no case
            total += "_"
        if ctl is not None:
            ctl.check()
        with _running(self.engine):
            found = self._grouped(names, weight, total)
        with closing(self._guarded(found, [*names, total])) as blocks:
            for block in blocks:
                if ctl is not None:
                    ctl.check()
                yield block

    def _grouped(self, names: Sequence[str], weight: str | None, total: str) -> Any:
        frame = self._frame.select(*names, *([] if weight is None else [weight]))
        summed = nw.len()
        if weight is not None:
            frame = frame.with_columns(nw.col(weight).cast(nw.Int64).alias(total))
            summed = nw.col(total).sum()
        return frame.group_by(*names).agg(summed.alias(total)).to_native()

    def _guarded(self, native: Any, names: Sequence[str]) -> Generator[Block, None, None]:
        with _running(self.engine):
            batches = self._batches(native)
            try:
                for batch in batches:
                    for start in range(0, batch.num_rows, BLOCK_ROWS):
                        part = batch.slice(start, BLOCK_ROWS)
                        yield [part.column(name) for name in names]
            finally:
                if hasattr(batches, "close"):  # the engine stops, and its connection is free again
                    batches.close()

    @abstractmethod
    def _schema(self, native: Any) -> Any:
        """The Arrow schema, found without reading rows where that is possible."""

    @abstractmethod
    def _batches(self, native: Any) -> Iterator[Any]:
        """Record batches of what a frame gives when it is run."""


class PolarsReader(FrameReader):
    """A polars lazy frame, run by its streaming engine.

    An Enum declares its states. A Categorical declares nothing, as its pool of texts is shared by
    the whole process.
    """

    engine = "polars"

    def _schema(self, native: Any) -> Any:
        if not hasattr(native, "collect_batches"):
            raise MissingExtraError("lazy frames of polars need a newer one: 1.34 or above.")
        schema = native.head(0).collect().to_arrow().schema
        for i, kind in enumerate(self._frame.collect_schema().dtypes()):
            if kind == nw.Categorical:
                schema = schema.set(i, schema.field(i).with_type(arrow("lib").string()))
        return schema

    def _batches(self, native: Any) -> Iterator[Any]:
        batches = native.collect_batches(
            chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming"
        )
        for frame in batches:
            yield from frame.to_arrow().to_batches()


class DuckdbFrameReader(FrameReader):
    """A DuckDB relation, run on its own connection, which is busy meanwhile."""

    engine = "DuckDB"

    def _schema(self, native: Any) -> Any:
        with closing(self._batches(native.limit(0))) as reader:
            return reader.schema

    def _batches(self, native: Any) -> Any:
        return arrow_reader(native, BLOCK_ROWS)

    def _grouped(self, names: Sequence[str], weight: str | None, total: str) -> Any:
        return grouped(self._frame.to_native(), names, weight, total)  # whatever is in the names


class IbisReader(FrameReader):
    """An Ibis table of any backend; Ibis knows no declared states."""

    engine = "Ibis"

    def _schema(self, native: Any) -> Any:
        return native.schema().to_pyarrow()

    def _batches(self, native: Any) -> Any:
        return native.to_pyarrow_batches(chunk_size=BLOCK_ROWS)


class StreamReader(FrameReader):
    """Any other lazy frame that offers a stream of Arrow batches."""

    def _schema(self, native: Any) -> Any:
        with closing(self._batches(native)) as reader:
            return reader.schema

    def _batches(self, native: Any) -> Any:
        return arrow("lib").RecordBatchReader.from_stream(native)


@contextmanager
def _running(engine: str) -> Iterator[None]:
    """Turns what an engine raises into one sentence; engines share no base class of errors."""
    try:
        yield
    except CounterpaneError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        raise DataError(
            f"{engine} cannot run the lazy frame: {words}; check that what it reads is still there "
            "and its connection open, then make the source again."
        ) from error

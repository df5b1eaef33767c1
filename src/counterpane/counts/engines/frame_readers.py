"""Blocks of columns and groups of equal rows from lazy frames, and from parquet by DuckDB."""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
import threading
import uuid
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from counterpane.counts.engines.arrow_cells import Block, Cells, pyarrow_module
from counterpane.counts.engines.database import arrow_reader, exact_text, sql_name
from counterpane.counts.engines.file_readers import BlockReader, FileReader, ParquetReader
from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.data.remote import RemotePath, without_secrets
from counterpane.errors import CounterpaneError, DataError, MissingExtraError, ParameterError
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
        if backend.name == "duckdb":  # run by DuckDB itself: Ibis loses the order of enums
            with running("Ibis"):
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
    """A lazy frame, which is run again for each scan, and its groups of equal rows."""

    engine = "the engine"

    def __init__(self, frame: nw.LazyFrame[Any]) -> None:
        self._frame = frame
        with running(self.engine):
            schema = self._schema(frame.to_native())
        super().__init__(dict(zip(schema.names, schema.types, strict=True)), what="the frame")

    def _cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        with running(self.engine):
            chosen = self._frame.select(*names).to_native()
        return self._guarded(chosen, names)

    def groups(
        self, names: Sequence[str], weight: str | None, ctl: Control | None
    ) -> Generator[Block, None, None]:
        """The distinct rows of some columns, with their number or their summed whole weight.

        The engine groups them; the control is checked before, and between the blocks of its answer.
        """
        total = "weight"
        while total in map(str.lower, self.types):  # DuckDB's names are case-insensitive
            total += "_"
        if ctl is not None:
            ctl.check()
        with running(self.engine):
            rows = self._grouped(names, weight, total)
        with closing(self._guarded(rows, [*names, total])) as blocks:
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
        with running(self.engine):
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
                schema = schema.set(i, schema.field(i).with_type(pyarrow_module("lib").string()))
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
        # Narwhals would need names without special characters.
        return group_equal_rows(self._frame.to_native(), names, weight, total)


class IbisReader(FrameReader):
    """An Ibis table of any backend; Ibis has no declared states."""

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
        return pyarrow_module("lib").RecordBatchReader.from_stream(native)


@contextmanager
def running(
    engine: str,
    work: str = "run the lazy frame",
    check: str = "it reads is still there and its connection open",
) -> Iterator[None]:
    """Turns what an engine raises into one sentence; engines share no base class of errors."""
    try:
        yield
    except CounterpaneError:
        raise
    except Exception as error:
        words = without_secrets(" ".join(str(error).split()) or type(error).__name__)[:300]
        raise DataError(
            f"{engine} cannot {work}: {words}; check that what {check}, then make the source again."
        ) from error


THREAD_MEMORY = 2**26  # bytes that each of DuckDB's threads may need
Engine = Literal["auto", "duckdb", "pyarrow"]
WATCH = 0.05  # seconds between two checks of the control while a statement runs


def has_duckdb() -> bool:
    """Whether DuckDB is installed."""
    return importlib.util.find_spec("duckdb") is not None


def choose_readers(
    files: FileReader, engine: Engine, max_memory: int, spill: str | os.PathLike[str] | None
) -> tuple[Cells, DuckdbReader | None]:
    """The reader of blocks, and the one that groups equal rows."""
    if engine not in ("auto", "duckdb", "pyarrow"):
        raise ParameterError(f"engine={engine!r}; 'auto', 'duckdb' or 'pyarrow' is allowed.")
    if engine == "duckdb" and not has_duckdb():
        raise MissingExtraError("DuckDB is not installed; install counterpane[duckdb].")
    distinguishable = len(set(map(str.lower, files.types))) == len(files.types)  # by DuckDB
    able = isinstance(files, ParquetReader) and distinguishable
    able = able and not any(isinstance(path, RemotePath) for path in files.paths)
    if engine == "duckdb" and (files.folders or not able):
        raise ParameterError(
            "engine='duckdb' scans parquet of this machine only, without columns in folder names "
            "or whose names differ by case alone; leave engine out."
        )
    if engine == "pyarrow" or not (able and has_duckdb()):
        return files.blocks, None
    duckdb = DuckdbReader(files, max_memory, spill)
    return (duckdb if engine == "duckdb" else files).blocks, duckdb


class DuckdbReader:
    """The same blocks as a `ParquetReader` gives, and groups of equal rows, by DuckDB.

    Each scan has a connection of its own, so that nothing stays open between two. At most
    `max_memory` bytes are DuckDB's own; what is more goes to the folder `spill`.
    """

    def __init__(
        self, files: FileReader, max_memory: int, spill: str | os.PathLike[str] | None
    ) -> None:
        self._files = files
        self._max_memory = max_memory
        self._spill = spill

    def blocks(self, names: Sequence[str]) -> Generator[list[Any], None, None]:
        """The cells of some columns, in the order of the rows, block by block."""
        with self._guarded(), closing(self._connect()) as connection:
            scan = self._scan(connection).project(", ".join(map(sql_name, names)))
            for batch in arrow_reader(scan, BLOCK_ROWS):
                yield batch.columns

    def groups(
        self, names: Sequence[str], weight: str | None, ctl: Control | None
    ) -> Generator[list[Any], None, None]:
        """The distinct rows of some columns, with their number or their summed whole weight.

        The control is checked while DuckDB works.
        """
        with self._guarded(), closing(self._connect(preserve_insertion_order=False)) as connection:
            rows = group_equal_rows(self._scan(connection), names, weight, "weight")
            reader = _watched(lambda: arrow_reader(rows, BLOCK_ROWS), connection, ctl)
            while (batch := _watched(lambda: next(reader, None), connection, ctl)) is not None:
                yield batch.columns

    def _connect(self, **options: Any) -> Any:
        spill = self._spill or Path(tempfile.gettempdir()) / f"counterpane-{uuid.uuid4().hex}"
        return importlib.import_module("duckdb").connect(":memory:", config={
            "memory_limit": f"{self._max_memory // 1000}KB",
            "temp_directory": str(spill),
            "threads": min(os.cpu_count() or 1, max(1, self._max_memory // THREAD_MEMORY)),
            "enable_external_file_cache": False,  # the operating system keeps files already
            **options,
        })  # fmt: skip

    def _scan(self, connection: Any) -> Any:
        paths = [escape(str(path)) for path in self._files.paths]  # a path is not a pattern
        return connection.read_parquet(
            paths, union_by_name=self._files.mixed, hive_partitioning=False
        )

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turns what DuckDB raises into one sentence."""
        try:
            yield
        except importlib.import_module("duckdb").Error as error:
            words = " ".join(str(error).split())[:300]
            raise DataError(
                f"DuckDB cannot read {str(self._files.paths[0])!r} and what belongs to it: "
                f"{words}; check the files and the room in the folder spill=…, or raise max_memory "
                "if that is said to be too small."
            ) from error


def group_equal_rows(relation: Any, names: Sequence[str], weight: str | None, total: str) -> Any:
    """The distinct rows of some columns, with their number or summed whole weight as `total`."""
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    keys = [exact_text(sql_name(name), kinds[name]) for name in names]
    summed = "COUNT(*)" if weight is None else f"CAST(SUM({sql_name(weight)}) AS BIGINT)"
    columns = [f"{key} AS {sql_name(name)}" for key, name in zip(keys, names, strict=True)]
    return relation.aggregate(
        ", ".join([*columns, f"{summed} AS {sql_name(total)}"]), ", ".join(keys)
    )


def _watched(work: Callable[[], Any], connection: Any, ctl: Control | None) -> Any:
    """The result of `work`, run in a thread that is interrupted when the control says so."""
    results: list[Any] = []
    errors: list[BaseException] = []
    done = threading.Event()  # after Ctrl-C a thread cannot be joined: Python takes it for ended
    begun, cancelled = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        try:
            if not cancelled.is_set():
                results.append(work())
        except BaseException as error:  # raised below, in the calling thread
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run).start()  # Ctrl-C may come before it returns
        finished = False
        while not finished:
            finished = done.wait(WATCH)
            if ctl is not None:
                ctl.check()
    except BaseException:
        cancelled.set()
        while begun.is_set() and not done.is_set():
            with suppress(KeyboardInterrupt):  # pressed again: the thread must end all the same
                connection.interrupt()  # again and again, as the statement may begin just now
                done.wait(WATCH)
        raise
    if errors:
        raise errors[0]
    return results[0]

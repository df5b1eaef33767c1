"""Parquet scanned by DuckDB, which also finds distinct rows of any number, on disk if need be."""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from glob import escape
from pathlib import Path
from typing import Any, Literal

from counterpane.counts.engines.database import quoted
from counterpane.counts.engines.encoding import Cells
from counterpane.counts.engines.file_readers import FileReader, ParquetReader
from counterpane.counts.engines.sessions import arrow_reader, exact_text
from counterpane.counts.tasks import BLOCK_ROWS
from counterpane.errors import DataError, MissingExtraError, ParameterError
from counterpane.progress import Control

THREAD_MEMORY = 2**26  # bytes that each of DuckDB's threads may need
Engine = Literal["auto", "duckdb", "pyarrow"]
WATCH = 0.05  # seconds between two looks at the control while a statement runs


def has_duckdb() -> bool:
    """Whether DuckDB is installed."""
    return importlib.util.find_spec("duckdb") is not None


def choose_readers(
    files: FileReader, engine: Engine, max_memory: int, spill: str | os.PathLike[str] | None
) -> tuple[Cells, DuckdbReader | None]:
    """What reads blocks, and what finds groups of rows."""
    if engine not in ("auto", "duckdb", "pyarrow"):
        raise ParameterError(f"engine={engine!r}; 'auto', 'duckdb' or 'pyarrow' is allowed.")
    if engine == "duckdb" and not has_duckdb():
        raise MissingExtraError("DuckDB is not installed; install counterpane[duckdb].")
    told_apart = len(set(map(str.lower, files.types))) == len(files.types)  # by DuckDB
    able = isinstance(files, ParquetReader) and told_apart
    if engine == "duckdb" and (files.folders or not able):
        raise ParameterError(
            "engine='duckdb' scans parquet only, without columns in folder names or whose names "
            "differ by case alone; leave engine out."
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
            scan = self._scan(connection).project(", ".join(map(quoted, names)))
            for batch in arrow_reader(scan, BLOCK_ROWS):
                yield batch.columns

    def groups(
        self, names: Sequence[str], weight: str | None, ctl: Control | None
    ) -> Generator[list[Any], None, None]:
        """The distinct rows of some columns, with their number or their summed whole weight.

        The control is asked while DuckDB works.
        """
        with self._guarded(), closing(self._connect(preserve_insertion_order=False)) as connection:
            rows = grouped(self._scan(connection), names, weight, "weight")
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
        paths = [escape(str(path)) for path in self._files.paths]  # each is this file, no pattern
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


def grouped(relation: Any, names: Sequence[str], weight: str | None, total: str) -> Any:
    """The distinct rows of some columns, with their number or summed whole weight as `total`."""
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    keys = [exact_text(quoted(name), kinds[name]) for name in names]
    summed = "COUNT(*)" if weight is None else f"CAST(SUM({quoted(weight)}) AS BIGINT)"
    wanted = [f"{key} AS {quoted(name)}" for key, name in zip(keys, names, strict=True)]
    return relation.aggregate(", ".join([*wanted, f"{summed} AS {quoted(total)}"]), ", ".join(keys))


def _watched(work: Callable[[], Any], connection: Any, ctl: Control | None) -> Any:
    """What `work` returns, run in a thread that is interrupted when the control says so."""
    found: list[Any] = []
    errors: list[BaseException] = []
    done = threading.Event()  # after Ctrl-C a thread cannot be joined: Python takes it for ended

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # raised below, in the thread that asked
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run).start()
    try:
        finished = False
        while not finished:
            finished = done.wait(WATCH)
            if ctl is not None:
                ctl.check()
    except BaseException:
        connection.interrupt()
        while not done.wait(WATCH):  # the statement may begin just now
            connection.interrupt()
        raise
    if errors:
        raise errors[0]
    return found[0]

"""Counts on a Spark cluster: workers read files, or take packed rows, and run the kernels."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import unquote, urlparse

from counterpane.counts.engines.partitioned import (
    FilePart,
    PackPart,
    PartitionedSource,
    PartSum,
    add_parts,
)
from counterpane.counts.engines.spark_jobs import (
    accepted,
    find_session,
    forget_later,
    refusable,
    run_on_spark,
)
from counterpane.counts.source import counted_cards
from counterpane.data.block_schema import RowFacts, SchemaOptions
from counterpane.data.encoding import BlockEncoder
from counterpane.data.readers.arrow import kind_of
from counterpane.data.readers.blocks import Block, batch_columns, pyarrow_module
from counterpane.data.readers.files import FileReader
from counterpane.data.readers.text_files import FileOptions
from counterpane.data.reading import open_files
from counterpane.errors import CounterpaneError, DataError, ParameterError
from counterpane.progress import Control


class SparkSource(PartitionedSource):
    """Counts of files or of a DataFrame, by the workers of a Spark cluster.

    The workers read files directly, and also a DataFrame that consists of parquet files or some of
    their columns. Spark sends them the rows of any other DataFrame as Arrow batches; it must give
    the same rows each time it is evaluated. The states and their order are those of `FileSource`;
    NULL and NaN are missing.

    Sessions in this process and sessions over Spark Connect do the same. A worker that dies is
    replaced, and its tasks are run again. Work that `ctl` or Ctrl-C cancels ends on the workers,
    too. Real weights are summed within parts, then in their order. `n_scans`
    counts the scans of the rows.

    Parameters
    ----------
    data : Spark DataFrame or paths
        Paths are those that `FileSource` takes; all workers must be able to read them, and this
        process, which reads the names and types of columns.
    spark : SparkSession
        The active one by default; also one over Spark Connect.
    cache : bool
        For learners that need many counts, let the workers keep the packed rows in memory or on
        their disks for the lifetime of the source.
    delimiter : str
        Of text files; detected by default.
    ctl : Control
        Reports on the first scan, and can stop it.
    **options
        Those of `FileSource` that describe columns.

    Examples
    --------
    >>> import counterpane as cp
    >>> frame = spark.read.table("visits")                                  # doctest: +SKIP
    >>> model = cp.HillClimb().fit(cp.SparkSource(frame)).model_            # doctest: +SKIP
    """

    def __init__(
        self,
        data: Any,
        *,
        spark: Any | None = None,
        cache: bool = True,
        delimiter: str | None = None,
        ctl: Control | None = None,
        **options: Unpack[SchemaOptions],
    ) -> None:
        frame = data if hasattr(data, "mapInArrow") else None
        if frame is None and not isinstance(data, str | PathLike | list | tuple):
            raise ParameterError(
                f"data={type(data).__name__}; a Spark DataFrame or paths of files are allowed."
            )
        self._spark = find_session(spark if frame is None else data.sparkSession)
        files = open_files(data, FileOptions(delimiter)) if frame is None else files_of(data)
        self._frame = frame if files is None else None
        self._cache = cache
        self._packed: Any = None
        self._scan_states(files or frame_facts(data), ctl, options)

    def prepare(self) -> None:
        """Have the workers keep all columns, packed, from the next call on."""
        if not self._cache or self._packed is not None:
            return
        task = PackPart(self._encoder, counted_cards(self))
        rows, _ = self._rows_of(list(range(len(self.schema))))
        frame, parts = self._partitions(rows)
        packed = frame.mapInArrow(partial(_pack_parts, task, parts), PACKED)
        kept = packed.persist(importlib.import_module("pyspark").StorageLevel.MEMORY_AND_DISK)
        forget_later(self, self._spark, kept)
        self._packed = kept

    # ---- jobs ------------------------------------------------------------------------------

    def _cells_of(self, names: Sequence[str]) -> list[Any]:
        """The columns to select from a DataFrame; none from files."""
        return [] if self._frame is None else columns_of_frame(self._frame, names)

    def _rows_of(self, columns: list[int]) -> tuple[list[Any], BlockEncoder | None]:
        if self._packed is not None:
            return [], None
        return self._cells_of(self._encoder.names(columns)), self._encoder

    def _partitions(self, rows: list[Any]) -> tuple[Any, Callable[..., Iterator[Any]]]:
        """The DataFrame that tasks run on, and what makes parts of its batches."""
        if self._packed is not None and not rows:
            return self._packed, _unpacked
        if self._frame is not None:
            named = (column.alias(f"a{i}") for i, column in enumerate(rows))
            return self._frame.select(*named), _as_one
        n = len(self._parts)  # their numbers, each in a partition of its own
        return self._spark.range(0, n, 1, n), partial(_of_files, self._parts)

    def _sum(
        self,
        task: Callable[[Any], PartSum],
        rows: list[Any],
        what: str,
        ctl: Control | None,
        n_rows: int | None = None,
    ) -> PartSum:
        """The sum of a task over file parts or packed rows, or over the columns of a DataFrame."""
        frame, parts = self._partitions(rows)
        results = frame.mapInArrow(partial(_run_task, task, parts), RESULTS)

        def collect() -> list[PartSum]:
            in_order = sorted(results.collect(), key=lambda row: row[0])  # stable in a partition
            return [accepted(pickle.loads(row[1])) for row in in_order]

        self.n_scans += 1
        return add_parts(run_on_spark(self._spark, collect, what, n_rows=n_rows, ctl=ctl))


# ---- what runs on the workers ------------------------------------------------------------------

PACKED = "packed binary"
RESULTS = "part int, result binary"


@dataclass(frozen=True)
class BatchPart:
    """The rows of a partition of a DataFrame, as they come."""

    batches: Iterator[Any]

    def blocks(self, names: Sequence[str], as_text: Collection[str] = ()) -> Iterator[Block]:
        for batch in self.batches:
            yield from batch_columns(batch.rename_columns(list(names)), names)


def _as_one(batches: Iterator[Any]) -> Iterator[Any]:
    """A partition of rows is one part."""
    yield BatchPart(batches)


def _of_files(parts: Sequence[FilePart], batches: Iterator[Any]) -> Iterator[FilePart]:
    """The parts of files whose numbers a partition holds."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield parts[number]


def _unpacked(batches: Iterator[Any]) -> Iterator[Any]:
    """The packed rows that a partition holds, or the refusals that came instead."""
    for batch in batches:
        for packed in batch.column(0):
            yield pickle.loads(packed.as_buffer())


def _pack_parts(
    task: PackPart, parts: Callable[..., Iterator[Any]], batches: Iterator[Any]
) -> Iterator[Any]:
    """One row for each part: its rows, packed."""
    pa = importlib.import_module("pyarrow")
    for part in parts(batches):
        packed = pickle.dumps(refusable(task, part))
        yield pa.record_batch([pa.array([packed], pa.binary())], ["packed"])


def _run_task(
    task: Callable[[Any], Any], parts: Callable[..., Iterator[Any]], batches: Iterator[Any]
) -> Iterator[Any]:
    """One row for each part: the number of its partition and the result of a task, pickled."""
    pa = importlib.import_module("pyarrow")
    place = importlib.import_module("pyspark").TaskContext.get().partitionId()
    for part in parts(batches):
        result = pickle.dumps(refusable(task, part))
        arrays = [pa.array([place], pa.int32()), pa.array([result], pa.binary())]
        yield pa.record_batch(arrays, ["part", "result"])


# ---- DataFrames ----------------------------------------------------------------------------------

PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def frame_facts(frame: Any) -> RowFacts:
    """The columns of a DataFrame."""
    if frame.isStreaming:
        raise DataError("a streaming DataFrame never ends; write its rows down first.")
    twice = [name for name in frame.columns if frame.columns.count(name) > 1]
    if twice:
        raise DataError(f"the column name {twice[0]!r} occurs twice; rename or drop one.")
    return RowFacts("the DataFrame", tuple(frame.columns))


def files_of(frame: Any) -> FileReader | None:
    """The parquet files that hold exactly the rows of a DataFrame; None if that is not certain.

    It is if the plan is one read, below nothing but a choice of columns, if all files are of this
    file system and hold its columns with the same values, and if they have as many rows. What is
    cached already is better taken from there. The files of a Connect server are not those here.
    """
    if not hasattr(frame, "_jdf") or frame.isStreaming:
        return None
    if not _is_plain_read(frame._jdf.queryExecution().analyzed()):
        return None
    paths = frame.inputFiles()
    places = [Path(unquote(urlparse(path).path)) for path in paths]
    if not paths or not all(path.startswith("file:/") for path in paths):
        return None
    try:
        reader = open_files(sorted(places), FileOptions())
        stored = pyarrow_module("parquet").read_schema(reader.paths[0])
    except CounterpaneError:  # Spark fills columns that some files do not have
        return None
    for field in frame.schema.fields:
        place = stored.get_field_index(field.name)
        if place < 0 or not _same_values(field.dataType.simpleString(), stored.types[place]):
            return None
    rows = sum(sum(reader.groups(path) or []) for path in reader.paths)
    if rows != frame.count():  # a file may be named twice
        return None
    reader.names = tuple(frame.columns)
    return reader


def _is_plain_read(plan: Any) -> bool:
    """Whether a plan, as Spark's JVM holds it, takes some columns of parquet files."""
    kind = plan.getClass().getSimpleName()
    if kind == "SubqueryAlias":
        return _is_plain_read(plan.child())
    if kind == "Project":
        chosen = plan.projectList()
        plain = all(chosen.apply(i).getClass().getSimpleName() == "AttributeReference"
                    for i in range(chosen.size()))  # fmt: skip
        return plain and _is_plain_read(plan.child())
    if kind != "LogicalRelation":
        return False
    relation = plan.relation()
    return bool(
        relation.getClass().getSimpleName() == "HadoopFsRelation"
        and relation.fileFormat().getClass().getName() == PARQUET
        and relation.partitionSchema().length() == 0
    )


def _same_values(kind: str, stored: Any) -> bool:
    """Whether Spark reads a stored Arrow type as we do."""
    types = pyarrow_module("types")
    value = stored.value_type if types.is_dictionary(stored) else stored
    if kind == "string":
        return kind_of(value) == "texts"
    if kind in _WHOLE:
        return bool(types.is_integer(value))
    floats = {"float": types.is_float32, "double": types.is_float64, "boolean": types.is_boolean}
    return kind in floats and bool(floats[kind](value))


def columns_of_frame(frame: Any, names: Sequence[str]) -> list[Any]:
    """Columns of a DataFrame by their names, which may contain any characters."""
    connect = "" if hasattr(frame, "_jdf") else "connect."  # which has functions of its own
    functions = importlib.import_module(f"pyspark.sql.{connect}functions")
    return [functions.col("`" + name.replace("`", "``") + "`") for name in names]

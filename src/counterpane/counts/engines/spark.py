"""Counts on a Spark cluster: workers read files, or take packed rows, and run the kernels."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Unpack

import numpy as np

from counterpane.counts.distinct import DistinctTask
from counterpane.counts.engines.arrow_cells import Block, RowEncoder
from counterpane.counts.engines.file_readers import open_files
from counterpane.counts.engines.partitioned import (
    FilePart,
    PackPart,
    Partition,
    PartitionedSource,
    PartSum,
    add_parts,
)
from counterpane.counts.engines.schema_scan import SchemaOptions
from counterpane.counts.engines.spark_frames import (
    PackedEncoder,
    Place,
    column_of,
    column_types,
    files_of,
    functions_of,
    pack_columns,
)
from counterpane.counts.engines.spark_jobs import (
    accepted,
    find_session,
    forget_later,
    refusable,
    run_job,
)
from counterpane.data.table import Table
from counterpane.errors import ParameterError
from counterpane.progress import Control


class SparkSource(PartitionedSource):
    """Counts of files or of a DataFrame, by the workers of a Spark cluster.

    The workers read files directly, and also a DataFrame that consists of parquet files or some of
    their columns. Spark SQL encodes and packs the rows of any other DataFrame before they are
    counted; it must give the same rows each time it is evaluated. The states and their order are
    those of `FileSource`; NULL and NaN are missing.

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
        Those of `FileSource`: columns, states, schema, weights, discretize ({column: cuts} only),
        max_states.

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
        files = open_files(data, delimiter=delimiter) if frame is None else files_of(data)
        self._frame = frame if files is None else None
        self._cache = cache
        self._persisted: tuple[Any, dict[int, Place]] | None = None
        self._scan_states(files or column_types(data), ctl, **options)

    def _distinct(self, where: list[int], limit: int | None, ctl: Control | None) -> Table:
        """The distinct rows of some columns.

        Spark groups those of a DataFrame, unless a column cannot be packed or weights are real;
        workers find those of their files, which are merged here.
        """
        real = self._encoder.weights is not None and self._encoder.weight_dtype == np.float64
        if self._frame is None or real or not where:
            return super()._distinct(where, limit, ctl)
        selected, encoder = self._packed_words(where)
        if any(not encoder.places[v].bits for v in where):
            return super()._distinct(where, limit, ctl)
        F = self._functions
        *words, weight = selected if self._weight else [*selected, F.lit(1)]
        names = [f"w{i}" for i in range(len(words))]
        rows = self._stored.select(*(w.alias(n) for w, n in zip(words, names, strict=True)),
                                 weight.cast("double").alias("n"))  # fmt: skip
        groups = rows.groupBy(*names).agg(F.sum("n").alias("n"))
        groups = groups if limit is None else groups.limit(limit + 1)
        self.n_scans += 1
        (groups_table,) = run_job(self._spark, lambda: [groups.toArrow()], "counting rows",
                           n_rows=self.n_rows, ctl=ctl)  # fmt: skip
        block = [array.combine_chunks() for array in groups_table.columns]
        counted = block[-1].to_numpy().astype(self._encoder.weight_dtype)
        task = DistinctTask(self.schema.select(where), limit)
        return task(encoder.encode(block, where), counted).table

    def prepare(self) -> None:
        """Have the workers keep all columns, packed, from the next call on."""
        if not self._cache or self._persisted is not None:
            return
        places: dict[int, Place] = {}
        if self._frame is None:
            task = PackPart(self._encoder, self.counted_cards)
            rows = self._numbered.mapInArrow(partial(_pack_parts, task, self._parts), PACKED)
        else:
            arrays, places = pack_columns(self._frame, self._encoder, range(len(self.schema)))
            arrays += self._weight
            rows = self._frame.select(*(a.alias(f"c{i}") for i, a in enumerate(arrays)))
        kept = rows.persist(importlib.import_module("pyspark").StorageLevel.MEMORY_AND_DISK)
        forget_later(self, self._spark, kept)
        self._persisted = kept, places

    # ---- jobs ------------------------------------------------------------------------------

    @property
    def _stored(self) -> Any:
        """The DataFrame that tasks run on: the rows, packed rows, or the numbers of file parts."""
        if self._persisted is not None:
            return self._persisted[0]
        return self._numbered if self._frame is None else self._frame

    @property
    def _numbered(self) -> Any:
        """A DataFrame of the numbers of the file parts, each in a partition of its own."""
        n = len(self._parts)
        return self._spark.range(0, n, 1, n)

    @property
    def _functions(self) -> Any:
        return functions_of(self._frame)

    def _column(self, name: str) -> Any:
        return column_of(self._functions, name)

    @property
    def _weight(self) -> list[Any]:
        return [] if self._encoder.weights is None else [self._column(self._encoder.weights)]

    def _cells_of(self, names: Sequence[str]) -> list[Any]:
        """The columns to select from a DataFrame."""
        return [] if self._frame is None else list(map(self._column, names))

    def _rows_of(self, columns: list[int]) -> tuple[list[Any], RowEncoder | None]:
        if self._frame is not None:
            return self._packed_words(columns)
        return [], self._encoder if self._persisted is None else None

    def _packed_words(self, columns: Sequence[int]) -> tuple[list[Any], PackedEncoder]:
        """What to select from a DataFrame for some columns, weights last, and what decodes it."""
        if self._persisted is None:
            arrays, places = pack_columns(self._frame, self._encoder, columns)
            arrays += self._weight
        else:
            rows, places = self._persisted
            used = sorted({places[v].array for v in columns})
            places = {v: places[v]._replace(array=used.index(places[v].array)) for v in columns}
            arrays = [self._column(f"c{i}") for i in used]
            arrays += [self._column(rows.columns[-1])] if self._weight else []
        if not arrays:  # only the number of rows is needed
            arrays = [self._functions.lit(0)]
        return arrays, PackedEncoder(self._encoder, places)

    def _sum(
        self,
        task: Callable[[Any], PartSum],
        rows: list[Any],
        what: str,
        ctl: Control | None,
        n_rows: int | None = None,
    ) -> PartSum:
        """The sum of a task over file parts or packed rows, or over the columns of a DataFrame."""
        frame = self._stored
        if self._frame is not None:
            parts: Any = _as_one
            frame = frame.select(*(a.alias(f"a{i}") for i, a in enumerate(rows)))
        else:
            parts = partial(_of_files, self._parts) if self._persisted is None else _unpacked
        results = frame.mapInArrow(partial(_run_task, task, parts), RESULTS)

        def collect() -> list[PartSum]:
            in_order = sorted(results.collect(), key=lambda row: row[0])  # stable in a partition
            return [accepted(pickle.loads(row[1])) for row in in_order]

        self.n_scans += 1
        return add_parts(run_job(self._spark, collect, what, n_rows=n_rows, ctl=ctl))


# ---- what runs on the workers ------------------------------------------------------------------

PACKED = "packed binary"
RESULTS = "part int, result binary"


@dataclass(frozen=True)
class BatchPart(Partition):
    """The rows of a partition of a DataFrame, as they come."""

    batches: Iterator[Any]

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        for batch in self.batches:
            yield batch.columns


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


def _pack_parts(task: PackPart, parts: Sequence[FilePart], batches: Iterator[Any]) -> Iterator[Any]:
    """One row for each part of files: its rows, packed."""
    pa = importlib.import_module("pyarrow")
    for part in _of_files(parts, batches):
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

"""Counts on a Spark cluster: workers read files, or take packed rows, and run the kernels."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import re
import sys
import threading
import uuid
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from os import PathLike
from typing import Any, Unpack

import numpy as np

from counterpane.counts.distinct import DistinctTask
from counterpane.counts.engines.arrow_cells import Block, RowEncoder
from counterpane.counts.engines.file_readers import open_files
from counterpane.counts.engines.partitioned import (
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
    pack_columns,
)
from counterpane.data.table import Table
from counterpane.errors import CounterpaneError, DataError, MissingExtraError, ParameterError
from counterpane.progress import Control


class SparkSource(PartitionedSource):
    """Counts of files or of a DataFrame, by the workers of a Spark cluster.

    The workers read files directly, and also a DataFrame that consists of parquet files or some of
    their columns. Spark SQL encodes and packs the rows of any other DataFrame before they are
    counted; it must give the same rows each time it is evaluated. The states and their order are
    those of `FileSource`; NULL and NaN are missing.

    A worker that dies is replaced, and its tasks are run again. Work that `ctl` or Ctrl-C cancels
    ends on the workers, too. Real weights are summed within parts, then in their order. `n_scans`
    counts the scans of the rows.

    Parameters
    ----------
    data : Spark DataFrame or paths
        Paths are those that `FileSource` takes; all workers must be able to read them.
    spark : SparkSession
        The active one by default.
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
        F = importlib.import_module("pyspark.sql.functions")
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
            rows = self._file_parts().map(partial(refusable, task))
        else:
            arrays, places = pack_columns(self._frame, self._encoder, range(len(self.schema)))
            arrays += self._weight
            rows = self._frame.select(*(a.alias(f"c{i}") for i, a in enumerate(arrays)))
        kept = rows.persist(importlib.import_module("pyspark").StorageLevel.MEMORY_AND_DISK)
        weakref.finalize(self, _forget, self._spark, kept)
        self._persisted = kept, places

    # ---- jobs ------------------------------------------------------------------------------

    @property
    def _stored(self) -> Any:
        """The DataFrame, or the RDD of file parts or packed rows, that tasks run on."""
        if self._persisted is not None:
            return self._persisted[0]
        return self._file_parts() if self._frame is None else self._frame

    def _file_parts(self) -> Any:
        return self._spark.sparkContext.parallelize(self._parts, len(self._parts))

    @property
    def _weight(self) -> list[Any]:
        return [] if self._encoder.weights is None else [column_of(self._encoder.weights)]

    def _cells_of(self, names: Sequence[str]) -> list[Any]:
        """The columns to select from a DataFrame."""
        return [] if self._frame is None else list(map(column_of, names))

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
            arrays = [column_of(f"c{i}") for i in used]
            arrays += [column_of(rows.columns[-1])] if self._weight else []
        if not arrays:  # only the number of rows is needed
            arrays = [importlib.import_module("pyspark.sql.functions").lit(0)]
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

        def over_parts() -> list[Any]:
            return list(self._stored.map(partial(refusable, task)).collect())

        def over_frame() -> list[Any]:
            selected = self._stored.select(*(a.alias(f"a{i}") for i, a in enumerate(rows)))
            outcomes = selected.mapInArrow(partial(_streamed, task), "outcome binary")
            return [pickle.loads(row[0]) for row in outcomes.collect()]

        self.n_scans += 1
        collect = over_parts if self._frame is None else over_frame
        return add_parts(run_job(self._spark, collect, what, n_rows=n_rows, ctl=ctl))


# ---- what runs on the workers ------------------------------------------------------------------


@dataclass(frozen=True)
class BatchPart(Partition):
    """The rows of a partition of a DataFrame, as they come."""

    batches: Iterator[Any]

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        for batch in self.batches:
            yield batch.columns


def _streamed(task: Callable[[Partition], Any], batches: Iterator[Any]) -> Iterator[Any]:
    """One row for a partition of a DataFrame: the result of a task, pickled."""
    pa = importlib.import_module("pyarrow")
    outcome = refusable(task, BatchPart(batches))
    yield pa.record_batch([pa.array([pickle.dumps(outcome)], pa.binary())], ["outcome"])


def _forget(spark: Any, kept: Any) -> None:
    """Free what the workers keep, if the session still runs."""
    if spark.sparkContext._jsc is not None:
        kept.unpersist()


WATCH = 0.05  # seconds between two checks of a running job


def find_session(spark: Any | None) -> Any:
    """`spark`, or the active session, or a new local one."""
    try:
        sql = importlib.import_module("pyspark.sql")
    except ImportError:
        raise MissingExtraError(
            "SparkSource needs pyspark, which is not installed; install counterpane[spark] and "
            "Java 17."
        ) from None
    if spark is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for a session that is made here
        spark = sql.SparkSession.getActiveSession() or sql.SparkSession.builder.getOrCreate()
    if not isinstance(spark, sql.SparkSession) or not hasattr(spark, "_jsparkSession"):
        raise ParameterError(
            f"spark={spark!r}; a session in this process is needed, not one over Spark Connect: "
            "make it by SparkSession.builder.master(…).getOrCreate()."
        )
    return spark


class Refusal:
    """An error of ours on a worker, returned as a result: a retry would not help."""

    def __init__(self, error: CounterpaneError) -> None:
        self.error = error


def refusable(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of work on a worker, or a `Refusal`; errors that a retry may mend are raised."""
    for refused in arguments:  # an argument may be the refusal of an earlier step
        if isinstance(refused, Refusal):
            return refused
    try:
        return work(*arguments)
    except CounterpaneError as error:
        return Refusal(error)
    finally:
        _settle_in()


@cache
def _settle_in() -> None:
    """Exclude loaded modules from garbage collection, after the first task of a worker.

    Spark collects garbage after each task, and would go through all modules each time.
    """
    gc.freeze()


def run_job(
    spark: Any,
    collect: Callable[[], list[Any]],
    what: str,
    *,
    n_rows: int | None = None,
    ctl: Control | None = None,
) -> list[Any]:
    """The results that `collect` gets from the workers; a `Refusal` among them is raised.

    It runs in a job group of its own, in a thread: this one reports the share of tasks that are
    done, of `n_rows` rows where that is known, and cancels the group when the control says so.
    """
    group = f"counterpane-{uuid.uuid4()}"
    answers: list[Any] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            spark.sparkContext.setJobGroup(group, f"counterpane: {what}", interruptOnCancel=True)
            answers.extend(collect())
        except Exception as error:
            errors.append(error)

    watch = _Watch(spark.sparkContext, group, what, n_rows, ctl)
    watch.report(0.0)
    thread = importlib.import_module("pyspark").InheritableThread(target=work, session=spark)
    thread.daemon = True
    thread.start()
    try:
        while thread.is_alive():
            thread.join(WATCH)
            watch.look()
    except BaseException:
        _cancel(spark.sparkContext, group, thread)
        raise
    if errors:
        raise _failure(what, errors[0]) from None
    for answer in answers:
        if isinstance(answer, Refusal):
            raise answer.error
    watch.report(1.0)
    return answers


class _Watch:
    """The progress of the jobs of a group."""

    def __init__(
        self, context: Any, group: str, what: str, n_rows: int | None, ctl: Control | None
    ) -> None:
        self._tracker = context.statusTracker()
        self._group = group
        self._what = what
        self._n_rows = n_rows
        self._ctl = ctl
        self._done = -1.0

    def look(self) -> None:
        """Report the share of finished tasks, if it has grown; raise if the control says so."""
        if self._ctl is None:
            return
        self._ctl.check()
        tasks = done = 0
        for job in self._tracker.getJobIdsForGroup(self._group):
            job_info = self._tracker.getJobInfo(job)
            for stage in job_info.stageIds if job_info is not None else ():
                info = self._tracker.getStageInfo(stage)
                tasks += 0 if info is None else info.numTasks
                done += 0 if info is None else info.numCompletedTasks
        if tasks:
            self.report(done / tasks)

    def report(self, share: float) -> None:
        if self._ctl is not None and share > self._done:
            self._done = share
            done = share if self._n_rows is None else int(share * self._n_rows)
            self._ctl.report(self._what, done, 1 if self._n_rows is None else self._n_rows)


def _cancel(context: Any, group: str, thread: threading.Thread) -> None:
    """Cancel the jobs of a group until the thread ends, as a new job may just begin."""
    while thread.is_alive():
        context.cancelJobGroup(group)
        thread.join(WATCH)


def _failure(what: str, error: Exception) -> CounterpaneError:
    """The error of a failed job in one sentence, instead of a Java stack trace."""
    if isinstance(error, CounterpaneError):
        return error
    java = getattr(error, "java_exception", None)
    words = str(error if java is None else java.getMessage() or java.toString())
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt)\b", line)]
    said = raised[-1] if raised else (lines or [type(error).__name__])[0]
    cause = said.rpartition("most recent failure: ")[2][:300].rstrip(".")
    return DataError(
        f"Spark gave up {what}: {cause}; check that the workers live, and that they have "
        "counterpane, what it needs, and the files at the same paths."
    )

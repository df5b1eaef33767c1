"""Counts on a Spark cluster: the workers read files, or take packed rows, and run our kernels."""

from __future__ import annotations

import importlib
import pickle
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from counterpane.counts.distinct import DistinctTask
from counterpane.counts.engines.arrow_cells import Block, RowEncoder
from counterpane.counts.engines.file_readers import open_files
from counterpane.counts.engines.packed_rows import PackedRows
from counterpane.counts.engines.partitioned import (
    EncodedPart,
    FilePart,
    Partition,
    add_parts,
    pack_part,
    run_part,
    scan_part,
    split_files,
)
from counterpane.counts.engines.schema_scan import plan_schema_scan
from counterpane.counts.engines.spark_frames import (
    PackedEncoder,
    Place,
    column_of,
    column_types,
    files_of,
    pack_columns,
)
from counterpane.counts.engines.spark_jobs import find_session, refusable, run_job
from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError
from counterpane.progress import Control
from counterpane.typing import Ints, State


class SparkSource(CountSource):
    """Counts of files or of a DataFrame, by the workers of a Spark cluster.

    `data` is what `FileSource` takes, paths that all workers can read, or a DataFrame. The workers
    read files directly, and also a DataFrame that consists of parquet files or some of their
    columns. Spark SQL encodes and packs the rows of any other DataFrame before they are counted.
    `spark` is the session, the active one by default. The other options, the states and their order
    are those of `FileSource`; NULL and NaN are missing.

    For learners that need many counts, the workers keep the packed rows in memory or on their disks
    for the lifetime of the source, unless `cache` is False. A DataFrame must give the same rows
    each time it is evaluated.

    A worker that dies is replaced, and its tasks are run again. Work that `ctl` or Ctrl-C
    cancels ends on the workers, too. Real weights are summed within parts, then in their order.
    `n_scans` counts the scans of the rows.

    >>> import counterpane as cp
    >>> frame = spark.read.table("visits")                                  # doctest: +SKIP
    >>> model = cp.HillClimb().fit(cp.SparkSource(frame)).model_            # doctest: +SKIP
    """

    n_rows: int
    total_weight: float

    def __init__(
        self,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        states: Mapping[str, Sequence[State]] | None = None,
        schema: Schema | None = None,
        weights: str | None = None,
        discretize: Mapping[str, Sequence[float]] | None = None,
        max_states: int = 20,
        spark: Any | None = None,
        cache: bool = True,
        delimiter: str | None = None,
        ctl: Control | None = None,
    ) -> None:
        self._frame = data if hasattr(data, "mapInArrow") else None
        if self._frame is None and not isinstance(data, str | PathLike | list | tuple):
            raise ParameterError(
                f"data={type(data).__name__}; a Spark DataFrame or paths of files are allowed."
            )
        self._spark = find_session(spark if self._frame is None else data.sparkSession)
        files = open_files(data, delimiter=delimiter) if self._frame is None else files_of(data)
        table = files or column_types(data)
        scan = plan_schema_scan(
            table, columns=columns, states=states, schema=schema, weights=weights,
            discretize=discretize, max_states=max_states,
        )  # fmt: skip
        self._parts: list[FilePart] = []
        if files is not None:
            self._frame = None
            self._parts = split_files(files, len(scan.names))
        self._cache = cache
        self._kept: tuple[Any, dict[int, Place]] | None = None
        self.n_scans = 0
        found = add_parts(self._run(partial(scan_part, scan=scan),
                                    list(map(column_of, scan.names)) if files is None else [],
                                    "reading states", ctl))  # fmt: skip
        if found is None:
            raise DataError("the data has no rows; at least one is needed.")
        scan = found[0]
        self._encoder: RowEncoder = scan.encoder()
        self.schema, self.has_missing = self._encoder.schema, self._encoder.has_missing
        self.n_rows, self.total_weight = scan.n_rows, scan.total_weight

    def map_reduce(
        self, fn: Callable[..., Any], columns: Sequence[int], *, ctl: Control | None = None
    ) -> Any:
        columns = list(columns)
        selected: list[Any] = []
        if self._frame is not None:
            selected, encoder = self._packed(columns)
            work = partial(_count, encoder, fn, columns)
        elif self._kept is None:
            work = partial(_count, self._encoder, fn, columns)
        else:
            work = partial(run_part, fn=fn, columns=columns)
        found = add_parts(self._run(work, selected, "counting rows", ctl))
        if found is None or found[1] != self.n_rows:
            raise DataError(
                f"the data had {self.n_rows} rows when the source was made, and has another number "
                "now; make it again, from a DataFrame that gives the same rows each time."
            )
        return found[0]

    def _distinct(self, where: list[int], limit: int | None, ctl: Control | None) -> Table:
        """The distinct rows of some columns.

        Spark groups those of a DataFrame, unless a column cannot be packed or weights are real;
        workers find those of their files, which are merged here.
        """
        real = self._encoder.weights is not None and self._encoder.weight_dtype == np.float64
        if self._frame is None or real or not where:
            return super()._distinct(where, limit, ctl)
        selected, encoder = self._packed(where)
        if any(not encoder.places[v].bits for v in where):
            return super()._distinct(where, limit, ctl)
        F = importlib.import_module("pyspark.sql.functions")
        *words, weight = selected if self._weight else [*selected, F.lit(1)]
        names = [f"w{i}" for i in range(len(words))]
        rows = self._rows.select(*(w.alias(n) for w, n in zip(words, names, strict=True)),
                                 weight.cast("double").alias("n"))  # fmt: skip
        groups = rows.groupBy(*names).agg(F.sum("n").alias("n"))
        groups = groups if limit is None else groups.limit(limit + 1)
        self.n_scans += 1
        (found,) = run_job(self._spark, lambda: [groups.toArrow()], "counting rows",
                           n_rows=self.n_rows, ctl=ctl)  # fmt: skip
        block = [array.combine_chunks() for array in found.columns]
        counted = block[-1].to_numpy().astype(self._encoder.weight_dtype)
        task = DistinctTask(self.schema.select(where), limit)
        return task(encoder.encode(block, where), counted).table

    def prepare(self) -> None:
        """Have the workers keep all columns, packed, from the next question on."""
        if not self._cache or self._kept is not None:
            return
        places: dict[int, Place] = {}
        if self._frame is None:
            pack_one = partial(_pack, self._encoder, self.counted_cards)
            rows = self._each_file().map(partial(refusable, pack_one))
        else:
            arrays, places = pack_columns(self._frame, self._encoder, range(len(self.schema)))
            arrays += self._weight
            rows = self._frame.select(*(a.alias(f"c{i}") for i, a in enumerate(arrays)))
        kept = rows.persist(importlib.import_module("pyspark").StorageLevel.MEMORY_AND_DISK)
        weakref.finalize(self, _forget, self._spark, kept)
        self._kept = kept, places

    # ---- jobs ------------------------------------------------------------------------------

    @property
    def _rows(self) -> Any:
        """What to ask: a DataFrame, or a list of files or of packed rows that the workers have."""
        if self._kept is not None:
            return self._kept[0]
        return self._each_file() if self._frame is None else self._frame

    def _each_file(self) -> Any:
        return self._spark.sparkContext.parallelize(self._parts, len(self._parts))

    @property
    def _weight(self) -> list[Any]:
        return [] if self._encoder.weights is None else [column_of(self._encoder.weights)]

    def _packed(self, columns: Sequence[int]) -> tuple[list[Any], PackedEncoder]:
        """What to select from a DataFrame for some columns, weights last, and what decodes it."""
        if self._kept is None:
            arrays, places = pack_columns(self._frame, self._encoder, columns)
            arrays += self._weight
        else:
            rows, places = self._kept
            used = sorted({places[v].array for v in columns})
            places = {v: places[v]._replace(array=used.index(places[v].array)) for v in columns}
            arrays = [column_of(f"c{i}") for i in used]
            arrays += [column_of(rows.columns[-1])] if self._weight else []
        if not arrays:  # no columns are asked for, only how many rows there are
            arrays = [importlib.import_module("pyspark.sql.functions").lit(0)]
        return arrays, PackedEncoder(self._encoder, places)

    def _run(
        self, work: Callable[[Any], Any], selected: list[Any], what: str, ctl: Control | None
    ) -> list[Any]:
        """What `work` gives for each part, in order: of files, or the `selected` of a DataFrame."""

        def over_files() -> list[Any]:
            return list(self._rows.map(partial(refusable, work)).collect())

        def over_frame() -> list[Any]:
            chosen = self._rows.select(*(a.alias(f"a{i}") for i, a in enumerate(selected)))
            found = chosen.mapInArrow(partial(_streamed, work), "outcome binary")
            return [pickle.loads(row[0]) for row in found.collect()]

        self.n_scans += 1
        collect = over_files if self._frame is None else over_frame
        return run_job(self._spark, collect, what, n_rows=getattr(self, "n_rows", None), ctl=ctl)


# ---- what runs on the workers ------------------------------------------------------------------


@dataclass(frozen=True)
class _BatchPart:
    """The rows of a DataFrame's partition, as they come."""

    batches: Iterator[Any]

    def cells(self, names: Sequence[str]) -> Generator[Block, None, None]:
        for batch in self.batches:
            yield batch.columns


def _count(encoder: RowEncoder, fn: Callable[..., Any], columns: list[int], part: Partition) -> Any:
    return run_part(EncodedPart(part, encoder), fn, columns)


def _pack(encoder: RowEncoder, cards: Ints, part: Partition) -> PackedRows:
    return pack_part(EncodedPart(part, encoder), cards)


def _streamed(work: Callable[[Partition], Any], batches: Iterator[Any]) -> Iterator[Any]:
    """One row for a partition of a DataFrame: what `work` gives for it, pickled."""
    pa = importlib.import_module("pyarrow")
    outcome = refusable(work, _BatchPart(batches))
    yield pa.record_batch([pa.array([pickle.dumps(outcome)], pa.binary())], ["outcome"])


def _forget(spark: Any, kept: Any) -> None:
    """Free what the workers keep, if the session still runs."""
    if spark.sparkContext._jsc is not None:
        kept.unpersist()

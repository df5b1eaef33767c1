"""Counts of a table that Dask holds or reads: workers count their parts, and only sums are sent."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from typing import Any, Unpack

from counterpane.counts.engines.partitioned import (
    Job,
    PackPart,
    PartitionedSource,
    PartSum,
    add_parts,
    run_job,
)
from counterpane.counts.source import CountSource, counted_cards
from counterpane.data.block_schema import RowFacts, SchemaOptions
from counterpane.data.encoding import BlockEncoder
from counterpane.data.readers.text_files import FileOptions
from counterpane.data.reading import open_files
from counterpane.errors import (
    DataError,
    MissingExtraError,
    ParameterError,
    TableSizeError,
    library_errors,
)
from counterpane.progress import Control

FAN_IN = 8  # results that one task adds
LOCAL_MEMORY = 2**29  # bytes that packed rows may take where there is no cluster


class DaskSource(PartitionedSource):
    """Counts of a Dask DataFrame, or of files that Dask's workers read themselves.

    One scan finds the states; known categories keep their order and unobserved states. Each
    partition is counted by the worker that holds it, and by another one if that dies. Sums are
    added in the order of the rows, so they do not depend on which worker was faster. `n_scans`
    counts how often the rows were read; learners that need many counts keep the packed rows on the
    workers, if a quarter of their memory is enough.

    Parameters
    ----------
    data : Dask DataFrame or paths
        Paths are those that `FileSource` takes; every worker must be able to read them.
    delimiter : str
        Of text files; detected by default.
    client : distributed.Client
        By default the one that is open; without any, Dask's local scheduler is used.
    ctl : Control
        Reports on the first scan, and can stop it between parts.
    **options
        Those of `FileSource` that describe columns.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "f", "m"], "ill": ["no", "yes", None, "no"]})
    >>> source = DaskSource(dd.from_pandas(frame, npartitions=2))
    >>> source.counts([["sex", "ill"]])[0].tolist(), source.n_scans
    ([[1, 0], [1, 1]], 2)
    """

    def __init__(
        self,
        data: Any,
        *,
        delimiter: str | None = None,
        client: Any = None,
        ctl: Control | None = None,
        **options: Unpack[SchemaOptions],
    ) -> None:
        self._dask = _module("dask")
        self._client = _open_client() if client is None else client
        self._packed: list[Any] | None = None
        if _are_paths(data):
            self._scan_states(open_files(data, FileOptions(delimiter)), ctl, options)
        else:
            self._frame = _named(data)
            self._scan_states(RowFacts("the frame", tuple(self._frame.columns)), ctl, options)

    def prepare(self) -> None:
        """Have the workers keep all columns, packed, if a quarter of their memory is enough."""
        if self._packed is None and self._packed_bytes() <= _memory_of(self._client) // 4:
            rows, _ = self._rows_of(list(range(len(self.schema))))
            packed = self._each(PackPart(self._encoder, counted_cards(self)), rows)
            persist = self._dask.persist if self._client is None else self._client.persist
            with _plain_errors():
                self._packed = list(persist(*packed) if self._client is None else persist(packed))

    def scans_of(self, passes: int, before: int | None) -> int:
        """One for each pass, or one for all once the workers keep the rows."""
        if self._packed is not None:
            return 0
        fits = self._packed_bytes() <= _memory_of(self._client) // 4
        return passes if before is None or not fits else before + 1

    def cache(self, columns: Sequence[int] | None = None) -> CountSource:
        self.prepare()
        return self

    def _cells_of(self, names: Sequence[str]) -> list[Any]:
        """A delayed value for each part of the files or partition of the frame."""
        self.n_scans += 1
        if self._parts:
            return list(map(self._delayed_value, self._parts))
        return list(self._frame[list(names)].to_delayed())

    def _rows_of(self, columns: list[int]) -> tuple[list[Any], BlockEncoder | None]:
        if self._packed is not None:
            return self._packed, None
        return self._cells_of(self._encoder.names(columns)), self._encoder

    def _delayed_value(self, value: Any) -> Any:
        """A delayed value that is sent as it is, once."""
        return self._dask.delayed(value, traverse=False, pure=False)

    def _each(self, task: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        sent = self._delayed_value(task)
        return [self._call(_apply, sent, part) for part in parts]

    def _call(self, fn: Callable[..., Any], *arguments: Any) -> Any:
        return self._dask.delayed(fn, pure=False)(*arguments)

    def _sum(
        self,
        task: Callable[[Any], PartSum],
        rows: list[Any],
        what: str,
        ctl: Control | None,
        n_rows: int | None = None,
    ) -> PartSum:
        sums = self._each(task, rows)
        sizes = [] if ctl is None else [self._call(_n_rows, part) for part in sums]
        while len(sums) > 1:
            groups = [sums[i : i + FAN_IN] for i in range(0, len(sums), FAN_IN)]
            sums = [self._call(_apply, add_parts, group) for group in groups]
        done = 0

        def report(rows: int) -> None:
            nonlocal done
            done += rows
            if ctl is not None and rows:
                ctl.report(what, done, n_rows)

        with _plain_errors():
            if self._client is None:
                return _run_locally(self._dask, sums[0], sizes, report)
            result: PartSum = run_job(ClusterJob(self._client, sums[0], sizes, report), ctl)
            return result


# ---- what runs on workers ----------------------------------------------------------------------


class _TooLarge(Exception):
    """Stands for a `TableSizeError`, which Dask cannot unpickle, as it is a `MemoryError`."""


def _apply(task: Callable[[Any], Any], rows: Any) -> Any:
    try:
        return task(rows)
    except TableSizeError as error:
        message = str(error)
    raise _TooLarge(message)  # outside of the handler, so that it has no context


def _n_rows(result: PartSum) -> int:
    return 0 if result is None else result[1]


# ---- what runs them ----------------------------------------------------------------------------


def _run_locally(dask: Any, total: Any, sizes: list[Any], report: Callable[[int], None]) -> PartSum:
    """The value of `total` by the local scheduler, which calls back after each task."""
    keys = {size.key for size in sizes}

    def after(key: Any, rows: Any, *_: Any) -> None:
        if key in keys:
            report(rows)

    active = importlib.import_module("dask.callbacks").Callback.active  # the user's, such as a bar
    callbacks = [*active, (None, None, None, after, None)]
    result: PartSum = dask.compute(total, *sizes, callbacks=callbacks)[0]
    return result


class ClusterJob(Job):
    """Tasks of a cluster: those whose sum is asked for, and their numbers of rows to report."""

    def __init__(
        self, client: Any, total: Any, sizes: list[Any], report: Callable[[int], None]
    ) -> None:
        self._client, self._report = client, report
        self._total, *self._sizes = self._futures = client.compute([total, *sizes])
        # An event, since the error of `distributed.wait` at a timeout keeps the futures alive.
        self._done = threading.Event()
        self._total.add_done_callback(lambda _, done=self._done: done.set())

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def report(self) -> None:
        while self._sizes and self._sizes[0].done():
            self._report(self._sizes.pop(0).result())

    def result(self) -> PartSum:
        total: PartSum = self._total.result()
        for size in self._sizes:
            self._report(size.result())
        return total

    def cancel(self) -> None:
        with suppress(Exception):  # if the cluster is lost, the first error says so
            self._client.cancel(self._futures)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turns errors of a failing cluster into one sentence."""
    died = library_errors(
        lambda _: DataError(
            "several Dask workers died while they counted the same part of the rows; give them "
            "more memory, or make the partitions smaller."
        ),
        only=_is_called("KilledWorker"),
    )
    lost = library_errors(
        lambda _: DataError(
            "the Dask cluster was lost while rows were counted; connect to one again, and make "
            "the source again."
        ),
        only=_is_called("CancelledError", "CommClosedError", "ClosedClientError"),
    )
    try:
        with died, lost:
            yield
    except _TooLarge as error:
        raise TableSizeError(str(error)) from None


def _is_called(*names: str) -> Callable[[Exception], bool]:
    """Whether an error is of a class of one of these names."""
    return lambda error: not {kind.__name__ for kind in type(error).__mro__}.isdisjoint(names)


def _memory_of(client: Any) -> int:
    """The bytes of memory that the workers have, all together."""
    if client is None:
        return 4 * LOCAL_MEMORY
    workers = client.scheduler_info()["workers"].values()  # newer versions list a few of them
    least = min((w["memory_limit"] or 4 * LOCAL_MEMORY for w in workers), default=0)
    return int(least * len(client.ncores()))


def _open_client() -> Any:
    """The client that is open, if there is one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


# ---- what is given -----------------------------------------------------------------------------


def _are_paths(data: Any) -> bool:
    paths = data if isinstance(data, list | tuple) else [data]
    return bool(paths) and all(isinstance(path, str | PathLike) for path in paths)


def _named(frame: Any) -> Any:
    """`frame`, checked, with texts as the names of its columns."""
    if not (hasattr(frame, "to_delayed") and hasattr(frame, "_meta") and hasattr(frame, "columns")):
        raise ParameterError(
            f"data={type(frame).__name__}; a Dask DataFrame or paths of files are allowed."
        )
    names = list(map(str, frame.columns))
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"the column name {name!r} occurs twice; each needs its own.")
    return frame if names == list(frame.columns) else frame.rename(columns=str)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError("Dask is not installed; install counterpane[dask].") from None

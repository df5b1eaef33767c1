"""Jobs on a Spark cluster, by a session in this process or over Spark Connect.

A job runs in a thread. Sessions in this process name their jobs by a group, and sessions over
Connect by a tag.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
import threading
import time
import uuid
import weakref
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from counterpane.counts.engines.partitioned import WATCH, Job, run_job
from counterpane.errors import (
    CounterpaneError,
    DataError,
    MissingExtraError,
    ParameterError,
    Setting,
)
from counterpane.progress import Control

PATIENCE = 10.0  # seconds that a server has to end a job that is cancelled


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
    if not hasattr(spark, "_jsparkSession") and not _is_remote(spark):
        raise ParameterError(
            Setting("spark", spark),
            "; a SparkSession is needed: make it by "
            "SparkSession.builder.master(…).getOrCreate(), or .remote(…) for Spark Connect.",
        )
    return spark


def _is_remote(spark: Any) -> bool:
    """Whether a session is one over Spark Connect."""
    return hasattr(spark, "interruptTag") and not hasattr(spark, "_jsparkSession")


def forget_later(owner: Any, spark: Any, kept: Any) -> None:
    """Free the rows that the workers keep when `owner` goes, if the session still runs."""
    weakref.finalize(owner, _forget, spark, kept)


def _forget(spark: Any, kept: Any) -> None:
    if not _is_remote(spark):
        if spark.sparkContext._jsc is not None:
            kept.unpersist()
    elif not spark.is_stopped:
        _soon(kept.unpersist)


def _soon(call: Callable[[], Any]) -> None:
    """Call a server that may have gone: its client would try again for minutes."""

    def quietly() -> None:
        with suppress(Exception):
            call()

    thread = threading.Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(PATIENCE)


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


def accepted(result: Any) -> Any:
    """The result of work on a worker; a `Refusal` is raised."""
    if isinstance(result, Refusal):
        raise result.error
    return result


@cache
def _settle_in() -> None:
    """Exclude loaded modules from garbage collection, after the first task of a worker.

    Spark collects garbage after each task, and would go through all modules each time.
    """
    gc.freeze()


def run_on_spark(
    spark: Any,
    collect: Callable[[], list[Any]],
    what: str,
    *,
    n_rows: int | None = None,
    ctl: Control | None = None,
) -> list[Any]:
    """The results that `collect` gets from the workers."""
    kind = RemoteJob if _is_remote(spark) else LocalJob
    results: list[Any] = run_job(kind(spark, collect, what, n_rows, ctl), ctl)
    return results


class SparkJob(Job):
    """A job that a thread waits for; the share of its tasks that are done is reported."""

    def __init__(
        self,
        spark: Any,
        collect: Callable[[], list[Any]],
        what: str,
        n_rows: int | None,
        ctl: Control | None,
    ) -> None:
        self._spark, self._collect, self._what = spark, collect, what
        self._n_rows, self._ctl = n_rows, ctl
        self._name, self._done = f"counterpane-{uuid.uuid4()}", -1.0
        self._answers: list[Any] = []
        self._error: Exception | None = None
        self._finished = threading.Event()  # Thread.join may return early after Ctrl-C
        self._report(0.0)
        kind = importlib.import_module("pyspark").InheritableThread
        kind(target=self._work, session=spark, daemon=True).start()

    def _work(self) -> None:
        try:
            self._begin()
            self._answers = self._collect()
        except Exception as error:
            self._error = error
        finally:
            self._finished.set()

    def _report(self, share: float) -> None:
        if self._ctl is not None and share > self._done:
            self._done = share
            done = share if self._n_rows is None else int(share * self._n_rows)
            self._ctl.report(self._what, done, self._n_rows or 1)

    def wait(self, seconds: float) -> bool:
        return self._finished.wait(seconds)

    def report(self) -> None:
        self._report(self._share())

    def result(self) -> list[Any]:
        if self._error is not None:
            raise _failure(self._what, self._error) from None
        self._report(1.0)
        return self._answers

    @abstractmethod
    def _begin(self) -> None:
        """Name the jobs of the calling thread."""

    @abstractmethod
    def _share(self) -> float:
        """The share of tasks that are done."""


class LocalJob(SparkJob):
    """A job of a session in this process, in a job group."""

    def _begin(self) -> None:
        context = self._spark.sparkContext
        context.setJobGroup(self._name, f"counterpane: {self._what}", interruptOnCancel=True)

    def _share(self) -> float:
        tasks = done = 0
        tracker = self._spark.sparkContext.statusTracker()
        for job in tracker.getJobIdsForGroup(self._name):
            job_info = tracker.getJobInfo(job)
            for stage in job_info.stageIds if job_info is not None else ():
                info = tracker.getStageInfo(stage)
                tasks += 0 if info is None else info.numTasks
                done += 0 if info is None else info.numCompletedTasks
        return done / tasks if tasks else 0.0

    def cancel(self) -> None:
        while not self._finished.is_set():  # a new job may just begin
            self._spark.sparkContext.cancelJobGroup(self._name)
            self._finished.wait(WATCH)


class RemoteJob(SparkJob):
    """Operations of a session over Spark Connect, under a tag."""

    _heard = 0.0

    def __init__(self, spark: Any, *given: Any) -> None:
        spark.registerProgressHandler(self._hear)
        super().__init__(spark, *given)

    def _begin(self) -> None:
        self._spark.addTag(self._name)

    def _hear(self, stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
        tasks = sum(stage.num_tasks for stage in stages or ())
        completed = sum(stage.num_completed_tasks for stage in stages or ())
        self._heard = completed / tasks if tasks else self._heard

    def _share(self) -> float:
        return self._heard

    def cancel(self) -> None:
        until = time.monotonic() + PATIENCE
        while not self._finished.is_set() and time.monotonic() < until:  # it may just begin
            _soon(lambda: self._spark.interruptTag(self._name))
            self._finished.wait(WATCH)

    def end(self) -> None:
        self._spark.removeProgressHandler(self._hear)


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

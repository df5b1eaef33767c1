"""Jobs of a Spark session: watched, cancelled, and their failures told in a sentence."""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
import threading
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any

from counterpane.errors import CounterpaneError, DataError, MissingExtraError, ParameterError
from counterpane.progress import Control

GLANCE = 0.05  # seconds between two looks at a running job


def find_session(spark: Any | None) -> Any:
    """The session given, or the one that is active, else a new one of this machine's cores."""
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
    """An error of ours that a worker met: handed back as a result, for a retry would not help."""

    def __init__(self, error: CounterpaneError) -> None:
        self.error = error


def refusable(work: Callable[..., Any], *given: Any) -> Any:
    """What some work on a worker gives, or a `Refusal`; what Spark may mend is raised."""
    for refused in given:  # by what came before
        if isinstance(refused, Refusal):
            return refused
    try:
        return work(*given)
    except CounterpaneError as error:
        return Refusal(error)
    finally:
        _settle_in()


@cache
def _settle_in() -> None:
    """Have the collector pass over what a worker has loaded, once its first task is done.

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
    """What `collect` brings back from the workers, raised if one of them refused.

    It runs in a job group of its own, in a thread: this one reports the share of tasks that are
    done, of `n_rows` rows where that is known, and cancels the group when it is told to stop.
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
            thread.join(GLANCE)
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
    """How far the jobs of a group are."""

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
        """Report the share of the tasks that are done, if it has grown; stop if told to."""
        if self._ctl is None:
            return
        self._ctl.check()
        tasks = done = 0
        for job in self._tracker.getJobIdsForGroup(self._group):
            found = self._tracker.getJobInfo(job)
            for stage in found.stageIds if found is not None else ():
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
    """End the jobs of a group; again and again, as one may begin just now."""
    while thread.is_alive():
        context.cancelJobGroup(group)
        thread.join(GLANCE)


def _failure(what: str, error: Exception) -> CounterpaneError:
    """What stopped Spark, in one sentence instead of a Java stack."""
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

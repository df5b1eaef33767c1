"""Independent pieces of work, by threads or by joblib's workers, with results in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from counterpane import _core
from counterpane.progress import Control

P = TypeVar("P")
R = TypeVar("R")


def thread_pool(n_threads: int) -> ThreadPoolExecutor:
    """A pool whose kernels are watched like those of the calling thread: they stop with it."""
    watcher = _core.watch(None)
    _core.watch(watcher)
    return ThreadPoolExecutor(n_threads, initializer=_core.watch, initargs=(watcher,))


def map_in_threads(work: Callable[[P], R], parts: Sequence[P], n_jobs: int) -> Iterator[R]:
    """work(part) for each part, in the order of the parts.

    The results are produced as they are consumed if n_jobs is 1. If the consumer or a part raises,
    parts that have not started are cancelled.

    >>> list(map_in_threads(lambda x: x * x, [1, 2, 3], n_jobs=2))
    [1, 4, 9]
    """
    if n_jobs == 1 or len(parts) <= 1:
        yield from map(work, parts)
        return
    with thread_pool(n_jobs) as pool:
        try:
            yield from pool.map(work, parts)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def map_in_workers(
    work: Callable[[P], R], parts: Iterable[P], n_jobs: int, ctl: Control | None = None
) -> Iterator[R]:
    """work(part) for each part, in order; `ctl.check()` is called after each.

    Inside `joblib.parallel_config(backend=…)` with n_jobs > 1, that backend runs the parts, perhaps
    in other processes: `work` must be picklable and return all its results.
    """
    joblib = _joblib_with_backend() if n_jobs > 1 else None
    if joblib is not None:
        run = joblib.Parallel(n_jobs, return_as="generator", max_nbytes=None)
        results = run(joblib.delayed(work)(part) for part in parts)
    else:
        results = map_in_threads(work, list(parts), n_jobs)
    for result in results:
        yield result
        if ctl is not None:
            ctl.check()


def _joblib_with_backend() -> Any | None:
    """joblib, if it is imported and a backend was chosen."""
    joblib = sys.modules.get("joblib")
    if joblib is None:
        return None
    with joblib.parallel_config() as config:
        chosen = isinstance(config["backend"], joblib.parallel.ParallelBackendBase)
    return joblib if chosen else None

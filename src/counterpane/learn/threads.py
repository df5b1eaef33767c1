"""Independent parts of some work, by threads, or by the workers that joblib was told to use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from counterpane.parallel import thread_pool
from counterpane.progress import Control

P = TypeVar("P")
R = TypeVar("R")


def by_threads(
    work: Callable[[P], R], parts: Iterable[P], n_jobs: int, ctl: Control | None = None
) -> Iterator[R]:
    """work(part) for each part, in order; `ctl` is asked after each.

    Where the caller is inside a `joblib.parallel_config(backend=…)` and n_jobs > 1, that backend
    runs the parts, perhaps in other processes: `work` can be pickled and returns all it finds.
    """
    joblib = _joblib_with_backend() if n_jobs > 1 else None
    with thread_pool(n_jobs) as pool:
        try:
            if joblib is not None:
                run = joblib.Parallel(n_jobs, return_as="generator", max_nbytes=None)
                found = run(joblib.delayed(work)(part) for part in parts)
            else:
                found = pool.map(work, parts) if n_jobs > 1 else map(work, parts)
            for one in found:
                yield one
                if ctl is not None:
                    ctl.check()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _joblib_with_backend() -> Any | None:
    """joblib, if somebody has imported it and chosen a backend."""
    joblib = sys.modules.get("joblib")
    if joblib is None:
        return None
    with joblib.parallel_config() as config:
        chosen = isinstance(config["backend"], joblib.parallel.ParallelBackendBase)
    return joblib if chosen else None

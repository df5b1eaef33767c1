"""Independent parts of some work, by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from counterpane.progress import Control

P = TypeVar("P")
R = TypeVar("R")


def by_threads(
    work: Callable[[P], R], parts: Iterable[P], n_jobs: int, ctl: Control | None = None
) -> Iterator[R]:
    """work(part) for each part, in order; `ctl` is asked after each."""
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            for found in pool.map(work, parts) if n_jobs > 1 else map(work, parts):
                yield found
                if ctl is not None:
                    ctl.check()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise

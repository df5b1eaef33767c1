"""Independent parts of some work, by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from counterpane.progress import Control

P = TypeVar("P")


def run_parts(
    run: Callable[[P], None], parts: Iterable[P], n_jobs: int, ctl: Control | None = None
) -> None:
    """Call run(part) for each part; `ctl` is asked after each, in order."""
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            for _ in pool.map(run, parts) if n_jobs > 1 else map(run, parts):
                if ctl is not None:
                    ctl.check()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise

"""Threads for independent parts of some work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from counterpane import _core


def thread_pool(n_threads: int) -> ThreadPoolExecutor:
    """A pool whose kernels are watched as those of the calling thread: they stop with it."""
    watcher = _core.watch(None)
    _core.watch(watcher)
    return ThreadPoolExecutor(n_threads, initializer=_core.watch, initargs=(watcher,))

"""Long kernels let Python in: watchers, time limits, Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from counterpane import _core
from counterpane._core import counts
from counterpane.parallel import thread_pool
from counterpane.progress import Control, Stopped
from error_checks import raises


def long_count():
    """Seconds of popcounts in one call."""
    bits = np.zeros((256, 40_000), np.uint64)
    rows, out = np.arange(256), np.zeros((256, 256), np.int64)
    for _ in range(100):  # a fast machine needs more than one
        counts.pair_popcounts(bits, rows, 0, bits, rows, 0, 40_000, False, rows, out)


def test_a_watcher_ends_a_kernel():
    calls = []

    def check():
        calls.append(time.monotonic())
        if len(calls) == 4:
            raise Stopped("enough")

    former = _core.watch(check)
    try:
        with raises(Stopped, about="enough"):
            long_count()
    finally:
        assert _core.watch(former) is check
    assert len(calls) == 4


def test_a_control_is_asked_inside_a_kernel():
    with Control.within(0.2).watching(), raises(Stopped, about="time limit"):
        long_count()
    assert _core.watch(None) is None


def test_threads_of_a_pool_stop_with_their_caller():
    with Control.within(0.2).watching(), thread_pool(2) as pool:
        ends = [pool.submit(long_count) for _ in range(2)]
        for end in ends:
            with pytest.raises(Stopped):
                end.result()


def test_other_threads_are_not_watched():
    seen = []
    with Control.within(1e-9).watching():
        thread = threading.Thread(target=lambda: seen.append(_core.watch(None)))
        thread.start()
        thread.join()
    assert seen == [None]


def test_ctrl_c_ends_a_kernel():
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            long_count()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, former)

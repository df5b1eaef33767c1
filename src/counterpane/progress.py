"""Progress and cancellation, as one small object that long work carries with it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, TextIO

from counterpane import _core

Report = Callable[[str, float, float | None], None]
"""Called with (what is being done, units done, units in all or None)."""


class Stopped(Exception):
    """Raised between two blocks of work when the control asks to stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Control:
    """Passes on the progress of long work, and stops it after a deadline or when it is cancelled.

    `deadline` is a value of `time.monotonic()`. `cancel` may be called from any thread.
    """

    def __init__(self, report: Report | None = None, deadline: float | None = None) -> None:
        self._report = report
        self._deadline = deadline
        self._cancelled = threading.Event()

    @classmethod
    def within(cls, seconds: float | None, report: Report | None = None) -> Control:
        """A control that stops `seconds` from now; `None` never stops."""
        return cls(report, None if seconds is None else time.monotonic() + seconds)

    def cancel(self) -> None:
        """Ask the work to stop at its next block."""
        self._cancelled.set()

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def check(self) -> None:
        """Raise `Stopped` if the work should end now."""
        if self._cancelled.is_set():
            raise Stopped("cancelled")
        if self.expired:
            raise Stopped("time limit")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Let this thread's kernels `check` too, so that they end inside a single large table."""
        former = _core.watch(None)

        def check() -> None:
            if former is not None:  # work within other work ends with it
                former()
            self.check()

        _core.watch(check)
        try:
            yield
        finally:
            _core.watch(former)

    def report(self, what: str, done: float, total: float | None) -> None:
        """Pass on how far the work is, then `check`."""
        if self._report is not None:
            self._report(what, done, total)
        self.check()


class TextBar:
    """A progress line on standard error: units done, rate, time left; silent when piped."""

    _shown: ClassVar[list[TextBar]] = []  # bars that have a line on a terminal now

    def __init__(self, stream: TextIO | None = None, *, after: float = 0.5) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._began = time.monotonic()
        self._drawn = self._began + after  # work shorter than this draws nothing
        self._width = 0

    def __enter__(self) -> TextBar:
        return self

    def __exit__(self, *error: object) -> None:
        self._erase()

    @classmethod
    def clear(cls) -> None:
        """Erase the lines of all bars, so that other text can be printed; they draw again later."""
        for bar in list(cls._shown):
            bar._erase()

    def _erase(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
            self._shown.remove(self)

    def __call__(self, what: str, done: float, total: float | None) -> None:
        now = time.monotonic()
        if now < self._drawn or not self._stream.isatty():
            return
        self._drawn = now + 0.1
        rate = done / max(now - self._began, 1e-9)
        line = f"{what}: {done:,.0f}"
        if total:
            left = (total - done) / rate if rate else float("inf")
            line += f" of {total:,.0f} ({100 * done / total:.0f} %)"
            line += f", {rate:,.1f}/s, {left:,.0f} s left" if rate else ""
        if not self._width:
            self._shown.append(self)
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

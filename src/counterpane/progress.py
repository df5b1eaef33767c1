"""Progress and cancellation, as one small object that long work carries with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Report = Callable[[str, float, float | None], None]
"""Called with (what is being done, units done, units in all or None)."""


class Stopped(Exception):
    """Raised between two blocks of work when the control asks to stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Control:
    """What long work asks between blocks: may I go on, and who wants to know how far I am.

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

    def check(self) -> None:
        """Raise `Stopped` if the work should end now."""
        if self._cancelled.is_set():
            raise Stopped("cancelled")
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise Stopped("time limit")

    def report(self, what: str, done: float, total: float | None) -> None:
        """Pass on how far the work is, then `check`."""
        if self._report is not None:
            self._report(what, done, total)
        self.check()

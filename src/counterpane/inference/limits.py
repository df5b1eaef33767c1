"""How much memory and time an exact answer may take."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache

from counterpane.errors import ParameterError, Setting
from counterpane.memory import available_memory
from counterpane.progress import Report

SHARE = 0.5  # of the memory that is available
PATIENCE, LEAST_SECONDS = 3.0, 60.0  # times the seconds allowed, and at least so many
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


@dataclass(frozen=True)
class Limits:
    """What an exact answer may take: `seconds` by the estimate of its plan, and bytes of `memory`.

    With `memory=None` it is half of what is available. `math.inf` seconds force an exact answer, 0
    seconds ask for none. `threads` is the number of threads (by default OMP_NUM_THREADS, or all
    cores), which changes no bit of an answer; `report` is called with the progress of long ones.

    >>> Limits(memory=2e9).bytes
    2000000000
    """

    seconds: float = 120.0
    memory: float | None = None
    threads: int | None = None
    report: Report | None = field(default=None, compare=False)

    @property
    def bytes(self) -> int:
        """The memory that may be used."""
        if self.memory is None:
            return int(SHARE * _available(int(time.monotonic())))
        return int(min(self.memory, 2.0**63))

    @property
    def hard_seconds(self) -> float | None:
        """After which an exact answer is given up; estimates of time may be off by a factor."""
        return None if math.isinf(self.seconds) else max(LEAST_SECONDS, PATIENCE * self.seconds)

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        if self.threads is not None:
            return max(1, self.threads)
        text = os.environ.get("OMP_NUM_THREADS", "")
        return max(1, int(text)) if text.isdecimal() else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _available(second: int) -> int:
    """What is available, read at most once in a second."""
    return available_memory()


_current: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current_limits() -> Limits:
    """The limits of the question that is being answered.

    >>> current_limits().seconds
    120.0
    """
    return _current.get() or Limits()


@contextmanager
def limited(
    exact: bool | float | None = None,
    max_memory: float | str | None = None,
    *,
    threads: int | None = None,
    report: Report | None = None,
) -> Iterator[None]:
    """Set the limits of questions inside: seconds (or True, False), bytes (or "2 GB"), and so on.

    >>> with limited(exact=True, max_memory="2 GB"):
    ...     print(current_limits().seconds, current_limits().bytes)
    inf 2000000000
    """
    limits = current_limits()
    if exact is not None:
        limits = replace(limits, seconds=_seconds(exact))
    if max_memory is not None:
        limits = replace(limits, memory=parse_memory(max_memory))
    if threads is not None:
        limits = replace(limits, threads=threads)
    if report is not None:
        limits = replace(limits, report=report)
    token = _current.set(limits)
    try:
        yield
    finally:
        _current.reset(token)


def parse_memory(text: float | str) -> float:
    """A number of bytes, from a number or a text such as "500 MB".

    >>> parse_memory("1.5GB")
    1500000000.0
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE)
    value = float(match[1]) * UNITS[match[2].lower()] if match else math.nan
    if isinstance(text, int | float) and not isinstance(text, bool):
        value = float(text)
    if not value > 0:
        raise ParameterError(
            Setting("max_memory", text),
            "; a number of bytes above 0 is needed, or a text such as '2 GB'.",
        )
    return value


def _seconds(exact: bool | float) -> float:
    if isinstance(exact, bool):
        return math.inf if exact else 0.0
    if not isinstance(exact, int | float) or not exact >= 0:
        raise ParameterError(
            Setting("exact", exact),
            "; True, False, or the seconds that an exact answer may take, are needed.",
        )
    return float(exact)

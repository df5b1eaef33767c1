"""How a call of a fuzzer may end: with a result, a `CounterpaneError`, or too late."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from counterpane.errors import CounterpaneError

SECONDS = 10.0  # of processor time that a call may take
PATIENCE = 12  # times as long by the clock, on which a busy machine counts too


class TooLate(BaseException):
    """Raised by the alarm; no code of the library catches it."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `TooLate` in the main thread after some processor seconds; kernels let it through."""

    def ring(*_: object) -> None:
        raise TooLate

    timers = [
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, PATIENCE * seconds),
    ]
    former = [signal.signal(sign, ring) for sign, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (sign, timer, _), handler in zip(timers, former, strict=True):
            signal.setitimer(timer, 0.0)
            signal.signal(sign, handler)


def judge(label: str, call: Callable[[], str | None], seconds: float = SECONDS) -> str | None:
    """What is wrong with a call, which itself returns what is wrong with its result; or None.

    An error of the library is a legitimate end; any other is not.
    """
    try:
        with alarm(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fault = call()
    except CounterpaneError as error:
        fault = _unfit(str(error))
    except TooLate:
        fault = f"takes more than {seconds:g} processor seconds, or hangs"
    except Exception:
        fault = "foreign exception: " + traceback.format_exc(limit=-4)
    return None if fault is None else f"{label}: {fault}"


def _unfit(message: str) -> str | None:
    """What is wrong with the message of an error: it must be one short line."""
    if len(message) > 1000 or "\n" in message:
        return f"the message has {len(message)} characters: {message[:200]!r}"
    return None

"""What may happen to a worker while it counts: functions that are sent to it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from contract.count_source_suite import sum_and_rows


class Accident:
    """A sum over rows on whose way, once, a process dies: the worker's own, or its executor."""

    def __init__(self, mark: Path, victim: str) -> None:
        self.mark, self.victim = str(mark), victim

    def __call__(self, codes: Any, weights: Any) -> Any:
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return sum_and_rows(codes, weights)
        daemon = os.getppid()
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(os.getpid() if self.victim == "worker" else executor, signal.SIGKILL)
        time.sleep(60)
        return None


def dies(codes: Any, weights: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def fails(codes: Any, weights: Any) -> Any:
    raise ZeroDivisionError("no such share")


def slow(codes: Any, weights: Any) -> Any:
    time.sleep(300)
    return sum_and_rows(codes, weights)

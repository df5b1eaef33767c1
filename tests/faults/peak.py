"""The memory that a call takes at its peak, in the same process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

MOST_BYTES = 2**30  # that one input may take
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _field(name: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def peak_growth() -> Callable[[], int]:
    """A function that says by how many bytes resident memory has grown at its peak since now."""
    if not CLEAR.exists():
        return lambda: 0
    CLEAR.write_text("5")  # the peak starts again from what is resident now
    start = _field("VmRSS")
    return lambda: _field("VmHWM") - start


def faults_of(seeds: Iterable[int], try_once: Callable[[int], str | None]) -> list[str]:
    """The faults of many seeds; to take too much memory is one.

    Memory is measured once for all, and again for each seed if it was much.
    """
    listed = list(seeds)
    grown = peak_growth()
    faults = [fault for seed in listed if (fault := try_once(seed)) is not None]
    if grown() <= MOST_BYTES:
        return faults
    faults = []
    for seed in listed:
        grown = peak_growth()
        fault = try_once(seed)
        if fault is None and (size := grown()) > MOST_BYTES:
            fault = f"{try_once.__module__}, seed {seed}: takes {size:,} bytes"
        faults += [] if fault is None else [fault]
    return faults

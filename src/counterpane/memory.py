"""The memory that is available, and the refusal of work that would need more: before it begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from counterpane.errors import TableSizeError

resource: Any = import_module("resource") if os.name == "posix" else None

SMALL = 2**24  # bytes that nobody needs to ask for
UNKNOWN = 2**32  # bytes that are taken to be available where the system does not tell
GROUPS = Path("/sys/fs/cgroup")
PROCESS = Path("/proc/self")

FEWER_COLUMNS = "select fewer columns"
FEWER_STATES = "merge rare states, or leave out columns with thousands of states"


def available_memory() -> int:
    """The bytes that this process can still take: of the machine, its control group and its limits.

    >>> available_memory() > 0
    True
    """
    found = [_of_machine(), *_of_groups(), _of_limits()]
    return max(0, min((n for n in found if n is not None), default=UNKNOWN))


def need_memory(n_bytes: float, what: str, advice: str) -> None:
    """Raise a `TableSizeError` if `what` needs more memory than there is; nothing is allocated.

    >>> need_memory(8 * 100**2, "a matrix of 100 columns", "select fewer columns")
    """
    if n_bytes <= SMALL:
        return
    available = available_memory()
    if n_bytes > available:
        raise TableSizeError(
            f"{what} would need {size_text(n_bytes)} of memory, and {size_text(available)} are "
            f"available; {advice}."
        )


def is_small_share(n_bytes: float) -> bool:
    """Whether some memory is at most a quarter of what is available.

    >>> is_small_share(1000)
    True
    """
    return n_bytes <= SMALL or 4 * n_bytes <= available_memory()


def size_text(n_bytes: float) -> str:
    """A number of bytes for people.

    >>> size_text(64e9), size_text(1500), size_text(7.2e12)
    ('64 GB', '1.5 kB', '7.2 TB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return (
                f"{n_bytes / size:,.0f} {unit}"
                if n_bytes >= 10 * size
                else (f"{n_bytes / size:.1f} {unit}")
            )
    return f"{n_bytes:.0f} bytes"


@contextmanager
def memory_errors(what: str) -> Iterator[None]:
    """Turns a failed allocation into a `TableSizeError` that says what failed."""
    try:
        yield
    except TableSizeError:
        raise
    except MemoryError:
        raise TableSizeError(
            f"memory ran out: {what} needs more than the {size_text(available_memory())} that are "
            "available; take fewer columns, rows or states."
        ) from None


def _of_machine() -> int | None:
    """What the kernel says is available; elsewhere the memory of the machine."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_groups() -> Iterator[int]:
    """What each control group above this process has left; files in the page cache can go."""
    try:
        lines = (PROCESS / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = GROUPS / controllers
        names = ("memory.max", "memory.current", "inactive_file")
        if controllers:
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        inside = root / place.lstrip("/")
        for folder in (inside, *inside.parents):
            left = _left_in_group(folder, *names)
            if left is not None:
                yield left
            if folder == root:
                break
        else:  # within a container the path is that of the host
            left = _left_in_group(root, *names)
            if left is not None:
                yield left


def _left_in_group(folder: Path, limit: str, usage: str, cached: str) -> int | None:
    try:
        most = int((folder / limit).read_text())
        used = int((folder / usage).read_text())
        _, _, entry = ("\n" + (folder / "memory.stat").read_text()).partition(f"\n{cached} ")
    except (OSError, ValueError):  # "max" is no number: no limit
        return None
    return most - used + int(entry.split(None, 1)[0] if entry else 0)


def _of_limits() -> int | None:
    """What the limits of the process leave of its address space."""
    if resource is None:
        return None
    soft: int = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft == resource.RLIM_INFINITY:
        return None
    try:
        pages = int((PROCESS / "statm").read_text().split()[0])
    except (OSError, ValueError):
        return soft
    return soft - pages * int(resource.getpagesize())

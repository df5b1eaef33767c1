"""A disk that fails at one call: at each open, write, sync, rename and delete in turn."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import counterpane as cp
from counterpane import disk

CALLS = ("open", "fsync", "replace", "unlink", "scandir")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT)


class FailingDisk:
    """Counts the calls that reach the disk, and lets the one numbered `fails` raise."""

    def __init__(self, fails: int, number: int) -> None:
        self.fails, self.number = fails, number
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:  # in place of the module `os`
        function = getattr(os, name)
        return self.guarded(name, function) if name in CALLS else function

    def guarded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which raises where it is its turn."""

        def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) == self.fails:
                raise OSError(self.number, os.strerror(self.number), "a temporary name")
            return function(*arguments, **options)

        return call

    def open_file(self, *arguments: Any, **options: Any) -> Any:
        """As `open`; writing and flushing the file are calls of their own."""
        file = self.guarded("open", builtins.open)(*arguments, **options)
        return _File(self, file)


class _File:
    def __init__(self, failing: FailingDisk, file: Any) -> None:
        self._failing, self._file = failing, file

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._file, name)
        return self._failing.guarded(name, member) if name in ("write", "flush") else member

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


@contextmanager
def failing_disk(fails: int, number: int) -> Iterator[FailingDisk]:
    """Let the library's call `fails` to the disk fail with an error number."""
    failing = FailingDisk(fails, number)
    former = disk.os
    disk.os, disk.open = failing, failing.open_file  # type: ignore[assignment, attr-defined]
    try:
        yield failing
    finally:
        disk.os = former
        del disk.open  # type: ignore[attr-defined]


def each_call(write: Callable[[], Any], check: Callable[[BaseException | None], None]) -> int:
    """Fail each call of `write` in turn, with each error; the number of failures made."""
    tries = 0
    for number in ERRORS:
        fails = 1
        while True:
            error: BaseException | None = None
            with failing_disk(fails, number) as failing:
                try:
                    write()
                except Exception as caught:
                    error = caught
            check(error)
            if len(failing.calls) < fails:  # there is no such call
                break
            tries += 1
            fails += 1
    return tries


def check_error(error: BaseException | None, path: Path) -> None:
    """An error of a disk is the library's and the system's, and names the user's path."""
    if error is None:
        return
    assert isinstance(error, cp.CounterpaneError), repr(error)
    assert isinstance(error, OSError)
    assert error.filename == str(path)
    assert path.name in str(error)
    assert "temporary" not in str(error)

"""The one place that knows Numba: its flags, its cache, and the bit-count instruction."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import cgutils, event
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

# error_model="numpy" drops the zero-division branch, which would stop vectorization.
# No fastmath: minus infinity and empty cells carry meaning.
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: F) -> F:
    """`function` compiled on first use, cached on disk, run without the GIL."""
    try:
        compiled = numba.njit(cache=True, **_FLAGS)(function)
    except RuntimeError:  # no folder can hold the cache: compile in every process instead
        return numba.njit(**_FLAGS)(function)  # type: ignore[no-any-return]
    _tie_to_sources(compiled)
    return compiled  # type: ignore[no-any-return]


def _tie_to_sources(compiled: Any) -> None:
    """Make the cache of a kernel forget it when a file changes whose kernels it may have inlined.

    Numba looks at the kernel's own file only, and would go on with the old code of the others.
    """
    cache = compiled._cache
    plain = cache._index_key
    namespace = compiled.py_func.__globals__

    def index_key(signature: Any, codegen: Any) -> tuple[Any, ...]:
        return (*plain(signature, codegen), _stamp(namespace))

    cache._index_key = index_key


def _stamp(namespace: dict[str, Any]) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file with kernels that a module's kernels can reach."""
    files: dict[str, tuple[str, int, int]] = {}
    waiting = [namespace]
    while waiting:
        here = waiting.pop()
        path = here.get("__file__", "")
        if path in files or not path:
            continue
        facts = os.stat(path)
        files[path] = (here["__name__"], facts.st_mtime_ns, facts.st_size)
        reached = (getattr(v, "py_func", None) for v in here.values())
        waiting += [f.__globals__ for f in reached if f is not None]
    return tuple(sorted(files.values()))


def when_compiling(tell: Callable[[], None]) -> None:
    """Have `tell` called once, when a kernel is first compiled rather than taken from the disk."""
    event.register("numba:compile", _First(tell))


class _First(event.Listener):  # type: ignore[misc]
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        """Nothing: only the first start is told."""


def inlined(function: F) -> F:
    """Like `kernel`, for a small body that must melt into its caller's loop."""
    return numba.njit(inline="always", **_FLAGS)(function)  # type: ignore[no-any-return]


@intrinsic  # type: ignore[untyped-decorator]
def popcount(typing_context: Any, word: Any) -> Any:
    """The number of set bits in a uint64, as int64: one machine instruction, and it vectorizes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    if word != types.uint64:
        return None
    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """The index of the lowest set bit of a non-zero uint64, as int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.false_bit)

    if word != types.uint64:
        return None
    return types.int64(types.uint64), generate

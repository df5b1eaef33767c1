"""The one place that knows Numba: its flags, its cache, and the bit-count instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

# error_model="numpy" drops the zero-division branch, which would stop vectorization.
# No fastmath: minus infinity and empty cells carry meaning.
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: F) -> F:
    """`function` compiled on first use, cached on disk, run without the GIL."""
    try:
        return numba.njit(cache=True, **_FLAGS)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder can hold the cache: compile in every process instead
        return numba.njit(**_FLAGS)(function)  # type: ignore[no-any-return]


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

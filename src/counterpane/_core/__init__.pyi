"""The compiled kernels: one submodule an area (src/core), the instruction level, the watcher."""

from collections.abc import Callable

level: str
"""The instruction level in use: "v2", "v3" or "v4" on x86-64, "base" elsewhere."""
levels: str
"""Those of this processor, comma-separated; `COUNTERPANE_LEVEL` forces one of them."""
checked: int
"""1 where every index is checked (built with COUNTERPANE_CHECKED)."""

def watch(check: Callable[[], None] | None, /) -> Callable[[], None] | None:
    """Have `check` called by this thread's long kernels, which its exceptions end; the former."""

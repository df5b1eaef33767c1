"""What kernels of other packages that are not compiled ahead of time still need of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.graphs._kernels import lowest


@kernel
def row_key(store: Any, child: int, family: Any) -> Any:
    """The hash of (child, the set `family`): toggling one parent is one exclusive or."""
    key = store.zobrist[0, child]
    p = lowest(family, 0)
    while p >= 0:
        key ^= store.zobrist[1, p]
        p = lowest(family, p + 1)
    return key


@kernel
def find_row(store: Any, child: int, family: Any) -> int:
    """The slot that holds the row of (child, the set `family`), or -1."""
    key = row_key(store, child, family)
    slot = store.head[key & np.uint64(store.head.size - 1)] - 1
    while slot >= 0:
        if store.keys[slot] == key and store.child[slot] == child:
            same = True
            for w in range(family.size):
                same = same and family[w] == store.parents[slot, w]
            if same:
                return slot  # type: ignore[no-any-return]
        slot = store.next[slot] - 1
    return -1

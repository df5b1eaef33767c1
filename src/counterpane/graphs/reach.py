"""What paths lead to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(near: Any, start: Iterable[Node], closed: Iterable[Node] = ()) -> set[Node]:
    """`start` and all that paths lead to, not into or through `closed`.

    `near[v]`, of a list or a dictionary, are the nodes one step from v.

    >>> sorted(reached({0: [1], 1: [2], 2: [0], 3: [0]}, [0], closed=[2]))
    [0, 1]
    """
    seen, waiting, stop = set(start), list(start), set(closed)
    while waiting:
        for v in near[waiting.pop()]:
            if v not in seen and v not in stop:
                seen.add(v)
                waiting.append(v)
    return seen

"""The marks of a partial ancestral graph: rules R1 to R10.

J. Zhang, On the completeness of orientation rules for causal discovery in the presence of latent
confounders and selection bias, Artificial Intelligence 172, 2008. `marks[i, j]` is the mark at j of
the edge between i and j; see `MixedGraph.from_marks`. An arrowhead at j says that j is no cause of
i, a tail that it is one (or of a selection), a circle that the independences allow both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from counterpane.graphs.mixed import ARROW, CIRCLE, NONE, TAIL
from counterpane.lazy import lazy
from counterpane.typing import Array

csgraph = lazy("scipy.sparse.csgraph")

InSets = Callable[[int, int, int], bool]
"""(a, c, b): whether b is in the sets that separate a and c."""


class AncestralMarks:
    """The marks of a graph, all circles at first, and the rules that change them.

    Parameters
    ----------
    adjacent : array of bool, shape (n, n)
        The skeleton.
    in_sets : callable
        (a, c, b): whether b is in the sets that separate a and c, which are not joined.

    Examples
    --------
    >>> import numpy as np
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> work = AncestralMarks(chain, lambda a, c, b: False)
    >>> work.add_colliders()
    >>> work.close()
    >>> (work.marks[0, 1], work.marks[1, 0]) == (ARROW, CIRCLE)
    True
    """

    def __init__(self, adjacent: Array, in_sets: InSets) -> None:
        self.n = len(adjacent)
        self.marks = np.where(adjacent, CIRCLE, NONE).astype(np.int8)
        self.near = [np.flatnonzero(row).tolist() for row in adjacent]
        self.in_sets = in_sets
        self.changed = False

    def set(self, i: int, j: int, mark: int) -> None:
        """Put a mark at j of the edge i – j, if it is a circle."""
        if self.marks[i, j] == CIRCLE:
            self.marks[i, j] = mark
            self.changed = True

    def joined(self, i: int, j: int) -> bool:
        """Whether there is an edge."""
        return bool(self.marks[i, j] != NONE)

    def add_known(
        self, arrows: Iterable[tuple[int, int]], tails: Iterable[tuple[int, int]]
    ) -> None:
        """Arrowheads at b of (a, b), and tails at a."""
        for a, b in arrows:
            self.set(a, b, ARROW)
        for a, b in tails:
            self.set(b, a, TAIL)

    def open_cycles(self) -> int:
        """Replace the tails of directed edges on cycles by circles; return their number.

        Tests that contradict each other can direct edges in a cycle. The arrowheads remain.
        """
        arcs = (self.marks == ARROW) & (self.marks.T == TAIL)
        _, group = csgraph.connected_components(arcs, connection="strong")
        on_cycle = arcs & (group[:, None] == group)
        self.marks[on_cycle.T] = CIRCLE
        return int(on_cycle.sum())

    def add_colliders(self) -> None:
        """Arrowheads at b of each a – b – c whose separating sets do not hold b."""
        for b in range(self.n):
            for i, c in enumerate(self.near[b]):
                for a in self.near[b][:i]:
                    if not self.joined(a, c) and not self.in_sets(a, c, b):
                        self.set(a, b, ARROW)
                        self.set(c, b, ARROW)

    def close(self) -> None:
        """Apply all rules until nothing changes."""
        rules = (self._r1, self._r2, self._r3, self._r4, self._r5, self._r6_r7, self._r8)
        while True:
            self.changed = False
            for rule in (*rules, self._r9, self._r10):
                rule()
            if not self.changed:
                return

    def _r1(self) -> None:
        """a *→ b o–* c with a, c not joined: b → c."""
        m = self.marks
        for b in range(self.n):
            into = [a for a in self.near[b] if m[a, b] == ARROW]
            for c in self.near[b]:
                if m[c, b] == CIRCLE and any(a != c and not self.joined(a, c) for a in into):
                    self.set(c, b, TAIL)
                    self.set(b, c, ARROW)

    def _r2(self) -> None:
        """a → b *→ c or a *→ b → c, and a *–o c: a *→ c."""
        m = self.marks
        for a in range(self.n):
            for c in self.near[a]:
                if m[a, c] == CIRCLE and any(
                    m[a, b] == ARROW and m[b, c] == ARROW and (m[b, a] == TAIL or m[c, b] == TAIL)
                    for b in self.near[a]
                ):
                    self.set(a, c, ARROW)

    def _r3(self) -> None:
        """a *→ b ←* c, a *–o d o–* c with a, c not joined, and d *–o b: d *→ b."""
        m = self.marks
        for b in range(self.n):
            into = [a for a in self.near[b] if m[a, b] == ARROW]
            for d in self.near[b]:
                if m[d, b] != CIRCLE:
                    continue
                tips = [a for a in into if a != d and m[a, d] == CIRCLE]
                if any(not self.joined(a, c) for i, c in enumerate(tips) for a in tips[:i]):
                    self.set(d, b, ARROW)

    def _r4(self) -> None:
        """A path that discriminates for b, and b o–* c: b → c or a ↔ b ↔ c."""
        m = self.marks
        for b in range(self.n):
            for c in self.near[b]:
                if m[c, b] != CIRCLE:
                    continue
                for a, d in self._discriminating(b, c):
                    if self.in_sets(d, c, b):
                        self.set(c, b, TAIL)
                        self.set(b, c, ARROW)
                    else:
                        self.set(a, b, ARROW)
                        self.set(b, c, ARROW)
                        self.set(c, b, ARROW)
                    break

    def _discriminating(self, b: int, c: int) -> Iterator[tuple[int, int]]:
        """(a, d) of each shortest path d … a, b, c: inner nodes are colliders and parents of c."""
        m = self.marks
        starts = [a for a in self.near[b] if m[b, a] == ARROW and self._is_parent(a, c)]
        seen, waiting = {b, c, *starts}, [(a, a) for a in starts]
        while waiting:
            a, end = waiting.pop(0)
            for d in self.near[end]:
                if d in seen or m[d, end] != ARROW:
                    continue
                if not self.joined(d, c):
                    yield a, d
                elif self._is_parent(d, c) and m[end, d] == ARROW:
                    seen.add(d)
                    waiting.append((a, d))

    def _is_parent(self, a: int, c: int) -> bool:
        return bool(self.marks[a, c] == ARROW and self.marks[c, a] == TAIL)

    def _r5(self) -> None:
        """An uncovered path a o–o c … d o–o b beside a o–o b: all its edges are undirected."""
        for a in range(self.n):
            for b in self.near[a]:
                if a < b and self._is_circle(a, b):
                    path = self._circle_path(a, b)
                    for u, v in pairwise(path):
                        self.set(u, v, TAIL)
                        self.set(v, u, TAIL)
                    if path:
                        self.set(a, b, TAIL)
                        self.set(b, a, TAIL)

    def _is_circle(self, a: int, b: int) -> bool:
        return bool(self.marks[a, b] == CIRCLE and self.marks[b, a] == CIRCLE)

    def _circle_path(self, a: int, b: int) -> list[int]:
        """An uncovered path of edges o–o from a to b whose ends' inner neighbors suit R5."""
        waiting = [[a, c] for c in self.near[a]
                   if c != b and self._is_circle(a, c) and not self.joined(c, b)]  # fmt: skip
        while waiting:
            path = waiting.pop()
            for v in self.near[path[-1]]:
                if v in path or not self._is_circle(path[-1], v) or self.joined(path[-2], v):
                    continue
                if v == b:
                    if not self.joined(a, path[-1]):
                        return [*path, b]
                else:
                    waiting.append([*path, v])
        return []

    def _r6_r7(self) -> None:
        """a – b o–* c, or a –o b o–* c with a, c not joined: a tail at b of the edge to c."""
        m = self.marks
        for b in range(self.n):
            tails = [a for a in self.near[b] if m[b, a] == TAIL]
            for c in self.near[b]:
                if m[c, b] == CIRCLE and any(
                    m[a, b] == TAIL or (m[a, b] == CIRCLE and not self.joined(a, c))
                    for a in tails
                    if a != c
                ):
                    self.set(c, b, TAIL)

    def _half_directed(self) -> list[tuple[int, int]]:
        """The edges a o→ c."""
        places = np.argwhere((self.marks == ARROW) & (self.marks.T == CIRCLE))
        return [(int(a), int(c)) for a, c in places]

    def _r8(self) -> None:
        """a → b → c or a –o b → c, and a o→ c: a → c."""
        m = self.marks
        for a, c in self._half_directed():
            if any(
                m[b, a] == TAIL and m[a, b] in (ARROW, CIRCLE) and self._is_parent(b, c)
                for b in self.near[a]
            ):
                self.set(c, a, TAIL)

    def _r9(self) -> None:
        """a o→ c, and an uncovered path from a to c whose second node is not joined to c: a → c."""
        for a, c in self._half_directed():
            starts = [b for b in self.near[a] if b != c and not self.joined(b, c)]
            if any(self._leads(a, b, c) for b in starts):
                self.set(c, a, TAIL)

    def _r10(self) -> None:
        """a o→ c ← b, d, and uncovered paths from a to b and to d that begin apart: a → c."""
        for a, c in self._half_directed():
            parents = [b for b in self.near[c] if b != a and self._is_parent(b, c)]
            first = [
                {u for u in self.near[a] if u != c and self._leads(a, u, b, without=c)}
                for b in parents
            ]
            if any(
                u != w and not self.joined(u, w)
                for i in range(len(parents))
                for k in range(i)
                for u in first[i]
                for w in first[k]
            ):
                self.set(c, a, TAIL)

    def _leads(self, a: int, b: int, end: int, without: int = -1) -> bool:
        """Whether an uncovered path a, b, …, `end` may be directed."""
        if not self._may_lead(a, b):
            return False
        waiting = [[a, b]]
        while waiting:
            path = waiting.pop()
            if path[-1] == end:
                return True
            waiting += [
                [*path, v]
                for v in self.near[path[-1]]
                if v not in path
                and v != without
                and self._may_lead(path[-1], v)
                and not self.joined(path[-2], v)
            ]
        return False

    def _may_lead(self, u: int, v: int) -> bool:
        """Whether the edge u – v may be u → v."""
        return bool(self.marks[v, u] not in (NONE, ARROW) and self.marks[u, v] != TAIL)


def possible_d_sep(marks: Array) -> Array:
    """Which nodes v may be needed to separate x from others, entry [x, v] (Possible-D-SEP).

    A path leads from x to v on which each inner node is a collider or is in a triangle.
    """
    n = len(marks)
    near = [np.flatnonzero(row).tolist() for row in marks]
    reached = np.zeros((n, n), dtype=bool)
    for x in range(n):
        seen = {(x, v) for v in near[x]}
        waiting = list(seen)
        while waiting:
            u, v = waiting.pop()
            reached[x, v] = True
            for w in near[v]:
                if w in (u, x) or (v, w) in seen:
                    continue
                if marks[u, w] != NONE or (marks[u, v] == ARROW and marks[w, v] == ARROW):
                    seen.add((v, w))
                    waiting.append((v, w))
    return reached

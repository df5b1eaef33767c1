"""Inference instead of tests: from executed tests by rules of graphs, and from the pair tables.

Sets of variables are Python integers, bit v for variable v. GSIMN asks one of two rule sets, which
have the same two methods, before it executes a test: `KnowledgeBase` (the paper's) or
`PairTableRules` (the default on data).
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Self

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.counts.source import CountSource
from counterpane.progress import Control
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Floats, Ints


class KnowledgeBase:
    """Answers to x ⊥ y | given that follow from those added; each rule is applied once.

    In a graph, separation by S is separation by every superset of S (strong union), and if X and Y
    are separated by Z then one of them is separated from any third W by Z (transitivity). From
    these follow the triangle rules (Bromberg, Margaritis & Honavar 2009). For each pair only the
    largest sets that leave it dependent and the smallest that make it independent are stored: the
    others follow from these.

    >>> base = KnowledgeBase(4)
    >>> base.add(0, 1, 0b0000, False)
    >>> base.add(1, 2, 0b1000, False)
    >>> base.infer(0, 2, 0), base.infer(0, 2, 0b1000)
    (False, None)
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._exact: dict[tuple[int, int, int], bool] = {}
        self._dependent = _list_per_pair(n)
        self._independent = _list_per_pair(n)

    def add(self, x: int, y: int, given: int, independent: bool) -> None:
        """Store an answer."""
        self._exact.setdefault((min(x, y), max(x, y), given), independent)
        sets = (self._independent if independent else self._dependent)[x][y]
        if independent:
            if not any(a | given == given for a in sets):
                sets[:] = [a for a in sets if a & given != given]
                sets.append(given)
        elif not any(a & given == given for a in sets):
            sets[:] = [a for a in sets if a | given != given]
            sets.append(given)

    def infer(self, x: int, y: int, given: int, propagated: bool | None = None) -> bool | None:
        """Whether x ⊥ y | given, if one rule decides it; what a triangle rule decides is stored.

        An answer to the same question comes first, then the `propagated` one.
        """
        answer = self._exact.get((min(x, y), max(x, y), given), propagated)
        if answer is not None:
            return answer
        if any(a & given == given for a in self._dependent[x][y]):
            return False  # strong union
        shared = self._dependent_triangle(x, y, given)
        if shared is not None:
            self.add(x, y, shared, False)
            return False
        if any(a | given == given for a in self._independent[x][y]):
            return True  # strong union
        for near, far in ((x, y), (y, x)):
            subset = self._independent_triangle(near, far, given)
            if subset is not None:
                self.add(x, y, subset, True)
                return True
        return None

    def _dependent_triangle(self, x: int, y: int, given: int) -> int | None:
        """A ∩ B ⊇ given with x ⊥̸ w | A and w ⊥̸ y | B; A does not contain w, so w is not given."""
        to_x, to_y = self._dependent[x], self._dependent[y]
        for w in range(self.n):
            if given >> w & 1 or w in (x, y):
                continue
            for a in to_x[w]:
                if a & given == given:
                    for b in to_y[w]:
                        if b & given == given:
                            return a & b
        return None

    def _independent_triangle(self, x: int, y: int, given: int) -> int | None:
        """A ⊆ given with x ⊥ w | A and w ⊥̸ y | B, A ⊆ B.

        The rule is not symmetric in x and y. Applied both ways it reproduces the published costs.
        """
        to_x, to_y = self._independent[x], self._dependent[y]
        for w in range(self.n):
            if w in (x, y):
                continue
            for a in to_x[w]:
                if a | given == given:
                    for b in to_y[w]:
                        if a & b == a:
                            return a
        return None


def _list_per_pair(n: int) -> list[list[list[int]]]:
    """An empty list for each unordered pair, shared by both orders."""
    lists: list[list[list[int]]] = [[[] for _ in range(n)] for _ in range(n)]
    for x in range(n):
        for y in range(x):
            lists[x][y] = lists[y][x]
    return lists


class PairTables:
    """The covariance of the indicators of all states but one of each column, from pair tables.

    From all pair tables follows the association of two columns given others, as far as it is
    linear in the indicators of states; docs/design/questions.md has the formulas and the limits.
    One pseudo-row, spread evenly over the states of a column, keeps constant and copied columns
    regular. Only states that occur count. `rows` (n, n) are those complete in both columns.
    """

    def __init__(self, sigma: Floats, starts: Ints, rows: Floats) -> None:
        self.sigma = sigma
        self.starts = starts
        self.rows = rows
        self.n = len(starts) - 1
        widths = np.diff(starts).astype(np.float64)
        self.freedom: Floats = np.outer(widths, widths)
        strengths = np.empty((self.n, self.n))
        kernels.pair_strengths(sigma, starts, strengths)
        self.effects: Floats = -np.expm1(-2.0 * np.maximum(strengths, 0.0))

    @classmethod
    def of(cls, source: CountSource, *, ctl: Control | None = None) -> Self:
        """The pair tables of `source`."""
        n = len(source.schema)
        pairs = list(combinations(range(n), 2))
        tables = list(source.counts([*((v,) for v in range(n)), *pairs], ctl=ctl))
        singles = tables[:n]
        states = [np.flatnonzero(counts) for counts in singles]
        starts = offsets_of(max(occurring.size - 1, 0) for occurring in states)
        sigma, rows = np.zeros((starts[-1], starts[-1])), np.zeros((n, n))
        blocks = [slice(a, b) for a, b in pairwise(starts.tolist())]
        for v, counts in enumerate(singles):
            total = float(counts.sum())
            rows[v, v] = total
            share = counts[states[v]][1:] / max(total, 1e-300)
            k = max(states[v].size, 1)
            even = np.eye(share.size) / k - 1.0 / k**2
            block = np.diag(share) - np.outer(share, share)
            sigma[blocks[v], blocks[v]] = (block * total + even) / (total + 1.0)
        for (v, w), table in zip(pairs, tables[n:], strict=True):
            total = float(table.sum())
            rows[v, w] = rows[w, v] = total
            cells = np.ix_(states[v][1:], states[w][1:])
            block = _covariance(table, total)[cells] * total / (total + 1)
            sigma[blocks[v], blocks[w]] = block
            sigma[blocks[w], blocks[v]] = block.T
        return cls(sigma, starts, rows)

    def information(self, x: int, y: int, given: list[int]) -> float:
        """I(x; y | given) in nats per row, in the linear approximation."""
        columns = np.array(given, dtype=np.int64)
        return kernels.partial_information(self.sigma, self.starts, x, y, columns)

    def reading(self, *, floor: float, doubt: float, prior: float) -> kernels.Reading:
        """These tables as kernels take them."""
        return kernels.Reading(
            self.sigma, self.starts, self.effects, self.rows, floor, doubt, prior
        )


def _covariance(table: Array, total: float) -> Floats:
    """p(s, t) − p(s) p(t) of a pair table."""
    p = table / max(total, 1e-300)
    covariance: Floats = p - np.outer(p.sum(axis=1), p.sum(axis=0))
    return covariance


class PairTableRules:
    """Answers to x ⊥ y | given from executed tests of the same pair and from the pair tables.

    In this order: the same test; a propagated answer; an executed test that found the two
    dependent given a superset; the pair tables, if a trusting and a doubting estimate agree; an
    executed test that found them independent given a subset. Inferred answers are not stored.

    The linear approximation may overestimate the association by κ = `DOUBT` of the strength of the
    paths through `given` and by s₀ = `FLOOR` in any case, and underestimate it by κ↑ = `RAISE` of
    that strength; `MARGIN` is in nats.
    """

    FLOOR = 1e-4
    DOUBT = 0.1
    RAISE = 0.01
    MARGIN = 1.0

    def __init__(self, tables: PairTables) -> None:
        self.tables = tables
        self._executed: dict[tuple[int, int], dict[int, bool]] = {}

    def add(self, x: int, y: int, given: int, independent: bool) -> None:
        """Store the answer of an executed test."""
        self._executed.setdefault((min(x, y), max(x, y)), {}).setdefault(given, independent)

    def infer(self, x: int, y: int, given: int, propagated: bool | None = None) -> bool | None:
        """Whether x ⊥ y | given; None if it has to be tested."""
        executed = self._executed.get((min(x, y), max(x, y)), {})
        answer = executed.get(given, propagated)
        if answer is not None:
            return answer
        if any(not independent and s & given == given for s, independent in executed.items()):
            return False
        answer = self._from_tables(x, y, given)
        if answer is None and any(
            independent and s | given == given for s, independent in executed.items()
        ):
            return True
        return answer

    def _from_tables(self, x: int, y: int, given: int) -> bool | None:
        """Whether both estimates say independent, or both dependent, by the margin."""
        least, most = self.bounds(x, y, [v for v in range(self.tables.n) if given >> v & 1])
        if least > self.MARGIN:
            return False
        return True if most < -self.MARGIN else None

    def bounds(self, x: int, y: int, given: list[int]) -> tuple[float, float]:
        """The smallest and the largest log-odds of dependence that the pair tables allow."""
        tables = self.tables
        rows, freedom = float(tables.rows[x, y]), float(tables.freedom[x, y])
        information = tables.information(x, y, given)
        path = float(tables.effects[x, given] @ tables.effects[given, y])
        least = math.inf
        for doubt in (0.0, self.DOUBT * path):
            effective = rows / (1.0 + rows * (self.FLOOR + doubt))
            penalty = freedom / 2 * math.log(max(effective, 3.0))
            least = min(least, effective * information - penalty)
        most = rows * (information + self.RAISE * path / 2) - freedom / 2 * math.log(max(rows, 1.0))
        return least, most

"""What all pair tables together say: the covariance of indicator columns, and partial association.

A pair table says more than its verdict: from all of them follows the association of two columns
given others, as far as it is linear in the indicators of states. Formulas and where this reading
errs: docs/design/questions.md.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Self

import numpy as np

from counterpane._core import learn_independence as kernels
from counterpane.counts.source import CountSource
from counterpane.progress import Control
from counterpane.typing import Array, Floats, Ints


class PairTables:
    """The covariance of the indicators of all states but one of each column, from pair tables.

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
        live = [np.flatnonzero(counts) for counts in singles]
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum([max(states.size - 1, 0) for states in live], out=starts[1:])
        sigma, rows = np.zeros((starts[-1], starts[-1])), np.zeros((n, n))
        parts = [slice(a, b) for a, b in pairwise(starts.tolist())]
        for v, counts in enumerate(singles):
            total = float(counts.sum())
            rows[v, v] = total
            share = counts[live[v]][1:] / max(total, 1e-300)
            k = max(live[v].size, 1)
            even = np.eye(share.size) / k - 1.0 / k**2
            block = np.diag(share) - np.outer(share, share)
            sigma[parts[v], parts[v]] = (block * total + even) / (total + 1.0)
        for (v, w), table in zip(pairs, tables[n:], strict=True):
            total = float(table.sum())
            rows[v, w] = rows[w, v] = total
            block = covariance(table, total)[np.ix_(live[v][1:], live[w][1:])] * total / (total + 1)
            sigma[parts[v], parts[w]] = block
            sigma[parts[w], parts[v]] = block.T
        return cls(sigma, starts, rows)

    def information(self, x: int, y: int, given: list[int]) -> float:
        """I(x; y | given) of the linear reading, in nats a row."""
        columns = np.array(given, dtype=np.int64)
        return kernels.partial_information(self.sigma, self.starts, x, y, columns)

    def reading(self, *, floor: float, doubt: float, prior: float) -> kernels.Reading:
        """What the kernels take."""
        return kernels.Reading(
            self.sigma, self.starts, self.effects, self.rows, floor, doubt, prior
        )


def covariance(table: Array, total: float) -> Floats:
    """p(s, t) − p(s) p(t) of a pair table."""
    p = table / max(total, 1e-300)
    difference: Floats = p - np.outer(p.sum(axis=1), p.sum(axis=0))
    return difference


class Margins:
    """What follows of x ⊥ y | given from executed tests and, by a margin, from the pair tables.

    In this order: the very test; what was told from elsewhere; an executed test that found the two
    dependent given more; the pair tables, where a trusting and a doubting reading agree; an
    executed test that found them independent given less. What was read is never a premise.

    κ = `DOUBT` and κ↑ = `RAISE` of the strength of the paths through `given` may be invented by
    the linear reading, and s₀ = `FLOOR` anywhere; `MARGIN` is in nats.
    """

    FLOOR = 1e-4
    DOUBT = 0.1
    RAISE = 0.01
    MARGIN = 1.0

    def __init__(self, tables: PairTables) -> None:
        self.tables = tables
        self._executed: dict[tuple[int, int], dict[int, bool]] = {}

    def add(self, x: int, y: int, given: int, independent: bool) -> None:
        """Note an executed test; sets are Python integers, bit v for variable v."""
        self._executed.setdefault((min(x, y), max(x, y)), {}).setdefault(given, independent)

    def infer(self, x: int, y: int, given: int, known: bool | None = None) -> bool | None:
        """Whether x ⊥ y | given, None where it has to be tested."""
        executed = self._executed.get((min(x, y), max(x, y)), {})
        answer = executed.get(given, known)
        if answer is not None:
            return answer
        if any(not told and more & given == given for more, told in executed.items()):
            return False
        answer = self._read(x, y, given)
        if answer is None and any(
            told and less | given == given for less, told in executed.items()
        ):
            return True
        return answer

    def _read(self, x: int, y: int, given: int) -> bool | None:
        """Dependent or independent where both readings say so, with a margin."""
        least, most = self.bounds(x, y, [v for v in range(self.tables.n) if given >> v & 1])
        if least > self.MARGIN:
            return False
        return True if most < -self.MARGIN else None

    def bounds(self, x: int, y: int, given: list[int]) -> tuple[float, float]:
        """The least and the most log-odds of dependence that the pair tables allow."""
        tables = self.tables
        rows, freedom = float(tables.rows[x, y]), float(tables.freedom[x, y])
        information = tables.information(x, y, given)
        path = float(tables.effects[x, given] @ tables.effects[given, y])
        least = math.inf
        for doubt in (0.0, self.DOUBT * path):
            counted = rows / (1.0 + rows * (self.FLOOR + doubt))
            least = min(least, counted * information - freedom / 2 * math.log(max(counted, 3.0)))
        most = rows * (information + self.RAISE * path / 2) - freedom / 2 * math.log(max(rows, 1.0))
        return least, most

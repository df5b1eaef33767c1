"""Tables of a class network that back off to smaller contexts.

P(x | parents, class) is estimated around P(x | class), that around P(x), and that around the even
distribution: (n(x, context) + α P(x | smaller context)) / (n(context) + α). The strengths α are
those under which the rows are most probable when each is left out of the counts in turn, so that a
context that tells nothing, such as the cells of a column of ids, is not believed. Counts suffice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpane.typing import Bools, Floats

STRENGTHS = 4.0 ** np.arange(-1, 11)  # 0.25 … 1,048,576 rows


@dataclass(frozen=True, eq=False)
class Tables:
    """P(child | context), axes (context…, child), from all rows and with one row left out.

    `own` holds the value of each cell when a row of that cell is left out of the counts.
    """

    full: Floats
    own: Floats
    unknown: Bools | None = None  # states of the child without a row

    @property
    def fresh(self) -> Floats:
        """`full`, and 1, which says nothing of the class, for states without a row."""
        return self.full if self.unknown is None else np.where(self.unknown, 1.0, self.full)


def feature_tables(
    counts: Floats, class_axis: int | None, prior: float, candidates: int
) -> tuple[Tables, Tables]:
    """The tables of a feature's family, and those of the same family without the class.

    `counts` has the axes (parents…, child); `class_axis` is that of the class, None if it is no
    parent: then both are the same. `prior` is the weight of the even distribution. A parent that
    was chosen among `candidates` must gain more than their ln, in nats, to be believed at all.
    """
    last = counts.ndim - 1
    totals = counts.sum(axis=tuple(range(last)))
    base = _base(totals, prior)
    features = tuple(a for a in range(last) if a != class_axis)
    needed = math.log(max(candidates, 1))
    free = counts if class_axis is None else counts.sum(axis=class_axis, keepdims=True)
    plain = _level(free, base, needed) if features else _like(base, free.shape)
    given = plain
    if class_axis is not None and features:
        given = _level(counts, _level(counts.sum(axis=features, keepdims=True), base), needed)
    elif class_axis is not None:
        given = _level(counts, base)
    unknown = totals == 0
    return Tables(given.full, given.own, unknown), Tables(plain.full, plain.own, unknown)


def class_tables(counts: Floats, prior: float, candidates: int) -> tuple[Tables, Tables]:
    """The same for the class itself, axes (parents…, class): given its parents, and alone."""
    alone = _base(counts.sum(axis=tuple(range(counts.ndim - 1))), prior)
    plain = _like(alone, counts.shape)
    if counts.ndim == 1:
        return plain, plain
    return _level(counts, alone, math.log(max(candidates, 1))), plain


def _base(totals: Floats, prior: float) -> Tables:
    """P(child) alone."""
    share, n = prior / totals.size, totals.sum()
    return Tables((totals + share) / (n + prior), (_less(totals) + share) / (_less(n) + prior))


def _level(counts: Floats, lower: Tables, needed: float = 0.0) -> Tables:
    """One more level around `lower`."""
    strength = _strength(counts, lower.own, needed)
    if strength == math.inf:
        return _like(lower, counts.shape)
    context = counts.sum(axis=-1, keepdims=True)
    return Tables(
        (counts + strength * lower.full) / (context + strength),
        (_less(counts) + strength * lower.own) / (_less(context) + strength),
    )


def _strength(counts: Floats, lower: Floats, needed: float) -> float:
    """The α under which the rows are most probable, each left out of its own estimate.

    Infinite where the context does not gain more than `needed` nats over `lower`.
    """
    cells = np.nonzero(counts)
    n = counts[cells]
    around = np.broadcast_to(lower, counts.shape)[cells]
    context = _less(np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)[cells])
    left = _less(n)
    logs = [float(n @ np.log((left + a * around) / (context + a))) for a in STRENGTHS]
    if max(logs) <= float(n @ np.log(around)) + needed:
        return math.inf
    return float(STRENGTHS[int(np.argmax(logs))])


def _less(counts: Floats) -> Floats:
    """Counts without one row."""
    left: Floats = np.maximum(counts - 1.0, 0.0)
    return left


def _like(tables: Tables, shape: Sequence[int]) -> Tables:
    return Tables(np.broadcast_to(tables.full, shape), np.broadcast_to(tables.own, shape))

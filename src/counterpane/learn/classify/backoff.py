"""Tables of a class network that back off to smaller contexts, and what they say of left-out rows.

P(x | parents, class) is estimated around P(x | class), that around P(x), and that around the even
distribution: (n(x, context) + α P(x | smaller context)) / (n(context) + α). The strengths α are
those under which the rows are most probable when each is left out of the counts in turn, so that a
context that tells nothing, such as the cells of a column of ids, is not believed. Counts suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpane.typing import Floats

STRENGTHS = 4.0 ** np.arange(-1, 11)  # 0.25 … 1,048,576 rows


@dataclass(frozen=True, eq=False)
class Tables:
    """P(child | context), axes (context…, child), from all rows and with one row left out.

    `own` holds the value of each cell when a row of that cell is left out; `other` when the row
    left out has another class. Both are 1 where the state would not be known any more.
    """

    full: Floats
    own: Floats
    other: Floats


def backed_off(counts: Floats, class_axis: int | None, prior: float) -> tuple[Tables, Tables]:
    """The tables of a feature's family, and those of the same family without the class.

    `counts` has the axes (parents…, child); `class_axis` is that of the class, None if it is no
    parent. `prior` is the weight of the even distribution. Without the class among the parents both
    are the same.
    """
    last = counts.ndim - 1
    base = _base(counts.sum(axis=tuple(range(last))), prior)
    features = tuple(a for a in range(last) if a != class_axis)
    free = _without_class(counts, class_axis)
    plain = _level(free, base, shared=True) if features else _like(base, free.shape)
    found = plain
    if class_axis is not None:
        found = base
        if features:
            found = _level(counts.sum(axis=features, keepdims=True), base, shared=False)
        found = _level(counts, found, shared=False)
    gone = counts.sum(axis=tuple(range(last))) <= 1  # left out, their only row makes them unknown
    return _unknown(found, gone), _unknown(plain, gone)


def class_tables(counts: Floats, prior: float) -> tuple[Tables, Tables]:
    """The same for the class itself, axes (parents…, class): given its parents, and alone."""
    last = counts.ndim - 1
    totals = counts.sum(axis=tuple(range(last)))
    n, r = totals.sum(), totals.size
    alone = Tables(
        (totals + prior / r) / (n + prior),
        (_less(totals) + prior / r) / (_less(n) + prior),
        (totals + prior / r) / (_less(n) + prior),
    )
    given = alone
    if last:
        strength = _strength(counts, alone.own)
        context = counts.sum(axis=-1, keepdims=True)
        given = Tables(
            (counts + strength * alone.full) / (context + strength),
            (_less(counts) + strength * alone.own) / (_less(context) + strength),
            (counts + strength * alone.other) / (_less(context) + strength),
        )
    return given, _like(alone, counts.shape)


def _base(totals: Floats, prior: float) -> Tables:
    """P(child) alone; it has no class, so a row of any class changes it."""
    r = totals.size
    full = (totals + prior / r) / (totals.sum() + prior)
    own = (_less(totals) + prior / r) / (_less(totals.sum()) + prior)
    return Tables(full, own, own)


def _level(counts: Floats, lower: Tables, *, shared: bool) -> Tables:
    """One more level around `lower`; a `shared` one has no class among its axes."""
    strength = _strength(counts, lower.own)
    context = counts.sum(axis=-1, keepdims=True)
    full = (counts + strength * lower.full) / (context + strength)
    own = (_less(counts) + strength * lower.own) / (_less(context) + strength)
    other = own if shared else (counts + strength * lower.other) / (context + strength)
    return Tables(full, own, other)


def _strength(counts: Floats, lower: Floats) -> float:
    """The α under which the rows are most probable, each left out of its own estimate."""
    cells = np.nonzero(counts)
    n = counts[cells]
    around = np.broadcast_to(lower, counts.shape)[cells]
    context = _less(np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)[cells])
    left = _less(n)
    logs = [float(n @ np.log((left + a * around) / (context + a))) for a in STRENGTHS]
    return float(STRENGTHS[int(np.argmax(logs))])


def _without_class(counts: Floats, class_axis: int | None) -> Floats:
    return counts if class_axis is None else counts.sum(axis=class_axis, keepdims=True)


def _less(counts: Floats) -> Floats:
    """Counts without one row."""
    left: Floats = np.maximum(counts - 1.0, 0.0)
    return left


def _like(tables: Tables, shape: Sequence[int]) -> Tables:
    return Tables(*(np.broadcast_to(t, shape) for t in (tables.full, tables.own, tables.other)))


def _unknown(tables: Tables, gone: Floats) -> Tables:
    own, other = (np.where(gone, 1.0, t) for t in (tables.own, tables.other))
    return Tables(tables.full, own, other)

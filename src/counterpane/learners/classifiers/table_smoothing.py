"""Smoothed tables of network classifiers: back-off to smaller contexts, and shrinkage.

Back-off: P(x | parents, class) is estimated around P(x | class), that around P(x), and that around
the uniform distribution: (n(x, context) + α P(x | smaller context)) / (n(context) + α). The
strengths α maximize the likelihood of the rows when each is left out of the counts in turn, so that
an uninformative context, such as a column of ids, has no effect. Counts suffice.

Shrinkage: features that repeat each other, or were selected because they fit the rows, say too much
together. Each table that involves the class becomes share · table + (1 − share) · the table without
the class: at 1 it is unchanged, at 0 the class has the same probabilities in every row. The share
is chosen by the log-loss of held-out rows in five folds, in which the network is learned again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from counterpane.data.table import Table
from counterpane.learners.classifiers.folds import folds_of
from counterpane.typing import Bools, Floats, Ints

STRENGTHS = 4.0 ** np.arange(-1, 11)  # 0.25 … 1,048,576 rows
SHARES = (*(2.0 ** (-k / 2) for k in range(11)), 0.0)


@dataclass(frozen=True, eq=False)
class ContextTables:
    """P(child | context), axes (context…, child), from all rows and with one row left out.

    `left_out` holds the value of each cell when a row of that cell is left out of the counts.
    """

    full: Floats
    left_out: Floats
    unseen: Bools | None = None  # states of the child without a row

    @property
    def neutral(self) -> Floats:
        """`full`, with 1, which says nothing about the class, for states without a row."""
        return self.full if self.unseen is None else np.where(self.unseen, 1.0, self.full)


def feature_tables(
    counts: Floats, class_axis: int | None, prior: float, candidates: int
) -> tuple[ContextTables, ContextTables]:
    """The tables of a feature's family, and those of the same family without the class.

    `counts` has the axes (parents…, child); `class_axis` is that of the class, or None if the class
    is no parent: then both are equal. `prior` is the weight of the uniform distribution. A parent
    that was selected among `candidates` has an effect only if it gains more than their ln, in nats.
    """
    last = counts.ndim - 1
    totals = counts.sum(axis=tuple(range(last)))
    base = _marginal(totals, prior)
    features = tuple(a for a in range(last) if a != class_axis)
    needed = math.log(max(candidates, 1))
    classless = counts if class_axis is None else counts.sum(axis=class_axis, keepdims=True)
    without = _level(classless, base, needed) if features else _like(base, classless.shape)
    tables = without
    if class_axis is not None and features:
        tables = _level(counts, _level(counts.sum(axis=features, keepdims=True), base), needed)
    elif class_axis is not None:
        tables = _level(counts, base)
    unseen = totals == 0
    return replace(tables, unseen=unseen), replace(without, unseen=unseen)


def class_tables(
    counts: Floats, prior: float, candidates: int
) -> tuple[ContextTables, ContextTables]:
    """The tables of the class, axes (parents…, class): given its parents, and alone."""
    marginal = _marginal(counts.sum(axis=tuple(range(counts.ndim - 1))), prior)
    alone = _like(marginal, counts.shape)
    if counts.ndim == 1:
        return alone, alone
    return _level(counts, marginal, math.log(max(candidates, 1))), alone


def _marginal(totals: Floats, prior: float) -> ContextTables:
    """P(child)."""
    share, n = prior / totals.size, totals.sum()
    left_out = (_less_one(totals) + share) / (_less_one(n) + prior)
    return ContextTables((totals + share) / (n + prior), left_out)


def _level(counts: Floats, lower: ContextTables, needed: float = 0.0) -> ContextTables:
    """One more level around `lower`."""
    strength = _strength(counts, lower.left_out, needed)
    if strength == math.inf:
        return _like(lower, counts.shape)
    context = counts.sum(axis=-1, keepdims=True)
    return ContextTables(
        (counts + strength * lower.full) / (context + strength),
        (_less_one(counts) + strength * lower.left_out) / (_less_one(context) + strength),
    )


def _strength(counts: Floats, lower: Floats, needed: float) -> float:
    """The α that maximizes the likelihood of the rows, each left out of its own estimate.

    Infinite if the context does not gain more than `needed` nats over `lower`.
    """
    cells = np.nonzero(counts)
    n = counts[cells]
    around = np.broadcast_to(lower, counts.shape)[cells]
    context = _less_one(np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)[cells])
    others = _less_one(n)
    logs = [float(n @ np.log((others + a * around) / (context + a))) for a in STRENGTHS]
    if max(logs) <= float(n @ np.log(around)) + needed:
        return math.inf
    return float(STRENGTHS[int(np.argmax(logs))])


def _less_one(counts: Floats) -> Floats:
    """Counts without one row."""
    others: Floats = np.maximum(counts - 1.0, 0.0)
    return others


def _like(tables: ContextTables, shape: Sequence[int]) -> ContextTables:
    full, left_out = (np.broadcast_to(t, shape) for t in (tables.full, tables.left_out))
    return ContextTables(full, left_out)


class ShrunkFamily(NamedTuple):
    """The tables of one column: given all its parents, and without the class as a parent."""

    scope: tuple[int, ...]  # (parents…, the column)
    tables: ContextTables
    without: ContextTables
    strength: Floats  # of each row of the table: the weight of its rows, and the prior


class ShareLosses(NamedTuple):
    """−ln P(class | row) at each share, (shares, rows), and the rows' weights."""

    values: Floats
    weights: Floats


def fold_losses(learn: Callable[[Table], Sequence[ShrunkFamily]], table: Table) -> ShareLosses:
    """The losses of the rows of `table`, by families that `learn` returns for the other folds."""
    values, weights = [np.zeros((len(SHARES), 0))], [np.zeros(0)]  # one row makes no folds
    for fold in folds_of(table):
        values.append(_losses(learn(fold.training), fold.codes.astype(np.int64)))
        weights.append(fold.weights)
    return ShareLosses(np.concatenate(values, axis=1), np.concatenate(weights))


def best_share(losses: ShareLosses) -> float:
    """The largest share whose loss is within one standard error of the least; 0 if 0 is, too.

    The error is that of the mean difference of the two losses over the rows. So the tables are
    unchanged unless held-out rows contradict them, and a gain over the class shares that may be due
    to chance has no effect. Without rows it is 1.
    """
    values, weights = losses
    if not weights.size:
        return 1.0
    total = float(weights.sum())
    best = int(np.argmin(values @ weights))
    within = []
    for k in range(len(SHARES)):
        excess = values[k] - values[best]
        mean = float(excess @ weights) / total
        spread = float((excess - mean) ** 2 @ weights) / total
        if mean <= np.sqrt(spread / max(total - 1, 1)):
            within.append(SHARES[k])
    return 0.0 if 0.0 in within else float(max(within))


def shrunk_table(family: ShrunkFamily, share: float) -> Floats:
    """The table of a family at a share."""
    table: Floats = share * family.tables.full + (1 - share) * family.without.full
    return table


def _losses(families: Sequence[ShrunkFamily], codes: Ints) -> Floats:
    """−ln P(class | row) at each share, (shares, rows)."""
    last = len(codes) - 1
    labels, rows = codes[last], np.arange(codes.shape[1])
    pairs = [_by_class(family, codes) for family in families if last in family.scope]
    losses = np.empty((len(SHARES), len(rows)))
    for k, share in enumerate(SHARES):
        logs = sum(np.log(share * p + (1 - share) * q) for p, q in pairs)
        losses[k] = np.logaddexp.reduce(logs, axis=1) - logs[rows, labels]
    return losses


def _by_class(family: ShrunkFamily, codes: Ints) -> tuple[Floats, Floats]:
    """P(the family's column | context) by row and class: with the class, and without it."""
    axis = family.scope.index(len(codes) - 1)
    classes = np.arange(family.tables.full.shape[axis])
    places = [codes[v][:, None] for v in family.scope]

    def looked_up(array: Floats) -> Floats:
        places[axis] = np.minimum(classes, array.shape[axis] - 1)[None, :]
        values: Floats = np.empty((codes.shape[1], len(classes)))
        values[:] = array[tuple(places)]
        return values

    return looked_up(family.tables.neutral), looked_up(family.without.neutral)

"""How much of what the features say of the class a network classifier believes.

Features that repeat each other, or were chosen because they fit the rows, say too much together.
Each table that involves the class becomes share · table + (1 − share) · the table without the
class: at 1 it stays as it is, at 0 the class has the same probabilities in every row. The share is
chosen by the log-loss of held-out rows in five folds, in which the network is learned again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from counterpane.data.table import Table
from counterpane.learn.classifiers.backoff import Tables
from counterpane.learn.classifiers.held_out import folds_of
from counterpane.typing import Floats, Ints

SHARES = (*(2.0 ** (-k / 2) for k in range(11)), 0.0)


class ShrunkFamily(NamedTuple):
    """The tables of one column: given all its parents, and without the class."""

    scope: tuple[int, ...]  # (parents…, the column)
    given: Tables
    plain: Tables
    strength: Floats  # of each row of the table: the rows that it is based on, and the prior


class Losses(NamedTuple):
    """−ln P(class | row) at each share, (shares, rows), and the rows' weights."""

    values: Floats
    weights: Floats


Learn: TypeAlias = Callable[[Table], Sequence[ShrunkFamily]]


def fold_losses(learn: Learn, table: Table) -> Losses:
    """The losses of the rows of `table` by families that `learn` finds on the other folds."""
    values, weights = [], []
    for fold in folds_of(table):
        values.append(_losses(learn(fold.training), fold.codes.astype(np.int64)))
        weights.append(fold.weights)
    return Losses(np.concatenate(values, axis=1), np.concatenate(weights))


def believed_share(losses: Losses) -> float:
    """The largest share whose loss is within one standard error of the least; 0 if 0 is, too.

    The error is that of the mean difference of the two losses over the rows. So the tables stay as
    they are unless held-out rows speak against it, and a gain over the classes' shares that is not
    distinguished from chance is not believed.
    """
    values, weights = losses
    total = float(weights.sum())
    best = int(np.argmin(values @ weights))
    within = []
    for k in range(len(SHARES)):
        more = values[k] - values[best]
        mean = float(more @ weights) / total
        spread = float((more - mean) ** 2 @ weights) / total
        if mean <= np.sqrt(spread / max(total - 1, 1)):
            within.append(SHARES[k])
    return 0.0 if 0.0 in within else float(max(within))


def shrunk(family: ShrunkFamily, share: float) -> Floats:
    """The table of a family at a share."""
    table: Floats = share * family.given.full + (1 - share) * family.plain.full
    return table


def _losses(families: Sequence[ShrunkFamily], codes: Ints) -> Floats:
    """−ln P(class | row) at each share, (shares, rows)."""
    last = len(codes) - 1
    labels, rows = codes[last], np.arange(codes.shape[1])
    pairs = [_by_class(family, codes) for family in families if last in family.scope]
    losses = np.empty((len(SHARES), len(rows)))
    for k, share in enumerate(SHARES):
        logs = sum(np.log(share * given + (1 - share) * plain) for given, plain in pairs)
        losses[k] = np.logaddexp.reduce(logs, axis=1) - logs[rows, labels]
    return losses


def _by_class(family: ShrunkFamily, codes: Ints) -> tuple[Floats, Floats]:
    """P(the family's column | context) by row and class: with the class, and without it."""
    axis = family.scope.index(len(codes) - 1)
    classes = np.arange(family.given.full.shape[axis])
    places = [codes[v][:, None] for v in family.scope]

    def looked_up(array: Floats) -> Floats:
        places[axis] = np.minimum(classes, array.shape[axis] - 1)[None, :]
        values: Floats = np.empty((codes.shape[1], len(classes)))
        values[:] = array[tuple(places)]
        return values

    return looked_up(family.given.fresh), looked_up(family.plain.fresh)

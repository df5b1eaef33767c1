"""How much of what the features say of the class a network classifier believes.

Features that repeat each other, or were chosen because they fit the rows, say too much together.
Each table that involves the class becomes share · table + (1 − share) · the table without the
class: at 1 it stays as it is, at 0 the class has the same probabilities in every row. The share is
the one that makes the classes of rows most probable when each row is left out of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterpane.data.table import Table
from counterpane.graphs import Dag
from counterpane.learn.classify.backoff import Tables
from counterpane.typing import Floats, Ints

SHARES = (*(2.0 ** (-k / 2) for k in range(11)), 0.0)
MAX_ENTRIES = 2**22  # rows × classes × features that are looked at; beyond, some rows are drawn


class Family(NamedTuple):
    """The tables of one column: given all its parents, and without the class."""

    scope: tuple[int, ...]  # (parents…, the column)
    given: Tables
    plain: Tables


def believed_share(families: Sequence[Family], table: Table) -> float:
    """The share of `SHARES` with the least leave-one-out log-loss; of equals the largest.

    `table` holds the rows that were counted; the class is its last column.
    """
    last = len(table.schema) - 1
    related = [family for family in families if last in family.scope]
    codes, weights = _some_rows(table, len(related))
    labels = codes[last]
    pairs = [_log_parts(family, codes, labels, last) for family in related]
    losses = []
    for share in SHARES:
        logs = sum(np.log(share * given + (1 - share) * plain) for given, plain in pairs)
        own = logs[np.arange(len(labels)), labels] - np.logaddexp.reduce(logs, axis=1)
        losses.append(-float(weights @ own))
    return SHARES[int(np.argmin(losses))]


def shrunk(family: Family, share: float) -> Floats:
    """The table of a family at a share."""
    table: Floats = share * family.given.full + (1 - share) * family.plain.full
    return table


def scopes_of(dag: Dag) -> list[tuple[int, ...]]:
    """(parents…, column) of each column."""
    return [(*dag.parents(i), i) for i in range(dag.n)]


def _some_rows(table: Table, n_families: int) -> tuple[Ints, Floats]:
    """The codes and weights of the distinct rows, or of some of them, drawn alike every time."""
    rows = table.distinct()
    codes = rows.codes.astype(np.int64)
    weights: Floats = np.asarray(rows.weights, dtype=np.float64)
    most = max(1000, MAX_ENTRIES // max(1, n_families * int(table.schema.cards[-1])))
    if rows.n_rows > most:
        drawn = np.random.default_rng(0).choice(rows.n_rows, most, replace=False)
        codes, weights = codes[:, drawn], weights[drawn]
    return codes, weights


def _log_parts(family: Family, codes: Ints, labels: Ints, last: int) -> tuple[Floats, Floats]:
    """P(family's column) by row and class with the row left out: with the class, and without."""
    axis = family.scope.index(last)
    cells = [codes[v] for v in family.scope]
    classes = np.arange(family.given.full.shape[axis])

    def by_class(array: Floats) -> Floats:
        places = [c[:, None] for c in cells]
        places[axis] = np.minimum(classes, array.shape[axis] - 1)[None, :]
        found: Floats = np.broadcast_to(array[tuple(places)], (len(labels), len(classes))).copy()
        return found

    rows = np.arange(len(labels))
    parts = []
    for tables in (family.given, family.plain):
        values = by_class(tables.other)
        values[rows, labels] = by_class(tables.own)[rows, labels]
        parts.append(values)
    return parts[0], parts[1]

"""The data of a face search: distinct weighted rows, the tables of faces, and class odds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.data.table import distinct_rows
from counterpane.errors import ParameterError, TableSizeError
from counterpane.typing import Array, Bools, Codes, Floats, Ints

MAX_ENTRIES = 2**27  # of all tables: 1 GiB
MAX_PAIRED = 2**11  # single columns of which pairs are made
LARGEST = 1e100  # entry of a table, or one over it: products of several must not overflow


def group_rows(
    codes: Codes, cards: Ints, labels: Ints, n_classes: int, weights: Array | None
) -> kernels.GroupedRows:
    """The distinct rows with the classes that occur in each; rows of weight zero are left out."""
    n = len(cards)
    joint = np.empty((n + 1, codes.shape[1]), dtype=np.uint16)
    joint[:n], joint[n] = codes, labels
    pairs, pair_weights = distinct_rows(joint, weights, np.append(cards, n_classes))
    fresh = np.ones(pairs.shape[1], dtype=bool)
    fresh[1:] = (pairs[:n, 1:] != pairs[:n, :-1]).any(axis=0)
    firsts = np.flatnonzero(fresh)
    totals = np.add.reduceat(pair_weights.astype(np.float64), firsts)
    order = np.argsort(totals, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    run_weights, starts = np.unique(totals[order], return_index=True)
    return kernels.GroupedRows(
        np.ascontiguousarray(pairs[:n, firsts[order]]),
        np.append(starts, order.size).astype(np.int64),
        run_weights,
        place[np.cumsum(fresh) - 1],
        pairs[n].astype(np.int64),
        pair_weights.astype(np.float64),
    )


class FaceTables:
    """Tables of faces, sets of columns, in the order in which they were added.

    A face may be added if all its subsets were. `free` are the degrees of freedom of each,
    (|Y| − 1) Π (|A| − 1).
    """

    def __init__(
        self, rows: kernels.GroupedRows, cards: Ints, n_classes: int, outliers: float, width: int
    ) -> None:
        if (len(cards) + 1) ** width >= 2**63:  # see _key
            raise TableSizeError(
                f"sets of {width} of {len(cards):,} columns are too many to number; pass a smaller "
                "max_order."
            )
        self.rows = rows
        self.cards = np.array(cards, dtype=np.int64)
        self.n_classes = n_classes
        self.outliers = float(outliers)
        counts = np.bincount(rows.pair_labels, rows.pair_weights, n_classes).astype(np.float64)
        self.total = float(counts.sum())
        self.class_weights: Floats = counts + self.outliers / n_classes
        self.free: Floats = np.empty(0)
        self.faces = kernels.FaceStore(
            np.empty((0, width), dtype=np.int64),
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
            np.empty((0, (1 << width) - 1), dtype=np.int64),
            np.empty(0, dtype=np.int64),
            np.empty(0),
            np.empty(0),
        )
        self._keys = np.empty(0, dtype=np.int64)  # sorted, with the face of each
        self._face_of = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return int(self.faces.sizes.size)

    def degrees(self, columns: Ints) -> Floats:
        """The degrees of freedom of faces given by their columns alone, without their subsets."""
        less_one = np.append(self.cards - 1.0, 1.0)  # −1, no column, counts as a factor of 1
        free: Floats = (self.n_classes - 1) * less_one[columns].prod(axis=1)
        return free

    def subsets(self, columns: Ints, size: int) -> Ints:
        """For faces of one size the faces of all their proper subsets.

        As in `FaceStore`, shape (faces, 2^size − 2); −1 where unknown.
        """
        faces = np.full((len(columns), (1 << size) - 2), -1, dtype=np.int64)
        for j in range(faces.shape[1]):
            keys = self._key([columns[:, k] for k in range(size) if (j + 1) >> k & 1])
            place = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
            if len(self._keys):
                faces[:, j] = np.where(self._keys[place] == keys, self._face_of[place], -1)
        return faces

    def closure(self, face: int) -> frozenset[int]:
        """A face with all its subsets."""
        return frozenset(
            self.faces.subsets[face, : (1 << int(self.faces.sizes[face])) - 1].tolist()
        )

    def unions(self, size: int, gains: Floats) -> Ints:
        """Unions of two faces of one column less that differ in the last column, in order.

        Of more than MAX_PAIRED single columns, those with the largest gains are paired.
        """
        smaller = np.flatnonzero(self.faces.sizes == size - 1)
        if size == 2 and smaller.size > MAX_PAIRED:
            best = np.argsort(-gains[smaller], kind="stable")[:MAX_PAIRED]
            smaller = smaller[np.sort(best)]
        return join_sets(self.faces.columns[smaller, : size - 1])

    def add(self, columns: Ints) -> None:
        """Count the faces and fill their tables; those of one size in turn, smaller ones first."""
        sizes = (columns >= 0).sum(axis=1)
        for size in range(1, columns.shape[1] + 1):
            if (sizes == size).any():
                self._add(columns[sizes == size], size)

    def _add(self, columns: Ints, size: int) -> None:
        old, first = self.faces, len(self)
        subsets = np.full((len(columns), old.subsets.shape[1]), -1, dtype=np.int64)
        subsets[:, : (1 << size) - 2] = self.subsets(columns, size)
        subsets[:, (1 << size) - 2] = first + np.arange(len(columns))
        cells = np.append(self.cards, 1)[columns].prod(axis=1)
        entries = (self.n_classes - 1) * cells
        needed = old.values.size + int(entries.sum())
        if needed > MAX_ENTRIES:
            raise TableSizeError(
                f"the tables of {len(columns):,} sets of {size} columns bring the search to "
                f"{needed:,} entries; the limit is {MAX_ENTRIES:,}: pass a smaller max_candidates "
                "or max_order, or merge states."
            )
        faces = kernels.FaceStore(
            np.concatenate([old.columns, columns]),
            np.append(old.sizes, np.full(len(columns), size)),
            np.append(old.cells, cells),
            np.concatenate([old.subsets, subsets]),
            np.append(old.offsets, old.values.size + np.cumsum(entries) - entries),
            np.append(old.values, np.empty(int(entries.sum()))),
            np.append(old.sums, np.empty(len(columns))),
        )
        last = first + len(columns)
        kernels.fill_tables(
            faces, first, last, self.rows, self.cards, self.class_weights, self.outliers
        )
        table = faces.values[old.values.size :]
        if not ((table > 1 / LARGEST) & (table < LARGEST)).all():
            raise ParameterError(
                f"outliers={self.outliers:g} is too small for these tables; use a larger one."
            )
        self.faces = faces  # only now, since filling them may be interrupted
        self.free = np.append(self.free, self.degrees(columns))
        keys = np.append(self._keys, self._key([columns[:, k] for k in range(size)]))
        order = np.argsort(keys, kind="stable")
        self._face_of = np.append(self._face_of, first + np.arange(len(columns)))[order]
        self._keys = keys[order]

    def _key(self, columns: list[Ints]) -> Ints:
        """One number for each set of columns."""
        keys = np.zeros(len(columns[0]), dtype=np.int64)
        for column in columns:
            keys = keys * (len(self.cards) + 1) + column + 1
        return keys


class ClassOdds:
    """P(class | x) of all rows under a growing set of faces; `present` says which they are."""

    def __init__(self, tables: FaceTables) -> None:
        self.tables = tables
        n_rows = tables.rows.codes.shape[1]
        weights = tables.class_weights
        self._log_odds: Floats = np.empty((tables.n_classes, n_rows))
        self._log_odds[:] = np.log(weights / weights[0])[:, None]
        self.proba: Floats = np.empty_like(self._log_odds)
        self.present: Bools = np.zeros(0, dtype=np.bool_)
        self.free = tables.n_classes - 1.0
        self.log_likelihood = kernels.normalize(self._log_odds, tables.rows, self.proba)

    def admit(self) -> None:
        """Extend `present` to the faces that were added to the tables."""
        n_new = len(self.tables) - self.present.size
        self.present = np.append(self.present, np.zeros(n_new, dtype=np.bool_))

    def add(self, face: int) -> None:
        """Add a face with those of its subsets that are not present yet."""
        faces = self.tables.faces
        for part in faces.subsets[face, : (1 << int(faces.sizes[face])) - 1].tolist():
            if not self.present[part]:
                self.present[part] = True
                self.free += self.tables.free[part]
                kernels.add_face(faces, part, self.tables.rows, self.tables.cards, self._log_odds)
        self.log_likelihood = kernels.normalize(self._log_odds, self.tables.rows, self.proba)


def saturated_log_likelihood(rows: kernels.GroupedRows) -> float:
    """Σ n(x, y) ln [n(x, y) / n(x)]: no model of y given x has a greater log-likelihood."""
    totals = np.bincount(rows.pair_rows, rows.pair_weights)
    return math.fsum(rows.pair_weights * np.log(rows.pair_weights / totals[rows.pair_rows]))


def join_sets(sets: Ints) -> Ints:
    """Unions of two sets that differ in the last column only, in order; sets are sorted rows.

    >>> join_sets(np.array([[0, 1], [0, 2], [1, 2]])).tolist()
    [[0, 1, 2]]
    """
    same = (sets[1:, :-1] == sets[:-1, :-1]).all(axis=1)
    ends = [0, *(np.flatnonzero(~same) + 1).tolist(), len(sets)]
    unions = []
    for first, stop in pairwise(ends):
        a, b = np.triu_indices(stop - first, 1)
        unions.append(np.column_stack([sets[first + a], sets[first + b, -1]]))
    return np.concatenate(unions)


def most_promising(part_gains: Floats, most: int, digits: int) -> Ints:
    """The rows with the largest sums, rounded to `digits`, at most `most` of them, in order.

    Ties go to the row with the largest single gain.
    """
    if len(part_gains) <= most:
        return np.arange(len(part_gains))
    order = np.lexsort((-part_gains.max(axis=1), -part_gains.sum(axis=1).round(digits)))
    return np.sort(order[:most])


def face_columns(row: list[int]) -> tuple[int, ...]:
    """The columns of a face from its row, which is padded with −1."""
    return tuple(c for c in row if c >= 0)

"""A staged climb over faces by the likelihood of each row under a model made without it.

The predictors are those of `_core.classifiers.back_off`: nothing is fitted, so that leaving a row
out costs nothing. A face must gain more than ln N, N being the candidates of its size: that is
what the best of N useless faces gains by chance. Stages are those of Jakulin & Rish: all single
columns while one improves, then pairs, then triples; a face brings its subsets with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.data.table import distinct_rows
from counterpane.learn.classifiers.interactions.candidate_faces import candidate_faces, subsets_of
from counterpane.learn.classifiers.interactions.face_design import Face
from counterpane.typing import Codes, Floats, Ints

MAX_BYTES = 2**29  # of all tables of one search; faces beyond are not looked at


def leave_one_out_faces(
    codes: Codes,
    cards: Ints,
    labels: Ints,
    n_classes: int,
    weights: Floats,
    *,
    max_size: int = 3,
    unit: float = 1.0,
) -> list[Face]:
    """The faces chosen, in order; each brings its subsets. `unit` is the weight of one row."""
    columns = [c for c in range(len(cards)) if codes[c].min() != codes[c].max()]
    if not columns or n_classes < 2:
        return []
    joint = np.vstack([codes, labels.astype(codes.dtype)])
    joint, weights = distinct_rows(joint, weights, np.append(cards, n_classes))
    rows = kernels.LabeledRows(
        np.ascontiguousarray(joint[:-1]),
        joint[-1].astype(np.int64),
        weights.astype(np.float64),
    )
    climb = Climb(rows, cards, n_classes, max_size, unit)
    chosen: list[Face] = []
    gains: dict[Face, float] = {}
    for size in range(1, max_size + 1):
        candidates = climb.admit(candidate_faces(columns, gains, size))
        while candidates:
            values = climb.gains(candidates)
            gains.update(zip(candidates, values.tolist(), strict=True))
            best = int(np.argmax(values))
            if not values[best] > math.log(len(candidates)):
                break
            chosen.append(candidates[best])
            climb.add(candidates[best])
    return chosen


class Climb:
    """Rows, the tables of all faces looked at, and the predictors from the faces chosen."""

    def __init__(
        self, rows: kernels.LabeledRows, cards: Ints, n_classes: int, max_size: int, unit: float
    ) -> None:
        self.rows = rows
        self.cards = cards
        self.n_classes = n_classes
        self.unit = unit
        self.ids: dict[Face, int] = {}
        self.faces = kernels.BackOffFaces(
            columns=np.empty((0, max_size), dtype=np.int64),
            cards=np.empty((0, max_size), dtype=np.int64),
            parts=np.empty((0, 1 << max_size), dtype=np.int64),
            index_starts=np.empty(0, dtype=np.int64),
            place_starts=np.zeros(1, dtype=np.int64),
            place_of=np.empty(0, dtype=np.int32),
            origins=np.empty(0, dtype=np.int64),
            tables=np.empty((0, n_classes)),
        )
        self.admit([()])
        self.present = np.array([True])
        table = np.zeros((n_classes, n_classes))
        table[self.faces.origins] = self.faces.tables
        others = (np.arange(n_classes)[:, None] + np.arange(1, n_classes)) % n_classes
        away = np.take_along_axis(table, others, axis=1) - np.diag(table)[:, None]
        self.others: Floats = np.ascontiguousarray(away[rows.labels].T)
        self.log_likelihood = self._log_likelihood()

    def admit(self, faces: Sequence[Face]) -> list[Face]:
        """Those of `faces` whose tables fit in memory, with their tables made."""
        old, width = self.faces, self.faces.columns.shape[1]
        admitted, counted = [], []
        index, origins = [old.place_of], [old.origins]
        columns, cards, parts = [], [], []
        size = old.place_of.nbytes + old.tables.nbytes
        for face in faces:
            own = self.cards[list(face)]
            cells = math.prod(own.tolist())
            most = min(cells * self.n_classes, len(self.rows.labels))
            size += 4 * cells * self.n_classes + 8 * most * (self.n_classes + 1)
            if size > MAX_BYTES:
                break
            self.ids[face] = len(self.ids)
            columns.append([*face, *[-1] * (width - len(face))])
            cards.append([*own.tolist(), *[1] * (width - len(face))])
            held = [self.ids[s] for s in subsets_of(face)]
            parts.append(held + [held[-1]] * ((1 << width) - len(held)))
            counts = np.zeros((cells, self.n_classes))
            index.append(np.full(counts.size, -1, dtype=np.int32))
            origins.append(np.empty(most, dtype=np.int64))
            scope = np.array(columns[-1]), np.array(cards[-1])
            found = kernels.count_places(self.rows, *scope, counts, index[-1], origins[-1])
            origins[-1] = origins[-1][:found]
            admitted.append(face)
            counted.append(counts)
        places = np.cumsum([len(o) for o in origins[1:]], dtype=np.int64) + len(old.origins)
        starts = np.cumsum([len(i) for i in index[:-1]], dtype=np.int64)
        self.faces = faces_now = kernels.BackOffFaces(
            columns=np.concatenate([old.columns, np.array(columns).reshape(-1, width)]),
            cards=np.concatenate([old.cards, np.array(cards).reshape(-1, width)]),
            parts=np.concatenate([old.parts, np.array(parts).reshape(-1, 1 << width)]),
            index_starts=np.append(old.index_starts, starts),
            place_starts=np.append(old.place_starts, places),
            place_of=np.concatenate(index),
            origins=np.concatenate(origins),
            tables=np.empty((places[-1] if len(places) else len(old.origins), self.n_classes)),
        )
        faces_now.tables[: len(old.tables)] = old.tables
        for face, counts in zip(admitted, counted, strict=True):
            kernels.back_off(faces_now, self.ids[face], len(face), counts, self.unit)
        if hasattr(self, "present"):
            self.present = np.append(self.present, np.zeros(len(admitted), dtype=np.bool_))
        return admitted

    def gains(self, faces: Sequence[Face]) -> Floats:
        """What each face, with its subsets, adds to the log-likelihood."""
        asked = np.array([self.ids[face] for face in faces], dtype=np.int64)
        values = np.empty(len(asked))
        kernels.log_likelihoods(self.rows, self.others, self.faces, asked, self.present, values)
        return values - self.log_likelihood

    def add(self, face: Face) -> None:
        """Take a face and its subsets into the predictors."""
        kernels.join(self.rows, self.faces, self.ids[face], self.present, self.others)
        self.log_likelihood = self._log_likelihood()

    def _log_likelihood(self) -> float:
        value = np.empty(1)
        empty = np.zeros(1, dtype=np.int64)
        kernels.log_likelihoods(self.rows, self.others, self.faces, empty, self.present, value)
        return float(value[0])

"""The structures between which an `InteractionClassifier` chooses, found on the rows of one fit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpane.learn.classifiers.faces.face_search import map_faces
from counterpane.learn.classifiers.interactions.candidate_faces import subsets_of
from counterpane.learn.classifiers.interactions.face_design import Face, FaceDesign, lay_out_faces
from counterpane.learn.classifiers.interactions.fold_coding import RawRows, find_coding, with_thirds
from counterpane.learn.classifiers.interactions.fold_rows import unit_weight
from counterpane.learn.classifiers.interactions.leave_one_out_search import leave_one_out_faces
from counterpane.learn.classifiers.interactions.score_search import score_search
from counterpane.models.additive_member import Coding
from counterpane.typing import Codes, Floats, Ints

SINGLES = "singles"
PLAIN = ("map", "score", "leave-one-out")
WITH_NUMBERS = (*PLAIN, "tables", "numbers")
"""What is tried where some columns are numbers.

All have every single column; beyond that "map" has the faces of Jakulin & Rish's most probable
structure, "score" those of `score_search`, "leave-one-out" those of `leave_one_out_faces`. "tables"
is the last without numeric terms, "numbers" the last with nothing but terms for single numbers.
"""


class Structure(NamedTuple):
    """Faces, the coding of their columns, and whether there are numeric terms."""

    faces: tuple[Face, ...]
    coding: Coding
    terms: bool

    def same_as(self, other: Structure) -> bool:
        """Whether both lead to the same fit."""
        return (
            self.coding is other.coding
            and self.faces == other.faces
            and (self.terms == other.terms)
        )


class Part:
    """Training rows with their weights, other rows behind them, and what is found on the former."""

    def __init__(self, rows: RawRows, weights: Floats, held: Floats) -> None:
        order = np.append(np.flatnonzero(weights > 0), np.flatnonzero(held > 0))
        self.n_train = int((weights > 0).sum())
        self.rows = rows.take(order)
        self.train = rows.take(order[: self.n_train])
        self.weights: Floats = weights[order[: self.n_train]]
        self.held: Floats = held[order[self.n_train :]]

    @cached_property
    def coding(self) -> Coding:
        """Cuts and scales of the training rows."""
        return find_coding(self.train, self.weights)

    @cached_property
    def thirds(self) -> Coding:
        """The coding with three intervals where there is no cut; the same one if all have cuts."""
        if all(len(cuts) for cuts in self.coding.cuts):
            return self.coding
        return with_thirds(self.coding, self.train, self.weights)

    @cached_property
    def terms(self) -> Floats:
        """Numeric terms of all rows."""
        return self.coding.terms(self.rows.numbers)

    @cached_property
    def left_out(self) -> list[Face]:
        """The faces of the leave-one-out search."""
        unit = unit_weight(self.weights)
        return leave_one_out_faces(*self._training(self.coding), unit=unit)

    def structure(self, name: str) -> Structure:
        """One of the structures by name."""
        coding = self.coding
        if name == "map":
            codes, cards = seen_states(self._codes[:, : self.n_train])
            faces = map_faces(codes, cards, self.train.labels, self.rows.n_classes, self.weights)
        elif name == "score":
            coding = self.thirds
            terms = np.ascontiguousarray(self.terms[:, : self.n_train])
            faces = score_search(*self._training(coding), terms)
            if not any(coding.cards[c] != self.coding.cards[c] for face in faces for c in face):
                coding = self.coding
        else:
            faces = [] if name == SINGLES else self.left_out
        varying = [c for c, row in enumerate(self.codes(coding)) if _varies(row[: self.n_train])]
        if name == "numbers":
            numeric = set(coding.numeric.tolist())
            singles = [(c,) for c in varying if c not in numeric]
            closed = {s for s in closure(faces) if len(s) > 1}
        else:
            singles, closed = [(c,) for c in varying], closure(faces)
        ordered = sorted(closed.union(singles), key=lambda face: (len(face), face))
        return Structure(tuple(ordered), coding, name != "tables" and self.terms.size > 0)

    def design(self, structure: Structure) -> FaceDesign:
        """The structure laid out on all rows."""
        numbers = self.terms if structure.terms else np.empty((0, self.rows.labels.size))
        codes = self.codes(structure.coding)
        return lay_out_faces(codes, structure.coding.cards, self.weights, structure.faces, numbers)

    def codes(self, coding: Coding) -> Codes:
        """The states of all rows."""
        if coding is not self.coding:
            return coding.codes(self.rows.codes, self.rows.numbers)
        return self._codes

    @cached_property
    def _codes(self) -> Codes:
        return self.coding.codes(self.rows.codes, self.rows.numbers)

    def _training(self, coding: Coding) -> tuple[Codes, Ints, Ints, int, Floats]:
        codes = np.ascontiguousarray(self.codes(coding)[:, : self.n_train])
        return codes, coding.cards, self.train.labels, self.rows.n_classes, self.weights


def closure(faces: Iterable[Face]) -> set[Face]:
    """The faces with all their subsets but the empty one."""
    return {s for face in faces for s in subsets_of(face)[1:]}


def seen_states(codes: Codes) -> tuple[Codes, Ints]:
    """The codes with the states that no row has left out, and how many are left by column."""
    fresh, cards = np.empty_like(codes), np.empty(len(codes), dtype=np.int64)
    for c, row in enumerate(codes):
        seen = np.bincount(row) > 0
        fresh[c], cards[c] = (np.cumsum(seen) - 1)[row], seen.sum()
    return fresh, cards


def _varies(codes: Codes) -> bool:
    return bool(codes.min() != codes.max())

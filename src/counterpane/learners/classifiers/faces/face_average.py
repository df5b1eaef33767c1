"""An average of structures: the tables φ of their faces, predictions, interaction information.

φ_T(x, y) = Σ_{U⊆T} (−1)^{|T|−|U|} ln P(x_U, y) with P(x_U, y) = (n + ϑ / cells) / (m + ϑ), so that
the sum of φ over the faces of a structure is its ln P(x, y) but for a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.additive.attribution import attributed
from counterpane.additive.effects import log_odds
from counterpane.learners.classifiers.faces.face_search import FaceStructure
from counterpane.ragged import flatten, offsets_of
from counterpane.typing import Codes, Floats, Ints

Face = tuple[int, ...]


class FaceAverage:
    """Structures with weights that sum to 1, over columns of `cards` and a class of `n_classes`.

    `rows` are the training rows. `faces` are all faces of the structures but ∅, in the order in
    which the climb took them.
    """

    def __init__(
        self,
        rows: kernels.GroupedRows,
        cards: Ints,
        n_classes: int,
        outliers: float,
        structures: Sequence[FaceStructure],
        weights: Floats,
    ) -> None:
        self.structures = tuple(structures)
        self.weights = weights
        self.cards = np.array(cards, dtype=np.int64)
        self.n_classes = n_classes
        self._log_probabilities: dict[Face, Floats] = {}
        self._phi: dict[Face, Floats] = {}
        deepest = max(self.structures, key=lambda s: s.steps)
        path = deepest.hyperedges[: deepest.steps]
        self.faces: list[Face] = []
        place: dict[Face, int] = {}
        added = [0]
        for hyperedge in path:
            self._admit(hyperedge, place)
            added.append(len(self.faces))
        extras: list[list[int]] = []
        order = sorted(range(len(self.structures)), key=lambda s: self.structures[s].steps)
        for s in order:
            steps, hyperedges = self.structures[s].steps, self.structures[s].hyperedges
            for hyperedge in hyperedges[steps:]:
                self._admit(hyperedge, place)
            last = {face for h in hyperedges[steps:] for face in nonempty_subsets(h)}
            extras.append(sorted(place[f] for f in last if place[f] >= added[steps]))
        self._fill(rows, outliers)
        self._layers = self._lay(added, order, extras)

    def phi(self, face: Face) -> Floats:
        """φ of a face, of axes (its columns…, class); that of ∅ is ln P(class)."""
        return self._phi[face]

    def log_proba(self, codes: Codes) -> Floats:
        """ln of the average P(class | row), shape (rows, classes); codes are (columns, rows).

        A face with a code that is not below its column's card is left out: what remains is the
        same model of the columns that are known.
        """
        data = np.ascontiguousarray(codes, dtype=np.uint16)
        out: Floats = np.empty((data.shape[1], self.n_classes))
        kernels.average(self._layers, self.phi(()), data, out)
        return out

    def values(self, codes: Codes) -> Floats:
        """φ of ∅ and of each face at the one row of `codes`, shape (1 + faces, classes).

        Zero where a state is not known.
        """
        cells = codes[:, 0].tolist()
        values = [self.phi(())]
        for face in self.faces:
            known = all(cells[c] < self.cards[c] for c in face)
            cell = tuple(cells[c] for c in face)
            values.append(self.phi(face)[cell] if known else np.zeros(self.n_classes))
        return np.array(values)

    @cached_property
    def shares(self) -> Floats:
        """The weight of the structures that hold each face."""
        place = {face: k for k, face in enumerate(self.faces)}
        shares: Floats = np.zeros(len(self.faces))
        for structure, weight in zip(self.structures, self.weights, strict=True):
            shares[[place[f] for f in self.faces_of(structure)]] += weight
        return np.minimum(shares, 1.0)

    def contributions(self, codes: Codes) -> Floats:
        """What ∅ and each face add to the log-odds of the average at the one row of `codes`."""
        values = self.values(codes)
        place = {face: 1 + k for k, face in enumerate(self.faces)}
        parts: Floats = np.zeros((len(values), len(self.structures), self.n_classes))
        parts[0] = values[0]
        for s, structure in enumerate(self.structures):
            held = [place[face] for face in self.faces_of(structure)]
            parts[held, s] = values[held]
        return attributed(log_odds(parts), np.asarray(self.weights, dtype=np.float64))

    def faces_of(self, structure: FaceStructure) -> list[Face]:
        """The faces of a structure but ∅, smaller ones first."""
        faces = {face for h in structure.hyperedges for face in nonempty_subsets(h)}
        return sorted(faces, key=lambda f: (len(f), f))

    def interaction(self, face: Face) -> float:
        """The interaction information of a face and the class, as a share of the class entropy.

        Σ_{∅≠U⊆T} (−1)^{|T|−|U|} I(U; class) / H(class): for one column the mutual information,
        for two what they tell together beyond what each tells alone.
        """
        prior = self._log_probabilities[()]
        entropy = -float(np.exp(prior) @ prior)
        if entropy <= 0:
            return 0.0
        total = 0.0
        for part in nonempty_subsets(face):
            logs = self._log_probabilities[part]
            marginal = np.log(np.exp(logs).sum(axis=-1, keepdims=True))
            information = float((np.exp(logs) * (logs - marginal - prior)).sum())
            total += (-1) ** (len(face) - len(part)) * information
        return total / entropy

    def _admit(self, hyperedge: Face, place: dict[Face, int]) -> None:
        for face in nonempty_subsets(hyperedge):
            if face not in place:
                place[face] = len(self.faces)
                self.faces.append(face)

    def _lay(
        self, added: list[int], order: list[int], extras: list[list[int]]
    ) -> kernels.FaceLayers:
        """The arrays for predictions; tables have one more state in each column, not known."""
        width = max(map(len, self.faces), default=1)
        columns = np.zeros((len(self.faces), width), dtype=np.int64)
        values, factors = [np.empty(0)], [np.empty(0)]
        for k, face in enumerate(self.faces):
            columns[k, : len(face)] = face
            phi = self.phi(face)
            wide = np.zeros((self.n_classes, *(card + 1 for card in phi.shape[:-1])))
            wide[(slice(None), *(slice(card) for card in phi.shape[:-1]))] = np.moveaxis(phi, -1, 0)
            values.append(wide.reshape(-1))
            factors.append(np.exp(wide - wide.max(axis=0)).reshape(-1))
        return kernels.FaceLayers(
            self.cards + 1,
            columns,
            np.array([len(face) for face in self.faces], dtype=np.int64),
            np.cumsum([table.size for table in values]),
            np.concatenate(values),
            np.concatenate(factors),
            np.array(added),
            np.array([self.structures[s].steps for s in order]),
            offsets_of(map(len, extras)),
            flatten(extras),
            self.weights[order],
        )

    def _fill(self, rows: kernels.GroupedRows, outliers: float) -> None:
        """The tables ln P and φ of ∅ and all faces, smaller ones first."""
        total = float(rows.pair_weights.sum())
        for face in [(), *sorted(self.faces, key=len)]:
            shape = [*self.cards[list(face)].tolist(), self.n_classes]
            size = int(np.prod(shape))
            cells = np.zeros(rows.codes.shape[1], dtype=np.int64)
            for column in face:
                cells = cells * self.cards[column] + rows.codes[column]
            cells = cells[rows.pair_rows] * self.n_classes + rows.pair_labels
            counts = np.bincount(cells, rows.pair_weights, size).reshape(shape)
            logs = np.log((counts + outliers / size) / (total + outliers))
            phi = logs.copy()
            for part in [(), *nonempty_subsets(face)][: (1 << len(face)) - 1]:
                where = tuple(slice(None) if c in part else None for c in face)
                phi -= self._phi[part][(*where, slice(None))]
            self._log_probabilities[face], self._phi[face] = logs, phi


def nonempty_subsets(face: Face) -> list[Face]:
    """The subsets of a face but ∅, smaller ones first, itself last."""
    return [part for size in range(1, len(face) + 1) for part in combinations(face, size)]

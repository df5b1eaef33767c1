"""A staged search that adds the face for which a fitted model's residuals call loudest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from counterpane._core.classifiers import score_faces
from counterpane.learn.classifiers.interactions.candidate_faces import candidate_faces, subsets_of
from counterpane.learn.classifiers.interactions.face_design import Face, lay_out_faces
from counterpane.learn.classifiers.interactions.ridge import Ridge, log_prior
from counterpane.typing import Codes, Floats, Ints

STRENGTH = 1.0
MAX_FACES = 15  # of each size
MAX_REFIT = 20  # steps
MAX_CELLS = 2**20  # a face of more possible cells is not looked at
BATCH = 64  # candidates looked at again at a time


def score_search(
    codes: Codes, cards: Ints, labels: Ints, n_classes: int, weights: Floats, numbers: Floats
) -> list[Face]:
    """The pairs and triples chosen, in order, beside all single columns and the numeric terms.

    After each choice the ridge is fitted again. A face must gain more than its chance gain and
    ln N, N being the candidates of its size; see `score_faces` in src/core/learn/classifiers.
    Gains are taken not to grow as faces are added: candidates are looked at again from the largest
    last gain on, until a fresh one is not below the last gains of the rest.
    """
    if n_classes < 2:
        return []
    found = _Search(codes, cards, labels, n_classes, weights, numbers)
    if len(found.columns) < 2:
        return []
    gains = found.single_gains()
    for size in (2, 3):
        candidates = [
            face
            for face in candidate_faces(found.columns, gains, size)
            if math.prod(cards[list(face)].tolist()) <= MAX_CELLS
        ]
        if candidates:
            found.stage(candidates)
        gains = found.gains
    return found.chosen


class _Search:
    """The rows, the fit so far, and the last gain of each face looked at."""

    def __init__(
        self,
        codes: Codes,
        cards: Ints,
        labels: Ints,
        n_classes: int,
        weights: Floats,
        numbers: Floats,
    ) -> None:
        self.codes, self.cards, self.numbers = codes, cards, numbers
        self.labels, self.n_classes, self.weights = labels, n_classes, weights
        self.states = np.array([np.count_nonzero(np.bincount(row)) for row in codes])
        self.columns: list[int] = np.flatnonzero(self.states > 1).tolist()
        self.held: list[Face] = [(c,) for c in self.columns]
        self.chosen: list[Face] = []
        self.gains: dict[Face, float] = {}
        self.fit = self._ridge()
        self.fit.solve(STRENGTH)

    def single_gains(self) -> dict[Face, float]:
        """The gains of single columns over the classes' shares alone."""
        prior = np.exp(log_prior(self.labels, self.n_classes, self.weights))
        proba = np.repeat(prior[:, None], len(self.labels), axis=1)
        values = self._values(self.held, [self._free([face]) for face in self.held], proba)
        return dict(zip(self.held, values.tolist(), strict=True))

    def stage(self, candidates: list[Face]) -> None:
        """Choose among candidates of one size until none is worth it."""
        threshold = math.log(len(candidates))
        values = np.full(len(candidates), np.inf)
        for _ in range(MAX_FACES):
            best = self._look_again(candidates, values)
            if not values[best] > threshold:
                break
            self.chosen.append(candidates[best])
            self.held += self._new(candidates[best])
            grown = self._ridge()
            grown.start_from(self.fit)
            grown.solve(STRENGTH, max_steps=MAX_REFIT)
            self.fit = grown
        self.gains.update(zip(candidates, values.tolist(), strict=True))

    def _look_again(self, candidates: list[Face], values: Floats) -> int:
        """The best candidate, with its gain and those before it in `values` brought up to date."""
        proba = np.exp(self.fit.log_proba(0, len(self.labels)))
        order = np.argsort(-values, kind="stable")
        size = len(order) if values[order[0]] == np.inf else BATCH
        for low in range(0, len(order), size):
            asked = order[low : low + size]
            faces = [candidates[i] for i in asked]
            free = [self._free(self._new(face)) for face in faces]
            values[asked] = np.where(free, self._values(faces, free, proba), -np.inf)
            rest = values[order[low + size :]]
            if values[order[: low + size]].max() >= rest.max(initial=-np.inf):
                break
        return int(np.argmax(values))

    def _ridge(self) -> Ridge:
        """A ridge on the faces held, not yet solved."""
        design = lay_out_faces(self.codes, self.cards, self.weights, self.held, self.numbers)
        return Ridge(design, self.labels, self.n_classes, self.weights)

    def _new(self, face: Face) -> list[Face]:
        """The face and its subsets that are not held."""
        return [s for s in subsets_of(face)[1:] if s not in self.held]

    def _free(self, faces: Sequence[Face]) -> float:
        """Their degrees of freedom."""
        free = sum(math.prod((self.states[list(face)] - 1).tolist()) for face in faces)
        return float((self.n_classes - 1) * free)

    def _values(self, faces: Sequence[Face], free: Sequence[float], proba: Floats) -> Floats:
        """What each face would gain beyond chance, given P(class) of the rows."""
        columns = np.full((len(faces), max(map(len, faces))), -1, dtype=np.int64)
        for t, face in enumerate(faces):
            columns[t, : len(face)] = face
        residuals = -self.weights * proba
        residuals[self.labels, np.arange(len(self.labels))] += self.weights
        variances = self.weights * proba * (1 - proba)
        given = 1 if self.n_classes == 2 else self.n_classes
        values = np.empty(len(faces))
        score_faces(
            self.codes,
            residuals[:given],
            variances[:given],
            columns,
            self.cards[columns],
            np.array(free, dtype=np.float64),
            self.n_classes,
            values,
        )
        return values

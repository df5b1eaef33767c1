"""The staged climb of Jakulin & Rish over sets of hyperedges that hold the class.

A. Jakulin and I. Rish, Bayesian learning of Markov network structure, IBM Research Report (2006).
A structure is a set of faces, closed under subsets: the hyperedges without the class and all their
subsets. Its log-posterior is Σ ln P(y | x) less a penalty on its degrees of freedom. The climb adds
the best hyperedge of one attribute while that improves, then of two, and so on; after the last
stage it goes on with the best of any size until the posterior falls below 1 % of the peak. All
structures looked at within that 1 % are kept, for the average.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.errors import ParameterError
from counterpane.learn.classifiers.faces.face_climb import (
    WINDOW,
    Climb,
    Structure,
    columns_of,
    distinct_structures,
    keep,
)
from counterpane.learn.classifiers.faces.face_tables import FaceTables, Odds, group_rows, saturated
from counterpane.learn.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Array, Bools, Codes, Floats, Ints

Prior = Literal["aicc", "orthodox"]

TOLERANCE = 1e-7  # nats: gains closer than this differ by rounding only, and the first wins
CHUNK = 2**26  # rows times faces between two looks at the clock


class FaceSearch(Search[Climb]):
    """The climb on arrays: codes of (columns, rows), labels, and weights or None.

    Columns of one state are left out. With `cycles` False hyperedges have at most two attributes,
    and these form a forest. Equal gains go to the first face in the order of the columns.
    """

    def __init__(
        self,
        codes: Codes,
        cards: Ints,
        labels: Ints,
        n_classes: int,
        weights: Array | None = None,
        *,
        max_order: int = 4,
        outliers: float = 1.0,
        prior: Prior = "aicc",
        cycles: bool = True,
        max_candidates: int = 1000,
        n_jobs: int = 1,
    ) -> None:
        check_options(max_order, outliers, prior, max_candidates)
        self.width = min(max_order - 1, 2) if not cycles else max_order - 1
        rows = group_rows(codes, cards, labels, n_classes, weights)
        self.tables = FaceTables(rows, cards, n_classes, outliers, max(self.width, 1))
        self.odds = Odds(self.tables)
        self.prior = prior
        self.forest = not cycles
        self.max_candidates = max_candidates
        self.n_jobs = n_jobs
        self._best = saturated(rows)
        self._path: list[int] = []

    def start(self) -> Climb:
        """The structure of the class alone, and all single columns that may bear on it."""
        score = self.odds.log_likelihood - float(self.penalty(np.array(self.odds.free)))
        none: Ints = np.empty(0, dtype=np.int64)
        state = Climb(
            size=1,
            faces=np.empty((0, max(self.width, 1)), dtype=np.int64),
            gains=np.empty(0),
            path=none,
            scores=np.array([score]),
            kept_steps=np.zeros(1, dtype=np.int64),
            kept_faces=np.full(1, -1, dtype=np.int64),
            kept_scores=np.array([score]),
            finished=self.width < 1 or self.tables.n_classes < 2 or score == -np.inf,
        )
        return state if state.finished else self._open(state, 1)

    def done(self, state: Climb) -> bool:
        """Whether the climb has fallen below 1 % of its peak."""
        return state.finished

    def size(self, state: Climb) -> tuple[float, float | None]:
        """The number of hyperedges chosen."""
        return float(state.path.size), None

    def step(self, state: Climb, ctl: Control) -> tuple[Climb, dict[str, Any]]:
        """One look at all candidates: the best is chosen, or larger ones are tried."""
        self._catch_up(state)
        asked, scores = self._look(state, ctl)
        score, peak = float(state.scores[-1]), float(state.scores.max())
        record: dict[str, Any] = {"order": state.size + 1, "candidates": int(asked.size)}
        top = scores.max(initial=-np.inf)
        anything = state.size > self.width
        if asked.size:
            gains = state.gains.copy()
            gains[asked] = scores - score
            state = state._replace(gains=gains)
            state = keep(state, asked, scores, max(peak, top))
        if top > (peak - WINDOW if anything else score + TOLERANCE):
            face = int(asked[np.argmax(scores >= top - TOLERANCE)])
            self._choose(face)
            reached = self.odds.log_likelihood - float(self.penalty(np.array(self.odds.free)))
            record |= {
                "hyperedge": columns_of(state.faces[face].tolist()),
                "log_posterior": reached,
                "df": int(self.odds.free),
            }
            path, so_far = np.append(state.path, face), np.append(state.scores, reached)
            return state._replace(path=path, scores=so_far), record
        if anything:
            return state._replace(finished=True), record
        return self._open(state, state.size + 1), record

    def penalty(self, free: Floats) -> Floats:
        """−ln of the prior of structures with so many degrees of freedom; +∞ where it is zero."""
        if self.prior == "orthodox":
            return free
        m = self.tables.total
        left = m - free - 1
        return np.where(left > 0, m * free / np.where(left > 0, left, 1.0), np.inf)

    def structures(self, state: Climb) -> list[Structure]:
        """The distinct structures kept, the climb's best first; equal sets of faces count once."""
        self._catch_up(state)
        return distinct_structures(self.tables, state)

    # ---- looking ---------------------------------------------------------------------------------

    def _look(self, state: Climb, ctl: Control) -> tuple[Ints, Floats]:
        """(the candidates that may still matter, their log-posteriors)."""
        faces, present = self.tables.faces, self.odds.present
        asked = ~present
        if state.size <= self.width:
            asked &= faces.sizes == state.size
        if self.forest:
            asked &= self._joins_two_trees(present)
        places = np.flatnonzero(asked)
        free = self._free_with(faces.subsets[places])
        useful = self._may_matter(free, state)
        places, free = places[useful], free[useful]
        gains = np.empty(places.size)
        self._fill_gains(places, gains, ctl)
        return places, self.odds.log_likelihood + gains - self.penalty(free)

    def _fill_gains(self, places: Ints, out: Floats, ctl: Control) -> None:
        """What each face with its subsets adds to the log-likelihood; threads share the faces."""
        faces, rows = self.tables.faces, self.tables.rows
        width = max(1, CHUNK // (rows.codes.shape[1] * self.tables.n_classes))
        if self.n_jobs > 1:
            width = max(1, min(width, -(-places.size // self.n_jobs)))

        def work(start: int) -> None:
            ctl.check()
            part, own = places[start : start + width], out[start : start + width]
            kernels.gains(
                faces,
                part,
                rows,
                self.tables.cards,
                self.odds.proba,
                self.odds.present,
                own,
            )

        starts = range(0, places.size, width)
        list(map_in_threads(work, starts, self.n_jobs))

    def _free_with(self, subsets: Ints) -> Floats:
        """The degrees of freedom of the structure with faces added, given all their subsets."""
        there = np.append(self.odds.present, True)  # −1, no subset, adds nothing
        own = np.append(self.tables.free, 0.0)
        free: Floats = self.odds.free + np.where(there[subsets], 0.0, own[subsets]).sum(axis=1)
        return free

    def _may_matter(self, free: Floats, state: Climb) -> Bools:
        """Whether the prior leaves a structure a chance to come within 1 % of the best."""
        bound = self._best - self.penalty(free)
        useful: Bools = (bound >= state.scores.max() - WINDOW) & (bound > -np.inf)
        return useful

    def _joins_two_trees(self, present: Bools) -> Bools:
        """Whether a face is one column, or two that the pairs present do not connect."""
        faces = self.tables.faces
        tree = np.arange(len(self.tables.cards))
        for a, b in faces.columns[present & (faces.sizes == 2)].tolist():
            tree[tree == tree[a]] = tree[b]
        apart: Bools = (faces.sizes == 1) | (
            tree[faces.columns[:, 0]] != tree[faces.columns[:, -1]]
        )
        return apart

    # ---- moving ----------------------------------------------------------------------------------

    def _choose(self, face: int) -> None:
        self.odds.add(face)
        self._path.append(face)

    def _catch_up(self, state: Climb) -> None:
        """Bring tables and odds to where `state` is; only a resumed climb has far to go."""
        if len(self.tables) < len(state.faces):
            self.tables.add(state.faces[len(self.tables) :])
            self.odds.admit()
        for face in state.path[len(self._path) :].tolist():
            self._choose(face)

    def _open(self, state: Climb, size: int) -> Climb:
        """The stage of candidates of `size` attributes; beyond the last, all of any size."""
        if size > self.width:
            return state._replace(size=size)
        columns = self._single(state) if size == 1 else self._joined(state, size)
        faces = np.full((len(columns), self.tables.faces.columns.shape[1]), -1, dtype=np.int64)
        faces[:, :size] = columns
        return state._replace(
            size=size,
            faces=np.concatenate([state.faces, faces]),
            gains=np.append(state.gains, np.full(len(columns), -np.inf)),
        )

    def _single(self, state: Climb) -> Ints:
        columns = np.flatnonzero(self.tables.cards > 1)[:, None]
        free = self.odds.free + self.tables.degrees(columns)
        return columns[self._may_matter(free, state)]

    def _joined(self, state: Climb, size: int) -> Ints:
        """Sets of `size` columns all whose subsets were candidates, the most promising ones.

        The promise of a set is the sum of the last gains of its subsets of one column less, or, of
        equals, the largest of them.
        """
        columns = self.tables.unions(size, state.gains)
        subsets = self.tables.subsets(columns, size)
        known = (subsets >= 0).all(axis=1)
        columns, subsets = columns[known], subsets[known]
        free = self._free_with(subsets) + self.tables.degrees(columns)
        useful = self._may_matter(free, state)
        columns, subsets = columns[useful], subsets[useful]
        if len(columns) > self.max_candidates:
            full = (1 << size) - 1
            gains = state.gains[subsets[:, [full - (1 << k) - 1 for k in range(size)]]]
            order = np.lexsort((-gains.max(axis=1), -gains.sum(axis=1).round(6)))
            columns = columns[np.sort(order[: self.max_candidates])]
        return columns


def map_faces(
    codes: Codes,
    cards: Ints,
    labels: Ints,
    n_classes: int,
    weights: Array | None = None,
    *,
    max_order: int = 4,
    **options: Any,
) -> list[tuple[int, ...]]:
    """The hyperedges of the most probable structure, without the class, in the order chosen."""
    search = FaceSearch(codes, cards, labels, n_classes, weights, max_order=max_order, **options)
    state, ctl = search.start(), Control()
    while not search.done(state):
        state, _ = search.step(state, ctl)
    best = state.path[: int(np.argmax(state.scores))]
    return [columns_of(row) for row in state.faces[best].tolist()]


def check_options(max_order: int, outliers: float, prior: str, max_candidates: int) -> None:
    """Refuse parameters of a climb that make no sense."""
    if not isinstance(max_order, int | np.integer) or not 1 <= max_order <= 8:
        raise ParameterError(f"max_order={max_order!r}; a whole number from 1 to 8 is needed.")
    if not 0 < outliers < np.inf:
        raise ParameterError(f"outliers={outliers!r}; a positive number is needed.")
    if prior not in ("aicc", "orthodox"):
        raise ParameterError(f"prior={prior!r}; 'aicc' or 'orthodox' is allowed.")
    if not isinstance(max_candidates, int | np.integer) or max_candidates < 1:
        raise ParameterError(f"max_candidates={max_candidates!r}; a whole number from 1 is needed.")

"""The staged climb of Jakulin & Rish over sets of hyperedges that hold the class.

A. Jakulin and I. Rish, Bayesian learning of Markov network structure, IBM Research Report (2006).
A structure is a set of faces, closed under subsets: the hyperedges without the class and all their
subsets. Its log-posterior is Σ ln P(y | x) less a penalty on its degrees of freedom. The climb adds
the best hyperedge of one attribute while that improves, then of two, and so on; after the last
stage it goes on with the best of any size until the posterior falls below 1 % of the peak. All
structures evaluated within that 1 % are kept, for the average. "Face" is the paper's word for a set
of columns with a joint effect; elsewhere it is an interaction.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.errors import ParameterError, Setting
from counterpane.learners.checkpoint import GROWS
from counterpane.learners.classifiers.faces.face_tables import (
    ClassOdds,
    FaceTables,
    face_columns,
    group_rows,
    most_promising,
    saturated_log_likelihood,
)
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.scores.base import least_gain
from counterpane.typing import Array, Bools, Codes, Floats, Ints

StructurePrior = Literal["aicc", "orthodox"]

CHUNK = 2**26  # rows × faces between two checks of the control
WINDOW = math.log(100.0)  # structures below 1 % of the best do not count


class FaceClimb(NamedTuple):
    """The state of a climb.

    `faces` are all candidates so far, a row of columns each, padded with −1, and `gains` their
    last gains in log-posterior. `path` are the hyperedges chosen, as rows of `faces`, and `scores`
    the log-posteriors from the empty structure on. Kept structures have the first `kept_steps`
    hyperedges of the path and the face `kept_faces` (−1: none). `size` is the number of attributes
    of the candidates; one more than allowed stands for any size.
    """

    size: int
    faces: Annotated[Ints, GROWS]
    gains: Annotated[Floats, GROWS]
    path: Ints
    scores: Annotated[Floats, GROWS]
    kept_steps: Annotated[Ints, GROWS]
    kept_faces: Annotated[Ints, GROWS]
    kept_scores: Annotated[Floats, GROWS]
    finished: bool


class FaceStructure(NamedTuple):
    """Hyperedges without the class in the order chosen, log-posterior, degrees of freedom.

    The first `steps` are those of the climb; one more makes a structure that was only evaluated.
    """

    hyperedges: tuple[tuple[int, ...], ...]
    steps: int
    log_posterior: float
    free: int

    @property
    def accepted(self) -> bool:
        """Whether the climb went through it."""
        return self.steps == len(self.hyperedges)


def with_structures(state: FaceClimb, faces: Ints, scores: Floats, least: float) -> FaceClimb:
    """`state` with the structures, new and old, whose log-posterior is at least `least`."""
    new, old = scores >= least, state.kept_scores >= least
    steps = np.full(int(new.sum()), state.path.size, dtype=np.int64)
    return state._replace(
        kept_steps=np.append(state.kept_steps[old], steps),
        kept_faces=np.append(state.kept_faces[old], faces[new]),
        kept_scores=np.append(state.kept_scores[old], scores[new]),
    )


def distinct_structures(tables: FaceTables, state: FaceClimb) -> list[FaceStructure]:
    """The structures kept, the climb's best first; equal sets of faces count once."""
    path = state.path.tolist()
    chosen = [face_columns(row) for row in state.faces[path].tolist()]
    closures: list[frozenset[int]] = [frozenset()]
    for face in path:
        closures.append(closures[-1] | tables.closure(face))
    rows = zip(
        state.kept_steps.tolist(),
        state.kept_faces.tolist(),
        state.kept_scores.tolist(),
        strict=True,
    )
    structures: dict[frozenset[int], FaceStructure] = {}
    for steps, face, score in sorted(rows):
        closure, hyperedges, accepted = closures[steps], chosen[:steps], steps
        if face >= 0:
            closure = closure | tables.closure(face)
            hyperedges = [*hyperedges, face_columns(state.faces[face].tolist())]
            accepted += face in path[steps : steps + 1]
        free = tables.n_classes - 1 + tables.free[list(closure)].sum()
        # Of several paths to one set of faces the last counts, which is the climb's if it has one.
        structures[closure] = FaceStructure(tuple(hyperedges), accepted, score, int(free))
    best = int(np.argmax(state.scores))
    return sorted(
        structures.values(), key=lambda s: (not s.accepted or s.steps != best, -s.log_posterior)
    )


def structure_penalty(free: Floats, rows: float, prior: StructurePrior) -> Floats:
    """−ln of the prior of structures with `free` degrees of freedom; +∞ where it is zero."""
    if prior == "orthodox":
        return free
    left = rows - free - 1
    penalty = np.where(left > 0, rows * free / np.where(left > 0, left, 1.0), np.inf)
    return np.where(free > 0, penalty, 0.0)


class FaceSearch(Search[FaceClimb]):
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
        prior: StructurePrior = "aicc",
        cycles: bool = True,
        max_candidates: int = 1000,
        n_jobs: int = 1,
    ) -> None:
        check_options(max_order, outliers, prior, max_candidates)
        self.width = min(max_order - 1, 2) if not cycles else max_order - 1
        rows = group_rows(codes, cards, labels, n_classes, weights)
        self.tables = FaceTables(rows, cards, n_classes, outliers, max(self.width, 1))
        self.rounding = least_gain(self.tables.total)  # of equal gains the first wins
        self.window = WINDOW + self.rounding
        self.odds = ClassOdds(self.tables)
        self.prior = prior
        self.forest = not cycles
        self.max_candidates = max_candidates
        self.n_jobs = n_jobs
        self._best = saturated_log_likelihood(rows)
        self._path: list[int] = []

    def start(self) -> FaceClimb:
        """The structure of the class alone; candidates are all single columns."""
        self._back_to([])
        score = self.odds.log_likelihood - float(self.penalty(np.array(self.odds.free)))
        none: Ints = np.empty(0, dtype=np.int64)
        state = FaceClimb(
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

    def done(self, state: FaceClimb) -> bool:
        """Whether the climb has fallen below 1 % of its peak."""
        return state.finished

    def size(self, state: FaceClimb) -> tuple[float, float | None]:
        """The number of hyperedges chosen."""
        return float(state.path.size), None

    def step(self, state: FaceClimb, ctl: Control) -> tuple[FaceClimb, dict[str, Any]]:
        """Evaluate all candidates: the best is chosen, or larger candidates are opened."""
        self._catch_up(state)
        candidates, scores = self._evaluate(state, ctl)
        score, peak = float(state.scores[-1]), float(state.scores.max())
        record: dict[str, Any] = {"order": state.size + 1, "candidates": int(candidates.size)}
        top = scores.max(initial=-np.inf)
        any_size = state.size > self.width
        if candidates.size:
            gains = state.gains.copy()
            gains[candidates] = scores - score
            state = state._replace(gains=gains)
            state = with_structures(state, candidates, scores, max(peak, top) - self.window)
        if top > (peak - self.window if any_size else score + self.rounding):
            face = int(candidates[np.argmax(scores >= top - self.rounding)])
            self._choose(face)
            reached = self.odds.log_likelihood - float(self.penalty(np.array(self.odds.free)))
            record |= {
                "hyperedge": face_columns(state.faces[face].tolist()),
                "log_posterior": reached,
                "df": int(self.odds.free),
            }
            # What it reached counts, not what it was to gain: the two differ by rounding.
            chosen = (state.kept_steps == state.path.size) & (state.kept_faces == face)
            kept = np.where(chosen, reached, state.kept_scores)
            path, scores = np.append(state.path, face), np.append(state.scores, reached)
            return state._replace(path=path, scores=scores, kept_scores=kept), record
        if any_size:
            return state._replace(finished=True), record
        return self._open(state, state.size + 1), record

    def penalty(self, free: Floats) -> Floats:
        """−ln of the prior of structures with so many degrees of freedom; +∞ where it is zero."""
        return structure_penalty(free, self.tables.total, self.prior)

    def structures(self, state: FaceClimb) -> list[FaceStructure]:
        """The distinct structures kept, the climb's best first; equal sets of faces count once."""
        self._catch_up(state)
        return distinct_structures(self.tables, state)

    def _evaluate(self, state: FaceClimb, ctl: Control) -> tuple[Ints, Floats]:
        """(the candidates that may still matter, their log-posteriors)."""
        faces, present = self.tables.faces, self.odds.present
        flags = ~present
        if state.size <= self.width:
            flags &= faces.sizes == state.size
        if self.forest:
            flags &= self._joins_two_trees(present)
        places = np.flatnonzero(flags)
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
            part = slice(start, start + width)
            state = self.odds.proba, self.odds.present
            kernels.gains(faces, places[part], rows, self.tables.cards, *state, out[part])

        starts = range(0, places.size, width)
        list(map_in_threads(work, starts, self.n_jobs))

    def _free_with(self, subsets: Ints) -> Floats:
        """The degrees of freedom of the structure with faces added, given all their subsets."""
        present = np.append(self.odds.present, True)  # −1, no subset, adds nothing
        each = np.append(self.tables.free, 0.0)
        free: Floats = self.odds.free + np.where(present[subsets], 0.0, each[subsets]).sum(axis=1)
        return free

    def _may_matter(self, free: Floats, state: FaceClimb) -> Bools:
        """Whether the prior leaves a structure a chance to come within 1 % of the best."""
        bound = self._best - self.penalty(free)
        useful: Bools = (bound >= state.scores.max() - self.window) & (bound > -np.inf)
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

    def _choose(self, face: int) -> None:
        self.odds.add(face)
        self._path.append(face)

    def _catch_up(self, state: FaceClimb) -> None:
        """Bring tables and odds to `state`; only a resumed climb has many steps to repeat."""
        self._back_to(state.path.tolist())
        if len(self.tables) < len(state.faces):
            self.tables.add(state.faces[len(self.tables) :])
            self.odds.admit()
        for face in state.path[len(self._path) :].tolist():
            self._choose(face)

    def _back_to(self, path: list[int]) -> None:
        """Drop the odds of another path than the beginning of this one."""
        if self._path != path[: len(self._path)]:
            self.odds, self._path = ClassOdds(self.tables), []
            self.odds.admit()

    def _open(self, state: FaceClimb, size: int) -> FaceClimb:
        """The stage of candidates of `size` attributes; beyond the last, all of any size."""
        if size > self.width:
            return state._replace(size=size)
        columns = self._single(state) if size == 1 else self._unions(state, size)
        faces = np.full((len(columns), self.tables.faces.columns.shape[1]), -1, dtype=np.int64)
        faces[:, :size] = columns
        return state._replace(
            size=size,
            faces=np.concatenate([state.faces, faces]),
            gains=np.append(state.gains, np.full(len(columns), -np.inf)),
        )

    def _single(self, state: FaceClimb) -> Ints:
        columns = np.flatnonzero(self.tables.cards > 1)[:, None]
        free = self.odds.free + self.tables.degrees(columns)
        return columns[self._may_matter(free, state)]

    def _unions(self, state: FaceClimb, size: int) -> Ints:
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
        full = (1 << size) - 1
        part_gains = state.gains[subsets[:, [full - (1 << k) - 1 for k in range(size)]]]
        return columns[most_promising(part_gains, self.max_candidates, digits=6)]


def check_options(max_order: int, outliers: float, prior: str, max_candidates: int) -> None:
    """Refuse parameters of a climb that make no sense."""
    if not isinstance(max_order, int | np.integer) or not 1 <= max_order <= 8:
        raise ParameterError(
            Setting("max_order", max_order), "; a whole number from 1 to 8 is needed."
        )
    if not 0 < outliers < np.inf:
        raise ParameterError(Setting("outliers", outliers), "; a positive number is needed.")
    if prior not in ("aicc", "orthodox"):
        raise ParameterError(Setting("prior", prior), "; 'aicc' or 'orthodox' is allowed.")
    if not isinstance(max_candidates, int | np.integer) or max_candidates < 1:
        raise ParameterError(
            Setting("max_candidates", max_candidates), "; a whole number from 1 is needed."
        )

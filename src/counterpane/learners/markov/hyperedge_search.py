"""The staged climb of Jakulin & Rish over hyperedges of all columns, without a class.

A. Jakulin and I. Rish, Bayesian learning of Markov network structure, IBM Research Report (2006).
A structure is a set of faces, closed under subsets: the hyperedges and all their subsets. The model
is P(x) = exp(Σ φ_T(x_T)) / Z over its faces T, φ_T = Σ_{U⊆T} (−1)^{|T|−|U|} ln P(x_U), which is the
product of the submodels P with each overlap counted once. A new hyperedge T multiplies Z by
Σ P(x_T) exp(Σ φ of its new faces), where P is the model before it, so a candidate needs the counts
of its own columns and one marginal of the model, from a junction tree of its connected columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting
from counterpane.inference.calibration import FactorTables, run_tree
from counterpane.inference.junction import CliqueTree
from counterpane.learners.checkpoint import GROWS
from counterpane.learners.classifiers.faces.face_average import nonempty_subsets
from counterpane.learners.classifiers.faces.face_search import (
    StructurePrior,
    check_options,
    structure_penalty,
)
from counterpane.learners.classifiers.faces.face_tables import (
    face_columns,
    join_sets,
    most_promising,
)
from counterpane.learners.driver import Search
from counterpane.progress import Control
from counterpane.scores.base import least_gain
from counterpane.typing import Floats, Ints

Face = tuple[int, ...]

MAX_TREE_CELLS = 2**18


class HyperedgeClimb(NamedTuple):
    """The state of a climb.

    `faces` are all candidates so far, a row of columns each, padded with −1, and `gains` their last
    gains in log-posterior. `path` are the hyperedges chosen, as rows of `faces`, and `scores` the
    log-posteriors from the empty structure on. `too_large` is 1 for candidates whose junction
    tree exceeds the limit. `size` is the number of columns of the candidates; one more than allowed
    stands for any size.
    """

    size: int
    faces: Annotated[Ints, GROWS]
    gains: Annotated[Floats, GROWS]
    too_large: Annotated[Ints, GROWS]
    path: Ints
    scores: Annotated[Floats, GROWS]
    finished: bool


class HyperedgeStructure(NamedTuple):
    """Hyperedges in the order chosen, log-posterior, degrees of freedom, and a table for each
    maximal hyperedge: the sum of the φ of its faces, each face in the first that holds it."""

    hyperedges: tuple[Face, ...]
    log_posterior: float
    free: int
    tables: dict[Face, Floats]


class ConnectedColumns:
    """The part of a model over columns that its hyperedges connect, and its marginals."""

    def __init__(self, columns: Sequence[int], cards: Ints, faces: dict[Face, Floats]) -> None:
        self.columns = sorted(columns)
        self.cards = cards[self.columns]
        self.faces = faces
        place = {column: k for k, column in enumerate(self.columns)}
        alone = [np.zeros(card) for card in self.cards]
        scopes = [*((k,) for k in range(len(alone))), *(tuple(place[c] for c in f) for f in faces)]
        self.tree = CliqueTree(scopes, self.cards)
        self._factors = FactorTables.of([*alone, *faces.values()])
        self._given: dict[Face, tuple[Floats, Floats]] = {}

    @property
    def log_partition(self) -> float:
        """ln Σ exp(Σ φ) over the joint states of the columns."""
        return float(self._conditionals(())[1][0])

    def marginal(self, columns: Face) -> Floats:
        """P of some of the columns, of axes in their order: P(all but the last) P(last | those)."""
        *first, last = (self.columns.index(c) for c in columns)
        answers, log_weights = self._conditionals(tuple(first))
        start = int(self.cards[:last].sum())
        conditional = answers[:, start : start + int(self.cards[last])]
        weights = np.exp(log_weights - self.log_partition)
        joint: Floats = (weights[:, None] * conditional).reshape(self.cards[[*first, last]])
        return joint

    def _conditionals(self, first: Face) -> tuple[Floats, Floats]:
        """P(each column | states of `first`), end to end, and ln of the weight of these states."""
        if first not in self._given:
            shape = tuple(self.cards[list(first)].tolist())
            states = np.array(list(np.ndindex(shape)), dtype=np.int64).reshape(
                math.prod(shape), len(first)
            )
            targets = range(len(self.columns))
            self._given[first] = run_tree(
                self.tree, self._factors, targets, first, states, joint=False
            )
        return self._given[first]


class HyperedgeSearch(Search[HyperedgeClimb]):
    """The staged climb over hyperedges of all columns of a source, from no hyperedge at all.

    Equal gains go to the first face in the order of the columns.
    """

    def __init__(
        self,
        source: CountSource,
        *,
        max_order: int = 3,
        outliers: float = 1.0,
        prior: StructurePrior = "aicc",
        max_candidates: int = 1000,
        max_cells: int = MAX_TREE_CELLS,
    ) -> None:
        check_options(max_order, outliers, prior, max_candidates)
        if max_cells < 1:
            raise ParameterError(
                Setting("max_cells", max_cells), "; a number above zero is needed."
            )
        self.source = source
        self.cards = source.schema.cards
        self.total = float(source.counts([(0,)], missing="error")[0].sum())
        self.rounding = least_gain(self.total)
        self.width = max_order
        self.outliers = outliers
        self.prior: StructurePrior = prior
        self.max_candidates = max_candidates
        self.max_cells = max_cells
        self.phi: dict[Face, Floats] = {}
        self._fits: dict[Face, float] = {}  # Σ n φ of each face
        self._clear()

    def start(self) -> HyperedgeClimb:
        """No hyperedge: every column is uniform; candidates are all single columns."""
        none: Ints = np.empty(0, dtype=np.int64)
        self._clear()
        state = HyperedgeClimb(
            size=0,
            faces=np.empty((0, self.width), dtype=np.int64),
            gains=np.empty(0),
            too_large=none,
            path=none,
            scores=np.array([self._log_posterior()]),
            finished=False,
        )
        return self._open(state, 1)

    def done(self, state: HyperedgeClimb) -> bool:
        """Whether no candidate of any size improves the posterior."""
        return state.finished

    def size(self, state: HyperedgeClimb) -> tuple[float, float | None]:
        """The number of hyperedges chosen."""
        return float(state.path.size), None

    def step(self, state: HyperedgeClimb, ctl: Control) -> tuple[HyperedgeClimb, dict[str, Any]]:
        """Evaluate all candidates: the best is chosen, or larger candidates are opened."""
        self._catch_up(state, ctl)
        rows = [face_columns(row) for row in state.faces.tolist()]
        any_size = state.size > self.width
        gains, too_large = state.gains.copy(), state.too_large.copy()
        candidates = [
            k
            for k, face in enumerate(rows)
            if any_size or len(face) == state.size
            if face not in self.present and not too_large[k]
        ]
        for k in candidates:
            ctl.check()
            gains[k] = self._gain(rows[k])
        record: dict[str, Any] = {"order": state.size, "candidates": len(candidates)}
        state = state._replace(gains=gains, too_large=too_large)
        left = np.array(candidates, dtype=np.int64)
        while left.size and (top := gains[left].max()) > self.rounding:
            best = int(left[np.argmax(gains[left] >= top - self.rounding)])
            if self._choose(rows[best]):
                score = self._log_posterior()
                record |= {"hyperedge": rows[best], "log_posterior": score, "df": self.free}
                path, scores = np.append(state.path, best), np.append(state.scores, score)
                return state._replace(path=path, scores=scores), record
            too_large[best] = 1
            left = left[left != best]
        if any_size:
            return state._replace(finished=True), record
        return self._open(state, state.size + 1), record

    def structure(self, state: HyperedgeClimb) -> HyperedgeStructure:
        """The structure that the climb has reached."""
        self._catch_up(state, Control())
        tables: dict[Face, Floats] = {}
        for face in sorted(self.present, key=lambda f: (-len(f), f)):
            home = next((facet for facet in tables if set(face) <= set(facet)), None)
            if home is None:
                tables[face] = self.phi[face]
            else:
                tables[home] = tables[home] + _spread(self.phi[face], face, home)
        return HyperedgeStructure(tuple(self._path), float(state.scores[-1]), self.free, tables)

    def _gain(self, face: Face) -> float:
        """What a face with its subsets adds to the log-posterior."""
        fresh = [part for part in nonempty_subsets(face) if part not in self.present]
        free = self.free + sum(self._degrees(part) for part in fresh)
        penalty = float(self._penalty(free) - self._penalty(self.free))
        if penalty == np.inf:
            return -np.inf
        parts = {id(self.part_of[c]): self.part_of[c] for c in face}
        key = tuple(sorted(parts))
        if self._fit_gains.get(face, ((), 0.0))[0] != key:
            change = sum(_spread(self.phi[part], part, face) for part in fresh)
            before = np.ones(())
            order: list[int] = []
            for part in parts.values():
                inside = tuple(c for c in face if c in part.columns)
                before = np.multiply.outer(before, part.marginal(inside))
                order += inside
            before = np.transpose(before, [order.index(c) for c in face])
            fit = sum(self._fits[part] for part in fresh)
            fit -= self.total * float(np.log((before * np.exp(change)).sum()))
            self._fit_gains[face] = key, fit
        return self._fit_gains[face][1] - penalty

    def _choose(self, face: Face) -> bool:
        """Add a face with its subsets; False, and no change, if the junction tree is too large."""
        parts = {id(self.part_of[c]): self.part_of[c] for c in face}
        faces = {f: table for part in parts.values() for f, table in part.faces.items()}
        faces |= {part: self.phi[part] for part in nonempty_subsets(face)}
        columns = [c for part in parts.values() for c in part.columns]
        joined = ConnectedColumns(columns, self.cards, faces)
        if joined.tree.cells(joined.cards) > self.max_cells:
            return False
        for part in nonempty_subsets(face):
            if part not in self.present:
                self.present.add(part)
                self.free += self._degrees(part)
        for c in columns:
            self.part_of[c] = joined
        self._path.append(face)
        return True

    def _log_posterior(self) -> float:
        fit = sum(self._fits[face] for face in self.present)
        parts = {id(part): part for part in self.part_of}
        fit -= self.total * sum(part.log_partition for part in parts.values())
        return float(fit - self._penalty(self.free))

    def _penalty(self, free: float) -> Floats:
        return structure_penalty(np.array(free, dtype=np.float64), self.total, self.prior)

    def _degrees(self, face: Face) -> int:
        return int(np.prod(self.cards[list(face)] - 1))

    def _clear(self) -> None:
        self.present: set[Face] = set()
        self.free = 0
        self.part_of = [ConnectedColumns([c], self.cards, {}) for c in range(len(self.cards))]
        self._path: list[Face] = []
        self._fit_gains: dict[Face, tuple[tuple[int, ...], float]] = {}

    def _catch_up(self, state: HyperedgeClimb, ctl: Control) -> None:
        """Bring tables and model to `state`; only a resumed climb has many steps to repeat."""
        faces = [face_columns(row) for row in state.faces.tolist()]
        path = [faces[k] for k in state.path.tolist()]
        self._count([face for face in faces if face not in self.phi], ctl)
        if self._path != path[: len(self._path)]:
            self._clear()
        for face in path[len(self._path) :]:
            self._choose(face)

    def _count(self, faces: list[Face], ctl: Control) -> None:
        """φ and Σ n φ of faces, those of fewer columns first."""
        tables = self.source.counts(faces, missing="error", ctl=ctl) if faces else ()
        for face, counts in zip(faces, tables, strict=True):
            phi = np.log((counts + self.outliers / counts.size) / (self.total + self.outliers))
            for part in nonempty_subsets(face)[:-1]:
                phi = phi - _spread(self.phi[part], part, face)
            self.phi[face] = phi
            self._fits[face] = float((counts * phi).sum())

    def _open(self, state: HyperedgeClimb, size: int) -> HyperedgeClimb:
        """The stage of candidates of `size` columns; beyond the last, all of any size."""
        if size > self.width:
            return state._replace(size=size)
        columns = (
            np.flatnonzero(self.cards > 1)[:, None] if size == 1 else self._unions(state, size)
        )
        cells = self.cards[columns].prod(axis=1)
        possible = self._penalty_of(columns) < np.inf
        columns = columns[possible & (cells <= self.max_cells)]
        faces = np.full((len(columns), self.width), -1, dtype=np.int64)
        faces[:, :size] = columns
        return state._replace(
            size=size,
            faces=np.concatenate([state.faces, faces]),
            gains=np.append(state.gains, np.full(len(columns), -np.inf)),
            too_large=np.append(state.too_large, np.zeros(len(columns), dtype=np.int64)),
        )

    def _penalty_of(self, columns: Ints) -> Floats:
        """The penalty of each hyperedge with its subsets alone."""
        free = self.cards[columns].prod(axis=1) - 1.0
        return structure_penalty(free, self.total, self.prior)

    def _unions(self, state: HyperedgeClimb, size: int) -> Ints:
        """Sets of `size` columns all whose subsets were candidates; all pairs are candidates.

        Of larger sets those count whose subsets of one column less had the largest gains.
        """
        sizes = (state.faces >= 0).sum(axis=1)
        smaller = state.faces[sizes == size - 1, : size - 1]
        if not len(smaller):
            return np.empty((0, size), dtype=np.int64)
        gain_of = {
            face_columns(r): g for r, g in zip(state.faces.tolist(), state.gains, strict=True)
        }
        unions = join_sets(smaller)
        parts = [list(combinations(row, size - 1)) for row in unions.tolist()]
        known = [all(part in gain_of for part in row) for row in parts]
        kept: Ints = unions[np.array(known, dtype=np.bool_)]
        if size == 2 or not len(kept):
            return kept
        part_gains = np.array(
            [[gain_of[p] for p in row] for row, k in zip(parts, known, strict=True) if k]
        )
        finite = np.where(np.isfinite(part_gains), part_gains, -self.total)
        best: Ints = kept[most_promising(finite, self.max_candidates, digits=6)]
        return best


def _spread(table: Floats, part: Face, face: Face) -> Floats:
    """The table of `part` with an axis for each column of `face`."""
    return table[tuple(slice(None) if c in part else None for c in face)]

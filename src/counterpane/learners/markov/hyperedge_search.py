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
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting
from counterpane.inference.calibration import FactorTables, run_tree
from counterpane.inference.junction import CliqueTree
from counterpane.learners.checkpoint import check_range
from counterpane.learners.classifiers.faces.face_average import nonempty_subsets
from counterpane.learners.classifiers.faces.face_search import (
    StructurePrior,
    check_options,
    structure_penalty,
)
from counterpane.learners.classifiers.faces.face_tables import (
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

    `gains` has all candidates so far with their last gains in log-posterior, `too_large` those
    whose junction tree exceeds the limit, and `path` the hyperedges chosen. `size` is the number of
    columns of the candidates; one more than allowed stands for any size.
    """

    size: int
    gains: dict[Face, float]
    too_large: frozenset[Face]
    path: tuple[Face, ...]
    log_posterior: float
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
        self.key = (tuple(columns), *faces)
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


class HyperedgeModel(NamedTuple):
    """The model of a path: the chosen hyperedges with all their subsets, and the columns joined."""

    faces: dict[Face, None]  # those of fewer columns first
    free: int  # degrees of freedom
    part_of: list[ConnectedColumns]  # the part of each column

    @property
    def parts(self) -> list[ConnectedColumns]:
        """The parts, each once."""
        return list({id(part): part for part in self.part_of}.values())


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
        self._parts: dict[tuple[Face, ...], ConnectedColumns] = {}  # of the last models
        self._fit_gains: dict[Face, tuple[tuple[int, ...], float]] = {}

    def start(self) -> HyperedgeClimb:
        """No hyperedge: every column is uniform; candidates are all single columns."""
        score = self._log_posterior(self._model(()))
        return self._open(HyperedgeClimb(0, {}, frozenset(), (), score, False), 1)

    def check(self, state: HyperedgeClimb) -> None:
        candidates = set(state.gains)
        if not candidates >= {*state.path, *state.too_large}:
            raise ValueError("a hyperedge is no candidate")
        for face in candidates:
            check_range("a column", face, 0, len(self.cards))
            check_range("the order of columns", np.diff(face), 1, len(self.cards))
            check_range("the size of a hyperedge", len(face), 1, self.width + 1)
        check_range("the size of candidates", state.size, 1, self.width + 2)

    def done(self, state: HyperedgeClimb) -> bool:
        """Whether no candidate of any size improves the posterior."""
        return state.finished

    def size(self, state: HyperedgeClimb) -> tuple[float, float | None]:
        """The number of hyperedges chosen."""
        return float(len(state.path)), None

    def step(self, state: HyperedgeClimb, ctl: Control) -> tuple[HyperedgeClimb, dict[str, Any]]:
        """Evaluate all candidates: the best is chosen, or larger candidates are opened."""
        self._count(state.gains, ctl)
        model = self._model(state.path)
        any_size = state.size > self.width
        left = [
            face
            for face in state.gains
            if (any_size or len(face) == state.size)
            and face not in model.faces
            and face not in state.too_large
        ]
        record: dict[str, Any] = {"order": state.size, "candidates": len(left)}
        gains, too_large = dict(state.gains), set(state.too_large)
        for face in left:
            ctl.check()
            gains[face] = self._gain(model, face)
        while left and (top := max(gains[face] for face in left)) > self.rounding:
            best = next(face for face in left if gains[face] >= top - self.rounding)
            path = (*state.path, best)
            larger = self._model(path)
            joined = larger.part_of[best[0]]
            if joined.tree.cells(joined.cards) <= self.max_cells:
                self._parts = {part.key: part for part in larger.parts}
                score = self._log_posterior(larger)
                names = tuple(self.source.schema.names[c] for c in best)
                record |= {"hyperedge": names, "log_posterior": score, "df": larger.free}
                state = state._replace(path=path, log_posterior=score)
                return state._replace(gains=gains, too_large=frozenset(too_large)), record
            too_large.add(best)
            left.remove(best)
        state = state._replace(gains=gains, too_large=frozenset(too_large))
        if any_size:
            return state._replace(finished=True), record
        return self._open(state, state.size + 1), record

    def structure(self, state: HyperedgeClimb) -> HyperedgeStructure:
        """The structure that the climb has reached."""
        self._count(state.gains, Control())
        model = self._model(state.path)
        tables: dict[Face, Floats] = {}
        for face in sorted(model.faces, key=lambda f: (-len(f), f)):
            home = next((facet for facet in tables if set(face) <= set(facet)), None)
            if home is None:
                tables[face] = self.phi[face]
            else:
                tables[home] = tables[home] + _spread(self.phi[face], face, home)
        return HyperedgeStructure(state.path, state.log_posterior, model.free, tables)

    def _model(self, path: tuple[Face, ...]) -> HyperedgeModel:
        """The model of a path; parts that the last models had are used again."""
        chosen = {part for face in path for part in nonempty_subsets(face)}
        faces = dict.fromkeys(sorted(chosen, key=lambda face: (len(face), face)))
        group_of: list[Face] = [(c,) for c in range(len(self.cards))]
        for face in path:
            joined = tuple(sorted({c for column in face for c in group_of[column]}))
            for c in joined:
                group_of[c] = joined
        tables: dict[Face, dict[Face, Floats]] = {group: {} for group in group_of}
        for face in faces:
            tables[group_of[face[0]]][face] = self.phi[face]
        parts = {}
        for group, inside in tables.items():
            key = (group, *inside)
            parts[group] = self._parts.get(key) or ConnectedColumns(group, self.cards, inside)
            self._parts[key] = parts[group]
        free = sum(map(self._degrees, faces))
        return HyperedgeModel(faces, free, [parts[group] for group in group_of])

    def _gain(self, model: HyperedgeModel, face: Face) -> float:
        """What a face with its subsets adds to the log-posterior."""
        fresh = [part for part in nonempty_subsets(face) if part not in model.faces]
        free = model.free + sum(self._degrees(part) for part in fresh)
        penalty = float(self._penalty(free) - self._penalty(model.free))
        if penalty == np.inf:
            return -np.inf
        parts = {id(model.part_of[c]): model.part_of[c] for c in face}
        key = tuple(sorted(parts))
        if self._fit_gains.get(face, ((), 0.0))[0] != key:
            change = sum(_spread(self.phi[part], part, face) for part in fresh)
            joint = np.ones(())
            order: list[int] = []
            for part in parts.values():
                inside = tuple(c for c in face if c in part.columns)
                joint = np.multiply.outer(joint, part.marginal(inside))
                order += inside
            joint = np.transpose(joint, [order.index(c) for c in face])
            fit = sum(self._fits[part] for part in fresh)
            fit -= self.total * float(np.log((joint * np.exp(change)).sum()))
            self._fit_gains[face] = key, fit
        return self._fit_gains[face][1] - penalty

    def _log_posterior(self, model: HyperedgeModel) -> float:
        fit = sum(self._fits[face] for face in model.faces)
        fit -= self.total * sum(part.log_partition for part in model.parts)
        return float(fit - self._penalty(model.free))

    def _penalty(self, free: float) -> Floats:
        return structure_penalty(np.array(free, dtype=np.float64), self.total, self.prior)

    def _degrees(self, face: Face) -> int:
        return int(np.prod(self.cards[list(face)] - 1))

    def _count(self, candidates: Iterable[Face], ctl: Control) -> None:
        """φ and Σ n φ of candidates that have none, those of fewer columns first."""
        faces = [face for face in candidates if face not in self.phi]
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
        fresh = dict.fromkeys(map(tuple, columns.tolist()), -np.inf)
        return state._replace(size=size, gains={**state.gains, **fresh})

    def _penalty_of(self, columns: Ints) -> Floats:
        """The penalty of each hyperedge with its subsets alone."""
        free = self.cards[columns].prod(axis=1) - 1.0
        return structure_penalty(free, self.total, self.prior)

    def _unions(self, state: HyperedgeClimb, size: int) -> Ints:
        """Sets of `size` columns all whose subsets were candidates; all pairs are candidates.

        Of larger sets those count whose subsets of one column less had the largest gains.
        """
        gain_of = state.gains
        smaller = [face for face in gain_of if len(face) == size - 1]
        if not smaller:
            return np.empty((0, size), dtype=np.int64)
        unions = join_sets(np.array(smaller, dtype=np.int64))
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

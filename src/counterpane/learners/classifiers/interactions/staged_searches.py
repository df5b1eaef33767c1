"""Staged searches for interactions: single columns first, then pairs, then triples.

An interaction is a set of columns with a joint effect on the class. A search adds the candidate
with the largest gain while that exceeds ln N, N being the candidates of its size: that is what the
best of N useless candidates gains by chance. An interaction brings its subsets with it. There are
two gains: the likelihood of left-out rows under a model without a fit, and a score statistic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from counterpane._core import classifiers as kernels
from counterpane.data.table import distinct_rows
from counterpane.learners.classifiers.faces.face_tables import join_sets, most_promising
from counterpane.learners.classifiers.interactions.ridge import (
    Interaction,
    Ridge,
    lay_out_interactions,
    log_prior,
)
from counterpane.typing import Codes, Floats, Ints

MAX_CANDIDATES = 1000  # of each size
MAX_BYTES = 2**29  # of all tables of a leave-one-out search; candidates beyond are not tried
STRENGTH = 1.0  # of the ridge in a score search
MAX_SCORED = 15  # interactions of each size in a score search
MAX_REFIT = 20  # steps
MAX_CELLS = 2**20  # a candidate with more possible cells is not scored
ROUNDED = 1e-8  # gains that differ by less, times the largest, count as equal
BATCH = 64  # candidates scored again at a time


class StagedModel(Protocol):
    """What a staged search works on: the columns that vary, and the interactions added so far."""

    columns: list[int]

    def admit(self, candidates: Sequence[Interaction]) -> list[Interaction]:
        """The candidates that fit in memory."""

    def update_gains(self, candidates: Sequence[Interaction], gains: Floats) -> None:
        """Bring the last gains up to date, at least those that may be the largest."""

    def add(self, interaction: Interaction) -> None:
        """Take an interaction and its subsets into the model."""


def staged_search(
    model: StagedModel,
    sizes: Sequence[int],
    gains: Mapping[Interaction, float],
    max_per_size: int | None = None,
) -> list[Interaction]:
    """The interactions added, in order. `gains` are those of smaller interactions than `sizes`."""
    chosen: list[Interaction] = []
    last_gains = dict(gains)
    for size in sizes:
        candidates = model.admit(candidate_interactions(model.columns, last_gains, size))
        if not candidates:
            continue
        values = np.full(len(candidates), np.inf)
        for _ in range(len(candidates) + 1 if max_per_size is None else max_per_size):
            model.update_gains(candidates, values)
            best = int(np.argmax(values))
            if not values[best] > math.log(len(candidates)):
                break
            chosen.append(candidates[best])
            model.add(candidates[best])
        last_gains.update(zip(candidates, values.tolist(), strict=True))
    return chosen


def candidate_interactions(
    columns: Sequence[int],
    gains: Mapping[Interaction, float],
    size: int,
    most: int = MAX_CANDIDATES,
) -> list[Interaction]:
    """Sets of `size` columns all whose subsets of one less have a gain; at most `most` of them.

    Those with the largest sum of these gains are returned, in the order of the columns.

    >>> candidate_interactions([0, 1, 2], {(0,): 3.0, (1,): 1.0, (2,): 2.0}, 2, most=2)
    [(0, 1), (0, 2)]
    """
    if size == 1:
        return [(c,) for c in columns]
    smaller = sorted(s for s in gains if len(s) == size - 1)
    if size == 2 and len(smaller) > most + 1:
        # A column below the best most + 1 has `most` better partners: it is in no pair that stays.
        values = np.array([gains[s] for s in smaller])
        least = np.partition(values, -most - 1)[-most - 1]
        kept = values >= least - ROUNDED * (1 + abs(float(values.max())))
        smaller = [s for s, keep in zip(smaller, kept.tolist(), strict=True) if keep]
    if not smaller:
        return []
    parts = np.array(smaller, dtype=np.int64)
    sets = join_sets(parts)
    base = int(parts.max()) + 1
    powers = base ** np.arange(size - 2, -1, -1)
    keys = parts @ powers  # rising, as the sets are sorted
    values = np.array([gains[s] for s in smaller])
    part_gains = np.empty((len(sets), size))
    known = np.ones(len(sets), dtype=np.bool_)
    for k in range(size):
        part_keys = np.delete(sets, k, axis=1) @ powers
        places = np.minimum(np.searchsorted(keys, part_keys), len(keys) - 1)
        known &= keys[places] == part_keys
        part_gains[:, (k + 1) % size] = values[places]
    sets = sets[known]
    chosen = most_promising(part_gains[known], most, digits=9)
    return [tuple(row) for row in sets[chosen].tolist()]


def subsets_of(columns: Interaction) -> list[Interaction]:
    """All subsets, the empty one first and the set itself last, by the bits of their places."""
    n = len(columns)
    return [tuple(c for j, c in enumerate(columns) if bits >> j & 1) for bits in range(1 << n)]


def leave_one_out_interactions(
    codes: Codes,
    cards: Ints,
    labels: Ints,
    n_classes: int,
    weights: Floats,
    *,
    max_size: int = 3,
    unit: float = 1.0,
) -> list[Interaction]:
    """The interactions added, in order, by the likelihood of each row under a model without it.

    The predictors are those of `_core.classifiers.back_off`: nothing is fitted, so that leaving a
    row out costs nothing. `unit` is the weight of one row.
    """
    if n_classes < 2 or not any(_varies(row) for row in codes):
        return []
    joint = np.vstack([codes, labels.astype(codes.dtype)])
    joint, weights = distinct_rows(joint, weights, np.append(cards, n_classes))
    rows = kernels.LabeledRows(
        np.ascontiguousarray(joint[:-1]),
        joint[-1].astype(np.int64),
        weights.astype(np.float64),
    )
    model = LeaveOneOutModel(rows, cards, n_classes, max_size, unit)
    return staged_search(model, range(1, max_size + 1), {})


class LeaveOneOutModel:
    """Rows, the tables of all candidates, and the predictors from the interactions added."""

    def __init__(
        self, rows: kernels.LabeledRows, cards: Ints, n_classes: int, max_size: int, unit: float
    ) -> None:
        self.rows = rows
        self.columns = [c for c, row in enumerate(rows.codes) if _varies(row)]
        self.cards = cards
        self.n_classes = n_classes
        self.unit = unit
        self.ids: dict[Interaction, int] = {}
        self.tables = kernels.BackOffFaces(
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
        table[self.tables.origins] = self.tables.tables
        others = (np.arange(n_classes)[:, None] + np.arange(1, n_classes)) % n_classes
        away = np.take_along_axis(table, others, axis=1) - np.diag(table)[:, None]
        self.others: Floats = np.ascontiguousarray(away[rows.labels].T)
        self.log_likelihood = self._log_likelihood()

    def admit(self, candidates: Sequence[Interaction]) -> list[Interaction]:
        """The first candidates whose tables fit in memory; their tables are made."""
        old, width = self.tables, self.tables.columns.shape[1]
        admitted, counted = [], []
        index, origins = [old.place_of], [old.origins]
        columns, cards, parts = [], [], []
        size = old.place_of.nbytes + old.tables.nbytes
        for interaction in candidates:
            states = self.cards[list(interaction)].tolist()
            cells = math.prod(states)
            most = min(cells * self.n_classes, len(self.rows.labels))
            size += 4 * cells * self.n_classes + 8 * most * (self.n_classes + 1)
            if size > MAX_BYTES:
                break
            self.ids[interaction] = len(self.ids)
            columns.append([*interaction, *[-1] * (width - len(interaction))])
            cards.append([*states, *[1] * (width - len(interaction))])
            subsets = [self.ids[s] for s in subsets_of(interaction)]
            parts.append(subsets + [subsets[-1]] * ((1 << width) - len(subsets)))
            counts = np.zeros((cells, self.n_classes))
            index.append(np.full(counts.size, -1, dtype=np.int32))
            origins.append(np.empty(most, dtype=np.int64))
            scope = np.array(columns[-1]), np.array(cards[-1])
            n_places = kernels.count_places(self.rows, *scope, counts, index[-1], origins[-1])
            origins[-1] = origins[-1][:n_places]
            admitted.append(interaction)
            counted.append(counts)
        places = np.cumsum([len(o) for o in origins[1:]], dtype=np.int64) + len(old.origins)
        starts = np.cumsum([len(i) for i in index[:-1]], dtype=np.int64)
        self.tables = tables = kernels.BackOffFaces(
            columns=np.concatenate([old.columns, np.array(columns).reshape(-1, width)]),
            cards=np.concatenate([old.cards, np.array(cards).reshape(-1, width)]),
            parts=np.concatenate([old.parts, np.array(parts).reshape(-1, 1 << width)]),
            index_starts=np.append(old.index_starts, starts),
            place_starts=np.append(old.place_starts, places),
            place_of=np.concatenate(index),
            origins=np.concatenate(origins),
            tables=np.empty((places[-1] if len(places) else len(old.origins), self.n_classes)),
        )
        tables.tables[: len(old.tables)] = old.tables
        for interaction, counts in zip(admitted, counted, strict=True):
            kernels.back_off(tables, self.ids[interaction], len(interaction), counts, self.unit)
        if hasattr(self, "present"):
            self.present = np.append(self.present, np.zeros(len(admitted), dtype=np.bool_))
        return admitted

    def update_gains(self, candidates: Sequence[Interaction], gains: Floats) -> None:
        """What each candidate, with its subsets, adds to the log-likelihood."""
        ids = np.array([self.ids[candidate] for candidate in candidates], dtype=np.int64)
        kernels.log_likelihoods(self.rows, self.others, self.tables, ids, self.present, gains)
        gains -= self.log_likelihood

    def add(self, interaction: Interaction) -> None:
        """Take an interaction and its subsets into the predictors."""
        kernels.join(self.rows, self.tables, self.ids[interaction], self.present, self.others)
        self.log_likelihood = self._log_likelihood()

    def _log_likelihood(self) -> float:
        value = np.empty(1)
        empty = np.zeros(1, dtype=np.int64)
        kernels.log_likelihoods(self.rows, self.others, self.tables, empty, self.present, value)
        return float(value[0])


def score_interactions(
    codes: Codes, cards: Ints, labels: Ints, n_classes: int, weights: Floats, numbers: Floats
) -> list[Interaction]:
    """The pairs and triples added, in order, beside all single columns and the numeric terms.

    Each step adds the interaction with the largest score statistic of the residuals of a fitted
    ridge, less its expectation by chance, and fits the ridge again; see `score_faces` in
    src/core/learn/classifiers. Gains are assumed not to grow as interactions are added: candidates
    are scored again from the largest last gain on, until a new gain is not below the last gains of
    the rest.
    """
    if n_classes < 2:
        return []
    model = ScoreModel(codes, cards, labels, n_classes, weights, numbers)
    if len(model.columns) < 2:
        return []
    return staged_search(model, (2, 3), model.single_gains(), MAX_SCORED)


class ScoreModel:
    """The rows, the interactions added, and the ridge fitted on them."""

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
        self.held: list[Interaction] = [(c,) for c in self.columns]
        self.fit = self._ridge()
        self.fit.solve(STRENGTH)

    def single_gains(self) -> dict[Interaction, float]:
        """The gains of single columns over the class shares."""
        prior = np.exp(log_prior(self.labels, self.n_classes, self.weights))
        proba = np.repeat(prior[:, None], len(self.labels), axis=1)
        values = self._values(self.held, [self._free([single]) for single in self.held], proba)
        return dict(zip(self.held, values.tolist(), strict=True))

    def admit(self, candidates: Sequence[Interaction]) -> list[Interaction]:
        """The candidates that do not have too many cells."""
        return [c for c in candidates if math.prod(self.cards[list(c)].tolist()) <= MAX_CELLS]

    def update_gains(self, candidates: Sequence[Interaction], gains: Floats) -> None:
        """Score candidates again from the largest gain on, until none of the rest can be larger."""
        proba = np.exp(self.fit.log_proba(0, len(self.labels)))
        order = np.argsort(-gains, kind="stable")
        size = len(order) if gains[order[0]] == np.inf else BATCH
        for low in range(0, len(order), size):
            batch = order[low : low + size]
            scored = [candidates[i] for i in batch]
            free = [self._free(self._new(candidate)) for candidate in scored]
            gains[batch] = np.where(free, self._values(scored, free, proba), -np.inf)
            rest = gains[order[low + size :]]
            if gains[order[: low + size]].max() >= rest.max(initial=-np.inf):
                break

    def add(self, interaction: Interaction) -> None:
        """Fit the ridge again with an interaction and its subsets."""
        self.held += self._new(interaction)
        grown = self._ridge()
        grown.start_from(self.fit)
        grown.solve(STRENGTH, max_steps=MAX_REFIT)
        self.fit = grown

    def _ridge(self) -> Ridge:
        """A ridge on the interactions held, not yet solved."""
        design = lay_out_interactions(self.codes, self.cards, self.weights, self.held, self.numbers)
        return Ridge(design, self.labels, self.n_classes, self.weights)

    def _new(self, interaction: Interaction) -> list[Interaction]:
        """The interaction and its subsets that are not held."""
        return [s for s in subsets_of(interaction)[1:] if s not in self.held]

    def _free(self, interactions: Sequence[Interaction]) -> float:
        """The degrees of freedom of interactions."""
        free = sum(math.prod((self.states[list(s)] - 1).tolist()) for s in interactions)
        return float((self.n_classes - 1) * free)

    def _values(
        self, candidates: Sequence[Interaction], free: Sequence[float], proba: Floats
    ) -> Floats:
        """The gain of each candidate beyond chance, given P(class) of the rows."""
        columns = np.full((len(candidates), max(map(len, candidates))), -1, dtype=np.int64)
        for t, candidate in enumerate(candidates):
            columns[t, : len(candidate)] = candidate
        residuals = -self.weights * proba
        residuals[self.labels, np.arange(len(self.labels))] += self.weights
        variances = self.weights * proba * (1 - proba)
        n_rows = 1 if self.n_classes == 2 else self.n_classes
        values = np.empty(len(candidates))
        kernels.score_faces(
            self.codes,
            residuals[:n_rows],
            variances[:n_rows],
            columns,
            self.cards[columns],
            np.array(free, dtype=np.float64),
            self.n_classes,
            values,
        )
        return values


def _varies(codes: Codes) -> bool:
    return bool(codes.min() != codes.max())


def unit_weight(weights: Floats) -> float:
    """The weight of one row: 1, or the mean weight if that is smaller."""
    return min(1.0, float(weights.mean()))

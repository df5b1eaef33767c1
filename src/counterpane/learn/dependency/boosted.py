"""Boosted trees for each variable, given the others, added up to small tables.

ln P(x_v | rest) is a sum of trees grown by gradient boosting (Friedman 2001; boosted conditionals
are Natarajan et al., MLJ 2012, and Libra's `dnboost`). A path asks for at most three columns, so
all leaves with the same columns add up to one table over these columns and x_v. The number of trees
is that of the least loss on rows that are held out: the validation rows, or a tenth of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.data.table import Table
from counterpane.features import Potential
from counterpane.learn.boosting.fold_boosting import (
    RATE,
    BinnedRows,
    BoostedFit,
    TreeShape,
    boost_once,
    by_class,
    log_softmax,
)
from counterpane.learn.dependency.variable_search import LearnedConditionals, VariableSearch
from counterpane.parallel import map_in_workers
from counterpane.progress import Control
from counterpane.ragged import flatten, offsets_of
from counterpane.seeds import random_generator
from counterpane.typing import Array, Floats, Ints

LEAVES = 8
PATH_COLUMNS = 3
COLUMN_SHARE = 0.5
MAX_CELLS = 2**16  # of one table: paths have fewer columns where these have many states
MOST_STATES = kernels.MOST_BINS - 1  # of a column that trees may ask for
HELD_OUT = 0.1  # of the rows, where there are no validation rows


class BoostedState(NamedTuple):
    """The tables of the first `done` variables, end to end, with trees and log-likelihoods."""

    done: int
    rounds: Ints
    table_counts: Ints
    scope_sizes: Ints
    scopes: Ints
    log_values: Floats
    own: Floats  # of the training rows
    told: Floats  # of the validation rows


class BoostedVariable(NamedTuple):
    """What was learned of one variable."""

    tables: list[Potential]
    rounds: int
    own: float
    told: float


class BoostedSearch(VariableSearch[BoostedState]):
    """Boosts trees for some variables a step.

    `table` has distinct rows, and column `order[i]` at place i. `relatives`, shape (variables, k),
    are the columns that the trees of each variable may ask for, −1 for none; None means all.
    """

    def __init__(
        self,
        table: Table,
        order: Sequence[int],
        *,
        validation: Table | None,
        relatives: Ints | None,
        seed: int,
        n_jobs: int,
    ) -> None:
        super().__init__(n_jobs)
        self.order: Ints = np.array(order, dtype=np.int64)
        self.place: Ints = np.argsort(self.order)
        self.relatives, self.seed = relatives, seed
        self.cards = table.schema.cards[self.place]
        self.codes, self.weights = table.codes, _row_weights(table)
        self.held: Floats | None = None
        self.n_train = table.n_rows
        if validation is not None:
            rows = validation.select(self.order.tolist()).distinct()
            self.codes = np.concatenate([self.codes, rows.codes], axis=1)
            own, other = self.weights, _row_weights(rows)
            self.weights = np.append(own, np.zeros_like(other))
            self.held = np.append(np.zeros_like(own), other)
        usable = np.minimum(self.codes, MOST_STATES - 1) + 1  # wider columns are not asked for
        self.bins: Array = np.ascontiguousarray(usable.T, dtype=np.uint8)

    def start(self) -> BoostedState:
        none, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
        return BoostedState(0, none, none, none, none, zero, zero, zero)

    def done(self, state: BoostedState) -> bool:
        return state.done == self.cards.size

    def size(self, state: BoostedState) -> tuple[float, float]:
        return state.done, self.cards.size

    def step(self, state: BoostedState, ctl: Control) -> tuple[BoostedState, dict[str, Any]]:
        batch = self.batch(state.done, self.cards.size)

        def fit(v: int) -> BoostedVariable:
            return self._fit(v)

        fits = list(map_in_workers(fit, batch, self.n_jobs, ctl))
        tables = [table for one in fits for table in one.tables]
        record = {"variables": batch.stop, "trees": sum(one.rounds for one in fits),
                  "tables": len(tables)}  # fmt: skip
        return BoostedState(
            batch.stop,
            flatten([state.rounds, [one.rounds for one in fits]]),
            flatten([state.table_counts, [len(one.tables) for one in fits]]),
            flatten([state.scope_sizes, [len(t.scope) for t in tables]]),
            flatten([state.scopes, *(t.scope for t in tables)]),
            flatten([state.log_values, *(t.log_values.reshape(-1) for t in tables)], np.float64),
            flatten([state.own, [one.own for one in fits]], np.float64),
            flatten([state.told, [one.told for one in fits]], np.float64),
        ), record

    def validation_scores(self, state: BoostedState) -> dict[float, float]:
        if self.held is None or not self.done(state):
            return {}
        return {RATE: float(state.told.sum() / self.held.sum())}

    def conditionals(self, state: BoostedState, setting: float) -> LearnedConditionals:
        tables = iter(self._read(state))
        parts: list[Any] = [[next(tables) for _ in range(n)] for n in state.table_counts.tolist()]
        score = float(state.own.sum())
        for v in range(state.done, self.cards.size):
            rows = self._rows(v, np.zeros(0, dtype=np.int64))
            start = rows.start(self.weights)
            parts.append([Potential((v,), _state_scores(start[None])[0])])
            score += _log_likelihood(start[None].repeat(len(rows.labels), 0), rows, self.weights)
        return LearnedConditionals(parts, score)

    def _read(self, state: BoostedState) -> list[Potential]:
        """The tables of a state, as potentials."""
        ends = offsets_of(state.scope_sizes)
        scopes = [state.scopes[a:b] for a, b in pairwise(ends)]
        cells = offsets_of(int(self.cards[scope].prod()) for scope in scopes)
        return [
            Potential(scope, state.log_values[a:b].reshape(self.cards[scope]))
            for scope, a, b in zip(scopes, cells, cells[1:], strict=False)
        ]

    def _fit(self, v: int) -> BoostedVariable:
        if self.cards[v] == 1:
            return BoostedVariable([], 0, 0.0, 0.0)
        columns, longest = self._columns(v)
        rows = self._rows(v, columns)
        seed = self.seed + int(self.place[v])
        fit = self._boost(rows, TreeShape(LEAVES, longest, COLUMN_SHARE), seed)
        scores = fit.scores(rows.bins, fit.rounds)
        own = _log_likelihood(scores, rows, self.weights)
        told = 0.0 if self.held is None else _log_likelihood(scores, rows, self.held)
        tables = leaf_tables(fit, columns, v, self.cards)
        return BoostedVariable(tables, fit.rounds, own, told)

    def _columns(self, v: int) -> tuple[Ints, int]:
        """(columns for the trees of v, in `order`; how many of them a path may have)."""
        others = self.order if self.relatives is None else self.relatives[v]
        others = others[(others >= 0) & (others != v)]
        cards, card = self.cards[others], int(self.cards[v])
        others = others[(cards > 1) & (cards <= MOST_STATES) & (cards * card <= MAX_CELLS)]
        others = others[np.argsort(self.place[others])]
        widest = np.sort(self.cards[others])[::-1].tolist()
        fits = [c for c in range(1, PATH_COLUMNS + 1)
                if card * math.prod(widest[:c]) <= MAX_CELLS]  # fmt: skip
        return others, max(fits, default=1)

    def _rows(self, v: int, columns: Ints) -> BinnedRows:
        """The rows with v as the class."""
        bins = np.ascontiguousarray(self.bins[:, self.place[columns]])
        n_bins, labels = self.cards[columns] + 1, self.codes[self.place[v]].astype(np.int64)
        unordered = np.zeros(columns.size, dtype=np.bool_)
        return BinnedRows(bins, n_bins, unordered, labels, int(self.cards[v]))

    def _boost(self, rows: BinnedRows, shape: TreeShape, seed: int) -> BoostedFit:
        """Trees up to the least held-out loss; without validation rows fitted again to all."""
        held = self._held_out(seed) if self.held is None else self.held
        weights = self.weights - held if self.held is None else self.weights
        nothing = np.zeros_like(weights)
        useful = rows.bins.shape[1] > 0 and held.sum() > 0 and weights.sum() > 0
        if not useful:
            return boost_once(rows, self.weights, nothing, shape, seed=seed, rounds=0)
        fit = boost_once(rows, weights, held, shape, seed=seed)
        prior = _log_likelihood(fit.scores(rows.bins, 0), rows, held)
        best = int(fit.curve.argmin())
        rounds = best + 1 if fit.curve[best] < -prior / held.sum() else 0
        if self.held is None:
            return boost_once(rows, self.weights, nothing, shape, seed=seed, rounds=rounds)
        trees = kernels.Trees(*(array[:rounds] for array in fit.trees))
        return BoostedFit(trees, fit.start, fit.curve[:rounds])

    def _held_out(self, seed: int) -> Floats:
        """The weights of a tenth of the rows; copies of a row are drawn one by one."""
        rng = random_generator(seed)
        if (self.weights == np.floor(self.weights)).all():
            return rng.binomial(self.weights.astype(np.int64), HELD_OUT).astype(np.float64)
        return np.where(rng.random(self.weights.size) < HELD_OUT, self.weights, 0.0)


def leaf_tables(fit: BoostedFit, columns: Ints, target: int, cards: Ints) -> list[Potential]:
    """Potentials with the sum of all trees of a fit, up to what does not depend on the target.

    A table over some columns of another one is added to that one.
    """
    boxes, values = _boxes(fit.trees)
    sums: dict[tuple[int, ...], Floats] = {(): _state_scores(fit.start[None])[0]}
    distinct, where = np.unique(boxes.columns, axis=0, return_inverse=True)
    bits = np.unpackbits(boxes.bins.view(np.uint8), axis=-1, bitorder="little")
    for k, padded in enumerate(distinct.tolist()):
        own = where.reshape(-1) == k
        scope = tuple(c for c in padded if c >= 0)
        inside = [
            bits[own, q, 1 : 1 + int(cards[columns[c]])].astype(np.float64)
            for q, c in enumerate(scope)
        ]
        table = _sum_of_boxes(inside, values[own])
        sums[scope] = sums[scope] + table if scope in sums else table
    merged = _into_larger(sums)
    return [
        Potential((*columns[list(scope)].tolist(), target), table)
        for scope, table in merged.items()
    ]


def _boxes(trees: kernels.Trees) -> tuple[kernels.Boxes, Floats]:
    """The leaves of all trees as boxes, and what each adds to the states."""
    splits = (trees.column >= 0).sum(axis=1)
    leaves = int((splits + 1).sum())
    boxes = kernels.Boxes(
        np.empty((leaves, PATH_COLUMNS), dtype=np.int64),
        np.empty((leaves, PATH_COLUMNS, kernels.MOST_BINS // 64), dtype=np.uint64),
    )
    listed = kernels.list_boxes(trees, boxes)
    assert listed == leaves
    there = np.arange(trees.values.shape[1]) <= splits[:, None]
    return boxes, _state_scores(trees.values[there].astype(np.float64))


def _sum_of_boxes(inside: Sequence[Floats], values: Floats) -> Floats:
    """Σ over boxes of the outer product of the states inside and the values."""
    letters = "ijk"[: len(inside)]
    terms = ",".join([*(f"b{letter}" for letter in letters), "bs"])
    return np.asarray(np.einsum(f"{terms}->{letters}s", *inside, values, optimize=True))


def _into_larger(sums: Mapping[tuple[int, ...], Floats]) -> dict[tuple[int, ...], Floats]:
    """The same sum, without tables over columns that another table has too."""
    merged: dict[tuple[int, ...], Floats] = {}
    larger: dict[tuple[int, ...], tuple[int, ...]] = {}
    for scope in sorted(sums, key=lambda s: (-len(s), s)):
        home = larger.get(scope)
        if home is None:
            merged[scope] = sums[scope].copy()
            for size in range(len(scope)):
                for part in combinations(scope, size):
                    larger.setdefault(part, scope)
            continue
        shape = [n if c in scope else 1 for c, n in zip(home, merged[home].shape, strict=False)]
        merged[home] += sums[scope].reshape(*shape, -1)
    return merged


def _state_scores(scores: Floats) -> Floats:
    """Scores of all states against the first, from scores of all or the log-odds of two."""
    if scores.shape[1] == 1:
        return np.concatenate([np.zeros_like(scores), scores], axis=1)
    return scores - scores[:, :1]


def _log_likelihood(scores: Floats, rows: BinnedRows, weights: Floats) -> float:
    """Σ weight · ln P(class)."""
    if rows.n_classes == 1:
        return 0.0
    logs = log_softmax(by_class(scores))[np.arange(len(rows.labels)), rows.labels]
    return float(weights @ logs)


def _row_weights(table: Table) -> Floats:
    return np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)

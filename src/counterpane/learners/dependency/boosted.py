"""Boosted trees for each variable, given the others, added up to small tables.

ln P(x_v | rest) is a sum of trees grown by gradient boosting (Friedman 2001; boosted conditionals
are Natarajan et al., MLJ 2012, and Libra's `dnboost`). A path asks for at most three columns, so
all leaves with the same columns add up to one table over these columns and x_v. The trees are added
to the shares of x_v, or to one probability tree of any depth, which tells what three columns cannot
("at least one of these sixteen is there"). The start and the number of trees are those of the least
loss on rows that are held out: the validation rows, or a tenth of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.counts.bitsets import BitColumns
from counterpane.data.table import Table
from counterpane.features import Potential, Tree
from counterpane.features.blanket import Blanket
from counterpane.features.parts import Part
from counterpane.learners.boosting.fold_boosting import (
    MOST_ROUNDS,
    RATE,
    BinnedRows,
    BoostedFit,
    TreeShape,
    boost_once,
    by_class,
    log_softmax,
)
from counterpane.learners.checkpoint import check_range
from counterpane.learners.dependency.tree_growth import TreeSearch
from counterpane.learners.dependency.variable_search import VariableSearch
from counterpane.ragged import offsets_of
from counterpane.seeds import random_generator
from counterpane.typing import Array, Floats, Ints

LEAVES = 8
PATH_COLUMNS = 3
COLUMN_SHARE = 0.5
MAX_ROOM = 2**24  # numbers at a time, where leaves are added up
MAX_CELLS = 2**16  # of one table: paths have fewer columns where these have many states
MOST_STATES = kernels.MOST_BINS - 1  # of a column that trees may ask for
HELD_OUT = 0.1  # of the rows, where there are no validation rows


class LearnedTable(NamedTuple):
    """A potential over some columns, the variable the last one."""

    scope: tuple[int, ...]
    log_values: Floats


class BoostedVariable(NamedTuple):
    """What was learned of one variable.

    `start` is the place of κ among the settings of the tree at the start, −1 for the shares.
    """

    tables: tuple[LearnedTable, ...]
    start: int
    rounds: int
    train_score: float
    held_score: float


class Start(NamedTuple):
    """Where the boosting of a variable starts, how many trees are best from there, and the loss."""

    place: int  # of κ among the settings of the tree, −1 for the shares
    fit: BoostedFit
    rounds: int
    loss: float


class BoostedSearch(VariableSearch[BoostedVariable]):
    """Boosts trees for some variables a step.

    `table` has distinct rows, and column `order[i]` at place i. `partners`, shape (variables, k),
    are the columns that the trees of each variable may ask for, −1 for none; None means all. κ,
    `min_count` and `prior` are those of the tree at the start, see `TreeSearch`.
    """

    learned = BoostedVariable

    def __init__(
        self,
        table: Table,
        order: Sequence[int],
        *,
        validation: Table | None,
        partners: Ints | None,
        kappas: Sequence[float],
        min_count: float,
        prior: float,
        seed: int,
        n_jobs: int,
    ) -> None:
        super().__init__(table.n_columns, n_jobs)
        self.order: Ints = np.array(order, dtype=np.int64)
        self.place: Ints = np.argsort(self.order)
        self.partners, self.seed = partners, seed
        self.kappas, self.min_count, self.prior = kappas, min_count, prior
        self.cards = table.schema.cards[self.place]
        self.validated = validation is not None
        rows, total = table.select(self.place.tolist()), _row_weights(table)
        if validation is None:
            self.held = _tenth(total, seed)
            self.weights, self.final = total - self.held, total
        else:
            held = validation.distinct()
            codes = np.concatenate([rows.codes, held.codes], axis=1)
            rows, other = Table(rows.schema, codes), _row_weights(held)
            self.weights = self.final = np.append(total, np.zeros_like(other))
            self.held = np.append(np.zeros_like(total), other)
        self.rows = rows
        usable = np.minimum(rows.codes, MOST_STATES - 1) + 1  # wider columns are not asked for
        self.bins: Array = np.ascontiguousarray(usable.T, dtype=np.uint8)

    @cached_property
    def trees(self) -> TreeSearch:
        """Trees of the training rows, judged on the rows that are held out."""
        return self._tree_search(self.weights, self.held)

    @cached_property
    def final_trees(self) -> TreeSearch:
        """Trees of all rows but those of the validation."""
        return self.trees if self.validated else self._tree_search(self.final, None)

    def record(
        self, state: tuple[BoostedVariable, ...], fresh: Sequence[BoostedVariable]
    ) -> dict[str, Any]:
        counts = {"trees": [one.rounds for one in fresh], "tables": [len(o.tables) for o in fresh]}
        return {name: sum(values) for name, values in counts.items()}

    def check(self, state: tuple[BoostedVariable, ...]) -> None:
        super().check(state)
        for one in state:
            check_range("a start", one.start, -1, len(self.kappas))
            for scope, log_values in one.tables:
                check_range("a column", scope, 0, self.n)
                if log_values.shape != tuple(self.cards[list(scope)].tolist()):
                    raise ValueError("a table has another shape")

    def validation_scores(self, state: tuple[BoostedVariable, ...]) -> dict[float, float]:
        if not self.validated or not self.done(state):
            return {}
        return {RATE: sum(one.held_score for one in state) / float(self.held.sum())}

    def conditional(
        self, v: int, learned: BoostedVariable | None, setting: float
    ) -> tuple[list[Part], float]:
        if learned is not None:
            parts: list[Part] = [Potential(*table) for table in learned.tables]
            if learned.start >= 0:
                parts.append(self._tree(self.final_trees, v, learned.start))
            return parts, learned.train_score
        rows = self._rows(v, np.zeros(0, dtype=np.int64))
        start = rows.start(self.final)
        scores = start[None].repeat(len(rows.labels), 0)
        shares = Potential((v,), _state_scores(start[None])[0])
        return [shares], _log_likelihood(scores, rows, self.final)

    def learn(self, task: int, state: tuple[BoostedVariable, ...]) -> BoostedVariable:
        return self._fit(task)

    def _fit(self, v: int) -> BoostedVariable:
        if self.cards[v] == 1:
            return BoostedVariable((), -1, 0, 0.0, 0.0)
        columns, longest = self._columns(v)
        rows = self._rows(v, columns)
        seed = self.seed + int(self.place[v])
        shape = TreeShape(LEAVES, longest, COLUMN_SHARE)
        start = min(self._starts(v, rows, shape, seed), key=lambda s: s.loss)
        tree = None if start.place < 0 else self._tree(self.final_trees, v, start.place)
        base = None if tree is None else self._tree_scores(tree)
        fit = start.fit.first(start.rounds)
        if not self.validated:
            fit = self._boost(rows, self.final, shape, seed, rounds=start.rounds, base=base)
        scores = fit.scores(rows.bins, fit.rounds)
        scores = scores if base is None else scores + base
        train, held = (_log_likelihood(scores, rows, w) for w in (self.final, self.held))
        found = leaf_tables(fit, columns, v, self.cards)
        tables = tuple(LearnedTable(table.scope, table.log_values) for table in found)
        return BoostedVariable(tables, start.place, fit.rounds, train, held)

    def _starts(self, v: int, rows: BinnedRows, shape: TreeShape, seed: int) -> Iterator[Start]:
        """The boosting from the shares and, if there is one with questions, from a tree."""
        if not (rows.bins.shape[1] and self.held.sum() > 0 and self.weights.sum() > 0):
            yield Start(-1, self._boost(rows, self.final, shape, seed, rounds=0), 0, 0.0)
            return
        yield self._start(-1, None, rows, shape, seed)
        growth = self.trees.grow(v)
        place = int(growth.validation.argmax())
        tree, _ = self.trees.cut(v, growth, float(self.trees.prices[place]))
        if tree.depth:
            yield self._start(place, self._tree_scores(tree), rows, shape, seed)

    def _start(
        self, place: int, base: Floats | None, rows: BinnedRows, shape: TreeShape, seed: int
    ) -> Start:
        """The boosting of the training rows from one start, up to the least held-out loss."""
        fit = self._boost(rows, self.weights, shape, seed, held=self.held, base=base)
        scores = fit.scores(rows.bins, 0) if base is None else base
        before = -_log_likelihood(scores, rows, self.held) / self.held.sum()
        best = int(fit.curve.argmin())
        if fit.curve[best] < before:
            return Start(place, fit, best + 1, float(fit.curve[best]))
        return Start(place, fit, 0, before)

    def _boost(
        self,
        rows: BinnedRows,
        weights: Floats,
        shape: TreeShape,
        seed: int,
        *,
        held: Floats | None = None,
        rounds: int = MOST_ROUNDS,
        base: Floats | None = None,
    ) -> BoostedFit:
        followed = np.zeros_like(weights) if held is None else held
        return boost_once(rows, weights, followed, shape, seed=seed, rounds=rounds, base=base)

    def _tree_search(self, weights: Floats, held: Floats | None) -> TreeSearch:
        table = self._weighted(weights)
        bits = BitColumns(table.codes, self.cards)
        return TreeSearch(
            table,
            bits,
            self.order.tolist(),
            self.kappas,
            min_count=self.min_count,
            prior=self.prior,
            validation=None if held is None else self._weighted(held),
            partners=self.partners,
            n_jobs=1,
        )

    def _weighted(self, weights: Floats) -> Table:
        """The rows whose weight is not zero, with integers as weights if they are."""
        rows = np.flatnonzero(weights)
        whole = weights[rows].astype(np.int64)
        same = (whole == weights[rows]).all()
        return Table(self.rows.schema, self.rows.codes[:, rows], whole if same else weights[rows])

    def _tree(self, search: TreeSearch, v: int, place: int) -> Tree:
        return search.cut(v, search.grow(v), float(search.prices[place]))[0]

    def _tree_scores(self, tree: Tree) -> Floats:
        """The scores of all rows by a tree: log-odds of two states, logs of more."""
        conditionals: list[list[Tree]] = [[] for _ in self.cards]
        conditionals[tree.target].append(tree)
        blanket = Blanket.of_conditionals(self.cards, conditionals)
        logs = blanket.full_conditionals(self.rows.codes, [tree.target])
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def _columns(self, v: int) -> tuple[Ints, int]:
        """(columns for the trees of v, in `order`; how many of them a path may have)."""
        others = self.order if self.partners is None else self.partners[v]
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
        bins = np.ascontiguousarray(self.bins[:, columns])
        n_bins, labels = self.cards[columns] + 1, self.rows.codes[v].astype(np.int64)
        unordered = np.zeros(columns.size, dtype=np.bool_)
        return BinnedRows(bins, n_bins, unordered, labels, int(self.cards[v]))


def leaf_tables(fit: BoostedFit, columns: Ints, target: int, cards: Ints) -> list[Potential]:
    """Potentials with the sum of all trees of a fit, up to what does not depend on the target.

    A table over some columns of another one is added to that one.
    """
    boxes, values = _boxes(fit.trees)
    sums: dict[tuple[int, ...], Floats] = {(): _state_scores(fit.start[None])[0]}
    distinct, where = np.unique(boxes.columns, axis=0, return_inverse=True)
    scopes = [tuple(c for c in padded if c >= 0) for padded in distinct.tolist()]
    shapes: dict[tuple[int, ...], list[int]] = {}
    for k, scope in enumerate(scopes):
        shapes.setdefault(tuple(cards[columns[list(scope)]].tolist()), []).append(k)
    order = np.argsort(where.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(where.reshape(-1), minlength=len(scopes)))
    bits = np.unpackbits(boxes.bins.view(np.uint8), axis=-1, bitorder="little")
    for shape, numbers in shapes.items():
        most = max(1, MAX_ROOM // (math.prod(shape) * values.shape[1] * len(order)))
        for part in (numbers[i : i + most] for i in range(0, len(numbers), most)):
            members = [order[ends[k - 1] if k else 0 : ends[k]] for k in part]
            rows = np.concatenate(members)
            inside = [bits[rows, q, 1 : 1 + r].astype(np.float64) for q, r in enumerate(shape)]
            tables = _sums_of_boxes(inside, values[rows], offsets_of(map(len, members))[:-1])
            for k, table in zip(part, tables, strict=True):
                scope = scopes[k]
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


def _sums_of_boxes(inside: Sequence[Floats], values: Floats, starts: Ints) -> Floats:
    """For each run of boxes, Σ of the outer products of the states inside and the values."""
    if math.prod(x.shape[1] for x in inside) * values.size > MAX_ROOM:  # of one scope
        letters = "ijk"[: len(inside)]
        terms = ",".join([*(f"b{letter}" for letter in letters), "bs"])
        table = np.einsum(f"{terms}->{letters}s", *inside, values, optimize=True)
        return np.asarray(table)[None]
    product = values
    for states in reversed(inside):
        spread = states.reshape(*states.shape, *(1 for _ in product.shape[1:]))
        product = spread * product[:, None]
    return np.asarray(np.add.reduceat(product, starts, axis=0))


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


def _tenth(weights: Floats, seed: int) -> Floats:
    """The weights of a tenth of the rows; copies of a row are drawn one by one."""
    rng = random_generator(seed)
    if (weights == np.floor(weights)).all():
        return rng.binomial(weights.astype(np.int64), HELD_OUT).astype(np.float64)
    return np.where(rng.random(weights.size) < HELD_OUT, weights, 0.0)

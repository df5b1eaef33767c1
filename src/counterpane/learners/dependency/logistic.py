"""One L1 logistic regression for each variable, for falling penalties.

−Σ rows ln P(x_v | rest) + l1 · Σ |w| is minimized over weights of indicators: of each state of x_v
but the first (a head), alone (the intercept, penalized too) and with each state of another variable
but the first. Each penalty starts from the weights of the previous one; the path ends when the
validation rows become less probable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import dependency as kernels
from counterpane._core.dependency import LogisticDesign
from counterpane.counts.bitsets import BitColumns
from counterpane.data.table import Table
from counterpane.errors import FitError
from counterpane.features import Rules
from counterpane.features.parts import Part
from counterpane.features.rules import read_only
from counterpane.learners.checkpoint import check_range
from counterpane.learners.dependency.variable_search import VariableSearch
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.ragged import flatten, offsets_of
from counterpane.typing import Floats, Ints

TOLERANCE = 1e-3  # of l1: how far the slope of a weight may be from optimal
MAX_ACTIVE = 4096  # weights of one state that may differ from zero


class Head(NamedTuple):
    """The weights of one state of a variable that are not zero, and their features."""

    features: Ints
    weights: Floats


class Regression(NamedTuple):
    """The regression of a variable for one penalty: a head for each state but the first.

    `train` and `validation` are log-likelihoods; `violation` is how far the slope of a weight is
    from optimal, relative to the penalty.
    """

    heads: tuple[Head, ...]
    train: float
    validation: float
    violation: float


class LogisticSearch(VariableSearch[Regression]):
    """Fits the regressions of some variables a step, for the largest of `settings` first.

    `table` has distinct rows, and column `order[i]` at place i, so that the result does not depend
    on the order of rows and columns in the data.
    """

    learned = Regression

    def __init__(
        self,
        table: Table,
        order: Sequence[int],
        settings: Sequence[float],
        *,
        validation: Table | None,
        n_jobs: int,
    ) -> None:
        super().__init__(table.n_columns, n_jobs)
        self.order: Ints = np.array(order, dtype=np.int64)
        self.place: Ints = np.argsort(self.order)
        self.settings, self.levels = settings, len(settings)
        self.names = table.schema.select(self.place.tolist()).names
        self.cards = read_only(table.schema.cards[self.place], np.int64)
        most = int(self.cards.max(initial=1))
        features = int(np.minimum(self.cards, table.n_rows).sum())
        need = 8.0 * most * (features + table.n_rows)  # of the column with the most states
        need_memory(need, f"the weights of a column with {most:,} states", FEWER_STATES)
        self.design = logistic_design(table)
        self.validation = None
        if validation is not None:
            self.total = validation.total_weight
            self.validation = logistic_design(
                validation.select(self.order.tolist()), like=self.design
            )

    def record(self, state: tuple[Regression, ...], fresh: Sequence[Regression]) -> dict[str, Any]:
        weights = sum(len(head.weights) for one in fresh for head in one.heads)
        l1 = self.settings[(len(state) - 1) // self.n]
        return {"l1": l1, "weights": weights, "furthest": max(one.violation for one in fresh)}

    def done(self, state: tuple[Regression, ...]) -> bool:
        return super().done(state) or (
            self.validation is not None
            and len(state) % self.n == 0
            and len(state) >= 2 * self.n
            and self._validation(state[-self.n :]) < self._validation(state[-2 * self.n : -self.n])
        )

    def check(self, state: tuple[Regression, ...]) -> None:
        super().check(state)
        for task, one in enumerate(state):
            if len(one.heads) != self.cards[task % self.n] - 1:
                raise ValueError("a regression has another number of states")
            for features, weights in one.heads:
                if features.shape != (weights.size,) or weights.ndim != 1:
                    raise ValueError("a regression has another number of weights")
                check_range("a feature", features, 0, self.design.columns.size)
                check_range("the order of features", np.diff(features), 1, self.design.columns.size)

    def validation_scores(self, state: tuple[Regression, ...]) -> dict[float, float]:
        if self.validation is None:
            return {}
        levels = [state[i : i + self.n] for i in range(0, len(state), self.n)]
        whole = [self._validation(level) / self.total for level in levels if len(level) == self.n]
        return dict(zip(self.settings, whole, strict=False))

    def _validation(self, level: Sequence[Regression]) -> float:
        return sum(one.validation for one in level)

    def of_setting(self, state: tuple[Regression, ...], setting: float) -> Sequence[Regression]:
        first = self.settings.index(setting) * self.n
        return state[first : first + self.n]

    def conditional(
        self, v: int, learned: Regression | None, setting: float
    ) -> tuple[list[Part], float]:
        if learned is not None:
            return [self.rules(v, learned.heads)], learned.train
        rules, log_likelihood = self._margin(v)
        return [rules], log_likelihood

    def learn(self, task: int, state: tuple[Regression, ...]) -> Regression:
        level, v = divmod(task, self.n)
        heads, at, design = int(self.cards[v]) - 1, int(self.place[v]), self.design
        if not heads:
            return Regression((), 0.0, 0.0, 0.0)
        l1 = self.settings[level]
        dense: Floats = np.zeros((heads, design.columns.size))
        margins: Floats = np.zeros((heads, design.weights.size))
        if level:
            for row, head in zip(dense, state[task - self.n].heads, strict=True):
                row[head.features] = head.weights
        else:  # near the intercepts alone, by which other features are judged
            logs = np.log(np.bincount(design.codes[at], design.weights, heads + 1) + l1)
            dense[:, 0] = logs[1:] - logs[0]
        for row, margin in zip(dense, margins, strict=True):
            f = np.flatnonzero(row)
            kernels.add_margins(design, f, row[f], margin)
        tolerance = TOLERANCE * l1
        violation = kernels.solve_logistic(design, at, l1, tolerance, MAX_ACTIVE, dense, margins)
        if violation == np.inf:
            raise FitError(
                f"column {self.names[v]!r} would have more than {MAX_ACTIVE:,} weights with "
                f"l1={l1:g}; raise l1."
            )
        solution = tuple(Head(f, row[f]) for row in dense for f in [np.flatnonzero(row)])
        train, validation = kernels.logistic_log_likelihood(design, at, margins), 0.0
        if self.validation is not None:
            seen: Floats = np.zeros((heads, self.validation.weights.size))
            for row, head in zip(seen, solution, strict=True):
                kernels.add_margins(self.validation, *head, row)
            validation = kernels.logistic_log_likelihood(self.validation, at, seen)
        return Regression(solution, train, validation, violation / l1)

    def rules(self, v: int, heads: Sequence[Head]) -> Rules:
        """w on (x_v = s), of an intercept, and on (x_v = s and x_u = t), of a feature."""
        sizes = [f.size for f, _ in heads]
        features, weights = flatten(f for f, _ in heads), flatten((w for _, w in heads), np.float64)
        pair = features > 0
        columns = np.full((features.size, 2), v)
        values = np.empty_like(columns)
        values[:, 0] = np.repeat(np.arange(1, len(heads) + 1), sizes)
        columns[pair, 1] = self.order[self.design.columns[features[pair]]]
        values[:, 1] = self.design.values[features]
        present = np.column_stack([np.ones_like(pair), pair])
        offsets = offsets_of(1 + pair)
        none = np.zeros(int(offsets[-1]), dtype=np.bool_)
        return Rules(self.cards, weights, offsets, columns[present], values[present], none)

    def _margin(self, v: int) -> tuple[Rules, float]:
        """The share of each state of column v, and its log-likelihood."""
        r = int(self.cards[v])
        counts = np.bincount(self.design.codes[self.place[v]], self.design.weights, r)
        logs = np.log((counts + 1.0 / r) / (counts.sum() + 1.0))
        states = [(float(w), [(v, s, False)]) for s, w in enumerate(logs)]
        return Rules.from_list(self.cards, states), float(counts @ logs)


def logistic_design(table: Table, like: LogisticDesign | None = None) -> LogisticDesign:
    """Features of the rows: the same as those of another design, or all that are not constant."""
    cards = table.schema.cards
    bits = BitColumns(table.codes, cards)
    bits.pack(range(cards.size))
    if like is None:
        columns = np.repeat(np.arange(cards.size), cards)
        values = np.arange(columns.size) - np.repeat(bits.first, cards)
        varies = (values > 0) & (bits.total > 0) & (bits.total < table.n_rows)
        columns, values = np.append(-1, columns[varies]), np.append(0, values[varies])
    else:
        columns, values = like.columns, like.values
    sets = bits.first[columns[1:]] + values[1:]
    all_rows = np.bitwise_or.reduce(bits.words[: cards[0]])
    need_memory(8 * sets.size * bits.n_words, f"{sets.size:,} logistic features", FEWER_STATES)
    words = np.concatenate([all_rows[None, :], bits.words[sets]])
    ones = np.append(table.n_rows, bits.total[sets])
    flipped = 2 * ones > table.n_rows
    sizes = np.where(flipped, table.n_rows - ones, ones)
    starts = offsets_of(sizes)
    rows = np.empty(int(starts[-1]), dtype=np.int32)
    kernels.list_feature_rows(words, flipped, table.n_rows, starts, rows)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    return LogisticDesign(table.codes, weights, columns, values, flipped, starts, rows)

"""Conditionals of baskets: each item is learned from the distinct rows of its own partners.

Of millions of rows most have none of these items; they are one row with a weight. So the tables are
small, and the searches of whole tables learn from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.baskets import BasketCounts
from counterpane.counts.memory import MemoryCounts
from counterpane.data.table import Table
from counterpane.features import Rules, Tree
from counterpane.features.parts import Part
from counterpane.learners.dependency.logistic import LogisticSearch
from counterpane.learners.dependency.tree_growth import TreeSearch
from counterpane.learners.dependency.variable_search import VariableSearch
from counterpane.learners.partners import Partners
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints

BATCH = 1024  # items of one step


class TreePart(NamedTuple):
    """A `Tree` without the numbers of states."""

    target: int
    variables: Ints
    values: Ints
    children: Ints
    log_values: Floats


class RulesPart(NamedTuple):
    """`Rules` without the numbers of states."""

    weights: Floats
    offsets: Ints
    variables: Ints
    values: Ints
    negated: Bools


class ItemConditional(NamedTuple):
    """The conditional of an item, and its log-likelihood of the training rows."""

    part: TreePart | RulesPart
    log_likelihood: float


class BasketSearch(VariableSearch[ItemConditional]):
    """Learns the conditionals of some items a step, each from the `k` items of largest χ².

    `learn` makes the conditional of one column of a table of distinct rows; tables have their
    columns in the order of the source's `order`.
    """

    learned = ItemConditional
    batch = BATCH

    def __init__(
        self,
        source: BasketCounts,
        order: Sequence[int],
        k: int,
        learn: Callable[[Table, int], tuple[Tree | Rules, float]],
        *,
        n_jobs: int,
    ) -> None:
        super().__init__(len(source.schema), n_jobs)
        self.source = source
        self.cards = source.schema.cards
        self.rank: Ints = np.argsort(np.array(order, dtype=np.int64))
        self.partners = Partners(source, k, order=order)
        self.learn_column = learn

    def step(
        self, state: tuple[ItemConditional, ...], ctl: Control
    ) -> tuple[tuple[ItemConditional, ...], dict[str, Any]]:
        first = len(state)
        self._first, self._near = first, self.partners.of(first, min(self.n, first + BATCH), ctl)
        return super().step(state, ctl)

    def learn(self, task: int, state: tuple[ItemConditional, ...]) -> ItemConditional:
        near = self._near[task - self._first]
        return self._given(task, near[near >= 0])

    def record(
        self, state: tuple[ItemConditional, ...], fresh: Sequence[ItemConditional]
    ) -> dict[str, Any]:
        return {}

    def validation_scores(self, state: tuple[ItemConditional, ...]) -> dict[float, float]:
        return {}

    def check(self, state: tuple[ItemConditional, ...]) -> None:
        super().check(state)
        for v, one in enumerate(state):
            self.conditional(v, one, 0.0)  # parts check themselves

    def conditional(
        self, v: int, learned: ItemConditional | None, setting: float
    ) -> tuple[list[Part], float]:
        if learned is None:
            learned = self._given(v, np.zeros(0, dtype=np.int64))
        part, log_likelihood = learned
        kind = Tree if isinstance(part, TreePart) else Rules
        return [kind(self.cards, *part)], log_likelihood

    def _given(self, v: int, partners: Ints) -> ItemConditional:
        """The conditional of one item given its partners."""
        columns = np.append(partners, v)
        columns = columns[np.argsort(self.rank[columns])]
        table = self.source.distinct(columns.tolist())
        part, log_likelihood = self.learn_column(table, int(np.flatnonzero(columns == v)[0]))
        return ItemConditional(_renamed(part, columns), log_likelihood)


def _renamed(part: Tree | Rules, columns: Ints) -> TreePart | RulesPart:
    """A part over a few columns as one over all."""
    if isinstance(part, Rules):
        variables = columns[part.variables]
        return RulesPart(part.weights, part.offsets, variables, part.values, part.negated)
    variables = np.where(part.variables < 0, -1, columns[part.variables])
    target = int(columns[part.target])
    return TreePart(target, variables, part.values, part.children, part.log_values)


class LearnTree:
    """Makes the tree of a column; tables of logarithms are shared by all columns."""

    def __init__(self, *, kappa: float, min_count: float, prior: float) -> None:
        self.kappa, self.min_count, self.prior = kappa, min_count, prior
        self.logs: dict[float, Floats] = {}

    def __call__(self, table: Table, v: int) -> tuple[Tree | Rules, float]:
        """The tree of column v, and its log-likelihood."""
        search = TreeSearch(
            table, MemoryCounts(table).bits, range(table.n_columns), [self.kappa],
            min_count=self.min_count, prior=self.prior, validation=None, partners=None, n_jobs=1,
            logs=self.logs,
        )  # fmt: skip
        return search.cut(v, search.grow(v), float(-np.log(self.kappa)))


def learn_regression(table: Table, v: int, *, l1: float) -> tuple[Tree | Rules, float]:
    """The logistic regression of column v, and its log-likelihood."""
    search = LogisticSearch(table, range(table.n_columns), [l1], validation=None, n_jobs=1)
    regression = search.learn(v, ())
    return search.rules(v, regression.heads), regression.train

"""Conditionals of baskets: each item is learned from the distinct rows of its own relatives.

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
from counterpane.learners.dependency.variable_search import LearnedConditionals, VariableSearch
from counterpane.learners.order import Relatives
from counterpane.models.dependency_network import from_part_arrays, to_part_arrays
from counterpane.parallel import map_in_workers
from counterpane.progress import Control
from counterpane.typing import Array, Floats, Ints

BATCH = 1024  # items of one step

Conditional = tuple[Tree | Rules, float]
"""Part of a conditional, and its log-likelihood of the training rows."""


class BasketParts(NamedTuple):
    """The conditionals of the first `done` items, as `to_part_arrays` writes them."""

    done: int
    scores: Floats
    arrays: tuple[Array, ...]


class BasketSearch(VariableSearch[BasketParts]):
    """Learns the conditionals of some items a step, each from the `k` items of largest χ².

    `learn` makes the conditional of one column of a table of distinct rows; tables have their
    columns in the order of the source's `order`.
    """

    def __init__(
        self,
        source: BasketCounts,
        order: Sequence[int],
        k: int,
        learn: Callable[[Table, int], Conditional],
        *,
        n_jobs: int,
    ) -> None:
        super().__init__(n_jobs)
        self.source = source
        self.cards = source.schema.cards
        self.rank: Ints = np.argsort(np.array(order, dtype=np.int64))
        self.relatives = Relatives(source, k, order=order)
        self.learn = learn
        self.names = tuple(to_part_arrays([]))

    def start(self) -> BasketParts:
        return BasketParts(0, np.zeros(0), tuple(to_part_arrays([]).values()))

    def done(self, state: BasketParts) -> bool:
        return state.done == self.cards.size

    def size(self, state: BasketParts) -> tuple[float, float]:
        return state.done, self.cards.size

    def step(self, state: BasketParts, ctl: Control) -> tuple[BasketParts, dict[str, Any]]:
        stop = min(self.cards.size, state.done + BATCH)
        relatives = self.relatives.of(state.done, stop, ctl)
        tasks = [
            (v, near[near >= 0]) for v, near in zip(range(state.done, stop), relatives, strict=True)
        ]
        learned = list(map_in_workers(self._conditional, tasks, self.n_jobs, ctl))
        fresh = to_part_arrays([[part] for part, _ in learned])
        arrays = tuple(
            np.concatenate([old, fresh[name]])
            for name, old in zip(self.names, state.arrays, strict=True)
        )
        scores = np.concatenate([state.scores, [score for _, score in learned]])
        return BasketParts(stop, scores, arrays), {"variables": stop}

    def validation_scores(self, state: BasketParts) -> dict[float, float]:
        return {}

    def conditionals(self, state: BasketParts, setting: float) -> LearnedConditionals:
        none: Ints = np.zeros(0, dtype=np.int64)
        left = [self._conditional((v, none)) for v in range(state.done, self.cards.size)]
        arrays = dict(zip(self.names, state.arrays, strict=True))
        parts: list[list[Part]] = from_part_arrays(self.cards, arrays, state.done)
        parts += [[part] for part, _ in left]
        score = float(state.scores.sum()) + sum(score for _, score in left)
        return LearnedConditionals(parts, score)

    def _conditional(self, task: tuple[int, Ints]) -> Conditional:
        """The conditional of one item given its relatives."""
        v, relatives = task
        columns = np.append(relatives, v)
        columns = columns[np.argsort(self.rank[columns])]
        table = self.source.distinct(columns.tolist())
        part, score = self.learn(table, int(np.flatnonzero(columns == v)[0]))
        return self._renamed(part, columns), score

    def _renamed(self, part: Tree | Rules, columns: Ints) -> Tree | Rules:
        """A part over a few columns as one over all."""
        if isinstance(part, Rules):
            return Rules(
                self.cards, part.weights, part.offsets, columns[part.variables], part.values,
                part.negated,
            )  # fmt: skip
        questions = np.where(part.variables < 0, -1, columns[part.variables])
        target = int(columns[part.target])
        return Tree(self.cards, target, questions, part.values, part.children, part.log_values)


class LearnTree:
    """Makes the tree of a column; tables of logarithms are shared by all columns."""

    def __init__(self, *, kappa: float, min_count: float, prior: float) -> None:
        self.kappa, self.min_count, self.prior = kappa, min_count, prior
        self.logs: dict[float, Floats] = {}

    def __call__(self, table: Table, v: int) -> Conditional:
        """The tree of column v, and its log-likelihood."""
        search = TreeSearch(
            table, MemoryCounts(table).bits, range(table.n_columns), [self.kappa],
            min_count=self.min_count, prior=self.prior, validation=None, relatives=None, n_jobs=1,
            logs=self.logs,
        )  # fmt: skip
        return search.cut(v, search.grow(v)[0], float(-np.log(self.kappa)))


def learn_regression(table: Table, v: int, *, l1: float) -> Conditional:
    """The logistic regression of column v, and its log-likelihood."""
    search = LogisticSearch(table, range(table.n_columns), [l1], validation=None, n_jobs=1)
    return search.fit_one(v)

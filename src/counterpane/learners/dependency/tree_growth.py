"""A probability tree for each variable, for all prices of a split at once.

A node is split by the question "has column u the value a?" with the largest gain in log-likelihood,
if the gain is above −ln κ (the price) and both sides have the weight `min_count`. Whether a node is
split depends only on its gain and κ, so the tree for a small κ is the top of the tree for a large
one: it is grown once, for the largest κ, and cut back.

Cost: a node has a table of the rows of each state that answer yes to each question. The table of
the lighter child is counted, that of the heavier one is the parent's minus it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import dependency as kernels
from counterpane._core.dependency import GrownTree, TreeRows, TreeTerms
from counterpane.counts.bitsets import BitColumns
from counterpane.data.table import Table
from counterpane.features import Tree
from counterpane.features.parts import Part
from counterpane.learners.checkpoint import check_range
from counterpane.learners.dependency.variable_search import VariableSearch
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.typing import Array, Codes, Floats, Ints

MAX_LOGS = 2**20  # counts whose logarithms are looked up
BIT_COST = 0.1  # cycles to compare a word of a node with a question and a state
ROW_COST = 9.0  # cycles to look at a row
YES_COST = 1.5  # cycles to count one question that a row says yes to
NOTHING: Ints = np.zeros(0, dtype=np.int64)


class Growth(NamedTuple):
    """The tree of a variable for the smallest price, see `GrownTree`.

    `validation` has the log-likelihood of the validation rows at each price.
    """

    questions: Ints
    children: Ints
    gains: Floats
    counts: Ints
    validation: Floats

    @property
    def tree(self) -> GrownTree:
        """The tree, as kernels take it."""
        return GrownTree(*self[:-1])


class TreeSearch(VariableSearch[Growth]):
    """Grows the trees of some variables in each step, for the largest of the `settings`, all κ.

    Among equal questions the first one wins, by the `order` of their columns. `partners`, shape
    (variables, k), are the columns that the questions of each tree may be about; None means all.
    `logs` are tables of logarithms of an earlier search of as many rows.
    """

    learned = Growth

    def __init__(
        self,
        table: Table,
        bits: BitColumns,
        order: Sequence[int],
        settings: Sequence[float],
        *,
        min_count: float,
        prior: float,
        validation: Table | None,
        partners: Ints | None,
        n_jobs: int,
        logs: dict[float, Floats] | None = None,
    ) -> None:
        super().__init__(table.n_columns, n_jobs)
        self.partners = partners
        self.cards = table.schema.cards
        self.settings = settings
        self.prior = prior
        self.unit, weights = in_units(table.weights)
        self.total = table.n_rows if table.weights is None else int(weights.sum())
        self.least = max(1, int(min(np.ceil(min_count / self.unit * (1 - 1e-9)), 2.0**62)))
        self.most_nodes = 2 * min(table.n_rows, max(1, self.total // self.least))
        most = int(self.cards.max(initial=1))
        waiting = self.total.bit_length() + 2  # nodes, each with a table of states and questions
        tables = float(waiting * most) * float(self.cards.sum())
        need = 8.0 * (self.most_nodes * (most + 4) + tables + most * bits.n_words)
        need_memory(need, f"a tree of a column with {most:,} states", FEWER_STATES)
        self.rows = tree_rows(table, bits, order, weights)
        self.prices: Floats = -np.log(np.array(settings))
        self.validation = None if validation is None else ValidationRows(validation)
        self._logs: dict[float, Floats] = {} if logs is None else logs

    def learn(self, task: int, state: tuple[Growth, ...]) -> Growth:
        return self.grow(task)

    def record(self, state: tuple[Growth, ...], fresh: Sequence[Growth]) -> dict[str, Any]:
        return {"nodes": sum(len(growth.questions) for growth in state)}

    def check(self, state: tuple[Growth, ...]) -> None:
        super().check(state)
        for v, growth in enumerate(state):
            questions, children, *_ = growth
            nodes = len(questions)
            shapes = (nodes,), (nodes, 2), (nodes,), (nodes, self.cards[v]), self.prices.shape
            if tuple(array.shape for array in growth) != shapes or not nodes:
                raise ValueError("a tree has arrays of other shapes")
            check_range("a question", questions, -1, self.rows.columns.size)
            inner = np.flatnonzero(questions >= 0)
            if (growth.gains[questions < 0] > -np.inf).any():
                raise ValueError("a leaf has a gain")
            check_range("a child", children[inner] - inner[:, None], 1, nodes)
            if not np.array_equal(np.sort(children[inner], axis=None), np.arange(1, nodes)):
                raise ValueError("a tree has nodes without a parent, or with two")
            check_range("a count", growth.counts, 0, self.total + 1)
            check_range("the sum of counts", growth.counts.sum(axis=1), 0, self.total + 1)

    def validation_scores(self, state: tuple[Growth, ...]) -> dict[float, float]:
        if self.validation is None:
            return {}
        sums = sum((growth.validation for growth in state), np.zeros(self.prices.size))
        return dict(zip(self.settings, (sums / self.validation.total).tolist(), strict=True))

    def conditional(
        self, v: int, learned: Growth | None, setting: float
    ) -> tuple[list[Part], float]:
        tree, log_likelihood = self.cut(v, learned or self._bare(v), float(-np.log(setting)))
        return [tree], log_likelihood

    def grow(self, v: int) -> Growth:
        """The tree of column v."""
        r = int(self.cards[v])
        terms = self._terms(r)
        columns = self.rows.columns
        allowed = columns != v if self.partners is None else np.isin(columns, self.partners[v])
        most = self.most_nodes
        questions, gains = np.empty(most, dtype=np.int64), np.empty(most)
        children, counts = (np.empty((most, k), dtype=np.int64) for k in (2, r))
        n = kernels.grow_tree(
            self.rows, v, allowed, terms, GrownTree(questions, children, gains, counts)
        )
        validation: Floats = np.zeros(self.prices.size)
        growth = Growth(
            questions[:n].copy(), children[:n].copy(), gains[:n].copy(), counts[:n].copy(),
            validation,
        )  # fmt: skip
        if self.validation is not None:
            self.validation.add(v, growth.tree, self.rows, self.prices, terms, validation)
        return growth

    def cut(self, v: int, growth: Growth, price: float) -> tuple[Tree, float]:
        """The tree of column v at a higher price, and its log-likelihood."""
        size, states = growth.counts.shape
        tests, children = np.empty((2, size, 2), dtype=np.int64)
        logs: Floats = np.empty((size, states))
        terms = self._terms(states)
        columns, values = self.rows.columns, self.rows.values
        n, score = kernels.cut_tree(
            growth.tree, columns, values, price, terms, tests, children, logs
        )
        cut = Tree(self.cards, v, tests[:n, 0], tests[:n, 1], children[:n], logs[:n])
        return cut, score

    def _bare(self, v: int) -> Growth:
        """The root alone."""
        weights = self.rows.weights if self.rows.weights.size else None
        counts = np.bincount(self.rows.codes[v], weights, int(self.cards[v])).astype(np.int64)
        leaf = np.full(1, -1)
        no_gain = np.full(1, -np.inf)
        return Growth(leaf, np.full((1, 2), -1), no_gain, counts[None, :], np.zeros(0))

    def _terms(self, states: int) -> TreeTerms:
        by_bits = BIT_COST * states * self.rows.columns.size * self.rows.words.shape[1]
        by_row = ROW_COST + YES_COST * self.rows.yes.size / self.rows.codes.shape[1]
        price, pseudo = float(self.prices.min()), self.prior / states
        logs = self._c_logs(pseudo), self._c_logs(self.prior)
        return TreeTerms(price, self.least, int(by_bits / by_row), self.unit, pseudo, *logs)

    def _c_logs(self, pseudo: float) -> Floats:
        """c ln(c + pseudo) for all counts c, if these are integers and not too many."""
        if pseudo not in self._logs:
            tabulated = self.unit == 1.0 and self.total <= MAX_LOGS
            c = np.arange(self.total + 1 if tabulated else 0, dtype=np.float64)
            self._logs[pseudo] = c * np.log(np.where(c > 0, c + pseudo, 1.0))
        return self._logs[pseudo]


class ValidationRows:
    """Validation rows, on which trees are evaluated."""

    def __init__(self, table: Table) -> None:
        cards = table.schema.cards
        self.bits = BitColumns(table.codes, cards)
        self.bits.pack(range(cards.size))
        self.total = table.total_weight
        self.weights = np.zeros(0) if table.weights is None else table.weights.astype(np.float64)
        self.all = np.bitwise_or.reduce(self.bits.words[: cards[0]])

    def add(
        self, v: int, tree: GrownTree, rows: TreeRows, prices: Floats, terms: TreeTerms, out: Floats
    ) -> None:
        """Add the log-likelihood of the rows by the tree of column v to `out`, by price."""
        levels = int(self.bits.codes.shape[1]).bit_length() + 2
        masks = np.empty((levels, self.bits.n_words), dtype=np.uint64)
        masks[0] = self.all
        bit_rows = np.append(self.bits.first[rows.columns] + rows.values, -1)[tree.questions]
        kernels.judge_tree(
            self.bits.words, self.bits.first, self.weights, v, bit_rows, tree, prices, terms,
            masks, out,
        )  # fmt: skip


def tree_rows(table: Table, bits: BitColumns, order: Sequence[int], weights: Ints) -> TreeRows:
    """The rows and the questions: each value against the rest, of two values only the rarer.

    A question that all rows answer in the same way is left out.
    """
    cards, n_rows = table.schema.cards, table.n_rows
    bits.pack(range(cards.size))
    columns, values = [], []
    for v in order:
        totals = bits.total[bits.first[v] : bits.first[v] + cards[v]]
        if weights.size:
            totals = np.bincount(table.codes[v], weights, cards[v])
        candidates = [int(np.argmin(totals))] if cards[v] == 2 else range(cards[v])
        informative = [value for value in candidates if 0 < totals[value] < totals.sum()]
        columns += [v] * len(informative)
        values += informative
    questions = np.array(columns, dtype=np.int64), np.array(values, dtype=np.int64)
    bit_rows = bits.first[questions[0]] + questions[1]
    yes_from = np.empty(n_rows + 1, dtype=np.int64)
    kernels.count_answers(bits.words, bit_rows, yes_from)
    dtype = np.uint16 if len(columns) < 2**16 else np.uint32
    yes: Codes = np.empty(int(yes_from[-1]), dtype=dtype)
    kernels.list_answers(bits.words, bit_rows, yes_from, yes)
    return TreeRows(
        table.codes, weights, bits.words, bits.first, *questions, bit_rows, yes_from, yes
    )


def in_units(weights: Array | None) -> tuple[float, Ints]:
    """(unit, weights in units): whole numbers, so that sums are exact in any order.

    A real weight is rounded to 2^−52 of the sum of all.
    """
    if weights is None:
        return 1.0, NOTHING
    if weights.dtype == np.int64:
        return 1.0, np.array(weights)
    unit = 2.0 ** (int(np.ceil(np.log2(weights.sum()))) - 52)
    return unit, np.rint(weights / unit).astype(np.int64)

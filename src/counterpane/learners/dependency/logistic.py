"""One L1 logistic regression for each variable, for falling penalties.

−Σ rows ln P(x_v | rest) + l1 · Σ |w| is minimized over weights of indicators: of each state of x_v
but the first (a head), alone (the intercept, penalized too) and with each state of another variable
but the first. Each penalty starts from the weights of the previous one; the path ends when the
validation rows become less probable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from counterpane._core import dependency as kernels
from counterpane._core.dependency import LogisticDesign
from counterpane.counts.bitsets import BitColumns
from counterpane.data.table import Table
from counterpane.errors import FitError
from counterpane.features import Rules, Tree
from counterpane.features.rules import read_only
from counterpane.learners.checkpoint import GROWS
from counterpane.learners.dependency.variable_search import LearnedConditionals, VariableSearch
from counterpane.memory import FEWER_STATES, need_memory
from counterpane.parallel import map_in_workers
from counterpane.progress import Control
from counterpane.ragged import flatten, offsets_of
from counterpane.typing import Array, Floats, Ints

TOLERANCE = 1e-3  # of l1: how far the slope of a weight may be from optimal
MAX_ACTIVE = 4096  # weights of one state that may differ from zero


class LogisticPath(NamedTuple):
    """The nonzero weights of each penalty, each variable, and each of its heads.

    `level` penalties are done, and of the next one `done` variables, whose log-likelihoods of the
    training and of the validation rows are summed in the last item of `own` and `told`.
    """

    level: int
    done: int
    sizes: Ints  # of heads
    features: Ints
    weights: Floats
    own: Annotated[Floats, GROWS]
    told: Annotated[Floats, GROWS]


class LogisticSearch(VariableSearch[LogisticPath]):
    """Fits the regressions of some variables a step, for the largest of `settings` first.

    `table` has distinct rows, and column `order[i]` at place i, so that the result does not depend
    on the order of rows and columns in the data.
    """

    def __init__(
        self,
        table: Table,
        order: Sequence[int],
        settings: Sequence[float],
        *,
        validation: Table | None,
        n_jobs: int,
    ) -> None:
        super().__init__(n_jobs)
        self.order: Ints = np.array(order, dtype=np.int64)
        self.place: Ints = np.argsort(self.order)
        self.settings = settings
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
        self.head_from: Ints = offsets_of(self.cards - 1)

    def start(self) -> LogisticPath:
        none = np.zeros(0, dtype=np.int64)
        return LogisticPath(0, 0, none, none, np.zeros(0), np.zeros(1), np.zeros(1))

    def done(self, state: LogisticPath) -> bool:
        fell = state.level > 1 and state.done == 0 and state.told[-2] < state.told[-3]
        return state.level == len(self.settings) or (self.validation is not None and fell)

    def size(self, state: LogisticPath) -> tuple[float, float]:
        n = self.cards.size
        return state.level * n + state.done, len(self.settings) * n

    def step(self, state: LogisticPath, ctl: Control) -> tuple[LogisticPath, dict[str, Any]]:
        n, l1 = self.cards.size, self.settings[state.level]
        ends = np.cumsum(state.sizes)

        def fit(v: int) -> tuple[list[Array], list[Array], float, float, float]:
            return self._fit(v, l1, state, ends)

        batch = self.batch(state.done, n)
        fits = list(map_in_workers(fit, batch, self.n_jobs, ctl))
        features = [f for solution in fits for f in solution[0]]
        weights = [w for solution in fits for w in solution[1]]
        own, told = state.own.copy(), state.told.copy()
        for solution in fits:  # one by one, so that the sums do not depend on the size of the batch
            own[-1] += solution[2]
            told[-1] += solution[3]
        record = {"l1": l1, "variables": batch.stop, "weights": sum(map(len, features)),
                  "furthest": max(solution[4] for solution in fits)}  # fmt: skip
        last = batch.stop == n
        return LogisticPath(
            state.level + last,
            0 if last else batch.stop,
            flatten([state.sizes, [len(f) for f in features]]),
            flatten([state.features, *features]),
            flatten([state.weights, *weights], np.float64),
            np.append(own, 0.0) if last else own,
            np.append(told, 0.0) if last else told,
        ), record

    def validation_scores(self, state: LogisticPath) -> dict[float, float]:
        if self.validation is None:
            return {}
        means = (state.told[: state.level] / self.total).tolist()
        return dict(zip(self.settings, means, strict=False))

    def conditionals(self, state: LogisticPath, setting: float) -> LearnedConditionals:
        level = self.settings.index(setting)
        ends = np.cumsum(state.sizes)
        parts: list[list[Rules | Tree]] = []
        score = float(state.own[level])
        for v in range(self.cards.size):
            if level < state.level or v < state.done:
                parts.append([self._rules(v, *self._read(v, level, state, ends))])
            else:
                rules, own = self._margin(v)
                parts.append([rules])
                score += own
        return LearnedConditionals(parts, score)

    def fit_one(self, v: int) -> tuple[Rules, float]:
        """The regression of one variable for the first penalty, and its log-likelihood."""
        state = self.start()
        features, weights, own, _, _ = self._fit(v, self.settings[0], state, state.sizes)
        return self._rules(v, *zip(features, weights, strict=True)), own

    def _fit(
        self, v: int, l1: float, state: LogisticPath, ends: Ints
    ) -> tuple[list[Array], list[Array], float, float, float]:
        """Features and weights of each head, both log-likelihoods, and how far from optimal."""
        heads, at, design = int(self.cards[v]) - 1, int(self.place[v]), self.design
        if not heads:
            return [], [], 0.0, 0.0, 0.0
        dense: Floats = np.zeros((heads, design.columns.size))
        margins: Floats = np.zeros((heads, design.weights.size))
        if state.level:
            for row, (f, w) in zip(dense, self._read(v, state.level - 1, state, ends), strict=True):
                row[f] = w
        else:  # near the intercepts alone, by which other features are judged
            logs = np.log(np.bincount(design.codes[at], design.weights, heads + 1) + l1)
            dense[:, 0] = logs[1:] - logs[0]
        for row, margin in zip(dense, margins, strict=True):
            f = np.flatnonzero(row)
            kernels.add_margins(design, f, row[f], margin)
        enough = TOLERANCE * l1
        far = kernels.solve_logistic(design, at, l1, enough, MAX_ACTIVE, dense, margins)
        if far == np.inf:
            raise FitError(
                f"column {self.names[v]!r} would have more than {MAX_ACTIVE:,} weights with "
                f"l1={l1:g}; raise l1."
            )
        features = [np.flatnonzero(row) for row in dense]
        weights = [row[f] for row, f in zip(dense, features, strict=True)]
        own, told = kernels.logistic_log_likelihood(design, at, margins), 0.0
        if self.validation is not None:
            seen: Floats = np.zeros((heads, self.validation.weights.size))
            for row, f, w in zip(seen, features, weights, strict=True):
                kernels.add_margins(self.validation, f, w, row)
            told = kernels.logistic_log_likelihood(self.validation, at, seen)
        return features, weights, own, told, far / l1

    def _read(
        self, v: int, level: int, state: LogisticPath, ends: Ints
    ) -> list[tuple[Ints, Floats]]:
        """Features and weights of each head of column v."""
        first = level * int(self.head_from[-1]) + int(self.head_from[v])
        stops = ends[first : first + self.cards[v] - 1].tolist()
        starts = [s - n for s, n in zip(stops, state.sizes[first:], strict=False)]
        return [
            (state.features[a:b], state.weights[a:b]) for a, b in zip(starts, stops, strict=True)
        ]

    def _rules(self, v: int, *heads: tuple[Ints, Floats]) -> Rules:
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

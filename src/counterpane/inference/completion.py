"""Rows with missing cells under a network: expected counts of its families, and completions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from counterpane._core import inference as kernels
from counterpane.inference.calibration import FactorTables
from counterpane.inference.junction import CliqueTree
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.ragged import join
from counterpane.seeds import random_generator
from counterpane.typing import Array, Bools, Codes, Floats, Ints

BLOCK_ROWS = 1024  # rows between two looks at the clock; sums always go by the same blocks


class Completion:
    """The missing cells of rows, given their observed cells and the tables of a network.

    `scopes` are the network's families; `codes` has the shape (variables, rows), a missing cell at
    its variable's card. The same junction tree is used for all rows and all tables of these scopes:
    observed cells shrink its tables, and `cells` is the number of cells over all rows. A row that
    would need too large a table raises `TableSizeError`.

    >>> gap = Completion([(0,), (0, 1)], np.array([2, 2]), np.array([[2], [1]]))
    >>> tables = [np.log([0.8, 0.2]), np.log([[0.9, 0.1], [0.4, 0.6]])]
    >>> expected, log_weights = gap.expected(tables, np.ones(1))
    >>> expected.round(4).tolist(), round(float(np.exp(log_weights[0])), 4)
    ([0.4, 0.6, 0.0, 0.4, 0.0, 0.6], 0.2)
    """

    def __init__(
        self,
        scopes: Sequence[Sequence[int]],
        cards: Ints,
        codes: Codes,
        names: Sequence[str] | None = None,
        *,
        n_jobs: int = 1,
    ) -> None:
        self.tree = CliqueTree(scopes, cards)
        self.n_jobs = n_jobs
        self._rows = np.ascontiguousarray(codes.T, dtype=np.int64)
        worst, self.cells = _runs(self.tree, self._rows == cards)
        self.tree.check(np.where(worst, cards, 1), names)

    def expected(
        self, log_tables: Sequence[Floats], weights: Floats, *, ctl: Control | None = None
    ) -> tuple[Floats, Floats]:
        """(Σ over rows of weight × P(family | row), all families end to end; each ln P(row)).

        An impossible row adds nothing; its ln P is −∞. Cost: about six steps for each cell of the
        tree, at the row's observed cells.
        """
        factors = FactorTables.of(log_tables)
        total: Floats = np.zeros(factors.values.size)

        def run(block: Ints, values: Floats, logs: bool) -> tuple[Floats, Floats]:
            part, log_p = np.zeros_like(total), np.empty(block.size)
            kernels.expect_rows(
                self.tree.arrays, self.tree.cards, self._rows[block], weights[block], values,
                factors.least[self.tree.order], part, log_p, logs,
            )  # fmt: skip
            return part, log_p

        log_weights = np.full(len(self._rows), np.nan)
        for block, part, log_p in self._run(run, factors, log_weights, ctl):
            total += part
            log_weights[block] = log_p
        return total, log_weights

    def compared(
        self,
        log_tables: Sequence[Floats],
        weights: Floats,
        changes: Sequence[tuple[int, Floats]],
        *,
        ctl: Control | None = None,
    ) -> Floats:
        """Σ over rows of weight × ln(P(row) with another table of one family / P(row)).

        One number for each change: a family, and the ratios of its new to its old probabilities,
        of the shape of its table. P(row) with the new table is P(row) times the mean of the ratios
        over what the family may hold given the row, so that all changes take one pass. Impossible
        rows add nothing.
        """
        factors = FactorTables.of(log_tables)
        places = np.argsort(self.tree.order)[[family for family, _ in changes]]
        by_factor = np.argsort(places, kind="stable")
        factors_of = np.arange(self.tree.order.size + 1)
        change_from = np.searchsorted(places[by_factor], factors_of)
        ratios, ratio_from = join([changes[c][1] for c in by_factor], np.float64)
        total: Floats = np.zeros(len(changes))

        def run(block: Ints, values: Floats, logs: bool) -> tuple[Floats, Floats]:
            part, log_p = np.zeros_like(total), np.empty(block.size)
            kernels.compare_rows(
                self.tree.arrays, self.tree.cards, self._rows[block], weights[block], values,
                factors.least[self.tree.order], change_from, ratio_from[:-1], ratios,
                part, log_p, logs,
            )  # fmt: skip
            return part, log_p

        log_weights = np.full(len(self._rows), np.nan)
        for block, part, log_p in self._run(run, factors, log_weights, ctl):
            total[by_factor] += part
            log_weights[block] = log_p
        return total

    def draws(
        self, log_tables: Sequence[Floats], n: int, seed: Any, *, ctl: Control | None = None
    ) -> tuple[Codes, Floats]:
        """(codes, shape (variables, rows × n): n draws of each row; each row's ln P).

        Draws are exact and stratified within each clique (systematic sampling). Those of an
        impossible row are zero.
        """
        factors = FactorTables.of(log_tables)
        seeds = random_generator(seed).integers(2**64, size=len(self._rows), dtype=np.uint64)
        codes: Codes = np.zeros((self.tree.cards.size, len(self._rows), n), dtype=np.uint16)

        def run(block: Ints, values: Floats, logs: bool) -> tuple[Codes, Floats]:
            part = np.zeros((self.tree.cards.size, block.size * n), dtype=np.uint16)
            log_p = np.empty(block.size)
            kernels.draw_rows(
                self.tree.arrays, self.tree.cards, self._rows[block], seeds[block], values,
                factors.least[self.tree.order], part, log_p, logs,
            )  # fmt: skip
            return part, log_p

        log_weights = np.full(len(self._rows), np.nan)
        for block, part, log_p in self._run(run, factors, log_weights, ctl):
            codes[:, block] = part.reshape(-1, block.size, n)
            log_weights[block] = log_p
        return codes.reshape(len(codes), -1), log_weights

    def _run(
        self,
        run: Callable[..., tuple[Array, Floats]],
        factors: FactorTables,
        log_weights: Floats,
        ctl: Control | None,
    ) -> Iterator[tuple[Ints, Array, Floats]]:
        """(block, result, ln P of its rows) in order: in numbers, then in logs where these failed.

        The caller fills `log_weights`; rows that are NaN after the first pass are run in logs.
        """
        for logs in (False, True):
            where = np.flatnonzero(np.isnan(log_weights))
            blocks = [where[lo : lo + BLOCK_ROWS] for lo in range(0, where.size, BLOCK_ROWS)]
            values, scale = factors.run_values(logs=logs)
            run_block = partial(run, values=values, logs=logs)
            results = map_in_threads(run_block, blocks, self.n_jobs)
            for block, (part, log_p) in zip(blocks, results, strict=True):
                yield block, part, log_p + scale
                if ctl is not None:
                    ctl.check()


def _runs(tree: CliqueTree, missing: Bools) -> tuple[Array, float]:
    """(the missing variables of the row with the largest run, the cells of all runs)."""
    logs = np.log2(tree.cards)[tree.arrays.scopes]
    starts = tree.arrays.scope_from[:-1]
    worst, most, total = np.zeros(tree.cards.size, dtype=bool), 0.0, 0.0
    for lo in range(0, len(missing), BLOCK_ROWS):
        block = missing[lo : lo + BLOCK_ROWS]
        open_ = np.append(block[:, tree.arrays.scopes] * logs, np.zeros((len(block), 1)), axis=1)
        cells = np.exp2(np.add.reduceat(open_, starts, axis=1)).sum(axis=1)
        total += float(cells.sum())
        if cells.max() > most:
            worst, most = block[int(cells.argmax())], float(cells.max())
    return worst, total

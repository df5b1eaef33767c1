"""Runs of a compiled junction tree for rows of evidence.

Numbers are scaled by message, and a lower bound on every positive cell is kept; only where it
comes near the smallest float is the run repeated in logs. So nothing is lost to underflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.features import MAX_CELLS, Potential, check_cells
from counterpane.inference.junction import CliqueTree
from counterpane.typing import Floats, Ints

RUN_CELLS = 2**27  # cells filled between two moments at which an interruption is heard
REBUILD_CELLS = 2**21  # above this a tree made for the evidence costs less than it can save


class Factors(NamedTuple):
    """Tables end to end: `logs` as given, `values` = exp(logs − peak of each table).

    `least` is the smallest positive value of each table, 0 for one to be passed over; `log_scale`
    is the sum of the peaks.
    """

    logs: Floats
    values: Floats
    starts: Ints
    least: Floats
    log_scale: float

    @classmethod
    def of(cls, tables: Iterable[Floats]) -> Factors:
        """The factors whose log-values are `tables`, in their order."""
        flat = [np.empty(0), *(table.reshape(-1) for table in tables)]
        sizes = np.array([table.size for table in flat[1:]], dtype=np.int64)
        logs, starts = np.concatenate(flat), np.cumsum(sizes) - sizes
        peaks = np.maximum.reduceat(logs, starts)
        peaks[peaks == -np.inf] = 0.0
        values = np.exp(logs - np.repeat(peaks, sizes))
        # Where exp rounds a possible value to zero, the bound sends the run to logs.
        bounds = np.where(logs > -np.inf, np.maximum(values, 1e-320), 1.0)
        return cls(logs, values, starts, np.minimum.reduceat(bounds, starts), float(peaks.sum()))


class Propagation:
    """All marginals at once, for any evidence: one compiled tree, and factors that fill it.

    `likelihoods` are weights of a variable's states, as virtual evidence gives them.

    >>> pair = Propagation([Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))], [2, 2])
    >>> marginals, log_weight = pair.run([0], {1: 1})
    >>> marginals[0].round(4).tolist(), round(float(np.exp(log_weight)), 4)
    ([0.3333, 0.6667], 0.6)
    """

    def __init__(
        self,
        potentials: Sequence[Potential],
        cards: npt.ArrayLike,
        names: Sequence[str] | None = None,
    ) -> None:
        sizes = np.asarray(cards)
        self._names = names
        self._slot = len(potentials)  # where the variables' own factors, for likelihoods, begin
        self._scopes = [*(p.scope for p in potentials), *((v,) for v in range(sizes.size))]
        self.tree = CliqueTree(self._scopes, sizes)
        slots = (np.zeros(r) for r in sizes)
        factors = Factors.of([*(p.log_values for p in potentials), *slots])
        factors.least[self._slot :] = 0.0
        self._factors = factors

    def run(
        self,
        asked: Sequence[int],
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
    ) -> tuple[list[Floats], float]:
        """(P(v | evidence) for each v in `asked`, ln of the weight of the evidence).

        The tree was compiled without evidence, which then only shrinks its tables: that was
        measured faster than a new tree for each evidence, unless the tables are very large.
        """
        cards = self.tree.cards.copy()
        cards[list(evidence)] = 1
        tree = self.tree
        if tree.cells(cards) > REBUILD_CELLS:
            other = CliqueTree(self._scopes, tree.cards, observed=evidence)
            tree = min(tree, other, key=lambda t: t.cells(cards))
        factors = self._with(likelihoods) if likelihoods else self._factors
        codes = [list(evidence.values())]
        found, log_weights = run_tree(
            tree, factors, asked, list(evidence), codes, joint=False, names=self._names
        )
        ends = np.cumsum(tree.cards[list(asked)])
        return np.split(found[0], ends)[:-1], float(log_weights[0])

    def _with(self, likelihoods: Mapping[int, Floats]) -> Factors:
        own = self._factors
        logs, values, least = own.logs.copy(), own.values.copy(), own.least.copy()
        with np.errstate(divide="ignore"):
            new = Factors.of(np.log(weights) for weights in likelihoods.values())
        for k, (v, weights) in enumerate(likelihoods.items()):
            here = slice(own.starts[self._slot + v], own.starts[self._slot + v] + weights.size)
            there = slice(new.starts[k], new.starts[k] + weights.size)
            logs[here], values[here] = new.logs[there], new.values[there]
            least[self._slot + v] = new.least[k]
        return Factors(logs, values, own.starts, least, own.log_scale + new.log_scale)


def run_tree(
    tree: CliqueTree,
    factors: Factors,
    asked: Sequence[int],
    columns: Sequence[int],
    rows: npt.ArrayLike,
    *,
    joint: bool,
    names: Sequence[str] | None = None,
) -> tuple[Floats, Floats]:
    """(probabilities, one row each; ln of the weight of each row's evidence, −inf if impossible).

    Row r observes columns[c] at rows[r, c]; a code at or above the card is not observed. With
    `joint`, the probabilities are P(asked | row), the last variable fastest; `asked` must lie in
    the tree's root, and rows that are sorted are faster. Else they are the marginals of each
    variable asked, end to end. Impossible rows are zero. Cost: about two steps for each cell of
    the tree, four for marginals; `TableSizeError` before anything is allocated.
    """
    codes = np.ascontiguousarray(rows, dtype=np.int64)
    at, question = (np.array(some, dtype=np.int64) for some in (columns, asked))
    largest = tree.cards.copy()
    largest[at[(codes < tree.cards[at]).all(axis=0)]] = 1
    tree.check(largest, names)
    sizes = tree.cards[question]
    joint = joint or not sizes.size
    shape = (len(codes), int(sizes.prod() if joint else sizes.sum()))
    check_cells(shape, f"an answer for {shape[0]:,} rows", 4 * MAX_CELLS)
    room = _room(tree, largest, shape[1] if joint else int(sizes.max(initial=1)))
    homes = tree.homes[question[: 0 if joint else None]]
    out, log_weights = np.zeros(shape), np.full(shape[0], np.nan)
    step = max(1, RUN_CELLS // tree.cells(largest))
    least = factors.least[tree.order]
    for logs in (False, True):
        where = np.flatnonzero(np.isnan(log_weights))
        values = factors.logs if logs else factors.values
        for some in np.split(where, range(step, where.size, step)):
            answers, weights = out[some], log_weights[some]
            kernels.answer_rows(
                tree.arrays, tree.cards, at, codes[some], question, homes, values, least, room,
                answers, weights, logs,
            )  # fmt: skip
            out[some] = answers
            log_weights[some] = weights if logs else weights + factors.log_scale
    return out, log_weights


def _room(tree: CliqueTree, cards: Ints, answer: int) -> kernels.TreeRoom:
    """Space for a run whose largest answer has so many cells."""
    tables, messages = np.empty((2, len(tree.cliques) + 1), dtype=np.int64)
    kernels.lay_out(tree.arrays, cards, tables, messages)
    largest = max(int(np.diff(messages).max()), answer)
    return kernels.TreeRoom(
        tables=np.empty(tables[-1]), messages=np.empty(messages[-1]), spare=np.empty(2 * largest)
    )

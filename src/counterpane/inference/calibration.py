"""Runs of a compiled junction tree: marginals for one evidence, answers for many rows of evidence.

Numbers are scaled by message, and a lower bound on every positive cell is maintained; only where it
comes near the smallest float is the run repeated in logs. So nothing is lost to underflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.features import MAX_CELLS, Potential, check_cells
from counterpane.features.potential import LARGE
from counterpane.inference.exact_run import ExactRun
from counterpane.inference.junction import LARGE_CELLS, CliqueTree, is_worth_compiling
from counterpane.inference.limits import current_limits
from counterpane.ragged import join, split
from counterpane.typing import Array, Bools, Codes, Floats, Ints

RUN_CELLS = 2**27  # cells filled between two checks for an interruption
TREE_CELLS = 2**20  # above this a plan for the evidence saves more than it costs
ROW_CELLS = 2**19  # cells of a tree below which a row costs less than building another tree


class FactorTables(NamedTuple):
    """Tables end to end: `logs`, without large peaks, and `values` = exp(table − its peak).

    `least` is the smallest positive value of each table, 0 for a table that is skipped;
    `log_scale` is the sum of the peaks, and `log_shift` that of the large ones.
    """

    logs: Floats
    values: Floats
    starts: Ints
    least: Floats
    log_scale: float
    log_shift: float

    def run_values(self, *, logs: bool) -> tuple[Floats, float]:
        """What a run in numbers or logs reads, and what is to be added to its log-weights."""
        return (self.logs, self.log_shift) if logs else (self.values, self.log_scale)

    @classmethod
    def of(cls, tables: Iterable[Floats]) -> FactorTables:
        """The factors whose log-values are `tables`, in their order."""
        logs, offsets = join([table.reshape(-1) for table in tables], np.float64)
        starts = offsets[:-1]
        peaks = np.maximum.reduceat(logs, starts)
        peaks[peaks == -np.inf] = 0.0
        values = np.exp(logs - np.repeat(peaks, np.diff(offsets)))
        large = np.where(np.abs(peaks) < LARGE, 0.0, peaks)
        if large.any():
            logs = logs - np.repeat(large, np.diff(offsets))
        # Where exp rounds a possible value to zero, the bound sends the run to logs.
        bounds = np.where(logs > -np.inf, np.maximum(values, 1e-320), 1.0)
        least = np.minimum.reduceat(bounds, starts)
        return cls(logs, values, starts, least, float(peaks.sum()), float(large.sum()))


class JunctionMarginals:
    """All marginals at once, for any evidence: a compiled tree, and the factors that fill it.

    `likelihoods` are weights of the states of a variable (virtual evidence).

    >>> pair = JunctionMarginals([Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))], [2, 2])
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
        self.cards: Ints = np.array(cards, dtype=np.int64)
        self._names = names
        self._potentials = list(potentials)
        self._slot = len(potentials)  # the factors of likelihoods, one for each variable, follow

    @cached_property
    def tree(self) -> CliqueTree | None:
        """The compiled tree; None if the network is large and a short search finds no small one."""
        if not is_worth_compiling(self._potentials, self.cards):
            return None
        scopes = [*(p.scope for p in self._potentials), *((v,) for v in range(self.cards.size))]
        return CliqueTree(scopes, self.cards)

    @cached_property
    def _factors(self) -> FactorTables:
        slots = (np.zeros(r) for r in self.cards)
        factors = FactorTables.of([*(p.log_values for p in self._potentials), *slots])
        factors.least[self._slot :] = 0.0
        return factors

    def cells(self, evidence: Iterable[int] = ()) -> float:
        """The cells of the tree at evidence on some variables; infinite without a tree."""
        cards = self.cards.copy()
        cards[list(evidence)] = 1
        return np.inf if self.tree is None else self.tree.cells(cards)

    def run(
        self,
        targets: Sequence[int],
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
    ) -> tuple[list[Floats], float]:
        """(P(v | evidence) for each v in `targets`, ln of the weight of the evidence).

        The tree was compiled without evidence, which then only shrinks its tables: that was
        measured faster than a new plan for each evidence, unless the tables are very large.
        """
        tree = self.tree
        if tree is None or self.cells(evidence) > TREE_CELLS:
            return self._run_within_limits(targets, evidence, likelihoods or {})
        factors = self._with_likelihoods(likelihoods) if likelihoods else self._factors
        codes = [list(evidence.values())]
        answers, log_weights = run_tree(
            tree, factors, targets, list(evidence), codes, joint=False, names=self._names
        )
        ends = np.cumsum(tree.cards[list(targets)]).tolist()
        flat = answers[0]
        flat.flags.writeable = False  # so are the parts, which go to answers as they are
        parts = [flat[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        return parts, float(log_weights[0])

    def _run_within_limits(
        self, targets: Sequence[int], evidence: Mapping[int, int], likelihoods: Mapping[int, Floats]
    ) -> tuple[list[Floats], float]:
        with np.errstate(divide="ignore"):
            weights = [Potential((v,), np.log(w)) for v, w in likelihoods.items()]
        every = range(self.cards.size)
        run = ExactRun(
            [*self._potentials, *weights], self.cards, evidence, every=every, names=self._names
        )
        return run.marginals(targets)

    def _with_likelihoods(self, likelihoods: Mapping[int, Floats]) -> FactorTables:
        old = self._factors
        logs, values, least = old.logs.copy(), old.values.copy(), old.least.copy()
        with np.errstate(divide="ignore"):
            new = FactorTables.of(np.log(weights) for weights in likelihoods.values())
        for k, (v, weights) in enumerate(likelihoods.items()):
            here = slice(old.starts[self._slot + v], old.starts[self._slot + v] + weights.size)
            there = slice(new.starts[k], new.starts[k] + weights.size)
            logs[here], values[here] = new.logs[there], new.values[there]
            least[self._slot + v] = new.least[k]
        scales = old.log_scale + new.log_scale, old.log_shift + new.log_shift
        return FactorTables(logs, values, old.starts, least, *scales)


def run_tree(
    tree: CliqueTree,
    factors: FactorTables,
    targets: Sequence[int],
    columns: Sequence[int],
    rows: npt.ArrayLike,
    *,
    joint: bool,
    names: Sequence[str] | None = None,
) -> tuple[Floats, Floats]:
    """(probabilities, one row each; ln of the weight of each row's evidence, −inf if impossible).

    Row r observes columns[c] at rows[r, c]; a code at or above the card is not observed. With
    `joint`, the probabilities are P(targets | row), the last variable fastest; `targets` must lie
    in the tree's root, and sorted rows are faster. Otherwise they are the marginals of each target,
    end to end. Impossible rows are zero. Cost: about two steps for each cell of the tree, four for
    marginals; `TableSizeError` before anything is allocated.
    """
    codes = np.ascontiguousarray(rows, dtype=np.int64)
    at, question = (np.array(variables, dtype=np.int64) for variables in (columns, targets))
    largest = tree.cards.copy()
    largest[at[(codes < tree.cards[at]).all(axis=0)]] = 1
    tree.check(largest, names)
    sizes = tree.cards[question]
    joint = joint or not sizes.size
    shape = (len(codes), int(sizes.prod() if joint else sizes.sum()))
    check_cells(shape, f"an answer for {shape[0]:,} rows", 4 * MAX_CELLS)
    homes = tree.homes[question[: 0 if joint else None]]
    out, log_weights = np.zeros(shape), np.full(shape[0], np.nan)
    step = max(1, RUN_CELLS // tree.cells(largest))
    least = factors.least[tree.order]
    for logs in (False, True):
        where = np.flatnonzero(np.isnan(log_weights))
        values, scale = factors.run_values(logs=logs)
        for block in np.split(where, range(step, where.size, step)):
            answers, weights = out[block], log_weights[block]
            kernels.answer_rows(
                tree.arrays, tree.cards, at, codes[block], question, homes, values, least,
                answers, weights, logs,
            )  # fmt: skip
            out[block] = answers
            log_weights[block] = weights + scale
    return out, log_weights


def query_rows(
    relevant: Callable[[set[int]], Sequence[Potential]],
    cards: Ints,
    targets: Sequence[int],
    columns: Sequence[int],
    codes: Array,
    *,
    names: Sequence[str] | None = None,
) -> tuple[Floats, Floats]:
    """(P(targets | row), shape (n_rows, cells); ln of the weight of each row's evidence).

    codes[c, r] is the state of columns[c] in row r, not observed at or above the card; `relevant`
    gives the potentials that bear on a set of variables. A tree whose root contains `targets`
    answers each distinct row by messages to the root alone. The rows are sorted by the set of
    observed variables, then by their states, so that only the messages from where the evidence
    has changed are sent again. Where the tree is large, each set of observed variables gets its
    own tree. Impossible rows have probabilities 0 and weight −∞.

    >>> pair = [Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))]
    >>> codes = np.array([[1, 0, 2]])
    >>> query_rows(lambda _: pair, np.array([2, 2]), [0], [1], codes)[0].round(4).tolist()
    [[0.3333, 0.6667], [0.75, 0.25], [0.5, 0.5]]
    """
    size, n_rows = int(cards[list(targets)].prod()), codes.shape[1]
    check_cells((n_rows, size), f"the answer for {n_rows:,} rows", 4 * MAX_CELLS)
    seen = codes < cards[list(columns), None]
    always = [v for v, flags in zip(columns, seen, strict=True) if flags.all()]
    ever = [v for v, flags in zip(columns, seen, strict=True) if flags.any()]
    potentials = relevant({*targets, *ever})
    tree = CliqueTree([p.scope for p in potentials], cards, keep=targets, observed=always)
    if always == ever or tree.cells(tree.cards) <= ROW_CELLS:
        return _answer_distinct(tree, potentials, targets, columns, codes, seen, names)
    out, log_weights = np.empty((n_rows, size)), np.empty(n_rows)
    _, pattern = _distinct(seen, [2] * len(columns), n_rows)
    ends = np.append(0, np.cumsum(np.bincount(pattern)))
    for rows in split(np.argsort(pattern, kind="stable"), ends):
        places = np.flatnonzero(seen[:, rows[0]]).tolist()
        observed, block = [columns[c] for c in places], codes[places][:, rows]
        out[rows], log_weights[rows] = query_rows(
            relevant, cards, targets, observed, block, names=names
        )
    return out, log_weights


def _answer_distinct(
    tree: CliqueTree,
    potentials: Sequence[Potential],
    targets: Sequence[int],
    columns: Sequence[int],
    codes: Array,
    seen: Bools,
    names: Sequence[str] | None,
) -> tuple[Floats, Floats]:
    """The answers of one tree for all rows; each distinct row is computed once."""
    radices = [*[2] * len(columns), *(tree.cards[list(columns)] + 1).tolist()]
    first, inverse = _distinct([*seen, *codes], radices, codes.shape[1])
    rows = codes[:, first].T
    observed = tree.cards.copy()
    observed[[v for v, flags in zip(columns, seen, strict=True) if flags.all()]] = 1
    if tree.cells(observed) > LARGE_CELLS:
        answers, weights = _answer_within_limits(tree, potentials, targets, columns, rows, names)
        return answers[inverse], weights[inverse]
    factors = FactorTables.of(p.log_values for p in potentials)
    answers, weights = run_tree(tree, factors, targets, columns, rows, joint=True, names=names)
    return answers[inverse], weights[inverse]


def _answer_within_limits(
    tree: CliqueTree,
    potentials: Sequence[Potential],
    targets: Sequence[int],
    columns: Sequence[int],
    rows: Codes,
    names: Sequence[str] | None,
) -> tuple[Floats, Floats]:
    """The answers row by row; together they may take as long as one answer."""
    limits = current_limits()
    each = replace(limits, seconds=limits.seconds / len(rows))
    answers, weights = [], []
    for row in rows.tolist():
        cells = zip(columns, row, strict=True)
        evidence = {v: code for v, code in cells if code < tree.cards[v]}
        run = ExactRun(potentials, tree.cards, evidence, keep=targets, limits=each, names=names)
        table, log_weight = run.joint()
        answers.append(table.reshape(-1))
        weights.append(log_weight)
    return np.array(answers), np.array(weights)


def _distinct(columns: Iterable[Array], radices: Iterable[int], n: int) -> tuple[Ints, Ints]:
    """(a place of each distinct row, in lexicographic order; the distinct row of each row)."""
    keys, room = np.zeros(n, dtype=np.int64), 1
    for column, radix in zip(columns, radices, strict=True):
        if room * radix > 2**62:  # ranks instead of keys have the same order
            ranks, keys = np.unique(keys, return_inverse=True)
            room = ranks.size
        keys = keys * radix + column
        room *= radix
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse

"""What a local score is: a number for a child given its parents, from their counts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from counterpane._core import scores as kernels
from counterpane.counts.layout import MAX_BATCH_CELLS
from counterpane.counts.source import CountSource, Policy, pair_cells, threads_of
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.scores.priors import StructurePrior, UniformPrior
from counterpane.typing import Array, Floats

Family = tuple[int, Sequence[int]]
"""A child and its parents, by position."""

LEAST_GAIN = 1e-7  # nats: smaller gains are rounding, whatever the rows weigh
ROUNDING = 32 * float(np.finfo(np.float64).eps)  # of the summed terms, relative
TABLE_SIZE = 2**20  # values of c ln c kept in a table; larger counts take a logarithm each


class Form(NamedTuple):
    """A score as the kernels know it: its kind and its one number (see scores/tables.hpp)."""

    kind: int
    a: float


class LocalScore(ABC):
    """A score that is a sum over families. Natural logs; larger is better.

    Subclasses say how one family is scored. Those that the kernels know also give a `form`, which
    makes them fast; others are called table by table.
    """

    name: ClassVar[str]
    score_equivalent: ClassVar[bool] = True  # before the structure prior
    decomposable: ClassVar[bool] = True
    available_case: ClassVar[bool] = False  # whether a family is scored on its complete rows alone

    def __init__(self, *, structure_prior: StructurePrior | None = None) -> None:
        self.structure_prior = structure_prior or UniformPrior()

    def __repr__(self) -> str:
        shown = {k: v for k, v in vars(self).items() if not isinstance(v, UniformPrior)}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    @property
    def is_score_equivalent(self) -> bool:
        """Whether all networks of one equivalence class score alike, prior included."""
        return self.score_equivalent and self.structure_prior.score_equivalent

    @property
    def missing(self) -> Policy:
        """What is done about missing cells when a family is counted for this score."""
        return (
            "drop" if self.available_case else "error"
        )  # most scores compare families on equal rows

    def form(self, total: float) -> Form | None:
        """The score for kernels, for data of `total` weight; None if the kernels do not know it."""
        return None

    def least_gain(self, total: float) -> float:
        """The difference of two scores up to which it may be rounding, for rows of this weight."""
        return least_gain(total)

    @abstractmethod
    def family(self, counts: Array, total: float, child: int, parents: Sequence[int]) -> float:
        """The score of one family without its structure prior.

        `counts` has the axes (parents…, child); `total` is the weight of all rows, `child` and
        `parents` are positions in the schema.
        """


class FormScore(LocalScore):
    """A score that the kernels know."""

    @abstractmethod
    def form(self, total: float) -> Form: ...

    def family(self, counts: Array, total: float, child: int, parents: Sequence[int]) -> float:
        r = counts.shape[-1]
        flat = np.ascontiguousarray(counts, dtype=np.float64).ravel()
        logs = log_table(flat)
        return kernels.score_table(flat, flat.size // r, r, 1, *self.form(total), logs)


def least_gain(total: float) -> float:
    """The nats that a change of a model must gain to be no rounding, for rows of this weight.

    Log-likelihoods and log-gammas of counts are sums whose terms come to N ln N; their rounding is
    relative to that. Every search that compares sums over rows takes a move by this rule.

    >>> least_gain(1e4), round(least_gain(2.0**53))
    (1e-07, 2351)
    """
    return max(LEAST_GAIN, ROUNDING * total * math.log(max(total, 1.0)))


def log_table(counts: Array) -> Floats:
    """c ln c for all whole numbers up to the largest count, or to the table's limit."""
    return clogc_table(float(counts.max(initial=0)))


def clogc_table(largest: float) -> Floats:
    """c ln c for c = 0 … `largest`, or to the table's limit."""
    return _clogc_table(int(min(largest, TABLE_SIZE)) + 1)


@lru_cache(4)
def _clogc_table(size: int) -> Floats:
    table = np.empty(size)
    kernels.fill_clogc(table)
    return table


def score_families(
    score: LocalScore,
    source: CountSource,
    families: Sequence[Family],
    *,
    ctl: Control | None = None,
) -> Floats:
    """The scores of several families, structure priors included, from one batch of counts.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data.datasets import load_dataset
    >>> from counterpane.scores import BIC
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> score_families(BIC(), source, [(3, []), (3, [2])]).round(3).tolist()
    [-1388.577, -1175.191]
    """
    scopes = [(*parents, child) for child, parents in families]
    batch = source.counts(scopes, missing=score.missing, ctl=ctl)
    total = float(batch.n.max(initial=0)) if source.total_weight is None else source.total_weight
    form = score.form(total)
    out = np.empty(len(families))
    if form is not None and not batch.layout.sparse:
        cards = source.schema.cards[[child for child, _ in families]]
        logs = log_table(batch.values)
        kernels.score_tables(batch.values, batch.layout.out_from, cards, *form, logs, out)
    else:
        for i, (child, parents) in enumerate(families):
            out[i] = score.family(batch[i], total, child, parents)
    return out + score.structure_prior.families(source.schema.cards, families)


def score_dag(score: LocalScore, source: CountSource, parents: Sequence[Sequence[int]]) -> float:
    """The score of a whole network, given each node's parents."""
    return float(score_families(score, source, list(enumerate(parents))).sum())


def score_pairs(
    score: LocalScore,
    source: CountSource,
    children: Sequence[int],
    parents: Sequence[int],
    *,
    ctl: Control | None = None,
) -> Floats:
    """score(child | {parent}), structure prior included, shape (children, parents).

    The entry of a variable with itself is its score without parents.
    """
    alone = score_families(score, source, [(c, ()) for c in children], ctl=ctl)
    total = float(source.total_weight or 0.0)  # known after the first scan
    form = score.form(total)
    out = np.empty((len(children), len(parents)))
    n = len(source.schema)
    if form is None:
        families = [(c, (p,)) for c in children for p in parents if c != p]
        scores = iter(score_families(score, source, families, ctl=ctl))
        for i, c in enumerate(children):
            out[i] = [alone[i] if c == p else next(scores) for p in parents]
        return out
    if pair_cells(source, children, parents) > MAX_BATCH_CELLS and {*children} & {*parents}:
        for i, c in enumerate(children):  # a column of many states is not paired with itself
            others = [j for j, p in enumerate(parents) if p != c]
            out[i] = alone[i]
            if others:
                apart = [parents[j] for j in others]
                out[i, others] = score_pairs(score, source, [c], apart, ctl=ctl)[0]
        return out
    same = list(children) == list(parents)  # then half of the pairs are enough
    pairs = source.pair_counts(children, against=None if same else parents, ctl=ctl)
    counts, logs = np.ascontiguousarray(pairs.counts), clogc_table(total)

    def fill(part: range) -> None:
        left = pairs.left_from[part.start : part.stop + 1]
        rows = out[part.start : part.stop]
        kernels.score_pairs(counts, left, pairs.right_from, *form, logs, rows)

    n_jobs = threads_of(source)
    cuts = [len(children) * k // n_jobs for k in range(n_jobs + 1)]
    list(map_in_threads(fill, [range(a, b) for a, b in pairwise(cuts)], n_jobs))
    prior = score.structure_prior
    by_edge, by_parent = prior.by_edge(n), prior.by_count(n)[1]
    out += by_parent + by_edge[np.ix_(parents, children)].T if by_edge.size else by_parent
    if prior.by_parameter:
        cards = source.schema.cards
        parameters = np.outer(cards[list(children)] - 1, cards[list(parents)])
        out += prior.by_parameter * parameters.astype(np.float64)
    itself = np.equal.outer(np.array(children), np.array(parents))
    out[itself] = np.broadcast_to(alone[:, None], out.shape)[itself]
    return out

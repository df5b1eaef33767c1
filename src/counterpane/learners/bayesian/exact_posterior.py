"""The exact posterior over all networks of up to 20 variables: edges, evidence, the best network.

The posterior of a network is exp(score) over the sum of all. That sum, and the share of it that
holds an edge, come from dynamic programming over sets of variables: Tian & He (2009) with every DAG
equally probable beforehand, Koivisto & Sood (2004) with every order. The best network is that of
Silander & Myllymäki (2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpane._core import bayesian as kernels
from counterpane.counts.source import CountSource
from counterpane.errors import FitError, TableSizeError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.family_tables import FamilyTables, checked_limit, columns_of_mask
from counterpane.learners.bayesian.score_learner import Criterion
from counterpane.learners.density import DensityLearner
from counterpane.learners.driver import Search
from counterpane.learners.order import intrinsic_order
from counterpane.learners.parameters import fit_parameters
from counterpane.models.edges import ARROW, Edge, Edges
from counterpane.progress import Control
from counterpane.scores import as_score
from counterpane.typing import Floats

MAX_VARIABLES = 20
STEP_TERMS = 2**24  # terms summed in one step, about 0.2 s
LN2 = math.log(2.0)
TOLERANCE = 1e-6  # of the posterior's total, which must be 1

WHY_STATES = (
    "StructureSearch estimates them by EM, but with missing cells the sum over networks has no "
    "closed form"
)

StructurePriorName = Literal["uniform", "order"]


class CountedTerms(NamedTuple):
    """The terms of all sets, and the number of counting steps done; sums are not saved."""

    terms: Floats
    next: int


class PosteriorSearch(Search[CountedTerms]):
    """Counts all families, then finds the best network and the sums, a share a step."""

    def __init__(self, tables: FamilyTables, prior: StructurePriorName) -> None:
        self.tables = tables
        self.prior = prior
        self.n = len(tables.columns)
        self.scores: Floats = np.empty((self.n, 2 ** (self.n - 1)))
        self.edges: Floats = np.zeros((self.n, self.n))
        self.log_evidence = 0.0
        self._done = 0.0
        self._ended = False
        self._sums: Iterator[float] | None = None

    def start(self) -> CountedTerms:
        return CountedTerms(self.tables.terms, 0)

    def done(self, state: CountedTerms) -> bool:
        return self._ended

    def size(self, state: CountedTerms) -> tuple[float, float]:
        """Progress in thirds: counting, sums upwards, sums downwards."""
        return state.next / max(1, self.tables.steps) + self._done, 3.0

    def step(self, state: CountedTerms, ctl: Control) -> tuple[CountedTerms, dict[str, Any]]:
        self.tables.terms = state.terms  # perhaps of a checkpoint
        if state.next < self.tables.steps:
            self.tables.terms = state.terms.copy()
            self.tables.count(state.next)
            return CountedTerms(self.tables.terms, state.next + 1), {"work": "counting"}
        if self._sums is None:
            self._sums = self._sum(ctl)
        done = next(self._sums, None)
        self._ended = done is None
        self._done = 2.0 if done is None else done
        return state, {"work": "summing"}

    def _sum(self, ctl: Control) -> Iterator[float]:
        """Compute the sums in parts; yields the progress after each part, from 0 to 2."""
        n, size = self.n, 2**self.n
        alpha = kernels.Alpha(
            np.empty_like(self.scores), np.empty(self.scores.shape, dtype=np.int64)
        )
        for i in range(n):
            self.scores[i] = self.tables.child(i, ctl=ctl)
            kernels.sum_subsets(self.scores[i], alpha.value[i], alpha.exponent[i])
            yield 0.0
        orders: Floats = np.empty(size)
        kernels.sum_orders(alpha, orders)
        backward: Floats = np.zeros(size)
        at = size - 1
        if self.prior == "order":
            self.log_evidence = float(orders[-1])
            while at >= 0:
                at = kernels.weigh_orders(alpha, orders, at, STEP_TERMS, backward, self.edges)
                yield 2.0 - (at + 1) / size
            return
        scale = np.floor(orders / LN2).astype(np.int64)
        forward: Floats = np.zeros(size)
        forward[0] = 1.0
        below = 0
        while below < size:
            below = kernels.sum_networks(alpha, scale, below, STEP_TERMS, forward)
            yield below / size
        self.log_evidence = float(np.log(forward[-1]) + scale[-1] * LN2)
        backward[-1] = 1.0 / forward[-1]
        while at >= 0:
            at = kernels.weigh_networks(alpha, scale, forward, at, STEP_TERMS, backward, self.edges)
            yield 2.0 - (at + 1) / size


def best_network(scores: Floats, tolerance: float = 0.0) -> tuple[list[list[int]], float]:
    """Return the parents of a network of largest score[child, mask over the others], and its score.

    O(n² 2ⁿ) time. Scores that differ by at most `tolerance` are taken as equal: the last column
    that can be a sink comes last, with as few parents as possible, of lowest mask.

    >>> best_network(np.array([[-3.0, -1.0], [-2.0, -1.5]]))
    ([[1], []], -3.0)
    """
    n = len(scores)
    best = scores.copy()
    for row in best:
        kernels.best_subsets(row)
    total: Floats = np.empty(2**n)
    kernels.best_of_sets(best, total)
    parents: list[list[int]] = [[] for _ in range(n)]
    rest = 2**n - 1
    while rest:
        least = total[rest] - tolerance
        sinks = {i: rest ^ 1 << i for i in range(n) if rest >> i & 1}
        i = max(i for i, left in sinks.items() if total[left] + best[i, _squeeze(left, i)] >= least)
        rest = sinks[i]
        allowed = _squeeze(rest, i)
        equal = np.flatnonzero(scores[i] >= best[i, allowed] - tolerance)
        equal = equal[(equal & ~allowed) == 0]
        fewest = int(equal[np.bitwise_count(equal).argmin()])
        parents[i] = columns_of_mask(fewest, np.delete(np.arange(n), i))
    return parents, float(total[-1])


def _squeeze(mask: int, i: int) -> int:
    """The mask without the place of bit i."""
    low = (1 << i) - 1
    return (mask & low) | ((mask >> 1) & ~low)


class ExactPosterior(DensityLearner):
    """Learns the exact posterior over networks of at most 20 variables, and the best of them.

    By default missing is a state, while `StructureSearch` estimates missing cells by EM: with
    missing cells the sum has no closed form. A checkpoint has the counts, not the sums.

    Parameters
    ----------
    criterion : str or LocalScore
        Natural-log marginal likelihoods such as "bdeu" give posteriors, "bic" an approximation.
    prior : {"uniform", "order"}
        "uniform": every DAG has the same weight; up to 3ⁿ terms. "order": the weight of a DAG is
        the number of orders that it fits; n² 2ⁿ terms.
    max_parents : int, optional
        The largest number of parents of a variable.
    equivalent_sample_size : float
        The weight of the uniform prior of the model's parameters, in rows.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    edge_probabilities_ : array
        Row: from, column: to.
    edges_ : Edges
        An arrow for each pair and direction, the most probable first: `share_of_mark` is the
        posterior probability of the arrow, `share` that of an edge in either direction.
    log_evidence_ : float
        ln Σ exp(score) over all networks; with "order" each times its number of orders.
    model_, best_model_ : BayesianNetwork
        The network of largest score; `graph_` has its edges. Of networks with equal scores it is
        the same one whatever the order of columns and rows.
    score_, best_score_ : float
        Its score.
    trace_ : list of dict
        The steps.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = ExactPosterior().fit(cp.load_dataset("titanic"))
    >>> round(learner.best_score_, 3), round(learner.log_evidence_, 3)
    (-5246.266, -5243.938)
    """

    _why_states = WHY_STATES

    criterion: Criterion = field(default="bdeu", kw_only=False)
    prior: StructurePriorName = "uniform"
    max_parents: int | None = None
    equivalent_sample_size: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_score(self.criterion)

    def _learn(self, source: CountSource) -> None:
        score = as_score(self.criterion)
        n, names = len(source.schema), source.schema.names
        if n > MAX_VARIABLES:
            families = f"{n * 2 ** (n - 1):,}" if n < 64 else f"{n} · 2^{n - 1}"
            raise TableSizeError(
                f"{n} variables have {families} families; exact sums hold those of "
                f"{MAX_VARIABLES} variables: select fewer columns, or use OrderMCMC."
            )
        order = intrinsic_order(source)  # the order of the columns in the table must not matter
        tables = FamilyTables(source, score, order, checked_limit(self.max_parents, n))
        search = PosteriorSearch(tables, self.prior)
        outcome = self._driver(source).run(search, "summing over networks")
        self.trace_ = outcome.trace
        if outcome.stopped is not None:
            raise FitError(
                f"the exact posterior was stopped ({outcome.stopped}) before its sums were whole; "
                "give it more time, fewer columns or a lower max_parents, or use OrderMCMC."
            )
        _check_total(np.diag(search.edges))
        rank = np.argsort(order)
        edges = np.clip(search.edges, 0.0, 1.0)[np.ix_(rank, rank)]
        np.fill_diagonal(edges, 0.0)
        self.edge_probabilities_ = edges
        self.edges_ = ranked_edges(edges, names)
        self.log_evidence_ = search.log_evidence
        tolerance = score.least_gain(tables.total)
        parents, self.best_score_ = best_network(search.scores, tolerance)
        dag = Dag.from_parents([order[p] for p in parents[i]] for i in rank)
        self.score_ = self.best_score_
        self.model_ = self.best_model_ = fit_parameters(
            source,
            dag,
            equivalent_sample_size=self.equivalent_sample_size,
        )
        self.graph_ = self.model_.graph


def _check_total(totals: Floats) -> None:
    worst = float(np.abs(totals - 1.0).max())
    if not worst <= TOLERANCE:
        raise FitError(
            f"the posterior sums to 1 ± {worst:.1e}: the scores lose too many digits in doubles; "
            "lower max_parents, or use prior='order'."
        )


def ranked_edges(probabilities: Floats, names: tuple[str, ...]) -> Edges:
    """Return an arrow for each pair of columns and direction, the most probable first."""
    tails, heads = np.nonzero(~np.eye(len(names), dtype=bool))
    order = np.argsort(-probabilities[tails, heads], kind="stable")
    either = np.minimum(probabilities + probabilities.T, 1.0)
    return Edges(
        Edge(names[t], names[h], ARROW, None, "", float(either[t, h]), float(probabilities[t, h]))
        for t, h in zip(tails[order].tolist(), heads[order].tolist(), strict=True)
    )

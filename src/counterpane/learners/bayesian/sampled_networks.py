"""Networks as probable as they explain the rows: of a posterior, or of bootstrap samples.

Up to 12 columns, networks are drawn from the exact posterior in which every network is equally
probable beforehand. A network has layers: the columns without parents, then those with all parents
before them and one or more in the layer before. The weight of all that may follow the set A, whose
last layer is T, is a sum over the next layer R, without negative terms (Kuipers & Moffa 2017):

    g(A, T) = Σ_R g(A ∪ R, R) Π_{i ∈ R} [α_i(A) − α_i(A ∖ T)],  α_i(U) = Σ_{P ⊆ U} exp(score(i, P))

O(4ⁿ) terms for n columns. For wider tables, and for learners that restrict networks in other ways,
each bootstrap sample gives a member of the equivalence class that it has.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import bayesian as kernels
from counterpane.counts.memory import MemoryCounts
from counterpane.data.table import Table
from counterpane.errors import GraphError
from counterpane.features.potential import log_sum
from counterpane.graphs import Cpdag, Dag, UndirectedGraph, consistent_extension
from counterpane.learners.base import Learner
from counterpane.learners.bayesian.constraints import (
    allowed_matrix,
    make_limits,
    required_matrix,
)
from counterpane.learners.bayesian.family_tables import FamilyTables, checked_limit
from counterpane.learners.bootstrap import bootstrap
from counterpane.learners.density import DensityLearner
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.scores import as_score
from counterpane.tools.links import class_of
from counterpane.typing import Bools, Floats, Ints

MOST_COLUMNS = 12  # of the exact posterior
SAMPLES = 100  # of the bootstrap
BY_SCORE = ("StructureSearch", "HillClimb", "GES", "ExactPosterior", "OrderMCMC")
BLOCK = 2**22  # cells of weights at once


class SampledNetworks(NamedTuple):
    """`parents[k, x]` are the bits of the parents of column x in network k."""

    parents: Ints
    exact: bool  # drawn from the posterior, not learned from bootstrap samples

    def __len__(self) -> int:
        return len(self.parents)

    def with_path(self, starts: Ints | list[int], end: int) -> Bools:
        """Whether each network has a directed path from one of `starts` to `end`."""
        reached = np.full(len(self), sum(1 << v for v in starts), dtype=np.int64)
        for _ in range(self.parents.shape[1]):
            before = reached.copy()
            for x in range(self.parents.shape[1]):
                reached |= np.where(self.parents[:, x] & reached, 1 << x, 0)
            if (before == reached).all():
                break
        found: Bools = (reached >> end & 1).astype(bool)
        return found

    def distinct(self) -> tuple[list[Dag], Ints]:
        """The different networks, the most frequent first, and how often each is there."""
        rows, counts = np.unique(self.parents, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return [Dag.from_parents(map(bits_set, rows[k].tolist())) for k in order], counts[order]


def bits_set(mask: int) -> list[int]:
    """The columns whose bits are set.

    >>> bits_set(0b101)
    [0, 2]
    """
    return [v for v in range(mask.bit_length()) if mask >> v & 1]


def sample_networks(
    model: BayesianNetwork, rows: Table, n: int, rng: np.random.Generator
) -> SampledNetworks | None:
    """Networks that explain `rows`, within the limits that the learner of `model` had.

    None if the file of the model does not say how it was learned.
    """
    config = model.record.learner.config
    if config is None:
        return None
    learner: Any = Learner.from_config(config)
    if not isinstance(learner, DensityLearner):  # the network of a classifier
        return None
    learner.set_params(progress=False, checkpoint=None, time_limit=None)
    if config["class"] in BY_SCORE and len(rows.schema) <= MOST_COLUMNS:
        return SampledNetworks(LayerSums(_family_scores(learner, rows)).draw(n, rng), exact=True)
    learner.set_params(missing="error")
    found = bootstrap(learner, rows, SAMPLES, keep_models=True, random_state=rng)
    members = [_random_member(each, rng) for each in found.models]
    return SampledNetworks(np.array(members, dtype=np.int64), exact=False)


def _family_scores(learner: Any, rows: Table) -> Floats:
    """The score of each column given each set of the others that the learner allows."""
    parameters = learner.get_params(deep=False)
    score = as_score(parameters["criterion"])
    if score.available_case:
        score = as_score("bdeu")
    n = len(rows.schema)
    most = checked_limit(parameters.get("max_parents"), n)
    tables = FamilyTables(MemoryCounts(rows), score, range(n), most)
    for step in range(tables.steps):
        tables.count(step)
    limits = make_limits(
        rows.schema,
        parameters.get("required_edges", ()),
        parameters.get("forbidden_edges", ()),
        parameters.get("tiers"),
    )
    allowed, required = allowed_matrix(limits, n), required_matrix(limits, n)
    scores: Floats = np.array([tables.child(x) for x in range(n)])
    squeezed = np.arange(scores.shape[1])
    for x, p in np.argwhere(~np.eye(n, dtype=bool)).tolist():
        has = (squeezed >> (p - (p > x)) & 1).astype(bool)
        if not allowed[x, p]:
            scores[x, has] = -np.inf
        if required[x, p]:
            scores[x, ~has] = -np.inf
    return scores


class LayerSums:
    """ln g(A, T) of all sets A and their subsets T, from which networks are drawn."""

    def __init__(self, scores: Floats) -> None:
        self.scores, self.n = scores, len(scores)
        alpha = kernels.Alpha(np.empty_like(scores), np.empty(scores.shape, dtype=np.int64))
        for x in range(self.n):
            kernels.sum_subsets(scores[x], alpha.value[x], alpha.exponent[x])
        with np.errstate(divide="ignore"):
            self.sums: Floats = np.log(alpha.value) + alpha.exponent * math.log(2.0)
        sizes = np.bitwise_count(np.arange(2**self.n)).astype(np.int64)
        self.starts = np.append(0, np.cumsum(2**sizes))  # of the subsets of each set in `logs`
        self.logs: Floats = np.empty(self.starts[-1])
        for members in range(2**self.n - 1, -1, -1):  # supersets first
            last = _subsets_of(members)
            sums = log_sum(self.terms(members, last))
            self.logs[self.starts[members] : self.starts[members + 1]] = sums

    def terms(self, members: int, last: Ints) -> Floats:
        """The ln-terms of each next layer, a subset of the columns outside, for layers `last`."""
        others = bits_set((2**self.n - 1) & ~members)
        terms: Floats = np.zeros((len(last), 1))
        for x in others:
            whole = self.sums[x, _squeeze(np.array(members), x)]
            rest = self.sums[x, _squeeze(members & ~last, x)]
            if members == 0:
                parents = np.array([whole])
            else:
                with np.errstate(divide="ignore", invalid="ignore"):
                    parents = whole + np.log1p(-np.exp(np.minimum(rest - whole, 0.0)))
                parents = np.where((whole == -np.inf) | (rest >= whole), -np.inf, parents)
            terms = np.concatenate([terms, terms + parents[:, None]], axis=1)
        if others:
            terms += self._following(members, others)
            terms[:, 0] = -np.inf  # a layer has a column at least
        return terms

    def _following(self, members: int, others: list[int]) -> Floats:
        """ln g(A ∪ R, R) of each set R of others."""
        layers = _subsets_of(sum(1 << x for x in others))
        joined = members | layers
        places, bits = self.starts[joined], np.zeros(len(layers), dtype=np.int64)
        for x in range(self.n):  # the place of R among the subsets of A ∪ R
            places = places + ((layers >> x & 1) << bits)
            bits += joined >> x & 1
        following: Floats = self.logs[places]
        return following

    def draw(self, n_draws: int, rng: np.random.Generator) -> Ints:
        """The parents' bits of networks drawn from the posterior, of shape (n_draws, columns)."""
        parents = np.zeros((n_draws, self.n), dtype=np.int64)
        before, last = np.zeros((2, n_draws, self.n), dtype=np.int64)
        members, layer = np.zeros((2, n_draws), dtype=np.int64)
        while (members != 2**self.n - 1).any():
            following = np.zeros(n_draws, dtype=np.int64)
            for group in np.unique(members).tolist():
                rows = np.flatnonzero(members == group)
                outside = _subsets_of((2**self.n - 1) & ~group)
                if len(outside) == 1:
                    continue
                lasts, which = np.unique(layer[rows], return_inverse=True)
                terms = self.terms(group, lasts)
                weights = np.exp(terms - terms.max(axis=1, keepdims=True))
                following[rows] = outside[_choices(weights, rng, which)]
            for x in range(self.n):
                placed = (following >> x & 1).astype(bool)
                before[placed, x], last[placed, x] = members[placed], layer[placed]
            members, layer = members | following, following
        for x in range(self.n):
            parents[:, x] = _parents(self.scores[x], x, before[:, x], last[:, x], rng)
        return parents


def _subsets_of(mask: int) -> Ints:
    """All subsets of the columns of a mask, the bits of the first column changing fastest.

    Those of 0b101 are 0, 1, 4 and 5.
    """
    subsets: Ints = np.zeros(1, dtype=np.int64)
    for v in bits_set(mask):
        subsets = np.concatenate([subsets, subsets | 1 << v])
    return subsets


def _parents(scores: Floats, x: int, before: Ints, last: Ints, rng: np.random.Generator) -> Ints:
    """The bits of the parents of column x in each network.

    They are drawn among the sets of columns `before`, with one or more of the layer `last`.
    """
    kept = np.flatnonzero(scores > -np.inf)
    families = (kept & ((1 << x) - 1)) | (kept >> x << (x + 1))
    found = np.empty(len(before), dtype=np.int64)
    pairs, which = np.unique(np.stack([before, last]), axis=1, return_inverse=True)
    which = which.reshape(-1)
    step = max(1, BLOCK // len(families))
    for start in range(0, pairs.shape[1], step):
        outside, layer = ~pairs[0, start : start + step, None], pairs[1, start : start + step, None]
        allowed = (families & outside == 0) & ((families & layer != 0) | (layer == 0))
        logs = np.where(allowed, scores[kept], -np.inf)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        rows = np.flatnonzero((which >= start) & (which < start + step))
        found[rows] = families[_choices(weights, rng, which[rows] - start)]
    return found


def _choices(weights: Floats, rng: np.random.Generator, rows: Ints) -> Ints:
    """For each of `rows` of the weights a column, in proportion to them."""
    sums = np.cumsum(weights, axis=1)
    levels = rng.random(len(rows)) * sums[rows, -1]
    chosen: Ints = np.empty(len(rows), dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    ends = np.searchsorted(rows[order], np.arange(len(sums) + 1))
    for row in range(len(sums)):
        own = order[ends[row] : ends[row + 1]]
        chosen[own] = np.searchsorted(sums[row], levels[own], side="right")
    return chosen


def _squeeze(masks: Ints, x: int) -> Ints:
    """Masks without the place of bit x."""
    low = (1 << x) - 1
    return (masks & low) | (masks >> 1 & ~low)


def _random_member(model: Any, rng: np.random.Generator) -> list[int]:
    """The parents' bits of a network of the class of `model`, directed at random."""
    dag = random_extension(class_of(model), rng)
    return [sum(1 << p for p in dag.parents(x)) for x in range(dag.n)]


def random_extension(shape: Cpdag, rng: np.random.Generator) -> Dag:
    """A network of an equivalence class: an open edge at random is directed at random, and so on.

    A direction that no network of the class has is turned.
    """
    arrows, lines = list(shape.compelled.edges), list(shape.reversible.edges)
    n = shape.n
    for a, b in rng.permutation(np.array(lines, dtype=np.int64).reshape(-1, 2)).tolist():
        lines.remove((a, b) if (a, b) in lines else (b, a))
        tail, head = (a, b) if rng.random() < 0.5 else (b, a)
        try:
            consistent_extension(Cpdag(Dag(n, [*arrows, (tail, head)]), UndirectedGraph(n, lines)))
        except GraphError:
            tail, head = head, tail
        arrows.append((tail, head))
    return Dag(n, arrows)

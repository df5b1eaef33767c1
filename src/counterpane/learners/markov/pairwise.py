"""Pairwise Markov networks on the graph of each variable's most dependent partners.

The Markov random fields of Freno, Trentin & Gori (KDD 2009): each variable is joined to the k
others with the largest χ², and every joint state of every edge has a weight, learned by
pseudo-likelihood. Cost: counts of all pairs, then L-BFGS over the distinct rows of each blanket.
"""

from __future__ import annotations

import time
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, Setting
from counterpane.features import Potential
from counterpane.graphs import UndirectedGraph
from counterpane.learners.checkpoint import check_range
from counterpane.learners.density import DensityLearner
from counterpane.learners.driver import Search
from counterpane.learners.markov.pseudo_likelihood import GRADIENT, MAX_STEPS
from counterpane.learners.markov.weights import fit_weights
from counterpane.learners.partners import Partners
from counterpane.models.markov_network import MarkovNetwork
from counterpane.progress import Control
from counterpane.typing import Ints


class PartnerState(NamedTuple):
    """The partners of each variable, −1 where there are fewer, and the next variable to do."""

    partners: Ints
    next: int


class PartnerSearch(Search[PartnerState]):
    """Finds the `k` partners with the largest χ² of a block of variables a step."""

    def __init__(self, source: CountSource, k: int) -> None:
        self.partners = Partners(source, k)
        self.n, self.k = self.partners.n, self.partners.k

    def start(self) -> PartnerState:
        return PartnerState(np.full((self.n, self.k), -1), 0)

    def check(self, state: PartnerState) -> None:
        check_range("a partner", state.partners, -1, self.n)
        check_range("the next variable", state.next, 0, self.n + 1)

    def done(self, state: PartnerState) -> bool:
        return state.next >= self.n

    def size(self, state: PartnerState) -> tuple[float, float]:
        return state.next, self.n

    def step(self, state: PartnerState, ctl: Control) -> tuple[PartnerState, dict[str, Any]]:
        first, stop = state.next, min(state.next + self.partners.block, self.n)
        partners = state.partners.copy()
        partners[first:stop] = self.partners.of(first, stop, ctl)
        return PartnerState(partners, stop), {"variables": stop}


class PairwiseMarkovLearner(DensityLearner):
    """Learns a Markov network with a table for each edge of the graph of most dependent pairs.

    Single variables have no weights: a variable without neighbors is uniform. A checkpoint has the
    counts, not the weights.

    Parameters
    ----------
    k : int
        The number of neighbors that each variable adds, by χ²; ties go to the later column, and
        independent pairs are not joined.
    prior_sd : float
        Standard deviation of the Gaussian prior on each weight; inf means no prior.
    tolerance : float
        The search for weights ends when no slope is above it, in nats per row.
    max_steps : int
        The largest number of steps of that search.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    model_ : MarkovNetwork
        The learned network.
    graph_ : networkx.Graph
        Its graph.
    undirected_ : UndirectedGraph
        The same graph by column numbers.
    n_features_ : int
        The number of joint states of all edges.
    score_ : float
        The penalized pseudo-log-likelihood, in nats.
    trace_ : list of dict
        A record of each step.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.PairwiseMarkovLearner(k=1).fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.edges), learner.n_features_
    ([('sex', 'survived'), ('status', 'age'), ('status', 'sex')], 20)
    """

    model_: MarkovNetwork = field(init=False)

    k: int = field(default=3, kw_only=False)
    prior_sd: float = 1.0
    tolerance: float = GRADIENT
    max_steps: int = MAX_STEPS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("k", "prior_sd", "tolerance", "max_steps"):
            if not getattr(self, name) > 0:
                raise ParameterError(
                    Setting(name, getattr(self, name)), "; a number above zero is needed."
                )

    def _learn(self, source: CountSource) -> None:
        began = time.monotonic()
        search = PartnerSearch(source, self.k)
        outcome = self._driver(source).run(search, "counting pairs")
        self.trace_ = outcome.trace
        graph = _partner_graph(outcome.state.partners)
        shapes = [source.schema.cards[list(edge)] for edge in graph.edges]
        tables = [Potential(e, np.zeros(s)) for e, s in zip(graph.edges, shapes, strict=True)]
        left = self.time_limit
        if left is not None:
            left = max(left - (time.monotonic() - began), 1e-9)
        model = fit_weights(
            tables, source, prior_sd=self.prior_sd, tolerance=self.tolerance,
            max_steps=self.max_steps, time_limit=left, n_jobs=self.n_jobs, progress=self.progress,
        )  # fmt: skip
        fitted = model.record.weights
        assert fitted is not None
        self.score_: float = fitted.objective
        self.model_, self.undirected_, self.graph_ = model, graph, model.graph
        self.n_features_ = int(sum(np.prod(shape) for shape in shapes))


def _partner_graph(partners: Ints) -> UndirectedGraph:
    """The graph that joins two variables if one of them is a partner of the other."""
    variables, places = np.nonzero(partners >= 0)
    others = partners[variables, places]
    edges = {(min(e), max(e)) for e in zip(variables.tolist(), others.tolist(), strict=True)}
    return UndirectedGraph(len(partners), edges)

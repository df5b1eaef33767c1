"""Samples of orders and of partitions: edge probabilities for many variables.

An order's weight is Π_i Σ over the parent sets of i that come before it (Friedman & Koller 2003); a
DAG then counts once for each order it fits. A partition lays the nodes in layers, and a node needs
a parent in the layer before its own; each DAG has one partition, so that all DAGs count alike
(Kuipers & Moffa 2017). Both chains move one node at a time to a place drawn from its conditional.
The chain of partitions also reverses edges (Grzegorczyk & Husmeier 2008), and hops through orders:
the network drawn from the last one is accepted so that all DAGs count alike.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from counterpane._core import bayesian as kernels
from counterpane.counts.source import CountSource
from counterpane.errors import FitError, ParameterError, Setting
from counterpane.graphs import Dag
from counterpane.inference.convergence import (
    UnsettledChains,
    effective_sample_size,
    split_rhat,
    standard_errors,
)
from counterpane.lazy import lazy
from counterpane.learners.base import Seed
from counterpane.learners.bayesian.exact_posterior import WHY_STATES, ExactPosterior, ranked_edges
from counterpane.learners.bayesian.family_tables import ParentTables, checked_limit, parent_tables
from counterpane.learners.bayesian.score_learner import Criterion
from counterpane.learners.density import DensityLearner
from counterpane.learners.driver import Search
from counterpane.learners.parameters import fit_parameters
from counterpane.models.mixture import Mixture
from counterpane.models.record import LearningRecord
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.scores import as_score
from counterpane.seeds import random_generator
from counterpane.typing import Array, Floats, Ints

BLOCKS = 32  # the samples of a chain come in so many blocks; a step is one block of every chain
ROUNDING = 1e-12  # the least variance of an edge's indicator
WORST_RHAT = 1.05  # of an edge, before a warning
FEWEST = 100  # independent samples of an edge, before a warning
EXACT_COLUMNS = 15  # up to here the sum over all networks takes about a second


class ChainState(NamedTuple):
    """Where every chain is, and what its blocks of samples added up to.

    `edges` is (chains, blocks, child, candidate), `ends` each block's last places.
    """

    seed: int
    next: int
    places: Ints
    edges: Floats
    ends: Ints
    log_scores: Floats


class ChainSearch(Search[ChainState]):
    """Walks all chains, a block a step: first burn-in, by orders and then by layers, then samples.

    Random numbers depend on (seed, chain, block) only, neither on threads nor on an interruption.
    """

    def __init__(
        self,
        tables: ParentTables,
        seed: int,
        *,
        n_chains: int,
        n_samples: int,
        burn_in: int,
        thin: int,
        partition: bool,
        n_jobs: int,
    ) -> None:
        self.tables = tables
        self.seed = seed
        self.n_chains = n_chains
        self.n_samples = n_samples
        self.thin = thin
        self.turns = -(-thin // 4)  # in each of the four rounds of a sample
        self.partition = partition
        self.n_jobs = n_jobs
        n_blocks = min(BLOCKS, n_samples)
        cuts = np.linspace(0, n_samples, n_blocks + 1).astype(np.int64)
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(cuts)]
        burn = np.diff(np.linspace(0, burn_in, n_blocks + 1).astype(np.int64)).tolist()
        self.burn = [size for size in burn if size]
        self.by_order = len(self.burn) // 2 if partition else len(self.burn) + n_blocks

    def start(self) -> ChainState:
        n, k = self.tables.arrays.candidates.shape
        places = [
            np.random.default_rng([self.seed, c, 0]).permutation(n) for c in range(self.n_chains)
        ]
        if self.partition and self.by_order == 0:
            places = [np.zeros(n, dtype=np.int64)] * self.n_chains
        shape = (self.n_chains, len(self.slices))
        return ChainState(
            self.seed, 0, np.array(places), np.zeros((*shape, n, k)),
            np.zeros((*shape, n), dtype=np.int64), np.zeros((self.n_chains, self.n_samples)),
        )  # fmt: skip

    def done(self, state: ChainState) -> bool:
        return state.next == len(self.burn) + len(self.slices)

    def size(self, state: ChainState) -> tuple[float, float]:
        return state.next, len(self.burn) + len(self.slices)

    def step(self, state: ChainState, ctl: Control) -> tuple[ChainState, dict[str, Any]]:
        n, k = self.tables.arrays.candidates.shape
        block = state.next - len(self.burn)
        samples = self.slices[block] if block >= 0 else slice(0, self.burn[state.next])
        length = samples.stop - samples.start
        arrays = self.tables.arrays

        def run(chain: int) -> tuple[Ints, Floats, Floats]:
            rng = np.random.default_rng([state.seed, chain, state.next + 1])
            place = state.places[chain].copy()
            edges, log_scores = np.zeros((n, k)), np.empty(length)
            if state.next < self.by_order:
                uniforms = rng.random((length, self.thin, 2))
                kernels.walk_orders(arrays, place, uniforms, edges, log_scores)
            else:
                uniforms = rng.random((length, 9 * n + 4 + 114 * self.turns))
                kernels.walk_layers(arrays, place, uniforms, edges, log_scores)
            if self.partition and state.next + 1 == self.by_order:
                chosen = np.empty_like(place)
                kernels.draw_by_order(arrays, place, rng.random((n,)), chosen)
                kernels.fill_layers(arrays.candidates, chosen, place)
            return place, edges, log_scores + self.tables.offsets.sum()

        done = list(map_in_threads(run, range(self.n_chains), self.n_jobs))
        places, edges, log_scores = (np.array(part) for part in zip(*done, strict=True))
        state = state._replace(next=state.next + 1, places=places)
        if block >= 0:
            state = state._replace(
                edges=_with_part(state.edges, block, edges),
                ends=_with_part(state.ends, block, places),
                log_scores=_with_part(state.log_scores, samples, log_scores),
            )
        n_samples = samples.stop if block >= 0 else 0
        by_chain = {f"chain_{c}": float(s) for c, s in enumerate(log_scores.mean(axis=1))}
        return state, {"samples": n_samples, "log_score": float(log_scores.mean()), **by_chain}


nx = lazy("networkx")


def _with_part(array: Array, where: int | slice, part: Array) -> Array:
    """A copy of `array` in which array[:, where] is `part`."""
    copy = array.copy()
    copy[:, where] = part
    return copy


class OrderMCMC(DensityLearner):
    """Learns edge probabilities by sampling partitions (unbiased) or orders of the variables.

    By default missing is a state, as for `ExactPosterior`.

    Parameters
    ----------
    criterion : str or LocalScore
        A name, such as "bic", "bdeu" or "k2", or a score.
    n_samples, n_chains : int
        The samples of each chain, and the number of chains.
    burn_in : int, optional
        Samples that are discarded first, by default half as many as `n_samples`.
    thin : int, optional
        Moves between samples, by default one for each variable: reversed edges and moves of a node,
        with 12 moves of orders for each reversed edge.
    max_parents, max_candidates : int
        The largest number of parents, and of the columns considered as parents of each variable:
        those of largest score alone.
    partition : bool
        False samples orders, which favors DAGs that fit many orders.
    n_models : int
        The number of networks drawn for the mixture.
    random_state : int or numpy.random.Generator, optional
        The seed. Results do not depend on `n_jobs`.
    equivalent_sample_size : float
        The weight of the uniform prior of the networks' parameters, in rows.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    edge_probabilities_, standard_errors_ : array
        Of each edge; row: from, column: to. Averages of exact conditionals, not of indicators.
    rhat_, effective_sizes_ : array
        R-hat of each edge's presence over the halves of the chains, and the number of independent
        networks that would give the same standard error; an edge that is in all or in none of the
        samples has 1 and all samples. Above 1.05 or below 100 a warning says so.
    edges_ : Edges
        An arrow for each pair and direction, the most probable first: `share_of_mark` is the
        posterior probability of the arrow, `share` that of an edge in either direction.
    score_rhat_, score_effective_size_ : float
        R-hat and effective sample size of the log-score.
    log_scores_ : array
        Shape (chains, samples).
    model_ : Mixture
        Sampled networks.
    best_model_, best_score_ : BayesianNetwork and float
        The network of largest score that fits one of the orders kept, one for each block of
        samples, and its score.
    graph_ : networkx.DiGraph
        The edges with a probability above ½; not always acyclic.
    trace_ : list of dict
        The steps of the chains.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = OrderMCMC(n_samples=200, random_state=0).fit(cp.load_dataset("titanic"))
    >>> learner.edge_probabilities_.shape
    (4, 4)
    """

    _why_states = WHY_STATES

    criterion: Criterion = field(default="bdeu", kw_only=False)
    n_samples: int = 1000
    n_chains: int = 4
    burn_in: int | None = None
    thin: int | None = None
    max_parents: int = 3
    max_candidates: int = 12
    partition: bool = True
    n_models: int = 20
    random_state: Seed = None
    equivalent_sample_size: float = 1.0

    def _learn(self, source: CountSource) -> None:
        score = as_score(self.criterion)
        n, names = len(source.schema), source.schema.names
        driver = self._driver(source)
        tables = parent_tables(
            source,
            score,
            max_parents=checked_limit(self.max_parents, n),
            max_candidates=self.max_candidates,
        )
        search = ChainSearch(
            tables,
            int(random_generator(self.random_state).integers(2**62)),
            n_chains=self.n_chains,
            n_samples=self.n_samples,
            burn_in=self.n_samples // 2 if self.burn_in is None else self.burn_in,
            thin=n if self.thin is None else self.thin,
            partition=self.partition,
            n_jobs=self.n_jobs,
        )
        outcome = driver.run(search, "sampling structures")
        self.trace_ = outcome.trace
        blocks = outcome.state.next - len(search.burn)
        if blocks < 2:
            raise FitError(
                f"the chains were stopped ({outcome.stopped}) before two blocks of samples were "
                "done; give more time, or lower burn_in."
            )
        self._summarize(search, outcome.state, blocks)
        self._warn(names)
        self.edges_ = ranked_edges(self.edge_probabilities_, names)
        self.graph_: Any = nx.DiGraph()
        self.graph_.add_nodes_from(names)
        self.graph_.add_weighted_edges_from(
            ((*e.ends, p) for e in self.edges_ if (p := e.share_of_mark or 0.0) > 0.5),
            weight="probability",
        )
        drawn = self._drawn(search, outcome.state, blocks)
        best, self.best_score_ = self._best(search, outcome.state, blocks)
        ess = self.equivalent_sample_size
        networks = [fit_parameters(source, dag, equivalent_sample_size=ess) for dag in drawn]
        self.model_ = Mixture(networks, list(drawn.values()))
        self.best_model_ = fit_parameters(source, best, equivalent_sample_size=ess)

    def _set_record(self, record: LearningRecord) -> None:
        self.model_.record = self.best_model_.record = record

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_score(self.criterion)
        least = {"n_samples": 2, "n_chains": 1, "thin": 1, "burn_in": 0, "n_models": 1}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is None and name in ("thin", "burn_in"):
                continue
            if not isinstance(value, (int, np.integer)) or value < smallest:
                raise ParameterError(Setting(name, value), f"; a number from {smallest} is needed.")

    def _summarize(self, search: ChainSearch, state: ChainState, blocks: int) -> None:
        """Averages, errors and agreement over the blocks that are done."""
        tables = search.tables
        sizes = np.array([s.stop - s.start for s in search.slices[:blocks]], dtype=np.float64)
        shares = np.clip(state.edges[:, :blocks] / sizes[:, None, None], 0.0, 1.0)
        mean = np.average(shares.mean(axis=0), axis=0, weights=sizes)
        error = standard_errors(shares.reshape(self.n_chains, blocks, -1)).reshape(mean.shape)
        halves = [slice(0, blocks // 2), slice(blocks // 2, blocks)]
        means = np.concatenate([np.average(shares[:, h], axis=1, weights=sizes[h]) for h in halves])
        within, variance = (np.maximum(m * (1.0 - m), ROUNDING) for m in (means, mean))
        rhats = split_rhat(means, within, min(sizes[h].sum() for h in halves))
        most = sizes.sum() * self.n_chains
        effective = variance / np.maximum(error**2, variance / most)
        self.edge_probabilities_ = tables.spread(mean, 0.0)
        self.standard_errors_ = tables.spread(error, 0.0)
        self.rhat_ = tables.spread(rhats, 1.0)
        self.effective_sizes_ = tables.spread(effective, most)
        self.log_scores_ = state.log_scores[:, : search.slices[blocks - 1].stop]
        size = self.log_scores_.shape[1] // 2
        parts = self.log_scores_[:, : 2 * size].reshape(-1, size)
        self.score_rhat_ = float(split_rhat(parts.mean(axis=1), parts.var(axis=1), size))
        self.score_effective_size_ = effective_sample_size(self.log_scores_)

    def _warn(self, names: tuple[str, ...]) -> None:
        """Warn if an edge has a large R-hat or few independent samples."""
        sizes = np.where(self.standard_errors_ > 0, self.effective_sizes_, np.inf)
        rhat, size = float(self.rhat_.max()), float(sizes.min())
        if rhat <= WORST_RHAT and size >= FEWEST:
            return
        worst = self.rhat_.argmax() if rhat > WORST_RHAT else sizes.argmin()
        parent, child = (names[i] for i in divmod(int(worst), len(names)))
        warnings.warn(
            f"the chains have not converged, worst for the edge {parent!r} → {child!r}: the "
            f"largest R-hat of an edge is {rhat:.2f} (it should be at most {WORST_RHAT}), the "
            f"smallest effective sample size {size:,.0f} (at least {FEWEST}). Increase n_samples, "
            f"which is {self.n_samples:,}.",
            UnsettledChains,
            stacklevel=3,
        )

    def _best(self, search: ChainSearch, state: ChainState, blocks: int) -> tuple[Dag, float]:
        """The network of largest score that fits the order or the layers at the end of a block."""
        ends = state.ends[:, :blocks].reshape(-1, state.ends.shape[-1])
        ranks = ends if self.partition else np.argsort(ends, axis=1)
        networks = (search.tables.best_within(rank) for rank in np.unique(ranks, axis=0))
        return max(networks, key=lambda network: network[1])

    def _drawn(self, search: ChainSearch, state: ChainState, blocks: int) -> Counter[Dag]:
        """Networks drawn from the ends of evenly spread blocks, with how often each came up."""
        ends = state.ends[:, :blocks].reshape(-1, state.ends.shape[-1])
        rng = np.random.default_rng([state.seed, self.n_chains])
        draw = kernels.draw_by_layers if self.partition else kernels.draw_by_order
        networks: Counter[Dag] = Counter()
        for where in np.linspace(0, len(ends) - 1, self.n_models).round().astype(np.int64):
            chosen = np.empty_like(ends[where])
            draw(search.tables.arrays, ends[where], rng.random(chosen.size), chosen)
            networks[search.tables.dag(chosen)] += 1
        return networks


def affordable_posterior(chains: OrderMCMC, n_columns: int) -> ExactPosterior | OrderMCMC:
    """Return the exact posterior that `chains` samples up to 15 columns, otherwise `chains`.

    >>> affordable_posterior(OrderMCMC(), 4)
    ExactPosterior(max_parents=3)
    """
    if n_columns > EXACT_COLUMNS:
        return chains
    parameters = chains.get_params(deep=False)
    shared = parameters.keys() & ExactPosterior().get_params(deep=False).keys()
    prior: Any = "uniform" if chains.partition else "order"
    return ExactPosterior(**{name: parameters[name] for name in shared}, prior=prior)

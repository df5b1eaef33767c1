"""Hybrid random fields by Markov blanket merging (Freno, Trentin & Gori, KDD 2009).

Each variable's partners are those with the largest χ². A Bayesian network is learned over each
variable and its partners; then, pass by pass, over each variable and the union of its blankets in
all networks that it is in, if that is small enough. A new network replaces the old one if it makes
its own variable more probable given its blanket. All replacements of a pass are made together, so
that the pseudo-likelihood of the data never falls. The loop ends with a pass that changes nothing.

The paper prints a loop that learns each network again from the new blanket, which may lower the
likelihood again and need not end. That is the `literal` one; it ends after ten passes.
"""

from __future__ import annotations

import math
import time
from dataclasses import field
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from counterpane._core import hybrid as kernels
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.learners.checkpoint import check_range
from counterpane.learners.density import DensityLearner
from counterpane.learners.driver import Search
from counterpane.learners.hybrid.local_networks import LocalNetworks
from counterpane.learners.hybrid.sizes import JudgedSizes, Size, candidate_sizes, judge_sizes
from counterpane.learners.order import intrinsic_order
from counterpane.learners.partners import Partners
from counterpane.models.hybrid_random_field import HybridRandomField
from counterpane.parallel import map_in_workers
from counterpane.progress import Control
from counterpane.typing import Bools, Floats, Ints

MOST_PASSES = 10  # of the loop printed in the paper
STEPS = 16  # of a stage, if there are enough variables; an interruption loses one step
LEAST_GAIN = 1e-9  # of the likelihood, relative: less is rounding

PAIRS: Final = "pairs"
NETWORKS: Final = "networks"
MERGING: Final = "merging"
RELEARNING: Final = "relearning"
END: Final = "end"


class MergingState(NamedTuple):
    """The local networks so far, and the results of the present stage.

    Row v of `members` holds the columns of v's network by rank, filled up with −1, row v of
    `parents` the bit set of parents of each, and scores[v] is the log-likelihood of v given its
    blanket. A stage learns networks over the columns `wanted` of the variables that are `due`.
    """

    stage: Literal["pairs", "networks", "merging", "relearning", "end"]
    n_passes: int
    done: int  # variables of this stage
    members: Ints
    parents: Ints
    scores: Floats
    wanted: Ints
    due: Bools
    fresh_parents: Ints
    fresh_scores: Floats


class MergingSearch(Search[MergingState]):
    """Partners, first networks and merging, some variables a step.

    Columns of a network are in the order of `rank`; of its equal moves the first is made.
    """

    def __init__(
        self,
        partners: Partners,
        networks: LocalNetworks,
        rank: Ints,
        *,
        k_max: int,
        literal: bool,
    ) -> None:
        self.partners = partners
        self.networks = networks
        self.rank = rank
        self.n = rank.size
        self.k_max = min(k_max, self.n - 1)
        self.literal = literal

    def start(self) -> MergingState:
        """Each variable alone."""
        alone: Ints = np.full((self.n, self.networks.width), -1)
        alone[:, 0] = np.arange(self.n)
        parents, scores = np.zeros_like(alone), np.zeros(self.n)
        self.networks.learn(alone[:, 0].copy(), alone, parents, scores, None)
        due = np.ones(self.n, dtype=np.bool_)
        return MergingState(PAIRS, 0, 0, alone, parents, scores, alone, due, parents, scores)

    def check(self, state: MergingState) -> None:
        check_range("the number of passes", state.n_passes, 0, 2**31)
        check_range("the number of variables", state.done, 0, self.n + 1)
        everyone = np.arange(self.n)
        self._check_networks(everyone, state.members, state.parents)
        learned = np.flatnonzero(state.due)[: 0 if state.stage == PAIRS else state.done]
        self._check_networks(everyone, state.wanted, np.zeros_like(state.wanted))
        self._check_networks(learned, state.wanted, state.fresh_parents)

    def _check_networks(self, variables: Ints, members: Ints, parents: Ints) -> None:
        """Refuse networks of some variables that name columns or parents which there are not."""
        members, parents = members[variables], parents[variables]
        check_range("a column", members, -1, self.n)
        ranks = np.where(members < 0, self.n, self.rank[members])
        rises = (np.diff(ranks) > 0) | (members[:, 1:] < 0)
        if not (rises.all() and (members == variables[:, None]).any(axis=1).all()):
            raise ValueError("a network has other columns")
        used = np.where(members < 0, 0, parents)  # what is behind the columns is not read
        check_range("a parent", used >> (members >= 0).sum(axis=1)[:, None], 0, 1)

    def done(self, state: MergingState) -> bool:
        return state.stage == END

    def size(self, state: MergingState) -> tuple[float, float]:
        return state.done, int(state.due.sum())

    def step(self, state: MergingState, ctl: Control) -> tuple[MergingState, dict[str, Any]]:
        after = self._relate(state, ctl) if state.stage == PAIRS else self._learn(state, ctl)
        info = {"stage": state.stage, "pass": state.n_passes, "variables": after.done}
        refined = None
        if after.done == after.due.sum():
            refined = int(_better(after).sum()) if state.stage == MERGING else None
            after = self._next_stage(after)
        return after, info | {"refined": refined, "pll": float(after.scores.sum())}

    def _relate(self, state: MergingState, ctl: Control) -> MergingState:
        """Find the partners of some more variables."""
        block, n_jobs = self.partners.block, self.networks.n_jobs
        stop = min(self.n, state.done + max(block * n_jobs, self.n // STEPS))
        wanted = state.wanted.copy()

        partners, checked = self.partners, ctl if self.partners.n_jobs == 1 else None

        def run(first: int) -> Ints:
            return partners.of(first, min(stop, first + block), checked)

        firsts = range(state.done, stop, block)
        for first, nearest in zip(
            firsts, map_in_workers(run, firsts, partners.n_jobs, ctl), strict=True
        ):
            kernels.insert_relatives(nearest, first, self.rank, wanted)
        return state._replace(done=stop, wanted=wanted)

    def _learn(self, state: MergingState, ctl: Control) -> MergingState:
        """Learn the networks of some more variables that are due."""
        due = np.flatnonzero(state.due)
        most = max(self.networks.chunk * self.networks.n_jobs, due.size // STEPS)
        variables = due[state.done : state.done + most]
        parents, scores = state.fresh_parents.copy(), state.fresh_scores.copy()
        self.networks.learn(variables, state.wanted, parents, scores, ctl)
        after = state._replace(
            done=state.done + variables.size, fresh_parents=parents, fresh_scores=scores
        )
        return after if state.stage == MERGING else _commit(after, variables)

    def _next_stage(self, state: MergingState) -> MergingState:
        """The state after the last variable of a stage."""
        if state.stage == PAIRS:
            return state._replace(stage=NETWORKS, done=0)
        if state.stage != MERGING:
            return self._unite(state)
        better = _better(state)
        if not better.any() or (self.literal and state.n_passes == MOST_PASSES):
            return state._replace(stage=END)
        if not self.literal:
            return self._unite(_commit(state, np.flatnonzero(better)))
        blankets = np.empty_like(state.wanted)
        kernels.fill_blankets(state.wanted, state.fresh_parents, self.rank, blankets)
        wanted = np.where(better[:, None], blankets, state.wanted)
        return state._replace(stage=RELEARNING, done=0, wanted=wanted, due=better)

    def _unite(self, state: MergingState) -> MergingState:
        """The start of a pass: the union of each variable's blankets, where it is new."""
        united: Ints = np.empty((self.n, self.k_max + 1), dtype=np.int64)
        kernels.unite(state.members, state.parents, self.rank, united)
        wanted = np.full_like(state.wanted, -1)
        wanted[:, : self.k_max + 1] = united
        due = (united[:, 0] >= 0) & (wanted != state.members).any(axis=1)
        if not self.literal:  # a network that was rejected would be rejected again
            due &= (wanted != state.wanted).any(axis=1)
        return state._replace(
            stage=MERGING,
            n_passes=state.n_passes + 1,
            done=0,
            wanted=np.where(due[:, None], wanted, state.wanted),
            due=due,
        )


def _better(state: MergingState) -> Bools:
    """Which of the networks of a pass make their variables more probable."""
    least = state.scores + LEAST_GAIN * np.maximum(1.0, -state.scores)
    better: Bools = state.due & (state.fresh_scores > least)
    return better


def _commit(state: MergingState, which: Ints) -> MergingState:
    """The state in which the new networks of the variables `which` replace the old ones."""
    members, parents, scores = state.members.copy(), state.parents.copy(), state.scores.copy()
    members[which] = state.wanted[which]
    parents[which] = state.fresh_parents[which]
    scores[which] = state.fresh_scores[which]
    return state._replace(members=members, parents=parents, scores=scores)


MOST_PARTNERS = 62  # so that a set of local columns is one number


class HybridRandomFieldLearner(DensityLearner):
    """Learns a Bayesian network around each variable by Markov blanket merging.

    Each network is learned by hill climbing from the empty graph by the best addition, deletion or
    reversal; among equal moves the first is made, by child, then parent, with columns by falling
    entropy, then by name.

    Parameters
    ----------
    k : int or "auto"
        The number of columns that each variable starts with: those of largest χ², among equal ones
        those of smallest entropy. Independent columns are not used. "auto" compares several by the
        pseudo-log-likelihood of held-out rows, in three folds of the training rows; `LinkRanker`
        compares them by the mean reciprocal rank of the links of held-out users.
    k_max : int or "auto"
        The largest union of blankets for which a network is learned.
    criterion : {"mdl", "bic"}
        "bic" is without the prior.
    literal : bool
        Use the loop as printed in the paper, at most ten passes.
    prior : float, optional
        The number of rows N that are spread evenly over each table, by default the largest number
        of states of a column.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    model_ : HybridRandomField
        The model.
    graph_ : networkx.DiGraph
        Edges from the members of each blanket to its variable.
    blankets_ : dict
        The blanket of each variable.
    n_passes_ : int
        The number of passes of merging.
    k_, k_max_ : int
        The sizes that were used.
    sizes_ : list
        The sizes that were compared, the best first, each with its `value`.
    pll_, score_ : float
        The log pseudo-likelihood of the training rows, in nats.
    trace_ : list of dict
        The steps, with the pseudo-likelihood after each.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.HybridRandomFieldLearner().fit(cp.load_dataset("titanic"))
    >>> learner.blankets_["age"], learner.n_passes_
    (('status', 'survived'), 1)
    """

    model_: HybridRandomField = field(init=False)

    k: Size = field(default=8, kw_only=False)
    k_max: Size = field(default=10, kw_only=False)
    criterion: Literal["mdl", "bic"] = field(default="mdl", kw_only=False)
    literal: bool = False
    prior: float | None = None

    def _learn(self, source: CountSource) -> None:
        began = time.monotonic()
        search = self._search(source)
        driver = self._driver(source)
        if driver.time_limit is not None and self.sizes_:
            driver.time_limit = max(1e-3, driver.time_limit - (time.monotonic() - began))
        outcome = driver.run(search, "learning local networks")
        state = outcome.state
        conditionals = search.networks.conditionals(state.members, state.parents)
        model = HybridRandomField(source.schema, conditionals)
        self.model_, self.graph_ = model, model.graph
        self.blankets_ = model.blankets
        self.n_passes_ = state.n_passes
        self.score_ = self.pll_ = float(state.scores.sum())
        self.trace_ = outcome.trace

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("k", "k_max"):
            value = getattr(self, name)
            if value == "auto":
                continue
            if not isinstance(value, int | np.integer) or not 1 <= value <= MOST_PARTNERS:
                raise ParameterError(
                    Setting(name, value),
                    f"; a whole number from 1 to {MOST_PARTNERS} is needed, or 'auto'.",
                )
        if self.prior is not None and not 0 < self.prior < math.inf:
            raise ParameterError(
                Setting("prior", self.prior), "; a finite number above zero is needed."
            )

    def candidate_sizes(self, n: int) -> list[tuple[int, int]]:
        """The pairs (k, k_max) that `fit` compares for n columns; one without "auto"."""
        return candidate_sizes(self.k, self.k_max, n)

    def _choose_sizes(self, source: CountSource) -> None:
        """Set `k_` and `k_max_`, by held-out rows if there is a choice."""
        sizes = self.candidate_sizes(len(source.schema))
        self.sizes_: list[JudgedSizes] = []
        self.k_, self.k_max_ = sizes[0]
        if len(sizes) > 1:
            self.sizes_ = judge_sizes(sizes, source.rows(), self._fit_sizes, self.time_limit)
        if self.sizes_:
            self.k_, self.k_max_ = self.sizes_[0][:2]

    def _fit_sizes(self, sizes: tuple[int, int], table: Table, seconds: float | None) -> Any:
        """The model of some sizes."""
        k, k_max = sizes
        quiet = {"time_limit": seconds, "progress": False, "checkpoint": None}
        return self.copied(k=k, k_max=k_max, **quiet).fit(table).model_

    def _search(self, source: CountSource) -> MergingSearch:
        self._choose_sizes(source)
        n, cards = len(source.schema), source.schema.cards
        order = intrinsic_order(source)
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        networks = LocalNetworks(
            source,
            min(max(self.k_, self.k_max_) + 1, n),
            prior=float(cards.max() if self.prior is None else self.prior),
            smooth=self.criterion == "mdl",
            n_jobs=self.n_jobs,
        )
        partners = Partners(source, self.k_, order=order, n_jobs=self.n_jobs)
        return MergingSearch(partners, networks, rank, k_max=self.k_max_, literal=self.literal)

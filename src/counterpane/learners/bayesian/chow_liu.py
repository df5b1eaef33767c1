"""Chow–Liu trees: the best network in which every variable has at most one parent.

Chow & Liu, IEEE Trans. Information Theory 14 (1968). The gain of an edge j → i is
s(i | j) − s(i); with the likelihood it is N times the mutual information. A score that is the same
for both directions makes it a maximum spanning forest; another, such as K2, a maximum branching
(Edmonds 1967). Counting all pairs dominates: n²/2 tables, counted in tiles. Above 1,000 columns
pairs are screened by popcounts, and memory is linear in the columns; see `wide_tree`.

With a `target` the tree is the tree-augmented naive Bayes network (Friedman, Geiger & Goldszmidt
1997): the target is a parent of all, and the gain of j → i is s(i | j, target) − s(i | target).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from counterpane._core.graphs import grow_forest
from counterpane.counts.candidates import candidate_counter
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, counted_cards, threads_of
from counterpane.errors import FitError, TableSizeError
from counterpane.graphs import Dag
from counterpane.learners.bayesian.score_learner import (
    Criterion,
    LearnedNetwork,
    ScoreLearner,
    score_and_gains,
)
from counterpane.learners.bayesian.structural_em import first_score
from counterpane.learners.bayesian.wide_columns import searched_columns
from counterpane.learners.bayesian.wide_search import can_be_wide, is_wide, wide_data
from counterpane.learners.bayesian.wide_tree import WideForest, rooted_parents
from counterpane.learners.driver import Search, to_end
from counterpane.learners.order import intrinsic_order
from counterpane.progress import Control
from counterpane.scores import LocalScore, LogLikelihood, UniformPrior
from counterpane.scores.base import score_pairs
from counterpane.scores.row_cache import RowCache
from counterpane.typing import Bools, Floats, Ints

DIGITS = 11  # of a gain, relative to the largest
MAX_GAINS = 2**28  # entries of the matrix of gains: 2 GB
MAX_COUNTED = 2**49  # rows × pairs of states of a wide table: a quarter of an hour
STEP_CELLS = 2**24  # cells of pair tables counted in one step


class PairGains(NamedTuple):
    """The gains of edges parent → child, −∞ where not counted yet, and the next child to do."""

    gains: Floats
    next: int


class GainSearch(Search[PairGains]):
    """Scores all pairs, a block of children a step; given a target, by rows of the row cache."""

    def __init__(self, source: CountSource, score: LocalScore, target: int | None) -> None:
        self.source = source
        self.target = target
        self.cache = None if target is None else RowCache(source, score, max_parents=2)
        self.score = score
        self.n = len(source.schema)
        self.symmetric = score.is_score_equivalent
        most = max(1, STEP_CELLS // max(1, int(counted_cards(source).sum()) ** 2 // self.n))
        # Several blocks in any case: each leaves out the pairs of those before it.
        self.block = min(most, max(64, -(-self.n // 16)))

    def start(self) -> PairGains:
        return PairGains(np.full((self.n, self.n), -np.inf), 0)

    def done(self, state: PairGains) -> bool:
        return state.next >= self.n

    def size(self, state: PairGains) -> tuple[float, float]:
        return state.next, self.n

    def step(self, state: PairGains, ctl: Control) -> tuple[PairGains, dict[str, Any]]:
        first, stop = state.next, min(state.next + self.block, self.n)
        children = list(range(first, stop))
        if self.cache is not None:
            return PairGains(self._given_target(state.gains, children), stop), {"children": stop}
        others = list(range(first if self.symmetric else 0, self.n))
        joint = score_pairs(self.score, self.source, children, others, ctl=ctl)
        alone = joint[range(stop - first), np.array(children) - others[0]]
        for c in np.flatnonzero(alone == -np.inf):
            raise FitError(
                f"column {self.source.schema.names[children[c]]!r} has a state that "
                f"{type(self.score).__name__} holds impossible; give its prior a chance for it."
            )
        gain = joint - alone[:, None]
        gains = state.gains.copy()
        gains[others[0] :, first:stop] = gain.T
        if self.symmetric:
            gains[first:stop, others[0] :] = gain
        return PairGains(gains, stop), {"children": stop, "best_gain": float(gains.max())}

    def _given_target(self, gains: Floats, children: list[int]) -> Floats:
        """A copy of `gains` with the columns of `children` filled, given the target."""
        assert self.cache is not None and self.target is not None
        gains = gains.copy()
        for c in children:
            if c != self.target:
                row = self.cache.row(c, [self.target])
                gains[:, c] = row.toggled - row.score
                gains[[c, self.target], c] = -np.inf
        return gains


class ChowLiu(ScoreLearner):
    """Learns the best tree, forest or branching of a table.

    Parameters
    ----------
    criterion : str or LocalScore
        A name or a score. The likelihood gives a spanning tree, a penalized score a forest.
    root : str, optional
        A column, by default that of largest entropy.
    target : str, optional
        The class, for a tree-augmented network.
    equivalent_sample_size : float
        The weight of the uniform prior of the parameters, in rows.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    model_ : BayesianNetwork
        The network.
    graph_ : networkx.DiGraph
        Its edges; `cpdag_` is its equivalence class.
    score_ : float
        Its score.
    strengths_, gains_ : Edges
        Each edge with its strength in bits per row, and with the score in nats that would be lost
        without it; largest first.
    trace_ : list of dict
        The steps of the search.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.ChowLiu("bic", root="survived").fit(cp.load_dataset("titanic"))
    >>> sorted(learner.graph_.edges)
    [('sex', 'status'), ('status', 'age'), ('survived', 'sex')]
    """

    criterion: Criterion = field(default="loglik", kw_only=False)
    root: str | None = None
    target: str | None = None

    def _learn_network(self, source: CountSource, score: LocalScore) -> LearnedNetwork:
        n = len(source.schema)
        target = None if self.target is None else source.schema.index(self.target)
        order = intrinsic_order(source)
        first = next((c for c in order if c != target), 0)
        root = first if self.root is None else source.schema.index(self.root)
        if self.root is not None and root == target:
            raise FitError(
                f"root and target are both {self.root!r}; the target is above the tree anyway: "
                "leave root out, or name another column."
            )
        gaps = source.has_missing.any()
        known = can_be_wide(score, float(source.total_weight or 2.0))
        fits = (
            candidate_counter(source) is not None and n * n <= MAX_GAINS
        )  # all pairs are cheap there
        if is_wide(n) and target is None and known and not gaps and not fits:
            return self._learn_wide(source, score, root, order)
        if n * n > MAX_GAINS:
            raise TableSizeError(
                f"{n:,} columns need a matrix of {n * n:,} gains; the limit is {MAX_GAINS:,}: "
                "select fewer columns."
            )
        if self._needs_em(source):
            return self._learn_by_em(source, order, score, root, target)
        outcome = self._driver(source).run(GainSearch(source, score, target), "scoring pairs")
        dag = self._tree(outcome.state.gains, score, root, target, order)
        model = self._with_parameters(source, dag, score)
        return LearnedNetwork(model, *score_and_gains(score, source, dag), outcome.trace)

    def _learn_wide(
        self, source: CountSource, score: LocalScore, root: int, order: list[int]
    ) -> LearnedNetwork:
        """The same tree from screened pairs, without a matrix of gains."""
        n = len(order)
        columns = searched_columns(source, np.array(order, dtype=np.int64), None)
        self.notes_ += columns.notes
        places = columns.searched
        planes = float((source.schema.cards[places] - 1).sum())
        if planes**2 * (source.n_rows or 0) > MAX_COUNTED:
            states = int(source.schema.cards[places].sum())
            raise TableSizeError(
                f"{n:,} columns have {states:,} states, too many pairs of states to be counted in "
                f"{source.n_rows:,} rows; leave out columns of very many states."
            )
        data = wide_data(source, score, None, 1, places)
        search = WideForest(data, spanning=_is_spanning(score), n_jobs=self.n_jobs)
        outcome = self._driver(source).run(search, "scoring pairs")
        pairs = places[outcome.state.pairs.reshape(-1, 2)]
        copies = columns.copies[source.schema.cards[columns.copies[:, 1]] > 1]
        if _is_spanning(score):
            copies = columns.copies
        ranked = np.argsort(order)[np.concatenate([pairs, copies])]
        parents = rooted_parents(ranked, n, order.index(root))
        dag = Dag(n, [(order[p], order[c]) for c, p in enumerate(parents.tolist()) if p >= 0])
        model = self._with_parameters(source, dag, score)
        return LearnedNetwork(model, *score_and_gains(score, source, dag), outcome.trace)

    def _tree(
        self,
        gains: Floats,
        score: LocalScore,
        root: int,
        target: int | None,
        order: Sequence[int],
    ) -> Dag:
        """The tree, forest or branching of greatest gain; of equal gains the first in `order`."""
        n = len(gains)
        if list(order) != list(range(n)):
            places = np.argsort(order)
            inner = None if target is None else int(places[target])
            gains = gains[np.ix_(order, order)]
            dag = self._tree(gains, score, int(places[root]), inner, range(n))
            return Dag(n, [(order[p], order[c]) for p, c in dag.edges])
        # The order of states changes the last bits of a gain, and must not decide between equals.
        gains /= gains.max(initial=0.0) or 1.0
        np.round(gains, DIGITS, out=gains)
        if score.is_score_equivalent:
            parents = maximum_forest(gains, root=root, spanning=_is_spanning(score))
        else:
            if self.root is not None:
                gains[:, root] = -np.inf
            parents = maximum_branching(gains)
        edges = [(int(p), c) for c, p in enumerate(parents) if p >= 0]
        if target is not None:
            edges += [(target, c) for c in range(n) if c != target]
        return Dag(n, edges)

    def _learn_by_em(
        self,
        source: CountSource,
        order: list[int],
        score: LocalScore,
        root: int,
        target: int | None,
    ) -> LearnedNetwork:
        """The network that structural EM finds with this learner's search, columns in `order`."""
        rows = MemoryCounts(source.rows().select(order), n_jobs=threads_of(source))
        root = order.index(root)
        target = None if target is None else order.index(target)

        def best(counts: MemoryCounts, by: LocalScore, ctl: Control) -> Dag:
            gains = to_end(GainSearch(counts, by, target), ctl).gains
            return self._tree(gains, by, root, target, range(len(order)))

        return self._run_em(
            source,
            rows,
            order,
            score,
            lambda completed, ctl: best(completed, score, ctl),
            lambda _, ctl: best(rows, first_score(rows.table.total_weight), ctl),
            Dag(len(order), []),
        )


def _is_spanning(score: LocalScore) -> bool:
    """Whether an edge never lowers the score."""
    return isinstance(score, LogLikelihood) and isinstance(score.structure_prior, UniformPrior)


def maximum_forest(weights: Floats, *, root: int = 0, spanning: bool = False) -> Ints:
    """The parent of each node in the forest of greatest weight, −1 for roots.

    Prim's algorithm, O(n²). `weights` is symmetric. Only edges of positive weight are
    taken, unless `spanning`. The tree of `root` is rooted there, others at their lowest node.
    """
    parents = np.full(len(weights), -1, dtype=np.int64)
    grow_forest(np.ascontiguousarray(weights), root, -np.inf if spanning else 0.0, parents)
    return parents


def maximum_branching(weights: Floats) -> Ints:
    """The parent of each node in the branching of greatest weight, −1 for roots.

    Edmonds' algorithm: `weights[p, c]` is the gain of the edge p → c; only positive gains are worth
    an edge. All cycles of a round are contracted at once, so there are at most log₂ n rounds of
    O(n²) each.
    """
    n = len(weights)
    rooted = np.full((n + 1, n + 1), -np.inf)
    rooted[:n, :n] = np.where(weights > 0, weights, -np.inf)
    np.fill_diagonal(rooted, -np.inf)
    rooted[n, :n] = 0.0  # a virtual root: to be a root oneself gains nothing
    parents = _arborescence(rooted, n)[:n]
    parents[parents == n] = -1
    return parents


def _arborescence(weights: Floats, root: int) -> Ints:
    """The parent of each node in the greatest arborescence from `root`; −1 for the root."""
    parents: Ints = np.argmax(weights, axis=0)
    parents[root] = -1
    cycle = _cycles(parents)
    if cycle.max(initial=-1) < 0:
        return parents
    # Each cycle becomes one node, in the place of its lowest member; entering it at v costs the
    # cycle its own edge into v.
    on_cycle: Bools = cycle >= 0
    lowest = np.unique(cycle, return_index=True)[1][-int(cycle.max()) - 1 :]
    place = np.where(on_cycle, lowest[cycle], np.arange(len(weights)))
    label = np.unique(place, return_inverse=True)[1]
    size = int(label.max()) + 1
    gain = weights.copy()
    gain[:, on_cycle] -= weights[parents[on_cycle], np.flatnonzero(on_cycle)]
    small = np.full((size, size), -np.inf)
    tail = np.zeros((size, size), dtype=np.int64)
    head = np.zeros((size, size), dtype=np.int64)
    groups = [np.flatnonzero(label == k) for k in range(size)]
    by_row = np.array([gain[g].max(axis=0) for g in groups])
    row_of = np.array([g[gain[g].argmax(axis=0)] for g in groups])
    for k, g in enumerate(groups):
        enter = g[by_row[:, g].argmax(axis=1)]
        small[:, k] = by_row[np.arange(size), enter]
        tail[:, k] = row_of[np.arange(size), enter]
        head[:, k] = enter
    np.fill_diagonal(small, -np.inf)
    inner = _arborescence(small, int(label[root]))
    for k in range(size):
        if inner[k] >= 0:
            parents[head[inner[k], k]] = tail[inner[k], k]
    return parents


def _cycles(parents: Ints) -> Ints:
    """The number of the cycle each node lies on, −1 for none, following the parents."""
    n = len(parents)
    seen = np.full(n, -1, dtype=np.int64)
    cycle = np.full(n, -1, dtype=np.int64)
    count = 0
    for start in range(n):
        node = start
        while node >= 0 and seen[node] < 0:
            seen[node] = start
            node = int(parents[node])
        if node >= 0 and seen[node] == start:
            while cycle[node] < 0:
                cycle[node] = count
                node = int(parents[node])
            count += 1
    return cycle

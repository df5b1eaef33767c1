"""Structural EM: a structure and its parameters from rows with missing cells.

Friedman (1997, 1998): complete the rows as the present network expects them, let the learner search
on the expected counts, and begin again with what it found, while the expected score rises. Each
such round also raises the score of what was observed. It ends in a local optimum, and a network
without an edge expects none in what it completes; so the first structure should rather have too
many edges. In the end edges for which the observed cells do not pay are dropped. See
docs/design/missing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import cycle
from typing import Annotated, Any, NamedTuple

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, threads_of
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.graphs import Dag
from counterpane.inference.completion import Completion
from counterpane.learners.bayesian.observed_gains import Edge, without_weak_edges
from counterpane.learners.checkpoint import GROWS
from counterpane.learners.driver import Search
from counterpane.learners.parameters import EMSearch, EMState
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Control
from counterpane.ragged import flatten
from counterpane.scores import LocalScore, NodeAverageLikelihood, score_dag
from counterpane.typing import Array, Codes, Floats, Ints

COMPLETIONS = 8  # of a row, at most; more did not change the structures
FIRST_PARENTS = (4, 2, 1)  # in the first structure, at most
FIRST_CELLS = 2**13  # of its junction tree, a row; above this, fewer parents
EM_STEPS = 2  # between two searches; more did not change the structures
HIDDEN_STEPS = 100  # before the first search, if a column has no observed cell
MAX_ROUNDS = 20
TOLERANCE = 1e-7  # EM stops when an iteration gains less than this share


class TooManyCells(TableSizeError):
    """An iteration of EM would take too long, and missing="auto" chose EM."""


class EMEffort(NamedTuple):
    """Limits of EM: iterations for the parameters, and cells of all rows' junction trees."""

    max_steps: int = 500
    max_cells: float = np.inf


FULL = EMEffort()
EM_EFFORTS = {
    "em": FULL,
    "auto": EMEffort(50, 2**25),  # a third of a second per iteration
    "trial": EMEffort(5, 2**25),  # later iterations hardly change the comparison on held-out rows
}


class StructuralState(NamedTuple):
    """A structure, its expected counts (see `EMState`), and the next stage."""

    parents: Ints  # bit rows, viewed as int64
    expected: Annotated[Floats, GROWS]
    log_likelihood: float
    gain: float
    steps: int
    stage: str  # "first", "search", "parameters" or "done"
    rounds: int


class StructuralEM(Search[StructuralState]):
    """The first structure, then one search a step, then one iteration of EM a step.

    When EM has converged, edges that the observed cells do not pay for are dropped, until all pay.
    Edges of `fixed` and of hidden columns stay; if `fixed` is None, all do.

    `find(source, ctl)` is the learner's own search on a source without missing cells. `first(k,
    ctl)` gives the first structure, in which no node has more than k parents; `start` is returned
    if all is stopped before the first search. A structure that costs more than `effort`
    allows raises `TooManyCells`.
    """

    def __init__(
        self,
        source: CountSource,
        score: LocalScore,
        find: Callable[[MemoryCounts, Control], Dag],
        first: Callable[[int, Control], Dag],
        start: Dag,
        *,
        fixed: Collection[Edge] | None = None,
        size: float,
        seed: int,
        effort: EMEffort = FULL,
    ) -> None:
        self.max_cells = effort.max_cells
        self.max_steps = effort.max_steps
        self.table = source.rows().distinct()
        self.n_jobs = threads_of(source)
        self.score = score
        self.find = find
        self.first = first
        self._start = start
        self.fixed = fixed
        self.prior_size = size
        self.seed = seed
        cells = self.table.codes == self.table.schema.cards[:, None]
        self.hidden = np.flatnonzero(cells.all(axis=1))
        self._em: EMSearch | None = None

    def em(self, dag: Dag) -> EMSearch:
        """EM for the parameters of `dag`; the latest is cached."""
        if self._em is None or self._em.dag != dag:
            self._em = self._limited(dag)
        return self._em

    def _limited(self, dag: Dag) -> EMSearch:
        try:
            em = EMSearch(
                self.table, dag, self.prior_size, TOLERANCE, self.max_steps, self.seed,
                n_jobs=self.n_jobs,
            )  # fmt: skip
        except TableSizeError as error:
            if self.max_cells == np.inf:
                raise
            raise TooManyCells(error.reason) from None
        if em.completion.cells > self.max_cells:
            raise TooManyCells(
                f"its junction tree has {em.completion.cells:,.0f} cells over all rows, and "
                f"{self.max_cells:,.0f} are the limit"
            )
        return em

    def start(self) -> StructuralState:
        return _state(self._start, self.em(self._start).start(), "first", 0)

    def done(self, state: StructuralState) -> bool:
        if self.fixed is None and state.stage == "parameters":
            return self.em(_dag(state)).done(_em_state(state))
        return state.stage == "done"

    def size(self, state: StructuralState) -> tuple[float, float | None]:
        return state.rounds, None

    def step(self, state: StructuralState, ctl: Control) -> tuple[StructuralState, dict[str, Any]]:
        stage = state.stage
        if stage == "first":
            em = self._first(ctl)
            record: dict[str, Any] = {"edges": em.dag.n_edges}
            new = _state(em.dag, em.start(), "search", 0)
        elif stage == "search":
            new, record = self._round(state, ctl)
        elif not self.em(_dag(state)).done(_em_state(state)):
            em = self.em(_dag(state))
            parameters, record = em.step(_em_state(state), ctl)
            new = _state(em.dag, parameters, "parameters", state.rounds)
        else:
            new, stage = self._pruned(state, ctl), "prune"
            record = {"edges": _dag(new).n_edges}
        return new, {"stage": stage, **record}

    def _pruned(self, state: StructuralState, ctl: Control) -> StructuralState:
        """EM begins again without some weak edges; all is done if there are none."""
        assert self.fixed is not None
        em = self.em(_dag(state))
        hidden = {(p, x) for p, x in em.dag.edges if p in self.hidden or x in self.hidden}
        smaller = without_weak_edges(
            em, _em_state(state), self.score, hidden.union(self.fixed), ctl
        )
        if smaller is None:
            return state._replace(stage="done")
        dag, counts = smaller
        parameters = EMState(flatten(counts, np.float64), -np.inf, np.inf, 1)
        return _state(dag, parameters, "parameters", state.rounds)

    def completed(self, model: BayesianNetwork, ctl: Control | None = None) -> MemoryCounts:
        """The counts that `model` expects."""
        rows = completed_rows(
            self.table, model, most=COMPLETIONS, seed=self.seed, n_jobs=self.n_jobs, ctl=ctl
        )
        return MemoryCounts(rows, n_jobs=self.n_jobs)

    def model(self, state: StructuralState) -> BayesianNetwork:
        """The network of a state in which a search has found a structure; else of the start."""
        if state.rounds == 0:
            return self.em(self._start).model(self.em(self._start).start())
        return self.em(_dag(state)).model(_em_state(state))

    def _first(self, ctl: Control) -> EMSearch:
        """EM for the first structure: where a column is hidden, the start, or else hidden causes.

        Each column that was seen gets one of them as its parent; what the hidden columns then hold
        is up to EM and the search.
        """
        if self.hidden.size and self._start.n_edges:
            return self.em(self._start)
        if self.hidden.size:
            n = len(self.table.schema)
            seen = [i for i in range(n) if i not in self.hidden]
            return self.em(Dag(n, zip(cycle(self.hidden.tolist()), seen)))
        for most_parents in FIRST_PARENTS[:-1]:
            try:
                em = self.em(self.first(most_parents, ctl))
            except TableSizeError:
                continue
            if em.completion.cells <= FIRST_CELLS * self.table.n_rows:
                return em
        return self.em(self.first(FIRST_PARENTS[-1], ctl))

    def _round(
        self, state: StructuralState, ctl: Control
    ) -> tuple[StructuralState, dict[str, Any]]:
        """One round: parameters, completion, search. The first structure is always replaced."""
        em, parameters = self.em(_dag(state)), _em_state(state)
        many = self.hidden.size > 0 and state.rounds == 0
        for _ in range(HIDDEN_STEPS if many else EM_STEPS):
            parameters, record = em.step(parameters, ctl)
        source = self.completed(em.model(parameters), ctl)
        dag = self.find(source, ctl)
        before, after = (
            score_dag(self.score, source, [dag.parents(i) for i in range(dag.n)])
            for dag in (em.dag, dag)
        )
        equal = 1e-9 * max(1.0, abs(before))
        if state.rounds == 0 or after >= before - equal:
            em = self.em(dag)
            parameters = EMState(flatten(source.counts(em.scopes), np.float64), -np.inf, np.inf, 1)
        rounds = state.rounds + 1
        better = state.rounds == 0 or after > before + equal
        stage = "search" if better and rounds < MAX_ROUNDS else "parameters"
        record |= {"score": max(before, after), "edges": em.dag.n_edges}
        return _state(em.dag, parameters, stage, rounds), record


def _state(dag: Dag, parameters: EMState, stage: str, rounds: int) -> StructuralState:
    rows = dag.parent_bits.copy().view(np.int64)
    return StructuralState(rows, *parameters, stage, rounds)


def _dag(state: StructuralState) -> Dag:
    return Dag.from_bits(state.parents.view(np.uint64))


def _em_state(state: StructuralState) -> EMState:
    return EMState(state.expected, state.log_likelihood, state.gain, state.steps)


def first_score(total: float) -> NodeAverageLikelihood:
    """The score of the first structure: BIC's penalty, which allows some extra edges here."""
    return NodeAverageLikelihood(0.5 * max(0.0, math.log(total)) / total, alpha=0.0)


def reordered_network(
    model: BayesianNetwork, schema: Schema, order: Sequence[int]
) -> BayesianNetwork:
    """`model` over `schema`, whose column `order[i]` is its column i."""
    dag = Dag(model.dag.n, [(order[p], order[x]) for p, x in model.dag.edges])
    place = np.argsort(order)
    tables, strengths = [], []
    assert model.strengths is not None
    for i in place.tolist():
        parents = model.dag.parents(i)
        axes = np.argsort([order[p] for p in parents]).tolist()
        tables.append(model.tables[i].transpose([*axes, len(parents)]))
        strengths.append(model.strengths[i].transpose(axes))
    return BayesianNetwork(schema, dag, tables, strengths, prior_size=model.prior_size)


MAX_COPIES = 32  # of a row; more draws would hardly change its counts


def completed_rows(
    table: Table,
    model: BayesianNetwork,
    *,
    most: int,
    seed: int,
    n_jobs: int = 1,
    ctl: Control | None = None,
) -> Table:
    """A weighted table without missing cells whose counts are those expected under `model`.

    A row that can be completed in up to `most` ways becomes all of them, each with its probability
    given what the row shows: its part of every count is exact. Other rows become `most` draws from
    that distribution, evenly spread, which are right on average. For a row of weight w it is w
    times as many, as for w equal rows, up to `MAX_COPIES`. Equal rows are joined.

    >>> import counterpane as cp
    >>> pair = cp.Schema.from_cards([2, 2])
    >>> tables = [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]]
    >>> model = cp.BayesianNetwork(pair, cp.Dag(2, [(0, 1)]), tables)
    >>> rows = completed_rows(cp.Table(pair, [[2, 0], [1, 0]]), model, most=8, seed=0)
    >>> rows.codes.tolist(), rows.weights.round(3).tolist()
    ([[0, 0, 1], [0, 1, 1]], [1.0, 0.4, 0.6])
    """
    cards = table.schema.cards
    rows = table.distinct()
    assert rows.weights is not None
    weights = rows.weights.astype(np.float64)
    missing = rows.codes == cards[:, None]
    copies = np.clip(np.ceil(weights), 1, MAX_COPIES).astype(np.int64)
    few = missing.T @ np.log2(cards) <= np.log2(most * copies) + 1e-9
    codes: list[Array] = []
    shares: list[Floats] = []
    if few.any():
        every, of_row, share = _every_completion(rows.codes[:, few], model)
        codes.append(every)
        shares.append(share * weights[few][of_row])
    if not few.all():
        scopes = [p.scope for p in model.to_potentials()]
        again = np.repeat(np.flatnonzero(~few), copies[~few])
        gaps = Completion(scopes, cards, rows.codes[:, again], table.schema.names, n_jobs=n_jobs)
        logs = [p.log_values for p in model.to_potentials()]
        codes.append(gaps.draws(logs, most, seed, ctl=ctl)[0])
        shares.append(np.repeat((weights / copies)[again] / most, most))
    return Table(table.schema, np.concatenate(codes, axis=1), np.concatenate(shares)).distinct()


def _every_completion(codes: Codes, model: BayesianNetwork) -> tuple[Array, Ints, Floats]:
    """(all ways to complete each row, which row each is of, its probability given the row)."""
    cards = model.schema.cards
    ways: Ints = np.where(codes == cards[:, None], cards[:, None], 1).prod(axis=0)
    starts = np.cumsum(ways) - ways
    of_row: Ints = np.repeat(np.arange(ways.size), ways)
    number = np.arange(of_row.size) - starts[of_row]
    every = codes[:, of_row].copy()
    for column, card in zip(every, cards, strict=True):
        gap = column == card
        column[gap] = number[gap] % card
        number[gap] //= card
    logs = model.score_samples(Table(model.schema, every))
    shares = np.exp(logs - np.maximum.reduceat(logs, starts)[of_row])
    return every, of_row, shares / np.add.reduceat(shares, starts)[of_row]

"""The default structure search: greedy equivalence search, node reinsertion, and other moves.

Measured on fourteen known networks, these moves complement each other: GES does not depend on the
order of the columns and is cheap; reinsertion repairs what GES cannot undo; knock-outs matter for
few rows and many variables; order moves finish. All read the same row cache, so a second look at a
family costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._core.search import Limits, ParentLists
from counterpane._core.wide import WideData
from counterpane.counts.candidates import CandidateCounter
from counterpane.counts.source import CountSource
from counterpane.counts.view import reorder_columns
from counterpane.errors import Advice, FitError, unknown_name
from counterpane.graphs import Dag
from counterpane.graphs.bits import pack
from counterpane.learners.bayesian.candidates import candidate_pairs
from counterpane.learners.bayesian.constraints import (
    is_allowed,
    is_symmetric,
    no_limits,
    only_pairs,
)
from counterpane.learners.bayesian.engine import (
    Reached,
    SearchEngine,
    check_stored,
    restored,
    stored,
)
from counterpane.learners.bayesian.network import (
    NetworkLearner,
    NetworkState,
    start_network,
)
from counterpane.learners.bayesian.score_learner import LearnedNetwork, named_gains
from counterpane.learners.bayesian.wide_columns import WideColumns, searched_columns
from counterpane.learners.bayesian.wide_search import (
    WideSearch,
    can_be_wide,
    edge_gains,
    edges_of,
    is_wide,
    wide_data,
)
from counterpane.learners.checkpoint import check_range
from counterpane.learners.driver import Search
from counterpane.learners.order import column_entropies, intrinsic_order
from counterpane.progress import Control
from counterpane.scores import LocalScore, score_families
from counterpane.scores.edge_price import false_edge_rate
from counterpane.typing import Ints

MANY = 300  # above so many variables, class knock-outs do not pay, and two starts do
PASSES = 10  # of reinsertion in a row, at most
FEW_ROWS = 5000  # up to so many rows, knock-outs pay also by default
EFFORTS = {
    "fast": ("ges",),
    "default": ("ges", "reinsert", "ges"),
    "few rows": ("ges", "reinsert", "ges", "knock-out", "ges"),
    "thorough": ("ges", "reinsert", "ges", "knock-out", "ges", "class knock-out", "place"),
}


class StagedSearch(Search[NetworkState]):
    """Runs the stages of an effort in turn; "thorough" repeats them while a round gains.

    `stage` is "round/index": the start (0 or 1) and the stage to come.
    """

    def __init__(
        self, engine: SearchEngine, start: ParentLists, effort: str, *, classes: bool
    ) -> None:
        self.engine = engine
        self._start = start
        self.again = effort == "thorough"
        if effort == "default" and engine.cache.total_weight <= FEW_ROWS and engine.n <= MANY:
            effort = "few rows"
        self.stages = [self._in_place(s, classes) for s in EFFORTS[effort]]
        self.n_starts = 2 if self.again and engine.n > MANY and not len(start.nodes) else 1

    def _in_place(self, stage: str, classes: bool) -> str:
        """The replacement of `stage` where limits name directions, or n is large."""
        if stage == "class knock-out" and self.engine.n > MANY:
            return "reinsert"
        if classes:
            return stage
        return {"ges": "climb", "class knock-out": "reinsert", "place": "knock-out"}.get(
            stage, stage
        )

    def start(self) -> NetworkState:
        score = self.engine.score(self._start)
        rows = stored(self._start)
        return NetworkState(rows, score, rows, "0/0", 0, score)

    def check(self, state: NetworkState) -> None:
        check_stored(self.engine.n, state.best, state.parents, state.before)
        begun, index = map(int, state.stage.split("/"))
        check_range("stage", [begun], 0, self.n_starts + 1)
        check_range("stage", [index], 0, len(self.stages))

    def done(self, state: NetworkState) -> bool:
        return int(state.stage.split("/")[0]) >= self.n_starts

    def size(self, state: NetworkState) -> tuple[float, float | None]:
        return state.rounds, None if self.again else len(self.stages)

    def step(self, state: NetworkState, ctl: Control) -> tuple[NetworkState, dict[str, Any]]:
        if state.before is not None:
            state = state._replace(best=state.before, score=state.score_before, before=None)
        begun, index = map(int, state.stage.split("/"))
        stage = self.stages[index]
        if begun == 1 and index == 0 and state.floor == -np.inf:
            stage = "climb"  # the second start begins with another search
        dag, gains, stopped = self._run_stage(stage, restored(state.parents, self.engine.n), ctl)
        score = self.engine.score(dag)
        record = {"stage": stage, "gains": gains, "score": score}
        begin = state
        if score > state.score + self.engine.limits.tolerance or state.rounds == 0:
            state = state._replace(best=stored(dag), score=max(score, state.score))
        if stopped:  # the stage counts so far, and begins again when the search goes on
            return state._replace(before=begin.best, score_before=begin.score), record
        following = index + 1
        floor = state.floor
        if following == len(self.stages):
            if self.again and score > floor + self.engine.limits.tolerance:
                following, floor = 1, score  # one more round, without the first GES
            else:
                begun, following, floor = begun + 1, 0, -np.inf
                dag = self._start
        return (
            state._replace(
                parents=stored(dag),
                stage=f"{begun}/{following}",
                rounds=state.rounds + 1,
                floor=floor,
            ),
            record,
        )

    def _run_stage(self, stage: str, dag: ParentLists, ctl: Control) -> Reached:
        engine = self.engine
        if stage == "ges":
            return engine.ges(dag, ctl)
        if stage == "class knock-out":
            return engine.knock_out_classes(dag, ctl)
        if stage == "climb":
            return engine.climb(dag, ctl)
        if stage == "knock-out":
            return engine.knock_out(dag, ctl)
        if stage == "reinsert":
            return engine.reinsert(dag, PASSES, ctl)
        return engine.place_nodes(dag, ctl)


class StructureSearch(NetworkLearner):
    """Learns a Bayesian network; the default structure learner.

    With constraints on directions the search is over DAGs, otherwise over equivalence classes.
    Above 1,000 columns it screens all pairs first and keeps only what gains, so that memory grows
    with the columns and not with their square; see docs/design/wide.md. A score of your own,
    interventions, `start="chow-liu"` and EM for missing cells need the search of narrow tables,
    up to about 11,000 columns.

    Parameters
    ----------
    criterion : str or LocalScore
        A name, such as "bic", "bdeu" or "k2", or a score.
    effort : {"fast", "default", "thorough"}
        "fast": greedy equivalence search. "default": with node reinsertion, and edge knock-outs up
        to 5,000 rows. "thorough": with knock-outs and order moves, until a round has no gain.
    false_edges : "auto", float or None
        The price of an edge, as the number of false edges for each column that chance may show in
        a table of independent columns. A score such as BIC does not know that it chose among all
        pairs: of 2,000 binary columns and 1,000 rows, half of its edges are false. With a number α,
        an edge of d degrees of freedom pays at least ½ χ²_d⁻¹(1 − 2α / columns) nats, which the
        score includes. "auto" is 0.02 from 100 columns on, and None, the plain score, below. Weak
        true edges are lost with the false ones: 3 to 4 in a hundred on the network ANDES.
    candidates : mapping, graph or learner, optional
        The only pairs of columns that may be joined: {column: its possible neighbors}, a networkx
        graph, a `MixedGraph`, or a learner with a graph, such as `PC()`, which is fitted first
        unless it is. Its directions do not count. With PC this is the idea of MMHC (Tsamardinos,
        Brown and Aliferis, 2006).
    max_parents, start, required_edges, forbidden_edges, tiers, false_edges, random_state
        As for every network learner, see `NetworkLearner`.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`; the first is the prior weight of the model's
        parameters, in rows.

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
    method_ : str
        "dense": rows of scores over all columns. "screened", above 1,000 columns: those that a
        screen of all pairs, and a second one given the present parents, bring up. "wide", up to
        30,000 columns: every column is tried, because some are functions of others, or because
        `effort` is "thorough".
    trace_ : list of dict
        The steps of the search.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    >>> round(learner.score_, 3), learner.trace_[0]["stage"]
    (-5251.14, 'ges')
    """

    effort: str = "default"
    candidates: Any = None

    def _learn_network(self, source: CountSource, score: LocalScore) -> LearnedNetwork:
        if self.effort not in ("fast", "default", "thorough"):
            raise unknown_name("effort", self.effort, ("fast", "default", "thorough"))
        n = len(source.schema)
        by_rows = self._set is not None or isinstance(self.start, str) or source.has_missing.any()
        self.method_ = "dense"
        if not is_wide(n) or by_rows or not can_be_wide(score, float(source.total_weight or 2.0)):
            return super()._learn_network(source, score)
        entropies = column_entropies(source)
        order = np.array(intrinsic_order(source, entropies), dtype=np.int64)
        rate = false_edge_rate(self.false_edges, n)
        limited = bool(list(self.required_edges) or list(self.forbidden_edges) or self.tiers)
        limited = limited or self.start is not None or self.candidates is not None
        if limited:  # which may name any column
            columns = WideColumns(order, np.zeros((0, 2), dtype=np.int64), [])
            ordered = reorder_columns(source, order.tolist())
            limits = self._limits(ordered)
            start = start_network(self.start, ordered, limits)
        else:
            columns = searched_columns(source, order, score, entropies)
            limits, start = no_limits(len(columns.searched)), None
        self.notes_ += columns.notes
        data = wide_data(source, score, rate, self.max_parents, columns.searched)
        card = None
        if isinstance(source, CandidateCounter) and not data.weights.size:
            searched = source.reorder_columns(columns.searched.tolist())
            card = searched if searched.screens else None
        search = WideSearch(
            data, effort=self.effort, n_jobs=self.n_jobs, card=card, limits=limits, start=start
        )
        outcome = self._driver(source).run(search, "searching")
        self.method_ = "wide" if outcome.state.every else "screened"
        edges = edges_of(outcome.state)
        total, named = self._wide_gains(source, score, rate, columns, data, edges)
        model = self._with_parameters(source, Dag(n, [(p, x) for p, x, _ in named]), score)
        gains = named_gains(source.schema.names, named)
        return LearnedNetwork(model, total, gains, outcome.trace)

    def _limits(self, source: CountSource) -> Limits:
        limits = super()._limits(source)
        if self.candidates is None:
            return limits
        return only_pairs(limits, pack(candidate_pairs(self.candidates, source)))

    def _wide_gains(
        self, source: CountSource, score: LocalScore, rate: float | None, columns: WideColumns,
        data: WideData, edges: Ints,
    ) -> tuple[float, list[tuple[int, int, float]]]:  # fmt: skip
        """The score and the gains of `edges` among the searched columns, and those of copies."""
        n = len(source.schema)
        used = np.concatenate([columns.searched, columns.copies[:, 1]])
        if self.max_parents != 0 and len(columns.copies):
            place = np.full(n, -1)
            place[used] = np.arange(len(used))
            edges = np.concatenate([edges, place[columns.copies]])
        if len(columns.copies):
            data = wide_data(source, score, rate, self.max_parents, used)
        total, edges, gains = edge_gains(data, edges, keep=bool(self.required_edges))
        left = np.setdiff1d(np.arange(n), used)
        if left.size:
            total += float(score_families(score, source, [(x, []) for x in left.tolist()]).sum())
        ends = used[edges].T.tolist()
        return total, list(zip(*ends, gains.tolist(), strict=True))

    def _make_search(self, engine: SearchEngine, start: ParentLists) -> Search[NetworkState]:
        classes = is_symmetric(engine.limits) and engine.cache.score.is_score_equivalent
        if self._set is None:
            return StagedSearch(engine, start, self.effort, classes=classes)
        # Members of a class have different scores, so the search is over DAGs, where it takes more
        # effort to leave a local optimum.
        effort = "thorough" if self.effort == "default" else self.effort
        return StagedSearch(engine, start, effort, classes=False)

    def _first_network(self, engine: SearchEngine, start: Dag) -> Dag:
        """With interventions, the network of the same rows if nothing had been set."""
        if self._set is None or self.start is not None:
            return super()._first_network(engine, start)
        half = None if self.time_limit is None else self.time_limit / 2
        plain = self.copied(time_limit=half, checkpoint=None, progress=False, missing="state")
        edges = plain.fit(engine.cache.source).model_.dag.edges
        return Dag(engine.n, [(p, x) for p, x in edges if is_allowed(engine.limits, p, x)])


class GES(NetworkLearner):
    """Greedy equivalence search: inserts and deletes over classes of DAGs (Chickering 2002).

    The score must be equal for all members of a class, and a constraint must forbid an edge in both
    directions.

    Parameters
    ----------
    criterion : str or LocalScore
        A name, such as "bic", "bdeu" or "k2", or a score.
    max_parents, start, required_edges, forbidden_edges, tiers, false_edges, random_state
        As for every network learner, see `NetworkLearner`.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`; the first is the prior weight of the model's
        parameters, in rows.

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
    >>> learner = cp.GES("bic").fit(cp.load_dataset("titanic"))
    >>> round(learner.score_, 3), len(learner.graph_.edges)
    (-5251.14, 5)
    """

    def _make_search(self, engine: SearchEngine, start: ParentLists) -> Search[NetworkState]:
        if not engine.cache.score.is_score_equivalent:
            raise FitError(
                f"GES needs a score_equivalent score; {engine.cache.score.name} with its prior is "
                "not: try ",
                Advice("BIC() or BDeu(), or HillClimb", "--score bic, or --method hill-climb"),
                ".",
            )
        if self._set is not None:
            raise FitError(
                "GES compares classes of networks, whose members have different scores on rows of "
                "interventions; use ",
                Advice("StructureSearch or HillClimb", "--method structure-search or hill-climb"),
                ".",
            )
        if not is_symmetric(engine.limits):
            raise FitError(
                "GES works on classes of networks and cannot obey constraints on directions; use ",
                Advice("StructureSearch or HillClimb", "--method structure-search or hill-climb"),
                ".",
            )
        return StagedSearch(engine, start, "fast", classes=True)

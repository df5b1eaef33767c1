"""What the searches over Bayesian networks share: constraints, a start, a row cache, a state."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import field
from typing import Annotated, Any, NamedTuple, Self

from counterpane._core.search import Limits, ParentLists
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, threads_of
from counterpane.counts.view import reorder_columns
from counterpane.errors import GraphError, ParameterError, Setting, TableSizeError
from counterpane.graphs import Dag
from counterpane.learners.base import Learner, Missing
from counterpane.learners.bayesian.constraints import (
    EdgePairs,
    Tiers,
    is_allowed,
    known_directions,
    make_limits,
    required_edges,
    without_parents,
)
from counterpane.learners.bayesian.engine import (
    SearchEngine,
    dag_of,
    lists_of,
    restored,
    rows_needed,
)
from counterpane.learners.bayesian.interventions import (
    InterventionCache,
    SetCells,
    read_interventions,
)
from counterpane.learners.bayesian.score_learner import LearnedNetwork, ScoreLearner, named_gains
from counterpane.learners.bayesian.structural_em import first_score
from counterpane.learners.bayesian.tree_start import CHOW_LIU, chow_liu_forest
from counterpane.learners.checkpoint import GROWS
from counterpane.learners.driver import Driver, Search, to_end
from counterpane.learners.gap_policy import GapPolicy
from counterpane.learners.order import intrinsic_order
from counterpane.learners.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.record import LearningRecord
from counterpane.progress import Control
from counterpane.scores import LocalScore
from counterpane.scores.edge_price import false_edge_rate, with_edge_price
from counterpane.scores.row_cache import RowCache, row_bytes
from counterpane.typing import Ints

MAX_MEMORY = 2**32  # bytes of rows: about 11,000 columns


class NetworkState(NamedTuple):
    """The best network so far, and the place of the search; networks as `stored` writes them."""

    best: Annotated[Ints, GROWS]
    score: float
    parents: Annotated[Ints, GROWS]
    stage: str
    rounds: int
    floor: float  # the score when this round began
    before: Annotated[Ints, GROWS] | None = (
        None  # `best` and `score` before a stage that begins again after a stop
    )
    score_before: float = 0.0


class NetworkLearner(ScoreLearner):
    """Learns a Bayesian network by its score.

    Columns are sorted by falling entropy, then by name, before the search, so that the result does
    not depend on their order in the table.

    Parameters: `criterion` (a score or its name), `max_parents`, `start` (a network, a networkx
    graph, or "chow-liu" for the best tree by the score), `required_edges` and `forbidden_edges`
    ((parent, child) names), `tiers` (lists of names, earlier before later), `false_edges` (the
    price of an edge; see `StructureSearch`), `random_state`, `equivalent_sample_size` (weight of
    the uniform prior of the model's parameters, in rows), and those of every learner.

    Results: `model_`, `graph_`, `score_`, `cpdag_` (the equivalence class, a networkx graph),
    `strengths_` (edges with their strength in bits per row; strongest first), `gains_` (edges with
    the score in nats that would be lost without them; largest first), `trace_`. By EM, these are
    those of the counts that the model expects, and `trace_` has the first structure, the searches,
    and the iterations for the parameters; `start`, if it is a network, is the first structure.
    """

    _interventions: Any = field(init=False)
    _set: SetCells | None = field(init=False)

    max_parents: int | None = 10
    start: Any = None
    required_edges: EdgePairs = ()
    forbidden_edges: EdgePairs = ()
    tiers: Tiers | None = None
    false_edges: float | str | None = "auto"
    random_state: int | None = None

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None
    ) -> Self:
        """Learn from `X`, see `Learner.fit`.

        `interventions` names, a row, the column or columns that were set from outside, or None; or
        maps each such column to a flag a row. A family is scored and fitted on the rows in which
        its child was not set, and edges that show their direction so are directed in `cpdag_`.
        Missing cells are then a state.
        """
        return self._fit(X, y, sample_weight, _interventions=interventions, _set=None)

    def _keep_rows(self) -> None:
        if self._interventions is None:  # else rows are not of one kind
            super()._keep_rows()

    def _resolve(self, source: CountSource, missing: Missing) -> tuple[GapPolicy, CountSource]:
        if self._interventions is None:
            return super()._resolve(source, missing)
        if missing not in ("auto", "state", "error"):
            raise ParameterError(
                Setting("missing", missing),
                " cannot be joined to interventions, which name rows; take 'state' or 'error'.",
            )
        policy, complete = Learner._resolve(self, source, missing)
        self._set = read_interventions(self._interventions, complete)
        return policy, complete

    def _driver(self, source: CountSource) -> Driver:
        driver = super()._driver(source)
        if self._set is not None:
            flags = hashlib.blake2b(self._set.flags.tobytes()).hexdigest()[:16]
            driver.fingerprint = driver.fingerprint | {"interventions": flags}
        return driver

    def _with_parameters(self, source: CountSource, dag: Dag, score: LocalScore) -> BayesianNetwork:
        if self._set is None:
            return super()._with_parameters(source, dag, score)
        size = self.equivalent_sample_size
        return fit_parameters(
            source, dag, equivalent_sample_size=size, interventions=self._interventions
        )

    @property
    def _seed(self) -> int:
        return 0 if self.random_state is None else self.random_state

    @abstractmethod
    def _make_search(self, engine: SearchEngine, start: ParentLists) -> Search[NetworkState]:
        """The search to run, on reordered columns."""

    def _learn_network(self, source: CountSource, score: LocalScore) -> LearnedNetwork:
        order = intrinsic_order(source)
        inner = reorder_columns(source, order)
        rate = false_edge_rate(self.false_edges, len(order))
        total = float(source.total_weight or 0.0)  # known after the order's counts
        score = with_edge_price(score, inner.schema.cards, total, rate)
        limits = self._limits(inner)
        cells = None if self._set is None else self._set.moved(inner, order)
        if cells is not None:
            limits = without_parents(limits, len(order), cells.always)
        start = start_network(self.start, inner, limits)
        if self._needs_em(source):
            return self._learn_by_em(source, order, score, limits, start)
        engine = make_engine(inner, score, limits, self.max_parents, cells)
        search = self._make_search(engine, lists_of(self._first_network(engine, start)))
        outcome = self._driver(source).run(search, "searching")
        best = restored(outcome.state.best, len(order))
        gains = [(order[p], order[x], gain) for p, x, gain in engine.edge_gains(best)]
        dag = Dag(len(order), [(p, x) for p, x, _ in gains])
        model = self._with_parameters(source, dag, score)
        edges = named_gains(source.schema.names, gains)
        return LearnedNetwork(model, float(outcome.state.score), edges, outcome.trace)

    def _limits(self, source: CountSource) -> Limits:
        """Which edges are allowed and required."""
        return make_limits(source.schema, self.required_edges, self.forbidden_edges, self.tiers)

    def _first_network(self, engine: SearchEngine, start: Dag) -> Dag:
        """The network that the search starts from: `start`, or the Chow–Liu tree."""
        return chow_liu_forest(engine) if self.start == CHOW_LIU else start

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        names = source.schema.names
        directions = tuple((names[p], names[x]) for p, x in self._known_directions(self.model_))
        record = super()._record(source, seconds)
        return record.with_parts(constraints={"known_directions": directions})

    def _known_directions(self, model: BayesianNetwork) -> list[tuple[int, int]]:
        """The edges whose direction follows from the user's constraints."""
        shown = [] if self._set is None else self._set.directions(model.dag.edges)
        if not (list(self.required_edges) or list(self.forbidden_edges) or self.tiers):
            return shown
        limits = make_limits(model.schema, self.required_edges, self.forbidden_edges, self.tiers)
        return sorted({*shown, *known_directions(limits, model.dag.edges)})

    def _learn_by_em(
        self,
        source: CountSource,
        order: list[int],
        score: LocalScore,
        limits: Limits,
        start: Dag,
    ) -> LearnedNetwork:
        """The network that structural EM finds with this learner's search."""
        rows = MemoryCounts(source.rows().select(order), n_jobs=threads_of(source))

        def find(completed: MemoryCounts, ctl: Control) -> Dag:
            engine = make_engine(completed, score, limits, self.max_parents)
            search = self._make_search(engine, lists_of(self._first_network(engine, start)))
            return dag_of(restored(to_end(search, ctl).best, engine.n))

        def first(most_parents: int, ctl: Control) -> Dag:
            if self.start is not None and self.start != CHOW_LIU:
                return start
            most = most_parents if self.max_parents is None else self.max_parents
            available = first_score(rows.table.total_weight)
            engine = make_engine(rows, available, limits, min(most, most_parents))
            reached = engine.climb(lists_of(self._first_network(engine, start)), ctl)
            if reached.stopped:
                ctl.check()
            return dag_of(reached.dag)

        return self._run_em(
            source, rows, order, score, find, first, start,
            fixed=required_edges(limits), seed=self._seed,
        )  # fmt: skip


def make_engine(
    source: CountSource,
    score: LocalScore,
    limits: Limits,
    max_parents: int | None,
    cells: SetCells | None = None,
) -> SearchEngine:
    """A search engine over a new row cache, its first rows filled.

    With `cells`, families are scored on the rows in which their child was not set.
    """
    n = len(source.schema)
    memory = max(2**28, rows_needed(n) * row_bytes(n))
    if memory > MAX_MEMORY:
        raise TableSizeError(
            f"a search over {n:,} columns keeps {memory:,} bytes of scores; the limit is "
            f"{MAX_MEMORY:,}: select fewer columns, or use ChowLiu."
        )
    if cells is None:
        cache = RowCache(source, score, max_parents=max_parents, memory=memory)
    else:
        cache = InterventionCache(cells, score, max_parents=max_parents, memory=memory)
    cache.first_fill()
    return SearchEngine(cache, limits)


def start_network(start: Any, source: CountSource, limits: Limits) -> Dag:
    """A start network (a model or a networkx graph), with the required edges.

    For "chow-liu" these are the required edges alone; see `chow_liu_forest`.
    """
    names, n = source.schema.names, len(source.schema)
    edges: list[tuple[int, int]] = []
    if start is not None and not (isinstance(start, str) and start == CHOW_LIU):
        graph = start.graph if isinstance(start, BayesianNetwork) else start
        if not hasattr(graph, "edges") or set(graph.nodes) - set(names):
            shown = repr(start) if isinstance(start, str) else type(start).__name__
            raise ParameterError(
                f"start={shown}; 'chow-liu', "
                "or a network or networkx graph over the table's columns, is needed."
            )
        edges = [(source.schema.index(p), source.schema.index(x)) for p, x in graph.edges]
        Dag(n, edges)
    if not all(is_allowed(limits, p, x) for p, x in edges):
        raise GraphError("start holds an edge that is forbidden; drop it from one of the two.")
    try:
        return Dag(n, [*edges, *required_edges(limits)])
    except GraphError:
        raise GraphError("start and required_edges together form a cycle; change one.") from None

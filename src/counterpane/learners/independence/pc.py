"""PC: the class of Bayesian networks that independence tests show.

P. Spirtes, C. Glymour and R. Scheines, Causation, Prediction, and Search, 2nd edition, 2000. The
skeleton is that of `SkeletonSearch`, colliders are voted on (`PatternSearch`), and Meek's rules
give the other directions that all networks of the class share.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from counterpane._core.search import Limits
from counterpane.counts.source import CountSource
from counterpane.counts.view import reorder_columns
from counterpane.data.schema import Schema
from counterpane.errors import ParameterError, Setting, TableSizeError
from counterpane.graphs import Dag, UndirectedGraph
from counterpane.graphs.orientation import Orientation, orient
from counterpane.independence import IndependenceTest, as_test
from counterpane.independence.count_tests import CountTest
from counterpane.learners.base import Missing
from counterpane.learners.bayesian.constraints import (
    EdgePairs,
    Tiers,
    allowed_matrix,
    known_directions,
    make_limits,
    required_matrix,
)
from counterpane.learners.density import DensityLearner
from counterpane.learners.gap_policy import GapPolicy, leave_gaps, policy_of_source
from counterpane.learners.independence.base import StructureOnly, TestChoice
from counterpane.learners.independence.colliders import END, PatternSearch, vote
from counterpane.learners.independence.executed_tests import ExecutedTests
from counterpane.learners.independence.skeleton import skeleton_of
from counterpane.learners.order import intrinsic_order
from counterpane.learners.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.record import LearningRecord
from counterpane.typing import Bools

DEFAULT_TEST = "g2"

MOST_PARENTS = 20  # of a column in a network whose tests were stopped


class PatternLearner(DensityLearner):
    """What `PC` and `FCI` share: the test, the knowledge, the skeleton, and a network of it."""

    _leaves_gaps = ("available",)
    _search_class: ClassVar[type[PatternSearch]] = PatternSearch
    model_: BayesianNetwork | None = field(init=False)

    test: TestChoice = field(default=None, kw_only=False)
    alpha: float | None = None
    max_given: int | None = None
    required_edges: EdgePairs = ()
    forbidden_edges: EdgePairs = ()
    tiers: Tiers | None = None
    equivalent_sample_size: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._test()

    def _test(self) -> IndependenceTest:
        """The test to execute, not yet bound to data."""
        if self.max_given is not None and not self.max_given >= 0:
            raise ParameterError(
                Setting("max_given", self.max_given), "; None, 0 or more columns are allowed."
            )
        test = as_test(DEFAULT_TEST if self.test is None else self.test)
        if test is self.test or not hasattr(test, "alpha"):
            return test
        if self.alpha is None:
            return test
        return type(test)(alpha=self.alpha)  # type: ignore[call-arg]

    def _resolve(self, source: CountSource, missing: Missing) -> tuple[GapPolicy, CountSource]:
        if missing == "auto":
            missing = "available" if source.has_missing.any() else "state"
        if missing == "available":
            return policy_of_source(missing, source), leave_gaps(source, missing)
        return super()._resolve(source, missing)

    def _search(
        self, source: CountSource, test: IndependenceTest
    ) -> tuple[PatternSearch, list[int]]:
        """The search, on columns in an order that does not depend on the table, and this order.

        A test that is not one of data knows columns by position: their order stays.
        """
        order = list(range(len(source.schema)))
        if isinstance(test, CountTest):
            order = intrinsic_order(source)
            source = reorder_columns(source, order)
        limits = self._limits(source.schema)
        n = len(order)
        allowed, needed = allowed_matrix(limits, n), required_matrix(limits, n)
        search = self._search_class(
            test,
            source,
            most_given=self.max_given,
            possible=allowed | allowed.T,
            required=needed | needed.T,
            later=later_columns(source.schema, self.tiers),
        )
        return search, order

    def _limits(self, schema: Schema) -> Limits:
        return make_limits(schema, self.required_edges, self.forbidden_edges, self.tiers)

    def _orient(
        self, skeleton: UndirectedGraph, executed: ExecutedTests | None, schema: Schema
    ) -> Orientation:
        """The directions by knowledge, votes and rules; without tests, by knowledge and rules."""
        limits = self._limits(schema)
        both = [edge for a, b in skeleton.edges for edge in ((a, b), (b, a))]
        votes = [] if executed is None else vote(executed, skeleton)
        colliders = [v.triple for v in votes if v.is_collider]
        return orient(skeleton, colliders, known_directions(limits, both))

    def _set_network(
        self,
        source: CountSource,
        names: tuple[str, ...],
        order: list[int],
        work: Orientation,
        *,
        unfinished: bool,
    ) -> None:
        """Set the network of the class, and what was in contradiction.

        The skeleton of a search that was stopped may be dense: then it gets no parameters.
        """
        dag, extra = work.member()
        self.conflicts_ = [
            f"{names[a]} → {names[b]} contradicts stronger evidence and was not taken"
            for a, b in work.refused
        ] + [
            f"{names[a]} → {names[b]} ← {names[c]} is in the network though no test shows it: "
            "the others leave no way without such a collider"
            for a, b, c in extra
        ]
        if self.conflicts_:
            n = len(self.conflicts_)
            self.notes_.append(
                f"Tests: {n} direction{'s' if n > 1 else ''} could not follow all tests, which "
                "contradict each other; conflicts_ lists them."
            )
        dag = Dag(dag.n, [(order[a], order[b]) for a, b in dag.edges])
        size = self.equivalent_sample_size
        most = max((len(dag.parents(x)) for x in range(dag.n)), default=0)
        try:
            if unfinished and most > MOST_PARENTS:
                raise TableSizeError(
                    f"the tests were stopped, and a column still has {most} parents."
                )
            self.model_ = fit_parameters(source, dag, equivalent_sample_size=size, missing="drop")
        except TableSizeError as error:
            message = f"the graph was found, but model_ is None: {error}"
            warnings.warn(message, StructureOnly, stacklevel=4)
            self.model_ = None
        self.dag_ = dag
        self.graph_: Any = dag.to_networkx(source.schema.names)

    def _set_tests(self, executed: ExecutedTests, names: tuple[str, ...]) -> None:
        self._executed, self._test_names = executed, names
        self.n_tests_ = executed.size
        self.cost_ = 2 * self.n_tests_ + int(np.bitwise_count(executed.given).sum())

    @property
    def tests_(self) -> list[Any]:
        """The executed tests, a `Record` each, in order."""
        return self._executed.ledger(self._test_names).records

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        columns = source.schema.names
        known = known_directions(self._limits(source.schema), self.dag_.edges)
        directions = tuple((columns[p], columns[x]) for p, x in known)
        record = super()._record(source, seconds)
        return record.with_parts(constraints={"known_directions": directions})

    def _learn(self, source: CountSource) -> None:
        source.prepare()
        search, order = self._search(source, self._test())
        outcome = self._driver(source).run(search, "testing")
        self.trace_ = outcome.trace
        skeleton, executed = skeleton_of(outcome.state), outcome.state.tests
        unfinished = outcome.state.stage != END
        voters = None if unfinished else executed
        self._set_marks(source, search, order, skeleton, voters)
        work = self._orient(skeleton, voters, search.source.schema)
        names = search.source.schema.names
        self._set_network(source, names, order, work, unfinished=unfinished)
        self._set_tests(executed, search.source.schema.names)

    def _set_marks(
        self,
        source: CountSource,
        search: PatternSearch,
        order: list[int],
        skeleton: UndirectedGraph,
        executed: ExecutedTests | None,
    ) -> None:
        """Set what is learned beyond the network; the tests are None if they are not complete."""


def later_columns(schema: Schema, tiers: Sequence[Sequence[str]] | None) -> Bools:
    """Entry [z, x] says that z is in a later tier than x; columns in no tier are never later."""
    place: Any = np.full(len(schema), np.nan)
    for k, tier in enumerate(tiers or ()):
        for name in tier:
            place[schema.index(name)] = k
    later: Bools = place[:, None] > place
    return later


class PC(PatternLearner):
    """Learns a Bayesian network by independence tests.

    It assumes that no common cause of two columns is missing from the table (`FCI` does not), and
    that columns which depend on each other do so in every test with enough rows.

    Parameters
    ----------
    test : str or IndependenceTest, optional
        "g2" (the default), "chi2", "stratified", "bayesian", or a test such as `Oracle`.
    alpha : float, optional
        The level of a test given by name.
    max_given : int, optional
        The most columns that a test conditions on; by default as many as the graph asks for.
    required_edges, forbidden_edges : iterable of (str, str)
        (parent, child) pairs that the network must have, or must not have.
    tiers : sequence of sequences of str, optional
        Columns in causal order: no edge leads from a later tier into an earlier one.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner; the first is the prior weight of the model's parameters, in rows.
        With missing cells, each test uses the rows that are complete in its columns.

    Attributes
    ----------
    model_ : BayesianNetwork
        A network of the class; None, with a warning, if its tables are too large.
    graph_ : networkx.DiGraph
        Its edges; `cpdag_` is the class, `dag_` the graph by position.
    tests_ : list of Record
        The executed tests; `n_tests_` is their number, `cost_` that of their columns.
    conflicts_ : list of str
        What had to be decided because tests contradict each other.
    trace_ : list of dict
        A record of each batch of tests: its level, tests, and the edges that are left.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.PC().fit(cp.load_dataset("titanic"))
    >>> learner.n_tests_, sorted(learner.cpdag_.edges)[:2]
    (24, [('age', 'sex'), ('age', 'status')])
    """

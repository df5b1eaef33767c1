"""FCI: the class of networks with unmeasured common causes that independence tests show.

P. Spirtes, C. Meek and T. Richardson, Causal inference in the presence of latent variables and
selection bias, UAI 1995; the complete rules are those of J. Zhang (2008), `AncestralMarks`.
"""

from __future__ import annotations

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.graphs import MixedGraph, UndirectedGraph
from counterpane.graphs.ancestral import AncestralMarks, possible_d_sep
from counterpane.graphs.bits import pack, unpack
from counterpane.learners.bayesian.constraints import known_directions, required_matrix
from counterpane.learners.independence.colliders import END, PatternSearch, separating_share
from counterpane.learners.independence.executed_tests import ExecutedTests
from counterpane.learners.independence.pc import PatternLearner
from counterpane.learners.independence.skeleton import SkeletonState, rows_of
from counterpane.models.record import LearningRecord


class AncestralSearch(PatternSearch):
    """The tests of PC, then of each edge given nodes of Possible-D-SEP, then the votes again."""

    def _after_colliders(self, state: SkeletonState) -> SkeletonState:
        if state.stage == "possible":
            return state._replace(stage=END)
        executed = state.tests
        work = AncestralMarks(rows_of(state.graph, self.n), separating_share(executed, self.n))
        work.add_colliders()
        rows = pack(possible_d_sep(work.marks))
        return state._replace(stage="possible", level=1, taken=0, before=rows)


class FCI(PatternLearner):
    """Learns a partial ancestral graph: what tests show about causes if some were not measured.

    An edge a → b says that a is a cause of b, a ↔ b that neither is a cause of the other and both
    have one that is not in the table, and a circle that the tests leave the mark open.

    Parameters
    ----------
    test : str or IndependenceTest, optional
        "g2" (the default), "chi2", "stratified", "bayesian", or a test such as `Oracle`.
    alpha : float, optional
        The level of a test given by name.
    max_given : int, optional
        The most columns that a test conditions on; by default as many as the graph asks for.
    required_edges, forbidden_edges : iterable of (str, str)
        (cause, effect) pairs that are known, or known not to be; a pair forbidden in both
        directions is not joined.
    tiers : sequence of sequences of str, optional
        Columns in causal order: no column is a cause of one in an earlier tier.
    equivalent_sample_size, missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for `PC`.

    Attributes
    ----------
    pag_ : MixedGraph
        The result. Print it to see one edge a line.
    model_ : BayesianNetwork
        A network with these edges, directed as `PC` does: it answers questions about the columns,
        not about causes. None, with a warning, if its tables are too large.
    graph_ : networkx.DiGraph
        The edges of `model_`.
    tests_ : list of Record
        The executed tests; `n_tests_` is their number, `cost_` that of their columns.
    conflicts_ : list of str
        What had to be decided for `model_` because it knows no unmeasured causes.
    trace_ : list of dict
        A record of each batch of tests.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.FCI().fit(cp.load_dataset("titanic"))
    >>> print(learner.pag_.edges[0])
    status o–o age
    """

    _search_class = AncestralSearch

    def _set_marks(
        self,
        source: CountSource,
        search: PatternSearch,
        order: list[int],
        skeleton: UndirectedGraph,
        executed: ExecutedTests | None,
    ) -> None:
        work = self._marks(skeleton, executed, search)
        if n := work.open_cycles():
            self.notes_.append(
                f"Tests: {n} edges of the PAG lay on directed cycles, since tests contradict each "
                "other; they have a circle in place of their tail."
            )
        places = np.argsort(np.array(order))
        self.pag_ = MixedGraph.from_marks(source.schema.names, work.marks[np.ix_(places, places)])

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        marks = tuple(map(tuple, self.pag_.edges))
        return super()._record(source, seconds).with_parts(marks=marks)

    def _marks(
        self, skeleton: UndirectedGraph, executed: ExecutedTests | None, search: PatternSearch
    ) -> AncestralMarks:
        """The marks by knowledge, votes and rules; without tests, by knowledge alone."""
        limits = self._limits(search.source.schema)
        both = [edge for a, b in skeleton.edges for edge in ((a, b), (b, a))]
        required = required_matrix(limits, skeleton.n)
        adjacent = unpack(skeleton.neighbor_bits, skeleton.n)
        tests = search.start().tests if executed is None else executed
        work = AncestralMarks(adjacent, separating_share(tests, skeleton.n))
        work.add_known(known_directions(limits, both), [(a, b) for a, b in both if required[b, a]])
        if executed is not None:
            work.add_colliders()
            work.close()
        return work

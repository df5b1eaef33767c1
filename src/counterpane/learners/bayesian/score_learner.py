"""What the learners of one Bayesian network by a score share: missing cells, EM, and results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from counterpane.checks import NO_ARRAY
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.counts.view import with_missing_policy
from counterpane.data.table import Table
from counterpane.errors import FitError, Setting
from counterpane.graphs import Dag
from counterpane.learners.base import Missing
from counterpane.learners.bayesian.structural_em import (
    EM_EFFORTS,
    StructuralEM,
    TooManyCells,
    reordered_network,
)
from counterpane.learners.bayesian.wide_search import WIDE, is_wide
from counterpane.learners.density import DensityLearner
from counterpane.learners.gap_policy import (
    GapPolicy,
    choose_policy,
    leave_gaps,
    policy_of_source,
    too_slow,
)
from counterpane.learners.parameters import fit_parameters
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.edges import ARROW, Edge, Edges
from counterpane.progress import Control
from counterpane.scores import LocalScore, as_score, score_families

Criterion = Annotated[str | LocalScore, NO_ARRAY]
"""A score of networks, or its name."""


class LearnedNetwork(NamedTuple):
    """A network and how it was found."""

    model: BayesianNetwork
    score: float
    gains: Edges
    trace: list[dict[str, Any]]


class ScoreLearner(DensityLearner):
    """Learns a Bayesian network by a score of families; see `Learner` for `missing`."""

    _leaves_gaps = ("available", "em")
    _em_effort = ""  # a key of EM_EFFORTS, where it is not the policy itself
    model_: BayesianNetwork = field(init=False)

    criterion: Criterion = field(default="bic", kw_only=False)
    equivalent_sample_size: float = 1.0

    @abstractmethod
    def _learn_network(self, source: CountSource, score: LocalScore) -> LearnedNetwork:
        """The network of a source on which the policy for missing cells is carried out."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        score = as_score(self.criterion)
        if self.missing == "available" and not score.available_case:
            raise FitError(
                Setting("missing", "available"),
                f" scores families on different rows, for which {score.name!r} is not made; take "
                "the criterion 'nal', or ",
                Setting("missing", "em"),
                ".",
            )

    def _learn(self, source: CountSource) -> None:
        score = as_score(self.criterion)
        source.prepare()
        try:
            learned = self._learn_network(source, score)
        except TooManyCells as error:
            if self.missing != "auto":
                raise
            self._use(too_slow(self._gaps, str(error)))
            source = with_missing_policy(source, "state")
            source.prepare()
            learned = self._learn_network(source, score)
        self.model_, self.score_, self.gains_, self.trace_ = learned

    @cached_property
    def graph_(self) -> Any:
        """The edges of `model_` as a networkx graph, made when it is first asked for."""
        return self.model_.graph

    def _resolve(self, source: CountSource, missing: Missing) -> tuple[GapPolicy, CountSource]:
        if missing == "auto" and as_score(self.criterion).available_case:
            missing = "available"
        if missing == "auto" and is_wide(len(source.schema)):
            policy, complete = super()._resolve(source, "state")
            why = f"EM is for tables of up to {WIDE:,} columns" if policy.columns else ""
            return policy._replace(why=why), complete
        if missing == "auto":
            return choose_policy(source, self._trial)
        if missing in self._leaves_gaps:
            return policy_of_source(missing, source), leave_gaps(source, missing)
        return super()._resolve(source, missing)

    def _trial(self, table: Table) -> BayesianNetwork:
        """The network that a copy of this learner finds by EM, with little effort."""
        trial = self.copied(missing="em", progress=False, checkpoint=None, time_limit=None)
        trial._em_effort = "trial"
        return trial.fit(table).model_

    def _needs_em(self, source: CountSource) -> bool:
        return self.missing_ == "em" and source.table is not None and bool(source.has_missing.any())

    def _run_em(
        self,
        source: CountSource,
        rows: MemoryCounts,
        order: Sequence[int],
        score: LocalScore,
        find: Callable[[MemoryCounts, Control], Dag],
        first: Callable[[int, Control], Dag],
        start: Dag,
        *,
        fixed: Collection[tuple[int, int]] | None = None,
        seed: int = 0,
    ) -> LearnedNetwork:
        """What structural EM finds on `rows`, those of `source` with its columns in `order`.

        `find`, `first`, `start` and `fixed` are those of `StructuralEM`.

        The score and the gains are those of the counts that the model expects.
        """
        search = StructuralEM(
            rows,
            score,
            find,
            first,
            start,
            fixed=fixed,
            size=self.equivalent_sample_size,
            seed=seed,
            effort=EM_EFFORTS[self._em_effort or self.missing],
        )
        outcome = self._driver(source).run(search, "structural EM")
        model = search.model(outcome.state)
        total, gains = score_and_gains(score, search.completed(model), model.dag)
        return LearnedNetwork(
            reordered_network(model, source.schema, order), total, gains, outcome.trace
        )

    def _with_parameters(self, source: CountSource, dag: Dag, score: LocalScore) -> BayesianNetwork:
        """The network of `dag`, its parameters counted on the rows that `score` counts."""
        size = self.equivalent_sample_size
        return fit_parameters(source, dag, equivalent_sample_size=size, missing=score.missing)


def score_and_gains(score: LocalScore, source: CountSource, dag: Dag) -> tuple[float, Edges]:
    """The score of `dag` and the gain of each edge, largest first, from one batch of counts."""
    without = [(x, [q for q in dag.parents(x) if q != p]) for p, x in dag.edges]
    families = [(x, list(dag.parents(x))) for x in range(dag.n)]
    values = score_families(score, source, [*families, *without])
    gains = ((p, x, float(values[x] - values[dag.n + i])) for i, (p, x) in enumerate(dag.edges))
    return float(values[: dag.n].sum()), named_gains(source.schema.names, gains)


def named_gains(names: Sequence[str], gains: Iterable[tuple[int, int, float]]) -> Edges:
    """Gains by position as edges, largest first, equal ones in the order of the columns."""
    ranked = sorted(gains, key=lambda edge: (-edge[2], edge[0], edge[1]))
    return Edges(Edge(names[p], names[x], ARROW, gain, "nats") for p, x, gain in ranked)

"""The result of learners that average over networks: the best network and edge probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from counterpane.learners.bayesian.order_mcmc import OrderMCMC, affordable_posterior

MAX_EDGES = 2000  # with a probability in a model's file


class PosteriorResult:
    """The best network of a fitted `ExactPosterior` or `OrderMCMC`, and the edge probabilities."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.model_ = learner.best_model_
        self.score_ = learner.best_score_
        self.criterion = learner.criterion
        self.strengths_ = self.model_.edge_strengths()
        self.missing_note_ = learner.missing_note_
        shares = tuple(learner.edges_[:MAX_EDGES])
        self.model_.record = self.model_.record.with_parts(edge_probabilities=shares)

    def to_dict(self) -> dict[str, Any]:
        """The probabilities of all edges, largest first, and how exact they are."""
        learner, names = self.learner, self.model_.schema.names
        place = {name: i for i, name in enumerate(names)}
        errors = getattr(learner, "standard_errors_", None)
        records = []
        for edge in learner.edges_:
            p, c = place[edge.source], place[edge.target]
            record = edge.to_dict()
            if errors is not None:
                record["standard_error"] = float(errors[p, c])
                record["rhat"] = float(learner.rhat_[p, c])
                record["effective_size"] = float(learner.effective_sizes_[p, c])
            records.append(record)
        facts: dict[str, Any] = {"edge_probabilities": records}
        if errors is None:
            facts["log_evidence"] = float(learner.log_evidence_)
        else:
            facts["rhat"] = float(learner.rhat_.max())
            facts["effective_size"] = float(learner.effective_sizes_.min())
        return facts


def affordable(learner: Any, options: Mapping[str, Any], n_columns: int) -> Any:
    """The exact posterior instead of chains, up to 15 columns and unless chains were set up."""
    chosen = options.keys() & {"n_samples", "n_chains", "burn_in", "thin", "max_candidates"}
    if isinstance(learner, OrderMCMC) and not chosen:
        return affordable_posterior(learner, n_columns)
    return learner

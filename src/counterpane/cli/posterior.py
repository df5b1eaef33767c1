"""Probabilities of edges on the command line: what is printed, and what a model's file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid

from counterpane.cli.app import console
from counterpane.learn.bayesian.order_mcmc import OrderMCMC, affordable_posterior

SHOWN = 20  # edges on a terminal
LEAST = 0.005  # a probability that is printed
MAX_EDGES = 2000  # with a probability in a model's file


class PosteriorResult:
    """The best network of a fitted `ExactPosterior` or `OrderMCMC`, and the edge probabilities."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.model_ = learner.best_model_
        self.score_ = learner.best_score_
        self.score = vars(learner)["score"]
        self.strengths_ = self.model_.edge_strengths()
        self.missing_note_ = learner.missing_note_
        self.model_.provenance["edge_probabilities"] = learner.edges_[:MAX_EDGES]

    def to_dict(self) -> dict[str, Any]:
        """The probabilities of all edges, largest first, and how exact they are."""
        learner, names = self.learner, self.model_.schema.names
        place = {name: i for i, name in enumerate(names)}
        errors = getattr(learner, "standard_errors_", None)
        records = []
        for parent, child, probability in learner.edges_:
            p, c = place[parent], place[child]
            either = probability + float(learner.edge_probabilities_[c, p])
            record = {"parent": parent, "child": child, "probability": probability,
                      "either_direction": min(1.0, either)}  # fmt: skip
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


def show_posterior(facts: Mapping[str, Any]) -> None:
    """Print the most probable edges, each with the probability of either direction."""
    sampled = "rhat" in facts
    records = [r for r in facts["edge_probabilities"] if r["probability"] >= LEAST]
    grid = Grid("edge", box=None, padding=(0, 2, 0, 0))
    for title in ("probability", "either direction"):
        grid.add_column(title, justify="right")
    for record in records[:SHOWN]:
        names = [f"[bold]{escape(record[key])}[/bold]" for key in ("parent", "child")]
        error = f" ±{record['standard_error']:.3f}" if sampled else ""
        value = f"{record['probability']:.3f}{error}"
        grid.add_row(" → ".join(names), value, f"{record['either_direction']:.3f}")
    console.print(grid)
    if len(records) > SHOWN:
        console.print(f"[dim]… and {len(records) - SHOWN:,} more[/dim]")
    if sampled:
        words = f"largest R-hat of an edge {facts['rhat']:.3f} (1 if the chains agree), smallest "
        words += f"effective sample size {facts['effective_size']:,.0f}"
    else:
        words = f"exact sum over all networks; their log-evidence {facts['log_evidence']:,.3f}"
    console.print(f"[dim]{words}[/dim]", soft_wrap=True)

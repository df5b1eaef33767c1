"""Probabilities of edges on the command line: what is printed, and what a model's file keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table as Grid

from counterpane.cli.app import console

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
            records.append(record)
        facts: dict[str, Any] = {"edge_probabilities": records}
        for name in ("log_evidence_", "score_rhat_", "score_effective_size_"):
            if hasattr(learner, name):
                facts[name.removeprefix("score_").rstrip("_")] = float(getattr(learner, name))
        return facts


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
        words = f"R-hat of the score {facts['rhat']:.3f} (1 where the chains agree), effective "
        words += f"sample size {facts['effective_size']:,.0f}"
    else:
        words = f"log-evidence of all networks {facts['log_evidence']:,.3f}"
    console.print(f"[dim]{words}[/dim]", soft_wrap=True)

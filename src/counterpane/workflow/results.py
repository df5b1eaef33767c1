"""The results of a fitted learner as plain values, for JSON and for printing."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.edges import edges_of_graph
from counterpane.models.typed_values import plain
from counterpane.workflow.choose import CLASSIFIERS, METHODS, POSTERIORS, RANKER

FACTS = ("n_tests_", "cost_", "kappa_", "l1_", "n_passes_")


def results_of(learner: Any, source: Any, method: str) -> dict[str, Any]:
    """The results of a fitted learner, for JSON and the summary."""
    model = learner.model_
    record = model.record
    facts: dict[str, Any] = {"rows": record.data.rows, "method": method}
    if record.preparation.missing is not None:  # links have no missing cells
        facts["missing"] = asdict(record.preparation.missing)
    if method in CLASSIFIERS:
        return facts | {
            "columns": len(learner.schema_) + 1,
            "classes": [str(c) for c in learner.classes_],
            **_classifier_parts(learner),
            **({"pool": plain(record.pool)} if record.pool.note else {}),
        }
    facts["columns"] = len(source.schema)
    if method == RANKER:
        return facts | {"ranker": learner.ranker, "candidates": learner.candidates}
    if method in METHODS or method in POSTERIORS:
        return facts | {
            "edges": learner.strengths_.to_dicts(),
            "score": {"name": learner.criterion, "value": learner.score_},
            "parameters": model.dag.n_parameters(model.schema.cards),
            **(learner.to_dict() if method in POSTERIORS else {}),
        }
    facts["edges"] = edges_of_graph(learner.graph_).to_dicts()
    if isinstance(model, BayesianNetwork):
        facts["edges"] = _tested_edges(learner)
    return facts | {
        name.rstrip("_"): getattr(learner, name) for name in FACTS if hasattr(learner, name)
    }


def has_parts(facts: dict[str, Any]) -> bool:
    """Whether a model has an edge or interaction; rankers and the like count as having some."""
    parts = [facts[name] for name in ("edges", "interactions") if name in facts]
    return not parts or any(parts)


def _tested_edges(learner: Any) -> list[dict[str, Any]]:
    """The edges of a network by tests, and their marks if common causes may be missing."""
    edges = learner.model_.edge_strengths()
    if hasattr(learner, "pag_"):
        marked = {frozenset((e.a, e.b)): e for e in learner.pag_.edges}
        pairs = [(edge, marked[frozenset(edge.ends)]) for edge in edges]
        return [
            replace(edge, source=drawn.a, target=drawn.b, mark=drawn.mark).to_dict()
            for edge, drawn in pairs
        ]
    records: list[dict[str, Any]] = edges.to_dicts()
    return records


def _classifier_parts(learner: Any) -> dict[str, list[dict[str, Any]]]:
    """The parts of a classifier: `interactions`, with their effects if known, or `edges`."""
    if hasattr(learner, "interactions_"):
        return {"interactions": learner.interactions_}
    if hasattr(learner, "hyperedges_"):
        faces = [{"columns": list(names), "order": len(names)} for names in learner.hyperedges_]
        return {"interactions": faces}
    return {"edges": learner.strengths_.to_dicts()}

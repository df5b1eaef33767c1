"""Pictures on matplotlib axes, an optional dependency: `pip install counterpane[plot]`."""

from counterpane.plots.bars import answer, comparison, interactions, marginals
from counterpane.plots.calibration import calibration
from counterpane.plots.causal import causal_effect
from counterpane.plots.effects import effects, top_effects
from counterpane.plots.graph import graph
from counterpane.plots.hypergraph import hypergraph
from counterpane.plots.learned import learned, trace
from counterpane.plots.matrices import conditional_table, confusion, edge_probabilities

__all__ = [
    "answer",
    "calibration",
    "causal_effect",
    "comparison",
    "conditional_table",
    "confusion",
    "edge_probabilities",
    "effects",
    "graph",
    "hypergraph",
    "interactions",
    "learned",
    "marginals",
    "top_effects",
    "trace",
]

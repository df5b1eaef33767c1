"""Pictures on matplotlib axes, an optional dependency: `pip install counterpane[plot]`."""

from counterpane.plots.bars import comparison, interactions
from counterpane.plots.calibration import calibration
from counterpane.plots.graph import graph
from counterpane.plots.hypergraph import hypergraph
from counterpane.plots.learned import learned
from counterpane.plots.matrices import conditional_table, confusion, edge_probabilities
from counterpane.plots.search import trace
from counterpane.plots.shares import answer, marginals

__all__ = [
    "answer",
    "calibration",
    "comparison",
    "conditional_table",
    "confusion",
    "edge_probabilities",
    "graph",
    "hypergraph",
    "interactions",
    "learned",
    "marginals",
    "trace",
]

"""Pictures on matplotlib axes, an optional dependency: `pip install counterpane[plot]`."""

from counterpane.plots.hypergraph import hypergraph

__all__ = ["hypergraph"]

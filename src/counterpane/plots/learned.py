"""What a learner found, in the picture that is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from counterpane.errors import NotFittedError, ParameterError
from counterpane.graphs.layout import Edge
from counterpane.plots.bars import interactions
from counterpane.plots.graph import graph
from counterpane.plots.matrices import edge_probabilities
from counterpane.plots.search import trace

KINDS: dict[str, Callable[..., Any]] = {
    "graph": graph,
    "trace": trace,
    "edges": edge_probabilities,
    "interactions": interactions,
}


def learned(learner: Any, kind: str = "graph", **options: Any) -> Any:
    """Matplotlib axes with a fitted learner's or bootstrap's "graph", "trace" or "edges".

    The widths of a graph's edges show their probability, or else what each adds to the score, on a
    log scale. "edges" is the matrix of edge probabilities where there is one, and "interactions"
    the effects of sets of columns.

    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    >>> learned(learner, "trace", ax=Figure().subplots()).get_ylabel()
    'score'
    """
    if kind not in KINDS:
        raise ParameterError(f"kind={kind!r}; {', '.join(map(repr, KINDS))} are known.")
    if not any(name.endswith("_") for name in vars(learner)) and hasattr(learner, "fit"):
        raise NotFittedError(f"{type(learner).__name__} has nothing to show yet; call fit first.")
    if kind == "graph":
        options = {"strengths": strengths_of(learner)} | options
    return KINDS[kind](learner, **options)


def strengths_of(learner: Any) -> dict[Edge, float] | None:
    """The width of each edge, 0 to 1, where the learner tells how sure or strong they are."""
    probabilities = getattr(learner, "edge_probabilities_", None)
    if probabilities is not None:
        joined = np.asarray(probabilities)
        names = list(learner.graph_.nodes)
        place = {name: i for i, name in enumerate(names)}
        if learner.graph_.is_directed():
            joined = joined + joined.T
        return {(a, b): float(joined[place[a], place[b]]) for a, b in learner.graph_.edges}
    gains = getattr(learner, "gains_", None)
    if not gains:
        return None
    most = max(math.log1p(max(gain, 0.0)) for _, _, gain in gains)
    return {(a, b): math.log1p(max(gain, 0.0)) / max(most, 1e-9) for a, b, gain in gains}

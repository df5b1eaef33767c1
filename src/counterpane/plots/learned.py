"""What a learner found, in the picture that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterpane.drawing.layout import Edge
from counterpane.errors import NotFittedError, ParameterError
from counterpane.learn.bootstrap import LEAST_SAMPLES
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

    The widths of a graph's edges show their probability, or else their strength, which is also
    written on them. "edges" is the matrix of edge probabilities, if there is one, and
    "interactions" the effects of sets of columns.

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
        options = probabilities_of(learner) | options
    if kind == "edges" and getattr(learner, "n", LEAST_SAMPLES) < LEAST_SAMPLES:
        raise ParameterError(
            f"shares of {learner.n} samples; at least {LEAST_SAMPLES} are needed to show them."
        )
    return KINDS[kind](learner, **options)


def probabilities_of(learner: Any) -> dict[str, Any]:
    """The widths and labels of edges, where the learner tells how probable they are."""
    probabilities = getattr(learner, "edge_probabilities_", None)
    if probabilities is None:
        return {}
    joined = np.asarray(probabilities)
    place = {name: i for i, name in enumerate(learner.graph_.nodes)}
    if learner.graph_.is_directed():
        joined = joined + joined.T
    shares: dict[Edge, float] = {
        (a, b): float(joined[place[a], place[b]]) for a, b in learner.graph_.edges
    }
    labels = {edge: f"{p:.0%}" for edge, p in shares.items()}
    note = "probability that the columns are joined"
    return {"strengths": shares, "labels": labels, "note": note}

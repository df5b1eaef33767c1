"""The pictures of a fitted learner: its graph, trace, edge probabilities or interactions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from counterpane.drawing.layout import Edge
from counterpane.errors import NotFittedError, ParameterError, Setting, shown_type
from counterpane.models.edges import LEAST_SAMPLES
from counterpane.plots.axes import axes_or_new
from counterpane.plots.bars import interactions
from counterpane.plots.graph import graph
from counterpane.plots.matrices import edge_probabilities
from counterpane.tools.links import arrow_names

# The names of the objective in the records of different learners, the best name first.
OBJECTIVES = (
    "score", "log_posterior", "log_score", "pll", "inner_log_loss", "objective", "entropy",
    "best_gain", "nodes", "n_tests", "variables",
)  # fmt: skip


def learned(learner: Any, kind: str = "graph", **options: Any) -> Any:
    """Matplotlib axes with a fitted learner's or bootstrap's "graph", "trace" or "edges".

    Parameters
    ----------
    learner : learner or BootstrapResult
        A fitted learner, or the result of `bootstrap`.
    kind : str
        "graph": the width of an edge shows its probability, or else its strength, which is also
        written on it. "trace": the search. "edges": the matrix of edge probabilities, if there is
        one. "interactions": the effects of sets of columns.
    **options
        Those of `graph`, `trace`, `edge_probabilities` or `interactions`.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    >>> learned(learner, "trace", ax=Figure().subplots()).get_ylabel()
    'score'
    """
    if kind not in KINDS:
        raise ParameterError(
            Setting("kind", kind),
            f"; {', '.join(map(repr, KINDS))} are known.",
            allowed=tuple(KINDS),
        )
    if not any(name.endswith("_") for name in vars(learner)) and hasattr(learner, "fit"):
        raise NotFittedError(f"{type(learner).__name__} has nothing to show yet; call fit first.")
    if kind == "graph":
        options = _edge_options(learner) | options
    if kind == "edges" and getattr(learner, "n", LEAST_SAMPLES) < LEAST_SAMPLES:
        raise ParameterError(
            f"shares of {learner.n} samples; at least {LEAST_SAMPLES} are needed to show them."
        )
    return KINDS[kind](learner, **options)


def _edge_options(learner: Any) -> dict[str, Any]:
    """The widths and labels of edges, if the learner has their probabilities.

    An arrow has the probability of its direction, a line that of an edge in either direction.
    """
    probabilities = getattr(learner, "edge_probabilities_", None)
    if probabilities is None:
        return {}
    matrix = np.asarray(probabilities)
    place = {name: i for i, name in enumerate(learner.graph_.nodes)}
    either = matrix + matrix.T if learner.graph_.is_directed() else matrix
    arrows = arrow_names(getattr(learner, "model_", None)) or ()
    shares: dict[Edge, float] = {
        (a, b): float((matrix if (a, b) in arrows else either)[place[a], place[b]])
        for a, b in learner.graph_.edges
    }
    labels = {edge: f"{p:.0%}" for edge, p in shares.items()}
    note = "probability of the edge as it is drawn"
    return {"strengths": shares, "labels": labels, "note": note}


def trace(learner: Any, *, value: str | None = None, title: str = "", ax: Any = None) -> Any:
    """Matplotlib axes with one value of a search's records against the seconds it took.

    Parameters
    ----------
    learner : learner, model or list
        A fitted learner, a model that keeps the trace of its learner, or a list of records.
    value : str, optional
        The number to show; by default the search's objective.
    title : str
        The title of the axes.
    ax : matplotlib axes, optional
        Where to draw; by default new axes.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> records = [{"seconds": 1.0, "score": -9.0}, {"seconds": 2.0, "score": -7.0}]
    >>> ax = trace(records, ax=Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_ydata().tolist()
    ('score', [-9.0, -7.0])
    """
    records = _records(learner)
    numbers = {k for record in records for k, v in record.items() if _is_number(v)}
    value = value or next((name for name in OBJECTIVES if name in numbers), None)
    if value not in numbers:
        offered = ", ".join(sorted(numbers - {"step", "seconds"}))
        raise ParameterError(
            f"the trace has no number called {value!r}; known: {offered or 'none'}."
        )
    shown = [record for record in records if _is_number(record.get(value))]
    times = np.array([record.get("seconds", step) for step, record in enumerate(shown)])
    ax = axes_or_new(ax)
    ax.plot(times, [record[value] for record in shown], marker="." if len(shown) < 60 else "")
    ax.set(title=title, xlabel="seconds", ylabel=value.replace("_", " "))
    return ax


def _records(learner: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] | None
    records = learner if isinstance(learner, list) else getattr(learner, "trace_", None)
    if records is None:
        record = getattr(learner, "record", None)
        records = None if record is None else list(record.learner.trace)
    if not records:
        raise ParameterError(f"{shown_type(learner)} without a trace has no steps to show.")
    return records


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


KINDS: dict[str, Callable[..., Any]] = {
    "graph": graph,
    "trace": trace,
    "edges": edge_probabilities,
    "interactions": interactions,
}

"""Numbers as colored squares: edge probabilities, conditional tables, confusions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from counterpane.data.schema import state_text
from counterpane.errors import ParameterError, shown_type
from counterpane.plots.axes import axes_or_new, axis_label, ink, literal, shades
from counterpane.typing import Floats

MAX_NUMBERS = 400  # cells up to which the numbers are written
MAX_NAMES = 60  # rows or columns up to which all names are written
MAX_ROWS = 40  # of a conditional table


def edge_probabilities(
    result: Any, *, names: Sequence[str] | None = None, title: str = "", ax: Any = None
) -> Any:
    """Matplotlib axes with P(edge from row to column), of a learner, a bootstrap, or a matrix.

    Parameters
    ----------
    result : learner, bootstrap or matrix
        A learner with `edge_probabilities_`, the result of `bootstrap`, or a matrix (from, to).
    names : sequence of str, optional
        The names of a matrix.
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
    >>> ax = edge_probabilities([[0, 0.9], [0.1, 0]], names=["a", "b"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['0', '0.90', '0.10', '0']
    """
    matrix = result
    for name in ("edge_probabilities_", "edge_probabilities"):
        matrix = getattr(result, name, matrix)
    if names is None and matrix is not result:
        names = result.names if hasattr(result, "names") else list(result.graph_.nodes)
    values = np.asarray(matrix, dtype=np.float64) if names is not None else np.empty(0)
    if names is None or values.shape != (len(names), len(names)):
        raise ParameterError(
            f"edge probabilities of shape {values.shape} need as many names; pass names=…, or a "
            "learner or bootstrap that has both."
        )
    ax = heat_map(values, names, names, ax=ax)
    ax.set(title=title, xlabel="to", ylabel="from")
    return ax


def conditional_table(model: Any, name: str, *, title: str | None = None, ax: Any = None) -> Any:
    """Matplotlib axes with P(states | parents) of one variable of a Bayesian network.

    A row for each combination of the parents' states, the last parent fastest; at most 40.

    Parameters
    ----------
    model : BayesianNetwork or learner
        The network, or the learner that has it.
    name : str
        The variable.
    title : str, optional
        The title; by default P(name | parents).
    ax : matplotlib axes, optional
        Where to draw; by default new axes.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> conditional_table(model, "survived", ax=Figure().subplots()).get_title()
    'P(survived | sex)'
    """
    model = getattr(model, "model_", model)
    if not hasattr(model, "dag"):
        raise ParameterError(
            f"{shown_type(model)} holds no conditional tables; only Bayesian networks do: ask "
            "it with query(…) instead."
        )
    i = model.schema.index(name)
    parents = [model.schema[model.schema.names[p]] for p in model.dag.parents(i)]
    table = model.tables[i].reshape(-1, model.tables[i].shape[-1])
    rows = [
        ", ".join(map(state_text, states))
        for states in islice(product(*(p.states for p in parents)), MAX_ROWS)
    ]
    if len(table) > MAX_ROWS:
        rows[-1] = f"… {len(table) - MAX_ROWS + 1} more"
        table = np.vstack([table[: MAX_ROWS - 1], np.full(table.shape[1], np.nan)])
    ax = heat_map(table, rows, [state_text(s) for s in model.schema[name].states], ax=ax)
    given = ", ".join(p.name for p in parents)
    default = f"P({name} | {given})" if parents else f"P({name})"
    ax.set(title=literal(default if title is None else title), xlabel=literal(name))
    ax.set_ylabel(literal(given))
    return ax


def confusion(
    true: Any,
    predicted: Any,
    *,
    classes: Sequence[Any] | None = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with a confusion matrix: true classes (rows), predicted ones (columns).

    Colors are shares of the row.

    Parameters
    ----------
    true, predicted : sequence
        The classes of the rows.
    classes : sequence, optional
        The order of the classes; by default sorted.
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
    >>> ax = confusion(["a", "a", "b"], ["a", "b", "b"], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['1', '1', '0', '1']
    """
    true, predicted = np.asarray(true, dtype=object), np.asarray(predicted, dtype=object)
    if true.shape != predicted.shape:
        raise ParameterError(f"{true.shape} true classes and {predicted.shape} predicted differ.")
    order = list(classes) if classes is not None else sorted({*true, *predicted}, key=str)
    place = {c: k for k, c in enumerate(order)}
    counts = np.zeros((len(order), len(order)))
    np.add.at(counts, ([place[c] for c in true], [place[c] for c in predicted]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    labels = [str(c) for c in order]
    ax = heat_map(shares, labels, labels, ax=ax, texts=[f"{n:.0f}" for n in counts.flat])
    ax.set(title=title, xlabel="predicted", ylabel="true")
    return ax


def heat_map(
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    ax: Any = None,
    texts: Sequence[str] | None = None,
) -> Any:
    """Axes with values from 0 to 1 as colored squares, and as numbers where there are few."""
    wide, high = 2 + 0.55 * min(len(columns), 24), 1.5 + 0.35 * min(len(rows), 30)
    ax = axes_or_new(ax, (max(wide, 4.0), max(high, 2.5)))
    image = ax.imshow(values, vmin=0.0, vmax=1.0, cmap=shades(), aspect="auto")
    for axis, names in ((ax.xaxis, columns), (ax.yaxis, rows)):
        shown = range(0, len(names), 1 + (len(names) - 1) // MAX_NAMES)
        axis.set_ticks(list(shown), [axis_label(names[k]) for k in shown])
    if max(map(len, columns), default=0) * len(columns) > 40:
        ax.tick_params(axis="x", rotation=90)
    if values.size <= MAX_NUMBERS:
        written = texts or ["" if np.isnan(v) else f"{v:.2f}" if v else "0" for v in values.flat]
        places = product(range(values.shape[0]), range(values.shape[1]))
        for (row, column), text in zip(places, written, strict=True):
            color = "white" if values[row, column] > 0.6 else ink()
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=color)
    ax.figure.colorbar(image, ax=ax)
    return ax

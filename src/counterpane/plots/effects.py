"""Effects of a classifier's interactions: curves of numbers, bars of states, maps of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpane.errors import ParameterError
from counterpane.models.additive import AdditiveClassifier
from counterpane.models.effect_tables import EffectAxis, EffectTable, effect_table
from counterpane.plots.axes import axes_or_new, axis_label, ink
from counterpane.typing import Floats

MAX_RUG = 400  # marks of training rows below a curve


def effects(
    classifier: Any,
    columns: str | Sequence[str],
    *,
    state: Any = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with what an interaction adds to the log-odds of a class, in nats.

    A number is a curve with a band of two standard deviations over the fits that the model
    averages, and marks where training rows are. States are bars. Two columns are a map; with two
    numbers it has contour lines. A third column, or more, is shown at its middle.

    Parameters
    ----------
    classifier : InteractionClassifier, BoostedTables or AdditiveClassifier
        The fitted classifier or its model.
    columns : str or list of str
        The columns of the interaction.
    state : class label, optional
        The class whose log-odds are shown; by default the last one.
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
    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> classifier = cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived")
    >>> ax = effects(classifier, "sex", ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['male', 'female']
    """
    model = classifier if isinstance(classifier, AdditiveClassifier) else classifier.model_
    names = [columns] if isinstance(columns, str) else list(columns)
    table = effect_table(model, names)
    place = _class_place(model, state)
    table = table._replace(values=table.values[..., place], spread=table.spread[..., place])
    note = f"adds to the log-odds of {model.target.name} = {model.target.states[place]}"
    table, fixed = _sliced(table)
    if len(table.axes) == 1:
        axis = table.axes[0]
        ax = axes_or_new(ax)
        draw = _bars if axis.values is None else _curve
        draw(ax, axis, table.values, table.spread)
        ax.set(xlabel=axis_label(axis.name), ylabel=note)
    else:
        ax = _map(table, ax, note)
    ax.set_title(title or fixed)
    return ax


def _class_place(model: AdditiveClassifier, state: Any) -> int:
    if state is None:
        return model.n_classes - 1
    place = model.target.find(state)
    if place is None:
        known = ", ".join(map(str, model.target.states))
        raise ParameterError(f"state={state!r} is no class; the classes are {known}.")
    return int(place)


def _sliced(table: EffectTable) -> tuple[EffectTable, str]:
    """The table of the first two columns, the others at their middle, and words that say so."""
    words = []
    while len(table.axes) > 2:
        axis, k = table.axes[-1], table.values.shape[-1] // 2
        shown = axis.labels[k] if axis.values is None else f"{axis.values[k]:.4g}"
        words.append(f"{axis.name} = {shown}")
        table = EffectTable(table.axes[:-1], table.values[..., k], table.spread[..., k])
    return table, ", ".join(words)


def _curve(ax: Any, axis: EffectAxis, values: Floats, spread: Floats) -> None:
    assert axis.values is not None
    ax.axhline(0.0, color=ink(), lw=0.8, alpha=0.4)
    ax.fill_between(axis.values, values - 2 * spread, values + 2 * spread, alpha=0.25, lw=0)
    ax.plot(axis.values, values)
    if len(axis.seen):
        marks = axis.seen[:: 1 + (len(axis.seen) - 1) // MAX_RUG]
        ax.plot(
            marks, np.full(len(marks), 0.01), "|", color=ink(), alpha=0.4,
            transform=ax.get_xaxis_transform(), ms=6,
        )  # fmt: skip


def _bars(ax: Any, axis: EffectAxis, values: Floats, spread: Floats) -> None:
    places = range(len(values))
    ax.axhline(0.0, color=ink(), lw=0.8, alpha=0.4)
    ax.bar(places, values, yerr=2 * spread, capsize=3, width=0.6, alpha=0.85)
    ax.set_xticks(list(places), [axis_label(label) for label in axis.labels])
    if sum(map(len, axis.labels)) > 50:
        ax.tick_params(axis="x", rotation=90)


def _map(table: EffectTable, ax: Any, note: str) -> Any:
    """The first column along x, the second along y."""
    ax = axes_or_new(ax, (6.4, 4.8))
    most = float(np.abs(table.values).max()) or 1.0
    x, y = table.axes
    edges = [_edges(axis) for axis in (x, y)]
    colors = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    image = ax.pcolormesh(*edges, table.values.T, **colors)
    if x.values is not None and y.values is not None and len(x.values) > 2 and len(y.values) > 2:
        ax.contour(x.values, y.values, table.values.T, 6, colors=[ink()], linewidths=0.6, alpha=0.6)
    for axis, side in ((x, ax.xaxis), (y, ax.yaxis)):
        if axis.values is None:
            side.set_ticks(range(len(axis.labels)), [axis_label(label) for label in axis.labels])
    ax.set(xlabel=axis_label(x.name), ylabel=axis_label(y.name))
    ax.figure.colorbar(image, ax=ax, label=note)
    return ax


def _edges(axis: EffectAxis) -> Floats:
    """The borders of the cells of an axis."""
    centers = np.arange(len(axis.labels), dtype=float) if axis.values is None else axis.values
    if len(centers) == 1:
        return np.array([centers[0] - 0.5, centers[0] + 0.5])
    middle = (centers[1:] + centers[:-1]) / 2
    first, last = 2 * centers[0] - middle[0], 2 * centers[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])

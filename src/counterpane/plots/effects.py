"""Effects of a classifier's interactions: curves of numbers, bars of states, maps of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.effect_tables import EffectTable, effect_table
from counterpane.errors import ParameterError, Setting
from counterpane.plots.axes import axes_or_new, axis_label, ink
from counterpane.plots.effect_maps import (
    COLORS,
    MAX_RUG,
    UPRIGHT,
    draw_map,
    effect_slices,
    effect_ticks,
    missing_strip,
)
from counterpane.typing import Floats

MAX_CURVES = 6  # classes in one picture of curves
MAX_BARS = 24  # states × classes that are bars; more are a table of colors
MAX_STATES = 30


def effects(
    classifier: Any,
    columns: str | Sequence[str],
    *,
    state: Any = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with what an interaction adds to the log-odds of classes, in nats.

    Zero is the mean over the training rows. A number is a curve with a band of two standard
    deviations over the fits that the model averages, and marks where training rows are. States are
    bars, with the share of rows that have them. Two columns are a map, with contour lines for two
    numbers and dots for some training rows; three columns are maps at up to three values of the
    last one.

    Parameters
    ----------
    classifier : InteractionClassifier or AdditiveClassifier
        The fitted classifier or its model.
    columns : str or list of str
        The columns of the interaction.
    state : class label, optional
        The class whose log-odds are shown. By default the second of two classes; of more classes,
        curves and bars show all of them, and maps the class with the largest effect.
    title : str
        The title of the axes.
    ax : matplotlib axes, optional
        Where to draw; by default new axes. On given axes three columns are one map.

    Returns
    -------
    matplotlib axes
        The axes; an array of them for the maps of three columns.

    Examples
    --------
    >>> import counterpane as cp
    >>> from matplotlib.figure import Figure
    >>> classifier = cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived")
    >>> ax = effects(classifier, "sex", ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['male\\n78.6 %', 'female\\n21.4 %']
    """
    model = classifier if isinstance(classifier, AdditiveClassifier) else classifier.model_
    names = [columns] if isinstance(columns, str) else list(columns)
    table = effect_table(model, names)
    if len(names) > 1:
        return _maps(model, table, state, title, ax)
    ax = axes_or_new(ax)
    places = _classes(model, state, table.values)
    axis = table.axes[0]
    if axis.values is not None:
        _curves(ax, model, table, places)
    else:
        _states(ax, model, table, places)
    ax.set_title(title)
    return ax


def top_effects(
    classifier: Any,
    columns: Sequence[str | Sequence[str]] | None = None,
    *,
    top: int = 6,
    state: Any = None,
) -> Any:
    """Matplotlib axes of several interactions on one page; see `effects` for each of them.

    Parameters
    ----------
    classifier : InteractionClassifier or AdditiveClassifier
        The fitted classifier or its model.
    columns : list, optional
        The interactions, each by one name or several; by default those of the largest effects.
    top : int
        The number of interactions, where they are not named.
    state : class label, optional
        The class; see `effects`.

    Returns
    -------
    array of matplotlib axes
        One for each interaction.

    Examples
    --------
    >>> import counterpane as cp
    >>> classifier = cp.InteractionClassifier().fit(cp.load_dataset("titanic"), "survived")
    >>> [ax.get_title() for ax in top_effects(classifier, top=2)]
    ['sex', 'status']
    """
    from matplotlib import pyplot

    model = classifier if isinstance(classifier, AdditiveClassifier) else classifier.model_
    if columns is None:
        records = [r for r in model.interactions() if r.get("effect", 1.0) > 0]
        columns = [r["columns"] for r in records[:top]]
    if not columns:
        raise ParameterError("the model has no interaction with an effect; nothing can be drawn.")
    wide = min(3, len(columns))
    tall = math.ceil(len(columns) / wide)
    size = (4.8 * wide, 3.6 * tall)
    grid = pyplot.subplots(tall, wide, figsize=size, layout="constrained", squeeze=False)[1]
    for ax, own in zip(grid.flat, columns, strict=False):
        names = [own] if isinstance(own, str) else list(own)
        effects(model, names, state=state, ax=ax)
        if ax is not grid.flat[0] and ax.get_legend() is not None:
            ax.get_legend().remove()  # the classes have the same colors everywhere
        words = ax.get_title()
        ax.set_title(axis_label(" × ".join(names)) + (f"\n{words}" if words else ""))
    for ax in grid.flat[len(columns) :]:
        ax.remove()
    return grid.flat[: len(columns)]


def _classes(model: AdditiveClassifier, state: Any, values: Floats) -> list[int]:
    """The classes to show: the one asked for, the second of two, or those that move most."""
    if state is not None:
        place = model.target.find(state)
        if place is None:
            known = ", ".join(map(str, model.target.states))
            raise ParameterError(Setting("state", state), f" is no class; the classes are {known}.")
        return [int(place)]
    if model.n_classes <= 2:
        return [model.n_classes - 1]
    sizes = values.reshape(-1, model.n_classes).std(axis=0)
    return sorted(np.argsort(-sizes, kind="stable")[:MAX_CURVES].tolist())


def _log_odds_of(model: AdditiveClassifier, places: Sequence[int]) -> str:
    """What is added to, in words."""
    name = model.target.name
    if len(places) == 1:
        name = f"{name} = {model.target.states[places[0]]}"
    return f"adds to log-odds of {axis_label(name)}"


def _color(c: int, places: Sequence[int]) -> str:
    """The color of a class, the same in all pictures of several classes."""
    return f"C{c if len(places) > 1 else 0}"


def _legend(ax: Any, model: AdditiveClassifier, places: Sequence[int]) -> None:
    few = f" ({len(places)} of {model.n_classes})" if len(places) < model.n_classes else ""
    if len(places) > 1:
        title = axis_label(model.target.name) + few
        ax.legend(title=title, fontsize=8, title_fontsize=8, framealpha=0.6)


def _odds_axis(ax: Any, model: AdditiveClassifier, places: Sequence[int], side: str) -> None:
    """Of two classes, the factor of the odds on the other side."""
    if model.n_classes == 2 and len(places) == 1:
        other = (ax.secondary_yaxis if side == "right" else ax.secondary_xaxis)(side)
        axis = other.yaxis if side == "right" else other.xaxis
        axis.set_major_formatter(lambda x, _: f"×{math.exp(x):.3g}")
        axis.set_label_text("odds")
        other.tick_params(labelsize=8)


def _curves(ax: Any, model: AdditiveClassifier, table: EffectTable, places: Sequence[int]) -> None:
    axis, n = table.axes[0], table.axes[0].n_numbers
    assert axis.values is not None
    ax.axhline(0.0, color=ink(), lw=0.8, alpha=0.4)
    strip = missing_strip(axis)
    for turn, c in enumerate(places):
        values, spread = table.values[:, c], 2 * table.spread[:, c]
        color, faint = _color(c, places), 0.22 if len(places) < 4 else 0.12
        ax.plot(axis.values, values[:n], label=str(model.target.states[c]), lw=1.6, color=color)
        band = (values - spread)[:n], (values + spread)[:n]
        ax.fill_between(axis.values, *band, alpha=faint, lw=0, color=color)
        if strip is not None:
            at = strip[0] + (turn + 1) / (len(places) + 1) * (strip[1] - strip[0])
            ax.errorbar(at, values[n], spread[n], fmt="o", ms=4, capsize=2, color=color)
    if len(axis.seen):
        marks = axis.seen[:: 1 + (len(axis.seen) - 1) // MAX_RUG]
        ax.plot(
            marks, np.full(len(marks), 0.012), "|", color=ink(), alpha=0.35,
            transform=ax.get_xaxis_transform(), ms=6, mew=0.7,
        )  # fmt: skip
    if strip is not None:
        ax.axvspan(*strip, color=ink(), alpha=0.06, lw=0)
    effect_ticks(ax.xaxis, axis)
    ax.set(xlabel=axis_label(axis.name), ylabel=_log_odds_of(model, places))
    _legend(ax, model, places)
    _odds_axis(ax, model, places, "right")


def _states(ax: Any, model: AdditiveClassifier, table: EffectTable, places: Sequence[int]) -> None:
    """Bars of states, or a table of colors where they would be many."""
    axis = table.axes[0]
    order = np.argsort(-np.abs(table.values[:, places]).max(axis=1), kind="stable")[:MAX_STATES]
    order = np.sort(order)
    labels = [axis_label(axis.labels[k]) for k in order]
    if len(axis.rows):
        labels = [f"{t}\n{100 * axis.rows[k]:.1f} %" for t, k in zip(labels, order, strict=True)]
    values, spread = table.values[order][:, places], 2 * table.spread[order][:, places]
    left = f" ({len(order)} of {len(axis.labels)} states)" if len(order) < len(axis.labels) else ""
    if values.size > MAX_BARS and len(places) > 1:
        _color_table(ax, model, places, values, [t.replace("\n", ", ") for t in labels])
        ax.set_ylabel(axis_label(axis.name) + left)
        return
    upright = sum(len(label.split("\n")[0]) for label in labels) <= UPRIGHT and len(labels) < 9
    zero, bars = (ax.axhline, ax.bar) if upright else (ax.axvline, ax.barh)
    thick, error = 0.8 / len(places), "yerr" if upright else "xerr"
    at = np.arange(len(order), dtype=float)
    zero(0.0, color=ink(), lw=0.8, alpha=0.4)
    for turn, c in enumerate(places):
        shift = (turn - (len(places) - 1) / 2) * thick
        bars(
            at + shift, values[:, turn], thick * 0.94, color=_color(c, places), alpha=0.85,
            **{error: spread[:, turn]}, capsize=2, error_kw={"lw": 0.9, "ecolor": ink()},
            label=str(model.target.states[c]),
        )  # fmt: skip
    words, name = _log_odds_of(model, places), axis_label(axis.name) + left
    if upright:
        ax.set_xticks(at, labels)
        ax.set(xlabel=name, ylabel=words)
    else:
        ax.set_yticks(at, [t.replace("\n", ", ") for t in labels], fontsize=8)
        ax.invert_yaxis()
        ax.set(ylabel=name, xlabel=words)
    _legend(ax, model, places)
    _odds_axis(ax, model, places, "right" if upright else "top")


def _color_table(
    ax: Any, model: AdditiveClassifier, places: Sequence[int], values: Floats, labels: list[str]
) -> None:
    most = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap=COLORS, vmin=-most, vmax=most, aspect="auto")
    classes = [axis_label(str(model.target.states[c])) for c in places]
    ax.set_xticks(range(len(places)), classes, rotation=30 if sum(map(len, classes)) > 30 else 0)
    ax.set_yticks(range(len(labels)), labels, fontsize=7)
    ax.set_xlabel(axis_label(model.target.name))
    ax.figure.colorbar(image, ax=ax, label=_log_odds_of(model, places))


def _maps(model: AdditiveClassifier, table: EffectTable, state: Any, title: str, ax: Any) -> Any:
    """One map of two columns, or several at values of a third."""
    sizes = table.values.reshape(-1, model.n_classes).std(axis=0)
    classes = _classes(model, state, table.values)
    place = max(classes, key=lambda c: sizes[c])
    values = table.values[..., place]
    slices = effect_slices(model, table.axes, values)
    if ax is not None or len(slices) == 1:
        ax = axes_or_new(ax, (6.4, 4.8))
        shown = max(slices, key=lambda one: float(np.abs(one.values).max()))
        image = draw_map(ax, table.axes, shown, float(np.abs(shown.values).max()))
        ax.set_title(title or shown.words)
        ax.figure.colorbar(image, ax=ax, label=_log_odds_of(model, [place]))
        return ax
    from matplotlib import pyplot

    size = (4.2 * len(slices), 4.0)
    figure, grid = pyplot.subplots(1, len(slices), figsize=size, layout="constrained", sharey=True)
    most = max(float(np.abs(one.values).max()) for one in slices)
    for k, (own, shown) in enumerate(zip(grid, slices, strict=True)):
        image = draw_map(own, table.axes, shown, most)
        own.set_title(shown.words)
        own.set_ylabel(own.get_ylabel() if k == 0 else "")
    figure.colorbar(image, ax=list(grid), label=_log_odds_of(model, [place]))
    if title:
        figure.suptitle(title)
    return grid

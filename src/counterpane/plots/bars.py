"""Bars: methods compared, effects of interactions, shares of states, answers to queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from counterpane.data.schema import state_text
from counterpane.errors import ParameterError, shown_type
from counterpane.plots.axes import axes_or_new, axis_label, ink, literal, paper, shades
from counterpane.plots.matrices import heat_map
from counterpane.typing import Floats

MAX_BARS = 40
MAX_COLUMNS = 40
MAX_STATES = 30  # of an answer
LEAST_SHARE = 0.07  # of a bar that has its state written on it


def comparison(
    records: Sequence[Mapping[str, Any]],
    value: str,
    *,
    error: str | None = None,
    name: str = "method",
    title: str = "",
    ax: Any = None,
) -> Any:
    """Matplotlib axes with one value of several methods as points, the smallest first.

    Parameters
    ----------
    records : sequence of mappings
        A record for each method; those without the value are left out.
    value, error, name : str
        The keys of the value, of an error that is drawn to both sides, and of the method's name.
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
    >>> records = [{"method": "TAN", "log_loss": 0.5}, {"method": "NaiveBayes", "log_loss": 0.6}]
    >>> ax = comparison(records, "log_loss", ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['TAN', 'NaiveBayes']
    """
    with_value = [r for r in records if r.get(value) is not None]
    shown = sorted(with_value, key=lambda r: float(r[value]))
    if not shown:
        raise ParameterError(f"no record has a value called {value!r}; nothing can be compared.")
    ax = axes_or_new(ax, (6.4, 1.0 + 0.35 * len(shown)))
    errors = None if error is None else [float(r.get(error) or 0.0) for r in shown]
    rows = range(len(shown))
    ax.errorbar([float(r[value]) for r in shown], rows, xerr=errors, fmt="o", capsize=3)
    _name_rows(ax, [str(r[name]) for r in shown])
    ax.grid(axis="x", alpha=0.3)
    ax.set(title=title, xlabel=value.replace("_", " "))
    return ax


def interactions(learner: Any, *, most: int = 20, title: str = "", ax: Any = None) -> Any:
    """Matplotlib axes with the largest interactions of a classifier, or of its `interactions_`.

    Bars are effects on the log-odds in nats, with their numbers; opacity is the share of half
    samples on which an interaction was selected, if that is known.

    Parameters
    ----------
    learner : InteractionClassifier or list
        The fitted classifier, or its `interactions_`.
    most : int
        The number of interactions to show, at most 40.
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
    >>> records = [{"columns": ["sex"], "effect": 1.0}]
    >>> ax = interactions(records, ax=Figure().subplots())
    >>> ax.get_yticklabels()[0].get_text(), float(ax.patches[0].get_width())
    ('sex', 1.0)
    """
    records = learner if isinstance(learner, list) else getattr(learner, "interactions_", None)
    if not records:
        raise ParameterError(
            f"{shown_type(learner)} has no effects of interactions; InteractionClassifier "
            "has them once fitted."
        )
    shown = sorted(records, key=lambda r: -r["effect"])[: min(most, MAX_BARS)]
    ax = axes_or_new(ax, (6.4, 1.0 + 0.3 * len(shown)))
    bars = ax.barh(range(len(shown)), [r["effect"] for r in shown])
    for bar, record in zip(bars, shown, strict=True):
        bar.set_alpha(min(1.0, 0.25 + 0.75 * float(record.get("share", 1.0))))
    ax.bar_label(bars, [f"{r['effect']:.2f}" for r in shown], padding=3)
    ax.margins(x=0.12)
    _name_rows(ax, [" × ".join(r["columns"]) for r in shown])
    ax.set(title=title, xlabel="effect on the log-odds (standard deviation over rows, nats)")
    return ax


def _name_rows(ax: Any, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), [axis_label(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)


def marginals(
    table: Any, *, columns: Sequence[str] | None = None, title: str = "", ax: Any = None
) -> Any:
    """Matplotlib axes with a bar for each column of a table, or variable of a model, by state.

    Missing cells are left white at the end of the bar.

    Parameters
    ----------
    table : Table or model
        Anything with a schema and shares of states.
    columns : sequence of str, optional
        At most 40 names; by default the first columns.
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
    >>> ax = marginals(cp.load_dataset("titanic"), ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['status', 'age', 'sex', 'survived']
    """
    schema = table.schema
    names = list(schema.names[:MAX_COLUMNS] if columns is None else columns)
    if len(names) > MAX_COLUMNS:
        raise ParameterError(f"{len(names)} columns make no picture; name at most {MAX_COLUMNS}.")
    ax = axes_or_new(ax, (7.0, 1.0 + 0.33 * len(names)))
    answers = table.marginals() if hasattr(table, "marginals") else None
    for row, name in enumerate(names):
        states = [state_text(state) for state in schema[name].states]
        shares = table.shares(name) if answers is None else answers[name].probabilities
        _bar(ax, row, shares, states)
    _name_rows(ax, names)
    ax.set(title=title, xlabel="share", xlim=(0, 1))
    return ax


def answer(found: Any, *, title: str = "", ax: Any = None) -> Any:
    """Matplotlib axes with an answer's probabilities: bars, or squares for two variables.

    Parameters
    ----------
    found : Answer
        The result of `query`.
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
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> ax = answer(model.query("survived", {"sex": "female"}), ax=Figure().subplots())
    >>> [round(float(bar.get_width()), 3) for bar in ax.patches]
    [0.268, 0.732]
    """
    names = found.names
    if len(names) == 2:
        rows, columns = ([state_text(s) for s in v.states] for v in found.variables)
        ax = heat_map(found.probabilities, rows, columns, ax=ax)
        ax.set(title=title, xlabel=literal(names[1]), ylabel=literal(names[0]))
        return ax
    shown = list(islice(found.rows(), MAX_STATES))
    ax = axes_or_new(ax, (6.0, 1.0 + 0.3 * len(shown)))
    ax.barh(range(len(shown)), [p for _, p in shown])
    labels = [axis_label(", ".join(map(state_text, states))) for states, _ in shown]
    ax.set_yticks(range(len(shown)), labels)
    ax.set(title=title, xlabel="probability", xlim=(0, 1), ylabel=literal(", ".join(names)))
    ax.invert_yaxis()
    for row, (_, p) in enumerate(shown):
        ax.text(p + 0.01 if p < 0.85 else p - 0.01, row, f"{p:.3g}", va="center", fontsize=8,
                ha="left" if p < 0.85 else "right")  # fmt: skip
    return ax


def _bar(ax: Any, row: int, shares: Floats, states: Sequence[str]) -> None:
    """One bar, its parts from light to dark."""
    colors = shades()
    tones = np.linspace(0.2, 0.85, max(len(shares), 2))
    left = 0.0
    for share, state, tone in zip(shares.tolist(), states, tones, strict=False):
        ax.barh(
            row, share, left=left, color=colors(tone), edgecolor=paper(), linewidth=0.5, height=0.8
        )
        letters = int(share * 70)
        if share >= LEAST_SHARE and letters >= min(len(state), 4):
            text = state if len(state) <= letters else state[: letters - 1] + "…"
            color = "white" if tone > 0.55 else ink()
            ax.text(left + share / 2, row, literal(text), ha="center", va="center", fontsize=8,
                    color=color)  # fmt: skip
        left += share

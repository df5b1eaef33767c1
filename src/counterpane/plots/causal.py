"""Causal effects: probabilities after an intervention, beside those that are observed."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.causes.effect_result import CausalEffect, treatment_states
from counterpane.data.schema import state_text
from counterpane.errors import ParameterError, shown_type
from counterpane.plots.axes import axes_or_new, axis_label, ink, literal

MOST_ROWS = 60


def causal_effect(
    effect: CausalEffect, *, state: Any = None, title: str = "", ax: Any = None
) -> Any:
    """Matplotlib axes with P(outcome | do(treatment)) for each state of the treatment.

    A mark is an estimate, one for each effect that the equivalence class leaves open; a thick line
    is their range, a thin one the interval, and a hollow mark what is observed without an
    intervention.

    Parameters
    ----------
    effect : CausalEffect
        What `counterpane.effect` returned.
    state : state, optional
        The state of the outcome to show; by default all of them, or the last one of two.
    title : str
        The title of the axes, by default the question.
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
    >>> learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    >>> result = cp.effect(learner, "sex", "survived", draws=20)
    >>> ax = causal_effect(result, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['male', 'female']
    """
    if not isinstance(effect, CausalEffect):
        raise ParameterError(
            f"{shown_type(effect)} is no causal effect; pass what cp.effect returned."
        )
    outcome, rows = effect.outcome, treatment_states(effect)
    if len(rows) > MOST_ROWS:
        raise ParameterError(f"{len(rows)} states of the treatment do not fit a picture.")
    codes = range(outcome.card) if state is None else [outcome.code(state)]
    if state is None and outcome.card == 2:
        codes = [1]
    shape = (len(rows), outcome.card)
    least, most = (a.reshape(shape) for a in (effect.least, effect.most))
    seen = None if effect.observed is None else effect.observed.reshape(shape)
    interval = effect.interval()
    ax = axes_or_new(ax, (6.4, 1.5 + 0.35 * len(rows) * max(1, 0.6 * len(codes))))
    for k, code in enumerate(codes):
        places = np.arange(len(rows)) + 0.7 * ((k + 0.5) / len(codes) - 0.5)
        color = f"C{k}"
        if interval is not None:
            ends = [end.reshape(shape)[:, code] for end in interval]
            ax.hlines(places, *ends, color=color, linewidth=1)
        ax.hlines(places, least[:, code], most[:, code], color=color, linewidth=5, alpha=0.6)
        label = literal(f"{outcome.name}={state_text(outcome.states[code])}")
        for estimate in effect.estimates:
            ax.plot(estimate.probabilities.reshape(shape)[:, code], places, "o", color=color)
        ax.plot([], [], "o", color=color, label=label)
        if seen is not None:
            ax.plot(seen[:, code], places, "o", color=color, fillstyle="none")
    if seen is not None:
        ax.plot([], [], "o", color=ink(), fillstyle="none", label="observed")
    ax.set_yticks(range(len(rows)), [literal(row) for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="x", alpha=0.3)
    ax.legend(fontsize="small")
    ax.set_ylabel(axis_label(", ".join(v.name for v in effect.treatment)))
    ax.set(xlabel="probability", title=title or literal(effect.question))
    return ax

"""Shares of states: the columns of a table, the variables of a model, the answer to a query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from counterpane.data.schema import state_text
from counterpane.errors import ParameterError
from counterpane.plots.axes import axes_or_new, ink, paper, shades
from counterpane.plots.matrices import heat_map, plain, short
from counterpane.typing import Floats

MAX_COLUMNS = 40
MAX_STATES = 30  # of an answer
LEAST_SHARE = 0.07  # of a bar that has its state written on it


def marginals(
    table: Any, *, columns: Sequence[str] | None = None, title: str = "", ax: Any = None
) -> Any:
    """Matplotlib axes with a bar for each column of a table, or variable of a model, by state.

    Missing cells are left white at the end of the bar. At most 40 columns, the first by default.

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
    told = table.marginals() if hasattr(table, "marginals") else None
    for row, name in enumerate(names):
        states = [state_text(state) for state in schema[name].states]
        shares = table.shares(name) if told is None else told[name].probabilities
        _bar(ax, row, shares, states)
    ax.set_yticks(range(len(names)), [plain(short(name)) for name in names])
    ax.set(title=title, xlabel="share", xlim=(0, 1), ylim=(len(names) - 0.4, -0.6))
    return ax


def answer(found: Any, *, title: str = "", ax: Any = None) -> Any:
    """Matplotlib axes with an answer's probabilities: bars, or squares for two variables.

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
        ax.set(title=title, xlabel=plain(names[1]), ylabel=plain(names[0]))
        return ax
    shown = list(islice(found.rows(), MAX_STATES))
    ax = axes_or_new(ax, (6.0, 1.0 + 0.3 * len(shown)))
    ax.barh(range(len(shown)), [p for _, p in shown])
    labels = [plain(short(", ".join(map(state_text, states)))) for states, _ in shown]
    ax.set_yticks(range(len(shown)), labels)
    ax.set(title=title, xlabel="probability", xlim=(0, 1), ylabel=plain(", ".join(names)))
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
            ax.text(left + share / 2, row, plain(text), ha="center", va="center", fontsize=8,
                    color=color)  # fmt: skip
        left += share

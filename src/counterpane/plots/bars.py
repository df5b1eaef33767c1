"""Named values, ranked: methods beside each other, and interactions by effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterpane.errors import ParameterError
from counterpane.plots.axes import axes_or_new
from counterpane.plots.matrices import plain, short

MAX_BARS = 40


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

    A record is a mapping with the method's `name` and the `value`, and, optionally, an `error` that
    is drawn to both sides. Records without the value are left out.

    >>> from matplotlib.figure import Figure
    >>> found = [{"method": "TAN", "log_loss": 0.5}, {"method": "NaiveBayes", "log_loss": 0.6}]
    >>> ax = comparison(found, "log_loss", ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['TAN', 'NaiveBayes']
    """
    kept = sorted((r for r in records if r.get(value) is not None), key=lambda r: float(r[value]))
    if not kept:
        raise ParameterError(f"no record has a value called {value!r}; nothing can be compared.")
    ax = axes_or_new(ax, (6.4, 1.0 + 0.35 * len(kept)))
    errors = None if error is None else [float(r.get(error) or 0.0) for r in kept]
    rows = range(len(kept))
    ax.errorbar([float(r[value]) for r in kept], rows, xerr=errors, fmt="o", capsize=3)
    _name_rows(ax, [str(r[name]) for r in kept])
    ax.grid(axis="x", alpha=0.3)
    ax.set(title=title, xlabel=value.replace("_", " "))
    return ax


def interactions(learner: Any, *, most: int = 20, title: str = "", ax: Any = None) -> Any:
    """Matplotlib axes with the largest interactions of a classifier, or of its `interactions_`.

    Bars are effects on the log-odds in nats, with their numbers; opacity is the share of half
    samples on which an interaction was selected, if that is known.

    >>> from matplotlib.figure import Figure
    >>> found = [{"columns": ["sex"], "effect": 1.0}]
    >>> ax = interactions(found, ax=Figure().subplots())
    >>> ax.get_yticklabels()[0].get_text(), float(ax.patches[0].get_width())
    ('sex', 1.0)
    """
    records = learner if isinstance(learner, list) else getattr(learner, "interactions_", None)
    if not records:
        raise ParameterError(
            f"a {type(learner).__name__} has no effects of interactions; InteractionClassifier "
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
    ax.set_yticks(range(len(names)), [plain(short(name)) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)

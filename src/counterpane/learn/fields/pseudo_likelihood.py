"""The weights of potentials and rules that maximize the pseudo-likelihood (Besag 1975).

    minimize −Σ rows weight · Σ v ln P(x_v | rest) + Σ w² / (2 · sd²),

which is convex, by L-BFGS. P(x_v | rest) depends on v and its blanket only, so each variable has
its own table of distinct rows over these few columns: often a thousandth of the rows, and all that
is asked of the source, once. Where a blanket has too many distinct rows, every evaluation streams
the rows instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError, TableSizeError
from counterpane.learn.driver import StoppedEarly
from counterpane.learn.fields._pseudo_kernels import add_pseudo_gradient
from counterpane.potentials import Blanket, Potential, Rules
from counterpane.potentials._kernels import Parts
from counterpane.progress import Control, Stopped
from counterpane.typing import Array, Codes, Floats, Ints

MAX_ROWS = 2**20  # distinct rows of one blanket that are kept
GRADIENT = 1e-6  # nats a row: the largest slope at the end
MAX_STEPS = 2000

_minimize: Any = minimize  # type stubs of scipy, where installed, ask for arrays of known rank


class View(NamedTuple):
    """Weighted rows of some columns, and the parts in terms of these for some of the variables."""

    parts: Parts
    codes: Codes
    weights: Floats
    variables: Ints


@dataclass(frozen=True)
class GradientTask:
    """−PLL of `variables` and its gradient over a block of rows, end to end."""

    parts: Parts
    variables: Ints

    def __call__(self, codes: Codes, weights: Array | None) -> Floats:
        plain = np.ones(codes.shape[1]) if weights is None else weights.astype(np.float64)
        return evaluate(View(self.parts, np.ascontiguousarray(codes), plain, self.variables))


def evaluate(view: View) -> Floats:
    """−PLL of a view, then its gradient by the values of the tables and the weights of rules."""
    n_values = view.parts.values.size
    out = np.zeros(1 + n_values + view.parts.rule_weights.size)
    scratch = np.empty(int(view.parts.cards.max()))
    codes = view.codes.view()
    codes.flags.writeable = False  # one type for the kernel, whatever was given
    out[0] = add_pseudo_gradient(
        view.parts, codes, view.weights, view.variables, scratch,
        out[1 : 1 + n_values], out[1 + n_values :],
    )  # fmt: skip
    return out


class PseudoLikelihood:
    """−PLL of `parts` on the rows of `source`, as a function of their weights; missing cells raise.

    Weights are the log-values of the tables, end to end in the order given, then those of rules.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> table = PseudoLikelihood(source, [Potential((1, 2), np.zeros((2, 2)))])
    >>> value, gradient = table(np.zeros(4))
    >>> round(value / source.n_rows, 4), gradient.shape  # ln of 4 · 2 · 2 · 2 joint states
    (3.4657, (4,))
    """

    def __init__(
        self,
        source: CountSource,
        parts: Sequence[Potential | Rules],
        *,
        max_rows: int = MAX_ROWS,
        ctl: Control | None = None,
    ) -> None:
        self.source = source
        self.ctl = ctl
        blanket = Blanket(source.schema.cards, parts, source.schema.names)
        self.parts = blanket.parts
        self.views: list[View] = []
        streamed = []
        for v in range(blanket.cards.size):
            try:
                self.views.append(self._view(v, blanket.neighbors(v), max_rows))
            except TableSizeError:
                streamed.append(v)
        self.streamed: Ints = np.array(streamed, dtype=np.int64)
        source.counts([(v,) for v in streamed], missing="error", ctl=ctl)

    def _view(self, v: int, neighbors: tuple[int, ...], max_rows: int) -> View:
        """The distinct rows of `v`, first, and its blanket."""
        columns = [v, *neighbors]
        rows = self.source.distinct(columns, limit=max_rows, ctl=self.ctl).resolve_missing("error")
        assert rows.weights is not None
        place = np.zeros(len(self.source.schema), dtype=np.int64)
        place[columns] = np.arange(len(columns))
        p = self.parts
        local = p._replace(
            cards=p.cards[columns],
            scopes=place[p.scopes],  # of potentials that do not touch v: never read
            rule_variables=place[p.rule_variables],
            potential_offsets=p.potential_offsets[v : v + 2],
            touching_offsets=p.touching_offsets[v : v + 2],
        )
        return View(local, rows.codes, rows.weights.astype(np.float64), np.zeros(1, dtype=np.int64))

    @property
    def n_weights(self) -> int:
        """The number of weights."""
        return self.parts.values.size + self.parts.rule_weights.size

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """−PLL in nats, not negative, and its gradient."""
        values, rules = np.split(w, [self.parts.values.size])
        total: Floats = np.zeros(1 + w.size)
        for view in self.views:
            if self.ctl is not None:
                self.ctl.check()
            parts = view.parts._replace(values=values, rule_weights=rules)
            total += evaluate(view._replace(parts=parts))
        if self.streamed.size:
            everything = self.parts._replace(values=values, rule_weights=rules)
            task = GradientTask(everything, self.streamed)
            total += self.source.sum_rows(task, range(len(self.source.schema)), ctl=self.ctl)
        return float(total[0]), total[1:]


def maximize(
    objective: PseudoLikelihood,
    *,
    prior_sd: float | Floats = 2.0,
    start: Floats | None = None,
    tolerance: float = GRADIENT,
    max_steps: int = MAX_STEPS,
    ctl: Control | None = None,
) -> Floats:
    """The weights of the largest penalized pseudo-likelihood; `prior_sd` may differ by weight.

    Stops when no slope is above `tolerance` nats a row. Stopped by `ctl` or by Ctrl-C it returns
    the best so far, with a `StoppedEarly` warning.
    """
    spread = np.broadcast_to(np.asarray(prior_sd, dtype=np.float64), objective.n_weights)
    if not (spread > 0).all():
        raise ParameterError(f"prior_sd={prior_sd!r}; standard deviations above zero are needed.")
    precision = spread**-2.0
    rows = float(objective.source.total_weight or 1.0)
    best_value, best = np.inf, np.zeros(objective.n_weights) if start is None else start
    steps = 0

    def penalized(w: Floats) -> tuple[float, Floats]:
        nonlocal best_value, best
        value, gradient = objective(w)
        value += 0.5 * float(precision @ (w * w))
        if value < best_value:
            best_value, best = value, w.copy()
        return value / rows, (gradient + precision * w) / rows

    def told(_: Floats) -> None:
        nonlocal steps
        steps += 1
        if ctl is not None:
            ctl.report("fitting weights", steps, None)

    options = {
        "maxiter": max_steps, "maxfun": 2 * max_steps, "gtol": tolerance, "ftol": 0.0, "maxcor": 20,
    }  # fmt: skip
    try:
        _minimize(penalized, best, jac=True, method="L-BFGS-B", callback=told, options=options)
    except (Stopped, KeyboardInterrupt) as reason:
        why = reason.reason if isinstance(reason, Stopped) else "Ctrl-C"
        warnings.warn(
            f"fitting weights was stopped ({why}) after {steps} steps; the result is the best so "
            "far: allow more time to come closer.",
            StoppedEarly,
            stacklevel=3,
        )
    return best

"""The price of an edge that was chosen among all pairs of columns."""

from __future__ import annotations

import copy
import math
from functools import cached_property

import numpy as np

from counterpane._core.scores import AVERAGE, LIKELIHOOD
from counterpane.errors import ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.scores.base import LocalScore
from counterpane.scores.priors import StructurePrior
from counterpane.typing import Floats, Ints

special = lazy("scipy.special")

FALSE_EDGES = 0.02  # false edges for each column, by default
MANY_COLUMNS = 100  # from so many columns on
MAX_FREEDOM = 4096  # degrees of freedom up to which prices differ; beyond, the score itself is dear


def false_edge_rate(false_edges: float | str | None, n_columns: int) -> float | None:
    """The rate α that a parameter `false_edges` stands for, checked; None for no price.

    >>> false_edge_rate("auto", 20), false_edge_rate("auto", 500), false_edge_rate(0.1, 20)
    (None, 0.02, 0.1)
    """
    if false_edges is None:
        return None
    if false_edges == "auto":
        return FALSE_EDGES if n_columns >= MANY_COLUMNS else None
    if isinstance(false_edges, bool | str) or not 0 < float(false_edges) < math.inf:
        raise ParameterError(
            Setting("false_edges", false_edges),
            '; "auto", None, or a number above zero (false edges for each column) is needed.',
        )
    return float(false_edges)


def chance_gain(n_columns: int, rate: float = FALSE_EDGES) -> float:
    """Nats that rate · n of the pairs of n independent binary columns gain: ½ χ²₁⁻¹(1 − 2α / n).

    >>> round(chance_gain(2000), 2)
    9.09
    """
    return float(special.gammainccinv(0.5, min(1.0, 2 * rate / n_columns)))


def edge_prices(score: LocalScore, total: float, n_columns: int, rate: float | None) -> Floats:
    """Nats that an edge of d = 0, 1, … degrees of freedom costs beyond the penalty of `score`.

    e(d) = max(0, ½ χ²_d⁻¹(1 − 2α / n) − d · penalty): an edge then pays the larger of the score's
    penalty and the price at which n independent columns would show α · n edges. Of a likelihood
    score the penalty is that of a parameter; of all others it is that of BIC, ½ ln N. Node-average
    scores are per row, and so are their prices.

    >>> from counterpane.scores import BIC
    >>> edge_prices(BIC(), 1000, 2000, 0.02)[1:4].round(2).tolist()
    [5.64, 3.91, 1.87]
    """
    freedom = np.arange(1, MAX_FREEDOM + 1, dtype=np.float64)
    if rate is None or not total > 0:
        return np.zeros(MAX_FREEDOM + 1)
    form = score.form(total)
    penalty, scale = 0.5 * math.log(max(total, 2.0)), 1.0
    if form is not None and form.kind == LIKELIHOOD:
        penalty = form.a
    elif form is not None and form.kind == AVERAGE:
        penalty, scale = form.a * total, 1 / total
    share = min(1.0, 2 * rate / n_columns)
    quantiles = special.gammainccinv(freedom / 2, share)  # ½ χ²_d⁻¹(1 − share)
    prices: Floats = np.maximum(0.0, quantiles - penalty * freedom) * scale
    return np.concatenate([[0.0], prices])


class EdgePrice(StructurePrior):
    """Another prior, and a price for each edge by its degrees of freedom (r_p − 1)(r_i − 1).

    It depends on the skeleton alone: all networks of an equivalence class pay the same.
    """

    def __init__(self, prior: StructurePrior, cards: Ints, prices: Floats) -> None:
        self.prior = prior
        self.cards = cards
        self.prices = prices

    @property
    def score_equivalent(self) -> bool:  # type: ignore[override]
        """Whether the other prior is."""
        return self.prior.score_equivalent

    @property
    def by_parameter(self) -> float:
        return self.prior.by_parameter

    def by_count(self, n: int) -> Floats:
        return self.prior.by_count(n)

    def by_edge(self, n: int) -> Floats:
        return self._by_edge

    @cached_property
    def _by_edge(self) -> Floats:
        free = np.minimum(np.multiply.outer(self.cards - 1, self.cards - 1), MAX_FREEDOM)
        edges, more = -self.prices[free], self.prior.by_edge(len(self.cards))
        return edges + more if more.size else edges

    def __repr__(self) -> str:
        return repr(self.prior)


def with_edge_price(score: LocalScore, cards: Ints, total: float, rate: float | None) -> LocalScore:
    """`score` with the price of an edge in its structure prior, for columns of these `cards`."""
    prices = edge_prices(score, total, len(cards), rate)
    if not prices.any():
        return score
    priced = copy.copy(score)
    priced.structure_prior = EdgePrice(score.structure_prior, cards, prices)
    return priced

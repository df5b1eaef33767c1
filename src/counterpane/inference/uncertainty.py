"""What uncertain parameters do to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterpane.errors import ParameterError
from counterpane.features import Potential
from counterpane.inference.exact import log_sum, marginal
from counterpane.typing import Floats, Ints


def answer_interval(
    families: Mapping[tuple[int, ...], Floats],
    cards: Ints,
    asked: Sequence[int],
    evidence: Mapping[int, int],
    known: Sequence[Potential] = (),
    *,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """(mean, lower, upper) of P(asked | evidence) over tables drawn from Dirichlet distributions.

    `families` maps scopes (parents…, variable) to the Dirichlet parameters of their tables. The
    bounds hold the middle `level` of the answers, cell by cell. `known` are potentials without
    uncertainty.
    """
    if not (0 < level < 1 and draws >= 2):
        raise ParameterError(
            f"level={level!r}, draws={draws!r}; a level between 0 and 1, and 2 draws or more, are "
            "needed."
        )
    found = np.stack(
        [
            marginal(
                [
                    *(Potential(scope, draw_logs(rng, alpha)) for scope, alpha in families.items()),
                    *known,
                ],
                cards,
                asked,
                evidence,
            )[0]
            for _ in range(draws)
        ]
    )
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return found.mean(axis=0), low, high


def draw_logs(rng: np.random.Generator, alpha: Floats) -> Floats:
    """Logs of one draw from the Dirichlet distribution of each row of `alpha`, its last axis.

    A gamma variable of shape α is one of shape α + 1 times u^(1/α): in logs, so that α near 0 does
    not give a row of zeros (Marsaglia & Tsang 2000). Where α is 0, so is the probability.
    """
    with np.errstate(divide="ignore"):
        logs = (
            np.log(rng.standard_gamma(alpha + 1.0)) - rng.standard_exponential(alpha.shape) / alpha
        )
    return logs - log_sum(logs)[..., None]

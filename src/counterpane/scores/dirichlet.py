"""Marginal likelihoods under Dirichlet priors: K2, BDeu, BDe (Heckerman, Geiger & Chickering 1995).

BD = Σ_j [lnΓ(α_j) − lnΓ(α_j + N_j) + Σ_k lnΓ(α_jk + N_jk) − lnΓ(α_jk)], j over the parents'
configurations, k over the child's states.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Protocol

import numpy as np

from counterpane._core.scores import CONSTANT, EQUIVALENT
from counterpane.errors import FitError, ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.scores.base import Form, FormScore, LocalScore
from counterpane.scores.priors import StructurePrior
from counterpane.typing import Array

special = lazy("scipy.special")


def _positive(name: str, value: Any) -> float:
    number = isinstance(value, Real)
    if not (number and 0 < value < np.inf):
        raise ParameterError(Setting(name, value), "; a positive number is needed.")
    return float(value)


class K2(FormScore):
    """Marginal likelihood with the same α_ijk = α in every cell. Not score-equivalent.

    α = 1 is the prior of Cooper & Herskovits (1992): all distributions are equally probable. A
    smaller α expects distributions near one state, a larger α expects uniform ones.

    Parameters
    ----------
    alpha : float
        The weight of the prior in each cell, in rows.
    structure_prior : StructurePrior, optional
        Prior probabilities of networks, by default uniform.

    Examples
    --------
    >>> import counterpane as cp
    >>> round(cp.HillClimb(cp.K2()).fit(cp.load_dataset("titanic")).score_, 1)
    -5223.2
    """

    name = "k2"
    score_equivalent = False

    def __init__(
        self, alpha: float = 1.0, *, structure_prior: StructurePrior | None = None
    ) -> None:
        super().__init__(structure_prior=structure_prior)
        self.alpha = _positive("alpha", alpha)

    def form(self, total: float) -> Form:
        return Form(CONSTANT, self.alpha)


class BDeu(FormScore):
    """Marginal likelihood with α_ijk = equivalent_sample_size / (r_i q_i).

    Parameters
    ----------
    equivalent_sample_size : float
        The weight of the prior, in rows.
    structure_prior : StructurePrior, optional
        Prior probabilities of networks, by default uniform.

    Examples
    --------
    >>> import counterpane as cp
    >>> round(cp.GES(cp.BDeu(10)).fit(cp.load_dataset("titanic")).score_, 1)
    -5231.6
    """

    name = "bdeu"

    def __init__(
        self,
        equivalent_sample_size: float = 1.0,
        *,
        structure_prior: StructurePrior | None = None,
    ) -> None:
        super().__init__(structure_prior=structure_prior)
        self.equivalent_sample_size = _positive("equivalent_sample_size", equivalent_sample_size)

    def form(self, total: float) -> Form:
        return Form(EQUIVALENT, self.equivalent_sample_size)


class PriorNetwork(Protocol):
    """What BDe asks of its prior: a schema and joint marginals, as every model here gives."""

    @property
    def schema(self) -> Any: ...

    def query(self, variables: Sequence[str]) -> Any: ...


class BDe(LocalScore):
    """Marginal likelihood with α_ijk = equivalent_sample_size · P_prior(x_i = k, pa_i = j).

    The prior is a network over the same variables in the same order. If a cell has probability zero
    in the prior but occurs in the data, the score of its family is −∞.

    Parameters
    ----------
    prior : model
        The prior network.
    equivalent_sample_size : float
        The weight of the prior, in rows.
    structure_prior : StructurePrior, optional
        Prior probabilities of networks, by default uniform.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.load_dataset("titanic")
    >>> expected = cp.ChowLiu().fit(table).model_
    >>> round(cp.HillClimb(cp.BDe(expected, 10)).fit(table).score_, 1)
    -5269.3
    """

    name = "bde"

    def __init__(
        self,
        prior: PriorNetwork,
        equivalent_sample_size: float = 1.0,
        *,
        structure_prior: StructurePrior | None = None,
    ) -> None:
        super().__init__(structure_prior=structure_prior)
        self.prior = prior
        self.equivalent_sample_size = _positive("equivalent_sample_size", equivalent_sample_size)

    def family(self, counts: Array, total: float, child: int, parents: Sequence[int]) -> float:
        names = [self.prior.schema.names[v] for v in (*parents, child)]
        alpha = self.equivalent_sample_size * self.prior.query(names).probabilities
        if alpha.shape != counts.shape:
            raise FitError(
                f"the prior network gives {'×'.join(map(str, alpha.shape))} states for "
                f"{', '.join(names)}; the data has {'×'.join(map(str, counts.shape))}."
            )
        if (counts[alpha == 0] > 0).any():
            return -np.inf
        alpha_row, row = alpha.sum(axis=-1), counts.sum(axis=-1)
        seen, seen_row = counts > 0, row > 0
        cells = special.gammaln(alpha[seen] + counts[seen]) - special.gammaln(alpha[seen])
        rows = special.gammaln(alpha_row[seen_row]) - special.gammaln(
            alpha_row[seen_row] + row[seen_row]
        )
        return float(cells.sum() + rows.sum())

"""Penalized likelihood scores: LL, AIC, BIC.

LL = Σ N_ijk ln(N_ijk / N_ij); a family has q_i (r_i − 1) free parameters, where q_i counts all
configurations of the parents, observed or not.
"""

from __future__ import annotations

import math

from counterpane._core.scores import LIKELIHOOD
from counterpane.scores.base import Form, FormScore


class LogLikelihood(FormScore):
    """Maximized log-likelihood, in nats; it never falls when an edge is added.

    >>> import counterpane as cp
    >>> round(cp.ChowLiu(cp.LogLikelihood()).fit(cp.load_dataset("titanic")).score_, 1)
    -5275.7
    """

    name = "loglik"

    def form(self, total: float) -> Form:
        return Form(LIKELIHOOD, 0.0)


class AIC(FormScore):
    """Log-likelihood less one nat per free parameter (Akaike 1974).

    >>> import counterpane as cp
    >>> round(cp.GES(cp.AIC()).fit(cp.load_dataset("titanic")).score_, 1)
    -5182.5
    """

    name = "aic"

    def form(self, total: float) -> Form:
        return Form(LIKELIHOOD, 1.0)


class BIC(FormScore):
    """Log-likelihood less ½ ln N nats per free parameter (Schwarz 1978); the same as MDL.

    >>> import counterpane as cp
    >>> round(cp.GES(cp.BIC()).fit(cp.load_dataset("titanic")).score_, 1)
    -5251.1
    """

    name = "bic"

    def form(self, total: float) -> Form:
        return Form(LIKELIHOOD, 0.5 * math.log(total) if total > 0 else 0.0)

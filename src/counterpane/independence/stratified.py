"""The stratified test of conditional independence: valid where each slice holds few rows."""

from __future__ import annotations

import numpy as np

from counterpane._core import independence as kernels
from counterpane.counts.batch import Layout
from counterpane.errors import ParameterError
from counterpane.independence.base import Verdict
from counterpane.independence.counted import CountTest
from counterpane.lazy import lazy
from counterpane.typing import Array, Floats

special = lazy("scipy.special")


class StratifiedTest(CountTest):
    """Tests the association that all configurations of `given` share; natural logs.

    This is the generalized test of Cochran, Mantel and Haenszel. With t_ijk the counts in slice
    k, r_ik and c_jk its margins and n_k its rows, over the states that occur in the table, the last
    of each left out:

        d   = Σ_k (t_ijk − r_ik c_jk / n_k)
        Q   = dᵀ V⁻ d,  V = Σ_k the hypergeometric covariance of slice k,  df = rank V
        gap = ½ (df ln N − Q)

    df does not grow with the number of slices, so the test holds its level however thin they are.
    An association that changes its sign between slices and cancels is seen by the second term,
    X = Σ_k χ²_k (n_k − 1) / n_k with mean μ: gap = min(gap, ½ (μ ln N − X)) where μ > df.
    `heterogeneity=False` leaves this term out.

    The verdict is independent where `gap` ≥ 0 (the Bayesian information criterion), or, with
    `alpha`, where the p-value of Q is above `alpha`. That p-value does not include the second term.

    >>> import counterpane as cp
    >>> test = cp.StratifiedTest().bind(cp.MemoryCounts(cp.load_dataset("titanic")))
    >>> verdict = test("sex", "survived", given=["status", "age"])
    >>> verdict.independent, round(verdict.statistic, 1), round(verdict.gap, 1)
    (False, 364.3, -185.1)
    """

    name = "stratified"
    _n_numbers = 5

    def __init__(self, alpha: float | None = None, *, heterogeneity: bool = True) -> None:
        if alpha is not None and not 0 < alpha < 1:
            raise ParameterError(f"alpha={alpha}; a level between 0 and 1, or None, is needed.")
        self.alpha = alpha
        self.heterogeneity = heterogeneity

    def _measure(self, values: Array, layout: Layout, n_slices: Floats, out: Floats) -> None:
        kernels.stratified(values, *layout, out)

    def _judge(self, numbers: Floats) -> list[Verdict]:
        statistic, freedom, uneven, mean, rows = numbers.T
        log_rows = np.log(np.maximum(rows, 1.0))
        gaps = 0.5 * (freedom * log_rows - statistic)
        if self.heterogeneity:  # of one slice both terms are the same
            other = 0.5 * (mean * log_rows - uneven)
            gaps = np.where(mean > freedom, np.minimum(gaps, other), gaps)
        p_values = special.chdtrc(np.maximum(freedom, 1.0), statistic)
        verdicts = gaps >= 0 if self.alpha is None else p_values > self.alpha
        return [
            Verdict(independent, q, p, int(df), gap=gap)
            for independent, q, p, df, gap in zip(
                verdicts.tolist(),
                statistic.tolist(),
                p_values.tolist(),
                freedom.tolist(),
                gaps.tolist(),
                strict=True,
            )
        ]

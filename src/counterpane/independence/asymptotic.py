"""Pearson's χ² and the likelihood-ratio test G², with asymptotic p-values."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from counterpane._core import independence as kernels
from counterpane.counts.batch import Layout
from counterpane.errors import ParameterError
from counterpane.independence.base import Verdict
from counterpane.independence.counted import CountTest
from counterpane.lazy import lazy
from counterpane.typing import Array, Floats

special = lazy("scipy.special")


class _Asymptotic(CountTest):
    """A statistic that tends to χ² under independence: independent where p > `alpha`."""

    _pearson: ClassVar[bool]

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        degrees_of_freedom: Literal["observed", "full"] = "observed",
    ) -> None:
        if not 0 < alpha < 1:
            raise ParameterError(f"alpha={alpha}; a level between 0 and 1 is needed.")
        if degrees_of_freedom not in ("observed", "full"):
            raise ParameterError(
                f"degrees_of_freedom={degrees_of_freedom!r}; 'observed' or 'full' is allowed."
            )
        self.alpha = alpha
        self.degrees_of_freedom = degrees_of_freedom
        self._every_slice = degrees_of_freedom == "full"

    def _measure(self, values: Array, layout: Layout, n_slices: Floats, out: Floats) -> None:
        kernels.asymptotic(values, *layout, n_slices, self._pearson, out)

    def _judge(self, numbers: Floats) -> list[Verdict]:
        statistic, freedom = numbers[:, 0], numbers[:, 1]
        # Without degrees of freedom the statistic is 0, and 1 of them makes p = 1.
        p_values = special.chdtrc(np.maximum(freedom, 1.0), statistic)
        return [
            Verdict(p > self.alpha, s, p, int(df))
            for s, p, df in zip(
                statistic.tolist(), p_values.tolist(), freedom.tolist(), strict=True
            )
        ]


class ChiSquare(_Asymptotic):
    """Pearson's χ² = Σ (N − E)² / E, summed over the configurations of `given`; no correction.

    `degrees_of_freedom="observed"` counts, per configuration, only the rows and columns that occur
    in it, and "full" is (r_x − 1)(r_y − 1) · configurations, whether they occur or not. With zero
    degrees of freedom p = 1.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> test = ChiSquare().bind(MemoryCounts(load_dataset("titanic")))
    >>> verdict = test("sex", "survived", given=["age"])
    >>> verdict.independent, round(verdict.statistic, 1), verdict.degrees_of_freedom
    (False, 463.9, 2)
    """

    name = "chi2"
    _pearson = True


class GTest(_Asymptotic):
    """G² = 2 Σ N ln(N · N_k / (N_ik N_jk)), k over the configurations of `given`.

    It is 2 N times the conditional mutual information in nats. `degrees_of_freedom` as in
    `ChiSquare`.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> test = GTest(alpha=0.01).bind(MemoryCounts(load_dataset("titanic")))
    >>> [v.independent for v in test.verdicts([("sex", "age", ()), ("sex", "age", "status")])]
    [False, True]
    """

    name = "g2"
    _pearson = False

"""The Bayesian test of conditional independence for discrete variables (Margaritis 2005)."""

from __future__ import annotations

from typing import Literal

from counterpane._core import independence as kernels
from counterpane.counts.batch import Layout
from counterpane.errors import ParameterError
from counterpane.independence.base import Verdict
from counterpane.independence.counted import CountTest
from counterpane.typing import Array, Floats

TIE = 1e-9


class BayesianTest(CountTest):
    """Compares two models of the data by their marginal likelihoods; natural logs.

    In each configuration (slice) of `given`, x and y are either two independent multinomials or
    one joint multinomial, with Dirichlet priors. x ⊥ y | given means that they are independent in
    all K slices. The prior probability of independence in one slice is prior^(1/K), so that
    `prior` is the prior probability of the whole statement.

    `hyper="uniform"` sets every Dirichlet parameter to 1; "consistent" gives the margins what the
    joint implies, r_y for the states of x and r_x for those of y. With `slices="observed"` K is
    the number of configurations that occur, with "all" that of all configurations. The answer is
    independence if its posterior is at least ½; so it is for a variable with one state, and if
    there are no rows.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> test = BayesianTest().bind(MemoryCounts(load_dataset("titanic")))
    >>> verdict = test("status", "survived", "sex")
    >>> verdict.independent, [round(v, 1) for v in verdict.log_likelihoods]
    (False, [-3799.0, -3729.7])
    """

    name = "bayesian"

    def __init__(
        self,
        *,
        hyper: Literal["uniform", "consistent"] = "uniform",
        slices: Literal["observed", "all"] = "observed",
        prior: float = 0.5,
    ) -> None:
        if hyper not in ("uniform", "consistent"):
            raise ParameterError(f"hyper={hyper!r}; 'uniform' or 'consistent' is allowed.")
        if slices not in ("observed", "all"):
            raise ParameterError(f"slices={slices!r}; 'observed' or 'all' is allowed.")
        if not 0 < prior < 1:
            raise ParameterError(f"prior={prior}; a probability between 0 and 1 is needed.")
        self.hyper = hyper
        self.slices = slices
        self._every_slice = slices == "all"
        self.prior = prior

    def _measure(self, values: Array, layout: Layout, n_slices: Floats, out: Floats) -> None:
        consistent = self.hyper == "consistent"
        kernels.bayesian(values, *layout, n_slices, consistent, self.prior, out)

    def _judge(self, numbers: Floats) -> list[Verdict]:
        return [
            Verdict(
                probability > 0.5 - TIE,
                log_likelihoods=(independent, dependent),
                probability=probability,
            )
            for independent, dependent, probability in numbers.tolist()
        ]

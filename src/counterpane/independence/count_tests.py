"""Tests computed from contingency tables: χ², G², the Bayesian and the stratified test."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from counterpane._core import independence as kernels
from counterpane.counts.layout import MAX_BATCH_CELLS, CountLayout, SparseCounts
from counterpane.counts.source import CountSource
from counterpane.errors import FitError, ParameterError, Setting, TableSizeError, unknown_name
from counterpane.independence.base import IndependenceTest, Question, Verdict, VerdictColumns
from counterpane.lazy import lazy
from counterpane.progress import Control
from counterpane.typing import Array, Floats, Ints

special = lazy("scipy.special")

TIE = 1e-9  # a posterior of independence that close to ½ counts as ½


class CountTest(IndependenceTest):
    """A test on the table of (given…, x, y); rows with a missing cell in these columns are dropped.

    A batch of tests needs one batch of counts and one kernel call for all dense tables.
    """

    name: ClassVar[str]
    _n_numbers: ClassVar[int] = 3  # numbers that `_measure` fills for each test
    _every_slice: bool = False  # whether configurations of `given` without rows are counted
    _source: CountSource | None = None
    _ctl: Control | None = None

    def bind(self, source: CountSource, *, ctl: Control | None = None) -> Self:
        bound = copy.copy(self)
        bound._source, bound._ctl = source, ctl
        return bound

    @property
    def source(self) -> CountSource:
        """The data that the test is bound to."""
        if self._source is None:
            raise FitError(f"{self!r} has no data yet; call bind(source) and ask what it returns.")
        return self._source

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.schema.names

    def answer(self, questions: Sequence[Question]) -> list[Verdict]:
        if not questions:
            return []
        return self._judged([(*given, x, y) for x, y, given in questions]).verdicts()

    def judge_all(self, pairs: Ints, conditions: Ints) -> VerdictColumns:
        return self._judged(np.column_stack([conditions, pairs]))

    def _judged(self, scopes: Sequence[Sequence[int]] | Ints) -> VerdictColumns:
        """The verdicts on tables of (given…, x, y)."""
        batch = self.source.counts(scopes, ctl=self._ctl)
        layout = batch.layout
        n_slices = np.zeros(len(scopes))
        if self._every_slice:
            kernels.count_configurations(layout.cards, layout.scopes, layout.scope_from, n_slices)
        numbers = np.empty((len(scopes), self._n_numbers))
        self._measure(batch.values, layout, n_slices, numbers)
        for i in layout.sparse:
            row = slice(i, i + 1)
            self._measure(*compact_table(batch.sparse(i)), n_slices[row], numbers[row])
        return self._judge(numbers)

    @abstractmethod
    def _measure(self, values: Array, layout: CountLayout, n_slices: Floats, out: Floats) -> None:
        """Fill a row of `out` for each table, by a kernel."""

    @abstractmethod
    def _judge(self, numbers: Floats) -> VerdictColumns:
        """The verdicts, from the numbers that `_measure` filled."""


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
            raise ParameterError(Setting("alpha", alpha), "; a level between 0 and 1 is needed.")
        if degrees_of_freedom not in ("observed", "full"):
            raise ParameterError(
                Setting("degrees_of_freedom", degrees_of_freedom),
                "; 'observed' or 'full' is allowed.",
            )
        self.alpha = alpha
        self.degrees_of_freedom = degrees_of_freedom
        self._every_slice = degrees_of_freedom == "full"

    def _measure(self, values: Array, layout: CountLayout, n_slices: Floats, out: Floats) -> None:
        kernels.asymptotic(values, *layout, n_slices, self._pearson, out)

    def _judge(self, numbers: Floats) -> VerdictColumns:
        statistics, freedom = numbers[:, 0], numbers[:, 1]
        p_values = chi2_tail(statistics, freedom)
        independent = p_values > self.alpha
        return VerdictColumns.made_of(
            independent, statistic=statistics, p_value=p_values, degrees_of_freedom=freedom
        )


class ChiSquare(_Asymptotic):
    """Pearson's test: χ² = Σ (N − E)² / E over all slices, without a correction.

    A slice is a configuration of `given`. With zero degrees of freedom p = 1.

    Parameters
    ----------
    alpha : float
        The level: independent if p > alpha.
    degrees_of_freedom : {"observed", "full"}
        "observed" counts, in each slice, only rows and columns that occur in it; "full" is
        (r_x − 1)(r_y − 1) times the number of all configurations.

    Examples
    --------
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
    """Likelihood-ratio test: G² = 2 Σ N ln(N · N_k / (N_ik N_jk)), k over the slices of `given`.

    It is 2 N times the conditional mutual information in nats.

    Parameters
    ----------
    alpha, degrees_of_freedom
        See `ChiSquare`.

    Examples
    --------
    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> test = GTest(alpha=0.01).bind(MemoryCounts(load_dataset("titanic")))
    >>> [v.independent for v in test.verdicts([("sex", "age", ()), ("sex", "age", "status")])]
    [False, True]
    """

    name = "g2"
    _pearson = False


class BayesianTest(CountTest):
    """Compares two models of the data by their marginal likelihoods; natural logs.

    In each slice (configuration of `given`), x and y are either two independent multinomials or
    one joint multinomial, with Dirichlet priors. x ⊥ y | given means that they are independent in
    all K slices. The prior probability of independence in one slice is prior^(1/K), so that
    `prior` is the prior probability of the statement about all slices. The answer is independence
    if its posterior is at least ½; so it is for a variable with one state, and if there are no
    rows. D. Margaritis, Distribution-free learning of Bayesian network structure in continuous
    domains, AAAI 2005.

    Parameters
    ----------
    hyper : {"uniform", "consistent"}
        "uniform" sets every Dirichlet parameter to 1; "consistent" gives the margins what the joint
        implies, r_y for the states of x and r_x for those of y.
    slices : {"observed", "all"}
        Whether K is the number of configurations that occur, or of all configurations.
    prior : float
        The prior probability of independence.

    Examples
    --------
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
            raise ParameterError(Setting("hyper", hyper), "; 'uniform' or 'consistent' is allowed.")
        if slices not in ("observed", "all"):
            raise ParameterError(Setting("slices", slices), "; 'observed' or 'all' is allowed.")
        if not 0 < prior < 1:
            raise ParameterError(
                Setting("prior", prior), "; a probability between 0 and 1 is needed."
            )
        self.hyper = hyper
        self.slices = slices
        self._every_slice = slices == "all"
        self.prior = prior

    def _measure(self, values: Array, layout: CountLayout, n_slices: Floats, out: Floats) -> None:
        consistent = self.hyper == "consistent"
        kernels.bayesian(values, *layout, n_slices, consistent, self.prior, out)

    def _judge(self, numbers: Floats) -> VerdictColumns:
        probability = numbers[:, 2]
        return VerdictColumns.made_of(
            probability > 0.5 - TIE, log_likelihoods=numbers[:, :2], probability=probability
        )


class StratifiedTest(CountTest):
    """Tests the association that all slices of `given` share; natural logs.

    This is the generalized test of Cochran, Mantel and Haenszel. With t_ijk the counts in slice
    k, r_ik and c_jk its margins and n_k its rows, over the states that occur in the table, the last
    of each left out:

        d   = Σ_k (t_ijk − r_ik c_jk / n_k)
        Q   = dᵀ V⁻ d,  V = Σ_k the hypergeometric covariance of slice k,  df = rank V
        gap = ½ (df ln N − Q)

    df does not grow with the number of slices, so the test holds its level if slices have few rows.
    An association that changes its sign between slices and cancels is found by the second term,
    X = Σ_k χ²_k (n_k − 1) / n_k with mean μ: gap = min(gap, ½ (μ ln N − X)) where μ > df.

    Parameters
    ----------
    alpha : float, optional
        By default x and y are independent if gap ≥ 0 (the Bayesian information criterion). With
        `alpha`, if the p-value of Q is above it; the second term has no effect on that p-value.
    heterogeneity : bool
        Whether to use the second term.

    Examples
    --------
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
            raise ParameterError(
                Setting("alpha", alpha), "; a level between 0 and 1, or None, is needed."
            )
        self.alpha = alpha
        self.heterogeneity = heterogeneity

    def _measure(self, values: Array, layout: CountLayout, n_slices: Floats, out: Floats) -> None:
        kernels.stratified(values, *layout, out)

    def _judge(self, numbers: Floats) -> VerdictColumns:
        statistics, freedom, heterogeneity, mean, n_rows = numbers.T
        log_rows = np.log(np.maximum(n_rows, 1.0))
        gaps = 0.5 * (freedom * log_rows - statistics)
        if self.heterogeneity:  # both terms are equal if there is one slice
            second = 0.5 * (mean * log_rows - heterogeneity)
            gaps = np.where(mean > freedom, np.minimum(gaps, second), gaps)
        p_values = chi2_tail(statistics, freedom)
        independent = gaps >= 0 if self.alpha is None else p_values > self.alpha
        return VerdictColumns.made_of(
            independent,
            statistic=statistics,
            p_value=p_values,
            degrees_of_freedom=freedom,
            gap=gaps,
        )


_BY_NAME: dict[str, type[CountTest]] = {
    t.name: t for t in (StratifiedTest, BayesianTest, ChiSquare, GTest)
}


def as_test(test: str | IndependenceTest) -> IndependenceTest:
    """`test` itself, or the test of that name with its default parameters.

    >>> as_test("g2")
    GTest(alpha=0.05, degrees_of_freedom='observed')
    """
    if isinstance(test, IndependenceTest):
        return test
    if not isinstance(test, str):
        raise ParameterError(Setting("test", test), "; a name or a test such as GTest() is needed.")
    try:
        return _BY_NAME[test.lower()]()
    except KeyError:
        raise unknown_name("test", test, _BY_NAME) from None


def chi2_tail(statistics: Floats, freedom: Floats) -> Floats:
    """p-values of the χ² distribution; 1 where there are no degrees of freedom, as χ² is 0 then."""
    p_values: Floats = special.chdtrc(np.maximum(freedom, 1.0), statistics)
    return p_values


def compact_table(counts: SparseCounts) -> tuple[Array, CountLayout]:
    """A flat table with axes (occurring configuration of given, x, y), and its layout."""
    *given, x, y = counts.codes
    starts = np.zeros(counts.values.size, dtype=np.int64)
    for column in given:  # cells come sorted: a configuration starts where any column changes
        starts[1:] |= column[1:] != column[:-1]
    shape = (int(starts.sum()) + 1, *counts.shape[-2:])
    size = int(np.prod(shape))
    if size > MAX_BATCH_CELLS:
        raise TableSizeError(
            f"{shape[0]:,} configurations of the given columns by {shape[1]}×{shape[2]} states are "
            f"{size:,} cells; the limit is {MAX_BATCH_CELLS:,}: condition on fewer columns."
        )
    table = np.zeros(shape, dtype=counts.values.dtype)
    table[np.cumsum(starts), x, y] = counts.values
    axes = np.arange(3)
    return table.ravel(), CountLayout(np.array(shape), axes, np.array([0, 3]), np.array([0, size]))

"""Tests by name, for parameters that take a string."""

from __future__ import annotations

from counterpane.errors import ParameterError, unknown_name
from counterpane.independence.asymptotic import ChiSquare, GTest
from counterpane.independence.base import IndependenceTest
from counterpane.independence.bayesian import BayesianTest
from counterpane.independence.counted import CountTest
from counterpane.independence.stratified import StratifiedTest

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
        raise ParameterError(f"test={test!r}; a name or a test such as GTest() is needed.")
    try:
        return _BY_NAME[test.lower()]()
    except KeyError:
        raise unknown_name("test", test, _BY_NAME) from None

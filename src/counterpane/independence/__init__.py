"""Tests of conditional independence, their cost, and measures of information."""

from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.independence.count_tests import (
    BayesianTest,
    ChiSquare,
    GTest,
    StratifiedTest,
    as_test,
)
from counterpane.independence.information import (
    entropy,
    interaction_information,
    mutual_information,
    mutual_information_matrix,
)
from counterpane.independence.ledger import Ledger, Record
from counterpane.independence.oracle import Oracle

__all__ = [
    "BayesianTest",
    "ChiSquare",
    "GTest",
    "IndependenceTest",
    "Ledger",
    "Oracle",
    "Question",
    "Record",
    "StratifiedTest",
    "Verdict",
    "as_test",
    "entropy",
    "interaction_information",
    "mutual_information",
    "mutual_information_matrix",
]

"""Numbers for a test: is x independent of y given these, and what did it cost to know."""

from counterpane.independence.asymptotic import ChiSquare, GTest
from counterpane.independence.base import IndependenceTest, Question, Verdict
from counterpane.independence.bayesian import BayesianTest
from counterpane.independence.information import (
    entropy,
    interaction_information,
    mutual_information,
    mutual_information_matrix,
)
from counterpane.independence.ledger import Ledger, Record
from counterpane.independence.names import as_test
from counterpane.independence.oracle import Oracle
from counterpane.independence.stratified import StratifiedTest

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

"""Numbers for a family: how well some parents explain a child."""

from counterpane.scores.base import LocalScore, score_dag, score_families
from counterpane.scores.dirichlet import K2, BDe, BDeu
from counterpane.scores.likelihood import AIC, BIC, LogLikelihood, NodeAverageLikelihood
from counterpane.scores.names import as_score, score_names
from counterpane.scores.priors import (
    EdgeOdds,
    EdgePrior,
    ParameterCountPrior,
    ParentCountPrior,
    StructurePrior,
    UniformPrior,
)

__all__ = [
    "AIC",
    "BIC",
    "K2",
    "BDe",
    "BDeu",
    "EdgeOdds",
    "EdgePrior",
    "LocalScore",
    "LogLikelihood",
    "NodeAverageLikelihood",
    "ParameterCountPrior",
    "ParentCountPrior",
    "StructurePrior",
    "UniformPrior",
    "as_score",
    "score_dag",
    "score_families",
    "score_names",
]

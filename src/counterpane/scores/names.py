"""Scores by name, for parameters that take a string."""

from __future__ import annotations

from counterpane.errors import ParameterError, Setting, unknown_name
from counterpane.scores.base import LocalScore
from counterpane.scores.dirichlet import K2, BDeu
from counterpane.scores.likelihood import AIC, BIC, LogLikelihood, NodeAverageLikelihood

SCORES: tuple[type[LocalScore], ...] = (
    LogLikelihood,
    AIC,
    BIC,
    K2,
    BDeu,
    NodeAverageLikelihood,
)  # a new score is a class, and a line here
_BY_NAME = {score.name: score for score in SCORES} | {"mdl": BIC}


def score_names() -> tuple[str, ...]:
    """The names that `as_score` knows."""
    return tuple(_BY_NAME)


def as_score(criterion: str | LocalScore) -> LocalScore:
    """`criterion` itself, or the score of that name with its default parameters."""
    if isinstance(criterion, LocalScore):
        return criterion
    if not isinstance(criterion, str):
        raise ParameterError(
            Setting("criterion", criterion), "; a name or a score such as BIC() is needed."
        )
    try:
        return _BY_NAME[criterion.lower()]()
    except KeyError:
        raise unknown_name("criterion", criterion, _BY_NAME) from None

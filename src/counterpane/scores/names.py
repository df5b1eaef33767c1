"""Scores by name, for parameters that take a string."""

from __future__ import annotations

from counterpane.errors import ParameterError, unknown_name
from counterpane.scores.base import LocalScore
from counterpane.scores.dirichlet import K2, BDeu
from counterpane.scores.likelihood import AIC, BIC, LogLikelihood
from counterpane.scores.node_average import NodeAverageLikelihood

_BY_NAME: dict[str, type[LocalScore]] = {
    score.name: score for score in (LogLikelihood, AIC, BIC, K2, BDeu, NodeAverageLikelihood)
}
_BY_NAME["mdl"] = BIC


def score_names() -> tuple[str, ...]:
    """The names that `as_score` knows."""
    return tuple(_BY_NAME)


def as_score(score: str | LocalScore) -> LocalScore:
    """`score` itself, or the score of that name with its default parameters."""
    if isinstance(score, LocalScore):
        return score
    if not isinstance(score, str):
        raise ParameterError(f"score={score!r}; a name or a score such as BIC() is needed.")
    try:
        return _BY_NAME[score.lower()]()
    except KeyError:
        raise unknown_name("score", score, _BY_NAME) from None

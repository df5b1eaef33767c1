"""Learners fitted by the name of their method, with the attributes that all results have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from counterpane.errors import Option, ParameterError
from counterpane.learners.ranking.ranker import LinkRanker
from counterpane.models.record import RankerScore
from counterpane.models.typed_values import plain
from counterpane.workflow.choose import CLASSIFIERS, POSTERIORS, make_learner
from counterpane.workflow.posterior import PosteriorResult, affordable


def fit_learner(
    method: str, criterion: str | None, target: str | None, source: Any, options: dict[str, Any]
) -> Any:
    """A learner fitted to a table, or to columns."""
    learner = make_learner(method, criterion, options)
    if method in CLASSIFIERS:
        return learner.fit(source, target)
    if method in POSTERIORS:
        learner = affordable(learner, options, len(source.schema))
    learner.fit(source)
    if learner.model_ is None:
        raise ParameterError(
            Option("method", method),
            f" found {len(learner.graph_.edges)} edges, too many for tables; "
            "try dn-tree, which needs none.",
        )
    return PosteriorResult(learner) if method in POSTERIORS else learner


def fit_ranker(table: Any, name: str) -> Any:
    """A ranker, or the best of left-out links, with the attributes that other learners have."""
    ranker = LinkRanker(name).fit(table)
    judged = tuple(RankerScore(c.name, c.mrr, c.error) for c in ranker.candidates_)
    model: Any = ranker.ranking_model
    model.record = model.record.with_parts(
        learner={"text": f"LinkRanker({ranker.choice_!r})"},
        data={"rows": table.n_rows},
        candidates=judged,
    )
    return SimpleNamespace(model_=model, ranker=ranker.choice_, candidates=plain(judged))

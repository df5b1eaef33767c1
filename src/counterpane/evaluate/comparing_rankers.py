"""Rankers of links side by side, judged by links that they have not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from counterpane.data.links import read_links
from counterpane.data.table import Table
from counterpane.learn.ranking.judging import Scorer, judge_rankers
from counterpane.learn.ranking.ranker import CANDIDATES, LinkRanker


def compare_rankers(
    X: Any,
    learners: Mapping[str, Any] | Sequence[str] = CANDIDATES,
    *,
    user: str | None = None,
    item: str | None = None,
    random_state: int = 0,
    progress: Any = None,
) -> list[dict[str, Any]]:
    """A record for each ranker, the best first: the mean reciprocal rank of left-out links.

    `X` and `learners` are those of `LinkRanker`; the default ones include item cosine and
    popularity. One link of each user is left out, and ranked among the items that the user does
    not have. Each
    record has `ranker`, `mrr`, its standard `error` over the users, and `behind`, the difference to
    the best with `behind_error`.

    >>> pairs = [("tea", "jam"), ("ham", "egg")]
    >>> users = [user for user in range(40) for _ in range(2)]
    >>> buys = {"user": users, "item": [item for user in range(40) for item in pairs[user % 2]]}
    >>> found = compare_rankers(buys, ["popularity", "item-cosine"])
    >>> [(record["ranker"], round(record["mrr"], 1)) for record in found]
    [('item-cosine', 1.0), ('popularity', 0.5)]
    """
    table = read_links(X, user=user, item=item).table
    named = learners if isinstance(learners, Mapping) else {name: name for name in learners}

    def fit(learner: Any) -> Any:
        def fitted(rows: Table) -> Scorer:
            return LinkRanker(learner).fit(rows)._scores

        return fitted

    fits = {name: fit(learner) for name, learner in named.items()}
    judged = judge_rankers(fits, table, seed=random_state, report=progress)
    records = []
    for each in judged:
        less = judged[0].ranks - each.ranks
        error = float(less.std()) / math.sqrt(less.size)
        records.append(
            {
                "ranker": each.name,
                "mrr": each.mrr,
                "error": each.error,
                "behind": each.mrr - judged[0].mrr,
                "behind_error": error,
            }
        )
    return records

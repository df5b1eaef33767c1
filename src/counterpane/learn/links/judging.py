"""Rankers judged by links that they have not seen: one link of each user, as it is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.table import Table
from counterpane.learn.links.ranks import expected_reciprocal_ranks
from counterpane.progress import Report
from counterpane.typing import Codes, Floats, Ints

MAX_USERS = 2000  # whose links are left out
N_FOLDS = 5
FEW_CELLS = 2**21  # users × items; beyond, one fold of five is judged
BLOCK_CELLS = 2**22  # scores at a time


class JudgedRanker(NamedTuple):
    """The mean reciprocal rank of the links left out, its standard error, and each user's own."""

    name: str
    mrr: float
    error: float
    ranks: Floats


Scorer = Callable[[Codes], Floats]
Fit = Callable[[Table], Scorer]


def judge_rankers(
    rankers: Mapping[str, Fit], table: Table, *, seed: int = 0, report: Report | None = None
) -> list[JudgedRanker]:
    """Rankers by the mean reciprocal rank of left-out links, the best first; equals in order.

    Of each user with two links or more, at most 2,000 users, one link is drawn and left out. Users
    are dealt into five folds; each ranker is fitted without the left-out links of one fold, and
    ranks them among all items that the user does not have. Large tables are judged by one fold.
    Empty where no user has two links. `rankers` fit a table and return a function from codes
    (items, users) to scores (users, items).
    """
    rng = np.random.default_rng(seed)
    users, wanted = _left_out(table.codes, rng)
    if not users.size:
        return []
    fold = rng.permutation(len(users)) % min(N_FOLDS, len(users))
    few = table.n_rows * table.n_columns <= FEW_CELLS
    folds = np.unique(fold) if few else np.array([0])
    ranks: dict[str, list[Floats]] = {name: [] for name in rankers}
    for number, k in enumerate(folds.tolist()):
        some = fold == k
        codes = table.codes.copy()
        codes[wanted[some], users[some]] = 0
        training = Table(table.schema, codes, table.weights)
        for place, (name, fit) in enumerate(rankers.items()):
            if report is not None:
                done = number * len(rankers) + place
                report(f"judging {name}", done, len(folds) * len(rankers))
            ranks[name].append(_ranks(fit(training), codes, users[some], wanted[some]))
    judged = []
    for name, parts in ranks.items():
        each = np.concatenate(parts)
        error = float(each.std()) / math.sqrt(each.size)
        judged.append(JudgedRanker(name, float(each.mean()), error, each))
    return sorted(judged, key=lambda j: -j.mrr)


def _left_out(codes: Codes, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Users with two links or more, and one link of each."""
    users = np.flatnonzero(codes.sum(axis=0, dtype=np.int64) > 1)
    if len(users) > MAX_USERS:
        users = np.sort(rng.choice(users, MAX_USERS, replace=False))
    wanted = [int(rng.choice(np.flatnonzero(codes[:, user]))) for user in users]
    return users, np.array(wanted, dtype=np.int64)


def _ranks(score: Any, codes: Codes, users: Ints, wanted: Ints) -> Floats:
    """The reciprocal rank of each user's link among the items that the user does not have."""
    rows = max(1, BLOCK_CELLS // codes.shape[0])
    found = []
    for low in range(0, len(users), rows):
        some = slice(low, low + rows)
        part = np.ascontiguousarray(codes[:, users[some]])
        found.append(expected_reciprocal_ranks(score(part), wanted[some], part.T > 0))
    return np.concatenate(found)

"""Rankers compared on held-out links: one link of each user is left out of the training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from counterpane.data.baskets import Baskets
from counterpane.data.links import (
    codes_of_users,
    items_of_user,
    numbers_of_links,
    without_links,
)
from counterpane.data.table import Table
from counterpane.progress import Report
from counterpane.seeds import random_generator
from counterpane.typing import Bools, Codes, Floats, Ints

MAX_USERS = 2000  # users with a left-out link
N_FOLDS = 5
ENOUGH, MAX_ROUNDS = 1000, 5  # left-out links, and the rounds over the users to get them
FEW_CELLS = 2**21  # users × items; beyond, one fold of five is judged
BLOCK_CELLS = 2**22  # scores at a time


class JudgedRanker(NamedTuple):
    """The mean reciprocal rank of the links left out, its standard error, and each user's mean."""

    name: str
    mrr: float
    error: float
    ranks: Floats


LinkScorer = Callable[[Codes], Floats]
FitRanker = Callable[[Any], LinkScorer]


def judge_rankers(
    rankers: Mapping[str, FitRanker],
    table: Table | Baskets,
    *,
    seed: int = 0,
    report: Report | None = None,
) -> list[JudgedRanker]:
    """Rankers by the mean reciprocal rank of left-out links, the best first; equals in order.

    Of each user with two links or more, at most 2,000 users, one link is drawn and left out. Users
    are dealt into five folds; each ranker is fitted without the left-out links of one fold, and
    ranks them among all items that the user does not have. Of fewer than 1,000 users other links
    are left out as well, in up to five rounds. Large tables are judged by one fold. Empty where no
    user has two links. `rankers` fit a table and return a function from codes (items, users) to
    scores (users, items).
    """
    rng = random_generator(seed)
    users = _judged_users(table, rng)
    if not users.size:
        return []
    few = table.n_rows * table.n_columns <= FEW_CELLS
    rounds = min(MAX_ROUNDS, -(-ENOUGH // len(users))) if few else 1
    fold = rng.permutation(len(users)) % min(N_FOLDS, len(users))
    tasks = [(r, k) for r in range(rounds) for k in (np.unique(fold).tolist() if few else [0])]
    ranks: dict[str, Floats] = {name: np.full((rounds, len(users)), np.nan) for name in rankers}
    for number, (r, k) in enumerate(tasks):
        judged_users = users[fold == k]
        items = np.array([rng.choice(items_of_user(table, user)) for user in judged_users.tolist()])
        training = without_links(table, items, judged_users)
        for place, (name, fit) in enumerate(rankers.items()):
            if report is not None:
                report(f"judging {name}", number * len(rankers) + place, len(tasks) * len(rankers))
            ranks[name][r, fold == k] = _ranks(fit(training), training, judged_users, items)
    judged = []
    for name, each in ranks.items():
        means: Floats = each[:, ~np.isnan(each[0])].mean(axis=0)
        error = float(means.std()) / math.sqrt(means.size)
        judged.append(JudgedRanker(name, float(means.mean()), error, means))
    return sorted(judged, key=lambda j: -j.mrr)


def _judged_users(table: Table | Baskets, rng: np.random.Generator) -> Ints:
    """Users with two links or more, or some of them."""
    users = np.flatnonzero(numbers_of_links(table) > 1)
    if len(users) > MAX_USERS:
        users = np.sort(rng.choice(users, MAX_USERS, replace=False))
    return users


def _ranks(score: Any, table: Table | Baskets, users: Ints, items: Ints) -> Floats:
    """The reciprocal rank of each user's link among the items that the user does not have."""
    rows = max(1, BLOCK_CELLS // table.n_columns)
    ranks = []
    for low in range(0, len(users), rows):
        part_users = slice(low, low + rows)
        part = codes_of_users(table, users[part_users])
        ranks.append(expected_reciprocal_ranks(score(part), items[part_users], part.T > 0))
    return np.concatenate(ranks)


def expected_reciprocal_ranks(values: Floats, items: Ints, taken: Bools) -> Floats:
    """The mean of 1 / rank over the places that ties allow, (users,).

    `values` and `taken` are (users, items), larger values are sooner; `items` are not taken.

    >>> taken = np.array([[True, False, False, False]])
    >>> expected_reciprocal_ranks(np.array([[0.9, 0.5, 0.5, 0.1]]), np.array([1]), taken)
    array([0.75])
    """
    value = values[np.arange(len(items)), items][:, None]
    better = ((values > value) & ~taken).sum(axis=1)
    equal = ((values == value) & ~taken).sum(axis=1)
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, values.shape[1] + 1))])
    means: Floats = (sums[better + equal] - sums[better]) / equal
    return means

"""Rankers compared on held-out users: a few of their links are known, and another one is ranked."""

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
)
from counterpane.data.table import Table
from counterpane.progress import Report
from counterpane.seeds import random_generator
from counterpane.typing import Bools, Codes, Floats, Ints

MAX_USERS = 2000  # users with a left-out link
MOST_KNOWN = 5  # links of a held-out user
N_FOLDS = 5
ENOUGH, MAX_ROUNDS = 1000, 5  # left-out links, and the questions of a user to get them
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

    Users with two links or more, at most 2,000, are dealt into five folds, and each ranker is
    fitted to the users of the other folds. Of a held-out user one to five links are known, drawn
    anew for each question, and another one is left out: it is ranked among all items that the user
    does not have. So a ranker is judged by the short lists of new users that `rank` is given, not
    by nearly complete ones. Of fewer than 1,000 users more questions are asked, up to five of each.
    Large tables are judged by one fold. Empty where no user has two links. `rankers` fit a table
    and return a function from codes (items, users) to scores (users, items).
    """
    rng = random_generator(seed)
    users = _judged_users(table, rng)
    if not users.size or table.n_rows < 2:
        return []
    few = table.n_rows * table.n_columns <= FEW_CELLS
    rounds = min(MAX_ROUNDS, -(-ENOUGH // len(users))) if few else 1
    number = min(N_FOLDS, table.n_rows)
    fold = rng.permutation(table.n_rows) % number
    parts = [k for k in range(number) if (fold[users] == k).any()]
    parts = parts if few else parts[:1]
    ranks: dict[str, Floats] = {name: np.full((rounds, len(users)), np.nan) for name in rankers}
    for place, k in enumerate(parts):
        judged_users = np.flatnonzero(fold[users] == k)
        training = table.take(fold != k)
        questions = [_questions(table, users[judged_users], rng) for _ in range(rounds)]
        for step, (name, fit) in enumerate(rankers.items()):
            if report is not None:
                report(f"judging {name}", place * len(rankers) + step, len(parts) * len(rankers))
            score = fit(training)
            for r, (known, items) in enumerate(questions):
                ranks[name][r, judged_users] = _ranks(
                    score, table, users[judged_users], known, items
                )
    judged = []
    for name, each in ranks.items():
        means: Floats = each[:, ~np.isnan(each[0])].mean(axis=0)
        error = float(means.std()) / math.sqrt(means.size)
        judged.append(JudgedRanker(name, float(means.mean()), error, means))
    return sorted(judged, key=lambda j: -j.mrr)


def _questions(
    table: Table | Baskets, users: Ints, rng: np.random.Generator
) -> tuple[list[Ints], Ints]:
    """For each user a few known items, and another one to be ranked."""
    known, asked = [], np.empty(len(users), dtype=np.int64)
    for place, user in enumerate(users.tolist()):
        drawn = rng.permutation(items_of_user(table, user))
        asked[place] = drawn[0]
        known.append(drawn[1 : 1 + int(rng.integers(1, MOST_KNOWN + 1))])
    return known, asked


def _judged_users(table: Table | Baskets, rng: np.random.Generator) -> Ints:
    """Users with two links or more, or some of them."""
    users = np.flatnonzero(numbers_of_links(table) > 1)
    if len(users) > MAX_USERS:
        users = np.sort(rng.choice(users, MAX_USERS, replace=False))
    return users


def _ranks(
    score: LinkScorer, table: Table | Baskets, users: Ints, known: list[Ints], items: Ints
) -> Floats:
    """The reciprocal rank of each user's item, given the known ones, among items not had."""
    rows = max(1, BLOCK_CELLS // table.n_columns)
    ranks = []
    for low in range(0, len(users), rows):
        part = slice(low, low + rows)
        taken = codes_of_users(table, users[part]).T > 0
        taken[np.arange(len(taken)), items[part]] = False
        codes = np.zeros(taken.shape[::-1], dtype=np.uint8)
        for place, own in enumerate(known[part]):
            codes[own, place] = 1
        ranks.append(expected_reciprocal_ranks(score(codes), items[part], taken))
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

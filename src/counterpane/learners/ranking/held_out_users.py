"""Users held out: each of their links is left out in turn, and ranked given the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from counterpane.data.baskets import Baskets
from counterpane.data.links import codes_of_users, items_of_user, numbers_of_links
from counterpane.data.table import Table
from counterpane.learners.ranking.judging import expected_reciprocal_ranks
from counterpane.ragged import flatten
from counterpane.seeds import random_generator
from counterpane.typing import Codes, Floats, Ints

N_FOLDS = 3
MAX_LINKS = 3000  # left out in a fold
BLOCK_CELLS = 2**22  # scores at a time

K = TypeVar("K")
ScoreAll = Callable[[Codes], Mapping[K, Floats]]
"""Scores by several rankers, of each user and item, by their keys."""


class HeldOutUsers(NamedTuple):
    """A fold: the table of the other users, and a query for each link of the held-out users.

    Column q of `codes` has the links of user `users[q]` without the link to `items[q]`.
    """

    training: Table | Baskets
    codes: Codes
    items: Ints
    users: Ints

    def mrr(self, score_all: ScoreAll[K]) -> dict[K, float]:
        """The mean over users of the mean reciprocal rank of their links, by each score."""
        ranks: dict[K, list[Floats]] = {}
        step = max(1, BLOCK_CELLS // self.codes.shape[0])
        for low in range(0, len(self.items), step):
            part = np.ascontiguousarray(self.codes[:, low : low + step])
            items = self.items[low : low + step]
            for key, scores in score_all(part).items():
                ranks.setdefault(key, []).append(
                    expected_reciprocal_ranks(scores, items, part.T > 0)
                )
        sizes = np.bincount(self.users)
        used = sizes > 0
        return {
            key: float((np.bincount(self.users, np.concatenate(each))[used] / sizes[used]).mean())
            for key, each in ranks.items()
        }


def folds_of_users(table: Table | Baskets, *, seed: int = 0) -> Iterator[HeldOutUsers]:
    """Three folds of the users; none where fewer than six users have two links or more."""
    rng = random_generator(seed)
    fold = rng.permutation(table.n_rows) % N_FOLDS
    several = numbers_of_links(table) > 1
    if several.sum() < 2 * N_FOLDS:
        return
    for number in range(N_FOLDS):
        held = np.flatnonzero((fold == number) & several)
        users, items = _links_of(table, held)
        if len(users) > MAX_LINKS:
            drawn = np.sort(rng.choice(len(users), MAX_LINKS, replace=False))
            users, items = users[drawn], items[drawn]
        if not len(users):
            continue
        codes = codes_of_users(table, held[users]).copy()
        codes[items, np.arange(len(items))] = 0
        yield HeldOutUsers(table.take(fold != number), codes, items, users)


def _links_of(table: Table | Baskets, held: Ints) -> tuple[Ints, Ints]:
    """The place in `held` and the item of each link of these users."""
    lists = [items_of_user(table, user) for user in held.tolist()]
    return np.repeat(np.arange(len(held)), [len(items) for items in lists]), flatten(lists)


def judge_on_users(
    fit_all: Callable[[Any], ScoreAll[K]], table: Table | Baskets, *, seed: int = 0
) -> dict[K, float]:
    """The mean over the folds of the MRR of each score; empty where there is no fold.

    `fit_all` fits the training users of a fold and returns a function from codes (items, users)
    to the scores (users, items) of each key.
    """
    values: dict[K, list[float]] = {}
    for fold in folds_of_users(table, seed=seed):
        for key, value in fold.mrr(fit_all(fold.training)).items():
            values.setdefault(key, []).append(value)
    return {key: float(np.mean(each)) for key, each in values.items()}

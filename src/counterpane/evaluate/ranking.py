"""How well items were ranked: reciprocal ranks, and degrees of agreement."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane.errors import ParameterError
from counterpane.learn.ranking.judging import expected_reciprocal_ranks
from counterpane.typing import Bools, Floats

Ties = Literal["expected", "worst"]


class Agreement(NamedTuple):
    """Degrees of agreement: the mean over users, and over all pairs of items of all users."""

    macro: float
    micro: float


def reciprocal_ranks(
    scores: npt.ArrayLike, wanted: npt.ArrayLike, chosen: npt.ArrayLike, *, ties: Ties = "expected"
) -> Floats:
    """1 / rank of the `wanted` item of each user among the items not in `chosen`.

    `scores` (users, items), larger ranks first; `wanted` (users,) are items; `chosen` (users,
    items) is true for items that the user has. If t items have the same score, the wanted one gets
    the mean of 1 / rank over their t ranks ("expected"), or the last rank ("worst").

    >>> reciprocal_ranks([[0.9, 0.5, 0.5, 0.1]], [1], [[True, False, False, False]])
    array([0.75])
    """
    values, items = np.asarray(scores, dtype=np.float64), np.asarray(wanted, dtype=np.int64)
    taken = np.asarray(chosen, dtype=np.bool_)
    _check(values, taken)
    if items.shape != values.shape[:1] or (
        items.size and (items.min() < 0 or items.max() >= values.shape[1])
    ):
        raise ParameterError(f"one wanted item from 0 to {values.shape[1] - 1} a user is needed.")
    if ties not in ("expected", "worst"):
        raise ParameterError(f"ties={ties!r}; 'expected' or 'worst' is allowed.")
    users = np.arange(len(items))
    if taken[users, items].any():
        user = int(np.argmax(taken[users, items]))
        raise ParameterError(f"user {user}: the wanted item {items[user]} is among the chosen.")
    if ties == "expected":
        return expected_reciprocal_ranks(values, items, taken)
    own = values[users, items][:, None]
    last: Floats = 1.0 / ((values >= own) & ~taken).sum(axis=1)
    return last


def mean_reciprocal_rank(
    scores: npt.ArrayLike, wanted: npt.ArrayLike, chosen: npt.ArrayLike, *, ties: Ties = "expected"
) -> float:
    """The mean of `reciprocal_ranks` over users.

    >>> mean_reciprocal_rank([[3.0, 2.0, 1.0]], [1], [[False] * 3])
    0.5
    """
    return float(reciprocal_ranks(scores, wanted, chosen, ties=ties).mean())


def degree_of_agreement(
    scores: npt.ArrayLike, chosen: npt.ArrayLike, test: npt.ArrayLike
) -> Agreement:
    """The shares of pairs (an item of `test`, an item never chosen) in the correct order.

    The order is correct if the score of the test item is strictly larger. `macro` is the mean over
    users with a test item and one never chosen, `micro` the share of all pairs (Freno et al. 2009,
    equations 13–16). All three arrays are (users, items). Cost: a sort of each user's scores.

    >>> degree_of_agreement([[0.9, 0.5, 0.1]], [[0, 0, 0]], [[0, 1, 0]])
    Agreement(macro=0.5, micro=0.5)
    """
    values = np.asarray(scores, dtype=np.float64)
    taken, asked = np.asarray(chosen, dtype=np.bool_), np.asarray(test, dtype=np.bool_)
    _check(values, taken)
    _check(values, asked)
    if (taken & asked).any():
        user, item = np.argwhere(taken & asked)[0].tolist()
        raise ParameterError(f"user {user}: item {item} is both chosen and in the test.")
    right, pairs = [], []
    for own, has, wants in zip(values, taken, asked, strict=True):
        never = np.sort(own[~(has | wants)])
        if wants.any() and never.size:
            right.append(int(np.searchsorted(never, own[wants], side="left").sum()))
            pairs.append(int(wants.sum()) * never.size)
    if not pairs:
        raise ParameterError("no user has a test item and one never chosen; nothing is compared.")
    shares = np.array(right) / np.array(pairs)
    return Agreement(float(shares.mean()), sum(right) / sum(pairs))


def _check(values: Floats, flags: Bools) -> None:
    if values.ndim != 2 or flags.shape != values.shape:
        raise ParameterError(
            f"scores of shape {values.shape} and flags of shape {flags.shape} were given; both are "
            "(users, items)."
        )
    if np.isnan(values).any():
        raise ParameterError("a score is NaN; it has no rank.")

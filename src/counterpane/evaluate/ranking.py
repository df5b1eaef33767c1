"""Measures of rankings: reciprocal ranks, degrees of agreement; rankers compared by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane.data.links import read_links
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.learners.ranking.judging import (
    LinkScorer,
    expected_reciprocal_ranks,
    judge_rankers,
)
from counterpane.learners.ranking.ranker import CANDIDATES, LinkRanker
from counterpane.present.table import Printed, TextTable, right
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

    Parameters
    ----------
    scores : array (users, items)
        The larger score ranks first.
    wanted : array (users,)
        The positions of items.
    chosen : array (users, items)
        True for items that the user has.
    ties : "expected" or "worst"
        If t items have the same score, the wanted one gets the mean of 1 / rank over their t
        ranks, or the last rank.

    Returns
    -------
    array (users,)
        The reciprocal ranks.

    Examples
    --------
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
        raise ParameterError(Setting("ties", ties), "; 'expected' or 'worst' is allowed.")
    users = np.arange(len(items))
    if taken[users, items].any():
        user = int(np.argmax(taken[users, items]))
        raise ParameterError(f"user {user}: the wanted item {items[user]} is among the chosen.")
    if ties == "expected":
        return expected_reciprocal_ranks(values, items, taken)
    wanted_scores = values[users, items][:, None]
    last: Floats = 1.0 / ((values >= wanted_scores) & ~taken).sum(axis=1)
    return last


def mean_reciprocal_rank(
    scores: npt.ArrayLike, wanted: npt.ArrayLike, chosen: npt.ArrayLike, *, ties: Ties = "expected"
) -> float:
    """The mean of `reciprocal_ranks` over users.

    Parameters
    ----------
    scores, wanted, chosen, ties
        As in `reciprocal_ranks`.

    Returns
    -------
    float
        From 0 to 1; 1 if each wanted item ranks first.

    Examples
    --------
    >>> mean_reciprocal_rank([[3.0, 2.0, 1.0]], [1], [[False] * 3])
    0.5
    """
    return float(reciprocal_ranks(scores, wanted, chosen, ties=ties).mean())


def degree_of_agreement(
    scores: npt.ArrayLike, chosen: npt.ArrayLike, test: npt.ArrayLike
) -> Agreement:
    """The shares of pairs (an item of `test`, an item never chosen) in the correct order.

    The order is correct if the score of the test item is strictly larger (Freno et al. 2009,
    equations 13–16). Cost: a sort of each user's scores.

    Parameters
    ----------
    scores : array (users, items)
        The larger score ranks first.
    chosen, test : array (users, items)
        True for items that the user has, and for those that the test asks for.

    Returns
    -------
    Agreement
        `macro` is the mean over users with a test item and one never chosen, `micro` the share of
        all pairs.

    Examples
    --------
    >>> degree_of_agreement([[0.9, 0.5, 0.1]], [[0, 0, 0]], [[0, 1, 0]])
    Agreement(macro=0.5, micro=0.5)
    """
    values = np.asarray(scores, dtype=np.float64)
    taken, tested = np.asarray(chosen, dtype=np.bool_), np.asarray(test, dtype=np.bool_)
    _check(values, taken)
    _check(values, tested)
    if (taken & tested).any():
        user, item = np.argwhere(taken & tested)[0].tolist()
        raise ParameterError(f"user {user}: item {item} is both chosen and in the test.")
    right, pairs = [], []
    for row, has, wants in zip(values, taken, tested, strict=True):
        never = np.sort(row[~(has | wants)])
        if wants.any() and never.size:
            right.append(int(np.searchsorted(never, row[wants], side="left").sum()))
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


def compare_rankers(
    X: Any,
    learners: Mapping[str, Any] | Sequence[str] = CANDIDATES,
    *,
    user: str | None = None,
    item: str | None = None,
    random_state: int = 0,
    progress: Any = None,
) -> RankerScores:
    """A record for each ranker, the best first: the mean reciprocal rank of left-out links.

    Users are held out, each with one to five known links. Another link of theirs is ranked among
    the items that the user does not have.

    Parameters
    ----------
    X : table or list of links
        As in `LinkRanker.fit`.
    learners : mapping or sequence of str
        As in `LinkRanker`; the default ones include item cosine and popularity.
    user, item : str, optional
        The columns of a list of links.
    random_state : int
        The seed of the links that are left out.
    progress : callable, optional
        A function that is told of each fit.

    Returns
    -------
    RankerScores
        A list of records, which prints as a table. Each has `ranker`, `mrr`, its standard `error`
        over the users, and `behind`, the difference to the best with `behind_error`.

    Examples
    --------
    >>> pairs = [("tea", "jam"), ("ham", "egg")]
    >>> users = [user for user in range(40) for _ in range(2)]
    >>> buys = {"user": users, "item": [item for user in range(40) for item in pairs[user % 2]]}
    >>> records = compare_rankers(buys, ["popularity", "item-cosine"])
    >>> [(record["ranker"], round(record["mrr"], 1)) for record in records]
    [('item-cosine', 1.0), ('popularity', 0.6)]
    """
    table = read_links(X, user=user, item=item).table
    named = learners if isinstance(learners, Mapping) else {name: name for name in learners}

    def fit(learner: Any) -> Any:
        def fitted(rows: Table) -> LinkScorer:
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
    return RankerScores(records)


class RankerScores(Printed, list[dict[str, Any]]):
    """Rankers and the mean reciprocal ranks of left-out links, the best first."""

    def table(self) -> TextTable:
        """Return a line for each ranker, with the difference to the best if that is known."""
        compared = bool(self) and "behind" in self[0]
        rows = []
        for record in self:
            line = [record["ranker"], f"{record['mrr']:.4f} ±{record['error']:.4f}"]
            if compared:
                error = record["behind_error"]
                line.append(f"{record['behind']:+.4f} ±{error:.4f}" if error else "")
            rows.append(line)
        titles = ["mean reciprocal rank of left-out links", *(["behind"] if compared else [])]
        return TextTable.of(["ranker", *map(right, titles)], rows, most=None)

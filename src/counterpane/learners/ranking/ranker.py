"""`LinkRanker`: ranks the items that a user may choose next, by a model of joint choices."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from counterpane.counts.baskets import BasketCounts
from counterpane.data.baskets import Baskets
from counterpane.data.links import chosen_codes, codes_of_users, read_links
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting, unknown_name
from counterpane.learners.estimator import Estimator
from counterpane.learners.hybrid.hybrid_random_field import HybridRandomFieldLearner
from counterpane.learners.hybrid.sizes import JudgedSizes
from counterpane.learners.ranking.held_out_users import ScoreAll, judge_on_users
from counterpane.learners.ranking.judging import JudgedRanker, LinkScorer, judge_rankers
from counterpane.learners.ranking.link_scores import LinkScores
from counterpane.learners.registry import rankers
from counterpane.memory import need_memory
from counterpane.models.base import Model
from counterpane.models.joint import JointModel
from counterpane.present.html import framed
from counterpane.typing import Array, Codes, Floats

CANDIDATES = ("hybrid", "chow-liu", "naive-bayes", "item-cosine", "item-rank", "popularity")
"""The rankers that "auto" chooses from; of equals the first."""
BASKET_CANDIDATES = ("hybrid", "naive-bayes", "item-cosine", "popularity")
"""Those that "auto" chooses from where the links are too many to be written out."""
BLOCK_CELLS = 2**24  # scores at a time


class Ranked(NamedTuple):
    """An item and its score, which orders items.

    Of a model it is ln P(item | the chosen items, and none of the others); a user who has told a
    few items only may well have others, so that this is not how probable the item is for them.
    """

    item: str
    score: float


class LinkRanker(Estimator):
    """Learns which items occur together, and ranks the items that a user has not chosen yet.

    Parameters
    ----------
    learner : str or learner
        "auto": the best of several rankers by the mean reciprocal rank of left-out links of
        held-out users, at most 2,000, of each of whom one to five links are known. "hybrid" (a
        hybrid random field), "pairwise", "chow-liu", "naive-bayes", "item-cosine", "item-rank" (a
        random walk), "blend" (hybrid random fields and a random walk; slower), "popularity". Or any
        learner whose `model_` has full conditionals; a copy of it is fitted. If it is a hybrid
        random field with k="auto", the sizes are chosen by the mean reciprocal rank of links of
        held-out users.
    user, item : str, optional
        The columns of an edge list.
    random_state : int
        Draws the left-out links.

    Attributes
    ----------
    items_ : tuple of str
        The names of the items.
    choice_ : str or None
        The name of the ranker; None where a learner was passed.
    candidates_ : list
        The rankers that were compared, the best first, with `mrr` and its standard `error`.
    sizes_ : list
        The sizes k and k_max of a hybrid random field that were compared, the best first.
    learner_ : learner
        The fitted learner.
    model_ : model or None
        Its model; None for rankers without probabilities, which count items and pairs.
    n_users_ : int
        The number of users.

    Examples
    --------
    >>> import counterpane as cp
    >>> buys = {"user": [1, 1, 2, 2, 3, 3, 4], "item": 3 * ["tea", "jam"] + ["ham"]}
    >>> ranker = cp.LinkRanker("chow-liu").fit(buys)
    >>> [ranked.item for ranked in ranker.rank(["tea"], top=1)]
    ['jam']
    """

    learner: Any = field(default="auto", kw_only=False)
    user: str | None = None
    item: str | None = None
    random_state: int = 0

    def __repr__(self) -> str:
        return f"LinkRanker({self.learner!r})"

    def _repr_html_(self) -> str:
        fitted: Any = vars(self).get("learner_")
        return framed(repr(self), fitted._repr_html_() if hasattr(fitted, "_repr_html_") else "")

    def fit(self, X: Any, y: Any = None, *, items: Sequence[Any] | None = None) -> Self:
        """Learn from links: a matrix (users × items), lists of items, an edge list, or a table.

        See `read_links` for what an edge list is; `items` names the columns of a matrix.
        """
        if isinstance(X, BasketCounts):
            X = X.baskets
        table, users = read_links(X, items=items, user=self.user, item=self.item)
        choice = self.learner if isinstance(self.learner, str) else None
        self.candidates_: list[JudgedRanker] = []
        if choice == "auto":
            names = BASKET_CANDIDATES if isinstance(table, Baskets) else CANDIDATES
            fits = {name: partial(_fitted_scores, name) for name in names}
            self.candidates_ = judge_rankers(fits, table, seed=self.random_state)
            choice = self.candidates_[0].name if self.candidates_ else "popularity"
        self.sizes_: list[JudgedSizes] = []
        learner = self._make(choice)
        if isinstance(learner, HybridRandomFieldLearner):
            self._choose_sizes(learner, table)
        learner.fit(table)
        self.choice_ = choice
        self.learner_ = learner
        self.model_: JointModel | None = getattr(learner, "model_", None)
        if self.model_ is not None:
            self.model_.training_rows = None  # who chose what is not for the model's file
        self.schema_: Schema = table.schema
        self.items_ = table.schema.names
        self.n_users_ = len(users)
        return self

    def _choose_sizes(self, learner: HybridRandomFieldLearner, table: Table | Baskets) -> None:
        """Set the sizes of a field that are "auto", and `sizes_`, the sizes that were compared."""
        sizes = learner.candidate_sizes(table.n_columns)
        if len(sizes) == 1:
            return

        def fit(training: Table | Baskets) -> ScoreAll[tuple[int, int]]:
            fields = {}
            for k, k_max in sizes:
                fields[k, k_max] = learner.copied(k=k, k_max=k_max).fit(training).model_
            return lambda codes: {size: _scores_of(None, f, codes) for size, f in fields.items()}

        values = judge_on_users(fit, table, seed=self.random_state)
        judged = [JudgedSizes(*size, value) for size, value in values.items()]
        self.sizes_ = sorted(judged, key=lambda j: -j.value)
        k, k_max = self.sizes_[0][:2] if self.sizes_ else sizes[0]
        learner.set_params(k=k, k_max=k_max)

    @classmethod
    def from_model(cls, model: Model) -> Self:
        """A ranker by a model that was learned before."""
        odd = [v.name for v in model.schema if v.card != 2]
        if odd:
            raise ParameterError(
                f"column {odd[0]!r} of the model has not two states; items are chosen or not."
            )
        ranker = cls(learner=model)
        joint: Any = None if isinstance(model, LinkScores) else model
        ranker.learner_, ranker.model_ = model, joint
        ranker.schema_, ranker.items_ = model.schema, model.schema.names
        return ranker

    def _make(self, choice: str | None) -> Any:
        if choice is not None:
            if choice not in rankers():
                raise unknown_name("learner", choice, ("auto", *rankers()))
            return rankers()[choice].make()
        if inspect.isclass(self.learner) or not hasattr(self.learner, "fit"):
            raise ParameterError(
                Setting("learner", self.learner),
                "; a name or a learner with fit is needed, such as HybridRandomFieldLearner(k=8).",
            )
        if hasattr(self.learner, "get_params"):
            return type(self.learner)(**self.learner.get_params(deep=False))
        return copy.deepcopy(self.learner)

    @property
    def ranking_model(self) -> JointModel | LinkScores:
        """What can be saved: `model_`, or the scores of a ranker without probabilities."""
        if self.model_ is not None:
            return self.model_
        scores: LinkScores = getattr(self.learner_, "scores_", self.learner_)
        return scores

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what `from_model(counterpane.load(path))` ranks by."""
        self.ranking_model.save(path)

    def scores(self, X: Any) -> Floats:
        """The score of every item for each user of `X`, shape (users, items); larger is sooner.

        Items that the user has chosen have a score, too: that of the item given the other items.
        """
        table, _ = read_links(X, user=self.user, item=self.item, schema=self.schema_)
        need_memory(8 * table.n_rows * table.n_columns, "the scores of all items", "use rank_many")
        out: Floats = np.empty((table.n_rows, table.n_columns))
        for first, part in _blocks(table):
            out[first : first + part.shape[1]] = self._scores(part)
        return out

    def _scores(self, codes: Codes) -> Floats:
        return _scores_of(self.learner_, self.model_, codes)

    def rank(self, chosen: Iterable[Any], top: int | None = 10) -> list[Ranked]:
        """The best items for a user who has chosen these, the best first, without the chosen.

        An empty history is allowed. Items with equal scores are sorted by name.
        """
        row = chosen_codes(chosen, self.schema_)
        return self._best(self._scores(row[:, None])[0], row, top)

    def rank_many(self, X: Any, top: int | None = 10) -> list[list[Ranked]]:
        """`rank` for each user of `X`, as in `fit`."""
        table, _ = read_links(X, user=self.user, item=self.item, schema=self.schema_)
        rankings = []
        for _, part in _blocks(table):
            scores = self._scores(part)
            rankings += [self._best(s, row, top) for s, row in zip(scores, part.T, strict=True)]
        return rankings

    def _best(self, scores: Floats, row: Array, top: int | None) -> list[Ranked]:
        if top is not None and top < 1:
            raise ParameterError(
                Setting("top", top), "; a number from 1 is needed, or None for all."
            )
        free = np.flatnonzero(row == 0)
        order = free[np.argsort(-scores[free], kind="stable")[:top]]
        return [Ranked(self.items_[j], float(scores[j])) for j in order.tolist()]


def _scores_of(learner: Any, model: Any, codes: Codes) -> Floats:
    """The scores of a fitted ranker, (users, items)."""
    if hasattr(learner, "link_scores"):
        scores: Floats = learner.link_scores(codes)
        return scores
    conditionals: Floats = model.engine.blanket.full_conditionals(codes)
    return conditionals[:, 1::2]


def _fitted_scores(name: str, table: Table | Baskets) -> LinkScorer:
    """The ranker of this name, fitted to a table, as a function from codes to scores."""
    learner = rankers()[name].make().fit(table)
    return partial(_scores_of, learner, getattr(learner, "model_", None))


def _blocks(table: Table | Baskets) -> Iterator[tuple[int, Codes]]:
    """(first row, codes of some rows)."""
    rows = max(1, BLOCK_CELLS // max(1, 2 * table.n_columns))
    for first in range(0, table.n_rows, rows):
        yield first, codes_of_users(table, slice(first, first + rows))

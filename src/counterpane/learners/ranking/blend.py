"""Hybrid random fields of bootstrap samples, blended with a random walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from counterpane.data.table import Table
from counterpane.errors import ParameterError
from counterpane.learners.hybrid.hybrid_random_field import HybridRandomFieldLearner
from counterpane.learners.ranking.held_out_users import ScoreAll, judge_on_users
from counterpane.learners.ranking.item_rank import ItemRank
from counterpane.learners.ranking.link_blend import LinkBlend, mean_log_chances
from counterpane.models.hybrid_random_field import HybridRandomField
from counterpane.seeds import random_generator
from counterpane.typing import Codes, Floats

WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)  # 0 is compared, too
DAMPINGS = (0.3, 0.5, 0.85)
FEW = (1.0, 0.5)  # the weight and damping where there are too few users to compare

Setting = tuple[float, float]
"""The weight of the walk, and its damping."""


@dataclass(eq=False)
class BlendedLinks:
    """Ranks items by ln of a mean P(x_j = 1 | rest) + w ln of a random walk's score.

    The mean is over hybrid random fields of bootstrap samples of the users: one field gives many
    items the same score, and which of two equal neighbours enters a blanket is chance. The walk of
    `ItemRank` reaches items outside the blankets. `fit` chooses w and the damping of the walk by
    the mean reciprocal rank of the links of held-out users, in three folds of the training users.

    Parameters
    ----------
    n_samples : int
        Bootstrap samples; 0 is the walk alone.
    k, k_max : int
        As in `HybridRandomFieldLearner`.
    n_jobs : int
        Threads.
    random_state : int
        Draws samples and folds.

    Attributes
    ----------
    scores_ : LinkBlend
        The model.
    weight_, damping_ : float
        The choice.
    settings_ : dict
        The mean reciprocal rank by (weight, damping).

    Examples
    --------
    >>> import counterpane as cp
    >>> users = [user for user in range(40) for _ in range(2)]
    >>> items = [item for user in range(40) for item in (["tea", "jam"], ["ham", "egg"])[user % 2]]
    >>> ranker = cp.LinkRanker("blend").fit({"user": users, "item": items})
    >>> ranker.rank(["tea"], top=1)[0].item
    'jam'
    """

    n_samples: int = 16
    k: int = 8
    k_max: int = 10
    n_jobs: int = 1
    random_state: int = 0

    def fit(self, X: Table) -> Self:
        """Choose the weight and the damping, then learn from all users."""
        if not isinstance(self.n_samples, int) or self.n_samples < 0:
            raise ParameterError(f"n_samples={self.n_samples!r}; a whole number is needed.")
        self.settings_ = judge_on_users(self._fit_settings, X, seed=self.random_state)
        best = max(self.settings_, key=self.settings_.__getitem__, default=FEW)
        self.weight_, self.damping_ = best
        walk = ItemRank(self.damping_).fit(X).scores_
        fields = self._fields(X)
        parts = (walk.pairs, walk.constants, walk.damping)
        self.scores_ = LinkBlend(X.schema, *parts, fields, self.weight_)
        return self

    def link_scores(self, codes: Codes) -> Floats:
        """A score for each row and item, shape (rows, items); larger is sooner."""
        return self.scores_.link_scores(codes)

    def _fit_settings(self, table: Table) -> ScoreAll[Setting]:
        """The scores of all settings; without a walk the damping does not matter."""
        fields = self._fields(table)
        walks = {damping: ItemRank(damping).fit(table).scores_ for damping in DAMPINGS}

        def score(codes: Codes) -> dict[Setting, Floats]:
            chances = mean_log_chances(fields, codes)
            scores = {(0.0, DAMPINGS[0]): chances} if fields else {}
            for damping, walk in walks.items():
                visits = np.log(walk.link_scores(codes))
                scores |= {(weight, damping): chances + weight * visits for weight in WEIGHTS}
            return scores

        return score

    def _fields(self, table: Table) -> list[HybridRandomField]:
        """The fields of bootstrap samples of the users."""
        rng = random_generator(self.random_state)
        shares, size = None, table.n_rows
        if table.weights is not None:
            shares = table.weights / table.weights.sum()
            size = max(1, round(table.total_weight))
        learner = HybridRandomFieldLearner(self.k, self.k_max, n_jobs=self.n_jobs)
        fields = []
        for _ in range(self.n_samples):
            drawn = np.sort(rng.choice(table.n_rows, size, p=shares))
            sample = Table(table.schema, np.ascontiguousarray(table.codes[:, drawn]))
            fields.append(learner.fit(sample).model_)
        return fields

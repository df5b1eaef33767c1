"""ItemRank: items by a random walk among items that users have together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sparse

from counterpane.learners.ranking.counted import TIE, CountedLinks
from counterpane.learners.ranking.walk_scores import WalkScores
from counterpane.typing import Floats


@dataclass(eq=False)
class ItemRank(CountedLinks):
    """Ranks items by a random walk with restarts at the items of the user (Gori & Pucci 2007).

    From item k the walk goes to j ≠ k with probability c_kj / Σ_i≠k c_ki, where c_kj users have
    both. Items that no walk reaches are ranked by popularity. The paper starts the walk at an item
    with a probability in proportion to its rating; here all items of the user are equally likely.

    Parameters
    ----------
    damping : float
        The probability of a further step; the paper's is 0.85. A small one keeps the walk near the
        items of the user.

    Examples
    --------
    >>> import counterpane as cp
    >>> buys = {"user": [1, 1, 2, 2, 3, 3], "item": ["tea", "jam", "jam", "egg", "ham", "oil"]}
    >>> [ranked.item for ranked in cp.LinkRanker("item-rank").fit(buys).rank(["tea"], top=2)]
    ['jam', 'egg']
    """

    damping: float = 0.85
    scores_: WalkScores = field(init=False, repr=False)

    def _model(self, schema: Any, together: Any, alone: Floats, total: float) -> WalkScores:
        return walk_among(schema, together, alone, total, self.damping)


def walk_among(
    schema: Any, together: Any, alone: Floats, total: float, damping: float
) -> WalkScores:
    """The walk from counts of pairs and of single items."""
    apart = sparse.csr_array(together - sparse.diags_array(alone))
    apart.eliminate_zeros()
    sums = np.asarray(apart.sum(axis=1)).ravel()
    steps = sparse.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ apart
    return WalkScores(schema, steps, TIE * (alone + 1.0) / (total + 2.0), damping)

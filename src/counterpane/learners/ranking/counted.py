"""Rankers that count pairs of items: naive Bayes, cosine similarity and popularity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sparse

from counterpane._core import counts as kernels
from counterpane.data.baskets import Baskets
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.learners.ranking.link_scores import LinkScores
from counterpane.typing import Codes, Floats

BLOCK_ITEMS = 1024  # of baskets, counted by one call of a kernel
LEAST_PAIRS = 128  # pairs of an item that are kept, however few users there are
MAX_ITEMS = 2**14  # whose pairs fill 2 GiB of doubles
TIE = 1e-6  # of a cosine, at most: items that are equally similar are ranked by popularity


class CountedLinks(ABC):
    """A ranker by counts of items and of their pairs; `scores_` is what can be saved."""

    scores_: LinkScores

    def fit(self, X: Table | Baskets) -> Self:
        """Count the items and their pairs.

        Of baskets and of very many items each item has the pairs of largest cosine, on average as
        many as it has users, or 128 if it has fewer.
        """
        if not isinstance(X, Baskets) and X.n_columns > MAX_ITEMS and X.weights is None:
            items, users = np.nonzero(X.codes)
            X = Baskets(X.schema, users, items, X.n_rows)
        if isinstance(X, Baskets):
            alone = X.counts.astype(np.float64)
            pairs = strongest_companions(X)
            self.scores_ = self._model(X.schema, pairs, alone, float(X.n_rows))
            return self
        if X.n_columns > MAX_ITEMS:
            raise TableSizeError(
                f"{X.n_columns:,} items of weighted users have too many pairs; at most "
                f"{MAX_ITEMS:,} fit."
            )
        weights = np.ones(X.n_rows) if X.weights is None else np.asarray(X.weights, dtype=float)
        ones = sparse.csr_array(X.codes, dtype=np.float64)
        together: Any = sparse.csr_array(ones @ (ones.multiply(weights)).T)
        total = float(weights.sum())
        self.scores_ = self._model(X.schema, together, together.diagonal(), total)
        return self

    @abstractmethod
    def _model(self, schema: Schema, together: Any, alone: Floats, total: float) -> LinkScores:
        """The scores from the counts of pairs, of items, and of users."""

    def link_scores(self, codes: Codes) -> Floats:
        """A score for each row and item, shape (rows, items); larger is sooner."""
        return self.scores_.link_scores(codes)


def strongest_companions(baskets: Baskets) -> Any:
    """How many rows share two items, for the pairs of largest cosine; the diagonal has all rows.

    A pair is kept if one of its items keeps it.
    """
    n = baskets.n_columns
    most = min(n, max(LEAST_PAIRS, baskets.n_entries // n))
    parts = []
    for first in range(0, n, BLOCK_ITEMS):
        size = min(BLOCK_ITEMS, n - first)
        items, shared = (np.empty((size, most), dtype=np.int32) for _ in range(2))
        kernels.count_companions(baskets.lists, first, items, shared)
        rows, places = np.nonzero(items >= 0)
        parts.append((rows + first, items[rows, places], shared[rows, places]))
    rows, items, shared = (np.concatenate(part) for part in zip(*parts, strict=True))
    kept = sparse.csr_array((shared.astype(np.float64), (rows, items)), shape=(n, n))
    both = kept.maximum(kept.T)
    return sparse.csr_array(both + sparse.diags_array(baskets.counts.astype(np.float64)))


class NaiveLinks(CountedLinks):
    """Ranks items by ln P(x_j = 1) + Σ_k≠j ln P(x_k | x_j = 1), equation 10 of Freno et al. 2009.

    That is the joint probability with x_j = 1, as printed, and not the chance of x_j = 1, which
    would weigh it against x_j = 0. Probabilities are smoothed as in their Section 3: (c + 1) /
    (m + 2) alone, (c + ½) / (c_j + 1) given another. Cost: a product of two matrices.

    >>> import counterpane as cp
    >>> table = cp.Table(cp.Schema.from_cards([2, 2, 2]), np.eye(3, dtype=np.uint8))
    >>> NaiveLinks().fit(table).link_scores(table.codes).shape
    (3, 3)
    """

    def _model(self, schema: Schema, together: Any, alone: Floats, total: float) -> LinkScores:
        # P(x_k = 1 | x_j = 1) = (c + ½) / (c_j + 1), k the row; of most pairs c is 0.
        never = 0.5 / (alone + 1.0)
        slopes: Floats = np.log(never) - np.log1p(-never)
        pairs = sparse.coo_array(together)
        k, j = pairs.coords
        chance = (pairs.data + 0.5) / (alone[j] + 1.0)
        more = np.log(chance) - np.log1p(-chance) - slopes[j]
        same = k == j
        apart = sparse.csr_array((more[~same], (k[~same], j[~same])), shape=pairs.shape)
        diagonal = sparse.diags_array(-slopes)  # an item says nothing of itself
        absent = (len(alone) - 1) * np.log1p(-never)
        lost = np.log1p(-chance[~same]) - np.log1p(-never[j[~same]])
        absent += np.bincount(j[~same], lost, len(alone))
        constants: Floats = np.log((alone + 1.0) / (total + 2.0)) + absent
        return LinkScores(schema, apart + diagonal, slopes, constants)


class ItemCosine(CountedLinks):
    """Ranks items by the sum of their cosines, c_kj / √(c_k c_j), with the chosen items k.

    >>> import counterpane as cp
    >>> table = cp.Table(cp.Schema.from_cards([2, 2, 2]), np.eye(3, dtype=np.uint8))
    >>> ItemCosine().fit(table).link_scores(table.codes).shape
    (3, 3)
    """

    def _model(self, schema: Schema, together: Any, alone: Floats, total: float) -> LinkScores:
        norms = 1 / np.sqrt(np.maximum(alone, 1.0))
        scale = sparse.diags_array(norms)
        cosines = sparse.csr_array(scale @ together @ scale)
        diagonal = sparse.diags_array(cosines.diagonal())
        popular = TIE * alone / max(total, 1.0)
        return LinkScores(schema, cosines - diagonal, np.zeros(len(alone)), popular)


class Popularity(CountedLinks):
    """Ranks items by how many users have them, whatever a user has chosen.

    >>> import counterpane as cp
    >>> table = cp.Table(cp.Schema.from_cards([2, 2, 2]), np.eye(3, dtype=np.uint8))
    >>> Popularity().fit(table).link_scores(table.codes).shape
    (3, 3)
    """

    def _model(self, schema: Schema, together: Any, alone: Floats, total: float) -> LinkScores:
        n = len(alone)
        popular = np.log((alone + 1.0) / (total + 2.0))
        return LinkScores(schema, sparse.csr_array((n, n)), np.zeros(n), popular)

"""Rankers that count pairs of items: naive Bayes, cosine similarity and popularity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sparse

from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.models.link_scores import LinkScores
from counterpane.typing import Codes, Floats

MAX_ITEMS = 2**14  # whose pairs fill 2 GiB of doubles
TIE = 1e-6  # of a cosine, at most: items that are equally similar are ranked by popularity


class CountedLinks(ABC):
    """A ranker by counts of items and of their pairs; `scores_` is what can be saved."""

    scores_: LinkScores

    def fit(self, X: Table) -> Self:
        """Count the items and their pairs."""
        n = X.n_columns
        if n > MAX_ITEMS:
            raise TableSizeError(f"{n:,} items have too many pairs; at most {MAX_ITEMS:,} fit.")
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

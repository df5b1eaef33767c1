"""Naive Bayes as a ranker: each item is a class of its own, and the others its features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.typing import Codes, Floats

MAX_ITEMS = 2**14  # whose pairs fill 2 GiB of doubles


class NaiveLinks:
    """Ranks items by ln P(x_j = 1) + Σ_k≠j ln P(x_k | x_j = 1), equation 10 of Freno et al. 2009.

    That is the joint probability with x_j = 1, as printed, and not the chance of x_j = 1, which
    would weigh it against x_j = 0. Probabilities are smoothed as in their Section 3: (c + 1) /
    (m + 2) alone, (c + ½) / (c_j + 1) given another. Cost: a product of two matrices.

    >>> import counterpane as cp
    >>> table = cp.Table(cp.Schema.from_cards([2, 2, 2]), np.eye(3, dtype=np.uint8))
    >>> NaiveLinks().fit(table).link_scores(table.codes).shape
    (3, 3)
    """

    def fit(self, X: Table) -> Self:
        """Count the items and their pairs."""
        n = X.n_columns
        if n > MAX_ITEMS:
            raise TableSizeError(f"{n:,} items have too many pairs; at most {MAX_ITEMS:,} fit.")
        weights = np.ones(X.n_rows) if X.weights is None else np.asarray(X.weights, dtype=float)
        ones = X.codes.astype(np.float32)
        together: Floats = (ones @ (ones * weights).T).astype(np.float64)
        alone = np.diagonal(together).copy()
        given = (together + 0.5) / (alone[None, :] + 1.0)  # P(x_k = 1 | x_j = 1) in row k
        self.log_odds = np.log(given) - np.log1p(-given)
        absent = np.log1p(-given)
        np.fill_diagonal(self.log_odds, 0.0)
        np.fill_diagonal(absent, 0.0)
        self.constants: Floats = np.log((alone + 1.0) / (weights.sum() + 2.0)) + absent.sum(axis=0)
        return self

    def link_scores(self, codes: Codes) -> Floats:
        """A score for each row and item, shape (rows, items); larger is sooner."""
        scores: Any = codes.T.astype(np.float64) @ self.log_odds
        return np.asarray(scores + self.constants)

"""The learner of hybrid random fields."""

from __future__ import annotations

import math
import time
from typing import Any, Literal, Self, Unpack

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.errors import ParameterError
from counterpane.learn.base import LearnerOptions
from counterpane.learn.bayesian.network import intrinsic_order
from counterpane.learn.density import DensityLearner
from counterpane.learn.hybrid.local_networks import LocalNetworks
from counterpane.learn.hybrid.merging import MergingSearch
from counterpane.learn.relatives import Relatives
from counterpane.models.hybrid_random_field import HybridRandomField

MOST_RELATIVES = 62  # so that a set of local columns is one number


class HybridRandomFieldLearner(DensityLearner):
    """Learns a Bayesian network around each variable by Markov blanket merging.

    Parameters: `k`, the number of columns that each variable starts with, those of largest χ²
    (among equal ones those of smallest entropy; independent columns are not used); `k_max`, the
    largest union of blankets for which a network is learned; `score` ("mdl", or "bic": without
    the prior); `literal` (the loop as printed in the paper, at most ten passes); `prior`, the
    number of rows N that are spread evenly over each table (None: the largest number of states of
    a column); and those of every learner. Each network is
    learned by hill climbing from the empty graph by the best addition, deletion or reversal; among
    equal moves the first is made, by child, then parent, with columns by falling entropy, then by
    name.

    Results: `model_` (a `HybridRandomField`), `graph_` (networkx, from the members of each blanket
    to its variable), `blankets_`, `n_passes_`, `pll_` (the log pseudo-likelihood of the
    training rows, in nats), also called `score_`, `trace_` (with the PLL after every step).

    >>> import counterpane as cp
    >>> learner = cp.HybridRandomFieldLearner().fit(cp.load_dataset("titanic"))
    >>> learner.blankets_["age"], learner.n_passes_
    (('status', 'survived'), 1)
    """

    model_: HybridRandomField

    def __init__(
        self,
        k: int = 8,
        k_max: int = 10,
        score: Literal["mdl", "bic"] = "mdl",
        *,
        literal: bool = False,
        prior: float | None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(**options)
        self.k = k
        self.k_max = k_max
        self.score = score
        self.literal = literal
        self.prior = prior

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`."""
        began = time.monotonic()
        self._check()
        source = self._source(X, sample_weight, self.missing, self.n_jobs)
        search = self._search(source)
        outcome = self._driver(source).run(search, "learning local networks")
        found = outcome.state
        conditionals = search.networks.conditionals(found.members, found.parents)
        model = HybridRandomField(source.schema, conditionals)
        self.model_, self.graph_ = model, model.graph
        self.blankets_ = model.blankets
        self.n_passes_ = found.n_passes
        self.score_ = self.pll_ = float(found.scores.sum())
        self.trace_ = outcome.trace
        model.provenance = self._provenance(source, time.monotonic() - began)
        return self

    def _check(self) -> None:
        for name in ("k", "k_max"):
            given = getattr(self, name)
            if not isinstance(given, int | np.integer) or not 1 <= given <= MOST_RELATIVES:
                raise ParameterError(
                    f"{name}={given!r}; a whole number from 1 to {MOST_RELATIVES} is needed."
                )
        if self.score not in ("mdl", "bic"):
            raise ParameterError(f"score={self.score!r}; 'mdl' or 'bic' is allowed.")
        if self.prior is not None and not 0 < self.prior < math.inf:
            raise ParameterError(f"prior={self.prior!r}; a finite number above zero is needed.")

    def _search(self, source: CountSource) -> MergingSearch:
        n, cards = len(source.schema), source.schema.cards
        order = intrinsic_order(source)
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        networks = LocalNetworks(
            source.rows(),
            min(max(self.k, self.k_max) + 1, n),
            prior=float(cards.max() if self.prior is None else self.prior),
            smooth=self.score == "mdl",
            n_jobs=self.n_jobs,
        )
        relatives = Relatives(source, self.k, order=order, n_jobs=self.n_jobs)
        return MergingSearch(relatives, networks, rank, k_max=self.k_max, literal=self.literal)

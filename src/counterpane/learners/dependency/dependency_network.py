"""Dependency networks from data: each variable's conditional is learned on its own.

Heckerman et al. (JMLR 1, 2000); the trees are those of Lowd & Davis, as Libra's `dnlearn` grows
them, the logistic regressions those of Ravikumar, Wainwright & Lafferty (2010), boosted trees those
of Friedman (2001).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from counterpane.counts.baskets import MOST_COLUMNS, BasketCounts
from counterpane.counts.memory import MemoryCounts, bit_columns
from counterpane.counts.open import read
from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, ParameterError, Setting
from counterpane.learners.base import digest
from counterpane.learners.boosting.fold_boosting import RATE
from counterpane.learners.density import DensityLearner
from counterpane.learners.dependency.basket_search import BasketSearch, LearnTree, learn_regression
from counterpane.learners.dependency.boosted import BoostedSearch
from counterpane.learners.dependency.logistic import LogisticSearch
from counterpane.learners.dependency.tree_growth import TreeSearch
from counterpane.learners.dependency.variable_search import VariableSearch
from counterpane.learners.order import intrinsic_order
from counterpane.learners.partners import Partners
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.scores.edge_price import chance_gain
from counterpane.typing import Ints

MOST_WEIGHT = 1e100  # rows; weights sum to no more
KAPPA = 0.01
KAPPAS = tuple(10.0**k for k in range(-8, 1))
L1S = (1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)

LEAST_PRIOR = 1e-6  # of the tree that boosting starts from: no state is impossible
MANY_COLUMNS = 1_000  # above them a split costs more
PARTNERS = 50  # columns that boosted trees of one variable may ask for

Local = Literal["tree", "logistic", "boosted"]
SETTINGS = {"tree": "kappa_", "logistic": "l1_"}


class DependencyNetworkLearner(DensityLearner):
    """Learns P(x_v | all others) for each variable: by a tree, L1 regression, or boosted trees.

    A tree is greedy, with splits "one value against the rest". A regression of the variable on the
    states of the others maximizes the conditional log-likelihood − `l1` · Σ |w|, with the
    intercepts in the sum; each variable's first state has the weight 0. If `kappa` or `l1` is a
    list, `fit` needs `validation` rows and chooses the value with the largest likelihood of these
    rows. Trees for all κ are grown at once. Boosted trees have at most three columns on a path and
    add up to tables over them. They are added to the shares of the variable or to one tree as
    above; this start and their number are those of the least loss on the `validation` rows, or on a
    tenth of the rows, after which trees are grown from all rows.

    Parameters
    ----------
    local : {"tree", "logistic", "boosted"}
        The kind of conditionals.
    kappa : float or list of float, optional
        A split must raise the log-likelihood by more than −ln `kappa` nats. None means 10^-8 … 1
        with validation rows, else 0.01; above 1,000 columns less, so that of n independent columns
        .02 n would be split by another one.
    min_count : float
        The least number of rows on both sides of a split.
    prior : float
        Leaves are (count + prior / states) / (rows + prior).
    l1 : float or list of float, optional
        The penalty of regressions. None means 1000, 500, 200 … 0.1 with validation rows, else 1.
    k : int, optional
        A tree uses only the `k` variables of largest χ² with its variable, among equal ones those
        of smallest entropy; None means all, and 50 for boosted trees. Of baskets, trees and
        regressions have 50 unless `k`, at most 62, says otherwise.
    random_state : int
        Seed of the rows and columns that each boosted tree is grown from.
    missing, discretize, n_jobs, time_limit, progress, checkpoint
        As for every learner, see `Learner`.

    Attributes
    ----------
    model_ : DependencyNetwork
        The learned network.
    graph_ : networkx.DiGraph
        An edge from each variable that a conditional depends on.
    kappa_, l1_ : float
        The value that was chosen, for trees or regressions.
    rounds_ : dict
        The number of boosted trees of each variable.
    validation_scores_ : dict
        The mean log pseudo-likelihood of a validation row, in nats, for each value tried; for
        boosted trees the value is their learning rate.
    score_ : float
        The log pseudo-likelihood of the training rows.
    trace_ : list of dict
        A record of each step.

    Examples
    --------
    >>> import counterpane as cp
    >>> learner = cp.DependencyNetworkLearner().fit(cp.load_dataset("titanic"))
    >>> learner.model_
    DependencyNetwork(4 variables, 0 potentials, 0 rules, 4 trees)
    """

    local: Local = field(default="tree", kw_only=False)
    kappa: float | Sequence[float] | None = None
    min_count: float = 10.0
    prior: float = 1.0
    l1: float | Sequence[float] | None = None
    k: int | None = None
    random_state: int = 0
    _validation: Any = field(init=False)

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, validation: Any = None
    ) -> Self:
        """Learn from `X`, see `Learner.fit`; `validation` is another table with its columns."""
        return self._fit(X, y, sample_weight, _validation=validation)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._settings()

    def _learn(self, source: CountSource) -> None:
        settings = self._settings()
        validation, self._validation = self._validation, None  # not kept with the results
        if self.local == "tree" and self.kappa is None and validation is None:
            settings = [default_kappa(len(source.schema))]
        rows = None if validation is None else self._validation_rows(validation, source.schema)
        search = self._search(source, settings, rows)
        driver = self._driver(source)
        if rows is not None:
            driver.fingerprint["validation"] = digest(MemoryCounts(rows))
        outcome = driver.run(search, f"learning a {self.local} for each variable")
        self.trace_ = outcome.trace
        scores = search.validation_scores(outcome.state)
        best = max(scores, key=lambda value: scores[value]) if scores else settings[0]
        learned = search.conditionals(outcome.state, best)
        self.model_ = DependencyNetwork(source.schema, learned.parts)
        self.graph_ = self.model_.graph
        if self.local in SETTINGS:
            setattr(self, SETTINGS[self.local], best)
        else:
            trees = [one.rounds for one in outcome.state]
            self.rounds_ = dict(zip(source.schema.names, trees, strict=False))
        self.score_, self.validation_scores_ = learned.score, scores

    def _settings(self) -> list[float]:
        """The values of κ or λ to try, checked, λ in descending order; or the rate of boosting."""
        for name in ("min_count", "prior"):
            if not 0 <= getattr(self, name) <= MOST_WEIGHT:
                raise ParameterError(
                    Setting(name, getattr(self, name)),
                    f"; a number from 0 to {MOST_WEIGHT:g} is needed.",
                )
        validated = self._validation is not None
        by_tree = self.local == "tree"
        takes_k = self.local != "logistic"
        if self.k is not None and not (takes_k and isinstance(self.k, int) and self.k >= 1):
            raise ParameterError(
                f"k={self.k!r} with local={self.local!r}; a whole number from 1, for trees, or "
                "None is allowed.",
            )
        if self.local == "boosted":
            return [RATE]
        name, value = ("kappa", self.kappa) if by_tree else ("l1", self.l1)
        grid, default, most = (KAPPAS, KAPPA, 1.0) if by_tree else (L1S, 1.0, math.inf)
        if value is None:
            return list(grid) if validated else [default]
        values = sorted({float(number) for number in np.atleast_1d(value)}, reverse=not by_tree)
        if not values or not all(0 < v <= most and v < math.inf for v in values):
            limit = "in (0, 1]" if by_tree else "above zero"
            raise ParameterError(Setting(name, value), f"; numbers {limit} are needed.")
        if len(values) > 1 and not validated:
            raise ParameterError(
                Setting(name, value),
                f" are {len(values)} values; choosing one needs rows that were not "
                "learned from: fit(…, validation=…).",
            )
        return values

    def _validation_rows(self, X: Any, schema: Schema) -> Table:
        """The validation rows, encoded by `schema`, without missing cells."""
        if isinstance(X, str | os.PathLike):
            X = read(X)
        if isinstance(X, CountSource):
            X = X.rows()
        table = Table.from_frame(X, schema=schema)
        if self.missing == "drop":
            return table.resolve_missing("drop")
        for i in np.flatnonzero(table.has_missing):
            raise DataError(
                f"column {schema.names[i]!r} has missing cells in the validation rows, and none in "
                "the rows learned from; pass ",
                Setting("missing", "drop"),
                ", or leave such rows out.",
            )
        return table

    def _search(
        self, source: CountSource, settings: list[float], validation: Table | None
    ) -> VariableSearch[Any]:
        order = intrinsic_order(source)
        if isinstance(source, BasketCounts) and self.local != "boosted":
            return self._basket_search(source, order, settings[0], validation)
        if self.local == "logistic":
            return LogisticSearch(
                _distinct(source, order), order, settings, validation=validation, n_jobs=self.n_jobs
            )
        if self.local == "boosted":
            return BoostedSearch(
                _distinct(source, order),
                order,
                validation=validation,
                partners=self._partners(source, order),
                kappas=KAPPAS if validation is not None else [KAPPA],
                min_count=self.min_count,
                prior=max(self.prior, LEAST_PRIOR),
                seed=self.random_state,
                n_jobs=self.n_jobs,
            )
        rows = source if source.table is not None else MemoryCounts(source.rows())
        bits = bit_columns(rows)
        assert rows.table is not None and bits is not None
        return TreeSearch(
            rows.table,
            bits,
            order,
            settings,
            min_count=self.min_count,
            prior=self.prior,
            validation=validation,
            partners=self._partners(source, order),
            n_jobs=self.n_jobs,
        )

    def _basket_search(
        self, source: BasketCounts, order: Sequence[int], setting: float, validation: Table | None
    ) -> BasketSearch:
        """A search that never writes the baskets out."""
        if validation is not None:
            raise ParameterError(
                f"validation rows cannot choose {SETTINGS[self.local][:-1]} for baskets; pass one "
                "value, and compare models by `score`."
            )
        k = min(PARTNERS, len(source.schema) - 1) if self.k is None else self.k
        if k >= MOST_COLUMNS:
            raise ParameterError(
                Setting("k", k), f"; at most {MOST_COLUMNS - 1} items of baskets are allowed."
            )
        learn: Any = partial(learn_regression, l1=setting)
        if self.local == "tree":
            learn = LearnTree(kappa=setting, min_count=self.min_count, prior=self.prior)
        return BasketSearch(source, order, k, learn, n_jobs=self.n_jobs)

    def _partners(self, source: CountSource, order: Sequence[int]) -> Ints | None:
        """For each tree the columns of its questions; None for all columns."""
        k = PARTNERS if self.k is None and self.local == "boosted" else self.k
        if k is None or k >= len(source.schema) - 1:
            return None
        partners = Partners(source, k, order=order, n_jobs=self.n_jobs)
        n, block = partners.n, partners.block
        return np.concatenate([partners.of(i, min(i + block, n), None) for i in range(0, n, block)])


def default_kappa(n: int) -> float:
    """κ of trees over n columns: the price of a split knows how many columns it chose among.

    >>> default_kappa(100), round(-math.log(default_kappa(50_000)), 2)
    (0.01, 12.18)
    """
    return KAPPA if n <= MANY_COLUMNS else min(KAPPA, math.exp(-chance_gain(n)))


def _distinct(source: CountSource, order: Sequence[int]) -> Table:
    """The distinct rows with the columns in `order`, sorted, with their weights."""
    columns, cards = list(order), source.schema.cards[list(order)]
    if math.prod(cards.tolist()) <= max(2**16, source.n_rows or 0):
        table = source.counts([columns], missing="error")[0]
        cells = np.nonzero(table)
        return Table(source.schema.select(columns), np.array(cells), table[cells])
    return source.rows(columns) if source.table is None else source.table.distinct(columns)

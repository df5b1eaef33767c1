"""Learners of a distribution over all columns: how probable rows are that they have not seen.

`score` makes them estimators for `cross_val_score` and `GridSearchCV` of scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.data.encoding import Unseen
from counterpane.data.table import Table
from counterpane.data.weights import check_weights
from counterpane.errors import FitError
from counterpane.learners.base import Learner
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.typing import Floats


class DensityLearner(Learner):
    """A learner whose `model_` says how probable whole rows are."""

    def score_samples(self, X: Any, *, unseen: Unseen = "unknown") -> Floats:
        """ln P(row) by the learned model, natural log, shape (n_rows,).

        Cells that are missing are summed out, unless training had missing cells and made them a
        state; so are cells in a state that training did not see, unless `unseen` says otherwise:
        "error" raises, and "missing" takes them as missing.
        """
        model = self._learned_model()
        same = isinstance(X, Table) and X.schema == model.schema
        table = X if same else Table.from_frame(X, schema=model.schema, unseen=unseen)
        gaps = table.codes >= model.schema.cards[:, None]
        first = np.where(gaps.any(axis=0), gaps.argmax(axis=0), -1)
        log_probs: Floats = np.empty(table.n_rows)
        for column in np.unique(first).tolist():
            rows = first == column
            part = table.take(rows)
            if column < 0:
                log_probs[rows] = model.score_samples(part)
            else:
                answers = model.query_many(model.schema.names[column], part, impossible="prior")
                log_probs[rows] = answers.log_evidence
        return log_probs

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of `score_samples`; larger is better. `y` is not used.

        A dependency network or hybrid random field has no joint distribution: then it is the mean
        pseudo-log-likelihood, Σ_v ln P(x_v | rest of the row), of the rows whose cells are all
        known.
        """
        model = self._learned_model()
        if isinstance(model, DependencyNetwork):
            table = Table.from_frame(X, schema=model.schema, unseen="unknown")
            complete = (table.codes < model.schema.cards[:, None]).all(axis=0)
            values = model.pseudo_log_likelihood(table.take(complete), total=True)
        else:
            values = self.score_samples(X)
            complete = np.ones(len(values), dtype=bool)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(sample_weight))[complete]
        return float(np.average(values, weights=weights))

    def _learned_model(self) -> Any:
        if self.model_ is None:
            raise FitError(f"{type(self).__name__} learned a graph without probabilities.")
        return self.model_

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # slow to import

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(categorical=True, string=True, allow_nan=True),
        )

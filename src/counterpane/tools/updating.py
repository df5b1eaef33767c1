"""Networks with the counts of new rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import is_large, read
from counterpane.counts.source import CountSource, Policy
from counterpane.data.columns import known_columns
from counterpane.data.encoding import Unseen
from counterpane.data.reading import read_columns
from counterpane.data.schema import Schema, formats_of
from counterpane.data.table import Table
from counterpane.errors import ParameterError
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.record import LearningRecord
from counterpane.tools.links import family_counts


def updated_network(
    model: BayesianNetwork, X: Any, sample_weight: Any, missing: Policy, unseen: Unseen
) -> BayesianNetwork:
    """The network with the counts of further rows added; see `BayesianNetwork.update`."""
    if model.strengths is None:
        raise ParameterError(
            "the network does not say how many rows its tables stand for, so new rows have no "
            "weight beside them; learn it from data, or pass strengths for each row of a table."
        )
    source = _rows(model.schema, _as_learned(model, X), sample_weight, unseen)
    families = [(*model.dag.parents(i), i) for i in range(model.dag.n)]
    batch = source.counts(families, missing=missing)
    new = [np.asarray(batch[i], dtype=np.float64) for i in range(model.dag.n)]
    record = _updated_record(model, source)
    size = model.prior_size
    if size is None:
        alpha = [s[..., None] * t for s, t in zip(model.strengths, model.tables, strict=True)]
        return model.from_counts(model.schema, model.dag, new, alpha=alpha, record=record)
    counts = [a + b for a, b in zip(family_counts(model, size), new, strict=True)]
    return model.from_counts(
        model.schema, model.dag, counts, equivalent_sample_size=size, record=record
    )


def _as_learned(model: BayesianNetwork, X: Any) -> Any:
    """A file in memory with its columns as those that the network was learned from."""
    if not isinstance(X, str | os.PathLike) or is_large(X):
        return X
    return known_columns(read_columns(X, formats=formats_of(model.schema)), model.schema)


def network_rows(model: BayesianNetwork, X: Any) -> Table:
    """The rows of `X` in the states of a network, read as those that it was learned from."""
    return _rows(model.schema, _as_learned(model, X), None, "error").rows()


def _rows(schema: Schema, X: Any, sample_weight: Any, unseen: Unseen) -> CountSource:
    """The counts of new rows in the states of the model."""
    data = X
    if not isinstance(X, CountSource) and not (isinstance(X, Table) and X.schema == schema):
        data = read(X, schema=schema, unseen=unseen)
    if isinstance(data, Table):
        return MemoryCounts(data if sample_weight is None else data.reweighted(sample_weight))
    if sample_weight is not None:
        raise ParameterError("sample_weight cannot be joined to a count source.")
    if data.schema != schema:
        raise ParameterError(
            "the new rows have other columns or states than the network; read them with "
            "schema=model.schema."
        )
    return data  # type: ignore[no-any-return]


def _updated_record(model: BayesianNetwork, source: CountSource) -> LearningRecord:
    """How the model was learned, with the new rows added to the old ones."""
    data = model.record.data
    added = {
        name: None if old is None or more is None else old + more
        for name, old, more in (
            ("rows", data.rows, source.n_rows),
            ("weight", data.weight, source.total_weight),
        )
    }
    return model.record.with_parts(data={**added, "fingerprint": None, "updates": data.updates + 1})

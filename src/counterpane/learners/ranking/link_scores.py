"""Scores of items by the items that a user has: a ranking, without probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import ParameterError, ScopeError
from counterpane.lazy import lazy
from counterpane.models.arrays import Arrays, store_as
from counterpane.models.base import Model
from counterpane.models.record import LearningRecord
from counterpane.typing import Array, Codes, Floats

if TYPE_CHECKING:
    import networkx as nx
    import scipy.sparse as sparse
else:
    nx, sparse = lazy("networkx"), lazy("scipy.sparse")


class LinkScores(Model):
    """score(j) = constants[j] + |chosen| slopes[j] + Σ pairs[k, j] over the chosen items k.

    `pairs` is a sparse matrix, (items, items). Naive Bayes, cosine similarity and popularity have
    this form. `schema` has a column of the states 0 and 1 for each item.
    """

    kind = "link_scores"

    def __init__(
        self,
        schema: Schema,
        pairs: Any,
        slopes: Floats,
        constants: Floats,
        *,
        record: LearningRecord | None = None,
    ) -> None:
        n = len(schema)
        self.schema = schema
        self.pairs: Any = sparse.csr_array(pairs, dtype=np.float64)
        self.slopes: Floats = np.asarray(slopes, dtype=np.float64)
        self.constants: Floats = np.asarray(constants, dtype=np.float64)
        self.record = record or LearningRecord()
        if self.pairs.shape != (n, n) or {self.slopes.shape, self.constants.shape} != {(n,)}:
            raise ScopeError(f"the scores are not those of the {n} items of the schema.")

    def __repr__(self) -> str:
        return f"LinkScores({len(self.schema)} items, {self.pairs.nnz:,} pairs)"

    @property
    def graph(self) -> Any:
        """The items whose pairs have a score, as a networkx graph."""
        graph = nx.Graph()
        graph.add_nodes_from(self.schema.names)
        names = self.schema.names
        first, second = sparse.coo_array(self.pairs).coords
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        graph.add_edges_from((names[a], names[b]) for a, b in pairs if a != b)
        return graph

    def link_scores(self, codes: Codes) -> Floats:
        """The score of each item for each column of `codes` (items, users): (users, items)."""
        chosen = sparse.csr_array(codes.T, dtype=np.float64)
        by_pairs: Floats = (chosen @ self.pairs).toarray()
        return by_pairs + np.outer(chosen.sum(axis=1), self.slopes) + self.constants

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ParameterError(
            "the model ranks items and has no probabilities; use `rank`, or learn a model with "
            "probabilities: LinkRanker('hybrid'), on the command line --method hybrid."
        )

    query = query_many = marginals = map_query = sample = score_samples = _refuse
    predict_proba = _class_probabilities = full_conditionals = to_potentials = _refuse
    pseudo_log_likelihood = log_evidence = _refuse


def score_arrays(model: LinkScores) -> dict[str, Array]:
    """All of the scores but the schema, as arrays."""
    return {
        "values": model.pairs.data,
        "columns": model.pairs.indices.astype(np.int64),
        "starts": model.pairs.indptr.astype(np.int64),
        "slopes": model.slopes,
        "constants": model.constants,
    }


def pairs_of(schema: Schema, arrays: Arrays) -> Any:
    """The scores of pairs that `score_arrays` described, as a sparse matrix."""
    n = len(schema)
    pairs = sparse.csr_array((arrays["values"], arrays["columns"], arrays["starts"]), shape=(n, n))
    pairs.check_format()
    return pairs


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> LinkScores:
    pairs = pairs_of(schema, arrays)
    return LinkScores(schema, pairs, arrays["slopes"], arrays["constants"], record=record)


store_as(LinkScores.kind, score_arrays, _read)

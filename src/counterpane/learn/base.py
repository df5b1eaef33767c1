"""What all learners share: scikit-learn's conventions, and any table as input."""

from __future__ import annotations

import hashlib
import platform
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

import counterpane
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.readers import read
from counterpane.data.table import Missing, Table
from counterpane.errors import NotFittedError, ParameterError
from counterpane.learn.driver import Driver


class Learner(BaseEstimator, ABC):  # type: ignore[misc]
    """A learner stores its parameters, `fit` finds a model, and results end in an underscore."""

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`."""

    def __getattr__(self, name: str) -> Any:
        fitted = any(k.endswith("_") for k in vars(self))
        if name.endswith("_") and not name.startswith("_") and not fitted:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} yet; call fit first.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _source(self, X: Any, sample_weight: Any, missing: Missing, n_jobs: int) -> CountSource:
        """The counts of `X`, with missing cells resolved."""
        if isinstance(X, CountSource):
            if sample_weight is not None:
                raise ParameterError("sample_weight cannot be joined to a count source.")
            return X
        table = X if isinstance(X, Table) else read(X)
        if sample_weight is not None:
            table = table.reweighted(sample_weight)
        return MemoryCounts(table.resolve_missing(missing), n_jobs=n_jobs)

    def _driver(self, source: CountSource) -> Driver:
        """The driver for this learner's own parameters."""
        parameters = {k: repr(v) for k, v in self.get_params(deep=False).items()}
        for name in ("time_limit", "progress", "checkpoint", "n_jobs"):
            parameters.pop(name, None)
        known = {"learner": type(self).__name__, "parameters": parameters, "data": digest(source)}
        return Driver(source.schema, known, self.time_limit, self.progress, self.checkpoint)

    def _provenance(self, source: CountSource, seconds: float) -> dict[str, Any]:
        """How a model was learned, for its file."""
        return {
            "learner": repr(self),
            "data": digest(source),
            "rows": source.n_rows,
            "weight": source.total_weight,
            "seconds": round(seconds, 3),
            "counterpane": counterpane.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        }


def digest(source: CountSource) -> str:
    """A fingerprint of the data: of all codes in memory, else of the schema and the row count."""
    sha = hashlib.blake2b(repr([(v.name, v.states) for v in source.schema]).encode())
    if isinstance(source, MemoryCounts):
        sha.update(source.table.codes.data)
        if source.table.weights is not None:
            sha.update(source.table.weights.data)
    else:
        sha.update(str(source.n_rows).encode())
    return sha.hexdigest()[:16]

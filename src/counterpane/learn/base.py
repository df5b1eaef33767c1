"""What all learners share: scikit-learn's conventions, and any table as input.

The conventions are kept without importing scikit-learn, which would double the start-up time.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
from abc import ABC, abstractmethod
from typing import Any, Self, TypedDict
from weakref import WeakKeyDictionary

import numpy as np

import counterpane
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource
from counterpane.data.readers import read
from counterpane.data.table import Missing, Table
from counterpane.errors import NotFittedError, ParameterError, unknown_name
from counterpane.learn.driver import Driver
from counterpane.progress import Report


class LearnerOptions(TypedDict, total=False):
    """The parameters that all learners share; see `Learner`."""

    equivalent_sample_size: float
    missing: Missing
    time_limit: float | None
    n_jobs: int
    progress: bool | Report
    checkpoint: str | os.PathLike[str] | None


class Learner(ABC):
    """A learner stores its parameters, `fit` finds a model, and results end in an underscore.

    All take `equivalent_sample_size` of the parameters' prior, `missing` ("state", "drop" or
    "error"), `time_limit` in seconds, `n_jobs` threads, `progress` (True, or a function), and
    `checkpoint`, a file to go on from. `sklearn.base.clone` and all else that goes by `get_params`
    works.
    """

    def __init__(
        self,
        *,
        equivalent_sample_size: float = 1.0,
        missing: Missing = "state",
        time_limit: float | None = None,
        n_jobs: int = 1,
        progress: bool | Report = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.equivalent_sample_size = equivalent_sample_size
        self.missing = missing
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """Each parameter's default, those of base classes included."""
        found: dict[str, Any] = {}
        for owner in cls.__mro__:
            if "__init__" in vars(owner) and owner is not object:
                for p in list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]:
                    if p.kind is not p.VAR_KEYWORD:
                        found.setdefault(p.name, p.default)
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._parameters():
                raise unknown_name("parameter", name, self._parameters())
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._parameters().items()
            if repr(getattr(self, name)) != repr(default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

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
            if isinstance(X, MemoryCounts) and X.has_missing.any():
                return MemoryCounts(X.table.resolve_missing(missing), n_jobs=X.n_jobs)
            if X.n_rows is None or X.has_missing.any():  # one look: no missing cell, and its size
                X.counts([(i,) for i in range(len(X.schema))], missing="error")
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
        known = {
            "learner": type(self).__name__,
            "parameters": parameters,
            "data": digest(source),
            "counterpane": counterpane.__version__,
        }
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


_DIGESTS: WeakKeyDictionary[CountSource, str] = WeakKeyDictionary()


def digest(source: CountSource) -> str:
    """A fingerprint of the data: of all codes in memory, else of the schema and the row count."""
    if source in _DIGESTS:
        return _DIGESTS[source]
    sha = hashlib.blake2b(repr([(v.name, v.states) for v in source.schema]).encode())
    if isinstance(source, MemoryCounts):
        sha.update(source.table.codes.data)
        if source.table.weights is not None:
            sha.update(source.table.weights.data)
    else:
        sha.update(str(source.n_rows).encode())
    _DIGESTS[source] = sha.hexdigest()[:16]
    return _DIGESTS[source]

"""What all learners share: scikit-learn's conventions, and any table as input.

The conventions are kept without importing scikit-learn, which would double the start-up time.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypedDict
from weakref import WeakKeyDictionary

import numpy as np

import counterpane
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.reading import read
from counterpane.counts.resolved import resolved
from counterpane.counts.rows import rows_of
from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.drawing import draw
from counterpane.errors import DataError, FitError, NotFittedError, ParameterError, unknown_name
from counterpane.lazy import lazy
from counterpane.learn.driver import Driver
from counterpane.learn.gains import EdgeGain
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Report
from counterpane.scores import LocalScore

if TYPE_CHECKING:
    from counterpane.learn import notebook
else:
    notebook = lazy("counterpane.learn.notebook")

MAX_TRACE = 200  # records of a trace that a model's file keeps

Missing = Literal["state", "drop", "error", "available", "em"]
"""What a learner does about missing cells; see `Learner`."""


class LearnerOptions(TypedDict, total=False):
    """The parameters that all learners share; see `Learner`."""

    equivalent_sample_size: float
    missing: Missing
    time_limit: float | None
    n_jobs: int
    progress: bool | Report
    checkpoint: str | os.PathLike[str] | None


class Learned(NamedTuple):
    """A network and how it was found; the results that all learners of networks share."""

    model: BayesianNetwork
    score: float
    gains: list[EdgeGain]
    trace: list[dict[str, Any]]


class Learner(ABC):
    """A learner stores its parameters, `fit` finds a model, and results end in an underscore.

    All take `equivalent_sample_size` of the parameters' prior, `missing`, `time_limit` in seconds,
    `n_jobs` threads, `progress` (True, or a function), and `checkpoint`, a file to go on from.
    `sklearn.base.clone` and all else that goes by `get_params` works.

    `missing` says what missing cells are: a "state" of their own; a reason to "drop" their row, or
    an "error". Network learners and `ChowLiu` also take "em", which completes the rows as the
    network itself expects them and learns from the expected counts (structural EM), and, with the
    score "nal", "available", which scores each family on the rows that are complete in it.
    """

    _leaves_gaps: ClassVar[tuple[str, ...]] = ()  # the policies by which missing cells stay

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
        return {name: self._parameter(name) for name in sorted(self._parameters())}

    def _parameter(self, name: str) -> Any:
        """A parameter as it was passed; `score` is also a method."""
        return vars(self)[name] if name in vars(self) else getattr(self, name)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in self._parameters():
                raise unknown_name("parameter", name, self._parameters())
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{name}={self._parameter(name)!r}"
            for name, default in self._parameters().items()
            if repr(self._parameter(name)) != repr(default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        return notebook.learner_html(self)

    def plot(self, kind: str = "graph", **options: Any) -> Any:
        """What was learned, on matplotlib axes: the "graph", the "trace" of the search, or "edges".

        See `counterpane.plots.learned`; `options` are those of the picture.
        """
        return draw("learned", self, kind, **options)

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`."""

    def __getattr__(self, name: str) -> Any:
        fitted = any(k.endswith("_") for k in vars(self))
        if name.endswith("_") and not name.startswith("_") and not fitted:
            raise NotFittedError(f"{type(self).__name__} has no {name!r} yet; call fit first.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _source(self, X: Any, sample_weight: Any, missing: Missing, n_jobs: int) -> CountSource:
        """The counts of `X`, with missing cells resolved, or left where the policy says so."""
        known = ("state", "drop", "error", *self._leaves_gaps)
        if missing not in known:
            allowed = " or ".join([", ".join(map(repr, known[:-1])), repr(known[-1])])
            raise ParameterError(f"missing={missing!r}; {type(self).__name__} takes {allowed}.")
        if not isinstance(X, CountSource | Table):
            X = read(X)
        if isinstance(X, CountSource):
            if sample_weight is not None:
                raise ParameterError("sample_weight cannot be joined to a count source.")
            if missing in self._leaves_gaps:
                return self._with_gaps(X, missing)
            return resolved(X, missing)  # type: ignore[arg-type]
        table = X if sample_weight is None else X.reweighted(sample_weight)
        return MemoryCounts(self._resolved(table, missing), n_jobs=n_jobs)

    def _with_gaps(self, source: CountSource, missing: Missing) -> CountSource:
        """A source whose missing cells stay; one that has none is the same by any policy."""
        if isinstance(source, MemoryCounts):
            return MemoryCounts(self._resolved(source.table, missing), n_jobs=source.n_jobs)
        complete = resolved(source, "state")
        if complete.schema == source.schema:
            return complete
        if missing == "available":
            counted = source.counts([(i,) for i in range(len(source.schema))], missing="drop")
            for i in np.flatnonzero(counted.n == 0):
                raise _nothing_told(source.schema.names[i])
            return source
        rows = MemoryCounts(rows_of(source))
        rows.n_rows = source.n_rows or 0
        return rows

    def _resolved(self, table: Table, missing: Missing) -> Table:
        """`table` without missing cells, unless they stay."""
        if missing == "em":
            return table
        if missing != "available":
            return table.resolve_missing(missing)
        for i in np.flatnonzero(table.has_missing):
            if (table.codes[i] == table.schema.cards[i]).all():
                raise _nothing_told(table.schema.names[i])
        return table

    def _check_available(self, score: LocalScore) -> None:
        """Refuse to score families on different rows by a score that is not made for it."""
        if self.missing == "available" and not score.available_case:
            raise FitError(
                f"missing='available' scores families on different rows, for which {score.name!r} "
                "is not made; take the score 'nal', or missing='em'."
            )

    def _keep(self, found: Learned, provenance: dict[str, Any]) -> Self:
        """Set the results."""
        found.model.provenance = {**provenance, "trace": _kept(found.trace)}
        self.model_: Any = found.model
        self.graph_ = found.model.graph
        self.score_, self.gains_, self.trace_ = found.score, found.gains, found.trace
        return self

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
        """How a model was learned, for its file; `trace_` must be that of this fit by now."""
        seed = getattr(self, "random_state", None)
        return {
            "learner": repr(self),
            "data": digest(source),
            "rows": source.n_rows,
            "weight": source.total_weight,
            "seconds": round(seconds, 3),
            "counterpane": counterpane.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "random_state": seed if isinstance(seed, int) else None,
            "trace": _kept(vars(self).get("trace_", ())),
        }


def _nothing_told(name: str) -> DataError:
    return DataError(
        f"column {name!r} has no cell that is not missing, and no family with it can be scored; "
        "leave it out, or pass missing='em'."
    )


def _kept(trace: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records of a trace as a file keeps them: evenly chosen, at most `MAX_TRACE`, plain values."""
    some = np.unique(np.linspace(0, len(trace) - 1, min(len(trace), MAX_TRACE)).astype(np.int64))
    return [
        {name: plain for name, value in trace[i].items() if (plain := _plain(value)) is not None}
        for i in some.tolist()
    ]


def _plain(value: Any) -> Any:
    """A number, a text, or a list of such; None for anything else, and for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value if isinstance(value, str | int) else None


_DIGESTS: WeakKeyDictionary[CountSource, str] = WeakKeyDictionary()


def digest(source: CountSource) -> str:
    """A fingerprint of the data: of all codes in memory, else of the counts of each column."""
    if source in _DIGESTS:
        return _DIGESTS[source]
    sha = hashlib.blake2b(repr([(v.name, v.states) for v in source.schema]).encode())
    if isinstance(source, MemoryCounts):
        sha.update(source.table.codes.data)
        if source.table.weights is not None:
            sha.update(source.table.weights.data)
    else:
        for counts in source.counts([(i,) for i in range(len(source.schema))], missing="state"):
            sha.update(counts.tobytes())
        sha.update(str(source.n_rows).encode())
    _DIGESTS[source] = sha.hexdigest()[:16]
    return _DIGESTS[source]

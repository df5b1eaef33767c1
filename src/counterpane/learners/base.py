"""What all learners share: options, any table as input, a driver, and the models' records."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np

import counterpane
from counterpane.checks import CHOICE, NO_ARRAY, PATH
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.open import read
from counterpane.counts.source import CountSource, threads_of
from counterpane.counts.view import with_missing_policy
from counterpane.data.column_hashes import hash_columns
from counterpane.data.export import frame_kind_of
from counterpane.data.schema_inference import Discretize
from counterpane.data.table import Table
from counterpane.errors import ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.learners.driver import Driver
from counterpane.learners.estimator import Config, Estimator
from counterpane.learners.gap_policy import GapPolicy, policy_of_source
from counterpane.memory import memory_errors
from counterpane.models.edges import Edges
from counterpane.models.joint import JointModel
from counterpane.models.record import (
    DataRecord,
    LearnerRecord,
    LearningRecord,
    preparation_record,
)
from counterpane.plotting import draw_plot
from counterpane.progress import Report
from counterpane.tools.links import equivalence_graph

if TYPE_CHECKING:
    from counterpane.learners import notebook
else:
    notebook = lazy("counterpane.learners.notebook")

MAX_TRACE = 200  # records of a trace that a model's file keeps

Missing = Literal["auto", "state", "drop", "error", "available", "em"]
"""What a learner does about missing cells; see `Learner`."""


FilePath = Annotated[str | os.PathLike[str], PATH]
Seed = Annotated[int | np.random.Generator | None, NO_ARRAY]
"""A seed, or a source of random numbers."""


class Learner(Estimator, ABC):
    """A learner stores its parameters, `fit` finds a model, and results end in an underscore.

    All take `missing`, `discretize`, `time_limit` in seconds, `n_jobs` threads, `progress` (True,
    or a function), and `checkpoint`, a file to resume from. `sklearn.base.clone` and all else that
    uses `get_params` works; `to_config` and `from_config` write and read the parameters as JSON.

    `discretize` says how numbers and dates of a frame become states, as in `counterpane.read`:
    "auto" cuts them into intervals and leaves out ids, constants and columns of too many states,
    as the command does; `notes_` then says what was done, a sentence for each column. A `Table` or
    `CountSource` is taken as it is.

    `missing` is the policy for missing cells: "state" makes missing a state of its own, "drop"
    leaves out rows with gaps, "error" refuses gaps. Network learners and `ChowLiu` also take "em",
    which completes the rows as the network itself expects them and learns from the expected counts
    (structural EM), and, with the score "nal", "available", which scores each family on the rows
    that are complete in it. "auto" is "em" for these learners, with a state in columns where being
    missing tells something of other columns and held-out rows show that the state pays; where EM
    would be too slow, "drop" or "state". For all other learners "auto" is "state". After `fit`,
    `missing_` is the policy that was used ("none" where nothing is missing), and `missing_note_`
    says it in a sentence.
    """

    _leaves_gaps: ClassVar[tuple[str, ...]] = ()  # missing-value policies that leave gaps in place
    _why_states: ClassVar[str] = ""  # the reason why missing="auto" is "state", if it needs one

    missing: Annotated[Missing, CHOICE] = "auto"
    discretize: Discretize = "auto"
    time_limit: float | None = None
    n_jobs: int = 1
    progress: bool | Report = False
    checkpoint: FilePath | None = None

    def _repr_html_(self) -> str:
        return notebook.learner_html(self)

    def plot(self, kind: str = "graph", **options: Any) -> Any:
        """What was learned, on matplotlib axes: the "graph", the "trace" of the search, or "edges".

        See `counterpane.plots.learned`; `options` are those of the picture.
        """
        return draw_plot("learned", self, kind, **options)

    @property
    def strengths_(self) -> Edges:
        """The edges of a network with their strength in bits per row, strongest first.

        See `BayesianNetwork.edge_strengths`, the measure that the command and reports show.
        """
        edges: Edges = self.model_.edge_strengths()
        return edges

    @property
    def cpdag_(self) -> Any:
        """The equivalence class of the network, a networkx graph; see `cp.equivalence_graph`."""
        return equivalence_graph(self.model_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`.

        Classifiers need `y`: the classes, or the name of their column. A fit that fails or is
        interrupted changes nothing.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **given: Any) -> Self:
        """Read the data, learn, and record how; `given` are attributes that `_learn` reads."""
        began = time.monotonic()
        before = dict(vars(self))
        for name in before:
            if name.endswith("_"):
                delattr(self, name)
        vars(self).update(given)
        try:
            self._check_parameters()
            with memory_errors(f"{type(self).__name__}().fit"):
                data = self._read(X, y, sample_weight)
                self._learn(data)
                source = data if isinstance(data, CountSource) else data.source
                self._set_record(self._record(source, time.monotonic() - began))
                self._keep_rows()
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        finally:
            vars(self).pop("_table", None)
        self.notes_ += [self.missing_note_] if self.missing_note_ else []
        return self

    @abstractmethod
    def _learn(self, source: Any) -> None:
        """Learn from the data that `_read` returns, and set the results."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The data to learn from, missing cells resolved, or left where the policy says so.

        A `CountSource`, or data with an attribute `source`. Sets `notes_` and `missing_`.
        """
        return self._source(X, sample_weight)

    def _source(self, X: Any, sample_weight: Any) -> CountSource:
        """The counts of `X`, with missing cells resolved, or left where the policy says so."""
        policies = ("auto", "state", "drop", "error", *self._leaves_gaps)
        if self.missing not in policies:
            allowed = " or ".join([", ".join(map(repr, policies[:-1])), repr(policies[-1])])
            raise ParameterError(
                Setting("missing", self.missing), f"; {type(self).__name__} takes {allowed}."
            )
        kind = frame_kind_of(X)
        if not isinstance(X, CountSource | Table):
            X = read(X, discretize=self.discretize, target=getattr(self, "target", None))
        self._preparation, self.notes_ = {}, []
        if isinstance(X, Table):
            self._preparation, self.notes_ = X.preparation, list(X.notes)
        if isinstance(X, CountSource):
            if sample_weight is not None:
                raise ParameterError("sample_weight cannot be joined to a count source.")
            source = X
        else:
            table = X if sample_weight is None else X.reweighted(sample_weight)
            table.frame_kind = kind or table.frame_kind
            self._table = table
            source = MemoryCounts(table, n_jobs=self.n_jobs)
        policy, source = self._resolve(source, self.missing)
        self._use(policy)
        return source

    def _resolve(self, source: CountSource, missing: Missing) -> tuple[GapPolicy, CountSource]:
        """The policy for missing cells, and the source on which it is carried out."""
        policy: Any = "state" if missing == "auto" else missing
        gaps = policy_of_source(policy, source)
        if missing == "auto" and gaps.columns:
            gaps = gaps._replace(why=self._why_states)
        return gaps, with_missing_policy(source, policy)

    def _use(self, policy: GapPolicy) -> None:
        """Store the policy for missing cells, and its results."""
        self._gaps = policy
        self.missing_, self.missing_note_ = policy.policy, policy.sentence

    def _keep_rows(self) -> None:
        """Let a model that was learned from a table keep rows of it."""
        model, table = vars(self).get("model_"), vars(self).get("_table")
        has_own = getattr(model, "rows", None) is not None  # those that a classifier averages over
        if table is not None and isinstance(model, JointModel) and not has_own:
            model.training_rows = table() if callable(table) else table

    def _set_record(self, record: LearningRecord) -> None:
        """Store how the model was learned."""
        model: Any = getattr(self, "model_", None)
        if model is not None:
            model.record = record

    def _driver(self, source: CountSource) -> Driver:
        """A driver whose checkpoints hold for these parameters and this data."""
        parameters = {k: repr(v) for k, v in self.get_params(deep=False).items()}
        for name in ("time_limit", "progress", "checkpoint", "n_jobs"):
            parameters.pop(name, None)
        fingerprint = {
            "learner": type(self).__name__,
            "parameters": parameters,
            "data": digest(source),
            "counterpane": counterpane.__version__,
        }
        return Driver(source.schema, fingerprint, self.time_limit, self.progress, self.checkpoint)

    def _record(self, source: CountSource, seconds: float) -> LearningRecord:
        """How the model was learned, for its file."""
        seed = getattr(self, "random_state", None)
        return LearningRecord(
            learner=LearnerRecord(
                text=repr(self),
                config=self._config(),
                random_state=seed if isinstance(seed, int) else None,
                prior_size=getattr(self, "equivalent_sample_size", None),
                seconds=round(seconds, 3),
                trace=tuple(_trace_records(vars(self).get("trace_", ()))),
                versions={
                    "counterpane": counterpane.__version__,
                    "python": platform.python_version(),
                    "numpy": np.__version__,
                },
            ),
            data=DataRecord(
                rows=source.n_rows,
                weight=source.total_weight,
                fingerprint=digest(source),
                frame=None if source.table is None else source.table.frame_kind,
            ),
            preparation=preparation_record(self._preparation, missing=self._gaps.to_record()),
        )

    def _config(self) -> Config | None:
        """`to_config`; None where a parameter is an object that JSON cannot hold."""
        try:
            return self.to_config()
        except ParameterError:
            return None


def _trace_records(trace: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most `MAX_TRACE` records of a trace, evenly chosen, as plain values for a file."""
    chosen = np.unique(np.linspace(0, len(trace) - 1, min(len(trace), MAX_TRACE)).astype(np.int64))
    return [
        {
            name: plain
            for name, value in trace[i].items()
            if (plain := _plain_value(value)) is not None
        }
        for i in chosen.tolist()
    ]


def _plain_value(value: Any) -> Any:
    """A number, a text, or a list of these; None for anything else and for infinite numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain_value(v) for v in value]
    return value if isinstance(value, str | int) else None


_DIGESTS: WeakKeyDictionary[CountSource, str] = WeakKeyDictionary()


def digest(source: CountSource) -> str:
    """A fingerprint of the data: of the columns in memory, else of the counts of each one."""
    if source in _DIGESTS:
        return _DIGESTS[source]
    sha = hashlib.blake2b(repr([(v.name, v.states) for v in source.schema]).encode())
    if source.table is not None:
        sha.update(hash_columns(source.table.codes, threads_of(source))[0].data)
        if source.table.weights is not None:
            sha.update(source.table.weights.data)
    else:
        for counts in source.counts([(i,) for i in range(len(source.schema))], missing="state"):
            sha.update(counts.tobytes())
        sha.update(str(source.n_rows).encode())
    _DIGESTS[source] = sha.hexdigest()[:16]
    return _DIGESTS[source]

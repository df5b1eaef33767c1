"""What all learners share: options, any table as input, a driver, and the models' provenance."""

from __future__ import annotations

import hashlib
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
from counterpane.counts.open import read
from counterpane.counts.source import CountSource
from counterpane.counts.view import resolved
from counterpane.data.encoder import Discretize
from counterpane.data.export import frame_kind_of
from counterpane.data.table import Table
from counterpane.errors import (
    DataError,
    FitError,
    NotFittedError,
    ParameterError,
    Setting,
    TableSizeError,
)
from counterpane.lazy import lazy
from counterpane.learn.driver import Driver
from counterpane.learn.estimator import Config, Estimator
from counterpane.learn.gains import EdgeGain
from counterpane.learn.gap_policy import GapPolicy, choose_policy, explicit_policy, too_slow
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.links import EdgeStrength
from counterpane.plotting import draw_plot
from counterpane.progress import Report
from counterpane.scores import LocalScore, as_score

if TYPE_CHECKING:
    from counterpane.learn import notebook
else:
    notebook = lazy("counterpane.learn.notebook")

MAX_TRACE = 200  # records of a trace that a model's file keeps

Missing = Literal["auto", "state", "drop", "error", "available", "em"]
"""What a learner does about missing cells; see `Learner`."""


class LearnerOptions(TypedDict, total=False):
    """The parameters that all learners share; see `Learner`."""

    missing: Missing
    discretize: Discretize
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
    _gaps: GapPolicy = GapPolicy("none")
    _em_effort = ""  # what EM may cost, where it is not as `missing` says

    def __init__(
        self,
        *,
        missing: Missing = "auto",
        discretize: Discretize = "auto",
        time_limit: float | None = None,
        n_jobs: int = 1,
        progress: bool | Report = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.missing = missing
        self.discretize = discretize
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint

    def _repr_html_(self) -> str:
        return notebook.learner_html(self)

    def plot(self, kind: str = "graph", **options: Any) -> Any:
        """What was learned, on matplotlib axes: the "graph", the "trace" of the search, or "edges".

        See `counterpane.plots.learned`; `options` are those of the picture.
        """
        return draw_plot("learned", self, kind, **options)

    @property
    def strengths_(self) -> list[EdgeStrength]:
        """(parent, child, bits, directed) of each edge of a network, strongest first.

        See `BayesianNetwork.edge_strengths`, the measure that the command and reports show.
        """
        strengths: list[EdgeStrength] = self.model_.edge_strengths()
        return strengths

    @property
    def cpdag_(self) -> Any:
        """The equivalence class of the network, a networkx graph; see `BayesianNetwork.cpdag`."""
        return self.model_.cpdag

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from `X`: a frame, a numpy array, a path, a `Table` or a `CountSource`."""

    def _source(self, X: Any, sample_weight: Any, missing: Missing, n_jobs: int) -> CountSource:
        """The counts of `X`, with missing cells resolved, or left where the policy says so.

        Sets `missing_` and `missing_note_`.
        """
        known = ("auto", "state", "drop", "error", *self._leaves_gaps)
        if missing not in known:
            allowed = " or ".join([", ".join(map(repr, known[:-1])), repr(known[-1])])
            raise ParameterError(
                Setting("missing", missing), f"; {type(self).__name__} takes {allowed}."
            )
        kind = frame_kind_of(X)
        if not isinstance(X, CountSource | Table):
            X = read(X, discretize=self.discretize, target=getattr(self, "target", None))
        self._preparation, self._notes = {}, []
        if isinstance(X, Table):
            self._preparation, self._notes = X.preparation, X.notes
        if isinstance(X, CountSource):
            if sample_weight is not None:
                raise ParameterError("sample_weight cannot be joined to a count source.")
            source = X
        else:
            table = X if sample_weight is None else X.reweighted(sample_weight)
            table.frame_kind = kind or table.frame_kind
            source = MemoryCounts(table, n_jobs=n_jobs)
        if missing == "auto" and "em" in self._leaves_gaps:
            choice, found = self._chosen(source)
        else:
            policy: Missing = "state" if missing == "auto" else missing
            if policy in self._leaves_gaps:
                found = self._with_gaps(source, policy)
            else:
                found = resolved(source, policy)  # type: ignore[arg-type]
            choice = policy_used(policy, source)
        self._use(choice)
        return found

    def _use(self, choice: GapPolicy) -> None:
        """Remember the policy for missing cells that is carried out."""
        self._gaps = choice
        self.missing_, self.missing_note_ = choice.policy, choice.sentence

    def _chosen(self, source: CountSource) -> tuple[GapPolicy, CountSource]:
        """The policy of missing="auto", and the source that it leaves."""
        if as_score(getattr(self, "score", "bic")).available_case:
            return policy_used("available", source), self._with_gaps(source, "available")
        plain = {"missing": "em", "progress": False, "checkpoint": None, "time_limit": None}
        parameters = self.get_params(deep=False) | plain

        def fit(table: Table) -> BayesianNetwork:
            trial = type(self)(**parameters)
            trial._em_effort = "trial"
            model: BayesianNetwork = trial.fit(table).model_
            return model

        return choose_policy(source, fit)

    def _without_em(self, source: CountSource, error: TableSizeError) -> CountSource:
        """`source` with missing as a state, after EM by missing="auto" would have been too slow."""
        if self.missing != "auto":
            raise error
        self._use(too_slow(self._gaps, str(error)))
        return resolved(source, "state")

    @property
    def notes_(self) -> list[str]:
        """What `fit` did to the table before it learned, a sentence for each column or kind."""
        if "_notes" not in vars(self):
            raise NotFittedError(f"{type(self).__name__} has no 'notes_' yet; call fit first.")
        gaps = vars(self).get("missing_note_", "")
        return [*self._notes, *([gaps] if gaps else [])]

    def _with_gaps(self, source: CountSource, missing: Missing) -> CountSource:
        """A source whose missing cells stay; one that has none is the same by any policy."""
        if source.table is not None:
            return MemoryCounts(self._checked(source.table, missing), n_jobs=source.n_jobs)
        complete = resolved(source, "state")
        if complete.schema == source.schema:
            return complete
        if missing == "available":
            counted = source.counts([(i,) for i in range(len(source.schema))], missing="drop")
            for i in np.flatnonzero(counted.n == 0):
                raise _nothing_told(source.schema.names[i])
            return source
        rows = MemoryCounts(source.rows())
        rows.n_rows = source.n_rows or 0
        return rows

    def _checked(self, table: Table, missing: Missing) -> Table:
        """`table`, checked for a policy that leaves its gaps."""
        if missing == "em":
            return table
        for i in np.flatnonzero(table.has_missing):
            if (table.codes[i] == table.schema.cards[i]).all():
                raise _nothing_told(table.schema.names[i])
        return table

    def _check_available(self, score: LocalScore) -> None:
        """Refuse to score families on different rows by a score that is not made for it."""
        if self.missing == "available" and not score.available_case:
            raise FitError(
                Setting("missing", "available"),
                f" scores families on different rows, for which {score.name!r} is not made; take "
                "the score 'nal', or ",
                Setting("missing", "em"),
                ".",
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
        kind = None if source.table is None else source.table.frame_kind
        return {
            **self._preparation,
            "learner": repr(self),
            "data": digest(source),
            "missing": self._gaps.to_dict(),
            "rows": source.n_rows,
            "weight": source.total_weight,
            "seconds": round(seconds, 3),
            "counterpane": counterpane.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "random_state": seed if isinstance(seed, int) else None,
            "trace": _kept(vars(self).get("trace_", ())),
        } | {
            key: value
            for key, value in (
                ("frame", kind),
                ("prior_size", getattr(self, "equivalent_sample_size", None)),
                ("config", self._config()),
            )
            if value is not None
        }

    def _config(self) -> Config | None:
        """`to_config`; None where a parameter is an object that JSON cannot hold."""
        try:
            return self.to_config()
        except ParameterError:
            return None


def policy_used(policy: str, source: CountSource) -> GapPolicy:
    """A policy that was asked for, and the columns of `source` that it concerns.

    Missing cells are counted in memory; of other sources the columns that may have some are named.
    """
    gaps, cells = source.has_missing, None
    table = source.table
    if table is not None:
        holes = (table.codes[gaps] == table.schema.cards[gaps, None]).sum(axis=0)
        cells = float(holes.sum() if table.weights is None else holes @ table.weights)
    return explicit_policy(policy, source.schema.names, gaps, cells)


def _nothing_told(name: str) -> DataError:
    return DataError(
        f"column {name!r} has no cell that is not missing, and no family with it can be scored; "
        "leave it out, or pass ",
        Setting("missing", "em"),
        ".",
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
    if source.table is not None:
        sha.update(source.table.codes.data)
        if source.table.weights is not None:
            sha.update(source.table.weights.data)
    else:
        for counts in source.counts([(i,) for i in range(len(source.schema))], missing="state"):
            sha.update(counts.tobytes())
        sha.update(str(source.n_rows).encode())
    _DIGESTS[source] = sha.hexdigest()[:16]
    return _DIGESTS[source]

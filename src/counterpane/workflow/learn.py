"""`learn`: from a table to a model, with its record, measures and notes."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from counterpane.counts.open import on_card, read
from counterpane.data.links import read_links
from counterpane.data.prepare import Prepared
from counterpane.data.table import Table
from counterpane.errors import Note, Option, ParameterError
from counterpane.learners.driver import StoppedEarly
from counterpane.learners.registry import find_learner
from counterpane.models.record import ClassFigures
from counterpane.models.typed_values import plain
from counterpane.workflow.choose import (
    CLASSIFIERS,
    COUNTED,
    MANY_STATES,
    METHODS,
    RANKER,
    check_bins,
    check_method,
    choose_method,
)
from counterpane.workflow.constraints import EdgeConstraints
from counterpane.workflow.fitting import fit_learner, fit_ranker
from counterpane.workflow.inputs import ColumnChoices, InputTable, read_input
from counterpane.workflow.learned import Learned
from counterpane.workflow.measuring import held_out_figures
from counterpane.workflow.results import results_of
from counterpane.workflow.stability import SAMPLES, SECONDS, add_edge_shares

Parameters = Mapping[str, Any] | Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class Request:
    """What `learn` is asked to do; `parameters` may depend on the method that is chosen."""

    data: Any
    target: str | None = None
    method: str = "auto"
    criterion: str | None = None
    parameters: Parameters = field(default_factory=dict)
    columns: ColumnChoices = field(default_factory=ColumnChoices)
    constraints: EdgeConstraints = field(default_factory=EdgeConstraints)
    text: Mapping[str, Any] = field(default_factory=dict)
    bootstrap: int | None = None
    time_limit: float | None = None
    checkpoint: str | os.PathLike[str] | None = None
    random_state: int | None = None
    n_jobs: int = 1
    device: str = "cpu"
    user: str | None = None
    item: str | None = None
    keep_rows: bool = True
    progress: bool = False
    bootstrap_seconds: float = SECONDS

    @property
    def links(self) -> bool:
        """Whether the data are a list of links."""
        return self.user is not None or self.item is not None

    def parameters_of(self, method: str) -> dict[str, Any]:
        """The parameters of the user for the learner of a method."""
        given = self.parameters
        return dict(given(method) if callable(given) else given)


def learn(
    data: Any,
    target: str | None = None,
    method: str = "auto",
    *,
    criterion: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    discretize: str = "auto",
    missing: str = "auto",
    bins: int | None = None,
    cuts: Mapping[str, Sequence[Any]] | None = None,
    use: Sequence[str] = (),
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weights: str | None = None,
    required_edges: Sequence[Any] = (),
    forbidden_edges: Sequence[Any] = (),
    tiers: Sequence[Sequence[str]] = (),
    user: str | None = None,
    item: str | None = None,
    bootstrap: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: int | None = None,
    n_jobs: int = 1,
    device: str = "cpu",
    keep_rows: bool = True,
    progress: bool = False,
    **text: Any,
) -> Learned:
    """Learn a model from any table, as the command `counterpane learn` does.

    The data are read and prepared, a method is chosen, the model is fitted, the stability of its
    edges and its measures on held-out rows are determined, and all of that is kept in its record.

    Parameters
    ----------
    data : path, frame, Table or CountSource
        A file, a folder or pattern of files, the name of an embedded data set, or a table.
    target : str, optional
        The column to predict; a classifier is learned.
    method : str
        "auto", or a method of the command, such as "structure-search", "interaction" or "pc".
    criterion : str, optional
        The score of networks, such as "bic" or "bdeu".
    parameters : mapping, optional
        Parameters of the learner.
    discretize, missing, bins, cuts : optional
        How numeric columns are discretized, and the policy for missing values.
    use, drop, categorical : sequence of str
        Columns to keep though they look like identifiers, to drop, and to treat as categories.
    weights : str, optional
        A column of counts: how many rows each row stands for.
    required_edges, forbidden_edges, tiers : sequence
        Constraints on a network.
    user, item : str, optional
        The columns of a list of links, for which a ranker is learned.
    bootstrap : int, optional
        The number of bootstrap samples; by default up to 100 within 5 s if the method is chosen.
    time_limit, checkpoint, random_state, n_jobs, device, progress : optional
        As for learners; `device` is "cpu" or "gpu".
    keep_rows : bool
        Whether the model keeps training rows.
    **text
        Options of a text file: encoding, delimiter, decimal, sheet, header.

    Returns
    -------
    Learned
        The model with its record, edges, measures and notes.

    Examples
    --------
    >>> import counterpane as cp
    >>> learned = cp.learn("titanic", "survived", method="naive-bayes")
    >>> round(learned.measures.log_loss.value, 2), learned.record.data.rows
    (0.52, 2201)
    """
    columns = ColumnChoices(
        discretize, missing, bins, dict(cuts or {}), use, drop, categorical, weights
    )
    given = [tuple(list(e) if not isinstance(e, str) else e for e in part)
             for part in (required_edges, forbidden_edges, tiers)]  # fmt: skip
    return run_request(
        Request(
            os.fspath(data) if isinstance(data, os.PathLike) else data,
            target,
            method,
            criterion,
            parameters or {},
            columns,
            EdgeConstraints(*given),
            text,
            bootstrap,
            time_limit,
            checkpoint,
            random_state,
            n_jobs,
            device,
            user,
            item,
            keep_rows,
            progress,
        )
    )


def run_request(request: Request, tell: Callable[[str], None] = lambda note: None) -> Learned:
    """Do what a request asks; `tell` is called with the reason for the method before the fit."""
    target, method = request.target, request.method
    check_method(method, target, auto=True, links=request.links)
    ranker, method = (method, RANKER) if request.links and method in COUNTED else ("auto", method)
    if method != "auto":
        request.constraints.check_method(method)
        request.parameters_of(method)
    table = _read(request, method)
    samples = request.bootstrap
    if samples is None:
        samples = SAMPLES if method == "auto" else 0
    method, why = _choose(request, method, len(table.names))
    if why:
        tell(Note(f"Method {method}: {why}; ", Option("method"), " selects another one."))
    check_bins(request.columns.bins, method, request.columns.discretize)
    source = _source(request, table, method)
    limits = request.constraints.parameters(
        table.names, table.prepared.left_out, table.options.get("dropped", ())
    )
    options = limits | _learner_options(request, method) | request.parameters_of(method)
    began = time.monotonic()
    with _stops() as stops:
        if method == RANKER:
            learner = fit_ranker(source, ranker)
        else:
            where = _on_device(source, method, request.device)
            learner = fit_learner(method, request.criterion, target, where, options)
        interrupted = [stop for stop in stops if stop.by_user]
        words = [str(stop) for stop in interrupted]
        resampled: dict[str, Any] = {}
        if method in METHODS and samples and not words:
            resampled["bootstrap"] = add_edge_shares(
                learner, source, samples,
                limit=request.bootstrap_seconds if request.bootstrap is None else None,
                seed=request.random_state or 0, stops=words,
            )  # fmt: skip
    facts = results_of(learner, source, method) | resampled
    facts |= {"target": target, "seconds": round(time.monotonic() - began, 3)}
    facts |= {"constraints": limits} if limits else {}
    figures = None
    if method in CLASSIFIERS and target is not None and not words:
        began = time.monotonic()
        figures = held_out_figures(learner, source, target, facts["seconds"])
        # Not within "held_out", which is saved: the same rows give the same file.
        facts["held_out_seconds"] = round(time.monotonic() - began, 3)
        facts |= {} if figures is None else {"held_out": plain(figures)}
    _complete_record(learner, table, facts, why, limits, figures, interrupted=bool(words))
    if not request.keep_rows:
        for name in {"rows", "training_rows"} & set(dir(learner.model_)):
            setattr(learner.model_, name, None)
    stopped = bool(stops or words)
    return Learned(learner, source, table, facts, request.data, request.text, stopped, bool(words))


@contextmanager
def _stops() -> Iterator[list[StoppedEarly]]:
    """The warnings that a search was stopped; they are shown as well."""
    found: list[StoppedEarly] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", StoppedEarly)
        before = warnings.showwarning

        def show(message: Warning | str, *args: Any, **options: Any) -> None:
            if isinstance(message, StoppedEarly):
                found.append(message)
            before(message, *args, **options)

        warnings.showwarning = show
        yield found


def _read(request: Request, method: str) -> InputTable:
    """The rows of the data, or the table of its links."""
    if request.links:
        table = read_links(request.data, user=request.user, item=request.item).table
        return InputTable(Prepared([]), table if isinstance(table, Table) else read(table))
    target = request.target
    classes = target is not None and (method == "auto" or method in CLASSIFIERS)
    chosen = choose_method(method, target=target, links=False, n_columns=1)[0]
    return read_input(
        request.data,
        target,
        request.columns,
        request.text,
        classes=classes,
        many_states=classes and chosen in MANY_STATES,
        progress=request.progress,
    )


def _choose(request: Request, method: str, n_columns: int) -> tuple[str, str]:
    """The method and the reason for it; no reason if the user named the method."""
    target, links = request.target, request.links
    if method == "auto" and request.constraints and target is None and not links:
        method, why = "structure-search", "edges are constrained, so networks are searched"
    else:
        method, why = choose_method(method, target=target, links=links, n_columns=n_columns)
    request.constraints.check_method(method, chosen=bool(why))
    return method, why


def _source(request: Request, table: InputTable, method: str) -> Any:
    """The rows as a method takes them: classifiers discretize numbers themselves by default."""
    target, columns = request.target, request.columns
    if target is not None and table.source is not None:
        table.source.schema.index(target)
    if method in CLASSIFIERS and columns.by_class:
        return table.raw()
    return table.to_table(target, columns.discretize, columns.bins)


def _learner_options(request: Request, method: str) -> dict[str, Any]:
    """The parameters of the learner of a method."""
    columns = request.columns
    options: dict[str, Any] = {
        "missing": columns.missing,
        "n_jobs": request.n_jobs,
        "time_limit": request.time_limit,
        "progress": request.progress,
        "checkpoint": request.checkpoint,
    }
    seed = request.random_state
    if seed is not None and method != RANKER and find_learner(method).takes("random_state"):
        options["random_state"] = seed
    if columns.bins is not None and method in CLASSIFIERS and columns.by_class:
        options["max_bins"] = columns.bins
    if method == "interaction":
        options["bootstrap"] = "auto" if request.bootstrap is None else request.bootstrap
    if method == "chow-liu":
        options["root"] = request.target
    return options


def _on_device(source: Any, method: str, device: str) -> Any:
    """The rows where the device counts them."""
    if device == "cpu":
        return source
    if device != "gpu":
        raise ParameterError(Option("device", device), " is not known; cpu or gpu is allowed.")
    if method in CLASSIFIERS or method == RANKER:
        raise ParameterError(
            Option("device", device),
            f" is for methods that learn a structure from counts, not for {method}; leave it out.",
        )
    return on_card(source, device)


def _complete_record(
    learner: Any,
    table: InputTable,
    facts: dict[str, Any],
    why: str,
    limits: Mapping[str, Any],
    figures: ClassFigures | None,
    *,
    interrupted: bool,
) -> None:
    """Record the preparation, the choice of the method and the measures, also in the facts."""
    model = learner.model_
    stopped = "Ctrl-C" if interrupted else None
    prepared = table.to_record()
    facts |= prepared
    facts |= {key: own for key, own in (("why", why), ("stopped", stopped)) if own}
    words = {k: tuple(own) for k, own in prepared.get("gap_words", {}).items()}
    kept = {k: tuple(v) if isinstance(v, list) else v for k, v in prepared.items()}
    model.record = model.record.with_parts(
        learner={"method": facts["method"], "why": why or None, "stopped": stopped},
        data={"target": facts["target"]} if facts["target"] is not None else {},
        preparation=kept | {"gap_words": words},
        constraints={
            "required": tuple(map(tuple, limits.get("required_edges", ()))),
            "forbidden": tuple(map(tuple, limits.get("forbidden_edges", ()))),
            "tiers": tuple(map(tuple, limits.get("tiers") or ())),
        },
        measures=figures,
    )

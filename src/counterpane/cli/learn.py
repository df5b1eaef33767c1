"""`counterpane learn`: from a table to a model."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import check_output, emit, interrupted, note, notes, stopped_early
from counterpane.cli.constraints import ConstraintOptions, EdgeConstraints
from counterpane.cli.methods import (
    CLASSIFIERS,
    COUNTED,
    MANY_STATES,
    METHODS,
    POSTERIORS,
    RANKER,
    check_bins,
    check_method,
    choose_method,
    make_learner,
)
from counterpane.cli.options import (
    ClassColumn,
    ColumnOptions,
    Data,
    Jobs,
    LinkColumns,
    MethodName,
    Printing,
    ScoreName,
    Seed,
    Settings,
    TextFormat,
    TimeLimit,
    n_threads,
)
from counterpane.cli.pictures import CHOSEN, show_learned
from counterpane.errors import CounterpaneError, FitError, ParameterError
from counterpane.lazy import lazy
from counterpane.learn.registry import find_learner

counting = lazy("counterpane.counts.open")
class_measures = lazy("counterpane.learn.classifiers.class_measures")
folds = lazy("counterpane.learn.classifiers.folds")
method_settings = lazy("counterpane.cli.settings")
model_links = lazy("counterpane.models.links")
posterior = lazy("counterpane.cli.posterior")
remote = lazy("counterpane.data.remote")
resampling = lazy("counterpane.learn.bootstrap")
tables = lazy("counterpane.cli.tables")

SAMPLES, SECONDS = 100, 5.0  # the limits of the bootstrap that --method auto adds
MAX_EDGES = 2000  # with a share in a model's file
FACTS = ("n_tests_", "cost_", "kappa_", "l1_", "n_passes_")
FOLDS = 5
QUICK, SLOW = 4.0, 40.0  # seconds of a fit: up to here five folds, or one, are learned again
SMALL = 2000  # rows up to which the folds that chose the structure are not used to measure it


@dataclass(frozen=True)
class SearchOptions:
    """How long to search, with which seed and threads, and how often to repeat it on samples."""

    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Samples that show how stable each edge or interaction is, at least 20; by "
            "default as many of 100 as 5 s allow for edges, 20 for interactions of small tables.",
        ),
    ] = None
    time_limit: TimeLimit = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A file to save progress in, and to resume from after a stop."),
    ] = None
    seed: Seed = None
    jobs: Jobs = None
    device: Annotated[
        str, typer.Option(help="Where rows are counted: cpu, or gpu for an NVIDIA card.")
    ] = "cpu"


def run_learn(
    *,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file; by default DATA's name with .cp."),
    ] = None,
    target: ClassColumn = None,
    method: MethodName = "auto",
    score: ScoreName = None,
    settings: Settings = None,
    columns: ColumnOptions,
    edges: ConstraintOptions,
    text: TextFormat,
    search: SearchOptions,
    links: LinkColumns,
    keep_rows: Annotated[
        bool,
        typer.Option(
            "--keep-rows/--no-keep-rows",
            help="Whether MODEL's file keeps training rows, at most a sample of 4 MB, for `query`, "
            "`effect` and `explain`.",
        ),
    ] = True,
    printing: Printing,
) -> None:
    """Learn a model from DATA, print it, and save it. With --target, learn a classifier.

    Identifiers, constants and text columns with too many values are left out; texts that are dates
    or numbers are converted; numbers and dates are cut into intervals. Notes say what was done.
    Ctrl-C stops the search and keeps the best model so far. With --user and --item, DATA is a list
    of links, and `counterpane rank` predicts the next ones. The methods exact-posterior and
    order-mcmc print the probabilities of edges, and save the best network.
    """
    name = Path(remote.without_secrets(data)).name
    path = output or Path(Path(name.removesuffix(".gz")).stem + ".cp")
    check_output(path, model=True)
    check_method(method, target, auto=True, links=bool(links))
    ranker, method = (method, RANKER) if links and method in COUNTED else ("auto", method)
    constraints = edges.read()
    if method != "auto":
        constraints.check_method(method)
        _read_settings(method, settings)
    table = _read(data, target, method, links, columns, text)
    samples = search.bootstrap
    if samples is None:
        samples = SAMPLES if method == "auto" else 0
    method, why = _choose(method, target, constraints, bool(links), len(table.names))
    check_bins(columns.bins, method, columns.discretize)
    source = _source(table, method, target, columns)
    limits = constraints.parameters(
        table.names, table.prepared.left_out, table.options.get("dropped", ())
    )
    options = limits | _learner_options(method, target, columns, search)
    options |= _read_settings(method, settings)
    began = time.monotonic()
    if method == RANKER:
        learner = _fit_ranker(source, ranker)
    else:
        learner = _fit(method, score, target, _on_device(source, method, search.device), options)
    resampled: dict[str, Any] = {}
    if method in METHODS and samples and not interrupted:
        resampled = {"bootstrap": _add_confidence(learner, source, samples, search)}
    facts = _facts(learner, source, method) | resampled
    facts |= {"target": target, "seconds": round(time.monotonic() - began, 3)}
    facts |= {"constraints": limits} if limits else {}
    if method in CLASSIFIERS and target is not None and not interrupted:
        began = time.monotonic()
        measured = _held_out_measures(learner, source, target, facts["seconds"])
        # Not within "held_out", which is saved: the same rows give the same file.
        facts["held_out_seconds"] = round(time.monotonic() - began, 3)
        facts |= {"held_out": measured} if measured else {}
    _add_provenance(learner, table, facts, why)
    if stopped_early and path.exists() and not _has_parts(facts):
        words = (
            f"the search was stopped before it found anything; {str(path)!r} stays as it was: "
            "give it more time, or name another file."
        )
        if not interrupted:
            raise FitError(words)
        note(words)
        raise typer.Exit(130)
    if not keep_rows:
        for name in {"rows", "training_rows"} & set(dir(learner.model_)):
            setattr(learner.model_, name, None)
    learner.model_.save(path)
    if printing.as_json:
        emit({"model": str(path), **facts})
    else:
        show_learned(learner, source, table, facts, path)
    if interrupted:
        raise typer.Exit(130)


def _read(
    data: str,
    target: str | None,
    method: str,
    links: LinkColumns,
    columns: ColumnOptions,
    text: TextFormat,
) -> Any:
    """The rows of DATA, or the table of its links."""
    if links:
        table = cp.read_links(data, user=links.user, item=links.item).table
        source = table if isinstance(table, cp.Table) else cp.read(table)
        return tables.InputTable(tables.Prepared([]), source)
    classes = target is not None and (method == "auto" or method in CLASSIFIERS)
    chosen = choose_method(method, target=target, links=False, n_columns=1)[0]
    many = classes and chosen in MANY_STATES
    return tables.read_input(data, target, columns, text, classes=classes, many_states=many)


def _choose(
    method: str, target: str | None, constraints: EdgeConstraints, links: bool, n_columns: int
) -> tuple[str, str]:
    """The method and the reason for it, which is also printed."""
    if method == "auto" and constraints and target is None and not links:
        method, why = "structure-search", "edges are constrained, so networks are searched"
    else:
        method, why = choose_method(method, target=target, links=links, n_columns=n_columns)
    constraints.check_method(method, chosen=bool(why))
    if why:
        note(f"Method {method}: {why}; --method selects another one.")
    return method, why


def _source(table: Any, method: str, target: str | None, columns: ColumnOptions) -> Any:
    """The rows as a method takes them: classifiers cut numbers themselves by default."""
    if target is not None and table.source is not None:
        table.source.schema.index(target)
    if method in CLASSIFIERS and columns.by_class:
        return table.raw()
    return table.to_table(target, columns.discretize, columns.bins)


def _learner_options(
    method: str, target: str | None, columns: ColumnOptions, search: SearchOptions
) -> dict[str, Any]:
    """The parameters of the learner of a method."""
    options: dict[str, Any] = {
        "missing": columns.missing,
        "n_jobs": n_threads(search.jobs),
        "time_limit": search.time_limit,
        "progress": not notes.quiet,
        "checkpoint": search.checkpoint,
    }
    if search.seed is not None and method != RANKER and find_learner(method).takes("random_state"):
        options["random_state"] = search.seed
    if columns.bins is not None and method in CLASSIFIERS and columns.by_class:
        options["max_bins"] = columns.bins
    if columns.discretize == "trees" and method in CLASSIFIERS:
        options["discretize"] = "trees"
    if method == "interaction":
        options["bootstrap"] = "auto" if search.bootstrap is None else search.bootstrap
    if method == "chow-liu":
        options["root"] = target
    return options


def _on_device(source: Any, method: str, device: str) -> Any:
    """The rows where --device counts them."""
    if device == "cpu":
        return source
    if device != "gpu":
        raise ParameterError(f"--device {device!r} is not known; cpu or gpu is allowed.")
    if method in CLASSIFIERS or method == RANKER:
        raise ParameterError(
            f"--device gpu is for methods that learn a structure from counts, not for {method}; "
            "leave it out."
        )
    return counting.on_card(source, device)


def _read_settings(method: str, texts: list[str] | None) -> dict[str, Any]:
    """The parameters of --set for one method."""
    if not texts:
        return {}
    if method == RANKER:
        raise ParameterError("--set needs a --method with parameters, such as hybrid or chow-liu.")
    parameters: dict[str, dict[str, Any]] = method_settings.read_settings(
        texts, [find_learner(method)]
    )
    return parameters[method]


def _fit(
    method: str, score: str | None, target: str | None, source: Any, options: dict[str, Any]
) -> Any:
    """A learner fitted to a table, or to columns."""
    learner = make_learner(method, score, options)
    if method in CLASSIFIERS:
        return learner.fit(source, target)
    if method in POSTERIORS:
        learner = posterior.affordable(learner, options, len(source.schema))
    learner.fit(source)
    if learner.model_ is None:
        raise ParameterError(
            f"--method {method} found {len(learner.graph_.edges)} edges, too many for tables; "
            "try dn-tree, which needs none."
        )
    return posterior.PosteriorResult(learner) if method in POSTERIORS else learner


def _fit_ranker(table: Any, name: str) -> Any:
    """A ranker, or the best of left-out links, with the attributes that other learners have."""
    ranker = cp.LinkRanker(name).fit(table)
    records = [{"ranker": c.name, "mrr": c.mrr, "error": c.error} for c in ranker.candidates_]
    model = ranker.ranking_model
    facts = {"rows": table.n_rows, "learner": f"LinkRanker({ranker.choice_!r})"}
    model.provenance = (model.provenance or {}) | facts | {"candidates": records}
    return SimpleNamespace(model_=model, ranker=ranker.choice_, candidates=records)


def _add_confidence(
    learner: Any, table: Any, samples: int, search: SearchOptions
) -> dict[str, Any] | None:
    """The number of bootstrap samples; the model keeps [from, to, share of the samples].

    These are the shares that join two columns, and those that have an arrow. Too few samples give
    no shares. None if the rows cannot be resampled. Each sample has the time limit of all of them,
    so that a slow search ends soon.
    """
    limit = SECONDS if search.bootstrap is None else None
    provenance = learner.model_.provenance
    provenance["edge_confidence"] = shares = []
    if not isinstance(table, cp.Table):
        return None
    rows, missing = resampling.rows_to_resample(learner, table)
    copy = type(learner)(**learner.get_params())
    copy.set_params(progress=False, time_limit=limit, n_jobs=1, missing=missing)
    done = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cp.StoppedEarly)
        try:
            result = cp.bootstrap(
                copy,
                rows,
                samples,
                random_state=search.seed or 0,
                time_limit=limit,
                n_jobs=learner.n_jobs,
                progress=learner.progress,
            )
            done = result.n
        except KeyboardInterrupt:
            interrupted.append("the bootstrap")
    for warning in caught:
        if getattr(warning.message, "by_user", True):  # a stop by the time limit is noted below
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    if done >= model_links.LEAST_SAMPLES:
        provenance["edge_samples"] = done
        records = result.strength[:MAX_EDGES]
        shares += [(r["from"], r["to"], round(r["strength"], 4)) for r in records]
        provenance["edge_directions"] = [
            (r[a], r[b], round(r["strength"] * r[way], 4))
            for r in records
            for a, b, way in (("from", "to", "direction"), ("to", "from", "reverse"))
            if r[way] > 0
        ]
    return {"samples": done, "requested": samples, "needed": model_links.LEAST_SAMPLES,
            "seconds": limit}  # fmt: skip


def _held_out_measures(learner: Any, source: Any, target: str, seconds: float) -> dict[str, Any]:
    """The measures of a fitted classifier on rows held out of its fits, as plain values.

    Empty if they would take too long, and for fewer than 20 rows.
    """
    inner = vars(learner).get("held_out_")
    weight = learner.model_.provenance["weight"]
    if weight < folds.MIN_WEIGHT:
        return {}
    rows = isinstance(source, cp.Table | list)
    if inner is not None and (weight > SMALL or seconds > QUICK or not rows):
        # Without importing all of `evaluate`; with many rows, the choice by folds overfits little.
        measures = class_measures.ClassMeasures(*inner)
        return {"folds": len(set(inner.folds.tolist())), "how": CHOSEN, **measures.to_dict()}
    if not rows or seconds > SLOW:
        return {}
    if inner is not None:  # the choice of columns and interactions is learned again as well
        learner = type(learner)(**learner.get_params(deep=False)).set_params(bootstrap=0)
    holdout = None if seconds <= QUICK else 1 / FOLDS
    try:
        measures = cp.evaluate.held_out_measures(learner, source, target, holdout=holdout)
    except CounterpaneError:  # too few rows for folds, or a fold without a class
        return {}
    how = "learned again without them"
    return {"folds": 1 if holdout else FOLDS, "how": how, **measures.to_dict()}


def _facts(learner: Any, source: Any, method: str) -> dict[str, Any]:
    """The results of a fitted learner, for JSON and the summary."""
    model = learner.model_
    facts: dict[str, Any] = {"rows": model.provenance["rows"], "method": method}
    if "missing" in model.provenance:  # links have no missing cells
        facts["missing"] = model.provenance["missing"]
    if method in CLASSIFIERS:
        return facts | {
            "columns": len(learner.schema_) + 1,
            "classes": [str(c) for c in learner.classes_],
            **_classifier_parts(learner),
            **({"pool": model.provenance["pool"]} if "pool" in model.provenance else {}),
        }
    facts["columns"] = len(source.schema)
    if method == RANKER:
        return facts | {"ranker": learner.ranker, "candidates": learner.candidates}
    if method in METHODS or method in POSTERIORS:
        edges = _edge_records(learner)
        shares = model_links.edge_shares(model)
        if shares is not None:
            for edge in edges:
                ends, directed = (edge["parent"], edge["child"]), edge["directed"]
                edge["confidence"] = shares.of(*ends, directed=directed)
                edge["samples"] = shares.samples
        return facts | {
            "edges": edges,
            "score": {"name": vars(learner)["score"], "value": learner.score_},
            "parameters": model.n_parameters,
            **(learner.to_dict() if method in POSTERIORS else {}),
        }
    facts["edges"] = [list(edge) for edge in learner.graph_.edges]
    if isinstance(model, cp.BayesianNetwork):
        facts["edges"] = _tested_edges(learner)
    return facts | {
        name.rstrip("_"): getattr(learner, name) for name in FACTS if hasattr(learner, name)
    }


def _has_parts(facts: dict[str, Any]) -> bool:
    """Whether a model has an edge or interaction; rankers and the like count as having some."""
    parts = [facts[name] for name in ("edges", "interactions") if name in facts]
    return not parts or any(parts)


def _tested_edges(learner: Any) -> list[dict[str, Any]]:
    """The edges of a network by tests, and their marks if common causes may be missing."""
    edges = [
        {"parent": e.parent, "child": e.child, "directed": e.directed, "strength_bits": e.bits}
        for e in learner.model_.edge_strengths()
    ]
    if hasattr(learner, "pag_"):
        texts = {frozenset((e.a, e.b)): str(e) for e in learner.pag_.edges}
        for edge in edges:
            edge["mark"] = texts[frozenset((edge["parent"], edge["child"]))]
    return edges


def _edge_records(learner: Any) -> list[dict[str, Any]]:
    return [
        {"parent": p, "child": c, "directed": directed, "strength_bits": bits}
        for p, c, bits, directed in learner.strengths_
    ]


def _classifier_parts(learner: Any) -> dict[str, list[dict[str, Any]]]:
    """The parts of a classifier: `interactions`, with their effects if known, or `edges`."""
    if hasattr(learner, "interactions_"):
        return {"interactions": learner.interactions_}
    if hasattr(learner, "hyperedges_"):
        faces = [{"columns": list(names), "order": len(names)} for names in learner.hyperedges_]
        return {"interactions": faces}
    return {"edges": _edge_records(learner)}


def _add_provenance(learner: Any, table: Any, facts: dict[str, Any], why: str) -> None:
    """Record how the table was prepared, and why the method, in the model and in the facts."""
    record = table.to_provenance() | ({"why": why} if why else {})
    if interrupted:
        record["stopped"] = "Ctrl-C"
    facts |= record
    keys = [k for k in ("constraints", "target", "method", "held_out") if facts.get(k) is not None]
    learner.model_.provenance |= record | {key: facts[key] for key in keys}

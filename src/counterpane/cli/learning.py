"""`counterpane learn`: from a table to a model."""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import (
    Data,
    Delimiter,
    Discretize,
    Encoding,
    Jobs,
    Json,
    MethodName,
    Missing,
    Quiet,
    ScoreName,
    Target,
    TimeLimit,
    Use,
    app,
    check_place,
    classify,
    console,
    emit,
    interrupted,
    judging,
    many,
    notes,
    rankers,
    settle,
    tables,
    threads,
)
from counterpane.cli.choosing import CLASSIFIERS, FIELDS, METHODS, RANKER, check_target, choose
from counterpane.cli.pictures import (
    edge_list,
    field_picture,
    forest_picture,
    parts_picture,
    what_was_done,
)
from counterpane.errors import ParameterError

SAMPLES, SECONDS = 100, 5.0  # of the bootstrap that nobody asked for
MAX_EDGES = 2000  # with a confidence in a model's file
FACTS = ("n_tests_", "cost_", "kappa_", "l1_", "n_passes_")


@app.command()
def learn(
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file; else DATA's name with .cp.")
    ] = None,
    target: Target = None,
    method: MethodName = "auto",
    score: ScoreName = "bic",
    discretize: Discretize = "auto",
    missing: Missing = "state",
    use: Use = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0, help="Samples that say how sure each edge is; auto takes 100, in 5 s at most."
        ),
    ] = None,
    time_limit: TimeLimit = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file to go on from, after Ctrl-C or a time limit.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="DATA is a list of links: its column of users.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="The column of items; see --user.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model from DATA, show it, and save it; for a target, a classifier.

    Of one file, columns of ids, constants and columns of too many states are left out, and texts
    may be dates; numbers and dates are cut into intervals; what was done is said. Ctrl-C keeps the
    best so far. With --user and --item, DATA lists links, and `counterpane rank` says what comes
    next.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    path = output or Path(Path(data).name.split(".")[0] + ".cp")
    check_place(path, model=True)
    check_target(method, target)
    links = (user, item) if user is not None or item is not None else None
    text = {"encoding": encoding, "delimiter": delimiter}
    rows = _read(data, target, method, links, use or [], text, discretize, progress=progress)
    samples = bootstrap if bootstrap is not None else SAMPLES if method == "auto" else 0
    method, why = choose(method, target=target, links=links is not None, n_columns=rows.n_columns)
    if why:
        words = escape(f"Method {method}: {why}; --method names others.")
        notes.print(f"[dim]{words}[/dim]", soft_wrap=True)
    source = _source(rows, method, target, discretize)
    options = {"missing": missing, "n_jobs": threads(jobs), "time_limit": time_limit,
               "progress": progress, "checkpoint": checkpoint}  # fmt: skip
    began = time.monotonic()
    learner = _fit(method, score, target, source, options)
    if method in METHODS and samples and not interrupted:
        _add_confidence(learner, source, samples, SECONDS if bootstrap is None else None)
    facts = _facts(learner, source, method, score)
    facts |= {"target": target, "seconds": round(time.monotonic() - began, 3)}
    if method in CLASSIFIERS and target is not None and not interrupted:
        held_out = judging().held_out_facts(learner, source, target, facts["seconds"])
        facts |= {"held_out": held_out} if held_out else {}
    _remember(learner, rows, facts, why)
    learner.model_.save(path)
    if as_json:
        emit({"model": str(path), **facts})
    else:
        _show(learner, source, rows, facts, path)
    if interrupted:
        raise typer.Exit(130)


def _read(
    data: str,
    target: str | None,
    method: str,
    links: tuple[str | None, str | None] | None,
    use: list[str],
    text: dict[str, str | None],
    discretize: str,
    *,
    progress: bool,
) -> Any:
    """The rows of DATA, or the table that its links make."""
    if links is not None:
        table = cp.read_links(data, user=links[0], item=links[1]).table
        return tables().Rows(tables().Prepared([]), table)
    classes = target is not None and (method == "auto" or method in CLASSIFIERS)
    read = tables().read_rows
    return read(data, target, use, classes=classes, progress=progress, text=text,
                discretize=discretize)  # fmt: skip


def _source(rows: Any, method: str, target: str | None, discretize: str) -> Any:
    """The rows as a method takes them: a classifier cuts numbers itself unless told otherwise."""
    if target is not None and rows.source is not None:
        rows.source.schema.index(target)
    if method in CLASSIFIERS and discretize in ("auto", "mdl"):
        return rows.raw()
    return rows.table(target, discretize)


def _fit(method: str, score: str, target: str | None, source: Any, options: dict[str, Any]) -> Any:
    """A learner fitted to a table, or to columns."""
    if method in CLASSIFIERS:
        return getattr(cp, CLASSIFIERS[method])(**options).fit(source, target)
    if method == RANKER:
        return rankers().fitted_ranker(source)
    if method in METHODS:
        rooted = {"root": target} if method == "chow-liu" else {}
        return getattr(cp, METHODS[method])(score, **rooted, **options).fit(source)
    name, fixed = FIELDS[method]
    learner = getattr(cp, name)(**fixed, **options).fit(source)
    if learner.model_ is None:
        raise ParameterError(
            f"--method {method} found {len(learner.graph_.edges)} edges, too many for tables; "
            "try dn-tree, which needs none."
        )
    return learner


def _add_confidence(learner: Any, table: Any, samples: int, limit: float | None) -> None:
    """Tell the model how sure its edges are: [from, to, share of the samples that join them]."""
    told: list[tuple[str, str, float]] = []
    learner.model_.provenance["edge_confidence"] = told
    if not isinstance(table, cp.Table) or learner.missing not in ("state", "drop"):
        return
    plain = type(learner)(**learner.get_params())
    plain.set_params(progress=False, time_limit=None, n_jobs=1)
    try:
        found = cp.bootstrap(
            plain,
            table.resolve_missing(learner.missing),
            samples,
            random_state=0,
            time_limit=limit,
            n_jobs=learner.n_jobs,
            progress=learner.progress,
        )
    except KeyboardInterrupt:
        interrupted.append("the bootstrap")
        return
    told += [(r["from"], r["to"], round(r["strength"], 4)) for r in found.strength[:MAX_EDGES]]
    learner.model_.provenance["edge_samples"] = found.n


def _facts(learner: Any, source: Any, method: str, score: str) -> dict[str, Any]:
    """What is known of a fitted learner, for JSON and the summary."""
    model = learner.model_
    facts: dict[str, Any] = {"rows": model.provenance["rows"], "method": method}
    if method in CLASSIFIERS:
        return facts | {
            "columns": len(learner.schema_) + 1,
            "classes": [str(c) for c in learner.classes_],
            "parts": classify().parts_of(learner),
        }
    facts["columns"] = len(source.schema)
    if method == RANKER:
        facts |= rankers().ranker_facts(learner)
        return facts
    if method in METHODS:
        sure = {frozenset(e[:2]): e[2] for e in model.provenance.get("edge_confidence", ())}
        edges = [{"parent": p, "child": c, "gain": g} for p, c, g in learner.gains_]
        if sure:
            for edge in edges:
                edge["confidence"] = sure.get(frozenset((edge["parent"], edge["child"])), 0.0)
        return facts | {
            "edges": edges,
            "score": {"name": score, "value": learner.score_},
            "parameters": model.n_parameters,
        }
    facts["edges"] = [list(edge) for edge in learner.graph_.edges]
    known = [name for name in FACTS if hasattr(learner, name)]
    return facts | {name.rstrip("_"): getattr(learner, name) for name in known}


def _remember(learner: Any, rows: Any, facts: dict[str, Any], why: str) -> None:
    """Tell the model's file and the facts how the table was prepared, and why this method."""
    told = rows.remembered() | ({"why": why} if why else {})
    if interrupted:
        told["stopped"] = "Ctrl-C"
    facts |= told
    learner.model_.provenance |= told | {"method": facts["method"]}
    if "held_out" in facts:
        learner.model_.provenance["held_out"] = facts["held_out"]


def _show(learner: Any, source: Any, rows: Any, facts: dict[str, Any], path: Path) -> None:
    """Print what was done to the table, the model, its size, and what to do next."""
    method, model = facts["method"], learner.model_
    classifier = method in CLASSIFIERS
    schema = learner.schema_ if classifier else source.schema
    gaps = [v.states[-1] is None for v in schema] if classifier else source.has_missing
    missing = getattr(learner, "missing", "error")  # links have no missing cells
    console.print(what_was_done(schema, gaps, missing, rows), end="", soft_wrap=True)
    size = f"{many(facts['rows'], 'row')} × {many(facts['columns'], 'column')} → "
    first = facts["target"] or schema.names[0]
    place, name = quote(str(path)), quote(first)
    step = f"counterpane query {place} {name}"
    if classifier:
        console.print(parts_picture(facts["parts"]))
        size += f"{many(len(facts['parts']), 'part')}, {len(facts['classes'])} classes"
        step = f"counterpane predict {place} NEW.csv"
    elif method == RANKER:
        console.print(rankers().candidates_picture(facts["candidates"]))
        size += f"ranker {facts['ranker']}"
        step = f"counterpane rank {place} --chosen {name}"
    elif method in METHODS:
        picture = forest_picture if method == "chow-liu" else edge_list
        if facts["edges"]:
            console.print(picture(model, facts["edges"], source.total_weight, facts["target"]))
        else:
            console.print("No edges: no column tells anything of another that pays.")
        size += f"{many(len(facts['edges']), 'edge')}, {many(facts['parameters'], 'parameter')}"
        size += f", {facts['score']['name']} {facts['score']['value']:,.3f}"
    else:
        console.print(field_picture(model, facts["target"]))
        size += many(len(facts["edges"]), "edge")
        size += f", {facts['n_tests']:,} tests asked" if "n_tests" in facts else ""
        if all(variable.states == (0, 1) for variable in schema):  # links
            step = f"counterpane rank {place} --chosen {name}"
    console.print(f"{size}, {facts['seconds']:.2f} s", soft_wrap=True)
    if "held_out" in facts:
        judging().show_held_out(facts["held_out"], learner.classes_.tolist())
    saved = f"Saved to [bold]{escape(str(path))}[/bold]; next: {escape(step)}"
    console.print(saved, soft_wrap=True, highlight=False)

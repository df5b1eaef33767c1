"""`counterpane learn`: from a table to a model."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import (
    Bins,
    Categorical,
    Data,
    Decimal,
    Delimiter,
    Discretize,
    Drop,
    Encoding,
    Jobs,
    Json,
    MethodName,
    Missing,
    Quiet,
    ScoreName,
    Seed,
    Sheet,
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
    note,
    notes,
    rankers,
    settle,
    tables,
    text_options,
    threads,
)
from counterpane.cli.choosing import (
    CLASSIFIERS,
    FIELDS,
    METHODS,
    RANKER,
    check_bins,
    check_target,
    choose,
    seed_option,
)
from counterpane.cli.knowledge import EdgeConstraints, read_knowledge
from counterpane.cli.pictures import (
    bootstrap_note,
    edge_list,
    edge_words,
    effect_words,
    field_picture,
    forest_picture,
    parts_picture,
    what_was_done,
)
from counterpane.errors import ParameterError
from counterpane.lazy import lazy

resampling: Any = lazy("counterpane.learn.bootstrap")

SAMPLES, SECONDS = 100, 5.0  # of the bootstrap that nobody asked for
CONSTRAINTS, LINKS = "Constraints on the network", "Lists of links"  # panels of --help
MAX_EDGES = 2000  # with a share in a model's file
FACTS = ("n_tests_", "cost_", "kappa_", "l1_", "n_passes_")


@app.command()
def learn(
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The model file; by default DATA's name with .cp."),
    ] = None,
    target: Target = None,
    method: MethodName = "auto",
    score: ScoreName = "bic",
    discretize: Discretize = "auto",
    missing: Missing = "auto",
    bins: Bins = None,
    use: Use = None,
    drop: Drop = None,
    categorical: Categorical = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGE",
            help="An edge the network must have: 'age->income'; repeat.",
            rich_help_panel=CONSTRAINTS,
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGE",
            help="An edge the network must not have: 'age->sex', or 'age--sex' for both "
            "directions; repeat.",
            rich_help_panel=CONSTRAINTS,
        ),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            help="Columns with commas, such as 'age,sex'; repeat in causal order. No edge leads "
            "from a later tier to an earlier one.",
            rich_help_panel=CONSTRAINTS,
        ),
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="A TOML file with require, forbid and tiers.",
            rich_help_panel=CONSTRAINTS,
        ),
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Samples that show how stable each edge or interaction is, at least 20; by "
            "default as many of 100 as 5 s allow for edges, 20 for interactions of small tables.",
        ),
    ] = None,
    time_limit: TimeLimit = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A file to save progress in, and to resume from after a stop."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(help="For a list of links: the column of users.", rich_help_panel=LINKS),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(help="For a list of links: the column of items.", rich_help_panel=LINKS),
    ] = None,
    seed: Seed = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model from DATA, print it, and save it. With --target, learn a classifier.

    Identifiers, constants and text columns with too many values are left out; texts that are dates
    or numbers are converted; numbers and dates are cut into intervals. Notes say what was done.
    Ctrl-C stops the search and keeps the best model so far. With --user and --item, DATA is a list
    of links, and `counterpane rank` predicts the next ones.
    """
    progress = settle(as_json=as_json, quiet=quiet)
    path = output or Path(Path(Path(data).name.removesuffix(".gz")).stem + ".cp")
    check_place(path, model=True)
    check_target(method, target)
    links = (user, item) if user is not None or item is not None else None
    constraints = read_knowledge(require, forbid, tier, knowledge)
    if method != "auto":
        constraints.check_method(method)
    text = text_options(encoding, delimiter, decimal, sheet)
    columns = tables().ColumnOptions(use or (), drop or (), categorical or (), bins)
    rows = _read(data, target, method, links, columns, text, discretize, progress=progress)
    samples = bootstrap if bootstrap is not None else SAMPLES if method == "auto" else 0
    if method == "auto" and constraints and target is None and links is None:
        method, why = "structure-search", "edges are constrained, so networks are searched"
    else:
        links_given = links is not None
        method, why = choose(method, target=target, links=links_given, n_columns=rows.n_columns)
    constraints.check_method(method, chosen=bool(why))
    if why:
        note(f"Method {method}: {why}; --method selects another one.")
    check_bins(bins, method, discretize)
    source = _source(rows, method, target, discretize, bins)
    options = {"missing": missing, "n_jobs": threads(jobs), "time_limit": time_limit,
               "progress": progress, "checkpoint": checkpoint}  # fmt: skip
    limits = _limits(constraints, rows, source)
    options |= limits | seed_option(method, seed)
    if bins is not None and method in CLASSIFIERS and discretize in ("auto", "mdl"):
        options["max_bins"] = bins
    if method == "interaction":
        options["bootstrap"] = "auto" if bootstrap is None else bootstrap
    began = time.monotonic()
    learner = _fit(method, score, target, source, options)
    resampled: dict[str, Any] = {}
    if method in METHODS and samples and not interrupted:
        limit = SECONDS if bootstrap is None else None
        resampled = {"bootstrap": _add_confidence(learner, source, samples, limit, seed or 0)}
    facts = _facts(learner, source, method, score) | resampled
    facts |= {"target": target, "seconds": round(time.monotonic() - began, 3)}
    if constraints:
        facts["constraints"] = limits
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
    columns: Any,
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
    return read(data, target, columns, classes=classes, progress=progress, text=text,
                discretize=discretize)  # fmt: skip


def _limits(constraints: EdgeConstraints, rows: Any, source: Any) -> dict[str, Any]:
    """The constraints as parameters of a learner; empty where there are none."""
    if not constraints:
        return {}
    return constraints.parameters(source.schema.names, rows.prepared.left_out)


def _source(rows: Any, method: str, target: str | None, discretize: str, bins: int | None) -> Any:
    """The rows as a method takes them: classifiers cut numbers themselves by default."""
    if target is not None and rows.source is not None:
        rows.source.schema.index(target)
    if method in CLASSIFIERS and discretize in ("auto", "mdl"):
        return rows.raw()
    return rows.table(target, discretize, bins)


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


def _add_confidence(
    learner: Any, table: Any, samples: int, limit: float | None, seed: int
) -> dict[str, Any] | None:
    """How many bootstrap samples were done; too few say nothing of an edge.

    The model keeps [from, to, share of the samples that join them]. None where the rows cannot be
    resampled. A sample has the same time limit as all of them, so that a slow search ends soon.
    """
    provenance = learner.model_.provenance
    provenance["edge_confidence"] = shares = []
    if not isinstance(table, cp.Table):
        return None
    rows, missing = resampling.rows_to_resample(learner, table)
    plain = type(learner)(**learner.get_params())
    plain.set_params(progress=False, time_limit=limit, n_jobs=1, missing=missing)
    done = 0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*\(time limit\)", cp.StoppedEarly)  # is noted below
        try:
            result = cp.bootstrap(
                plain,
                rows,
                samples,
                random_state=seed,
                time_limit=limit,
                n_jobs=learner.n_jobs,
                progress=learner.progress,
            )
            done = result.n
        except KeyboardInterrupt:
            interrupted.append("the bootstrap")
    if done >= resampling.LEAST_SAMPLES:
        provenance["edge_samples"] = done
        records = result.strength[:MAX_EDGES]
        shares += [(r["from"], r["to"], round(r["strength"], 4)) for r in records]
    return {"samples": done, "requested": samples, "needed": resampling.LEAST_SAMPLES,
            "seconds": limit}  # fmt: skip


def _facts(learner: Any, source: Any, method: str, score: str) -> dict[str, Any]:
    """What is known of a fitted learner, for JSON and the summary."""
    model = learner.model_
    facts: dict[str, Any] = {"rows": model.provenance["rows"], "method": method}
    if "missing" in model.provenance:  # links have no missing cells
        facts["missing"] = model.provenance["missing"]
    if method in CLASSIFIERS:
        return facts | {
            "columns": len(learner.schema_) + 1,
            "classes": [str(c) for c in learner.classes_],
            **classify().parts_of(learner),
        }
    facts["columns"] = len(source.schema)
    if method == RANKER:
        facts |= rankers().ranker_facts(learner)
        return facts
    if method in METHODS:
        sure = {frozenset(e[:2]): e[2] for e in model.provenance.get("edge_confidence", ())}
        edges = [
            {"parent": p, "child": c, "directed": directed, "strength_bits": bits}
            for p, c, bits, directed in learner.strengths_
        ]
        if sure:
            for edge in edges:
                edge["confidence"] = sure.get(frozenset((edge["parent"], edge["child"])), 0.0)
                edge["samples"] = model.provenance["edge_samples"]
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
    told |= {"constraints": facts["constraints"]} if "constraints" in facts else {}
    told |= {"target": facts["target"]} if facts["target"] is not None else {}
    learner.model_.provenance |= told | {"method": facts["method"]}
    if "held_out" in facts:
        learner.model_.provenance["held_out"] = facts["held_out"]


def _show(learner: Any, source: Any, rows: Any, facts: dict[str, Any], path: Path) -> None:
    """Print what was done to the table, the model, its size, and what to do next."""
    method, model = facts["method"], learner.model_
    classifier = method in CLASSIFIERS
    schema = learner.schema_ if classifier else source.schema
    gaps = getattr(learner, "missing_note_", "")  # links have no missing cells
    if not notes.quiet:
        console.print(what_was_done(schema, gaps, rows), end="", soft_wrap=True)
    size = f"{many(facts['rows'], 'row')} × {many(facts['columns'], 'column')} → "
    first = facts["target"] or schema.names[0]
    place, name = quote(str(path)), quote(first)
    step = f"counterpane query {place} {name}"
    if classifier:
        kind = "interaction" if "interactions" in facts else "edge"
        if facts[f"{kind}s"]:
            console.print(parts_picture({f"{kind}s": facts[f"{kind}s"]}))
        else:
            console.print("No effects found: no column improves the prediction.")
        console.print(effect_words(facts.get("interactions", ())), end="", soft_wrap=True)
        size += f"{many(len(facts[f'{kind}s']), kind)}, {len(facts['classes'])} classes"
        step = f"counterpane predict {place} NEW.csv"
    elif method == RANKER:
        console.print(rankers().candidates_picture(facts["candidates"]))
        size += f"ranker {facts['ranker']}"
        step = f"counterpane rank {place} --chosen {name}"
    elif method in METHODS:
        picture = forest_picture if method == "chow-liu" else edge_list
        if facts["edges"]:
            console.print(picture(model, facts["edges"], facts["target"]))
            console.print(bootstrap_note(facts.get("bootstrap")), end="", soft_wrap=True)
            console.print(edge_words(facts["edges"]), end="", soft_wrap=True)
        else:
            console.print("No edges found: no dependency improves the score.")
        size += f"{many(len(facts['edges']), 'edge')}, {many(facts['parameters'], 'parameter')}"
        size += f", {facts['score']['name']} {facts['score']['value']:,.3f}"
    else:
        console.print(field_picture(model, facts["target"]))
        size += many(len(facts["edges"]), "edge")
        size += f", {facts['n_tests']:,} tests executed" if "n_tests" in facts else ""
        if all(variable.states == (0, 1) for variable in schema):  # links
            step = f"counterpane rank {place} --chosen {name}"
    console.print(f"{size}, {facts['seconds']:.2f} s", soft_wrap=True)
    if "held_out" in facts:
        judging().show_held_out(facts["held_out"], learner.classes_.tolist())
    saved = f"Saved to [bold]{escape(str(path))}[/bold]; next: {escape(step)}"
    console.print(saved, soft_wrap=True, highlight=False)

"""`counterpane learn` and `compare`: from a table to models."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import counterpane as cp
from counterpane.cli.app import (
    Data,
    Discretize,
    Jobs,
    Json,
    Missing,
    ScoreName,
    app,
    classify,
    console,
    in_blocks,
    read_table,
)
from counterpane.cli.pictures import (
    comparison,
    edge_list,
    field_picture,
    forest_picture,
    what_was_done,
)
from counterpane.errors import ParameterError, unknown_name

METHODS = {
    "chow-liu": "ChowLiu",
    "structure-search": "StructureSearch",
    "hill-climb": "HillClimb",
    "ges": "GES",
    "k2": "K2Search",
}
FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "dn-tree": ("DependencyNetworkLearner", {"local": "tree"}),
    "dn-logistic": ("DependencyNetworkLearner", {"local": "logistic"}),
    "hybrid": ("HybridRandomFieldLearner", {}),
    "pairwise": ("PairwiseMarkovLearner", {}),
    "pfmn": ("PFMN", {"random_state": 0}),
    "gsimn": ("GSIMN", {}),
    "gsmn": ("GSMN", {}),
}
"""Learners of models without a score by families."""
CLASSIFIERS = {
    "interaction": "InteractionClassifier",
    "markov": "MarkovClassifier",
    "bnc": "BayesNetClassifier",
    "tan": "TAN",
    "naive-bayes": "NaiveBayes",
}


@app.command()
def learn(
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file; else DATA's name with .cp.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column of interest: root of the tree, class for cuts.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"For a target: {', '.join(CLASSIFIERS)} (the first unless told). "
            f"Else: {', '.join([*METHODS, *FIELDS])}."
        ),
    ] = None,
    score: ScoreName = "bic",
    discretize: Discretize = "auto",
    missing: Missing = "state",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; keeps the best so far.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="DATA is a list of links: its column of users.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="The column of items; see --user.")] = None,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Learn a model from DATA, show it, and save it; for a target, a classifier.

    With --user and --item, DATA lists links, and `counterpane rank` says what comes next.
    """
    path = output or Path(Path(data).name.split(".")[0] + ".cp")
    if user is not None or item is not None:
        method = method or "hybrid"
    method = method or ("chow-liu" if target is None else "interaction")
    options = {
        "missing": missing,
        "n_jobs": jobs,
        "time_limit": time_limit,
        "progress": not as_json,
    }
    if method in CLASSIFIERS:
        if target is None:
            raise ParameterError(f"--method {method} needs --target, the column of classes.")
        # By the classifier itself, unless rows are read block by block.
        inside = discretize in ("auto", "mdl") and not in_blocks(data)
        source = classify().read_raw(data) if inside else read_table(data, target, discretize)
        learner = getattr(cp, CLASSIFIERS[method])(**options)
        facts = classify().learn_and_save(
            learner, source, target, path, None if as_json else console
        )
        if as_json:
            print(json.dumps({**facts, "method": method}))
        return
    if user is not None or item is not None:
        table = cp.read_links(data, user=user, item=item).table
    else:
        table = read_table(data, target, discretize)
    if method in FIELDS:
        _learn_field(method, table, target, path, options, as_json=as_json)
        return
    learner, seconds = _fitted(method, score, target, table, options)
    learner.model_.save(path)
    if as_json:
        facts = _facts(method, score, learner, seconds)
        print(json.dumps({"model": str(path), "rows": table.n_rows,
                          "columns": len(table.schema), **facts}))  # fmt: skip
        return
    console.print(what_was_done(table.schema, table.has_missing, missing), end="")
    picture = forest_picture if method == "chow-liu" else edge_list
    console.print(picture(learner.model_, learner.gains_, table.total_weight, target))
    console.print(
        f"{table.n_rows:,} rows × {len(table.schema)} columns → {len(learner.gains_)} edges, "
        f"{learner.model_.n_parameters} parameters, {score} {learner.score_:,.3f}, {seconds:.2f} s"
    )
    first = target or table.schema.names[0]
    console.print(f"Saved to [bold]{path}[/bold]; next: counterpane query {path} {first!r}")


@app.command()
def compare(
    data: Data,
    method: Annotated[
        list[str] | None, typer.Option(help=f"Repeat for each of: {', '.join(METHODS)}; else all.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of interest.")] = None,
    score: ScoreName = "bic",
    discretize: Discretize = "auto",
    missing: Missing = "state",
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Run several learners on DATA, and show how their networks differ."""
    table = read_table(data, target, discretize)
    options = {"missing": missing, "n_jobs": jobs, "progress": not as_json}
    asked = [m for m in method or METHODS if m != "ges" or method or score != "k2"]
    found = {m: _fitted(m, score, target, table, options) for m in asked}
    best = max(found, key=lambda m: found[m][0].score_)
    rows = [
        {
            **_facts(m, score, learner, seconds),
            "distance_to_best": cp.structural_hamming_distance(
                learner.model_, found[best][0].model_
            ),
        }
        for m, (learner, seconds) in found.items()
    ]
    if as_json:
        print(json.dumps({"rows": table.n_rows, "best": best, "learners": rows}))
        return
    console.print(what_was_done(table.schema, table.has_missing, missing), end="")
    console.print(comparison(rows, score))


def _fitted(
    method: str, score: str, target: str | None, table: Any, options: dict[str, Any]
) -> tuple[Any, float]:
    """A learner fitted to a table, and the seconds it took; wrong names are said first."""
    if method not in METHODS:
        raise unknown_name("method", method, [*METHODS, *CLASSIFIERS, *FIELDS])
    if target is not None:
        table.schema.index(target)
    rooted = {"root": target} if method == "chow-liu" else {}
    began = time.monotonic()
    learner = getattr(cp, METHODS[method])(score, **rooted, **options).fit(table)
    return learner, time.monotonic() - began


def _facts(method: str, score: str, learner: Any, seconds: float) -> dict[str, Any]:
    """What is known of a fitted learner, for JSON."""
    return {
        "method": method,
        "edges": [{"parent": p, "child": c, "gain": g} for p, c, g in learner.gains_],
        "score": {"name": score, "value": learner.score_},
        "parameters": learner.model_.n_parameters,
        "seconds": round(seconds, 3),
    }


def _learn_field(
    method: str,
    table: Any,
    target: str | None,
    path: Path,
    options: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Learn, save and show a Markov or dependency network or a hybrid random field."""
    if target is not None:
        table.schema.index(target)
    name, fixed = FIELDS[method]
    began = time.monotonic()
    learner = getattr(cp, name)(**fixed, **options).fit(table)
    seconds = time.monotonic() - began
    if learner.model_ is None:
        raise ParameterError(
            f"--method {method} found {len(learner.graph_.edges)} edges, too many for tables; "
            "try dn-tree, which needs none."
        )
    learner.model_.save(path)
    facts: dict[str, Any] = {
        "model": str(path), "rows": table.n_rows, "columns": len(table.schema), "method": method,
        "edges": [list(edge) for edge in learner.graph_.edges], "seconds": round(seconds, 3),
    }  # fmt: skip
    for key in ("n_tests_", "cost_", "kappa_", "l1_", "n_passes_"):
        if hasattr(learner, key):
            facts[key.rstrip("_")] = getattr(learner, key)
    if as_json:
        print(json.dumps(facts))
        return
    console.print(what_was_done(table.schema, table.has_missing, options["missing"]), end="")
    console.print(field_picture(learner.model_, target))
    asked = f", {facts['n_tests']:,} tests asked" if "n_tests" in facts else ""
    console.print(
        f"{table.n_rows:,} rows × {len(table.schema):,} columns → {len(facts['edges']):,} edges"
        f"{asked}, {seconds:.2f} s"
    )
    console.print(f"Saved to [bold]{path}[/bold]; next: {_next_step(path, table, target)}")


def _next_step(path: Path, table: Any, target: str | None) -> str:
    """What to do with a model: links are ranked, others asked."""
    first = target or table.schema.names[0]
    linked = all(variable.states == (0, 1) for variable in table.schema)
    return (
        f"counterpane rank {path} --chosen {first!r}"
        if linked
        else (f"counterpane query {path} {first!r}")
    )

"""`counterpane query`: the probabilities of columns, given evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import counterpane as cp
from counterpane.cli.app import console, emit, note, progress_bar, show_table
from counterpane.cli.evidence import ParsedEvidence, evidence_of
from counterpane.cli.options import Do, Evidence, ModelFile, Printing, complete_column
from counterpane.errors import shown_type
from counterpane.lazy import lazy
from counterpane.present.table import Heading, TextTable, right

np = lazy("numpy")
inference = lazy("counterpane.inference.limits")
schemas = lazy("counterpane.data.schema")
uai_tasks = lazy("counterpane.formats.uai_tasks")
weights = lazy("counterpane.models.weights")

BAR = 30  # letters of the bar of probability 1
DRAWS = 2000  # of the tables, for an interval


def run_query(
    *,
    model: ModelFile,
    variables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLUMNS",
            help="The columns to ask about: one or more; none with --task.",
            autocompletion=complete_column,
        ),
    ] = None,
    given: Evidence = None,
    do: Do = None,
    method: Annotated[
        str,
        typer.Option(
            help="The inference method: exact, gibbs, mean_field, bp, join_graph, or auto: "
            "exact if that is affordable."
        ),
    ] = "auto",
    exact: Annotated[
        float | None,
        typer.Option(
            help="The seconds that an exact answer may take, by the estimate of its plan (120).",
            min=0,
        ),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(help="The memory it may take, such as 2GB (half of what is available)."),
    ] = None,
    strict: Annotated[
        bool, typer.Option(help="Fail instead of printing an estimate that is not trusted.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add the credible interval of each probability, such as 0.95.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Answer a task of the UAI competitions, in their format: MAR, PR, MPE or MMAP.",
        ),
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="A file of evidence in UAI's format, .evid.")
    ] = None,
    query: Annotated[
        Path | None, typer.Option(help="A file with the columns of MMAP in UAI's format, .query.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file for the result of a task.")
    ] = None,
    printing: Printing,
) -> None:
    """Print P(COLUMNS | evidence), or answer a task of the UAI competitions."""
    loaded: Any = cp.load(model)
    parsed = evidence_of(loaded, given)
    options = {"exact": exact, "max_memory": max_memory, "strict": strict or None}
    limits: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if evidence is not None:
        parsed = parsed.merged(uai_tasks.read_uai_evidence(evidence, loaded.schema))
    if task is not None:
        columns = query if query is None else uai_tasks.read_uai_query(query, loaded.schema)
        with progress_bar() as report, inference.limited(report=report):
            text = _uai_result(
                loaded, task.upper(), columns or variables, parsed.evidence, method, limits
            )
        if output is None:
            console.print(text, end="", markup=False, highlight=False, soft_wrap=True)
        else:
            output.write_text(text)
        return
    if not variables:
        raise cp.CounterpaneError(
            "no columns are asked about; name one or more, or pass --task MAR."
        )
    interventions = evidence_of(loaded, do, "--do")
    if do:
        check_causal(loaded)
        limits["do"] = interventions.evidence
    with progress_bar() as report, inference.limited(report=report):
        answer = loaded.query(variables, parsed.evidence, method=method, **limits)
    words = str(answer.basis) if answer.basis is not None else _caution(loaded, answer, parsed)
    lines = [*answer.notes, *([words] if words else [])]
    lines += open_directions(loaded, list(interventions.evidence))
    for line in lines:
        note(line)
    if answer.support is not None:
        note(f"{str(answer.support)[0].upper()}{str(answer.support)[1:]}.")
    ends = None if interval is None else _interval(loaded, variables, parsed, do, limits, interval)
    if printing.as_json:
        about = {**_basis(answer), **({"notes": lines} if lines else {})}
        question = {"columns": list(answer.names), "given": parsed.to_dict()}
        question |= {"do": interventions.to_dict()} if do else {}
        emit({**_trust(answer), **question, "cells": _cells(answer, ends), **about})
        return
    if answer.doubt:
        console.print(f"[bold]{escape(answer.doubt)}[/bold]")
    set_by_do = [f"do({text})" for text in interventions.texts]
    show_table(_probability_table(answer, [*set_by_do, *parsed.texts], ends))


def _cells(answer: Any, ends: tuple[list[float], list[float]] | None) -> list[dict[str, Any]]:
    """The states of an answer with all that is known of each, for JSON."""
    cells: list[dict[str, Any]] = [
        {"states": list(states), "probability": p} for states, p in answer.rows()
    ]
    for cell, low, high in zip(cells, *(ends or ((), ())), strict=False):
        cell["interval"] = [low, high]
    seen = answer.support
    if seen is not None:
        shares = seen.shares.reshape(-1).tolist() if seen.rows else [None] * len(cells)
        for cell, share in zip(cells, shares, strict=True):
            cell["in_rows"] = share
    return cells


def _basis(answer: Any) -> dict[str, Any]:
    """The training rows that an answer is averaged over, or that match its evidence, for JSON."""
    seen, basis = answer.support, answer.basis
    averaged = {} if basis is None else {"averaged_over": basis._asdict()}
    matching = {} if seen is None else {"training_rows": seen.rows, "estimated": seen.estimated}
    return averaged | matching


def _interval(
    model: Any,
    columns: Sequence[str],
    parsed: ParsedEvidence,
    do: Sequence[str] | None,
    limits: dict[str, Any],
    level: float,
) -> tuple[list[float], list[float]]:
    """The lower and upper ends of the credible intervals, in the order of the answer's rows."""
    if not isinstance(model, cp.BayesianNetwork):
        raise cp.CounterpaneError(
            f"{shown_type(model)} has no credible intervals; --interval is for Bayesian networks."
        )
    options = {"do": limits["do"]} if do else {}
    found = cp.query_interval(
        model, list(columns), parsed.evidence, level=level, draws=DRAWS, random_state=0, **options
    )
    note(
        f"The {100 * level:g}% intervals express the uncertainty of the tables; the graph is taken "
        "as certain."
    )
    return [p for _, p in found.lower.rows()], [p for _, p in found.upper.rows()]


def _trust(answer: Any) -> dict[str, Any]:
    """What is first in the JSON of an estimate: whether it is trusted, and by which method."""
    sure = answer.certainty
    if sure is None:
        return {}
    doubt = {"doubt": sure.doubt} if sure.doubt else {}
    return {"trusted": sure.trusted, **doubt, "estimate": str(sure)}


def _uai_result(
    model: Any,
    task: str,
    columns: list[str] | None,
    evidence: dict[str, Any],
    method: str,
    limits: dict[str, Any],
) -> str:
    """The answer to a task of the UAI competitions, as the text of its result file."""
    schema = model.schema
    if task not in uai_tasks.TASKS:
        raise cp.CounterpaneError(f"--task {task}; one of {', '.join(uai_tasks.TASKS)} is needed.")
    if task == "MAR":
        answers = model.marginals(evidence, method=method, **limits)
        tables = [
            answers[v.name].probabilities
            if v.name in answers
            else [float(k == v.code(evidence[v.name])) for k in range(v.card)]
            for v in schema
        ]
        return str(uai_tasks.uai_marginals(tables))
    if task == "PR":
        only = limits.pop("strict", False) or method == "exact"
        weigh = partial(weights.log_weight if only else _partition, model)
        return str(uai_tasks.uai_partition(float(weigh(evidence, **limits))))
    if task == "MMAP" and not columns:
        raise cp.CounterpaneError("MMAP needs columns: pass --query FILE, or name them.")
    asked = columns if task == "MMAP" else None
    best = model.map_query(asked, evidence, method=method, **limits)
    return str(
        uai_tasks.uai_states(schema, {**(evidence if not asked else {}), **best}, pairs=bool(asked))
    )


def _partition(model: Any, evidence: dict[str, Any], **limits: Any) -> float:
    """ln of the partition function; if it is not exact, an estimate, with its bounds in a note."""
    bounds = cp.log_weight_bounds(model, evidence, **limits)
    lower, upper = bounds
    if upper - lower <= 1e-9 * max(1.0, abs(upper)) or lower == upper:
        return float(lower)
    low = math.floor(1e4 * lower / math.log(10)) / 1e4  # what is printed is a bound as well
    high = math.ceil(1e4 * upper / math.log(10)) / 1e4
    note(f"Not exact: log10 Z lies between {low:.4f} and {high:.4f}; an estimate is printed.")
    return float(bounds.estimate)


def check_causal(model: Any) -> None:
    """Refuse an intervention in a model that has no `do`."""
    if not hasattr(model, "do"):
        raise cp.CounterpaneError(
            f"{shown_type(model)} predicts a class and has no directions; --do needs a "
            "Bayesian network, for instance by `counterpane learn DATA --method structure-search`."
        )


def open_directions(model: Any, columns: Sequence[str]) -> list[str]:
    """A caution for each column that is set and has an edge whose direction the data leave open."""
    if not columns or not model.record.learned or not hasattr(model, "dag"):
        return []
    graph = cp.equivalence_graph(model)
    lines = []
    for name in columns:
        open_ = [b for _, b, directed in graph.out_edges(name, data="directed") if not directed]
        if open_:
            lines.append(
                f"The data leave open whether {name} acts on {', '.join(sorted(open_))} or the "
                "other way round; `counterpane effect` covers both directions."
            )
    return lines


def _caution(model: Any, answer: Any, parsed: ParsedEvidence) -> str:
    """A caution for networks fitted to their class, if some columns are not given."""
    left = [n for n in model.schema.names if n not in parsed.evidence and n not in answer.names]
    record = model.record
    fitted = record.learner.name in ("BayesNetClassifier", "MarkovClassifier")
    if not fitted or not left or answer.names != (record.data.target,):
        return ""
    return (
        f"Not given: {', '.join(left)}; summed out by the network, whose structure was chosen to "
        f"predict {answer.names[0]!r} from all columns: the answer can be off."
    )


def _probability_table(
    answer: Any, evidence: Sequence[str], ends: tuple[list[float], list[float]] | None
) -> TextTable:
    """A table of states and probabilities with bars; `evidence` is as it was written."""
    names, given = ", ".join(answer.names), ", ".join(evidence)
    shares = None if answer.support is None else answer.support.shares.reshape(-1)
    heads = [*map(Heading, answer.names), right("probability")]
    heads += [] if ends is None else [Heading("interval")]
    heads += [] if shares is None else [right("in rows")]
    rows = []
    for place, (states, p) in enumerate(answer.rows()):
        cells = [schemas.state_text(s) for s in states]
        between = [] if ends is None else [f"{ends[0][place]:.4f} … {ends[1][place]:.4f}"]
        seen = [] if shares is None else ["" if np.isnan(shares[place]) else f"{shares[place]:.4f}"]
        rows.append([*cells, f"{p:.4f}", *between, *seen, "█" * round(BAR * p)])
    title = f"P({names} | {given})" if given else f"P({names})"
    return TextTable.of([*heads, ""], rows, title=title, most=None)

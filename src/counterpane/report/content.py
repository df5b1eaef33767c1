"""The contents of a report as plain values: everything that the page shows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from counterpane.additive.classifier import AdditiveClassifier
from counterpane.data.schema import state_text
from counterpane.errors import CounterpaneError, ParameterError, Setting
from counterpane.learners.bootstrap import entries_of, is_sparse
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.edges import LEAST_SAMPLES, Edges, edges_by_share, stored_shares
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture, is_classifier
from counterpane.report.drawn_links import link_record
from counterpane.report.engines import engine_of
from counterpane.report.measures import class_predictions, measures_of
from counterpane.report.overview import how_learned, overview_of
from counterpane.report.panels import MOST_STATES, panels_of, six_digits, three_digits
from counterpane.report.picture import box_size, pictures_of
from counterpane.report.rows import ReportRows, measured_links, pair_information, shares_of
from counterpane.tools.links import ModelLinks
from counterpane.typing import Floats

KINDS = {
    "bayesian_network": "Bayesian network",
    "markov_network": "Markov network",
    "dependency_network": "Dependency network",
    "hybrid_random_field": "Hybrid random field",
    "mixture": "Average of models",
    "additive": "Classifier of interactions",
}
MOST_LINKS = 200_000  # of all columns, for the search box
MOST_LISTED = 200  # in the table of interactions
PANEL_BYTES = 1_500_000
MOST_ASKED = 500  # columns whose marginals are asked for
MOST_AVERAGED = 2000  # rows whose conditionals are averaged
DRAWN = 2000  # rows that stand for marginals of more columns

Marginals = list[Floats | None]


def content_of(
    model: Any,
    rows: ReportRows | None,
    *,
    title: str,
    target: str | None,
    confidence: EdgeConfidence | None,
    folds: int,
    seed: int,
    progress: bool = False,
) -> dict[str, Any]:
    """Everything on the page of a report; see `write_report`."""
    base, links, how = _explored(model, rows, title, target, confidence)
    place = base["target"]
    measures = measures_of(model, rows, target, folds, seed, progress=progress)
    return base | {
        "overview": overview_of(model, base["kind"], links, target, measures),
        "meaning": links.meaning,
        "marginals": how,
        "listed": _listed(links, rows, place),
        "panels": _bounded_panels(model, links, place),
        "measures": measures.content,
        "learned": how_learned(model),
        "trace": list(model.record.learner.trace),
    }


def explorer_content(
    model: Any,
    rows: ReportRows | None,
    *,
    title: str,
    target: str | None,
    confidence: EdgeConfidence | None = None,
) -> dict[str, Any]:
    """Everything on the page of the explorer: the graph, and what the page infers with."""
    return _explored(model, rows, title, target, confidence)[0]


def _explored(
    model: Any,
    rows: ReportRows | None,
    title: str,
    target: str | None,
    confidence: EdgeConfidence | None,
) -> tuple[dict[str, Any], ModelLinks, str]:
    """(what explorer and report share, links, how marginals were computed if not exactly)."""
    schema = model.schema
    place = None if target is None else schema.index(target)
    marginals, how = _marginals(model, rows, target)
    known = set(model.record.constraints.known_directions)
    links = measured_links(model, target, rows, marginals)
    links = _confident(links, schema.names, confidence, known)
    columns = [_column(v, marginals[i], rows, i) for i, v in enumerate(schema)]
    boxes = [box_size(column["n"], column["s"]) for column in columns]
    content = {
        "title": title,
        "kind": model_words(model),
        "target": place,
        "shape": links.shape,
        "measure": links.measure,
        "shares": links.shares,
        "samples": links.samples,
        "rows": None if rows is None else rows.n_given,
        "columns": columns,
        "links": [link_record(k, links.shape) for k in links.links[:MOST_LINKS]],
        "nLinks": len(links.links),
        "boxes": boxes,
        **pictures_of(schema.names, boxes, links, place),
        "engine": engine_of(model),
    }
    return content, links, how


def model_words(model: Any) -> str:
    """What a model is, in words."""
    if isinstance(model, Mixture) and model.fixed:
        return "Average of classifiers"
    return KINDS.get(model.kind, str(model.kind))


def _marginals(model: Any, rows: ReportRows | None, target: str | None) -> tuple[Marginals, str]:
    """P(state) of each column under the model, and how it was computed if not exactly.

    None for columns whose probabilities the model does not have, or not soon enough.
    """
    schema = model.schema
    unknown: Marginals = [None] * len(schema)
    if is_classifier(model):
        if rows is not None and target is not None:
            each, _, weights = class_predictions(model, rows, target)
            mean = np.average(each, axis=0, weights=weights) if len(each) else None
            unknown[schema.index(target)] = mean
        return unknown, "The model tells the class alone; its share is the mean over the rows."
    if isinstance(model, DependencyNetwork) and rows is not None and rows.complete.any():
        full = rows.table.take(rows.complete)
        n_rows, distinct = full.n_rows, full.distinct()
        if distinct.n_rows <= MOST_AVERAGED:
            full = distinct
        elif n_rows > MOST_AVERAGED:
            n_rows = MOST_AVERAGED
            full = full.take(np.linspace(0, full.n_rows - 1, n_rows).astype(np.int64))
        mean = np.average(np.exp(model.full_conditionals(full)), axis=0, weights=full.weights)
        words = f"The model's shares are the mean of its conditionals over {n_rows:,} rows."
        return list(np.split(mean, np.cumsum(schema.cards)[:-1])), words
    few = len(schema) <= MOST_ASKED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if few:
                answers = model.marginals()
                return [answers[name].probabilities for name in schema.names], ""
            if isinstance(model, BayesianNetwork):
                drawn = model.sample(DRAWN, random_state=0)
                words = f"The model's shares are those of {DRAWN:,} rows drawn from it."
                return [*shares_of(drawn)], words
        except CounterpaneError:
            pass
    return unknown, ""


def _confident(
    links: ModelLinks,
    names: Sequence[str],
    confidence: EdgeConfidence | None,
    known: Collection[tuple[str, str]] = (),
) -> ModelLinks:
    """The links with the share of samples that have them as they are drawn, where that is known.

    An arrow that the shares do not support is drawn as a line, unless its direction is `known`.
    """
    if confidence is None:
        return links
    shares, confident = confidence.shares, []
    for k in links.links:
        if len(k.scope) == 2:
            a, b = names[k.scope[0]], names[k.scope[1]]
            arrow = k.directed and ((a, b) in known or shares.supports(a, b))
            k = k._replace(directed=arrow, share=shares.share_as_drawn(a, b, directed=arrow))
        confident.append(k)
    return replace(
        links, links=tuple(confident), shares=confidence.words, samples=confidence.samples
    )


def _column(
    variable: Any, marginal: Floats | None, rows: ReportRows | None, place: int
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "n": variable.name,
        "s": [state_text(s) for s in variable.states[:MOST_STATES]],
    }
    if variable.cuts is not None:
        record["cut"] = 1
    if variable.card > MOST_STATES:
        record["more"] = variable.card - MOST_STATES
    if marginal is not None:
        record["m"] = [three_digits(x) for x in marginal[:MOST_STATES].tolist()]
    if rows is not None:
        record["d"] = [three_digits(x) for x in rows.shares[place][:MOST_STATES].tolist()]
    return record


def _listed(links: ModelLinks, rows: ReportRows | None, target: int | None) -> list[Any]:
    """The strongest links; an interaction of a classifier has `bits` and `explained` as well.

    The bits are the mutual information of its columns and the class in the data.
    """
    records = []
    for k in links.links[:MOST_LISTED]:
        record = link_record(k, links.shape)
        if rows is not None and links.shape == "faces" and target is not None:
            record["bits"] = six_digits(pair_information(rows.table, k.scope, [target]))
        if k.explained is not None:
            record["explained"] = round(k.explained, 4)
        records.append(record)
    return records


def _bounded_panels(model: Any, links: ModelLinks, target: int | None) -> dict[str, Any]:
    """The blocks of each column by its place, as many as the size of the page allows.

    A block that several columns share is held once.
    """
    blocks: list[Any] = []
    place_of: dict[str, int] = {}
    of_column: dict[str, list[int]] = {}
    room = PANEL_BYTES
    for c, column_blocks in panels_of(model, links, target):
        places = []
        for block in column_blocks:
            text = json.dumps(block, separators=(",", ":"))
            if text not in place_of:
                room -= len(text)
                place_of[text] = len(blocks)
                blocks.append(block)
            places.append(place_of[text])
        of_column[str(c)] = places
        if room < 0:
            break
    return {"blocks": blocks, "of": of_column}


def target_of(model: Any, target: str | None) -> str | None:
    """The class of a model: as named, or as it was learned for."""
    if target is not None:
        model.schema.index(target)  # an unknown name raises
    if isinstance(model, AdditiveClassifier):
        if target not in (None, model.target.name):
            raise ParameterError(
                Setting("target", target),
                f"; the model tells the class {model.target.name!r} alone.",
            )
        return model.target.name
    name = target or model.record.data.target
    return name if name in model.schema.names else None


def title_of(model: Any, target: str | None) -> str:
    """The title of a page without another: what the model predicts, or what it is."""
    name = target_of(model, target)
    return model_words(model) if name is None else f"Predicting {name}"


class EdgeConfidence(NamedTuple):
    """The shares of edges, what a share is, and the number of samples."""

    shares: Edges
    words: str
    samples: int | None


def confidence_of(model: Any, shares: Any) -> EdgeConfidence | None:
    """The shares of the edges: of a bootstrap, a matrix, or the model's file.

    None if they are not known, or of too few samples.
    """
    if shares is None:
        stored = stored_shares(model.record.edge_shares)
        samples = None if stored is None else stored[0].samples
        return None if stored is None else EdgeConfidence(stored, _of_samples(samples), samples)
    names, samples, arrows = model.schema.names, None, shares
    if hasattr(shares, "edge_probabilities"):
        names, samples, arrows = shares.names, shares.n, shares.arrows
        shares = shares.edge_probabilities
        if samples < LEAST_SAMPLES:
            return None
    try:
        matrix, arrows = (m if is_sparse(m) else np.asarray(m, float) for m in (shares, arrows))
    except (TypeError, ValueError):
        matrix = arrows = np.empty(0)
    if matrix.shape != (len(names), len(names)) or set(names) != set(model.schema.names):
        raise ParameterError(
            f"confidence of shape {matrix.shape} for {len(model.schema)} columns; pass the result "
            "of bootstrap, or a square matrix (from, to) in the order of the model's columns."
        )
    joined: dict[tuple[int, int], float] = {}
    symmetric = isinstance(model, MarkovNetwork)  # each pair counts once
    for (a, b), share in entries_of(matrix).items():
        ends = (min(a, b), max(a, b))
        before = joined.get(ends, 0.0)
        joined[ends] = max(before, share) if symmetric else before + share
    found = edges_by_share(names, joined, entries_of(arrows), samples)
    words = "probability of the edge as it is drawn" if samples is None else _of_samples(samples)
    return EdgeConfidence(found, words, samples)


def _of_samples(samples: int | None) -> str:
    return f"share of {samples:,} bootstrap samples with the edge as it is drawn"

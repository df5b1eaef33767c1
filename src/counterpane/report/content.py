"""All that a report says, as plain values: what the page draws, and nothing else."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import counterpane
from counterpane.data.schema import state_text
from counterpane.errors import CounterpaneError, ParameterError, Setting
from counterpane.learn.bootstrap import LEAST_SAMPLES
from counterpane.models.additive import AdditiveClassifier
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.links import Link, ModelLinks, edge_text
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.mixture import Mixture
from counterpane.report.links import links_of
from counterpane.report.measures import class_rows, measures_of
from counterpane.report.overview import overview_of
from counterpane.report.panels import MOST_STATES, panels_of, precise, short
from counterpane.report.picture import picture_of
from counterpane.report.rows import Rows, pair_information, shares_of
from counterpane.typing import Floats

KINDS = {
    "bayesian_network": "Bayesian network",
    "markov_network": "Markov network",
    "dependency_network": "Dependency network",
    "hybrid_random_field": "Hybrid random field",
    "mixture": "Average of models",
    "additive": "Classifier of interactions",
}
MOST_LINKS = 60_000  # of all columns, for the search box
MOST_LISTED = 200  # in the table of interactions
PANEL_BYTES = 1_500_000
MOST_ASKED = 500  # columns whose marginals are asked for
MOST_AVERAGED = 2000  # rows whose conditionals are averaged
DRAWN = 2000  # rows that stand for marginals of more columns

Marginals = list[Floats | None]


def content_of(
    model: Any,
    rows: Rows | None,
    *,
    title: str,
    target: str | None,
    confidence: Confidence | None,
    held_out: float,
    seed: int,
    progress: bool = False,
) -> dict[str, Any]:
    """Everything on the page; see `write_report`."""
    schema = model.schema
    place = None if target is None else schema.index(target)
    marginals, how = _marginals(model, rows, target)
    links = _confident(links_of(model, target, rows, marginals), schema.names, confidence)
    panels = _bounded_panels(model, links, place)
    measures = None
    if rows is not None:
        measures = measures_of(model, rows, target, held_out, seed, progress=progress)
    return {
        "title": title,
        "kind": kind_of(model),
        "overview": overview_of(model, kind_of(model), links, target, measures),
        "target": place,
        "shape": links.shape,
        "measure": links.measure,
        "meaning": links.meaning,
        "shares": links.shares,
        "samples": links.samples,
        "rows": None if rows is None else rows.given,
        "columns": [_column(v, marginals[i], rows, i) for i, v in enumerate(schema)],
        "links": [_flat(k) for k in links.links[:MOST_LINKS]],
        "nLinks": len(links.links),
        "marginals": how,
        "listed": _listed(links, rows, place),
        "picture": picture_of(schema.names, links, place),
        "panels": panels,
        "measures": measures,
        "learned": _learned(model),
        "trace": (model.provenance or {}).get("trace") or [],
    }


def kind_of(model: Any) -> str:
    """What a model is, in words."""
    if isinstance(model, Mixture) and model.fixed:
        return "Average of classifiers"
    return KINDS.get(model.kind, str(model.kind))


def _marginals(model: Any, rows: Rows | None, target: str | None) -> tuple[Marginals, str]:
    """P(state) of each column under the model, and how it was found where not exactly.

    None where the model does not say, or not soon enough.
    """
    schema = model.schema
    found: Marginals = [None] * len(schema)
    if model.class_only:
        if rows is not None and target is not None:
            mean = class_rows(model, rows, target)[0]
            found[schema.index(target)] = mean.mean(axis=0) if len(mean) else None
        return found, "The model tells the class alone; its share is the mean over the rows."
    if isinstance(model, DependencyNetwork) and rows is not None and rows.complete.any():
        full = rows.table.take(np.flatnonzero(rows.complete)[:MOST_AVERAGED])
        mean = np.exp(model.full_conditionals(full)).mean(axis=0)
        told = f"The model's shares are the mean of its conditionals over {full.n_rows:,} rows."
        return list(np.split(mean, np.cumsum(schema.cards)[:-1])), told
    few = len(schema) <= MOST_ASKED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if few:
                answers = model.marginals()
                return [answers[name].probabilities for name in schema.names], ""
            if isinstance(model, BayesianNetwork):
                drawn = model.sample(DRAWN, random_state=0)
                told = f"The model's shares are those of {DRAWN:,} rows drawn from it."
                return [*shares_of(drawn)], told
        except CounterpaneError:
            pass
    return found, ""


def _confident(
    links: ModelLinks, names: Sequence[str], confidence: Confidence | None
) -> ModelLinks:
    """The links with the share of samples that join their columns, where that is known."""
    if confidence is None:
        return links
    shares = {(a, b): float(share) for a, b, share in confidence.shares}
    told = []
    for k in links.links:
        if len(k.scope) == 2:
            a, b = names[k.scope[0]], names[k.scope[1]]
            both = shares.get((a, b), 0.0) + (shares.get((b, a), 0.0) if a != b else 0.0)
            k = k._replace(share=min(both, 1.0))
        told.append(k)
    return replace(links, links=tuple(told), shares=confidence.words, samples=confidence.samples)


def _column(
    variable: Any, marginal: Floats | None, rows: Rows | None, place: int
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "n": variable.name,
        "s": [state_text(s) for s in variable.states[:MOST_STATES]],
    }
    if variable.cuts is not None:
        found["cut"] = 1
    if variable.card > MOST_STATES:
        found["more"] = variable.card - MOST_STATES
    if marginal is not None:
        found["m"] = [short(x) for x in marginal[:MOST_STATES].tolist()]
    if rows is not None:
        found["d"] = [short(x) for x in rows.shares[place][:MOST_STATES].tolist()]
    return found


def _flat(link: Link) -> list[Any]:
    """[columns…, directed or not, strength, share]."""
    share = None if link.share is None else round(link.share, 3)
    return [*link.scope, int(link.directed), precise(link.strength), share]


def _listed(links: ModelLinks, rows: Rows | None, target: int | None) -> list[Any]:
    """The strongest links: columns, directed, strength, share, bits in the data, explained.

    The bits are the mutual information of a classifier's interaction with the class.
    """
    found = []
    for k in links.links[:MOST_LISTED]:
        bits = None
        if rows is not None and links.shape == "faces" and target is not None:
            bits = precise(pair_information(rows.table, k.scope, [target]))
        share = None if k.share is None else round(k.share, 3)
        explained = None if k.explained is None else round(k.explained, 4)
        found.append([list(k.scope), int(k.directed), precise(k.strength), share, bits, explained])
    return found


def _bounded_panels(model: Any, links: ModelLinks, target: int | None) -> dict[str, Any]:
    """The blocks of each column by its place, as many as the size of the page allows.

    A block that several columns share is held once.
    """
    blocks: list[Any] = []
    known: dict[str, int] = {}
    mine: dict[str, list[int]] = {}
    room = PANEL_BYTES
    for c, own in panels_of(model, links, target):
        places = []
        for block in own:
            text = json.dumps(block, separators=(",", ":"))
            if text not in known:
                room -= len(text)
                known[text] = len(blocks)
                blocks.append(block)
            places.append(known[text])
        mine[str(c)] = places
        if room < 0:
            break
    return {"blocks": blocks, "of": mine}


def _words(value: Any) -> str:
    """A value of the provenance as a reader would write it."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_words(v)}" for key, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _learned(model: Any) -> list[list[str]]:
    """How the model was learned, as pairs of words."""
    told = dict(model.provenance or {})
    lines = [["model", repr(model)]]
    names = {
        "learner": "learner",
        "target": "class",
        "rows": "rows learned from",
        "weight": "weight of the rows",
        "data": "fingerprint of the data",
        "random_state": "seed",
        "seconds": "seconds of learning",
        "counterpane": "counterpane",
        "python": "python",
        "numpy": "numpy",
    }
    for key, words in names.items():
        value = told.pop(key, None)
        if value is not None:
            lines.append(
                [words, f"{value:,.12g}" if isinstance(value, int | float) else str(value)]
            )
    note = (told.pop("missing", None) or {}).get("note", "")
    told.pop("trace", None)
    told.pop("config", None)  # `learner` says the same in words
    told.pop("edge_confidence", None)
    told.pop("number_formats", None)  # `read_as` says the same in words
    lines += _folds(told.pop("held_out", None)) + _kept(told.pop("kept_rows", None))
    directions = told.pop("known_directions", None)
    if directions:
        words = _some([edge_text(p, x, True) for p, x in directions])
        lines.append(["directions known beforehand", words])
    more = {
        "method": "method",
        "why": "why this method",
        "edge_samples": "bootstrap samples",
        "prior_size": "equivalent sample size of the prior",
        "left_out": "columns left out",
        "read_as": "columns read as",
        "target_cuts": "cuts of the class",
        "stopped": "stopped by",
        "kept_rows": "training rows in the file",
        "number_formats": "formats of numbers",
        "frame": "frame learned from",
        "constraints": "constraints on edges",
        "day_first": "day first in dates",
    }
    told.pop("held_out", None)  # is in the overview
    lines += [[more.get(str(k), str(k)), _words(v)[:400]] for k, v in told.items() if v]
    cut = [v.name for v in model.schema if v.cuts is not None]
    if cut:
        lines.append(["numbers cut into intervals", _some(cut)])
    gaps = [v.name for v in model.schema if v.states[-1] is None]
    if note:
        lines.append(["missing cells", note.removeprefix("Missing cells: ")])
    elif gaps:
        lines.append(["missing cells as a state", _some(gaps)])
    lines.append(["report by", f"counterpane {counterpane.__version__}"])
    return lines


def _folds(facts: Mapping[str, Any] | None) -> list[list[str]]:
    """The measures that `learn` printed, in a line."""
    if not facts:
        return []
    names = {"log_loss": "log-loss", "auc": "AUC", "accuracy": "accuracy"}
    told = [
        f"{words} {facts[key]['value']:.3f} ± {facts[key]['error']:.3f}"
        for key, words in names.items()
        if key in facts
    ]
    times = f"{facts['folds']} folds" if facts["folds"] > 1 else "one part"
    words = f"{', '.join(told)} on {facts['rows']:,.0f} rows in {times} ({facts['how']})"
    return [["held out by learn", words]]


def _kept(facts: Mapping[str, int] | None) -> list[list[str]]:
    """How many training rows answer partial evidence."""
    if not facts:
        return []
    words = f"{facts['kept']:,} of {facts['distinct']:,} distinct rows, to answer partial evidence"
    return [["rows kept in the model", words]]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")


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
    known = target or (model.provenance or {}).get("target")
    return known if isinstance(known, str) and known in model.schema.names else None


class Confidence(NamedTuple):
    """(from, to, share) of edges, what a share is, and of how many samples where it is of some."""

    shares: list[tuple[str, str, float]]
    words: str
    samples: int | None = None


def confidence_of(model: Any, given: Any) -> Confidence | None:
    """The shares of the edges: from a bootstrap, a matrix, or the model's own file.

    None where they are not known, or of too few samples.
    """
    names, samples, words = model.schema.names, None, "probability that the columns are joined"
    if given is None:
        told = model.provenance or {}
        samples, shares = told.get("edge_samples", 0), told.get("edge_confidence")
        if not shares or samples < LEAST_SAMPLES:
            return None
        listed = [(str(a), str(b), float(p)) for a, b, p in shares]
        return Confidence(listed, _of_samples(samples), samples)
    if hasattr(given, "edge_probabilities"):
        names, samples, given = given.names, given.n, given.edge_probabilities
        if samples < LEAST_SAMPLES:
            return None
        words = _of_samples(samples)
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.shape != (len(names), len(names)) or set(names) != set(model.schema.names):
        raise ParameterError(
            f"confidence of shape {matrix.shape} for {len(model.schema)} columns; pass the result "
            "of bootstrap, or a square matrix (from, to) in the order of the model's columns."
        )
    if isinstance(model, MarkovNetwork):
        matrix = np.triu(np.maximum(matrix, matrix.T))  # symmetric: each pair counts once
    listed = [(names[a], names[b], float(matrix[a, b])) for a, b in np.argwhere(matrix > 0)]
    return Confidence(listed, words, samples)


def _of_samples(samples: int) -> str:
    return f"share of {samples:,} bootstrap samples that join the columns"

"""The words of a report: what the model is, how good it is, how to use it, how it was learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import counterpane
from counterpane.graphs.mixed import MixedEdge
from counterpane.models.links import Link, ModelLinks, edge_text

SHOWN = 3  # interactions or uncertain edges that are named
SURE, DOUBTFUL = 0.9, 0.5  # shares of samples
ERRORS = 2.0  # standard errors by which a difference is more than chance
# Titles of the entries of a provenance: the first ones in this order, then the others.
FIRST_TITLES = {
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
TITLES = {
    "method": "method",
    "why": "why this method",
    "edge_samples": "bootstrap samples",
    "prior_size": "equivalent sample size of the prior",
    "left_out": "columns left out",
    "read_as": "columns read as",
    "gap_words": "words taken as missing",
    "stopped": "stopped by",
    "frame": "frame learned from",
    "constraints": "constraints on edges",
    "cuts": "cuts of numbers",
}


def overview_of(
    model: Any, kind: str, links: ModelLinks, target: str | None, measures: Mapping[str, Any] | None
) -> list[str]:
    """Three short paragraphs, as plain text."""
    names = model.schema.names
    held_out = (model.provenance or {}).get("held_out") if target is not None else None
    good, better = _quality(held_out, measures, target)
    if target is not None and links.shape == "faces":
        what = _about_classes(model, links, target)
    else:
        what = _about_network(model, kind, links)
    return [what, good, _advice(links, names, target, better, held_out)]


def _learned_from(model: Any) -> str:
    rows = (model.provenance or {}).get("rows")
    return f" It was learned from {rows:,} rows." if isinstance(rows, int) else ""


def _about_classes(model: Any, links: ModelLinks, target: str) -> str:
    first = [_link_text(link, model.schema.names, " × ") for link in links.links[:SHOWN]]
    strongest = f" The largest effects are those of {_listed(first)}." if first else ""
    features = len(model.schema) - 1
    columns = "1 column" if features == 1 else f"{features:,} columns"
    pool = (model.provenance or {}).get("pool", {}).get("note", "")
    words = f"This model predicts {target} from {columns}.{_learned_from(model)}{strongest}"
    return f"{words} {pool}".rstrip()


def _about_network(model: Any, kind: str, links: ModelLinks) -> str:
    n = len(links.links)
    edges = "1 edge" if n == 1 else f"{n:,} edges"
    what = f"This {kind[:1].lower() + kind[1:] if kind[:1] != 'B' else kind} joins "
    what += f"{len(model.schema):,} columns by {edges}.{_learned_from(model)}"
    if not links.links:
        return what + " No dependency between the columns improved the score."
    first = links.links[0]
    name = _link_text(first, model.schema.names, " → " if first.directed else " — ")
    strength = f" ({first.strength:.3g} {links.measure})" if links.measure == "bits per row" else ""
    return f"{what} The strongest edge is {name}{strength}."


def _quality(
    held_out: Mapping[str, Any] | None, measures: Mapping[str, Any] | None, target: str | None
) -> tuple[str, bool | None]:
    """How well the model predicts rows it has not seen, and whether better than its baseline."""
    if held_out:
        return _held_out_words(held_out)
    lines = {line[0]: line for line in (measures or {}).get("lines", ())}
    name = "log-likelihood" if target is None else "log-loss"
    name = name if name in lines else "pseudo-log-likelihood"
    if name not in lines or lines[name][4] is None:
        return "How well it fits was not measured: no data was given with the report.", None
    _, _, fresh, itself, base = lines[name]
    where = "held-out rows" if fresh is not None else "the rows given, which it may know,"
    value = itself if fresh is None else fresh
    if value is None:
        return "How well it fits was not measured.", None
    versus = "with the class shares alone" if target is not None else "with independent columns"
    words = f"On {where} the {name} is {value:.3f} nats per row, and {base:.3f} {versus}."
    better = value < base if name == "log-loss" else value > base
    return words.replace(" -", " \N{MINUS SIGN}"), bool(better)


def _folds(facts: Mapping[str, Any]) -> str:
    return (
        f"{facts['rows']:,} rows in {facts['folds']} folds" if facts["folds"] > 1 else "one split"
    )


def _held_out_words(facts: Mapping[str, Any]) -> tuple[str, bool]:
    prior, loss = facts["prior"], facts["log_loss"]
    words = (
        f"On held-out rows ({_folds(facts)}) the log-loss is {loss['value']:.3f} ± "
        f"{loss['error']:.3f} nats (class shares alone: {prior['log_loss']:.3f})"
    )
    if "auc" in facts:
        words += f", the AUC {facts['auc']['value']:.3f}"
    accuracy = facts["accuracy"]["value"]
    words += f", the accuracy {accuracy:.1%} (most frequent class: {prior['accuracy']:.1%})."
    return words, bool(loss["value"] + ERRORS * loss["error"] < prior["log_loss"])


def _advice(
    links: ModelLinks,
    names: Sequence[str],
    target: str | None,
    better: bool | None,
    held_out: Mapping[str, Any] | None,
) -> str:
    """What a reader may do with the model, and what not."""
    if better is False and target is not None:
        return (
            "These columns do not clearly predict the class better than its overall shares do: do "
            "not rely on single predictions."
        )
    words = []
    off = (held_out or {}).get("calibration_error")
    if off is not None:
        chance = off["value"] <= 2 * off["by_chance"]
        words.append(
            "Predicted probabilities agree with observed shares up to chance."
            if chance
            else "Predicted probabilities and observed shares differ by "
            f"{100 * off['value']:.1f} points on average: see the calibration below."
        )
    shares = [link for link in links.links if link.share is not None and len(link.scope) == 2]
    if shares and links.samples and links.shape != "faces":
        sure = sum(link.share >= SURE for link in shares if link.share is not None)
        words.append(
            f"{sure} of {len(shares)} edges occur in at least {SURE:.0%} of {links.samples:,} "
            "bootstrap samples."
        )
        doubtful = [k for k in shares if k.share is not None and k.share < DOUBTFUL][:SHOWN]
        if doubtful:
            words.append(f"Uncertain: {_listed([_link_text(k, names, ' — ') for k in doubtful])}.")
    if links.shape == "dag":
        words.append(
            "An edge is an association, not an effect; an edge without an arrowhead has no "
            "direction that data could show."
        )
    words.append("Click a column for its table.")
    return " ".join(words)


def _link_text(link: Link, names: Sequence[str], sign: str) -> str:
    return sign.join(names[c] for c in link.scope)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _value_words(value: Any) -> str:
    """A value of the provenance as a reader would write it."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_value_words(v)}" for key, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_value_words, value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


def how_learned(model: Any) -> list[list[str]]:
    """How the model was learned: pairs of a title and a text."""
    record = dict(model.provenance or {})
    lines = [["model", repr(model)]]
    for key, words in FIRST_TITLES.items():
        value = record.pop(key, None)
        if value is not None:
            lines.append(
                [words, f"{value:,.12g}" if isinstance(value, int | float) else str(value)]
            )
    note = (record.pop("missing", None) or {}).get("note", "")
    record.pop("trace", None)
    record.pop("config", None)  # `learner` says the same in words
    record.pop("edge_confidence", None)
    pool = record.pop("pool", {}).get("note")
    lines += [["tables and boosted trees", pool]] if pool else []
    lines += _held_out_line(record.pop("held_out", None)) + _kept_rows_line(
        record.pop("kept_rows", None)
    )
    directions = record.pop("known_directions", None)
    if directions:
        words = _first_names([edge_text(p, x, True) for p, x in directions])
        lines.append(["directions known beforehand", words])
    pag = record.pop("pag", None)
    if pag:
        words = _first_names([str(MixedEdge(*edge)) for edge in pag])
        lines.append(["marks by FCI (o: open; ↔: a common cause is missing)", words])
    lines += [[TITLES.get(str(k), str(k)), _value_words(v)[:400]] for k, v in record.items() if v]
    cut = [v.name for v in model.schema if v.cuts is not None]
    if cut:
        lines.append(["numbers cut into intervals", _first_names(cut)])
    gaps = [v.name for v in model.schema if v.states[-1] is None]
    if note:
        lines.append(["missing cells", note.removeprefix("Missing cells: ")])
    elif gaps:
        lines.append(["missing cells as a state", _first_names(gaps)])
    lines.append(["report by", f"counterpane {counterpane.__version__}"])
    return lines


def _held_out_line(facts: Mapping[str, Any] | None) -> list[list[str]]:
    """The measures that `learn` printed, in a line."""
    if not facts:
        return []
    names = {"log_loss": "log-loss", "auc": "AUC", "accuracy": "accuracy"}
    measures = [
        f"{words} {facts[key]['value']:.3f} ± {facts[key]['error']:.3f}"
        for key, words in names.items()
        if key in facts
    ]
    times = f"{facts['folds']} folds" if facts["folds"] > 1 else "one part"
    words = f"{', '.join(measures)} on {facts['rows']:,.0f} rows in {times} ({facts['how']})"
    return [["held out by learn", words]]


def _kept_rows_line(facts: Mapping[str, int] | None) -> list[list[str]]:
    """How many training rows answer partial evidence."""
    if not facts:
        return []
    words = f"{facts['kept']:,} of {facts['distinct']:,} distinct rows, to answer partial evidence"
    return [["rows kept in the model", words]]


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")

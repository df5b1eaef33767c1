"""The words of a report: what the model is, how good it is, how to use it, how it was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import counterpane
from counterpane.graphs.mixed import MixedEdge
from counterpane.models.edges import edge_text
from counterpane.models.record import ClassFigures, KeptRows, LearningRecord, Preparation
from counterpane.report.measures import PageMeasures
from counterpane.tools.links import Link, ModelLinks

SHOWN = 3  # interactions or uncertain edges that are named
SURE, DOUBTFUL = 0.9, 0.5  # shares of samples
LONGEST = 400  # letters of a text on the columns
ERRORS = 2.0  # standard errors by which a difference is more than chance


def overview_of(
    model: Any, kind: str, links: ModelLinks, target: str | None, measures: PageMeasures
) -> list[str]:
    """Three short paragraphs, as plain text."""
    names, held_out = model.schema.names, measures.held_out
    good, better = _quality(held_out, measures.content, target)
    if target is not None and links.shape == "faces":
        what = _about_classes(model, links, target)
    else:
        what = _about_network(model, kind, links)
    return [what, good, _advice(links, names, target, better, held_out)]


def _learned_from(model: Any) -> str:
    rows = model.record.data.rows
    return "" if rows is None else f" It was learned from {rows:,.12g} rows."


def _about_classes(model: Any, links: ModelLinks, target: str) -> str:
    first = [_link_text(link, model.schema.names, " × ") for link in links.links[:SHOWN]]
    strongest = f" The largest effects are those of {_listed(first)}." if first else ""
    features = len(model.schema) - 1
    columns = "1 column" if features == 1 else f"{features:,} columns"
    pool = model.record.pool.note
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
    strength = (
        f" ({first.strength:#.3g} {links.measure})" if links.measure == "bits per row" else ""
    )
    return f"{what} The strongest edge is {name}{strength}."


def _quality(
    held_out: ClassFigures | None, measures: Mapping[str, Any] | None, target: str | None
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


def _held_out_words(figures: ClassFigures) -> tuple[str, bool]:
    prior, loss = figures.prior, figures.log_loss
    where = f"{figures.rows:,} rows in {figures.folds} folds" if figures.folds > 1 else "one split"
    words = f"On held-out rows ({where}) "
    if loss is None:
        words += "the log-loss is infinite"
    else:
        words += f"the log-loss is {loss.value:.3f} ± {loss.error:.3f} nats"
    words += f" (class shares alone: {prior.log_loss:.3f})"
    if figures.auc is not None:
        words += f", the AUC {figures.auc.value:.3f}"
    words += f", the accuracy {figures.accuracy.value:.1%} (most frequent class: "
    words += f"{prior.accuracy:.1%})."
    better = loss is not None and loss.value + ERRORS * (loss.error or 0.0) < prior.log_loss
    return words, better


def _advice(
    links: ModelLinks,
    names: Sequence[str],
    target: str | None,
    better: bool | None,
    held_out: ClassFigures | None,
) -> str:
    """What a reader may do with the model, and what not."""
    if better is False and target is not None:
        return (
            "These columns do not clearly predict the class better than its overall shares do: do "
            "not rely on single predictions."
        )
    words = []
    off = None if held_out is None else held_out.calibration_error
    if off is not None:
        chance = off.value <= 2 * off.by_chance
        words.append(
            "Predicted probabilities agree with observed shares up to chance."
            if chance
            else "Predicted probabilities and observed shares differ by "
            f"{100 * off.value:.1f} points on average: see the calibration below."
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


def how_learned(model: Any) -> list[list[str]]:
    """How the model was learned: pairs of a title and a text."""
    record: LearningRecord = model.record
    cut = [v.name for v in model.schema if v.cuts is not None]
    missing = record.preparation.missing
    note = "" if missing is None else missing.note.removeprefix("Missing cells: ")
    gaps = [v.name for v in model.schema if v.states[-1] is None and not note]
    lines = [
        ("model", repr(model)),
        *_about_learner(record),
        *_about_search(record),
        *_about_columns(record.preparation),
        ("numbers cut into intervals", _first_names(cut)),
        ("missing cells", note),
        ("missing cells as a state", _first_names(gaps)),
        ("report by", f"counterpane {counterpane.__version__}"),
    ]
    return [[title, text] for title, text in lines if text]


def _about_learner(record: LearningRecord) -> list[tuple[str, str]]:
    learner, data, versions = record.learner, record.data, record.learner.versions
    return [
        ("learner", learner.text or ""),
        ("class", data.target or ", ".join(data.targets)),
        ("rows learned from", _amount(data.rows)),
        ("weight of the rows", _amount(data.weight)),
        ("times updated with new rows", _amount(data.updates or None)),
        ("fingerprint of the data", data.fingerprint or ""),
        ("frame learned from", data.frame or ""),
        ("seed", _amount(learner.random_state)),
        ("seconds of learning", _amount(learner.seconds)),
        *((name, versions.get(name, "")) for name in ("counterpane", "python", "numpy")),
    ]


def _about_search(record: LearningRecord) -> list[tuple[str, str]]:
    learner, limits, weights = record.learner, record.constraints, record.weights
    known = [edge_text(p, x, True) for p, x in limits.known_directions]
    named = (("required", limits.required), ("forbidden", limits.forbidden))
    limited = [
        f"{what}: {_first_names([' → '.join(e) for e in own])}" for what, own in named if own
    ]
    limited += [f"tiers: {'; '.join(map(', '.join, limits.tiers))}"] if limits.tiers else []
    marks = [str(MixedEdge(*edge)) for edge in record.marks]
    samples = record.edge_shares[0].samples if record.edge_shares else None
    return [
        ("method", learner.method or ""),
        ("why this method", learner.why or ""),
        ("stopped by", learner.stopped or ""),
        ("tables and boosted trees", record.pool.note),
        ("held out by learn", _held_out_line(record.measures)),
        ("rows kept in the model", _kept_rows_line(record.data.kept_rows)),
        (
            "bootstrap samples",
            _amount(samples),
        ),
        ("equivalent sample size of the prior", _amount(learner.prior_size)),
        ("constraints on edges", "; ".join(limited)),
        ("directions known beforehand", _first_names(known)),
        ("marks by FCI (o: open; ↔: a common cause is missing)", _first_names(marks)),
        ("structure of the weights", "" if weights is None else weights.structure),
        ("steps of the weights", "" if weights is None else _amount(weights.steps)),
        ("intervention", "; ".join(f"{k}: {v}" for k, v in record.interventions.items())),
    ]


def _about_columns(preparation: Preparation) -> list[tuple[str, str]]:
    words = {name: ", ".join(own) for name, own in preparation.gap_words.items()}
    return [
        ("columns left out", _by_column(preparation.left_out)),
        ("columns read as", _by_column(preparation.read_as)),
        ("words taken as missing", _by_column(words)),
        ("columns dropped", ", ".join(preparation.dropped)),
        ("numbers as categories", ", ".join(preparation.categorical)),
        ("column of row counts", preparation.row_counts or ""),
        ("intervals of a column", _amount(preparation.bins)),
        ("decimal mark", preparation.decimal or ""),
    ]


def _amount(value: float | None) -> str:
    return "" if value is None else f"{value:,.12g}"


def _by_column(words: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {own}" for name, own in words.items())[:LONGEST]


def _held_out_line(figures: ClassFigures | None) -> str:
    """The measures that `learn` printed, in a line."""
    if figures is None:
        return ""
    named = (
        ("log-loss", figures.log_loss),
        ("AUC", figures.auc),
        ("accuracy", figures.accuracy),
    )
    measures = [
        f"{words} {each.value:.3f} ± {each.error:.3f}" for words, each in named if each is not None
    ]
    times = f"{figures.folds} folds" if figures.folds > 1 else "one part"
    return f"{', '.join(measures)} on {figures.rows:,.0f} rows in {times} ({figures.how})"


def _kept_rows_line(kept: KeptRows | None) -> str:
    """How many training rows answer partial evidence."""
    if kept is None:
        return ""
    return f"{kept.kept:,} of {kept.distinct:,} distinct rows, to answer partial evidence"


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (f" and {len(names) - 30} more" if len(names) > 30 else "")

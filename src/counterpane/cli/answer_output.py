"""Answers of `query`: as a table with bars, and as JSON with all that is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterpane.lazy import lazy
from counterpane.present.table import Heading, TextTable, right

np = lazy("numpy")
schemas = lazy("counterpane.data.schema")

BAR = 30  # letters of the bar of probability 1


def answer_cells(answer: Any, ends: tuple[list[float], list[float]] | None) -> list[dict[str, Any]]:
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


def answer_basis(answer: Any) -> dict[str, Any]:
    """The training rows that an answer is averaged over, or that match its evidence, for JSON."""
    seen, basis = answer.support, answer.basis
    averaged = {} if basis is None else {"averaged_over": basis._asdict()}
    matching = {} if seen is None else {"training_rows": seen.rows, "estimated": seen.estimated}
    return averaged | matching


def answer_trust(answer: Any) -> dict[str, Any]:
    """What is first in the JSON of an estimate: whether it is trusted, and by which method."""
    sure = answer.certainty
    if sure is None:
        return {}
    doubt = {"doubt": sure.doubt} if sure.doubt else {}
    return {"trusted": sure.trusted, **doubt, "estimate": str(sure)}


def probability_table(
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

"""Rankers of links on the command line: which was chosen, and how well each ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from rich.table import Table as Grid

import counterpane as cp


def fitted_ranker(table: cp.Table) -> Any:
    """What `learn` needs to know of a ranker that was chosen by left-out links."""
    ranker = cp.LinkRanker().fit(table)
    model = ranker.ranking_model
    known = {"rows": table.n_rows, "learner": f"LinkRanker({ranker.choice_!r})"}
    model.provenance = (model.provenance or {}) | known | {"candidates": _records(ranker)}
    return SimpleNamespace(model_=model, ranker=ranker)


def ranker_facts(learned: Any) -> dict[str, Any]:
    """The ranker chosen, and those that it was chosen from."""
    return {"ranker": learned.ranker.choice_, "candidates": _records(learned.ranker)}


def _records(ranker: Any) -> list[dict[str, Any]]:
    return [{"ranker": c.name, "mrr": c.mrr, "error": c.error} for c in ranker.candidates_]


def candidates_picture(records: Sequence[Mapping[str, Any]]) -> Grid:
    """Rankers and the mean reciprocal ranks of left-out links, the best first."""
    grid = Grid(box=None, padding=(0, 2, 0, 0))
    shown = "behind" in records[0] if records else False
    grid.add_column("ranker")
    grid.add_column("mean reciprocal rank of left-out links", justify="right")
    if shown:
        grid.add_column("behind", justify="right")
    for record in records:
        line = [record["ranker"], f"{record['mrr']:.4f} ±{record['error']:.4f}"]
        if shown:
            error = record["behind_error"]
            line.append(f"{record['behind']:+.4f} ±{error:.4f}" if error else "")
        grid.add_row(*line)
    return grid

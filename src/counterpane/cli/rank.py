"""`counterpane rank`: the items that a user is likely to choose next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

import counterpane as cp
from counterpane.cli.app import emit, show_table
from counterpane.cli.options import Json, ModelFile
from counterpane.present.table import Heading, TextTable, right


def run_rank(
    *,
    model: ModelFile,
    chosen: Annotated[
        list[str] | None,
        typer.Option(
            "--chosen", "-c", help="The items that the user has, with commas between; or repeat."
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="The number of items to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Rank the items of MODEL for a user with the chosen items, the best next one first.

    The score beside an item only orders the items. It is not the probability that a user with the
    chosen items has the item.
    """
    ranker = cp.LinkRanker.from_model(cp.load(model))
    items = set(ranker.items_)
    names = [n for part in chosen or [] for n in ([part] if part in items else part.split(","))]
    names = [n if n in items else n.strip() for n in names if n.strip()]
    ranked = ranker.rank(names, top=top)
    if as_json:
        emit({"chosen": names, "items": [r._asdict() for r in ranked]})
        return
    show_table(_ranking(ranked, names))


def _ranking(ranked: Sequence[tuple[str, float]], chosen: Sequence[str]) -> TextTable:
    """Items and their scores, the best first."""
    title = f"after {', '.join(chosen)}" if chosen else "with nothing chosen yet"
    rows = [(place, item, f"{score:.4f}") for place, (item, score) in enumerate(ranked, start=1)]
    heads = (right(""), Heading("item", style="bold"), right("score"))
    return TextTable.of(heads, rows, title=title, most=None)

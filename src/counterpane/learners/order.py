"""The canonical order of columns: by falling entropy, equal ones by name."""

from __future__ import annotations

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.ragged import offsets_of
from counterpane.typing import Floats, Ints

MAX_CELLS = 2**22  # of the counts of columns that are read together


def intrinsic_order(source: CountSource, entropies: Floats | None = None) -> list[int]:
    """The columns by falling entropy, equal ones by name: the same for every layout of a table.

    `entropies` are those of `column_entropies`, if they are known.
    """
    entropies = column_entropies(source) if entropies is None else entropies
    names = source.schema.names
    by_name: Ints = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    order: list[int] = by_name[np.argsort(-entropies[by_name], kind="stable")].tolist()
    return order


def column_entropies(source: CountSource) -> Floats:
    """H of each column over the rows in which it is known, in nats; 0 where there are none."""
    cards = source.schema.cards
    flat = source.counts([(i,) for i in range(len(cards))], missing="drop").joined()
    starts, entropies = offsets_of(cards), np.zeros(len(cards))
    together = len(cards) * int(cards.max()) <= MAX_CELLS
    for width in [int(cards.max())] if together else np.unique(cards).tolist():
        some = np.flatnonzero(cards <= width if together else cards == width)
        counts = np.zeros((len(some), width))
        filled = np.arange(width) < cards[some, None]
        counts[filled] = flat[(starts[some, None] + np.arange(width))[filled]]
        totals = counts.sum(axis=1, keepdims=True)
        totals[totals == 0] = 1.0  # a column may be hidden
        shares = np.sort(counts / totals, axis=1)  # any order of states
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        entropies[some] = -(shares * logs).sum(axis=1)
    return entropies

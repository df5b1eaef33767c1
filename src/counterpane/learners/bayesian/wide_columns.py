"""Which columns of a wide table are searched: not the copies of another, nor those too fine.

A duplicate column gets one parent: the column it duplicates. A column whose states are so many
that no edge can pay for its parameters has no edge. Both are known before any pair is counted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._core.scores import LIKELIHOOD
from counterpane.counts.source import CountSource, threads_of
from counterpane.data.column_hashes import hash_columns
from counterpane.learners.order import column_entropies
from counterpane.scores import LocalScore
from counterpane.typing import Bools, Floats, Ints

SHOWN = 3  # columns that a note names


class WideColumns(NamedTuple):
    """The columns to search, in order, (original, copy) of the others, and notes on them."""

    searched: Ints
    copies: Ints
    notes: list[str]


def searched_columns(
    source: CountSource, order: Ints, score: LocalScore | None, entropies: Floats | None = None
) -> WideColumns:
    """Split the columns, those of `order` first; of equal columns the first one is searched.

    Without a score all columns but the copies are searched. Constants stay among the searched
    columns, but for copies; the notes count them apart. `entropies` are those of
    `column_entropies`, if they are known.
    """
    codes, names = source.rows().codes, source.schema.names
    fine = np.zeros(len(names), dtype=bool)
    if score is not None:
        fine = _too_fine(source, score, entropies)
    hashes, constant = hash_columns(codes, threads_of(source))
    columns = order[~fine[order]]
    _, first, group = np.unique(hashes[columns], return_index=True, return_inverse=True)
    originals = columns[first[group]]
    copies = originals != columns
    places = np.flatnonzero(copies)
    copies[places] = [np.array_equal(codes[a], codes[b]) for a, b in
                      zip(originals[places], columns[places], strict=True)]  # fmt: skip
    searched, pairs = columns[~copies], np.column_stack([originals, columns])[copies]
    hanging = pairs[~constant[pairs[:, 1]], 1]
    notes = [
        f"{len(some):,} columns {words}: {_named([names[v] for v in some[:SHOWN]], len(some))}."
        for some, words in (
            (np.flatnonzero(constant), "are constant and depend on nothing"),
            (hanging, "duplicate another column, which is their only neighbor"),
            (np.flatnonzero(fine), "have so many states that no edge can pay for them"),
        )
        if len(some)
    ]
    return WideColumns(searched, pairs, notes)


def _too_fine(source: CountSource, score: LocalScore, entropy: Floats | None) -> Bools:
    """Which columns can have no edge: N · min(H(x), ln r_y) pays for (r_x − 1)(r_y − 1) of no y.

    Given other parents an edge has more parameters and gains no more than that. Dirichlet scores
    have no such bound.
    """
    cards, total = source.schema.cards, float(source.total_weight or 0.0)
    form = score.form(total)
    if form is None or form.kind != LIKELIHOOD or not total > 0:
        return np.zeros(len(cards), dtype=bool)
    entropy = column_entropies(source) if entropy is None else entropy
    payable = np.zeros(len(cards), dtype=bool)
    for card in np.unique(cards[cards > 1]).tolist():
        most = total * np.minimum(entropy, math.log(card))
        payable |= most > form.a * (cards - 1) * (card - 1)
    return ~payable & (cards > 1) & (entropy > 0)


def _named(names: list[str], number: int) -> str:
    return ", ".join(map(repr, names)) + (", …" if number > len(names) else "")

"""Which columns of a wide table are searched: not the copies of another, nor those too fine.

A copy is explained by its original alone, so that it hangs on it. A column whose states are so many
that no edge can pay for its parameters has no edge. Both are known before any pair is counted.
"""

from __future__ import annotations

import hashlib
import math
from typing import NamedTuple

import numpy as np

from counterpane._core.scores import LIKELIHOOD
from counterpane.counts.source import CountSource
from counterpane.learn.order import column_entropies
from counterpane.scores import LocalScore
from counterpane.typing import Bools, Ints

SHOWN = 3  # columns that a note names


class WideColumns(NamedTuple):
    """The columns to search, in order, (original, copy) of the others, and notes on them."""

    searched: Ints
    copies: Ints
    notes: list[str]


def searched_columns(source: CountSource, order: Ints, score: LocalScore | None) -> WideColumns:
    """Split the columns, those of `order` first; of equal columns the first one is searched.

    Without a score all columns but the copies are searched. Constants stay among the searched
    columns, but for copies; the notes count them apart.
    """
    codes, names = source.rows().codes, source.schema.names
    constant: Bools = (codes == codes[:, :1]).all(axis=1)
    fine = np.zeros(len(names), dtype=bool) if score is None else _too_fine(source, score)
    originals: dict[bytes, int] = {}
    searched, copies = [], []
    for v in order[~fine[order]].tolist():
        original = originals.setdefault(hashlib.blake2b(codes[v].data).digest(), v)
        if original == v:
            searched.append(v)
        else:
            copies.append((original, v))
    pairs: Ints = np.array(copies, dtype=np.int64).reshape(-1, 2)
    hanging = pairs[~constant[pairs[:, 1]], 1]
    notes = [
        f"{len(some):,} columns {words}: {_named([names[v] for v in some[:SHOWN]], len(some))}."
        for some, words in (
            (np.flatnonzero(constant), "are constant and depend on nothing"),
            (hanging, "are copies of another one and hang on it"),
            (np.flatnonzero(fine), "have so many states that no edge can pay for them"),
        )
        if len(some)
    ]
    return WideColumns(np.array(searched, dtype=np.int64), pairs, notes)


def _too_fine(source: CountSource, score: LocalScore) -> Bools:
    """Which columns can have no edge: N · min(H(x), ln r_y) pays for (r_x − 1)(r_y − 1) of no y.

    Given other parents an edge has more parameters and gains no more than that. Dirichlet scores
    have no such bound.
    """
    cards, total = source.schema.cards, float(source.total_weight or 0.0)
    form = score.form(total)
    if form is None or form.kind != LIKELIHOOD or not total > 0:
        return np.zeros(len(cards), dtype=bool)
    entropy = column_entropies(source)
    payable = np.zeros(len(cards), dtype=bool)
    for card in np.unique(cards[cards > 1]).tolist():
        most = total * np.minimum(entropy, math.log(card))
        payable |= most > form.a * (cards - 1) * (card - 1)
    return ~payable & (cards > 1) & (entropy > 0)


def _named(names: list[str], number: int) -> str:
    return ", ".join(map(repr, names)) + (", …" if number > len(names) else "")

"""Purified interactions: what of a table fewer of its columns explain moves to those columns.

The tables of a fit share their effects in an arbitrary way: a pair may hold what its single columns
could. Purified, each interaction has the mean zero over each of its columns, given the others,
under the weights of the rows (functional ANOVA). That is the residual of a weighted least-squares
fit by tables of one column less; what these explain is purified in turn, down to the constant.

B. Lengerich et al., Purifying interaction effects with the functional ANOVA, AISTATS (2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from counterpane.additive.member import Face, Member, Moved
from counterpane.typing import Codes, Floats, Ints

TOLERANCE = 1e-12  # of the gradient's norm, relative to that of the values
MAX_STEPS = 500


class _Cells(NamedTuple):
    """The cells of a face that rows have: their numbers, their weight, and a state by column."""

    keys: Ints
    weights: Floats
    states: Ints  # (columns, cells)


def purified(member: Member, codes: Codes, numbers: Floats, weights: Floats) -> Member:
    """The member with what its interactions leave to smaller ones, under the weights of rows.

    Its predictions are the same: what is taken from one table is added to another one.
    """
    coded = member.coding.codes(codes, numbers).astype(np.int64)
    moved: list[Moved] = []
    for face, lookup in zip(member.faces, member.lookups, strict=True):
        cells = _cells(coded[list(face)], weights, member.coding.cards[list(face)])
        values = lookup(cells.keys, np.zeros(len(cells.keys), dtype=np.bool_))
        moved += _moves(face, values, cells, member.coding.cards)
    for face, part in member.term_parts(numbers):
        mean: Floats = weights @ part / weights.sum()
        moved.append(Moved(face, (), np.zeros(1, dtype=np.int64), mean[None]))
    return replace(member, moved=tuple(moved))


def _cells(coded: Ints, weights: Floats, cards: Ints) -> _Cells:
    keys = _radix(coded, cards)
    size = math.prod(cards.tolist())
    counts: Floats
    if size <= 4 * len(keys):
        counts = np.bincount(keys, weights, size).astype(np.float64)
        occurring = np.flatnonzero(counts > 0)
        counts = counts[occurring]
    else:
        occurring, where = np.unique(keys, return_inverse=True)
        counts = np.bincount(where, weights, len(occurring)).astype(np.float64)
    states = np.array(np.unravel_index(occurring, cards.tolist()), dtype=np.int64)
    return _Cells(occurring, counts, states)


def _radix(states: Ints, cards: Ints) -> Ints:
    keys = np.zeros(states.shape[1], dtype=np.int64)
    for row, card in zip(states, cards.tolist(), strict=True):
        keys = keys * card + row
    return keys


def _moves(face: Face, values: Floats, cells: _Cells, cards: Ints) -> Iterator[Moved]:
    """The purified tables of all smaller faces that together explain what the face does not."""
    tables = {tuple(range(len(face))): (cells, values)}
    for size in range(len(face), 0, -1):
        for places in combinations(range(len(face)), size):
            cells_here, table = tables[places]
            facets = list(combinations(range(size), size - 1))
            grouped = []
            for facet in facets:
                states = cells_here.states[list(facet)]
                columns = [face[places[j]] for j in facet]
                keys, where = np.unique(_radix(states, cards[columns]), return_inverse=True)
                firsts = np.zeros(len(keys), dtype=np.int64)
                firsts[where] = np.arange(len(where))
                counts: Floats = np.bincount(where, cells_here.weights, len(keys)).astype(
                    np.float64
                )
                grouped.append((_Cells(keys, counts, states[:, firsts]), where))
            parts = lower_order(table, cells_here.weights, [where for _, where in grouped])
            for facet, (below, where), part in zip(facets, grouped, parts, strict=True):
                table = table - part[where]
                lower = tuple(places[j] for j in facet)
                previous = tables.get(lower)
                # The same rows make the cells of both, so that they are the same and in order.
                tables[lower] = (below, part if previous is None else previous[1] + part)
            if size < len(face):
                yield Moved(face, tuple(face[j] for j in places), cells_here.keys, table)
    yield Moved(face, (), tables[()][0].keys, tables[()][1])


def lower_order(values: Floats, weights: Floats, places: Sequence[Ints]) -> list[Floats]:
    """Tables m_j whose sum Σ_j m_j[places[j]] is nearest to `values`, by weighted least squares.

    `values` are (cells, classes). Where several sums are as near, the one of the least weighted
    squares is taken, so that columns that say the same share an effect evenly. Conjugate gradients
    on the normal equations, with each table scaled by the roots of its weights.

    >>> values = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> one, two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> parts = lower_order(values, np.ones(4), [one, two])
    >>> (parts[0][one] + parts[1][two]).round(9).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    n_classes = values.shape[1]
    roots = np.sqrt(weights)[:, None]
    starts = np.cumsum([0, *(int(p.max()) + 1 for p in places)])
    joined = [p + start for p, start in zip(places, starts, strict=False)]
    scale = np.zeros(starts[-1])
    for where in joined:
        scale += np.bincount(where, weights, starts[-1])
    scale = 1 / np.sqrt(scale)[:, None]
    flat = [(p[:, None] * n_classes + np.arange(n_classes)).reshape(-1) for p in joined]

    def forward(x: Floats) -> Floats:
        scaled = x * scale
        total: Floats = roots * np.sum([scaled[where] for where in joined], axis=0)
        return total

    def back(y: Floats) -> Floats:
        weighed = (roots * y).reshape(-1)
        total = np.zeros(starts[-1] * n_classes)
        for where in flat:
            total += np.bincount(where, weighed, len(total))
        gradient: Floats = total.reshape(-1, n_classes) * scale
        return gradient

    x = np.zeros((starts[-1], n_classes))
    left = roots * values
    slope = back(left)
    way = slope
    norms = (slope**2).sum(axis=0)
    enough = TOLERANCE**2 * (left**2).sum(axis=0)
    for _ in range(MAX_STEPS):
        on = norms > enough  # a class that is done must not divide rounding errors by each other
        if not on.any():
            break
        moved = forward(way)
        step = np.divide(norms, (moved**2).sum(axis=0), out=np.zeros_like(norms), where=on)
        x += step * way
        left -= step * moved
        slope = back(left)
        fresh = (slope**2).sum(axis=0)
        way = slope + np.divide(fresh, norms, out=np.zeros_like(norms), where=on) * way
        norms = np.where(on, fresh, 0.0)
    x *= scale
    return [x[low:high] for low, high in pairwise(starts)]

"""Back-off predictors of the class with the row itself left out, and what a face adds to them.

Leaving out a row takes one from its own cell and class. So the predictor of a face T depends on a
row only by its *place*, (cell of T, own class), and is a table φ_T[place, class]. Places without a
row have no entry.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.interactions._exp_kernels import exponentials, logarithms

CHUNK = 256  # rows at a time, in the first-level cache
MOST = 700.0  # exponents above are cut off


class Rows(NamedTuple):
    """Distinct rows: codes (columns, rows), labels, and weights."""

    codes: Any
    labels: Any
    weights: Any


class Faces(NamedTuple):
    """Faces and their tables; face 0 is the empty one."""

    columns: Any  # (faces, most columns), -1 behind the last
    cards: Any  # of these columns, 1 behind the last
    parts: Any  # (faces, subsets): the face of each subset, by the bits of its columns' places
    index_starts: Any  # (faces,): where the face's part of `index` begins
    place_starts: Any  # (faces + 1,): where its places begin
    index: Any  # int32: cell · C + own class → place within the face, or -1
    origins: Any  # (places,): place → cell · C + own class
    tables: Any  # (places, classes)


@kernel
def fill_rows(rows: Any, columns: Any, cards: Any, n_classes: int, low: int, out: Any) -> None:
    """Fill each row's (cell of `columns`) · C + own class, from row `low` on."""
    high = low + out.size
    out[:] = 0
    for j in range(columns.size):
        if columns[j] >= 0:
            card, codes = cards[j], rows.codes[columns[j], low:high]
            for i in range(out.size):
                out[i] = out[i] * card + codes[i]
    labels = rows.labels[low:high]
    for i in range(out.size):
        out[i] = out[i] * n_classes + labels[i]


@kernel
def count_places(rows: Any, columns: Any, cards: Any, counts: Any, index: Any,
                 origins: Any) -> int:  # fmt: skip
    """Fill counts[cell, class] and the index of places by first row; how many places there are."""
    n_classes = counts.shape[1]
    flat = counts.reshape(counts.size)
    places = np.empty(CHUNK, np.int64)
    found = 0
    for low in range(0, rows.labels.size, CHUNK):
        here = places[: min(CHUNK, rows.labels.size - low)]
        fill_rows(rows, columns, cards, n_classes, low, here)
        for i in range(here.size):
            flat[here[i]] += rows.weights[low + i]
            if index[here[i]] < 0:
                index[here[i]] = found
                origins[found] = here[i]
                found += 1
    return found


@kernel
def part_of(cell: int, cards: Any, mask: int) -> int:
    """The cell of the columns in `mask` that holds the face's cell."""
    part, stride = 0, 1
    for j in range(cards.size - 1, -1, -1):
        if mask >> j & 1:
            part += cell % cards[j] * stride
            stride *= cards[j]
        cell //= cards[j]
    return part


@kernel
def back_off(faces: Any, face: int, order: int, counts: Any, unit: float) -> None:
    """Fill the table of a face whose subsets have theirs; a row left out takes `unit` with it.

        φ_T(c) = ln[(n(x_T, c) + 2 π_c) / (n(x_T) + 2)] − ln π_c,   π ∝ exp Σ_{U ⊊ T} φ_U

    and φ_∅(c) = ln[(n(c) + 1/C) / (m + 1)].
    """
    n_classes = counts.shape[1]
    cards = faces.cards[face, :order]
    prior = np.empty(n_classes)
    for place in range(faces.place_starts[face], faces.place_starts[face + 1]):
        cell, own = divmod(faces.origins[place], n_classes)
        left_out = min(unit, counts[cell, own])
        total = counts[cell].sum() - left_out
        table = faces.tables[place]
        if order == 0:
            for c in range(n_classes):
                n = counts[cell, c] - left_out if c == own else counts[cell, c]
                table[c] = math.log((n + 1.0 / n_classes) / (total + 1.0))
            continue
        prior[:] = 0.0
        for mask in range((1 << order) - 1):
            part = faces.parts[face, mask]
            where = part_of(cell, cards, mask) * n_classes + own
            held = faces.place_starts[part] + faces.index[faces.index_starts[part] + where]
            for c in range(n_classes):
                prior[c] += faces.tables[held, c]
        shares = 0.0
        largest = prior.max()
        for c in range(n_classes):
            shares += math.exp(prior[c] - largest)
        log_shares = largest + math.log(shares)
        for c in range(n_classes):
            n = counts[cell, c] - left_out if c == own else counts[cell, c]
            log_n = math.log(n) if n > 0 else -np.inf
            # ln[(n + 2π) / π], also where the share π underflows
            ratio = np.logaddexp(log_n - prior[c] + log_shares, math.log(2.0))
            table[c] = ratio - math.log(total + 2.0)


@kernel
def add_parts(faces: Any, face: int, present: Any, out: Any) -> None:
    """Fill out[j, place] with Σ φ(class own + 1 + j) − φ(own) over the subsets not present."""
    n_classes = out.shape[0] + 1
    order = 0
    while order < faces.columns.shape[1] and faces.columns[face, order] >= 0:
        order += 1
    cards = faces.cards[face, :order]
    first = faces.place_starts[face]
    out[:] = 0.0
    for mask in range(1, 1 << order):
        part = faces.parts[face, mask]
        if present[part]:
            continue
        index = faces.index[faces.index_starts[part] :]
        for place in range(out.shape[1]):
            cell, own = divmod(faces.origins[first + place], n_classes)
            held = faces.place_starts[part] + index[part_of(cell, cards, mask) * n_classes + own]
            table = faces.tables[held]
            for j in range(n_classes - 1):
                other = own + 1 + j if own + 1 + j < n_classes else own + 1 + j - n_classes
                out[j, place] += table[other] - table[own]


@kernel
def log_likelihood(rows: Any, others: Any, faces: Any, face: int, added: Any) -> float:
    """Σ weight · ln P(own class) when `added`, by place of `face`, joins the predictors.

    `others` (classes − 1, rows) are the predictors of the other classes less that of the own one.
    """
    n = rows.labels.size
    index = faces.index[faces.index_starts[face] :]
    places = np.empty(CHUNK, np.int64)
    sums, x, scratch = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    total = 0.0
    for low in range(0, n, CHUNK):
        size = min(CHUNK, n - low)
        here = places[:size]
        fill_rows(rows, faces.columns[face], faces.cards[face], others.shape[0] + 1, low, here)
        for i in range(size):
            here[i] = index[here[i]]
        sums[:] = 1.0
        for j in range(others.shape[0]):
            row, table = others[j, low : low + size], added[j]
            for i in range(size):
                x[i] = min(row[i] + table[here[i]], MOST)
            exponentials(x[:size], scratch[:size])
            for i in range(size):
                sums[i] += x[i]
        logarithms(sums[:size], scratch[:size])
        weights = rows.weights[low : low + size]
        for i in range(size):
            total -= weights[i] * sums[i]
    return total


@kernel
def log_likelihoods(rows: Any, others: Any, faces: Any, asked: Any, present: Any,
                    out: Any) -> None:  # fmt: skip
    """Fill out[t] with the log-likelihood once face asked[t] and its subsets are present."""
    for t in range(asked.size):
        face = asked[t]
        size = faces.place_starts[face + 1] - faces.place_starts[face]
        added = np.empty((others.shape[0], size))
        add_parts(faces, face, present, added)
        out[t] = log_likelihood(rows, others, faces, face, added)


@kernel
def join(rows: Any, faces: Any, face: int, present: Any, others: Any) -> None:
    """Take a face and its subsets into the predictors of the other classes."""
    size = faces.place_starts[face + 1] - faces.place_starts[face]
    added = np.empty((others.shape[0], size))
    add_parts(faces, face, present, added)
    places = np.empty(rows.labels.size, np.int64)
    fill_rows(rows, faces.columns[face], faces.cards[face], others.shape[0] + 1, 0, places)
    for i in range(places.size):
        place = faces.index[faces.index_starts[face] + places[i]]
        for j in range(others.shape[0]):
            others[j, i] += added[j, place]
    for mask in range(faces.parts.shape[1]):
        present[faces.parts[face, mask]] = True

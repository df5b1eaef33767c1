"""Loops under the search for faces: tables of one face, and the likelihood with one face more.

Class 0 is the yardstick: a face's table holds w(y, cell) = exp φ(cell, y) / exp φ(cell, 0) for the
classes y ≥ 1, and P(y | x) is proportional to the product of w over the faces. So adding faces of
joint table q(y, cell) turns P into P q / f with f = P(0 | x) + Σ_y P(y | x) q(y, cell): the labels
enter only by Σ n(cell, y) ln q, one number a face, and each distinct x costs one f.

Logarithms of many f are the logarithm of their product. The exponents are added as whole numbers
and the mantissas, 1 to 2, multiplied, so nothing overflows and a block takes one logarithm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Array, Bools, Codes, Floats, Ints

BLOCK = 512  # rows whose mantissas are multiplied: at most 2^512
LANES = 8
LN2 = math.log(2.0)
MANTISSA = (1 << 52) - 1
ONE = 1023 << 52  # the bits of the exponent of 1.0


class Rows(NamedTuple):
    """Distinct rows x, those of equal weight side by side.

    Run r holds the rows starts[r] … starts[r+1]−1, each of weight run_weights[r]. The pairs
    (x, class) that occur are (pair_rows, pair_labels), of weight pair_weights.
    """

    codes: Codes
    starts: Ints
    run_weights: Floats
    pair_rows: Ints
    pair_labels: Ints
    pair_weights: Floats


class Faces(NamedTuple):
    """All faces known, each a set of columns, and their tables end to end.

    Face f has the columns columns[f] (−1 behind the last), `cells` joint states and a table of
    (classes − 1, cells) from offsets[f] on. subsets[f, j] is the face of those of its columns that
    the bits of j + 1 name, −1 behind the last; the last one is f itself. `sums` are Σ n ln w.
    """

    columns: Ints
    sizes: Ints
    cells: Ints
    subsets: Ints
    offsets: Ints
    values: Floats
    sums: Floats


@kernel
def locate(
    codes: Codes, columns: Ints, size: int, cards: Ints, start: int, stop: int, out: Array
) -> None:
    """Write the cell of rows start … stop−1 in the table over the columns, the last one fastest.

    `out` is int32, which vectorizes; the usual sizes are written out for the same reason.
    """
    a = codes[columns[0], start:stop]
    if size == 1:
        for k in range(stop - start):
            out[k] = a[k]
    elif size == 2:
        b = codes[columns[1], start:stop]
        q = np.int32(cards[columns[1]])
        for k in range(stop - start):
            out[k] = np.int32(a[k]) * q + np.int32(b[k])
    else:
        b = codes[columns[1], start:stop]
        c = codes[columns[2], start:stop]
        q = np.int32(cards[columns[1]])
        r = np.int32(cards[columns[2]])
        for k in range(stop - start):
            out[k] = (np.int32(a[k]) * q + np.int32(b[k])) * r + np.int32(c[k])
        for j in range(3, size):
            b = codes[columns[j], start:stop]
            q = np.int32(cards[columns[j]])
            for k in range(stop - start):
                out[k] = out[k] * q + np.int32(b[k])


@kernel
def multiply_subsets(
    faces: Faces, face: int, cards: Ints, skip: Bools, planes: int, places: Ints, out: Floats
) -> None:
    """Multiply `out`, (planes, cells) of a face, by the tables of its proper subsets not to skip.

    `places` is room for one number a cell: where the cell lies in the table of a subset.
    """
    size = faces.sizes[face]
    cells = faces.cells[face]
    for j in range((1 << size) - 2):
        part = faces.subsets[face, j]
        if skip[part]:
            continue
        width = faces.cells[part]
        step = width
        places[0] = faces.offsets[part]
        filled = np.int64(1)
        for k in range(size):
            card = cards[faces.columns[face, k]]
            inside = (j + 1) >> k & 1
            if inside:
                step //= card
            for old in range(filled - 1, -1, -1):  # from the end, so that it is done in place
                place = places[old]
                for digit in range(card):
                    places[old * card + digit] = place + inside * digit * step
            filled *= card
        for y in range(planes):
            plane = out[y * cells : (y + 1) * cells]
            for cell in range(cells):
                plane[cell] *= faces.values[places[cell] + y * width]


@kernel
def fill_tables(
    faces: Faces, first: int, stop: int, rows: Rows, cards: Ints, prior: Floats, outliers: float
) -> None:
    """Fill the tables and sums of the faces first … stop−1, whose subsets are filled.

    `prior` is the weight of each class, with its share of the outliers. The table is
    w_T = [P_T(·, y) / P_T(·, 0)] / [P(y) / P(0)] / Π of w_U over ∅ ≠ U ⊊ T.
    """
    classes = prior.size
    skip = np.zeros(faces.sizes.size, dtype=np.bool_)
    where = np.empty(rows.codes.shape[1], dtype=np.int32)
    room = np.int64(0)
    for f in range(first, stop):
        room = max(room, faces.cells[f])
    places = np.empty(room, dtype=np.int64)
    for f in range(first, stop):
        cells = faces.cells[f]
        size = faces.sizes[f]
        alpha = outliers / (classes * cells)
        counts = np.empty(classes * cells, dtype=np.float64)
        for k in range(counts.size):
            counts[k] = alpha
        locate(rows.codes, faces.columns[f], size, cards, 0, where.size, where)
        for k in range(rows.pair_rows.size):
            counts[rows.pair_labels[k] * cells + where[rows.pair_rows[k]]] += rows.pair_weights[k]
        planes = classes - 1
        start = faces.offsets[f]
        table = faces.values[start : start + planes * cells]
        for k in range(table.size):
            table[k] = 1.0
        multiply_subsets(faces, f, cards, skip, planes, places, table)
        total = 0.0
        for y in range(planes):
            for cell in range(cells):
                k = y * cells + cell
                ratio = counts[k + cells] / counts[cell] * prior[0] / prior[y + 1]
                table[k] = ratio / table[k]
                if counts[k + cells] > alpha:
                    total += (counts[k + cells] - alpha) * math.log(table[k])
        faces.sums[f] = total


@kernel
def log_product(values: Floats, size: int) -> float:
    """ln of the product of the first `size` ≤ BLOCK positive values, which are used up."""
    bits = values.view(np.int64)
    exponent = np.int64(0)
    for k in range(size):
        exponent += bits[k] >> 52
        bits[k] = (bits[k] & MANTISSA) | ONE
    product = 1.0
    whole = size - size % LANES
    lanes = values[:LANES]
    for k in range(LANES, whole, LANES):
        for lane in range(LANES):
            lanes[lane] *= values[k + lane]
    for k in range(min(whole, LANES)):
        product *= values[k]
    for k in range(whole, size):
        product *= values[k]
    return math.log(product) + (exponent - 1023 * size) * LN2


@kernel
def weigh(
    faces: Faces,
    face: int,
    rows: Rows,
    cards: Ints,
    proba: Floats,
    table: Floats,
    where: Array,
    work: Floats,
) -> float:
    """Σ over rows of weight × ln f, where `table` is q over the cells of `face`."""
    cells = faces.cells[face]
    total = 0.0
    for run in range(rows.run_weights.size):
        subtotal = 0.0
        for start in range(rows.starts[run], rows.starts[run + 1], BLOCK):
            stop = min(start + BLOCK, rows.starts[run + 1])
            locate(rows.codes, faces.columns[face], faces.sizes[face], cards, start, stop, where)
            base = proba[0, start:stop]
            p = proba[1, start:stop]
            for k in range(stop - start):
                work[k] = base[k] + p[k] * table[where[k]]
            for y in range(2, proba.shape[0]):
                plane = table[(y - 1) * cells : y * cells]
                p = proba[y, start:stop]
                for k in range(stop - start):
                    work[k] += p[k] * plane[where[k]]
            subtotal += log_product(work, stop - start)
        total += rows.run_weights[run] * subtotal
    return total


@kernel
def gains(
    faces: Faces,
    asked: Ints,
    rows: Rows,
    cards: Ints,
    proba: Floats,
    present: Bools,
    out: Floats,
) -> None:
    """Fill `out` with how much each face asked, with its subsets, adds to the log-likelihood.

    `proba` is P(y | x), shape (classes, rows), under the faces that are `present`.
    """
    planes = proba.shape[0] - 1
    room = np.int64(0)
    for a in range(asked.size):
        room = max(room, faces.cells[asked[a]])
    scratch = np.empty(room * planes, dtype=np.float64)
    places = np.empty(room, dtype=np.int64)
    where = np.empty(BLOCK, dtype=np.int32)
    work = np.empty(BLOCK, dtype=np.float64)
    for a in range(asked.size):
        face = asked[a]
        cells = faces.cells[face]
        size = faces.sizes[face]
        last = (1 << size) - 1
        fresh = 0
        total = 0.0
        for j in range(last):
            if not present[faces.subsets[face, j]]:
                fresh += 1
                total += faces.sums[faces.subsets[face, j]]
        start = faces.offsets[face]
        table = faces.values[start : start + planes * cells]
        if fresh > 1:
            for k in range(table.size):
                scratch[k] = table[k]
            table = scratch[: planes * cells]
            multiply_subsets(faces, face, cards, present, planes, places, table)
        out[a] = total - weigh(faces, face, rows, cards, proba, table, where, work)


@kernel
def add_face(faces: Faces, face: int, rows: Rows, cards: Ints, log_odds: Floats) -> None:
    """Add ln w of one face to `log_odds`, (classes, rows) against class 0."""
    cells = faces.cells[face]
    where = np.empty(rows.codes.shape[1], dtype=np.int32)
    locate(rows.codes, faces.columns[face], faces.sizes[face], cards, 0, where.size, where)
    plane = np.empty(cells, dtype=np.float64)
    for y in range(1, log_odds.shape[0]):
        start = faces.offsets[face] + (y - 1) * cells
        for cell in range(cells):
            plane[cell] = math.log(faces.values[start + cell])
        for row in range(where.size):
            log_odds[y, row] += plane[where[row]]


@kernel
def normalize(log_odds: Floats, rows: Rows, out: Floats) -> float:
    """Fill `out` with P(y | x) and return the log-likelihood of the labels."""
    classes, n = log_odds.shape
    log_total = np.empty(n, dtype=np.float64)
    for row in range(n):
        largest = 0.0
        for y in range(classes):
            largest = max(largest, log_odds[y, row])
        total = 0.0
        for y in range(classes):
            out[y, row] = math.exp(log_odds[y, row] - largest)
            total += out[y, row]
        for y in range(classes):
            out[y, row] /= total
        log_total[row] = largest + math.log(total)
    likelihood = 0.0
    for k in range(rows.pair_rows.size):
        row = rows.pair_rows[k]
        likelihood += rows.pair_weights[k] * (log_odds[rows.pair_labels[k], row] - log_total[row])
    return likelihood

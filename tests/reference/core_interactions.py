"""Plain Python twins of the kernels of interactions, beyond those of interaction_reference."""

from __future__ import annotations

import math

import numpy as np


def numbers_by_first(keys):
    """(the number of each key by first appearance, where each number first appears)."""
    known, firsts = {}, []
    for i, key in enumerate(keys):
        if key not in known:
            known[key] = len(known)
            firsts.append(i)
    return [known[key] for key in keys], firsts


def lay_out(codes, blocks, n_seen):
    """A design by blocks, a list of (columns, faces within): its arrays, and the matrix it means.

    Cells that are not seen among the first `n_seen` rows have no feature. The matrix is (rows,
    features), feature 0 being that of every row.
    """
    n_rows = codes.shape[1]
    features = {((), ()): 0}
    cells, starts, link_block, link_start, links = [], [0], [], [], []
    for b, (columns, faces) in enumerate(blocks):
        rows = [tuple(r) for r in codes[list(columns)].T.tolist()]
        listed = sorted(set(rows))
        cells.append([starts[b] + listed.index(row) for row in rows])
        starts.append(starts[b] + len(listed))
        for face in faces:
            places = [columns.index(c) for c in face]
            seen = {tuple(row[k] for k in places) for row in rows[:n_seen]}
            link_block.append(b)
            link_start.append(len(links))
            for cell in listed:
                part = tuple(cell[k] for k in places)
                if part in seen:
                    features.setdefault((face, part), len(features))
                links.append(features.get((face, part), -1))
    matrix = np.zeros((n_rows, len(features)))
    for (face, cell), feature in features.items():
        for r in range(n_rows):
            matrix[r, feature] = all(codes[c, r] == s for c, s in zip(face, cell, strict=True))
    arrays = (
        np.array(cells, dtype=np.int32),
        np.array(starts),
        np.array(link_block),
        np.array(link_start),
        np.array(links, dtype=np.int32),
    )
    return arrays, matrix


def left_out_predictor(rows, labels, weights, n_classes, face, row, own, unit):
    """φ of a face at a row of class `own`, with `unit` of its weight taken away.

    φ_T(c) = ln[(n(x_T, c) + 2 π_c) / (n(x_T) + 2)] − ln π_c with π ∝ exp Σ_{U ⊊ T} φ_U.
    """
    counts = [0.0] * n_classes
    for x, y, w in zip(rows, labels, weights, strict=True):
        if all(x[c] == row[c] for c in face):
            counts[y] += w
    counts[own] -= min(unit, counts[own])
    if not face:
        total = sum(counts) + 1
        return [math.log((n + 1 / n_classes) / total) for n in counts]
    proper = range((1 << len(face)) - 1)
    parts = [tuple(c for k, c in enumerate(face) if mask >> k & 1) for mask in proper]
    inside = [
        left_out_predictor(rows, labels, weights, n_classes, part, row, own, unit) for part in parts
    ]
    eta = [sum(values) for values in zip(*inside, strict=True)]
    norm = math.log(sum(math.exp(e) for e in eta))
    total = sum(counts) + 2
    return [
        math.log((n + 2 * math.exp(e - norm)) / total) - (e - norm)
        for n, e in zip(counts, eta, strict=True)
    ]

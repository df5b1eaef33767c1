"""Naive twins of the interaction classifier's parts: one-hot matrices, deleted rows, formulas."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np


def one_hot(codes, faces, seen_rows):
    """A column of ones and one for each cell of each face seen among the first `seen_rows` rows.

    Returns the matrix and its columns' names, (face, cell).
    """
    columns, names = [np.ones(codes.shape[1])], [((), ())]
    for face in faces:
        cells = [tuple(row) for row in codes[list(face)].T.tolist()]
        for cell in sorted(set(cells[:seen_rows])):
            columns.append(np.array([float(c == cell) for c in cells]))
            names.append((face, cell))
    return np.array(columns).T, names


def softmax(eta):
    e = np.exp(eta - eta.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def objective(X, labels, weights, prior, penalty, w):
    """−Σ weight ln P(class) + ½ Σ penalty w² and its gradient; w is (classes, features)."""
    p = softmax(X @ w.T + prior)
    own = p[np.arange(len(labels)), labels]
    value = -(weights * np.log(own)).sum() + 0.5 * (penalty * w**2).sum()
    target = np.eye(len(prior))[labels]
    return value, ((p - target) * weights[:, None]).T @ X + penalty * w


def closed(faces):
    """All subsets of the faces, the empty one too, small ones first."""
    found = {()}
    for face in faces:
        for size in range(1, len(face) + 1):
            found.update(combinations(sorted(face), size))
    return sorted(found, key=lambda face: (len(face), face))


def back_off(rows, labels, n_classes, faces, row):
    """ln P(class | row) of the back-off model of `faces`, estimated from `rows`."""
    counts = [sum(y == c for y in labels) for c in range(n_classes)]
    phi = {(): [math.log((n + 1 / n_classes) / (len(labels) + 1)) for n in counts]}
    for face in closed(faces)[1:]:
        inside = [phi[u] for u in closed([face]) if u != face]
        eta = [sum(values) for values in zip(*inside, strict=True)]
        total = sum(math.exp(e) for e in eta)
        pi = [math.exp(e) / total for e in eta]
        match = [y for x, y in zip(rows, labels, strict=True) if all(x[c] == row[c] for c in face)]
        phi[face] = [
            math.log((match.count(c) + 2 * pi[c]) / (len(match) + 2)) - math.log(pi[c])
            for c in range(n_classes)
        ]
    eta = [sum(phi[face][c] for face in phi) for c in range(n_classes)]
    largest = max(eta)
    total = sum(math.exp(e - largest) for e in eta)
    return [e - largest - math.log(total) for e in eta]


def left_out_log_likelihood(rows, labels, n_classes, faces):
    """Σ ln P(own class) of each row under the model made of all other rows."""
    total = 0.0
    for i in range(len(rows)):
        others = [*rows[:i], *rows[i + 1 :]]
        other_labels = [*labels[:i], *labels[i + 1 :]]
        total += back_off(others, other_labels, n_classes, faces, rows[i])[labels[i]]
    return total


def staged_climb(n_columns, max_size, score):
    """Hyperedges by the staged climb: `score(faces)` must grow by more than ln N each time."""
    chosen = []
    for size in range(1, max_size + 1):
        candidates = list(combinations(range(n_columns), size))
        while candidates:
            now = score(chosen)
            gains = [score([*chosen, face]) - now for face in candidates]
            best = int(np.argmax(gains))
            if not gains[best] > math.log(len(candidates)):
                break
            chosen.append(candidates[best])
    return chosen


def score_gain(codes, labels, weights, proba, face, free):
    """½ Σ g²/(h + 1) − Σ h/(h + 1) · min(1, free / (cells · classes)) over cells and classes."""
    n_classes = proba.shape[0]
    cells = [tuple(cell) for cell in codes[list(face)].T.tolist()]
    gain = chance = 0.0
    for cell in set(cells):
        inside = np.array([c == cell for c in cells])
        for c in range(n_classes):
            g = (weights * ((labels == c) - proba[c]))[inside].sum()
            h = (weights * proba[c] * (1 - proba[c]))[inside].sum()
            gain += 0.5 * g * g / (h + 1)
            chance += h / (h + 1)
    return gain - chance * min(1.0, free / (len(set(cells)) * n_classes))

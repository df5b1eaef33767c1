"""Multinomial logistic regression on tables of faces and numeric terms: objective and gradient.

η_c(x) = prior_c + Σ_T β_T[x_T, c] + Σ_a γ_a,c z_a(x). Weights are (columns, features), a column for
each class; two classes need one column, the log-odds, with half the penalty.

Faces are read through *blocks*: a block is a set of columns that holds several faces, so that a row
costs one look-up for all of them. Before a pass the faces' weights are added up into the blocks'
tables, and afterwards the blocks' gradients are handed down to the faces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.interactions._exp_kernels import exponentials, logarithms

CHUNK = 256  # rows at a time: their predictors stay in the first-level cache


class Design(NamedTuple):
    """What `evaluate` reads of a structure on some rows."""

    cells: Any  # (blocks, rows) int32: a row's cell, counted through all blocks
    starts: Any  # (blocks + 1,): where each block's cells begin
    link_block: Any  # (links,): a face's block
    link_start: Any  # (links,): where the face's part of `links` begins, one entry a cell
    links: Any  # int32: the feature of a block's cell, or -1
    numbers: Any  # (terms, rows)
    first_number: int  # the feature of the first numeric term
    n_features: int


@kernel
def add_up(design: Any, weights: Any, tables: Any) -> None:
    """Fill a column's block tables with the sums of its faces' weights."""
    tables[:] = 0.0
    starts, links = design.starts, design.links
    for f in range(design.link_block.size):
        low = starts[design.link_block[f]]
        high = starts[design.link_block[f] + 1]
        first = design.link_start[f]
        for j in range(high - low):
            feature = links[first + j]
            if feature >= 0:
                tables[low + j] += weights[feature]


@kernel
def hand_down(design: Any, sums: Any, gradient: Any) -> None:
    """Add the blocks' sums to the features of their faces."""
    starts, links = design.starts, design.links
    for f in range(design.link_block.size):
        low = starts[design.link_block[f]]
        high = starts[design.link_block[f] + 1]
        first = design.link_start[f]
        for j in range(high - low):
            feature = links[first + j]
            if feature >= 0:
                gradient[feature] += sums[low + j]


@kernel
def predict(design: Any, weights: Any, tables: Any, low: int, high: int, base: float,
            eta: Any) -> None:  # fmt: skip
    """Fill eta with one column's predictors of the rows from `low` to `high`."""
    eta[:] = base
    for b in range(design.cells.shape[0]):
        cells = design.cells[b, low:high]
        for i in range(cells.size):
            eta[i] += tables[cells[i]]
    terms = design.numbers.shape[0]
    first = design.first_number
    a = 0
    while a + 3 < terms:
        z0, z1 = design.numbers[a, low:high], design.numbers[a + 1, low:high]
        z2, z3 = design.numbers[a + 2, low:high], design.numbers[a + 3, low:high]
        w0, w1 = weights[first + a], weights[first + a + 1]
        w2, w3 = weights[first + a + 2], weights[first + a + 3]
        for i in range(eta.size):
            eta[i] += (w0 * z0[i] + w1 * z1[i]) + (w2 * z2[i] + w3 * z3[i])
        a += 4
    while a < terms:
        z0, w0 = design.numbers[a, low:high], weights[first + a]
        for i in range(eta.size):
            eta[i] += w0 * z0[i]
        a += 1


@kernel
def collect(design: Any, residuals: Any, low: int, high: int, sums: Any, gradient: Any) -> None:
    """Add one column's residuals of the rows from `low` to `high` to its cells and features."""
    for i in range(residuals.size):
        gradient[0] += residuals[i]
    for b in range(design.cells.shape[0]):
        cells = design.cells[b, low:high]
        for i in range(cells.size):
            sums[cells[i]] += residuals[i]
    terms = design.numbers.shape[0]
    first = design.first_number
    a = 0
    while a + 3 < terms:
        z0, z1 = design.numbers[a, low:high], design.numbers[a + 1, low:high]
        z2, z3 = design.numbers[a + 2, low:high], design.numbers[a + 3, low:high]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(residuals.size):
            r = residuals[i]
            s0 += r * z0[i]
            s1 += r * z1[i]
            s2 += r * z2[i]
            s3 += r * z3[i]
        gradient[first + a] += s0
        gradient[first + a + 1] += s1
        gradient[first + a + 2] += s2
        gradient[first + a + 3] += s3
        a += 4
    while a < terms:
        z0 = design.numbers[a, low:high]
        s0 = 0.0
        for i in range(residuals.size):
            s0 += residuals[i] * z0[i]
        gradient[first + a] += s0
        a += 1


@kernel
def log_odds_residuals(chunk: Any, labels: Any, weights: Any) -> float:
    """Σ weight · ln P(class), with weight · (P(class 1) − [class is 1]) put into chunk[1].

    chunk[0] are the log-odds, which are spoiled, and chunk[2] is scratch.
    """
    n = labels.size
    eta, out, scratch = chunk[0, :n], chunk[1, :n], chunk[2, :n]
    for i in range(n):
        out[i] = -abs(eta[i])
    exponentials(out, scratch)
    total = 0.0
    for i in range(n):
        signed = eta[i] if labels[i] == 1 else -eta[i]
        total += weights[i] * min(signed, 0.0)
    for i in range(n):
        e = out[i]
        inverse = 1.0 / (1.0 + e)
        p = inverse if eta[i] >= 0 else e * inverse
        eta[i] = 1.0 + e
        out[i] = weights[i] * (p - labels[i])
    logarithms(eta, scratch)
    for i in range(n):
        total -= weights[i] * eta[i]
    return total


@kernel
def softmax_residuals(chunk: Any, columns: int, labels: Any, weights: Any) -> float:
    """Replace the predictors by weight · (P(class) − [class]); Σ weight · ln P(class).

    The first `columns` rows of `chunk` are predictors, the rest is scratch.
    """
    n = labels.size
    largest, sums, scratch = chunk[columns, :n], chunk[columns + 1, :n], chunk[columns + 2, :n]
    largest[:] = -np.inf
    sums[:] = 0.0
    for c in range(columns):
        row = chunk[c, :n]
        for i in range(n):
            largest[i] = max(largest[i], row[i])
    total = 0.0
    for i in range(n):
        total += weights[i] * (chunk[labels[i], i] - largest[i])
    for c in range(columns):
        row = chunk[c, :n]
        for i in range(n):
            row[i] -= largest[i]
        exponentials(row, scratch)
        for i in range(n):
            sums[i] += row[i]
    for i in range(n):
        largest[i] = sums[i]
        sums[i] = weights[i] / sums[i]
    logarithms(largest, scratch)
    for i in range(n):
        total -= weights[i] * largest[i]
    for c in range(columns):
        row = chunk[c, :n]
        for i in range(n):
            row[i] *= sums[i]
    for i in range(n):
        chunk[labels[i], i] -= weights[i]
    return total


@kernel
def evaluate(design: Any, labels: Any, row_weights: Any, prior: Any, penalty: Any, w: Any,
             gradient: Any, tables: Any, sums: Any, chunk: Any) -> float:  # fmt: skip
    """Fill the gradient of −Σ weight · ln P(class | x) + ½ Σ penalty · w², and return its value.

    `w` and `gradient` hold all features of one column after the other; `tables` and `sums`
    (columns, cells) and `chunk` (columns + 4, CHUNK) are scratch. Feature 0 belongs to every row.
    """
    columns, n, features = prior.size, labels.size, design.n_features
    for k in range(columns):
        add_up(design, w[k * features : (k + 1) * features], tables[k])
    sums[:] = 0.0
    gradient[:] = 0.0
    total = 0.0
    for low in range(0, n, CHUNK):
        high = min(low + CHUNK, n)
        own_labels, own_weights = labels[low:high], row_weights[low:high]
        for k in range(columns):
            own = w[k * features : (k + 1) * features]
            eta = chunk[k, : high - low]
            predict(design, own, tables[k], low, high, prior[k] + own[0], eta)
        first = 0
        if columns == 1:
            first = 1
            total -= log_odds_residuals(chunk, own_labels, own_weights)
        else:
            total -= softmax_residuals(chunk, columns, own_labels, own_weights)
        for k in range(columns):
            slope = gradient[k * features : (k + 1) * features]
            collect(design, chunk[first + k, : high - low], low, high, sums[k], slope)
    for k in range(columns):
        own = w[k * features : (k + 1) * features]
        slope = gradient[k * features : (k + 1) * features]
        hand_down(design, sums[k], slope)
        for j in range(features):
            pull = penalty[j] * own[j]
            total += 0.5 * pull * own[j]
            slope[j] += pull
    return total


@kernel
def predict_rows(design: Any, prior: Any, w: Any, low: int, out: Any) -> None:
    """Fill out (columns, rows) with the predictors of the rows from `low` on."""
    tables = np.empty(design.starts[-1])
    for k in range(prior.size):
        own = w[k * design.n_features : (k + 1) * design.n_features]
        add_up(design, own, tables)
        predict(design, own, tables, low, low + out.shape[1], prior[k] + own[0], out[k])

"""Boosting on binned columns by plain loops over rows, without samples: every row, every column."""

from __future__ import annotations

import numpy as np


def softmax(scores):
    """Probabilities of the classes of each row; one score is the log-odds of class 1."""
    if scores.shape[1] == 1:
        p = 1 / (1 + np.exp(-scores[:, 0]))
        return np.column_stack([1 - p, p])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def mean_loss(scores, labels, held):
    """The mean of −ln P(class) over rows of weight `held`."""
    p = softmax(scores)[np.arange(len(labels)), labels]
    return float(-(held @ np.log(p)) / held.sum())


def gradients_of(p, labels, weights):
    """(gradients of each channel, curvature) of each row."""
    classes = p.shape[1]
    hot = np.eye(classes)[labels]
    g = weights[:, None] * (hot - p)
    if classes == 2:
        return g[:, 1:], weights * p[:, 1] * p[:, 0]
    return g, weights * (1 - (p**2).sum(axis=1)) / (classes - 1)


def candidate_splits(bins, numeric, g, h, w, penalty):
    """(bins on the first side, penalty, price) of every split of the node's rows that is tried.

    More than 24 states cost half of what each gains by chance: 1 for two classes, else the mean
    square of a channel's gradients divided by the curvature.
    """
    seen = sorted(set(bins[w > 0].tolist()))
    if numeric:
        values = [b for b in seen if b > 0]
        gaps = 0 in seen
        for gaps_first in (False, True) if gaps else (False,):
            last = len(values) if gaps and not gaps_first else len(values) - 1
            for k in range(1, last + 1):
                # every bin up to the last one of the side, seen or not
                side = set(range(1, values[k - 1] + 1)) | ({0} if gaps_first else set())
                yield side, penalty, 0.0
    else:
        channels = g.shape[1]
        price = 0.5 * max(len(seen) - 24, 0) * (1 if channels == 1 else (channels - 1) / channels)
        for channel in range(channels if len(seen) > 2 else 1):
            means = {
                b: g[bins == b, channel].sum() / (h[bins == b].sum() + 2.5 * penalty) for b in seen
            }
            order = sorted(seen, key=lambda b: (means[b], b))
            for k in range(1, len(order)):
                yield set(order[:k]), 2 * penalty, price


def worth(g, h, penalty):
    """‖Σ g‖² / (Σ h + λ)."""
    return float((g.sum(axis=0) ** 2).sum() / (h.sum() + penalty))


def best_split(bins, numeric, allowed, rows, g, h, w, penalty, min_weight):
    """(gain, column, set of bins of the first side as seen in the node)."""
    best = (0.0, -1, set())
    base = worth(g[rows], h[rows], penalty)
    for column in allowed:
        own = bins[rows, column]
        for first, lam, price in candidate_splits(
            own, numeric[column], g[rows], h[rows], w[rows], penalty
        ):
            side = np.isin(own, list(first))
            if min(w[rows][side].sum(), w[rows][~side].sum()) < min_weight:
                continue
            gain = (
                worth(g[rows][side], h[rows][side], lam)
                + worth(g[rows][~side], h[rows][~side], lam)
                - base
                - price
            )
            if gain > best[0] + 1e-9:
                best = (gain, column, first)
    return best


def grow(bins, numeric, g, h, w, penalty, min_weight, most_leaves, most_columns, together=()):
    """Leaves as (rows, path of columns), best leaf first, and the splits (column, gain)."""
    d = bins.shape[1]

    def prepared(rows, path):
        allowed = [
            c
            for c in range(d)
            if c in path
            or (
                len(path) < most_columns
                and (not together or any(path | {c} <= set(s) for s in together))
            )
        ]
        if w[rows].sum() < 2 * min_weight:
            return rows, path, (0.0, -1, set())
        split = best_split(bins, numeric, allowed, rows, g, h, w, penalty, min_weight)
        return rows, path, split

    leaves = [prepared(np.flatnonzero(w > 0), frozenset())]
    splits = []
    while len(leaves) < most_leaves:
        at = max(range(len(leaves)), key=lambda k: leaves[k][2][0])
        rows, path, (gain, column, first) = leaves[at]
        if gain <= 1e-6:
            break
        side = np.isin(bins[rows, column], list(first))
        splits.append((column, gain))
        leaves[at : at + 1] = [
            prepared(rows[side], path | {column}),
            prepared(rows[~side], path | {column}),
        ]
    return [(rows, path) for rows, path, _ in leaves], splits


def boost(bins, numeric, labels, weights, n_classes, rounds, *, rate, penalty, min_weight,
          most_leaves, most_columns, together=()):  # fmt: skip
    """Scores of the training rows after the rounds, and the splits of each round."""
    prior = np.log((np.bincount(labels, weights, n_classes) + 1 / n_classes) / (weights.sum() + 1))
    start = prior[1:] - prior[:1] if n_classes == 2 else prior
    scores = np.repeat(start[None], len(labels), axis=0)
    history = []
    for _ in range(rounds):
        p = softmax(scores)
        g, h = gradients_of(p, labels, weights)
        leaves, splits = grow(
            bins, numeric, g, h, weights, penalty, min_weight, most_leaves, most_columns, together
        )
        history.append(splits)
        hot = np.eye(n_classes)[labels]
        slope = weights[:, None] * (hot - p)
        curve = weights[:, None] * p * (1 - p)
        for rows, _ in leaves:
            if n_classes == 2:
                step = slope[rows, 1:].sum(axis=0) / (curve[rows, 1:].sum(axis=0) + penalty)
                most = 4.0
            else:
                factor = n_classes / (n_classes - 1)
                step = slope[rows].sum(axis=0) / (factor * curve[rows].sum(axis=0) + penalty)
                most = 2.0
            scores[rows] += np.clip(rate * step, -most, most)
    return scores, history

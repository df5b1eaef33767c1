"""Where to cut a numeric column, and what its intervals are called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from counterpane.typing import Array, Floats


def quantile_cuts(values: Floats, weights: Floats, n_bins: int) -> Floats:
    """Rising cuts into `n_bins` intervals of equal weight; fewer where values repeat, none empty.

    A cut is the averaged inverse of the weighted distribution function, as in scikit-learn's
    `KBinsDiscretizer`, so that a row of weight 2 is worth two rows. Its warnings, its row sampling
    and its smallest width of 1e-8 are not wanted here.
    """
    if not len(values):
        return values
    order = np.argsort(values, kind="stable")
    values, heights = values[order], np.cumsum(weights[order])
    levels = heights[-1] * np.arange(1, n_bins) / n_bins
    low = values[np.searchsorted(heights, levels, side="left")]
    high = values[np.searchsorted(heights, levels, side="right")]
    cuts = _middle(low, high)
    places, first = np.unique(np.searchsorted(values, cuts), return_index=True)
    inner: Floats = cuts[first[places > 0]]
    return inner


def mdl_cuts(values: Floats, classes: Array, weights: Floats) -> Floats:
    """Rising cuts of Fayyad and Irani's recursive minimum-description-length partition.

    A set S of weight N is split in two at the class-boundary midpoint of the least entropy iff

        Gain > [log2(N − 1) + log2(3^k − 2) − (k E(S) − k1 E(S1) − k2 E(S2))] / N,

    where E is the class entropy in bits and k, k1, k2 are the numbers of classes present. Of equal
    cuts the lowest is taken. Cost: one sort, then O(boundaries × classes) per split.

    U. M. Fayyad and K. B. Irani, Multi-interval discretization of continuous-valued attributes
    for classification learning, IJCAI 1993.
    """
    if not len(values):
        return values
    distinct, where = np.unique(values, return_inverse=True)
    n_classes = int(classes.max(initial=0)) + 1
    cells = np.bincount(where * n_classes + classes, weights, len(distinct) * n_classes)
    counts = cells.reshape(len(distinct), n_classes)
    # Neighbours of one and the same class form one block: an optimal cut never parts them.
    pure = (counts > 0).sum(axis=1) == 1
    same = pure[1:] & pure[:-1] & (counts[1:].argmax(axis=1) == counts[:-1].argmax(axis=1))
    starts = np.append(0, np.flatnonzero(~same) + 1)
    prefix = np.zeros((len(starts) + 1, n_classes))
    np.cumsum(np.add.reduceat(counts, starts), axis=0, out=prefix[1:])
    accepted = []
    pending = [(0, len(starts))]
    while pending:
        low, high = pending.pop()
        cut = _split(prefix[low : high + 1])
        if cut:
            accepted.append(starts[low + cut])
            pending += [(low, low + cut), (low + cut, high)]
    right = np.sort(np.array(accepted, dtype=np.int64))
    return _middle(distinct[right - 1], distinct[right])


def _split(prefix: Floats) -> int:
    """The block that starts the right part of the best accepted split, or 0 for none."""
    whole = prefix[-1] - prefix[0]
    total = whole.sum()
    if len(prefix) < 3 or total <= 1:
        return 0
    left = prefix[1:-1] - prefix[0]
    right = prefix[-1] - prefix[1:-1]
    left_bits, right_bits = _entropy(left), _entropy(right)
    after = (left.sum(axis=1) * left_bits + right.sum(axis=1) * right_bits) / total
    best = int(np.argmax(after <= after.min() + 1e-12))  # ties that only rounding tells apart
    bits = _entropy(whole[None])[0]
    k, k1, k2 = ((part > 0).sum() for part in (whole, left[best], right[best]))
    log_choices = k * np.log2(3) + np.log1p(-2 * 3.0**-k) / np.log(2)  # log2(3^k − 2), any k
    delta = log_choices - (k * bits - k1 * left_bits[best] - k2 * right_bits[best])
    return best + 1 if bits - after[best] > (np.log2(total - 1) + delta) / total else 0


def _entropy(counts: Floats) -> Floats:
    """The entropy of each row of counts, in bits."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / totals
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: Floats = -(shares * logs).sum(axis=1)
    return bits


def _middle(low: Floats, high: Floats) -> Floats:
    """The midpoint; `high` itself where no number lies between, so that low < cut ≤ high."""
    middle = low / 2 + high / 2
    return np.where((middle <= low) & (low < high), high, middle) + 0.0  # no −0


def cut_labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Names of the intervals between `cuts`, in the fewest digits (at least 4) that differ.

    >>> cut_labels([2.45, 4.75])
    ('<2.45', '[2.45, 4.75)', '≥4.75')
    """
    if not len(cuts):
        return ("all",)
    whole = len(str(int(max(map(abs, cuts)))))  # digits before the point are never dropped
    for digits in range(max(4, min(whole, 17)), 18):
        texts = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    between = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return (f"<{texts[0]}", *between, f"≥{texts[-1]}")

"""Intervals of a numeric column: where it is cut, their names, and the numbers within them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from counterpane.data.dates import interval_names
from counterpane.data.schema import Quantiles, Variable
from counterpane.typing import Array, Bools, Floats


def quantile_cuts(values: Floats, weights: Floats, n_bins: int) -> Floats:
    """Rising cuts into `n_bins` intervals of equal weight; fewer where values repeat, none empty.

    A cut is the averaged inverse of the weighted distribution function, as in scikit-learn's
    `KBinsDiscretizer`, so that a row of weight 2 counts as two rows; without its warnings, its row
    sampling and its smallest width of 1e-8.
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


FEWEST = 10  # rows of an interval beside a frequent value


def find_cut_points(
    values: Floats, weights: Floats, n_bins: int, step: float | None = None
) -> Floats:
    """Ascending cut points; a frequent value has an interval of its own.

    A value is frequent if it has at least 1 / (2 n_bins) of the weight. Quantiles alone would merge
    it with its neighbors, or leave a column of mostly one value in one interval. The other values
    are cut at their own quantiles, into fewer intervals the more values are frequent, each of at
    least ten rows. The interval of a frequent value ends one `step` above it, so that it holds no
    other value of that precision; without a step it ends at the next value.

    >>> numbers = np.repeat([0.0, 3.0, 4.0, 9.0], [60, 11, 11, 11])
    >>> find_cut_points(numbers, np.ones(93), 4, 1.0).tolist()
    [1.0, 3.5, 6.5]
    """
    distinct, where = np.unique(values, return_inverse=True)
    sums = np.bincount(where, weights, len(distinct)).astype(np.float64)
    frequent = sums >= sums.sum() / (2 * n_bins) * (1 - 1e-12)
    if not frequent.any() or n_bins == 1:
        return quantile_cuts(distinct, sums, n_bins)
    return cuts_around(distinct, sums, frequent, n_bins, step)


def n_other_bins(frequent: Array, weight: float, n_bins: int) -> int:
    """The number of intervals for all values of a column but the frequent ones."""
    return max(1, min(n_bins + 1 - int(frequent.sum()), int(weight // FEWEST)))


def cuts_around(
    distinct: Floats, sums: Floats, frequent: Bools, n_bins: int, step: float | None
) -> Floats:
    """Cut points on both sides of the frequent ones of distinct values, and between the others."""
    n_others = n_other_bins(frequent, float(sums[~frequent].sum()), n_bins)
    cuts = quantile_cuts(distinct[~frequent], sums[~frequent], n_others)
    by_place = dict(zip(np.searchsorted(distinct, cuts).tolist(), cuts.tolist(), strict=True))
    places = np.flatnonzero(frequent)
    for place in places[places + 1 < len(distinct)].tolist():
        value, following = float(distinct[place]), float(distinct[place + 1])
        above = following if step is None else float(rounded(np.array(value + step), step))
        by_place[place + 1] = above if value < above < following else following
    by_place |= {place: float(distinct[place]) for place in places.tolist()}
    by_place.pop(0, None)
    ascending = [by_place[place] for place in sorted(by_place)]
    return np.array(ascending, dtype=np.float64) + 0.0  # no −0


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
    counts = prefix[-1] - prefix[0]
    total = counts.sum()
    if len(prefix) < 3 or total <= 1:
        return 0
    left = prefix[1:-1] - prefix[0]
    right = prefix[-1] - prefix[1:-1]
    left_bits, right_bits = _entropy(left), _entropy(right)
    after = (left.sum(axis=1) * left_bits + right.sum(axis=1) * right_bits) / total
    best = int(np.argmax(after <= after.min() + 1e-12))  # ties that only rounding tells apart
    bits = _entropy(counts[None])[0]
    k, k1, k2 = ((part > 0).sum() for part in (counts, left[best], right[best]))
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

    Cuts are rounded up, so that a number of so few digits lies in the interval that its label says:
    a cut at 12.345, between 12.34 and 12.35, is written 12.35.

    >>> cut_labels([2.45, 4.75])
    ('<2.45', '[2.45, 4.75)', '≥4.75')
    """
    if not len(cuts):
        return ("all",)
    largest = max((abs(cut) for cut in cuts if abs(cut) < 1e17), default=0.0)
    n_digits = len(str(int(largest)))  # digits before the point are never dropped
    for digits in range(max(4, min(n_digits, 17)), 18):
        texts = [_rounded_up(cut, digits) for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    return interval_names(texts)


def _rounded_up(number: float, digits: int) -> str:
    """A number in so many digits, not below it but for rounding in its last bits."""
    text = f"{number:.{digits}g}"
    if float(text) >= number - 1e-14 * abs(number):
        return text
    last = int(f"{number:.{digits - 1}e}".partition("e")[2]) - digits + 1
    return f"{float(text) + 10.0**last:.{digits}g}"


LARGEST = float(np.finfo(np.float64).max)


def bounded(values: Floats) -> Floats:
    """The numbers with infinite ones as the largest finite ones, so that a cut may stand before."""
    return np.clip(values, -LARGEST, LARGEST)


PIECES = 20  # stretches of equal weight between the quantiles of an interval
STEPS = [n * 10.0**k for k in range(6, -1, -1) for n in (5, 2, 1)]
STEPS += [1 / (n * 10**k) for k in range(9) for n in (2, 5, 10)]  # more decimals are not recognized
TIME_UNITS = (1, 24, 1440, 86_400)  # of a day: dates, hours, minutes, seconds
LOOK = 1000  # values looked at first, which rule out most steps


def find_quantiles(values: Array, weights: Array | None, cuts: Sequence[float]) -> Quantiles:
    """The quantiles of the values in each interval between `cuts`; finite values, in any order.

    A quantile is a value of the column itself: the first at which the weight reaches its level.

    >>> find_quantiles(np.array([3, 1, 2, 8]), None, [5.0])[1][:3]
    (8.0, 8.0, 8.0)
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order].astype(np.float64)
    heights = np.arange(1.0, len(ordered) + 1) if weights is None else np.cumsum(weights[order])
    starts = np.searchsorted(ordered, np.asarray(cuts, dtype=np.float64), side="left")
    ends = [0, *starts.tolist(), len(ordered)]
    levels = np.arange(PIECES + 1) / PIECES
    quantiles: list[tuple[float, ...]] = []
    for low, high in pairwise(ends):
        if low == high:
            quantiles.append(())
            continue
        base = heights[low - 1] if low else 0.0
        reached = base + levels * (heights[high - 1] - base)
        places = np.searchsorted(heights[low:high], reached * (1 - 1e-12), side="left")
        places[0], places[-1] = 0, high - low - 1
        quantiles.append(tuple(ordered[low:high][np.minimum(places, high - low - 1)].tolist()))
    return tuple(quantiles)


def find_step(values: Array, *, dated: bool = False) -> float | None:
    """The largest of …, 10, 5, 2, 1, .5, .2, .1, … of which all values are multiples; else None.

    Of dates, in days, it is a day, an hour, a minute or a second.

    >>> find_step(np.array([2.5, 3.25])), find_step(np.array([300, 1200]))
    (0.05, 100.0)
    """
    largest = float(np.abs(values.astype(np.float64)).max(initial=0.0))
    steps = find_steps(values, dated=dated)
    return next((step for step in steps if step <= 1 or step <= largest), None)


def find_steps(
    values: Array, steps: Sequence[float] | None = None, *, dated: bool = False
) -> list[float]:
    """Those of `steps`, descending, by default of all, of which all values are multiples."""
    largest = float(np.abs(values.astype(np.float64)).max(initial=0.0))
    if steps is None:
        steps = [1 / per for per in TIME_UNITS] if dated else STEPS
    for sample in (values[:LOOK], values):
        steps = [s for s in steps if largest < s * 2**53 and _are_multiples(sample, s, dated)]
    return list(steps)


def rounded(values: Array, step: float) -> Array:
    """The nearest multiples of a step, as exact as numbers are: 3 steps of .1 are .3."""
    per = round(1 / step)
    multiples: Array = np.rint(values / step) * step if step >= 1 else np.rint(values * per) / per
    return multiples


def _are_multiples(values: Array, step: float, dated: bool) -> bool:
    if values.dtype.kind in "iu":
        return bool(step <= 1 or (values % int(step) == 0).all())
    if dated:  # microseconds, as days in floating point, are not exact
        return bool((np.abs(values - rounded(values, step)) <= 1e-6 * step).all())
    return bool((rounded(values, step) == values).all())


def draw_numbers(
    variable: Variable, codes: Array, rng: np.random.Generator, bounds: Any = None
) -> Floats:
    """A number for each code, drawn within its interval; NaN where the code is no interval.

    Between the kept quantiles numbers are drawn evenly, and then rounded as the column was. With
    `bounds`, a `counterpane.Range`, they are drawn within these as well.
    """
    out: Floats = np.full(len(codes), np.nan)
    uniform = rng.random(len(codes))  # for each row, whatever its code is
    for code in range(variable.n_known):
        rows = np.flatnonzero(codes == code)
        points = interval_points(variable, code)
        if not rows.size or points is None:
            continue
        low, high = (0.0, 1.0) if bounds is None else bounds.levels(variable, code)
        level = (low + (high - low) * uniform[rows]) * (len(points) - 1)
        out[rows] = np.interp(level, np.arange(len(points)), points)
    return out if variable.step is None else rounded(out, variable.step)


def interval_points(variable: Variable, code: int) -> Floats | None:
    """The quantiles of an interval; its two ends where none were kept, None where it has no ends.

    An interval in which training had no value has its ends as well; one without an end on one side
    then is the number at the other.
    """
    cuts = variable.cuts or ()
    quantiles = None if variable.quantiles is None else variable.quantiles[code]
    if quantiles:
        return np.array(quantiles)
    ends = [c for c in (code - 1, code) if 0 <= c < len(cuts)]
    if len(ends) == 2 or (quantiles is not None and ends):
        return np.array([cuts[ends[0]], cuts[ends[-1]]])
    return None


def training_range(variable: Variable) -> tuple[float, float] | None:
    """The least and the largest training value of a column that was cut; None if not kept."""
    parts = [part for part in variable.quantiles or () if part]
    return (parts[0][0], parts[-1][-1]) if parts else None


def share_below(variable: Variable, code: int, bound: float, *, inclusive: bool) -> float | None:
    """The share of an interval's weight below `bound`, or up to it; None where it is not known."""
    if math.isinf(bound):
        return float(bound > 0)
    cuts = variable.cuts or ()
    if code < len(cuts) and bound >= cuts[code]:
        return 1.0
    if code > 0 and (bound < cuts[code - 1] or (bound == cuts[code - 1] and not inclusive)):
        return 0.0
    points = interval_points(variable, code)
    if points is None:
        return None
    side = "right" if inclusive else "left"
    if variable.step is not None:  # numbers are rounded, so that each takes half a step around it
        steps = bound / variable.step
        last = np.floor(steps + 1e-6) if inclusive else np.ceil(steps - 1e-6) - 1
        bound, side = (last + 0.5) * variable.step, "right"
    above = int(np.searchsorted(points, bound, side=side))  # type: ignore[call-overload]
    if above in (0, len(points)):
        return above / len(points)
    between = (bound - points[above - 1]) / (points[above] - points[above - 1])
    return float((above - 1 + between) / (len(points) - 1))

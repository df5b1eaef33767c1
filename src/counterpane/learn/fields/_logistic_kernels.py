"""L1 logistic regression of one column on indicators of the others' states, by proximal Newton.

Minimizes Σ rows weight · −ln P(state | features) + l1 · Σ |w|. Each step minimizes a quadratic
model in the weights that matter. Slopes are exact; curvatures Σ d x_a x_b need not be: rows of
about the same d share a word of bits, and the sums are popcounts of words, times their mean d. The
model's relative error is then that of d, a tenth, however alike the features are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel, popcount, trailing_zeros
from counterpane.learn.fields._quadratic_kernels import Quadratic, descend, excess
from counterpane.learn.interactions._exp_kernels import exponentials, logarithms
from counterpane.typing import Bools, Codes, Floats, Ints, Words

KEYS = 16 * 24  # of curvatures told apart: sixteenths of 24 powers of two
FINEST = 2.0**32 - 1.0  # the level of the greatest curvature
INEXACT = 0.05  # of a step's own minimum, relative to how far the weights are
STEPS = 500  # a solution has, at most
SPARE_WORDS = 64  # beyond those that the rows fill
HALVINGS = 40  # of a step that is too long
ROUNDING = 1e-13  # of a loss, relative
JOIN = 64  # features that become active at a time, or as many as there are
ASLEEP = 0.8  # of l1: a weight of zero with a lower slope is no longer active
NEARLY = 0.3  # of how far the furthest weight was: the active are left when nearer than that


class Design(NamedTuple):
    """Weighted rows, and their features: feature f is 1 where column columns[f] is values[f].

    Feature 0 is the intercept, of column −1. `members` from starts[f] to starts[f+1] are the rows
    where a feature is 1, or, if `flipped[f]`, where it is 0.
    """

    codes: Codes
    weights: Floats
    columns: Ints
    values: Ints
    flipped: Bools
    starts: Ints
    members: Any  # int32


class Scratch(NamedTuple):
    """What a thread needs to solve one problem after another."""

    offsets: Floats  # of rows: the log-weight of all other states together
    chances: Floats
    slopes: Floats
    curvatures: Floats
    before: Floats  # margins
    sums: Floats
    spare: Floats
    order: Any  # int32: rows by falling curvature
    places: Any  # int32: the bit of each row in `moved`
    levels: Any  # uint32
    filled: Words
    moved: Words  # (features, words): the active features, rows placed by curvature
    active: Ints  # features, in the order of the model
    is_active: Bools  # (heads, features)
    goals: Floats  # of heads: how near to optimal the active features must be for others to join
    slope: Floats  # of features
    far: Floats  # of features: how far from optimal
    moves: Floats  # of active features
    model: Quadratic


@kernel
def spread_members(words: Words, flipped: Bools, n_rows: int, starts: Ints, members: Any) -> None:
    """Fill `members`, whose `starts` are known."""
    for f in range(flipped.size):
        at = starts[f]
        flip = ~np.uint64(0) if flipped[f] else np.uint64(0)
        for w in range(words.shape[1]):
            word = words[f, w] ^ flip
            while word:
                i = 64 * w + trailing_zeros(word)
                if i < n_rows:
                    members[at] = i
                    at += 1
                word &= word - np.uint64(1)


@kernel
def add_margins(design: Design, features: Ints, weights: Floats, out: Floats) -> None:
    """Add Σ w x to each row of `out`."""
    for k in range(features.size):
        f, w = features[k], weights[k]
        if w == 0.0:
            continue
        if design.flipped[f]:
            for i in range(out.size):
                out[i] += w
            w = -w
        for e in range(design.starts[f], design.starts[f + 1]):
            out[np.uint64(design.members[e])] += w


@kernel
def _slope(design: Design, f: int, values: Floats, total: float) -> float:
    """Σ values · x of a feature, four sums side by side."""
    a = b = c = d = 0.0
    e, stop = design.starts[f], design.starts[f + 1]
    members = design.members
    while e + 4 <= stop:
        a += values[np.uint64(members[e])]
        b += values[np.uint64(members[e + 1])]
        c += values[np.uint64(members[e + 2])]
        d += values[np.uint64(members[e + 3])]
        e += 4
    while e < stop:
        a += values[np.uint64(members[e])]
        e += 1
    own = (a + b) + (c + d)
    return total - own if design.flipped[f] else own


@kernel
def _set_offsets(margins: Floats, head: int, out: Floats) -> None:
    """Fill `out` with the log-weight of all states but that of `head` together."""
    heads = margins.shape[0]
    out[:] = 0.0
    if heads == 1:
        return
    for i in range(out.size):
        most = 0.0
        for h in range(heads):
            if h != head:
                most = max(most, margins[h, i])
        total = np.exp(-most)
        for h in range(heads):
            if h != head:
                total += np.exp(margins[h, i] - most)
        out[i] = most + np.log(total)


@kernel
def _evaluate(design: Design, margins: Floats, column: Any, state: int, use: Scratch) -> float:
    """Fill slopes and curvatures by row; return Σ weight · −ln P, up to a constant."""
    chances, spare = use.chances, use.spare
    for i in range(margins.size):
        chances[i] = -abs(margins[i] - use.offsets[i])
    exponentials(chances, spare)
    loss = 0.0
    for i in range(margins.size):
        z, e, weight = margins[i] - use.offsets[i], chances[i], design.weights[i]
        share = 1.0 / (1.0 + e)
        use.curvatures[i] = weight * e * share * share
        own = 1.0 if column[i] == state else 0.0
        use.slopes[i] = weight * ((share if z >= 0.0 else e * share) - own)
        loss += weight * (max(z, 0.0) - own * z)
        use.sums[i] = 1.0 + e
    logarithms(use.sums, spare)
    for i in range(margins.size):
        loss += design.weights[i] * use.sums[i]
    return loss


@kernel
def _place_rows(use: Scratch) -> tuple[int, float]:
    """Give each row a bit of a word whose rows have about its curvature.

    Returns the words used, and the unit of `levels`, the words' mean curvatures. Rows come by
    falling curvature, to a sixteenth; one that is a quarter below the first of its word begins
    another, while there are words to spare.
    """
    n_rows, keys = use.curvatures.size, use.curvatures.view(np.int64)
    most = 0
    for i in range(n_rows):
        most = max(most, keys[i] >> 48)
    ends = np.zeros(KEYS + 1, np.int64)
    for i in range(n_rows):
        ends[min(most - (keys[i] >> 48), KEYS - 1) + 1] += 1
    for k in range(KEYS):
        ends[k + 1] += ends[k]
    order = use.order
    for i in range(n_rows):
        k = min(most - (keys[i] >> 48), KEYS - 1)
        order[ends[k]] = i
        ends[k] += 1
    scale = FINEST / max(use.curvatures[order[0]], 1e-200)
    word, bit, first, total = -1, 64, 0.0, 0.0
    for k in range(n_rows):
        i = order[k]
        d = use.curvatures[i]
        spare = use.levels.size - 2 - word - (n_rows - k) // 64
        if bit == 64 or (d < 0.75 * first and spare > 0):
            word += 1
            bit, first, total = 0, d, 0.0
        use.places[i] = 64 * word + bit
        total += d
        bit += 1
        use.levels[word] = np.uint32(total / bit * scale)
        use.filled[word] = ~np.uint64(0) >> np.uint64(64 - bit)
    whole = -(-(word + 1) // 8) * 8
    use.levels[word + 1 : whole] = 0
    use.filled[word + 1 : whole] = 0
    return whole, 1.0 / scale


@kernel
def _fill_hessian(design: Design, n: int, use: Scratch) -> None:
    """Fill the model's hessian[:n, :n] with Σ d x_a x_b of the active features, by levels of d."""
    n_words, level = _place_rows(use)
    for a in range(n):
        f, own = use.active[a], use.moved[a, :n_words]
        own[:] = 0
        for e in range(design.starts[f], design.starts[f + 1]):
            place = use.places[np.uint64(design.members[e])]
            own[np.uint64(place >> 6)] |= np.uint64(1) << np.uint64(place & 63)
        if design.flipped[f]:
            for w in range(n_words):
                own[w] ^= use.filled[w]
    levels, out = use.levels[:n_words], use.model.hessian
    for a in range(n):
        b = a
        while b + 4 <= n:
            _sum_levels_of_4(use.moved, levels, a, b, out)
            b += 4
        while b < n:
            out[a, b] = _sum_levels(use.moved[a], use.moved[b], levels)
            b += 1
    for a in range(n):
        for b in range(a, n):
            out[a, b] *= level
            out[b, a] = out[a, b]
        out[a, a] += level  # never zero


@kernel
def _sum_levels(left: Any, right: Any, levels: Any) -> float:
    """Σ levels of the bits in both sets; unsigned, so that products vectorize."""
    total = np.uint64(0)
    for w in range(levels.size):
        total += np.uint64(levels[w]) * np.uint64(np.uint32(popcount(left[w] & right[w])))
    return float(total)


@kernel
def _sum_levels_of_4(sets: Words, levels: Any, a: int, b: int, out: Floats) -> None:
    """Fill out[a, b:b+4] with `_sum_levels`, loading the words of a once."""
    left, size = sets[a, : levels.size], levels.size
    b0, b1, b2, b3 = sets[b, :size], sets[b + 1, :size], sets[b + 2, :size], sets[b + 3, :size]
    s0 = s1 = s2 = s3 = np.uint64(0)
    for w in range(size):
        own, level = left[w], np.uint64(levels[w])
        s0 += level * np.uint64(np.uint32(popcount(own & b0[w])))
        s1 += level * np.uint64(np.uint32(popcount(own & b1[w])))
        s2 += level * np.uint64(np.uint32(popcount(own & b2[w])))
        s3 += level * np.uint64(np.uint32(popcount(own & b3[w])))
    out[a, b], out[a, b + 1], out[a, b + 2], out[a, b + 3] = s0, s1, s2, s3


@kernel
def _step(design: Design, column: Any, state: int, l1: float, loss: float, n: int,
          weights: Floats, margins: Floats, goal: float, use: Scratch) -> float:  # fmt: skip
    """One proximal Newton step of the active weights; the loss after it, ∞ if no length helps."""
    model = use.model
    _fill_hessian(design, n, use)
    for a in range(n):
        model.gradient[a] = use.slope[use.active[a]]
        model.weights[a] = weights[use.active[a]]
    descend(n, l1, goal, model)
    expected = 0.0
    for a in range(n):
        w = weights[use.active[a]]
        expected += model.gradient[a] * (model.weights[a] - w)
        expected += l1 * (abs(model.weights[a]) - abs(w))
    use.before[:] = margins
    length = 1.0
    for _ in range(HALVINGS):
        margins[:] = use.before
        penalty = 0.0
        for a in range(n):
            w = weights[use.active[a]]
            use.moves[a] = length * (model.weights[a] - w)
            penalty += l1 * (abs(w + use.moves[a]) - abs(w))
        add_margins(design, use.active[:n], use.moves[:n], margins)
        after = _evaluate(design, margins, column, state, use)
        if after - loss + penalty <= 1e-4 * length * expected + ROUNDING * abs(loss):
            for a in range(n):  # zero exactly, if the model says so
                f = use.active[a]
                weights[f] = model.weights[a] if length == 1.0 else weights[f] + use.moves[a]
            return after
        length *= 0.5
    margins[:] = use.before
    return np.inf


@kernel
def solve(design: Design, target: int, l1: float, enough: float, weights: Floats, margins: Floats,
          use: Scratch) -> float:  # fmt: skip
    """Improve `weights` (heads, features) until no weight is further than `enough` from optimal.

    Head h is the log-weight of state h + 1 of `target`; that of state 0 is 0. `margins` (heads,
    rows) are those of `weights`, before and after. Returns how far the furthest weight is, ∞ if
    more of them would be active than there is room for.
    """
    column = design.codes[target]
    heads, n_features = weights.shape
    for h in range(heads):
        use.goals[h] = np.inf
        for f in range(n_features):
            use.is_active[h, f] = weights[h, f] != 0.0
    loss = np.inf
    worst = 0.0
    for _ in range(STEPS):
        moved, worst = False, 0.0
        for h in range(heads):
            if heads > 1 or loss == np.inf:
                _set_offsets(margins, h, use.offsets)
                loss = _evaluate(design, margins[h], column, h + 1, use)
            n, far = _gather(design, target, l1, h, weights[h], enough, use)
            if far == np.inf:
                return far
            worst = max(worst, far)
            if far > enough:
                loss = _step(design, column, h + 1, l1, loss, n, weights[h], margins[h],
                             INEXACT * far, use)  # fmt: skip
                moved |= loss < np.inf
        if not moved:
            break
    return worst


@kernel
def _gather(design: Design, target: int, l1: float, head: int, weights: Floats, enough: float,
            use: Scratch) -> tuple[int, float]:  # fmt: skip
    """Fill `active` and their gradient; return their number and the furthest from optimal.

    Where the active features are nearly optimal all others are looked at, and the worst join.
    """
    total = use.slopes.sum()
    n, worst = 0, 0.0
    for f in range(weights.size):
        if use.is_active[head, f]:
            use.slope[f] = _slope(design, f, use.slopes, total)
            if weights[f] == 0.0 and abs(use.slope[f]) < ASLEEP * l1:
                use.is_active[head, f] = False
                continue
            worst = max(worst, excess(use.slope[f], weights[f], l1))
            use.active[n] = f
            n += 1
    if worst > use.goals[head]:
        return n, worst
    far = use.far
    for f in range(weights.size):
        far[f] = 0.0
        if not use.is_active[head, f] and design.columns[f] != target:
            use.slope[f] = _slope(design, f, use.slopes, total)
            far[f] = excess(use.slope[f], 0.0, l1)
            worst = max(worst, far[f])
    use.goals[head] = max(enough, NEARLY * worst)
    if far.max() > enough:
        order = np.argsort(-far)
        for k in range(min(order.size, max(n, JOIN))):
            f = order[k]
            if far[f] > enough:
                if n == use.active.size:
                    return n, np.inf
                use.is_active[head, f] = True
                use.active[n] = f
                n += 1
    return n, worst


@kernel
def log_likelihood(design: Design, target: int, margins: Floats) -> float:
    """Σ rows weight · ln P(state of `target`), of margins by head."""
    column = design.codes[target]
    heads, sum_ = margins.shape[0], 0.0
    for i in range(column.size):
        most, own = 0.0, 0.0
        for h in range(heads):
            most = max(most, margins[h, i])
            if column[i] == h + 1:
                own = margins[h, i]
        mass = np.exp(-most)
        for h in range(heads):
            mass += np.exp(margins[h, i] - most)
        sum_ += design.weights[i] * (own - most - np.log(mass))
    return sum_

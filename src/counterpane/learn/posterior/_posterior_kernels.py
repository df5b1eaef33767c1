"""Sums over all networks of a few variables, by dynamic programming over sets of variables.

Sets are bit masks. α_i(U) = Σ_{P ⊆ U} exp(score of i given P) is indexed by i and by U with bit i
squeezed out. Scores differ by thousands of nats, so each α is a double times a power of two of its
own, and the sum of a set S is measured in units of 2^scale[S]: its sum over orders, which bounds
all of its terms. Sums over DAGs alternate in sign; so scaled, they keep ten digits at 16 variables
where almost no edge is likely, which is where they cancel most, and more elsewhere.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Array, Floats

LN2 = math.log(2.0)
NOTHING = -(2**30)  # the exponent of zero
UP, DOWN = 64, 128  # a term below 2⁻¹²⁸ of its sum's bound is left out
POWERS: Floats = 2.0 ** np.arange(UP, -DOWN, -1, dtype=np.float64)  # POWERS[UP + k] = 2⁻ᵏ


class Alpha(NamedTuple):
    """α = value × 2^exponent with 1 ≤ value < 2; each of shape (n, 2ⁿ⁻¹)."""

    value: Floats
    exponent: Array  # int32


@kernel
def squeeze(members: int, i: int) -> int:
    """The mask without the place of bit i."""
    low = (1 << i) - 1
    return (members & low) | ((members >> 1) & ~low)


@kernel
def shrink(powers: Any, steps: int) -> float:
    """2^−steps, 0 where that is negligible."""
    return powers[UP + steps] if steps < DOWN else 0.0


@kernel
def sum_subsets(scores: Any, powers: Any, value: Any, exponent: Any) -> None:
    """Fill α(U) = Σ_{P ⊆ U} exp(scores[P]) for all U, in O(k 2ᵏ); minus infinity is no family."""
    for m in range(scores.size):
        value[m], exponent[m] = 0.0, NOTHING
        if scores[m] > -np.inf:
            exponent[m] = math.floor(scores[m] / LN2)
            value[m] = math.exp(scores[m] - exponent[m] * LN2)
    bit = 1
    while bit < scores.size:
        for m in range(scores.size):
            if m & bit:
                part = m ^ bit
                gap = exponent[m] - exponent[part]
                if gap >= 0:
                    value[m] += value[part] * shrink(powers, gap)
                else:
                    value[m] = value[part] + value[m] * shrink(powers, -gap)
                    exponent[m] = exponent[part]
        bit <<= 1
    for m in range(scores.size):
        while value[m] >= 2.0:
            value[m] *= 0.5
            exponent[m] += 1


@kernel
def log_alpha(alpha: Any, i: int, squeezed: int) -> float:
    """ln α_i."""
    return math.log(alpha.value[i, squeezed]) + alpha.exponent[i, squeezed] * LN2  # type: ignore[no-any-return]


@kernel
def sum_orders(alpha: Any, out: Any) -> None:
    """Fill out[S] = ln f(S), f(S) = Σ_{i ∈ S} f(S∖i) α_i(S∖i): every network once an order it fits.

    Koivisto & Sood (2004); O(n 2ⁿ).
    """
    n = alpha.value.shape[0]
    terms = np.empty(n)
    out[0] = 0.0
    for members in range(1, out.size):
        found = 0
        for i in range(n):
            if members >> i & 1:
                rest = members ^ 1 << i
                terms[found] = out[rest] + log_alpha(alpha, i, squeeze(rest, i))
                found += 1
        out[members] = log_sum(terms[:found])


@kernel
def log_sum(terms: Any) -> float:
    """ln Σ exp(terms)."""
    largest = terms[0]
    for term in terms:
        largest = max(largest, term)
    total = 0.0
    for term in terms:
        total += math.exp(term - largest)
    return largest + math.log(total)  # type: ignore[no-any-return]


@kernel
def add_edges(alpha: Any, powers: Any, members: int, i: int, mass: float, edges: Any) -> None:
    """Share the mass of the networks whose sum takes i right after the set U.

    edges[j, i] gets the part with j among the parents, 1 − α_i(U∖j) / α_i(U), and edges[i, i] all:
    over all sets that must come to 1.
    """
    edges[i, i] += mass
    if mass == 0.0:
        return
    own = squeeze(members, i)
    for j in range(alpha.value.shape[0]):
        if members >> j & 1:
            less = squeeze(members ^ 1 << j, i)
            gap = alpha.exponent[i, own] - alpha.exponent[i, less]
            rest = alpha.value[i, less] / alpha.value[i, own] * shrink(powers, gap)
            edges[j, i] += mass * (1.0 - rest)


@kernel
def weigh_orders(alpha: Any, powers: Any, forward: Any, start: int, budget: int, backward: Any,
                 edges: Any) -> int:  # fmt: skip
    """Go down from the set `start`, filling `backward` and adding to `edges`; return where it is.

    backward[U] = ln of the sum over the orders of all others, U being before them.
    """
    n = alpha.value.shape[0]
    everyone = (1 << n) - 1
    terms = np.empty(n)
    members = start
    while members >= 0 and budget > 0:
        found = 0
        for i in range(n):
            if not members >> i & 1:
                terms[found] = log_alpha(alpha, i, squeeze(members, i))
                terms[found] += backward[members | 1 << i]
                mass = math.exp(forward[members] + terms[found] - forward[everyone])
                add_edges(alpha, powers, members, i, mass, edges)
                found += 1
        backward[members] = log_sum(terms[:found]) if found > 0 else 0.0
        members -= 1
        budget -= n * n
    return members


@kernel
def _outside(alpha: Any, members: int, free: Any, value: Any, exponent: Any) -> int:
    """Fill `free` with the variables outside the set and their α of it; return their number."""
    found = 0
    for i in range(alpha.value.shape[0]):
        if not members >> i & 1:
            own = squeeze(members, i)
            free[found], value[found] = i, alpha.value[i, own]
            exponent[found] = alpha.exponent[i, own]
            found += 1
    return found


@kernel
def sum_networks(alpha: Any, powers: Any, scale: Any, start: int, budget: int,
                 forward: Any) -> int:  # fmt: skip
    """Push from the set `start` upwards until the budget of terms is spent; return where it is.

    f(S) = Σ_{∅ ≠ T ⊆ S} (−1)^{|T|+1} f(S∖T) Π_{i ∈ T} α_i(S∖T), T being sinks (Tian & He 2009);
    forward[S] = f(S) 2^−scale[S]. At most 3ⁿ terms: for one U = S∖T they shrink as T grows, in the
    units of U ∪ T, so a negligible one ends its branch.
    """
    n = alpha.value.shape[0]
    free, exponent, factor = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    product, power = np.empty(n + 1), np.empty(n + 1, np.int64)
    union, following = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    members = start
    while members < scale.size and budget > 0:
        found = _outside(alpha, members, free, factor, exponent)
        product[0], power[0] = forward[members], scale[members]
        union[0], following[0] = members, 0
        depth = 0
        while depth >= 0:
            b = following[depth]
            if b == found:
                depth -= 1
                continue
            following[depth] += 1
            budget -= 1
            s = union[depth] | 1 << free[b]
            raised = power[depth] + exponent[b]
            if scale[s] - raised >= DOWN:
                continue
            value = product[depth] * factor[b]
            term = value * powers[UP + scale[s] - raised]
            forward[s] += term if depth % 2 == 0 else -term
            depth += 1
            product[depth], power[depth] = value, raised
            union[depth], following[depth] = s, b + 1
        members += 1
    return members


@kernel
def weigh_networks(alpha: Any, powers: Any, scale: Any, forward: Any, start: int, budget: int,
                   backward: Any, edges: Any) -> int:  # fmt: skip
    """Go down from the set `start`, filling `backward` and adding to `edges`; return where it is.

    backward[U] is the derivative of ln f(all) by f(U), times 2^scale[U]. The terms that hold a
    variable are gathered on the way back from its branches.
    """
    n = alpha.value.shape[0]
    free, exponent, factor = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    product, power, total = np.empty(n + 1), np.empty(n + 1, np.int64), np.empty(n + 1)
    union, following = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    last, by_last = np.empty(n + 1, np.int64), np.empty(n)
    members = start
    while members >= 0 and budget > 0:
        found = _outside(alpha, members, free, factor, exponent)
        by_last[:] = 0.0
        product[0], power[0], total[0] = 1.0, scale[members], 0.0
        union[0], following[0] = members, 0
        depth = 0
        while depth >= 0:
            b = following[depth]
            if b == found:
                if depth > 0:
                    by_last[last[depth]] += total[depth]
                    total[depth - 1] += total[depth]
                depth -= 1
                continue
            following[depth] += 1
            budget -= 1
            s = union[depth] | 1 << free[b]
            raised = power[depth] + exponent[b]
            if scale[s] - raised >= DOWN:
                continue
            value = product[depth] * factor[b]
            term = value * powers[UP + scale[s] - raised] * backward[s]
            depth += 1
            product[depth], power[depth], last[depth] = value, raised, b
            total[depth] = term if depth % 2 == 1 else -term
            union[depth], following[depth] = s, b + 1
        if found > 0:
            backward[members] = total[0]
        for b in range(found):
            add_edges(alpha, powers, members, free[b], forward[members] * by_last[b], edges)
        members -= 1
    return members


@kernel
def best_subsets(best: Any) -> None:
    """Raise best[U] to the largest entry of any subset of U."""
    bit = 1
    while bit < best.size:
        for m in range(best.size):
            if m & bit and best[m ^ bit] > best[m]:
                best[m] = best[m ^ bit]
        bit <<= 1


@kernel
def best_sinks(best: Any, score: Any, sink: Any) -> None:
    """Fill the best score of a network of each set, and a sink of one that has it.

    Silander & Myllymäki (2006): score[S] = max_{i ∈ S} score[S∖i] + best[i, S∖i].
    """
    score[0] = 0.0
    for members in range(1, score.size):
        score[members] = -np.inf
        for i in range(best.shape[0]):
            if members >> i & 1:
                rest = members ^ 1 << i
                total = score[rest] + best[i, squeeze(rest, i)]
                if total > score[members]:
                    score[members], sink[members] = total, i

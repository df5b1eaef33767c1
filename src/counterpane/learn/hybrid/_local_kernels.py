"""The distinct rows of a few columns, and what the families of a local network count in them.

Parent configurations are *groups*: each row has a number below `n`, made column by column in mixed
radix. When there are many more numbers than rows, those that occur are numbered anew, in order, so
that no table grows beyond the rows, whatever the arities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Array, Codes, Floats, Ints

LEAST_ROOM: int = 256  # groups that are never worth numbering anew


class Data(NamedTuple):
    """The rows of a table; no weights means that each counts once."""

    codes: Codes
    weights: Floats
    cards: Ints


class Terms(NamedTuple):
    """The score of a family: log-likelihood by (c + α) / (c_pa + α r) less `penalty` a parameter.

    α is prior / (r q) of r states and q parent configurations, in the tables, and score_prior /
    (r q) in the score, which is 0 for the maximum likelihood.
    """

    prior: float
    score_prior: float
    penalty: float
    tolerance: float


class Scratch(NamedTuple):
    """Room for one local network at a time; `codes` and `weights` are its distinct rows."""

    numbers: Array  # of the rows of the table
    found: Array  # new number of each old one
    codes: Ints  # (columns, distinct rows)
    weights: Floats
    groups: Ints  # (2, distinct rows)
    cells: Floats
    logits: Floats


@kernel
def renumber(numbers: Array, n: int, found: Array) -> int:
    """Number those of 0 … n − 1 that occur in `numbers` anew, in order; how many they are."""
    for k in range(n):
        found[k] = 0
    for i in range(numbers.size):
        found[numbers[i]] = 1
    count = 0
    for k in range(n):
        here = found[k]
        found[k] = count
        count += here
    for i in range(numbers.size):
        numbers[i] = found[numbers[i]]
    return count


@kernel
def compress(data: Data, columns: Ints, use: Scratch) -> int:
    """Put the distinct rows of `columns` into `use`, sorted, with their weights; their number."""
    numbers = use.numbers
    numbers[:] = 0
    n = 1
    for column in columns:
        r = data.cards[column]
        if n * r > use.found.size:
            n = renumber(numbers, n, use.found)
        mine = data.codes[column]
        radix = np.uint32(r)
        for i in range(numbers.size):
            numbers[i] = numbers[i] * radix + mine[i]
        n *= r
    n = renumber(numbers, n, use.found)
    weights = use.weights[:n]
    rows = use.groups[0, :n]
    weights[:] = 0.0
    for i in range(numbers.size):
        weights[numbers[i]] += data.weights[i] if data.weights.size else 1.0
        rows[numbers[i]] = i
    for a in range(columns.size):
        mine = data.codes[columns[a]]
        for k in range(n):
            use.codes[a, k] = mine[rows[k]]
    return n


@kernel
def refine(groups: Ints, n: int, codes: Ints, r: int, found: Array, out: Ints) -> int:
    """Fill `out` with the groups split by a column of r states; return how many there may be."""
    for i in range(out.size):
        out[i] = groups[i] * r + codes[i]
    n *= r
    if n > max(LEAST_ROOM, out.size):
        n = renumber(out, n, found)
    return n


@kernel
def group_by(members: int, cards: Ints, use: Scratch, out: Ints) -> int:
    """Fill `out` with the configurations of the local columns in the bit set `members`."""
    out[:] = 0
    n = 1
    for a in range(cards.size):
        if members >> a & 1:
            n = refine(out, n, use.codes[a, : out.size], cards[a], use.found, out)
    return n


@kernel
def count_cells(groups: Ints, n: int, codes: Ints, r: int, weights: Floats, out: Floats) -> None:
    """Fill out[g r + s] with the weight of the rows in group g with state s."""
    out[: n * r] = 0.0
    for i in range(groups.size):
        out[groups[i] * r + codes[i]] += weights[i]


@kernel
def family_score(groups: Ints, n: int, q: float, child: int, r: int, use: Scratch,
                 terms: Terms) -> float:  # fmt: skip
    """The score of a child of r states whose q parent configurations are `groups`."""
    count_cells(groups, n, use.codes[child, : groups.size], r, use.weights, use.cells)
    each = terms.score_prior / (r * q)
    all_states = terms.score_prior / q
    score = -terms.penalty * q * (r - 1)
    for g in range(n):
        total = 0.0
        for s in range(r):
            c = use.cells[g * r + s]
            if c > 0.0:
                score += c * np.log(c + each)
                total += c
        if total > 0.0:
            score -= total * np.log(total + all_states)
    return score


@kernel
def product(members: int, cards: Ints) -> float:
    """The number of joint states of the local columns in the bit set `members`."""
    q = 1.0
    for a in range(cards.size):
        if members >> a & 1:
            q *= cards[a]
    return q


@kernel
def _add_logs(groups: Ints, n: int, target: Ints, r: int, pseudo: float, sign: float,
              use: Scratch) -> None:  # fmt: skip
    """Add sign · ln(count + pseudo) of each row's group with each target state to the logits."""
    count_cells(groups, n, target, r, use.weights, use.cells)
    for k in range(n * r):
        use.cells[k] = sign * np.log(use.cells[k] + pseudo)
    for i in range(groups.size):
        for s in range(r):
            use.logits[i * r + s] += use.cells[groups[i] * r + s]


@kernel
def conditional_log_likelihood(target: int, parents: Ints, cards: Ints, rows: int, use: Scratch,
                               prior: float) -> float:  # fmt: skip
    """Σ ln P(x_t | blanket): P(x_t | its parents) Π P(x_c | parents of c), normalized over x_t.

    A family of q parent configurations is ln(c + prior / (r q)) − ln(c_pa + prior / q), read for
    each state of the target by counting what is left of the scope together with the target.
    """
    r = cards[target]
    mine = use.codes[target, :rows]
    groups = use.groups[0, :rows]
    use.logits[: rows * r] = 0.0
    n = group_by(parents[target], cards, use, groups)
    _add_logs(groups, n, mine, r, prior / (r * product(parents[target], cards)), 1.0, use)
    for c in range(cards.size):
        if parents[c] >> target & 1:
            q = product(parents[c], cards)
            n = group_by(parents[c] & ~(1 << target), cards, use, groups)
            _add_logs(groups, n, mine, r, prior / q, -1.0, use)
            n = refine(groups, n, use.codes[c, :rows], cards[c], use.found, groups)
            _add_logs(groups, n, mine, r, prior / (cards[c] * q), 1.0, use)
    total = 0.0
    for i in range(rows):
        logits = use.logits[i * r : (i + 1) * r]
        top = logits.max()
        mass = 0.0
        for s in range(r):
            mass += np.exp(logits[s] - top)
        total += use.weights[i] * (logits[mine[i]] - top - np.log(mass))
    return total


@kernel
def fill_table(child: int, parents: int, cards: Ints, rows: int, use: Scratch, prior: float,
               out: Floats) -> None:  # fmt: skip
    """Fill `out` with ln P(child | parents), parents in their local order, the child last."""
    r = cards[child]
    out[:] = 0.0
    for i in range(rows):
        cell = 0
        for a in range(cards.size):
            if parents >> a & 1:
                cell = cell * cards[a] + use.codes[a, i]
        out[cell * r + use.codes[child, i]] += use.weights[i]
    q = out.size // r
    for g in range(q):
        total = out[g * r : (g + 1) * r].sum()
        for s in range(r):
            c = out[g * r + s]
            out[g * r + s] = np.log((c + prior / (r * q)) / (total + prior / q))

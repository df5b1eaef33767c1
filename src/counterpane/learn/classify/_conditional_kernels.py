"""The conditional likelihood of a class under a network, and what one changed edge does to it.

ln P(y | x) = Σ_F ln θ_F(x, y) − ln Σ_c exp Σ_F ln θ_F(x, c), over the families F (a child and at
most two parents) that hold the class; the others cancel. A family that changes from θ to θ' in a
row whose class has the posterior p adds ln θ'(y)/θ(y) − ln Σ_c p_c θ'(c)/θ(c), so that a candidate
costs one pass over the rows, without an exponential.

`codes` are (variables, rows) with the class last; a row of `parents` is padded with −1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel

ADD, DELETE, REVERSE = 0, 1, 2


@kernel
def room(cards: Any, child: int, first: int, second: int) -> int:
    """The cells of a family's table, or 0 if it does not hold the class."""
    last = cards.size - 1
    if child != last and first != last and second != last:
        return 0
    cells = 1
    for v in (child, first, second):
        if v >= 0:
            cells *= cards[v]
    return cells


@kernel
def fill_table(codes: Any, weights: Any, cards: Any, prior: float, child: int, first: int,
               second: int, cells: Any, table: Any) -> float:  # fmt: skip
    """Fill θ by (cell of the features, class), and each row's cell; return Σ n ln θ.

    θ = (n + prior / cells) / (its sum over the child's states). Where the family does not hold the
    class it is one cell of ones.
    """
    last = cards.size - 1
    classes = cards[last]
    if room(cards, child, first, second) == 0:
        cells[:] = 0
        table[:classes] = 1.0
        return 0.0
    # The class aside, the child's states run fastest: they are what a sum goes over.
    other, own = first, second
    if child != last:
        other, own = (second if first == last else first), child
    wide = cards[other] if other >= 0 else np.int64(1)
    fast = cards[own] if own >= 0 else np.int64(1)
    size = wide * fast * classes
    table[:size] = 0.0
    for row in range(weights.size):
        cell = np.int64(0)
        if other >= 0:
            cell = np.int64(codes[other, row]) * fast
        if own >= 0:
            cell += codes[own, row]
        cells[row] = cell
        table[cell * classes + codes[last, row]] += weights[row]
    alpha = prior / size
    inner = np.int64(1) if child == last else fast  # cells that share a sum beside the class
    gain = 0.0
    for start in range(0, wide * fast, inner):
        if child == last:
            total = alpha * classes
            for c in range(classes):
                total += table[start * classes + c]
            for c in range(classes):
                gain += _divide(table, start * classes + c, alpha, total)
        else:
            for c in range(classes):
                total = alpha * inner
                for k in range(start, start + inner):
                    total += table[k * classes + c]
                for k in range(start, start + inner):
                    gain += _divide(table, k * classes + c, alpha, total)
    return gain


@kernel
def _divide(table: Any, place: int, alpha: float, total: float) -> float:
    """Replace a count n by θ; return n ln θ."""
    count = table[place]
    table[place] = (count + alpha) / total
    return count * math.log(table[place]) if count > 0 else 0.0


@kernel
def fill_posterior(codes: Any, weights: Any, cards: Any, prior: float, parents: Any, cells: Any,
                   table: Any, out: Any) -> float:  # fmt: skip
    """Fill P(class | row), (rows, classes); return the conditional log-likelihood in nats."""
    last = cards.size - 1
    classes = cards[last]
    out[:] = 0.0
    for v in range(cards.size):
        size = room(cards, v, parents[v, 0], parents[v, 1])
        if size > 0:
            fill_table(codes, weights, cards, prior, v, parents[v, 0], parents[v, 1], cells, table)
            for k in range(size):
                table[k] = math.log(table[k])
            for row in range(weights.size):
                for c in range(classes):
                    out[row, c] += table[cells[row] * classes + c]
    total = 0.0
    for row in range(weights.size):
        top = out[row].max()
        mass = 0.0
        for c in range(classes):
            mass += math.exp(out[row, c] - top)
        norm = top + math.log(mass)
        total += weights[row] * (out[row, codes[last, row]] - norm)
        for c in range(classes):
            out[row, c] = math.exp(out[row, c] - norm)
    return total


@kernel
def _scale(p: Any, cells: Any, table: Any, down: bool) -> None:
    """Multiply or divide the rows of `p` by a family's θ."""
    classes = p.shape[1]
    for row in range(p.shape[0]):
        for c in range(classes):
            value = table[cells[row] * classes + c]
            p[row, c] = p[row, c] / value if down else p[row, c] * value


@kernel
def _log_mass(p: Any, weights: Any, cells: Any, table: Any) -> float:
    """Σ weight · ln Σ_c p_c θ_c."""
    classes = p.shape[1]
    total = 0.0
    for row in range(weights.size):
        mass = 0.0
        for c in range(classes):
            mass += p[row, c] * table[cells[row] * classes + c]
        total += weights[row] * math.log(mass)
    return total


@kernel
def best_move(codes: Any, weights: Any, cards: Any, prior: float, parents: Any, above: Any,
              posterior: Any, child: int, max_cells: int, tie: float,
              move: Any) -> float:  # fmt: skip
    """Fill `move` (kind, parent) with the best change of an edge into `child`; return its gain.

    `above[v, u]` says that u is an ancestor of v. Of gains within `tie` the first is taken: edges
    to add by parent from the class downwards, then to delete, then to reverse. −1: there is none.
    """
    last = cards.size - 1
    n_rows, classes = posterior.shape
    mine = parents[child]
    cells, table = np.empty(n_rows, dtype=np.int64), np.empty(max(max_cells, classes))
    before = fill_table(codes, weights, cards, prior, child, mine[0], mine[1], cells, table)
    held = room(cards, child, mine[0], mine[1]) > 0
    rest = posterior.copy()
    _scale(rest, cells, table, True)
    best = 0.0
    move[0] = -1
    if mine[1] < 0:
        for p in range(last, -1, -1):
            size = room(cards, child, mine[0], p)
            if p == child or p == mine[0] or above[p, child] or size == 0 or size > max_cells:
                continue
            after = fill_table(codes, weights, cards, prior, child, mine[0], p, cells, table)
            gain = after - before - _log_mass(rest, weights, cells, table)
            if gain > best + tie:
                best, move[0], move[1] = gain, ADD, p
    for k in range(2):
        p, kept = mine[k], mine[1 - k]
        if p < 0:
            continue
        if held:
            after = fill_table(codes, weights, cards, prior, child, kept, -1, cells, table)
            gain = after - before - _log_mass(rest, weights, cells, table)
            if gain > best + tie:
                best, move[0], move[1] = gain, DELETE, p
    for k in range(2):
        p, kept = mine[k], mine[1 - k]
        if p < 0 or parents[p, 1] >= 0 or (kept >= 0 and above[kept, p]):
            continue
        size = room(cards, p, parents[p, 0], child)
        if size > max_cells or (size == 0 and not held):
            continue
        both = rest.copy()
        after = fill_table(codes, weights, cards, prior, child, kept, -1, cells, table)
        _scale(both, cells, table, False)
        after -= fill_table(codes, weights, cards, prior, p, parents[p, 0], -1, cells, table)
        _scale(both, cells, table, True)
        after += fill_table(codes, weights, cards, prior, p, parents[p, 0], child, cells, table)
        gain = after - before - _log_mass(both, weights, cells, table)
        if gain > best + tie:
            best, move[0], move[1] = gain, REVERSE, p
    return best

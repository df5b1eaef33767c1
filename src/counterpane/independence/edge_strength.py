"""The strength of an edge: the one measure that the command, reports, plots and notebooks show.

The strength of an edge between two columns is their mutual information given the child's other
parents, in bits per row, minus the mean that independent columns with the same counts would show
by chance; it is never negative. Without the correction a column of noise with many states would
look strong.

Networks of one Markov equivalence class may give a child different parents. The strength takes as
many other parents as any network of the class gives the child, and the least value where there are
several such sets. So it is a property of the class: it does not depend on which of its networks a
search returned, nor on the direction of an edge that could be turned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from counterpane.graphs import Cpdag, Dag
from counterpane.typing import Floats

UNIT = "bits per row"
DIGITS = 6  # decimals that are kept, so that every output rounds the same number
MOST_MEAN = 64.0  # of a cell whose chance is summed; above, an expansion is as good
CHUNK = 2**14  # distinct cells at a time


def corrected_information(counts: Floats) -> float:
    """I(a; b | rest) of a table of axes (rest…, a, b), in bits per row, corrected for chance.

    >>> corrected_information(np.array([[50, 0], [0, 50]]))
    0.992676
    >>> corrected_information(np.array([[3, 2], [2, 3]]))
    0.0
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table.reshape(-1, *table.shape[-2:])
    a, b = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    n = a.sum(axis=1, keepdims=True)
    total = float(n.sum())
    if total <= 0:
        return 0.0
    full = np.where(n > 0, n, 1.0)
    means = a * b / full
    held = table > 0
    logs = np.log(np.where(held, table, 1.0) / np.where(held, means, 1.0))
    excess = float((table * logs).sum() - _by_chance(a, b, n))
    return round(max(excess, 0.0) / total / math.log(2), DIGITS)


def edge_strengths(dag: Dag, shape: Cpdag, tables: Sequence[Floats]) -> dict[tuple[int, int], float]:
    """The strength of each edge (parent, child) of `dag`, of the class `shape`.

    `tables[x]` counts the rows of axes (parents of x in order…, x). See the module for what the
    strength is.

    >>> from counterpane.graphs import cpdag
    >>> pair = Dag(2, [(0, 1)])
    >>> edge_strengths(pair, cpdag(pair), [np.array([50, 50]), np.array([[50, 0], [0, 50]])])
    {(0, 1): 0.992676}
    """
    free = {frozenset(edge) for edge in shape.reversible.edges}
    clique = [{x, *(p for p in dag.parents(x) if frozenset((p, x)) in free)} for x in range(dag.n)]
    least: dict[tuple[int, int], float] = {}
    for x in range(dag.n):
        scope = (*dag.parents(x), x)
        # Every largest clique of a class is that of its last column, as no edge makes a collider.
        if any(clique[x] < clique[y] for y in dag.children(x) if frozenset((x, y)) in free):
            continue
        for a, b in combinations(range(len(scope)), 2):
            u, v = scope[a], scope[b]
            inside = (u in clique[x]) + (v in clique[x])
            if not inside:
                continue
            edge = (u, v) if u in dag.parents(v) else (v, u)
            moved = np.moveaxis(tables[x], (a, b), (-2, -1))
            bits = corrected_information(moved)
            least[edge] = min(bits, least.get(edge, math.inf))
    return {edge: least[edge] for edge in dag.edges}


def _by_chance(a: Floats, b: Floats, n: Floats) -> float:
    """The mean of Σ n ln(n / mean) over all tables with the margins `a`, `b` of `n` rows.

    All ways to permute one column against the other are equally likely, so that a cell is
    hypergeometric. A cell of a large mean adds half of its variance over that mean; all such cells
    of a table add half the degrees of freedom (Miller 1955). Margins of weighted rows are rounded.
    """
    a, b, n = (np.rint(x).reshape(-1) for x in np.broadcast_arrays(a, b, n))
    open_ = (a > 0) & (b > 0) & (a < n) & (b < n)
    a, b, n = np.minimum(a, b)[open_], np.maximum(a, b)[open_], n[open_]
    large = a * b > MOST_MEAN * n
    a_, b_, n_ = a[large], b[large], n[large]
    chance = float(((1 - a_ / n_) * (1 - b_ / n_)).sum() / 2)
    cells = np.stack([a[~large], b[~large], n[~large]])
    distinct, times = np.unique(cells, axis=1, return_counts=True)
    for low in range(0, distinct.shape[1], CHUNK):
        part = slice(low, low + CHUNK)
        chance += float(_small_cells(*distinct[:, part]) @ times[part])
    return chance


def _small_cells(a: Floats, b: Floats, n: Floats) -> Floats:
    """E[x ln x] − m ln m of hypergeometric cells x of mean m = a b / n, by their whole support."""
    means = a * b / n
    first = np.maximum(a + b - n, 0.0)
    most = np.minimum(a, np.ceil(means + 12 * np.sqrt(means) + 24))
    x = first[:, None] + np.arange(int((most - first).max()) + 1)
    inside = x[:, :-1] < a[:, None]
    odds = (a[:, None] - x[:, :-1]) * (b[:, None] - x[:, :-1])
    odds /= (x[:, :-1] + 1) * ((n - a - b)[:, None] + x[:, :-1] + 1)
    steps = np.log(np.where(inside, odds, 1.0), out=np.full_like(odds, -np.inf), where=inside)
    logs = np.concatenate([np.zeros((len(a), 1)), np.cumsum(steps, axis=1)], axis=1)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    found: Floats = (p * x * np.log(np.maximum(x, 1.0))).sum(axis=1) - means * np.log(means)
    return found

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
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from counterpane.graphs import Cpdag, Dag
from counterpane.typing import Array, Floats

UNIT = "bits per row"
DIGITS = 6  # decimals that are kept, so that every output rounds the same number
MOST_MEAN = 64.0  # of a cell whose chance is summed; above, an expansion is as good
CHUNK = 2**14  # distinct small cells at a time
CELLS = 2**20  # cells of tables at a time


def corrected_information(counts: Array) -> float:
    """I(a; b | rest) of a table of axes (rest…, a, b), in bits per row, corrected for chance.

    >>> corrected_information(np.array([[50, 0], [0, 50]]))
    0.992676
    >>> corrected_information(np.array([[3, 2], [2, 3]]))
    0.0
    """
    return corrected_informations([counts])[0]


def corrected_informations(tables: Iterable[Array]) -> list[float]:
    """`corrected_information` of each of many tables, some at a time."""
    found: list[float] = []
    held: list[tuple[float, float, Floats]] = []  # n Σ ln(n / mean), rows, cells (a, b, n)
    room = CELLS
    for counts in tables:
        held.append(_parts(counts))
        room -= held[-1][2].shape[1]
        if room < 0:
            found += _corrected(held)
            held, room = [], CELLS
    return found + _corrected(held)


def _parts(counts: Array) -> tuple[float, float, Floats]:
    """(rows × information in nats, rows, (a, b, n) of each cell that chance may fill)."""
    table = np.asarray(counts, dtype=np.float64)
    table = table.reshape(-1, *table.shape[-2:])
    a, b = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    n = a.sum(axis=1, keepdims=True)
    x, left, right, size = (
        part.reshape(-1) for part in np.broadcast_arrays(table, a, b, np.where(n > 0, n, 1.0))
    )
    seen = x > 0
    logs = np.log(x[seen] * size[seen] / (left[seen] * right[seen]))
    margins = np.rint([left, right, size])  # of weighted rows
    open_ = ((margins[:2] > 0) & (margins[:2] < margins[2])).all(axis=0)
    return float(x[seen] @ logs), float(n.sum()), margins[:, open_]


def _corrected(held: Sequence[tuple[float, float, Floats]]) -> list[float]:
    if not held:
        return []
    chance = _by_chance(np.concatenate([cells for _, _, cells in held], axis=1))
    starts = np.cumsum([0, *(cells.shape[1] for _, _, cells in held)])
    sums = np.concatenate([[0.0], np.cumsum(chance)])[starts]
    return [
        round(max(information - mean, 0.0) / max(rows, 1e-300) / math.log(2), DIGITS)
        for (information, rows, _), mean in zip(held, np.diff(sums).tolist(), strict=True)
    ]


def edge_strengths(
    dag: Dag, shape: Cpdag, tables: Sequence[Floats]
) -> dict[tuple[int, int], float]:
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
    ends, views = [], []
    for x in range(dag.n):
        # Every largest clique of a class is that of its last column, as no edge makes a collider.
        if any(clique[x] < clique[y] for y in dag.children(x) if frozenset((x, y)) in free):
            continue
        scope = (*dag.parents(x), x)
        for a, b in combinations(range(len(scope)), 2):
            u, v = scope[a], scope[b]
            if u in clique[x] or v in clique[x]:
                ends.append((u, v) if u in dag.parents(v) else (v, u))
                views.append((x, a, b))
    tables_of = (np.moveaxis(tables[x], (a, b), (-2, -1)) for x, a, b in views)
    least: dict[tuple[int, int], float] = {}
    for edge, bits in zip(ends, corrected_informations(tables_of), strict=True):
        least[edge] = min(bits, least.get(edge, math.inf))
    return {edge: least[edge] for edge in dag.edges}


def _by_chance(cells: Floats) -> Floats:
    """The mean of x ln(x / m) for cells of margins a and b in n rows, of mean m = a b / n.

    All ways to permute one column against the other are equally likely, so that a cell is
    hypergeometric. A cell of a large mean adds half of its variance over that mean; all such cells
    of a table add half the degrees of freedom (Miller 1955).
    """
    a, b, n = cells
    chance: Floats = (1 - a / n) * (1 - b / n) / 2
    small = np.flatnonzero(a * b <= MOST_MEAN * n)
    margins = np.stack([np.minimum(a, b)[small], np.maximum(a, b)[small], n[small]])
    distinct, where = np.unique(margins, axis=1, return_inverse=True)
    values = [
        _small_cells(*distinct[:, low : low + CHUNK]) for low in range(0, distinct.shape[1], CHUNK)
    ]
    if values:
        chance[small] = np.concatenate(values)[where.reshape(-1)]
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

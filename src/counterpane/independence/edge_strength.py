"""The strength of an edge, as the command, reports, plots and notebooks show it.

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
from typing import NamedTuple

import numpy as np

from counterpane.graphs import Cpdag, Dag
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Floats

UNIT = "bits per row"
DIGITS = 6  # decimals of a strength, so that every output rounds the same number
MAX_MEAN = 64.0  # of a cell whose distribution is summed; above it an expansion is as exact
LARGEST = 2.0**60  # rows of a table whose small cells are summed
CELLS_AT_A_TIME = 2**14  # distinct small cells
TABLE_CELLS_AT_A_TIME = 2**20


def corrected_information(counts: Array) -> float:
    """I(a; b | rest) of a table of axes (rest…, a, b), in bits per row, corrected for chance.

    >>> corrected_information(np.array([[50, 0], [0, 50]]))
    0.992676
    >>> corrected_information(np.array([[3, 2], [2, 3]]))
    0.0
    """
    return corrected_informations([counts])[0]


def corrected_informations(tables: Iterable[Array]) -> list[float]:
    """`corrected_information` of each of many tables, in batches of bounded size."""
    strengths: list[float] = []
    batch: list[_TableTerms] = []
    room = TABLE_CELLS_AT_A_TIME
    for counts in tables:
        batch.append(_terms(counts))
        room -= batch[-1].margins.shape[1]
        if room < 0:
            strengths += _corrected(batch)
            batch, room = [], TABLE_CELLS_AT_A_TIME
    return strengths + _corrected(batch)


class _TableTerms(NamedTuple):
    """Rows × information in nats, the number of rows, and (a, b, n) of each cell that may vary."""

    information: float
    n_rows: float
    margins: Floats


def _terms(counts: Array) -> _TableTerms:
    table = np.asarray(counts, dtype=np.float64)
    table = table.reshape(-1, *table.shape[-2:])
    a, b = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    n = a.sum(axis=1, keepdims=True)
    x, left, right, size = (
        array.reshape(-1) for array in np.broadcast_arrays(table, a, b, np.where(n > 0, n, 1.0))
    )
    filled = x > 0
    logs = np.log(x[filled] / left[filled] * (size[filled] / right[filled]))
    margins = np.rint([left, right, size])  # weighted rows have fractions
    varying = ((margins[:2] > 0) & (margins[:2] < margins[2])).all(axis=0)
    return _TableTerms(float(x[filled] @ logs), float(n.sum()), margins[:, varying])


def _corrected(batch: Sequence[_TableTerms]) -> list[float]:
    if not batch:
        return []
    chance = _by_chance(np.concatenate([table.margins for table in batch], axis=1))
    offsets = offsets_of(table.margins.shape[1] for table in batch)
    sums = np.concatenate([[0.0], np.cumsum(chance)])[offsets]
    return [
        round(max(information - mean, 0.0) / max(n_rows, 1e-300) / math.log(2), DIGITS)
        for (information, n_rows, _), mean in zip(batch, np.diff(sums).tolist(), strict=True)
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
    reversible = {frozenset(edge) for edge in shape.reversible.edges}
    clique = [
        {x, *(p for p in dag.parents(x) if frozenset((p, x)) in reversible)} for x in range(dag.n)
    ]
    edges, views = [], []
    for x in range(dag.n):
        # Every largest clique of a class is that of its last column, as no edge makes a collider.
        if any(clique[x] < clique[y] for y in dag.children(x) if frozenset((x, y)) in reversible):
            continue
        scope = (*dag.parents(x), x)
        for a, b in combinations(range(len(scope)), 2):
            u, v = scope[a], scope[b]
            if u in clique[x] or v in clique[x]:
                edges.append((u, v) if u in dag.parents(v) else (v, u))
                views.append((x, a, b))
    tables_of = (np.moveaxis(tables[x], (a, b), (-2, -1)) for x, a, b in views)
    least: dict[tuple[int, int], float] = {}
    for edge, bits in zip(edges, corrected_informations(tables_of), strict=True):
        least[edge] = min(bits, least.get(edge, math.inf))
    return {edge: least[edge] for edge in dag.edges}


def _by_chance(cells: Floats) -> Floats:
    """The mean of x ln(x / m) for cells of margins a and b in n rows, of mean m = a b / n.

    Under independence all permutations of one column are equally likely, so that a cell is
    hypergeometric. For a large mean the value is half of the variance over that mean; such cells
    of a table sum to half of its degrees of freedom (Miller 1955).
    """
    a, b, n = cells
    chance: Floats = (1 - a / n) * (1 - b / n) / 2
    small = np.flatnonzero(n < LARGEST)  # products of larger margins may overflow
    small = small[a[small] * b[small] <= MAX_MEAN * n[small]]
    margins = np.stack([np.minimum(a, b)[small], np.maximum(a, b)[small], n[small]])
    distinct, where = np.unique(margins, axis=1, return_inverse=True)
    values = [
        _small_cells(*distinct[:, low : low + CELLS_AT_A_TIME])
        for low in range(0, distinct.shape[1], CELLS_AT_A_TIME)
    ]
    if values:
        chance[small] = np.concatenate(values)[where.reshape(-1)]
    return chance


def _small_cells(a: Floats, b: Floats, n: Floats) -> Floats:
    """E[x ln x] − m ln m of hypergeometric cells x of mean m = a b / n, summed over x."""
    means = a * b / n
    first = np.maximum(a + b - n, 0.0)
    last = np.minimum(a, np.ceil(means + 12 * np.sqrt(means) + 24))
    x = first[:, None] + np.arange(int((last - first).max()) + 1)
    inside = x[:, :-1] < a[:, None]
    odds = (a[:, None] - x[:, :-1]) * (b[:, None] - x[:, :-1])
    odds /= (x[:, :-1] + 1) * ((n - a - b)[:, None] + x[:, :-1] + 1)
    steps = np.log(np.where(inside, odds, 1.0), out=np.full_like(odds, -np.inf), where=inside)
    logs = np.concatenate([np.zeros((len(a), 1)), np.cumsum(steps, axis=1)], axis=1)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    excess: Floats = (p * x * np.log(np.maximum(x, 1.0))).sum(axis=1) - means * np.log(means)
    return excess

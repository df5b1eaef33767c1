"""Samples, all rows of a variable at a time: exact, or weighted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from counterpane.features import Potential
from counterpane.inference.exact import backward, reduce
from counterpane.inference.plan import plan_query
from counterpane.typing import Codes, Floats, Ints


def draw(rng: np.random.Generator, weights: Floats, cells: Ints) -> Ints:
    """One state for each entry of `cells`, drawn from that row of `weights`, shape (m, card).

    Rows need not sum to 1; a state of weight zero is never drawn. One uniform number each, then a
    binary search over all entries at once: O(n log card).
    """
    upper = np.cumsum(weights, axis=1)
    uniform = rng.random(cells.size) * upper[cells, -1]
    low: Ints = np.zeros(cells.size, dtype=np.int64)
    high = np.full(cells.size, weights.shape[1] - 1)
    for _ in range(int(weights.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        above = uniform >= upper[cells, middle]
        low = np.where(above, np.minimum(middle + 1, high), low)
        high = np.where(above, high, middle)
    return low


def cell_of(codes: Codes, scope: Iterable[int], cards: Ints) -> Ints:
    """For each row of `codes` the flat cell of `scope` in a table of axes (scope…)."""
    cells: Ints = np.zeros(codes.shape[1], dtype=np.int64)
    for v in scope:
        cells = cells * cards[v] + codes[v]
    return cells


def sample(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    evidence: Mapping[int, int],
    n: int,
    rng: np.random.Generator,
    *,
    names: Sequence[str] | None = None,
) -> Codes | None:
    """Codes (n_variables, n) of n independent exact draws given the evidence; None if impossible.

    Variables are summed out once, and then drawn in the reverse order, each given the ones drawn
    before it in its bucket. A variable in no potential is uniform.
    """
    sizes: Ints = np.asarray(cards, dtype=np.int64)
    codes: Codes = np.empty((sizes.size, n), dtype=np.uint16)
    free = [v for v in range(sizes.size) if v not in evidence]
    reduced = reduce(potentials, sizes, evidence)
    reduced += [Potential((v,), np.zeros(sizes[v])) for v in free]
    plan = plan_query([p.scope for p in reduced], sizes, (), names=names)
    buckets, log_weight = backward(plan, reduced)
    if log_weight == -np.inf:
        return None
    for v, code in evidence.items():
        codes[v] = code
    for v, others, table in buckets:
        logs = table.reshape(-1, sizes[v])
        largest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(largest == -np.inf, 0.0, largest))
        codes[v] = draw(rng, weights, cell_of(codes, others, sizes))
    return codes


def sample_forward(
    tables: Sequence[Floats],
    parents: Sequence[Sequence[int]],
    order: Iterable[int],
    evidence: Mapping[int, int],
    n: int,
    rng: np.random.Generator,
) -> tuple[Codes, Floats]:
    """(codes (n_variables, n), log-weights (n,)) drawn along `order`, parents first.

    tables[i], of axes (parents of i…, i), gives each variable its state; one in `evidence` is set,
    and what its state's probability was multiplies the weight (likelihood weighting: Fung & Chang,
    Shachter & Peot 1989). Without evidence the draws are exact and the log-weights 0.
    """
    cards = np.array([table.shape[-1] for table in tables], dtype=np.int64)
    codes: Codes = np.empty((cards.size, n), dtype=np.uint16)
    log_weights: Floats = np.zeros(n)
    for i in order:
        rows = tables[i].reshape(-1, cards[i])
        cells = cell_of(codes, parents[i], cards)
        if i in evidence:
            codes[i] = evidence[i]
            with np.errstate(divide="ignore"):
                log_weights += np.log(rows[cells, evidence[i]])
        else:
            codes[i] = draw(rng, rows, cells)
    return codes, log_weights

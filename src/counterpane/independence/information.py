"""Entropy, mutual information and interaction information of counts: plug-in estimates.

Relative frequencies take the place of probabilities. All functions take one column or several, by
position or name, use the rows that are complete in all of these, and return nats, or units of
another `base`. Each value comes from the margins of a single table, so that identities between
entropies hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations

import numpy as np

from counterpane._core import independence as kernels
from counterpane.counts.source import CountSource
from counterpane.data.table import distinct_rows
from counterpane.errors import ParameterError, ScopeError, Setting
from counterpane.independence.base import ONE_COLUMN, ColumnKey, ColumnKeys, position
from counterpane.typing import Floats


def entropy(
    source: CountSource, variables: ColumnKeys, given: ColumnKeys = (), *, base: float = math.e
) -> float:
    """H(variables | given) = −Σ p(v, g) ln p(v | g).

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> round(entropy(MemoryCounts(load_dataset("titanic")), "survived", base=2), 4)
    0.9077
    """
    v, z = _positions(source, variables), _positions(source, given)
    joint, condition = _entropies(source, [v | z, z], base)
    return max(joint - condition, 0.0)


def binary_entropy(p: Floats) -> Floats:
    """−p log₂ p − (1 − p) log₂(1 − p), in bits, for an array of probabilities.

    >>> binary_entropy(np.array([0.5])).tolist()
    [1.0]
    """
    p = np.clip(p, 1e-12, 1 - 1e-12)
    bits: Floats = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    return bits


def mutual_information(
    source: CountSource,
    x: ColumnKeys,
    y: ColumnKeys,
    given: ColumnKeys = (),
    *,
    base: float = math.e,
) -> float:
    """I(x; y | given) = H(x, given) + H(y, given) − H(x, y, given) − H(given), never negative.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> round(mutual_information(source, "survived", ["sex", "age"], given="status"), 4)
    0.1116
    """
    a, b, z = (_positions(source, columns) for columns in (x, y, given))
    left, right, joint, condition = _entropies(source, [a | z, b | z, a | b | z, z], base)
    return max(left + right - joint - condition, 0.0)


def interaction_information(
    source: CountSource,
    variables: Iterable[ColumnKey],
    given: ColumnKeys = (),
    *,
    base: float = math.e,
) -> float:
    """The k-way interaction of two or more variables, in the sign of Jakulin & Bratko (2003).

    I(V) = −Σ_{T ⊆ V} (−1)^{|V| − |T|} H(T | given). For two variables it is their mutual
    information; I(a; b; c) = I(a; b | c) − I(a; b) is positive for synergy and negative for
    redundancy.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> round(interaction_information(source, ["status", "sex", "survived"]), 4)
    -0.0022
    """
    v, z = _positions(source, variables), _positions(source, given)
    if len(v) < 2:
        raise ScopeError(f"an interaction needs two or more different columns; got {len(v)}.")
    subsets = list(chain.from_iterable(combinations(sorted(v), k) for k in range(len(v) + 1)))
    terms = _entropies(source, [z.union(subset) for subset in subsets], base)
    signs = [-((-1) ** (len(v) - len(subset))) for subset in subsets]
    return math.fsum(sign * term for sign, term in zip(signs, terms, strict=True))


def mutual_information_matrix(
    source: CountSource, columns: Sequence[int] | None = None, *, base: float = math.e
) -> Floats:
    """I(i; j) of all pairs of `columns` (all by default), with the entropies on the diagonal.

    One scan of the data; each pair uses the rows that are complete in its two columns.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> mutual_information_matrix(MemoryCounts(load_dataset("titanic")), [2, 3]).round(3).tolist()
    [[0.519, 0.099], [0.099, 0.629]]
    """
    unit = _unit(base)
    pairs = source.pair_counts(columns)
    n = len(pairs.left_from) - 1
    matrix = np.empty((n, n))
    kernels.pair_information(np.ascontiguousarray(pairs.counts), pairs.left_from, matrix)
    return matrix / unit


def _positions(source: CountSource, columns: ColumnKeys) -> frozenset[int]:
    keys = (columns,) if isinstance(columns, ONE_COLUMN) else columns
    return frozenset(position(key, source.schema.names) for key in keys)


def _unit(base: float) -> float:
    if not (base > 1 and math.isfinite(base)):
        raise ParameterError(Setting("base", base), "; a finite base above 1 is needed.")
    return math.log(base)


def _entropies(source: CountSource, subsets: Sequence[frozenset[int]], base: float) -> list[float]:
    """The entropies of several sets of columns on the rows complete in all of them."""
    unit = _unit(base)
    columns = sorted(frozenset().union(*subsets))
    cells = source.counts([columns]).sparse(0)
    total = float(cells.values.sum())
    if total == 0:
        return [0.0] * len(subsets)
    entropies = []
    for subset in subsets:
        axes = [columns.index(c) for c in sorted(subset)]
        cards = np.array(cells.shape)[axes]
        counts = distinct_rows(cells.codes[axes], cells.values, cards)[1] if axes else total
        p = np.asarray(counts, dtype=np.float64) / total
        entropies.append(-float((p * np.log(p)).sum()) / unit)
    return entropies

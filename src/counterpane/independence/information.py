"""Entropy, mutual information and interaction information, as the counts give them.

Plug-in (maximum likelihood) estimates: relative frequencies stand for probabilities. All take one
column or several, by position or name, use the rows complete in every column named, and answer in
nats, or to another `base`. A measure asks for one table and sums it down, so that the identities
between entropies hold for each answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations

import numpy as np

from counterpane._core import independence as kernels
from counterpane.counts.source import CountSource
from counterpane.data.table import distinct_rows
from counterpane.errors import ParameterError, ScopeError
from counterpane.independence.base import ONE, Column, Columns, position
from counterpane.typing import Floats


def entropy(
    source: CountSource, variables: Columns, given: Columns = (), *, base: float = math.e
) -> float:
    """H(variables | given) = −Σ p(v, g) ln p(v | g).

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> round(entropy(MemoryCounts(load_dataset("titanic")), "survived", base=2), 4)
    0.9077
    """
    v, z = _positions(source, variables), _positions(source, given)
    whole, fixed = _entropies(source, [v | z, z], base)
    return max(whole - fixed, 0.0)


def mutual_information(
    source: CountSource, x: Columns, y: Columns, given: Columns = (), *, base: float = math.e
) -> float:
    """I(x; y | given) = H(x, given) + H(y, given) − H(x, y, given) − H(given), never negative.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> round(mutual_information(source, "survived", ["sex", "age"], given="status"), 4)
    0.1116
    """
    a, b, z = (_positions(source, columns) for columns in (x, y, given))
    left, right, both, fixed = _entropies(source, [a | z, b | z, a | b | z, z], base)
    return max(left + right - both - fixed, 0.0)


def interaction_information(
    source: CountSource,
    variables: Iterable[Column],
    given: Columns = (),
    *,
    base: float = math.e,
) -> float:
    """The k-way interaction of two or more variables, in the sign of Jakulin & Bratko (2003).

    I(V) = −Σ_{T ⊆ V} (−1)^{|V| − |T|} H(T | given): for two variables their mutual information,
    and I(a; b; c) = I(a; b | c) − I(a; b), positive where they are synergic and negative where
    they are redundant.

    >>> from counterpane.counts import MemoryCounts
    >>> from counterpane.data import load_dataset
    >>> source = MemoryCounts(load_dataset("titanic"))
    >>> round(interaction_information(source, ["status", "sex", "survived"]), 4)
    -0.0022
    """
    v, z = _positions(source, variables), _positions(source, given)
    if len(v) < 2:
        raise ScopeError(f"an interaction needs two or more different columns; got {len(v)}.")
    parts = list(chain.from_iterable(combinations(sorted(v), k) for k in range(len(v) + 1)))
    terms = _entropies(source, [z.union(part) for part in parts], base)
    signs = [-((-1) ** (len(v) - len(part))) for part in parts]
    return math.fsum(sign * term for sign, term in zip(signs, terms, strict=True))


def mutual_information_matrix(
    source: CountSource, columns: Sequence[int] | None = None, *, base: float = math.e
) -> Floats:
    """I(i; j) of all pairs of `columns` (all by default), with the entropies on the diagonal.

    From one scan. Each pair uses the rows complete in its two columns.

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


def _positions(source: CountSource, columns: Columns) -> frozenset[int]:
    several = (columns,) if isinstance(columns, ONE) else columns
    return frozenset(position(c, source.schema.names) for c in several)


def _unit(base: float) -> float:
    if not (base > 1 and math.isfinite(base)):
        raise ParameterError(f"base={base}; a finite base above 1 is needed.")
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

"""Which faces a staged search looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterpane.learn.classifiers.interactions.face_design import Face
from counterpane.typing import Floats, Ints

MAX_CANDIDATES = 1000


def candidate_faces(
    columns: Sequence[int], gains: Mapping[Face, float], size: int, most: int = MAX_CANDIDATES
) -> list[Face]:
    """Sets of `size` ≤ 3 columns all whose subsets of one less have a gain; at most `most` of them.

    Those with the largest sum of these gains are kept, of equals those with the largest one; they
    come in the order of the columns.

    >>> candidate_faces([0, 1, 2], {(0,): 3.0, (1,): 1.0, (2,): 2.0}, 2, most=2)
    [(0, 1), (0, 2)]
    """
    if size == 1:
        return [(c,) for c in columns]
    if size == 2:
        singles = [c for c in columns if (c,) in gains]
        one, two = np.triu_indices(len(singles), 1)
        own = np.array([gains[(c,)] for c in singles])
        parts = np.stack([own[one], own[two]], axis=1) if len(singles) else np.empty((0, 2))
        kept = _largest(parts, most)
        return [(singles[one[i]], singles[two[i]]) for i in kept]
    below: dict[int, set[int]] = {}
    pairs = sorted(face for face in gains if len(face) == 2)
    for a, b in pairs:
        below.setdefault(b, set()).add(a)
    none: set[int] = set()
    triples = sorted((a, b, c) for b, c in pairs for a in below.get(b, none) & below[c])
    parts = np.array([[gains[f[:2]], gains[f[1:]], gains[f[::2]]] for f in triples])
    return [triples[i] for i in _largest(parts.reshape(-1, 3), most)]


def _largest(parts: Floats, most: int) -> Ints:
    """The rows of the largest sums, in order."""
    if len(parts) <= most:
        return np.arange(len(parts))
    sums = parts.sum(axis=1).round(9)
    near = np.flatnonzero(sums >= np.partition(sums, -most)[-most])
    order = np.lexsort((-parts[near].max(axis=1), -sums[near]))
    return np.sort(near[order[:most]])


def subsets_of(face: Face) -> list[Face]:
    """All subsets of a face, the empty one first and itself last, by the bits of their places."""
    return [tuple(c for j, c in enumerate(face) if mask >> j & 1) for mask in range(1 << len(face))]

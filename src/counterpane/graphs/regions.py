"""Region graphs of hyperedges: counting numbers, and the same model as a sum over faces.

Jakulin & Rish write a model of y and attributes x as Σ_R c_R ln P(x_R, y) over regions R, the
intersections of the hyperedges. The same sum is Σ_T φ_T over the faces T, all subsets of the
hyperedges, with φ_T = Σ_{U⊆T} (−1)^{|T|−|U|} ln P(x_U, y). Here a hyperedge is its set of
attributes: y belongs to all of them and is left out, so ∅ stands for y alone.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from typing import SupportsIndex, TypeAlias

import numpy as np

from counterpane.errors import ScopeError, TableSizeError
from counterpane.graphs.bits import mask

Face: TypeAlias = frozenset[int]
Hyperedges: TypeAlias = Iterable[Iterable[SupportsIndex]]

MAX_REGIONS = 20_000
MAX_FACES = 1 << 20


def region_graph(hyperedges: Hyperedges, *, limit: int = MAX_REGIONS) -> dict[Face, int]:
    """The counting number c_R of each region, larger regions first.

    Regions are the maximal hyperedges closed under intersection; c_R = 1 − Σ_{S⊋R} c_S. (The
    algorithm printed by Jakulin & Rish numbers regions as it finds them, which goes wrong for
    nested intersections.) No hyperedge at all leaves ∅ alone. Cost: O(regions² · attributes / 64).

    >>> counts = region_graph([{2, 3, 4}, {0, 1, 3}, {1, 3, 4}])
    >>> {tuple(sorted(region)): c for region, c in counts.items()}
    {(0, 1, 3): 1, (1, 3, 4): 1, (2, 3, 4): 1, (1, 3): -1, (3, 4): -1, (3,): 0}
    """
    edges = _facets(hyperedges)
    regions = set(edges)
    queue = list(edges)
    for region in queue:  # which grows while it is read
        fresh = {region & edge for edge in edges} - regions
        regions |= fresh
        queue += fresh
        if len(regions) > limit:
            raise TableSizeError(
                f"{len(edges)} hyperedges have more than {limit} intersections; "
                "use fewer hyperedges or raise limit=…."
            )
    ordered = sorted(regions, key=lambda region: (-len(region), sorted(region)))
    n = 1 + max((max(edge) for edge in edges if edge), default=0)
    rows = np.array([mask(n, region) for region in ordered])
    counts = np.zeros(len(ordered), dtype=np.int64)
    for k, row in enumerate(rows):
        counts[k] = 1 - counts[:k] @ ((rows[:k] & row) == row).all(axis=1)
    return dict(zip(ordered, counts.tolist(), strict=True))


def faces(hyperedges: Hyperedges, *, limit: int = MAX_FACES) -> tuple[Face, ...]:
    """All subsets of the hyperedges, smaller ones first; ∅ is always one.

    Raises `TableSizeError`, before anything is built, where Σ 2^|edge| exceeds `limit`.

    >>> [tuple(sorted(face)) for face in faces([{0, 1}, {2}])]
    [(), (0,), (1,), (2,), (0, 1)]
    """
    edges = _facets(hyperedges)
    total = sum(1 << len(edge) for edge in edges)
    if total > limit:
        largest = max(edges, key=len)
        raise TableSizeError(
            f"the faces of {len(edges)} hyperedges, the largest of {len(largest)} attributes, "
            f"number up to {total:.3g}; {limit} are allowed: use smaller hyperedges or limit=…."
        )
    all_faces: set[Face] = set()
    for edge in edges:
        subsets: list[Face] = [frozenset()]
        for attribute in edge:
            subsets += [subset | {attribute} for subset in subsets]
        all_faces.update(subsets)
    return tuple(sorted(all_faces, key=lambda face: (len(face), sorted(face))))


def face_coefficients(faces: Collection[Face]) -> dict[Face, int]:
    """The coefficient a(U) of ln P(x_U, y) in Σ_T φ_T, for each face U.

    a(U) = Σ_{T⊇U} (−1)^{|T∖U|} over the faces T. It is the counting number of U where U is a
    region, and 0 elsewhere. `faces` must hold every subset of its members.
    Cost: O(attributes · faces).

    >>> face_coefficients(faces([{0}, {1}]))[frozenset()]
    -1
    """
    coefficients = dict.fromkeys(faces, 1)
    # The Möbius transform over supersets, one attribute at a time.
    for attribute in frozenset().union(*coefficients):
        for face in faces:
            if attribute in face:
                smaller = face - {attribute}
                if smaller not in coefficients:
                    raise ScopeError(
                        f"the faces hold {sorted(face)} but not its subset {sorted(smaller)}; "
                        "pass the result of faces()."
                    )
                coefficients[smaller] -= coefficients[face]
    return coefficients


def degrees_of_freedom(
    faces: Iterable[Face], cards: Sequence[SupportsIndex], target_card: SupportsIndex
) -> int:
    """The number of free parameters, Σ_T (|Y| − 1) Π_{A∈T} (|A| − 1) over the faces T.

    `cards[a]` is the number of states of attribute a, `target_card` that of y.

    >>> degrees_of_freedom(faces([{0, 1}]), cards=[2, 3], target_card=2)
    6
    """
    less_one = [int(card) - 1 for card in cards]
    total = 0
    for face in faces:
        if face and max(face) >= len(less_one):
            raise ScopeError(
                f"face {sorted(face)} holds attribute {max(face)}; cards has {len(less_one)}."
            )
        term = int(target_card) - 1
        for attribute in face:
            term *= less_one[attribute]
        total += term
    return total


def _facets(hyperedges: Hyperedges) -> list[Face]:
    """The distinct hyperedges that lie in no other one; ∅ alone where there are none."""
    edges = sorted(
        {frozenset(map(operator.index, edge)) for edge in hyperedges}, key=len, reverse=True
    )
    for edge in edges:
        if any(attribute < 0 for attribute in edge):
            raise ScopeError(f"hyperedge {sorted(edge)} holds a negative attribute index.")
    facets: list[Face] = []
    for edge in edges:
        if not any(edge < facet for facet in facets):
            facets.append(edge)
    return facets or [frozenset()]

"""What a user knows about a network beforehand: edges that must or must not be there, and tiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from counterpane._core.bayesian import Limits
from counterpane.data.schema import Schema
from counterpane.errors import GraphError
from counterpane.graphs import Dag
from counterpane.graphs.bits import pack, unpack
from counterpane.typing import Bools

Edges = Iterable[tuple[str, str]]
"""(parent, child) pairs, by name."""

TOLERANCE = 1e-7  # nats: gains below it are rounding


def make_limits(
    schema: Schema, required: Edges, forbidden: Edges, tiers: Sequence[Sequence[str]] | None
) -> Limits:
    """The limits of a search, checked for contradictions.

    A variable of a later tier is never a parent of one of an earlier tier; variables in no tier
    are free.
    """
    n = len(schema)
    allowed = ~np.eye(n, dtype=bool)  # allowed[x, p]: p may be a parent of x
    level: dict[int, int] = {}
    for k, tier in enumerate(tiers or ()):
        for name in tier:
            v = schema.index(name)
            if v in level:
                raise GraphError(f"{name!r} is in two tiers; each variable has one place.")
            level[v] = k
    for x, own in level.items():
        for p, other in level.items():
            allowed[x, p] &= other <= own
    for p, x in _indices(schema, forbidden, "forbidden"):
        allowed[x, p] = False
    must = np.zeros((n, n), dtype=bool)
    for p, x in _indices(schema, required, "required"):
        if not allowed[x, p]:
            raise GraphError(
                f"the edge {schema.names[p]!r} → {schema.names[x]!r} is required and forbidden; "
                "drop one of the two, or move a tier."
            )
        must[x, p] = True
    try:
        Dag(n, [(int(p), int(x)) for x, p in np.argwhere(must)])
    except GraphError:
        names = ", ".join(f"{schema.names[p]} → {schema.names[x]}" for x, p in np.argwhere(must))
        raise GraphError(f"the required edges {names} form a cycle; drop one of them.") from None
    return Limits(pack(allowed), pack(must), TOLERANCE)


def is_symmetric(limits: Limits) -> bool:
    """Whether the limits say nothing about directions, so that classes of DAGs can obey them."""
    allowed: Bools = unpack(limits.allowed, len(limits.allowed))
    return bool((allowed == allowed.T).all()) and not limits.required.any()


def _indices(schema: Schema, edges: Edges, kind: str) -> list[tuple[int, int]]:
    pairs = []
    for p, x in edges:
        pair = schema.index(p), schema.index(x)
        if pair[0] == pair[1]:
            raise GraphError(f"the {kind} edge {p!r} → {x!r} joins a variable with itself.")
        pairs.append(pair)
    return pairs

"""Which edges a search may add and must keep, from what users pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np

from counterpane._core.search import Limits
from counterpane.checks import LISTS, PAIRS
from counterpane.data.schema import Schema
from counterpane.errors import GraphError
from counterpane.graphs import Dag
from counterpane.graphs.bits import bit_rows, members, n_words, unpack
from counterpane.memory import FEWER_COLUMNS, need_memory
from counterpane.ragged import groups_of
from counterpane.scores.base import LEAST_GAIN
from counterpane.typing import Bools, Words

BLOCK = 1024  # columns; whole words of bits

EdgePairs = Annotated[Iterable[tuple[str, str]], PAIRS]
"""(parent, child) pairs, by name."""

Tiers = Annotated[Sequence[Sequence[str]], LISTS]
"""Names of columns, earlier ones before later ones."""


def make_limits(
    schema: Schema, required: EdgePairs, forbidden: EdgePairs, tiers: Tiers | None
) -> Limits:
    """The limits of a search, checked for contradictions.

    A variable of a later tier is never a parent of one of an earlier tier; variables in no tier
    are free. Without constraints, the limits hold no rows.
    """
    n = len(schema)
    must = _indices(schema, required, "required")
    never = _indices(schema, forbidden, "forbidden")
    level: dict[int, int] = {}
    for k, tier in enumerate(tiers or ()):
        for name in tier:
            v = schema.index(name)
            if v in level:
                raise GraphError(f"{name!r} is in two tiers; each variable has one place.")
            level[v] = k
    limits = no_limits(n)
    if never or level:
        limits = limits._replace(allowed=_allowed_rows(n, never, level))
    for p, x in must:
        if not is_allowed(limits, p, x):
            raise GraphError(
                f"the edge {schema.names[p]!r} → {schema.names[x]!r} is required and forbidden; "
                "drop one of the two, or move a tier."
            )
    if must:
        limits = limits._replace(required=_rows(n, must))
        try:
            Dag(n, must)
        except GraphError:
            edges = sorted(set(must), key=lambda edge: (edge[1], edge[0]))
            names = ", ".join(f"{schema.names[p]} → {schema.names[x]}" for p, x in edges)
            message = f"the required edges {names} form a cycle; drop one of them."
            raise GraphError(message) from None
    return limits


def no_limits(n: int) -> Limits:
    """Limits by which any edge of `n` columns is allowed and none is required."""
    none = np.zeros((0, n_words(n)), dtype=np.uint64)
    return Limits(none, none, max(n - 1, 0), LEAST_GAIN)


def without_parents(limits: Limits, n: int, columns: list[int]) -> Limits:
    """The limits by which some columns have no parents."""
    allowed = allowed_rows(limits, n)
    allowed[columns] = 0
    return limits._replace(allowed=allowed)


def only_pairs(limits: Limits, pairs: Words) -> Limits:
    """The limits that also forbid what is not in `pairs`, but for required edges."""
    allowed = allowed_rows(limits, len(pairs)) & pairs
    if len(limits.required):
        allowed |= limits.required
    return limits._replace(allowed=allowed)


def allowed_rows(limits: Limits, n: int) -> Words:
    """A copy of the allowed edges as bit rows: n² / 8 bytes."""
    return limits.allowed.copy() if len(limits.allowed) else _allowed_rows(n, [], {})


def allowed_matrix(limits: Limits, n: int) -> Bools:
    """Whether x may have the parent p, shape (x, p)."""
    return unpack(limits.allowed, n) if len(limits.allowed) else ~np.eye(n, dtype=bool)


def required_matrix(limits: Limits, n: int) -> Bools:
    """Whether x must have the parent p, shape (x, p)."""
    return unpack(limits.required, n) if len(limits.required) else np.zeros((n, n), dtype=bool)


def required_edges(limits: Limits) -> list[tuple[int, int]]:
    """The (parent, child) pairs that are required, by child."""
    children = np.flatnonzero(limits.required.any(axis=1)).tolist()
    return [(p, x) for x in children for p in members(limits.required[x])]


def is_allowed(limits: Limits, p: int, x: int) -> bool:
    """Whether x may have the parent p."""
    return not len(limits.allowed) or _has(limits.allowed, x, p)


def known_directions(limits: Limits, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges (p, x) whose direction the limits say: required, or forbidden the other way."""
    required = len(limits.required) > 0
    return [
        (p, x)
        for p, x in edges
        if (required and _has(limits.required, x, p)) or not is_allowed(limits, x, p)
    ]


def is_symmetric(limits: Limits) -> bool:
    """Whether the limits say nothing about directions, so that classes of DAGs can obey them."""
    if len(limits.required):
        return False
    n = len(limits.allowed)
    for start in range(0, n, BLOCK):  # never all pairs at once
        rows = unpack(limits.allowed[start : start + BLOCK], n)
        words = limits.allowed[:, start // 64 : (start + len(rows) + 63) // 64]
        if not (rows == unpack(words, len(rows)).T).all():
            return False
    return True


def _allowed_rows(n: int, never: list[tuple[int, int]], level: dict[int, int]) -> Words:
    remedy = f"{FEWER_COLUMNS}, or fewer constraints"
    need_memory(n * n // 4, f"constraints among {n:,} columns", remedy)
    nodes = np.arange(n)
    allowed: Words = np.full((n, n_words(n)), ~np.uint64(0))
    if n % 64:
        allowed[:, -1] = (np.uint64(1) << np.uint64(n % 64)) - np.uint64(1)
    places, bits = nodes // 64, np.uint64(1) << (nodes % 64).astype(np.uint64)
    allowed[nodes, places] &= ~bits
    later = np.zeros(n_words(n), dtype=np.uint64)  # those of tiers after the present one
    for k in sorted(set(level.values()), reverse=True):
        tier = [v for v, own in level.items() if own == k]
        allowed[tier] &= ~later
        np.bitwise_or.at(later, places[tier], bits[tier])
    for p, x in never:
        allowed[x, places[p]] &= ~bits[p]
    return allowed


def _rows(n: int, edges: list[tuple[int, int]]) -> Words:
    parents, children = np.unique(np.array(edges, dtype=np.int64), axis=0).T
    by_child = np.argsort(children, kind="stable")
    return bit_rows(groups_of(children[by_child], n), parents[by_child])


def _has(rows: Words, x: int, p: int) -> bool:
    return bool(int(rows[x, p // 64]) >> (p % 64) & 1)


def _indices(schema: Schema, edges: EdgePairs, kind: str) -> list[tuple[int, int]]:
    pairs = []
    for p, x in edges:
        pair = schema.index(p), schema.index(x)
        if pair[0] == pair[1]:
            raise GraphError(f"the {kind} edge {p!r} → {x!r} joins a variable with itself.")
        pairs.append(pair)
    return pairs

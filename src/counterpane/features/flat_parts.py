"""Potentials, rules and trees as the flat arrays that kernels read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from counterpane._core.features import Parts
from counterpane.errors import ScopeError
from counterpane.features.potential import Potential
from counterpane.features.rules import Rules
from counterpane.features.tree import Tree
from counterpane.typing import Array, Ints

Part: TypeAlias = Potential | Rules | Tree
Owned: TypeAlias = Sequence[tuple[Part, int]]
"""Parts, each with the one variable that it serves, −1 for all that it names."""


def compile_parts(cards: Ints, owned: Owned) -> Parts:
    """The parts end to end, and for each variable those that serve it; what does not fit raises."""
    for part, owner in owned:
        check_part(part, owner, cards)
    return Parts(
        cards,
        *_potential_arrays(cards.size, owned),
        *_rule_arrays(cards.size, owned),
        *_tree_arrays(cards.size, [part for part, _ in owned if isinstance(part, Tree)]),
    )


def check_part(part: Part, owner: int, cards: Ints) -> None:
    """Refuse what was made for other variables, or a tree whose target is not its owner."""
    if isinstance(part, Potential):
        scope, shape = part.scope, part.log_values.shape
        if max(scope, default=-1) >= cards.size or shape != tuple(cards[list(scope)]):
            known = [int(cards[v]) if v < cards.size else "unknown" for v in scope]
            raise ScopeError(f"{part!r} does not fit variables whose cards are {known}.")
        return
    if not np.array_equal(part.cards, cards):
        raise ScopeError(f"{part!r} was written for other numbers of states.")
    if isinstance(part, Tree) and part.target != owner:
        whose = "a joint log-potential" if owner < 0 else f"the conditional of variable {owner}"
        raise ScopeError(f"{part!r} cannot be part of {whose}.")


def segments(offsets: Ints, which: Ints) -> Ints:
    """The places offsets[k] … offsets[k+1]−1 for each k of `which`, one after the other."""
    sizes = np.diff(offsets)[which]
    shifts = offsets[which] - (np.cumsum(sizes) - sizes)
    places: Ints = np.arange(int(sizes.sum())) + np.repeat(shifts, sizes)
    return places


def _offsets(sizes: Iterable[int]) -> Ints:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _joined(arrays: Sequence[Array], dtype: type[np.generic]) -> Array:
    return np.concatenate([np.empty(0, dtype), *arrays], dtype=dtype)


def _by_variable(n: int, owners: Ints, parts: Ints, variables: Ints) -> tuple[Ints, Ints]:
    """(offsets, parts): for each variable the distinct parts that name and serve it, sorted."""
    serves = (owners < 0) | (owners == variables)
    parts, variables = parts[serves], variables[serves]
    narrow = variables.astype(np.uint16) if n < 2**16 else variables  # NumPy sorts it by radix
    order = np.argsort(narrow, kind="stable")
    where, members = variables[order], parts[order]
    fresh = (np.diff(where, prepend=-1) != 0) | (np.diff(members, prepend=-1) != 0)
    where, members = where[fresh], members[fresh]
    return np.searchsorted(where, np.arange(n + 1)), members


def _potential_arrays(n: int, owned: Owned) -> tuple[Array, ...]:
    mine = [(part, owner) for part, owner in owned if isinstance(part, Potential)]
    potentials = [part for part, _ in mine]
    scopes = _joined([np.array(p.scope, dtype=np.int64) for p in potentials], np.int64)
    strides = [np.array(p.log_values.strides, dtype=np.int64) // 8 for p in potentials]
    scope_offsets = _offsets(len(p.scope) for p in potentials)
    owners, which = np.repeat(_numbered(mine), np.diff(scope_offsets), axis=1)
    return (
        *_by_variable(n, owners, which, scopes),
        scope_offsets,
        scopes,
        _joined(strides, np.int64),
        _offsets(p.log_values.size for p in potentials),
        _joined([p.log_values.reshape(-1) for p in potentials], np.float64),
    )


def _rule_arrays(n: int, owned: Owned) -> tuple[Array, ...]:
    mine = [(part, owner) for part, owner in owned if isinstance(part, Rules)]
    rules = [part for part, _ in mine]
    sizes = _joined([np.diff(r.offsets) for r in rules], np.int64)
    variables = _joined([r.variables for r in rules], np.int64)
    owners = np.repeat(_numbered(mine)[0], [r.variables.size for r in rules])
    return (
        *_by_variable(n, owners, np.repeat(np.arange(sizes.size), sizes), variables),
        _joined([r.weights for r in rules], np.float64),
        _offsets(sizes),
        variables,
        _joined([r.values for r in rules], np.int64),
        _joined([r.negated for r in rules], np.bool_),
    )


def _numbered(mine: Sequence[tuple[Any, int]]) -> Ints:
    """The owners of parts, and the parts' numbers."""
    return np.array([[owner for _, owner in mine], range(len(mine))], dtype=np.int64)


def _tree_arrays(n: int, trees: Sequence[Tree]) -> tuple[Array, ...]:
    """Trees end to end, in the order of their targets, as `Parts` holds them."""
    roots = _offsets(t.variables.size for t in trees)
    nodes: Ints = np.empty((int(roots[-1]), 4), dtype=np.int64)
    values = []
    start = 0
    for root, tree in zip(roots.tolist(), trees, strict=False):
        mine = nodes[root : root + tree.variables.size]
        leaves = np.flatnonzero(tree.variables < 0)
        states = int(tree.cards[tree.target])
        mine[:] = tree.nodes()
        mine[:, 2:] += root
        mine[leaves, 2] = start + states * np.arange(leaves.size)
        values.append(tree.log_values[leaves].reshape(-1))
        start += states * leaves.size
    offsets = np.searchsorted([t.target for t in trees], np.arange(n + 1))
    return offsets, roots, nodes, _joined(values, np.float64)

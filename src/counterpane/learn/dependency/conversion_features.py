"""The terms of compiled conditionals, and the features they are spread over, each kept once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane._core import dependency as kernels
from counterpane._core.features import Parts
from counterpane.errors import ParameterError, TableSizeError
from counterpane.features import Rules
from counterpane.features.flat_parts import segments
from counterpane.features.tree import paths
from counterpane.typing import Array, Floats, Ints

MAX_CONDITIONS = 2**27  # of all terms, or of all features: 1 GiB


def space_of(cards: Ints, base: list[Floats]) -> kernels.StateSpace:
    """The variables with the probabilities of their states at the base."""
    owners = np.repeat(np.arange(cards.size), cards)
    return kernels.StateSpace(
        cards, np.cumsum(cards) - cards, owners, np.concatenate([[0.0], *base])[1:]
    )


def read_terms(parts: Parts, space: kernels.StateSpace) -> kernels.Terms:
    """The terms of all conditionals of a compiled dependency network, made plain."""
    raw = _joined(parts, space)
    n_terms, n_codes = raw.targets.size, raw.codes.size
    counts: Ints = np.empty(n_terms, dtype=np.int64)
    kernels.count_states(raw, space, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    terms = kernels.Terms(
        targets=np.empty(n_terms, dtype=np.int64),
        groups=np.empty(n_terms + 1, dtype=np.int64),
        variables=np.empty(n_codes, dtype=np.int64),
        shares=np.empty(n_codes),
        code_offsets=np.empty(n_codes + 1, dtype=np.int64),
        codes=np.empty(n_codes, dtype=np.int64),
        state_offsets=offsets,
        states=np.empty(offsets[-1], dtype=np.int64),
        weights=np.empty(offsets[-1]),
        back=np.empty(n_terms),
    )
    kernels.simplify_terms(raw, space, terms)
    return terms


def merged(
    terms: kernels.Terms,
    modes: Ints,
    positions: Ints,
    space: kernels.StateSpace,
    names: Sequence[str],
) -> Rules:
    """The features of all terms, with their weights summed; see `kernels.spread_terms`."""
    store = _store(2**12, 2**14)
    start = 0
    while True:
        start = kernels.spread_terms(terms, modes, positions, store, start)
        if store.sizes[2]:
            raise ParameterError(
                f"the conditional of {names[store.sizes[2] - 1]!r} gives a state of the base the "
                "probability zero; smooth it, or pass a base row that is possible whatever the "
                "other variables are."
            )
        if start == terms.targets.size:
            return _rules(store, space)
        store = _larger(store, *kernels.room_for_term(terms, modes, positions, start))


def _joined(parts: Parts, space: kernels.StateSpace) -> kernels.RawTerms:
    """Trees, rules and potentials side by side; their numbers end to end."""
    kinds = [_of_trees(parts), _of_rules(parts), *_of_potentials(parts)]
    numbers = np.concatenate([parts.leaf_values, parts.rule_weights, parts.values])
    targets, starts, steps, sizes, variables, values, negated = (
        np.concatenate(arrays) for arrays in zip(*kinds, strict=True)
    )
    codes = 2 * (space.firsts[variables] + values) + negated
    return kernels.RawTerms(
        targets, starts, steps, np.concatenate([[0], np.cumsum(sizes)]), codes, numbers
    )


def _of_trees(parts: Parts) -> list[Array]:
    """(targets, starts, steps, sizes, variables, values, negated) of leaves that are reached."""
    leaves, offsets, variables, values, negated = paths(
        parts.cards, parts.nodes, parts.tree_roots[:-1]
    )
    targets = np.repeat(np.arange(parts.cards.size), np.diff(parts.tree_offsets))
    trees = np.searchsorted(parts.tree_roots, leaves, side="right") - 1
    starts = parts.nodes[leaves, 2]
    return [
        targets[trees],
        starts,
        np.ones_like(starts),
        np.diff(offsets),
        variables,
        values,
        negated,
    ]


def _of_rules(parts: Parts) -> list[Array]:
    targets = np.repeat(np.arange(parts.cards.size), np.diff(parts.touching_offsets))
    rules = parts.touching
    sizes = np.diff(parts.rule_offsets)[rules]
    which = segments(parts.rule_offsets, rules)
    starts = parts.leaf_values.size + rules
    conditions = (parts.rule_variables, parts.rule_values, parts.rule_negated)
    return [targets, starts, np.zeros_like(starts), sizes, *(array[which] for array in conditions)]


def _of_potentials(parts: Parts) -> list[list[Array]]:
    """For each potential a term for each joint state of the variables other than the target."""
    found = []
    total = 0
    before = parts.leaf_values.size + parts.rule_weights.size
    for v in range(parts.cards.size):
        for t in parts.potentials[parts.potential_offsets[v] : parts.potential_offsets[v + 1]]:
            mine = slice(parts.scope_offsets[t], parts.scope_offsets[t + 1])
            scope, strides = parts.scopes[mine], parts.strides[mine]
            others, step = scope[scope != v], strides[scope == v]
            cells = int(parts.cards[others].prod())
            total += cells * others.size
            if total > MAX_CONDITIONS:
                raise TableSizeError(
                    f"the potentials written out have more than {MAX_CONDITIONS:,} conditions; "
                    "learn trees or smaller tables."
                )
            states = np.indices(parts.cards[others]).reshape(others.size, cells)
            starts = before + parts.value_offsets[t] + strides[scope != v] @ states
            sizes = np.full(cells, others.size)
            found.append([
                np.full(cells, v), starts, np.full(cells, step[0]), sizes,
                np.tile(others, cells), states.T.reshape(-1), np.zeros(states.size, dtype=bool),
            ])  # fmt: skip
    return found


def _store(features: int, codes: int) -> kernels.FeatureStore:
    """An empty store with room for so many features and codes."""
    n_slots = 1 << (2 * features - 1).bit_length()  # at most half full
    return kernels.FeatureStore(
        sizes=np.zeros(3, dtype=np.int64),
        slots=np.full(n_slots, -1, dtype=np.int64),
        hashes=np.empty(features, dtype=np.uint64),
        offsets=np.zeros(features + 1, dtype=np.int64),
        codes=np.empty(codes, dtype=np.int64),
        weights=np.empty(features),
    )


def _larger(store: kernels.FeatureStore, features: int, codes: int) -> kernels.FeatureStore:
    """The same features with room for so many more, and for twice as many as there are."""
    n, size, _ = store.sizes.tolist()
    if size + codes > MAX_CONDITIONS:
        raise TableSizeError(
            f"the features have more than {MAX_CONDITIONS:,} conditions; pass a smaller "
            "max_length, or orders='linear' or 'single'."
        )
    larger = _store(max(2 * n, n + features), max(2 * size, size + codes))
    larger.sizes[:] = store.sizes
    larger.hashes[:n], larger.weights[:n] = store.hashes[:n], store.weights[:n]
    larger.offsets[: n + 1], larger.codes[:size] = store.offsets[: n + 1], store.codes[:size]
    kernels.refill_slots(larger)
    return larger


def _rules(store: kernels.FeatureStore, space: kernels.StateSpace) -> Rules:
    """The features whose weight is not zero."""
    n, size, _ = store.sizes.tolist()
    weights, sizes, codes = store.weights[:n], np.diff(store.offsets[: n + 1]), store.codes[:size]
    some = weights != 0.0
    if not some.all():
        codes, sizes, weights = codes[np.repeat(some, sizes)], sizes[some], weights[some]
    places = codes // 2
    variables = space.owners[places]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = places - space.firsts[variables]
    return Rules(space.cards, weights, offsets, variables, values, codes % 2 == 1)

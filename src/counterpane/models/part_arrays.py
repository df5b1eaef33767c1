"""The parts of conditionals as a few flat arrays, for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from counterpane.errors import ScopeError
from counterpane.features import Potential, Rules, Tree, check_cells
from counterpane.typing import Array, Ints

Part = Potential | Rules | Tree
KINDS = (Potential, Rules, Tree)


def to_part_arrays(conditionals: Sequence[Sequence[Part]]) -> dict[str, Array]:
    """int64 and float64 arrays that hold the parts of each variable, one after the other."""
    parts = [part for own in conditionals for part in own]
    tables = [p for p in parts if isinstance(p, Potential)]
    rules = [p for p in parts if isinstance(p, Rules)]
    trees = [p for p in parts if isinstance(p, Tree)]
    whole: dict[str, Sequence[Array | Sequence[int]]] = {
        "kinds": [[KINDS.index(type(p)) for p in parts]],
        "part_counts": [[len(own) for own in conditionals]],
        "scope_sizes": [[len(p.scope) for p in tables]],
        "scopes": [p.scope for p in tables],
        "rule_counts": [[len(p) for p in rules]],
        "rule_sizes": [np.diff(p.offsets) for p in rules],
        "rule_variables": [p.variables for p in rules],
        "rule_values": [p.values for p in rules],
        "rule_negated": [p.negated for p in rules],
        "tree_sizes": [[p.variables.size for p in trees]],
        "tree_nodes": [p.nodes().reshape(-1) for p in trees],
    }
    numbers = {
        "log_values": [p.log_values.reshape(-1) for p in tables],
        "rule_weights": [p.weights for p in rules],
        "leaf_values": [p.log_values[p.variables < 0].reshape(-1) for p in trees],
    }
    ints = {name: _joined(arrays, np.int64) for name, arrays in whole.items()}
    return ints | {name: _joined(arrays, np.float64) for name, arrays in numbers.items()}


def from_part_arrays(cards: Ints, arrays: Mapping[str, Array]) -> list[list[Part]]:
    """The parts of each variable that `to_part_arrays` described; what does not add up raises."""
    counts, kinds = arrays["part_counts"], arrays["kinds"].tolist()
    if (
        counts.size != cards.size
        or (counts < 0).any()
        or counts.sum() != len(kinds)
        or min(kinds, default=0) < 0
    ):
        raise ScopeError(f"{len(kinds)} parts do not fit {counts.size} counts of them.")
    reader = _Reader(cards, arrays)
    read = (reader.potential, reader.rules, reader.tree)
    given = iter(kinds)
    conditionals: list[list[Part]] = [
        [read[next(given)](v) for _ in range(count)] for v, count in enumerate(counts.tolist())
    ]
    reader.check_empty()
    return conditionals


def _joined(arrays: Sequence[Array | Sequence[int]], dtype: type[np.generic]) -> Array:
    return np.concatenate([np.empty(0, dtype), *(np.asarray(a, dtype) for a in arrays)])


class _Reader:
    """Takes parts off the front of the arrays."""

    def __init__(self, cards: Ints, arrays: Mapping[str, Array]) -> None:
        self.cards = cards
        self.arrays = arrays
        self.taken = dict.fromkeys(arrays, 0)

    def potential(self, target: int) -> Part:
        scope = self._take("scopes", self._one("scope_sizes"))
        shape = self.cards[scope]
        size = check_cells(shape, "a potential of the file")
        return Potential(scope, self._take("log_values", size).reshape(shape))

    def rules(self, target: int) -> Part:
        count = self._one("rule_counts")
        offsets = np.concatenate([[0], np.cumsum(self._take("rule_sizes", count))])
        names = ("rule_variables", "rule_values", "rule_negated")
        flat = [self._take(name, int(offsets[-1])) for name in names]
        return Rules(self.cards, self._take("rule_weights", count), offsets, *flat)

    def tree(self, target: int) -> Part:
        size = self._one("tree_sizes")
        nodes = self._take("tree_nodes", 4 * size).reshape(size, 4)
        leaves = nodes[:, 0] < 0
        states = int(self.cards[target])
        values = np.zeros((size, states))
        values[leaves] = self._take("leaf_values", states * int(leaves.sum())).reshape(-1, states)
        return Tree(self.cards, target, nodes[:, 0], nodes[:, 1], nodes[:, 2:], values)

    def check_empty(self) -> None:
        """Refuse arrays that hold more than the parts took."""
        for name, array in self.arrays.items():
            if name not in ("kinds", "part_counts") and self.taken[name] != array.size:
                raise ScopeError(f"{array.size - self.taken[name]} numbers of {name} are too many.")

    def _one(self, name: str) -> int:
        return int(self._take(name, 1)[0])

    def _take(self, name: str, count: int) -> Array:
        start = self.taken[name]
        if not 0 <= count <= self.arrays[name].size - start:
            raise ScopeError(f"{count} more numbers of {name} are needed than the file holds.")
        self.taken[name] = start + count
        return self.arrays[name][start : start + count]

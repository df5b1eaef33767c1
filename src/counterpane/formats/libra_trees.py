"""Trees of single numbers, as Libra's files hold them, and trees of a target's states, as ours."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from counterpane.errors import ScopeError
from counterpane.features import MAX_CELLS, Rules, Tree
from counterpane.features.tree import paths
from counterpane.typing import Bools, Floats, Ints

MAX_DEPTH = 1000


class ScalarTree(NamedTuple):
    """Nodes (variable, value, node if it has it, node otherwise) end to end, parents first.

    A leaf has the variable −1 and its own number in `log_values`.
    """

    nodes: array[int]
    log_values: array[float]

    def add(self, variable: int, value: int, log_value: float) -> None:
        """Append a node without children."""
        self.nodes.extend((variable, value, -1, -1))
        self.log_values.append(log_value)


def grown(cards: Ints, tree: ScalarTree, target: int) -> Tree | Rules:
    """The tree whose leaves hold the target's states; rules where it is asked further up."""
    nodes: Ints = np.array(tree.nodes, dtype=np.int64).reshape(-1, 4)
    numbers: Floats = np.array(tree.log_values)
    inner = nodes[:, 0] >= 0
    if (nodes[:, 0] >= cards.size).any() or (nodes[inner, 1] >= cards[nodes[inner, 0]]).any():
        raise ScopeError(f"a tree names a variable or state that the {cards.size} do not have.")
    longest, total = _depths(nodes)
    if longest > MAX_DEPTH or total > MAX_CELLS:
        raise ScopeError(f"a tree is deeper than {MAX_DEPTH} questions, or has too many leaves.")
    bottom = _bottom(nodes, target)
    if target < 0 or (~bottom & (nodes[:, 0] == target)).any():
        leaves, conditions = paths(cards, nodes, np.zeros(1, dtype=np.int64))
        return Rules(cards, numbers[leaves], *conditions)
    return _with_states(cards, nodes, numbers, bottom, target)


def tree_text(tree: Tree) -> Iterator[str]:
    """A tree in Libra's words; at a leaf the target's states are asked one by one."""
    r, name = int(tree.cards[tree.target]), f"v{tree.target}"
    waiting: list[str | int] = [0]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif (variable := tree.variables[node]) >= 0:
            yield f"(v{variable}_{tree.values[node]}\n"
            yes, no = tree.children[node].tolist()
            waiting += [")\n", no, yes]
        else:
            *states, last = map(repr, tree.log_values[node].tolist())
            asked = "".join(f"({name}_{s} {log} " for s, log in enumerate(states))
            yield f"{asked}{last}{')' * (r - 1)}\n"


def _depths(nodes: Ints) -> tuple[int, int]:
    """The number of questions before the deepest leaf, and before all leaves together."""
    depth: Ints = np.zeros(len(nodes), dtype=np.int64)
    for k, (variable, _, yes, no) in enumerate(nodes.tolist()):
        if variable >= 0:
            depth[yes] = depth[no] = depth[k] + 1
    leaves = depth[nodes[:, 0] < 0]
    return int(leaves.max()), int(leaves.sum())


def _bottom(nodes: Ints, target: int) -> Bools:
    """Whether nothing but the target is asked from a node on."""
    bottom = nodes[:, 0] < 0
    listed = nodes.tolist()
    for k in range(len(listed) - 1, -1, -1):
        variable, _, yes, no = listed[k]
        if variable == target:
            bottom[k] = bottom[yes] and bottom[no]
    return bottom


def _with_states(cards: Ints, nodes: Ints, numbers: Floats, bottom: Bools, target: int) -> Tree:
    """The tree cut where only the target is asked, and there its states' numbers."""
    top = ~bottom
    top[nodes[top][:, 2:]] = True
    top[0] = True
    kept = np.flatnonzero(top)
    states = int(cards[target])
    if kept.size * states > MAX_CELLS:
        raise ScopeError(f"a tree of {kept.size:,} nodes and {states} states is too large.")
    place = np.cumsum(top) - 1
    log_values: Floats = np.zeros((kept.size, states))
    own = nodes[kept]
    leaves = bottom[kept]
    own[leaves] = (-1, 0, -1, -1)
    own[~leaves, 2:] = place[own[~leaves, 2:]]
    for row, k in zip(np.flatnonzero(leaves).tolist(), kept[leaves].tolist(), strict=True):
        log_values[row] = _states(nodes, numbers, k, states)
    return Tree(cards, target, own[:, 0], own[:, 1], own[:, 2:], log_values)


def _states(nodes: Ints, numbers: Floats, node: int, states: int) -> Floats:
    """The number of each state of the target, the only one asked from `node` on."""
    found: Floats = np.empty(states)
    free = np.ones(states, dtype=bool)
    while nodes[node, 0] >= 0:
        _, state, one, node = nodes[node].tolist()
        if free[state]:
            while nodes[one, 0] >= 0:
                one = nodes[one, 2 if nodes[one, 1] == state else 3]
            found[state] = numbers[one]
            free[state] = False
    found[free] = numbers[node]
    return found

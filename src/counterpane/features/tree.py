"""A probabilistic decision tree: the log-conditional of one variable given the others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from counterpane._core import features as kernels
from counterpane.errors import ParameterError, ScopeError
from counterpane.features.conditions import Conditions
from counterpane.features.rules import Rules, read_only
from counterpane.ragged import offsets_of
from counterpane.typing import Floats, Ints


class Tree:
    """ln P(x_target | the other variables), by questions "has x the value?" from node 0 down.

    Node k asks whether variables[k] has the code values[k]; children[k] are the next node if so,
    and the next node otherwise. At a leaf variables[k] is −1, children[k] is (−1, −1), and
    log_values[k] holds the natural logs of the target's states, minus infinity where a state is
    impossible; elsewhere log_values is not read. A path may ask a variable of many states several
    times. Final and read-only.

    >>> leaves = np.log([[1, 1], [0.9, 0.1], [0.5, 0.5]])
    >>> tree = Tree([2, 3], 0, [1, -1, -1], [2, 0, 0], [[1, 2], [-1, -1], [-1, -1]], leaves)
    >>> tree, len(tree.to_rules())
    (Tree(target=0, 2 leaves, depth 1), 4)
    """

    __slots__ = ("cards", "children", "depth", "log_values", "target", "values", "variables")

    def __init__(
        self,
        cards: npt.ArrayLike,
        target: int,
        variables: npt.ArrayLike,
        values: npt.ArrayLike,
        children: npt.ArrayLike,
        log_values: npt.ArrayLike,
    ) -> None:
        self.cards: Ints = read_only(cards, np.int64)
        self.target = int(target)
        self.variables: Ints = read_only(variables, np.int64)
        self.values: Ints = read_only(values, np.int64)
        self.children: Ints = read_only(children, np.int64)
        self.log_values: Floats = read_only(log_values, np.float64)
        if not 0 <= self.target < self.cards.size:
            raise ScopeError(f"the target {target} must be among 0 … {self.cards.size - 1}.")
        _check_shapes(self)
        _check_questions(self)
        self.depth = _checked_depth(self)
        _check_leaves(self)

    def __repr__(self) -> str:
        leaves = int((self.variables < 0).sum())
        return f"Tree(target={self.target}, {leaves} leaves, depth {self.depth})"

    def to_rules(self) -> Rules:
        """One rule for each leaf and state of the target: the path's conditions, and the state.

        The rule's weight is the leaf's log-value. Leaves that no row can reach are left out.
        """
        leaves, conditions = paths(self.cards, self.nodes(), np.zeros(1, dtype=np.int64))
        states = int(self.cards[self.target])
        which = np.arange(leaves.size * states) // states  # the leaf of each rule
        sizes = np.diff(conditions.offsets)[which]
        ends = offsets_of(sizes + 1)
        last = ends[1:] - 1  # the condition on the target is the last one
        place = np.arange(ends[-1]) + np.repeat(conditions.offsets[which] - ends[:-1], sizes + 1)
        flat = []
        state = np.arange(which.size) % states
        for array, target in zip(conditions[1:], (self.target, state, False), strict=True):
            padded = np.append(array, array.dtype.type(0))[np.minimum(place, array.size)]
            padded[last] = target
            flat.append(padded)
        return Rules(self.cards, self.log_values[leaves].reshape(-1), ends, *flat)

    def nodes(self) -> Ints:
        """(variable, value, node if it has it, node otherwise) of each node, for kernels."""
        return np.column_stack([self.variables, self.values, self.children])


def paths(cards: Ints, nodes: Ints, roots: Ints) -> tuple[Ints, Conditions]:
    """(the leaves of a forest that some row reaches, the conditions on the path to each).

    Conditions are in the order of the path, without those that earlier ones imply.
    """
    parents, sizes = np.empty((2, len(nodes)), dtype=np.int64)
    kernels.mark_paths(cards, nodes, roots, parents, sizes)
    leaves = np.flatnonzero((nodes[:, 0] < 0) & (sizes >= 0))
    offsets = offsets_of(sizes[leaves])
    variables, values = np.empty((2, offsets[-1]), dtype=np.int64)
    conditions = Conditions(offsets, variables, values, np.empty(offsets[-1], dtype=np.bool_))
    kernels.fill_paths(cards, nodes, parents, sizes, leaves, *conditions)
    return leaves, conditions


def _check_shapes(tree: Tree) -> None:
    n = tree.variables.size
    shapes = [a.shape for a in (tree.variables, tree.values, tree.children, tree.log_values)]
    needed = [(n,), (n,), (n, 2), (n, int(tree.cards[tree.target]))]
    if n == 0 or shapes != needed:
        raise ParameterError(
            f"a tree's variables, values, children and log-values have the shapes {shapes}; "
            f"{needed} are needed, with at least one node."
        )


def _check_questions(tree: Tree) -> None:
    """Raise for a question about an unknown variable or value, or about the target."""
    columns, values = tree.variables, tree.values
    inner = columns >= 0
    bad = (columns < -1) | (columns >= tree.cards.size) | (columns == tree.target)
    if not bad.any():
        bad = inner & ((values < 0) | (values >= tree.cards[columns]))
    if bad.any():
        k = int(np.argmax(bad))
        raise ScopeError(
            f"node {k} asks whether variable {columns[k]} has the value {values[k]}; the target is "
            f"variable {tree.target}, there are {tree.cards.size} variables, and values are "
            "0 … card−1."
        )


def _checked_depth(tree: Tree) -> int:
    """The number of questions on the longest path; raises if the children do not form a tree."""
    inner, children, n = tree.variables >= 0, tree.children, tree.variables.size
    listed = np.sort(children[inner], axis=None)
    if (children[~inner] != -1).any() or not np.array_equal(listed, np.arange(1, n)):
        raise ParameterError(
            "the children make no tree: each node but the root must be the child of one other, "
            "and leaves have the children (-1, -1)."
        )
    depth = -1
    here: Ints = np.zeros(1, dtype=np.int64)
    reached = 0
    while here.size:
        depth, reached = depth + 1, reached + here.size
        here = children[here[inner[here]]].reshape(-1)
    if reached != n:
        raise ParameterError(f"only {reached} of the {n} nodes can be reached from node 0.")
    return depth


def _check_leaves(tree: Tree) -> None:
    leaves = tree.log_values[tree.variables < 0]
    if np.isnan(leaves).any() or (leaves == np.inf).any():
        raise ParameterError("a leaf holds NaN or +infinity; finite logs and -infinity are needed.")
    if (leaves == -np.inf).all(axis=1).any():
        raise ParameterError("a leaf makes every state impossible; one at least must be possible.")

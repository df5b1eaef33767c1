"""Loops over conditions: those of rules, and those on the paths of decision trees."""

from __future__ import annotations

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Bools, Ints

TOLD, FREE, DEAD = 0, 1, 2


@kernel
def find_contradiction(
    cards: Ints,
    offsets: Ints,
    variables: Ints,
    values: Ints,
    negated: Bools,
    firsts: Ints,
    asked: Ints,
    left: Ints,
    excluded: Ints,
) -> int:
    """The first condition that those before it in its rule rule out, or −1.

    `asked` and `left` have an entry for each variable; `excluded` has one for each state, from
    firsts[v] on, and holds zeros.
    """
    for rule in range(offsets.size - 1):
        start, stop = offsets[rule], offsets[rule + 1]
        for k in range(start, stop):
            asked[variables[k]] = -1
            left[variables[k]] = cards[variables[k]]
        for k in range(start, stop):
            v, value = variables[k], values[k]
            place = firsts[v] + value
            gone = excluded[place] == rule + 1
            if not negated[k]:
                if gone or (asked[v] >= 0 and asked[v] != value):
                    return k
                asked[v] = value
            elif not gone:
                excluded[place] = rule + 1
                left[v] -= 1
                if left[v] == 0 or asked[v] == value:
                    return k
    return -1


@kernel
def mark_paths(
    cards: Ints, nodes: Ints, roots: Ints, parents: Ints, stack: Ints, sizes: Ints
) -> None:
    """Fill `sizes` with the number of conditions on the way to each node, −1 where none can come.

    A row of `nodes` is (variable, value, node if it has the value, node otherwise), the variable −1
    at a leaf. A condition that those above it imply is not counted. `parents` gets
    2·parent + (whether the answer was no). `stack` has room for all nodes.
    """
    for root in roots:
        sizes[root] = 0
        parents[root] = 0
        stack[0] = root
        top = 1
        while top:
            top -= 1
            here = stack[top]
            if nodes[here, 0] < 0:
                continue
            for no in range(2):
                child = nodes[here, 2 + no]
                stack[top] = child
                top += 1
                parents[child] = 2 * here + no
                sizes[child] = -1
                if sizes[here] >= 0:
                    fate = _fate(cards, nodes, parents, sizes, root, here, no == 1)
                    if fate != DEAD:
                        sizes[child] = sizes[here] + fate


@kernel
def _fate(
    cards: Ints, nodes: Ints, parents: Ints, sizes: Ints, root: int, here: int, no: bool
) -> int:
    """Whether the answers above node `here` imply its answer, leave it open, or rule it out."""
    variable, value = nodes[here, 0], nodes[here, 1]
    excluded = np.int64(0)
    below = here
    while below != root:
        node, said_no = parents[below] // 2, parents[below] % 2 == 1
        implied = sizes[below] == sizes[node]
        below = node
        if implied or nodes[node, 0] != variable:
            continue
        same = nodes[node, 1] == value
        if not said_no:  # it is known to have a value
            return TOLD if same != no else DEAD
        if same:
            return TOLD if no else DEAD
        excluded += 1
    left = cards[variable] - excluded  # values that it may have, this one among them
    if left == 1:
        return DEAD if no else TOLD
    return FREE


@kernel
def fill_paths(
    cards: Ints,
    nodes: Ints,
    parents: Ints,
    sizes: Ints,
    leaves: Ints,
    offsets: Ints,
    variables: Ints,
    values: Ints,
    negated: Bools,
) -> None:
    """Write the conditions of each leaf, root first: those of leaf i end before offsets[i+1]."""
    for i in range(leaves.size):
        k = offsets[i + 1]
        below = leaves[i]
        while k > offsets[i]:
            node, no = parents[below] // 2, parents[below] % 2 == 1
            if sizes[below] > sizes[node]:
                k -= 1
                variable, value = nodes[node, 0], nodes[node, 1]
                two = cards[variable] == 2  # where "not 0" is written as "1"
                variables[k] = variable
                values[k] = 1 - value if no and two else value
                negated[k] = no and not two
            below = node

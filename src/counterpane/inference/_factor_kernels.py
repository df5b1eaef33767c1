"""Scopes within scopes, and the sums of tables and rules over them."""

from __future__ import annotations

import numpy as np

from counterpane._jit import kernel
from counterpane.inference.conjunctions import Conjunctions
from counterpane.typing import Bools, Codes, Floats, Ints, Words


@kernel
def absorb(
    offsets: Ints, variables: Ints, owners: Ints, order: Ints, counts: Ints, heads: Ints,
    nexts: Ints, holders: Ints, marks: Words, hosts: Ints,
) -> int:  # fmt: skip
    """Fill `hosts` with the number of a scope that holds each scope; returns how many there are.

    Scope i is variables[offsets[i]] … , sorted, and its host has the same owner. `order` must put
    large scopes first and equal ones side by side. `counts` and `heads` are over variables, zero
    and −1; `nexts`, `holders` and `marks` have room for all entries: lists of the hosts that hold a
    variable, each with a mark of its scope, in which 64 residues of variables are bits.
    """
    n_hosts, n_nodes, previous = 0, 0, -1
    for i in order:
        first, last = offsets[i], offsets[i + 1]
        size = last - first
        hosts[i] = -1
        if size == 0:
            continue
        if previous >= 0 and offsets[previous + 1] - offsets[previous] == size:
            same = owners[previous] == owners[i]
            for k in range(size):
                same = same and variables[offsets[previous] + k] == variables[first + k]
            if same:
                hosts[i] = hosts[previous]
                continue
        previous = i
        rare, mark = variables[first], np.uint64(0)
        for k in range(first, last):
            mark |= np.uint64(1) << np.uint64(variables[k] % 64)
            if counts[variables[k]] < counts[rare]:
                rare = variables[k]
        node = heads[rare]
        while node >= 0:
            j = holders[node]
            k, m = first, offsets[j]
            if mark & ~marks[node] == 0 and owners[j] == owners[i]:
                while k < last and m < offsets[j + 1] and variables[m] <= variables[k]:
                    if variables[m] == variables[k]:
                        k += 1
                    m += 1
            if k == last:
                hosts[i] = hosts[j]
                break
            node = nexts[node]
        if hosts[i] < 0:
            hosts[i] = n_hosts
            n_hosts += 1
            for k in range(first, last):
                v = variables[k]
                counts[v] += 1
                holders[n_nodes], nexts[n_nodes], marks[n_nodes] = i, heads[v], mark
                heads[v] = n_nodes
                n_nodes += 1
    return n_hosts


@kernel
def add_table(
    source: Floats, start: int, scope: Ints, cards: Ints, steps: Ints, digits: Ints, target: Floats
) -> None:
    """Add a table to `target`, over `scope`, the last variable fastest.

    A state of scope[k] moves steps[k] cells in the source, from `start` on: none where it is not
    in the source's scope.
    """
    digits[: scope.size] = 0
    at = start
    for cell in range(target.size):
        target[cell] += source[at]
        k = scope.size - 1
        while k >= 0:
            digits[k] += 1
            at += steps[k]
            if digits[k] < cards[scope[k]]:
                break
            at -= steps[k] * digits[k]
            digits[k] = 0
            k -= 1


@kernel
def add_rule(
    rules: Conjunctions, r: int, scope: Ints, cards: Ints, strides: Ints, digits: Ints,
    firsts: Ints, target: Floats,
) -> None:  # fmt: skip
    """Add a rule's weight to the cells of `target`, over `scope`, in which it holds.

    Its entries on other variables are not read, and only cells that get something are visited.
    `digits` counts through the states of each variable, `firsts` is where the flags of the rule's
    entry on it begin, −1 without one.
    """
    e = rules.offsets[r]
    for k in range(scope.size):
        while e < rules.offsets[r + 1] and rules.variables[e] < scope[k]:
            e += 1
        named = e < rules.offsets[r + 1] and rules.variables[e] == scope[k]
        firsts[k] = rules.first[e] if named else -1
        digits[k] = -1
    k = 0  # the digit to move; those after it are at −1, and `cell` is without them
    cell = np.int64(0)
    while k >= 0:
        digits[k] += 1
        while (
            digits[k] < cards[scope[k]]
            and firsts[k] >= 0
            and not rules.flags[firsts[k] + digits[k]]
        ):
            digits[k] += 1
        if digits[k] == cards[scope[k]]:
            digits[k] = -1
            k -= 1
            if k >= 0:
                cell -= strides[k] * digits[k]
        elif k + 1 < scope.size:
            cell += strides[k] * digits[k]
            k += 1
        else:
            target[cell + strides[k] * digits[k]] += rules.weights[r]


@kernel
def add_rules(
    rules: Conjunctions, mine: Ints, hosts: Ints, scope_offsets: Ints, scopes: Ints, strides: Ints,
    cards: Ints, cell_offsets: Ints, free: Bools, x: Codes, spare: Ints, values: Floats,
) -> None:  # fmt: skip
    """Add each of the rules `mine` to the table of its host, if what is not free in `x` allows."""
    for k in range(mine.size):
        holds = True
        for e in range(rules.offsets[mine[k]], rules.offsets[mine[k] + 1]):
            v = rules.variables[e]
            if not free[v] and not rules.flags[rules.first[e] + np.int64(x[v, 0])]:
                holds = False
                break
        if not holds:
            continue
        h = hosts[k]
        first, last = scope_offsets[h], scope_offsets[h + 1]
        target = values[cell_offsets[h] : cell_offsets[h + 1]]
        add_rule(
            rules, mine[k], scopes[first:last], cards, strides[first:last], spare[0], spare[1],
            target,
        )  # fmt: skip


@kernel
def add_tables(
    source: Floats, starts: Ints, step_offsets: Ints, steps: Ints, hosts: Ints, scope_offsets: Ints,
    scopes: Ints, cards: Ints, cell_offsets: Ints, digits: Ints, values: Floats,
) -> None:  # fmt: skip
    """Add tables, which start in `source` where `starts` says, to those of their hosts."""
    for f in range(hosts.size):
        h = hosts[f]
        scope = scopes[scope_offsets[h] : scope_offsets[h + 1]]
        target = values[cell_offsets[h] : cell_offsets[h + 1]]
        mine = steps[step_offsets[f] : step_offsets[f + 1]]
        add_table(source, starts[f], scope, cards, mine, digits, target)


@kernel
def set_strides(offsets: Ints, variables: Ints, cards: Ints, strides: Ints, cells: Ints) -> None:
    """Fill the strides of tables over scopes, the last variable fastest, and their offsets."""
    for i in range(offsets.size - 1):
        step = np.int64(1)
        for k in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            strides[k] = step
            step *= cards[variables[k]]
        cells[i + 1] = cells[i] + step


@kernel
def align(
    starts: Ints, variables: Ints, steps: Ints, hosts: Ints, scope_offsets: Ints, scopes: Ints,
    offsets: Ints, out: Ints,
) -> None:  # fmt: skip
    """Write the steps of each scope's variables where they are in the scope of its host."""
    for i in range(hosts.size):
        k = starts[i]
        for j in range(offsets[i + 1] - offsets[i]):
            v = scopes[scope_offsets[hosts[i]] + j]
            if k < starts[i + 1] and variables[k] == v:
                out[offsets[i] + j] = steps[k]
                k += 1


@kernel
def pair_up(offsets: Ints, variables: Ints, owners: Ints, n: int, out: Ints) -> int:
    """Write n · v + u for all u that share a scope with v which serves v; returns how many."""
    size = 0
    for i in range(offsets.size - 1):
        for k in range(offsets[i], offsets[i + 1]):
            if owners[i] < 0 or owners[i] == variables[k]:
                for m in range(offsets[i], offsets[i + 1]):
                    if m != k:
                        out[size] = n * variables[k] + variables[m]
                        size += 1
    return size

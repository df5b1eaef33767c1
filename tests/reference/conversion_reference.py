"""The conversion of dependency networks by its definition, over all rows; imports none of ours.

A term is (target, table, orders): a table over all rows that is part of ln P(target | rest), and
the orders of the variables over which its contribution is averaged.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np


def rule_table(cards, weight, conditions):
    """The table over all rows of a weight that counts where (variable, value, negated) hold."""
    table = np.zeros(cards)
    for row in product(*map(range, cards)):
        if all((row[v] == value) != bool(negated) for v, value, negated in conditions):
            table[row] = weight
    return table


def walk(tree, row):
    """The node at which a row ends in (variables, values, children)."""
    variables, values, children = tree
    node = 0
    while variables[node] >= 0:
        node = children[node][0 if row[variables[node]] == values[node] else 1]
    return node


def leaf_tables(cards, target, tree, log_values):
    """For each leaf that is reached, the variables that matter on the way, and its table."""
    reached = {}
    for row in product(*map(range, cards)):
        leaf = walk(tree, row)
        reached.setdefault(leaf, np.zeros(cards))[row] = log_values[leaf][row[target]]
    return [(depends_on(table != 0, target), table) for table in reached.values()]


def depends_on(table, target):
    """The variables other than the target along which a table changes."""
    changes = [v for v in range(table.ndim) if (table != table.take([0], axis=v)).any()]
    return {v for v in changes if v != target}


def all_orders(n):
    return list(permutations(range(n)))


def rotations(n, reverse):
    order = list(range(n))
    bases = [order, order[::-1]] if reverse else [order]
    return [base[k:] + base[:k] for base in bases for k in range(n)]


def log_potentials(cards, terms, base):
    """ln of the product of φ over all rows: its mean over base rows drawn from `base`.

    base[v] has the probabilities of the states of v. Along an order the variables change one by one
    from the base row to the row; each change adds ln P(new state | rest) − ln P(base state | rest).
    """
    rows = list(product(*map(range, cards)))
    total = np.zeros(cards)
    for start in rows:
        share = np.prod([base[v][start[v]] for v in range(len(cards))])
        if share == 0:
            continue
        for target, table, orders in terms:
            for order in orders:
                before = order[: order.index(target)]
                for row in rows:
                    now = list(start)
                    for v in before:
                        now[v] = row[v]
                    here = table[tuple(now)]
                    now[target] = row[target]
                    total[row] += share * (table[tuple(now)] - here) / len(orders)
    return total

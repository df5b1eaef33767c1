"""The features of a model, each once: what weights are learned for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from counterpane.errors import ParameterError
from counterpane.features import Potential, Rules, Tree
from counterpane.learn.markov.conditions import (
    Conditions,
    canonical,
    fingerprints,
    grouped,
    segment_sums,
)
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.dependency_network import DependencyNetwork
from counterpane.models.markov_network import MarkovNetwork
from counterpane.models.query import JointModel
from counterpane.ragged import offsets_of
from counterpane.typing import Array, Bools, Floats, Ints

Part = Potential | Rules


def parts_of(model: JointModel) -> list[Part]:
    """The tables and rules of a network; a tree gives a rule for each leaf and state."""
    if isinstance(model, MarkovNetwork):
        return [*model.potentials, *model.rules]
    if isinstance(model, BayesianNetwork):
        return list(model.to_potentials())
    if isinstance(model, DependencyNetwork):
        parts = (part for own in model.conditionals for part in own)
        return [part.to_rules() if isinstance(part, Tree) else part for part in parts]
    raise ParameterError(
        f"a {type(model).__name__} has no features to weigh; pass a Markov, dependency or Bayesian "
        "network, or a list of potentials and rules."
    )


def merged(cards: Ints, parts: Iterable[Part]) -> list[Part]:
    """Tables and rules that amount to `parts`, where no two features hold in the same rows.

    Tables of the same variables become one; so do rules with the same conditions, however they are
    written. A rule that asks for one cell of a table becomes part of it. Rules that hold in every
    row say nothing about any conditional, and are left out. Log-values and weights are summed.

    >>> same = [(0.5, [(0, 1, False), (1, 2, False)]), (0.25, [(1, 2, False), (0, 0, True)])]
    >>> merged(np.array([2, 3]), [Rules.from_list([2, 3], same)])[0].weights.tolist()
    [0.75]
    """
    given = list(parts)
    tables: dict[frozenset[int], Potential] = {}
    for part in given:
        if isinstance(part, Potential) and part.scope:
            key = frozenset(part.scope)
            tables[key] = _sum(tables[key], part) if key in tables else part
    rules = _distinct(cards, [part for part in given if isinstance(part, Rules)])
    if tables and len(rules):
        rules = _absorb(tables, rules)
    return [*tables.values(), rules] if len(rules) else list(tables.values())


def weights_of(parts: Sequence[Part]) -> Floats:
    """Log-values of the tables, end to end, then the weights of the rules."""
    tables = [part.log_values.reshape(-1) for part in parts if isinstance(part, Potential)]
    rules = [part.weights for part in parts if isinstance(part, Rules)]
    return np.concatenate([np.empty(0), *tables, *rules])


def with_weights(parts: Sequence[Part], weights: Floats) -> list[Part]:
    """The same features with other weights, in the order of `weights_of`; tables come first."""
    tables = [part for part in parts if isinstance(part, Potential)]
    rules = [part for part in parts if isinstance(part, Rules)]
    sizes = [table.log_values.size for table in tables] + [len(part) for part in rules]
    cut = iter(np.split(weights, np.cumsum(sizes)))
    return [
        *(Potential(t.scope, next(cut).reshape(t.log_values.shape)) for t in tables),
        *(Rules(r.cards, next(cut), r.offsets, r.variables, r.values, r.negated) for r in rules),
    ]


def chosen(rules: Rules, mask: Bools) -> Rules:
    """The rules that a mask leaves."""
    conditions = Conditions(rules.offsets, rules.variables, rules.values, rules.negated)
    return Rules(rules.cards, rules.weights[mask], *conditions.take(np.flatnonzero(mask)))


def _sum(one: Potential, other: Potential) -> Potential:
    """The sum of two tables of the same variables."""
    axes = [other.scope.index(v) for v in one.scope]
    return Potential(one.scope, one.log_values + other.log_values.transpose(axes))


def _joined(cards: Ints, rules: Sequence[Rules]) -> Rules:
    """All rules as one."""

    def flat(name: str, dtype: type) -> Array:
        return np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in rules)])

    sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in rules)])
    return Rules(cards, flat("weights", float), offsets_of(sizes), flat("variables", np.int64),
                 flat("values", np.int64), flat("negated", bool))  # fmt: skip


def _distinct(cards: Ints, parts: Sequence[Rules]) -> Rules:
    """The rules that hold in different rows, in the order in which they were first met."""
    rules = _joined(cards, parts)
    conditions = canonical(rules)
    groups, first = grouped(*segment_sums(fingerprints(cards, conditions), conditions.offsets))
    weights = np.bincount(groups, rules.weights, minlength=first.size)
    order = np.argsort(first)
    order = order[np.diff(conditions.offsets)[first[order]] > 0]
    return Rules(cards, weights[order], *conditions.take(first[order]))


def _absorb(tables: dict[frozenset[int], Potential], rules: Rules) -> Rules:
    """Add to `tables` the rules that ask for one of their cells; returns the other rules."""
    others = np.ones(len(rules), dtype=bool)
    for scope, members in rules.by_scope():
        table = tables.get(frozenset(scope))
        if table is None:
            continue
        values = table.log_values.copy()
        for rule in members:
            mine = slice(rules.offsets[rule], rules.offsets[rule + 1])
            if not rules.negated[mine].any():
                states = dict(zip(rules.variables[mine], rules.values[mine], strict=True))
                values[tuple(states[v] for v in table.scope)] += rules.weights[rule]
                others[rule] = False
        tables[frozenset(scope)] = Potential(table.scope, values)
    return chosen(rules, others)

"""Laws of the closed-form conversion: its definition, and consistent networks give themselves."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import counterpane as cp
from counterpane.features import Potential, Rules, Tree
from law_settings import examples
from reference import conversion_reference as reference

SETTINGS = examples(40, suppress_health_check=list(HealthCheck))
WAYS = ("all", "linear", "single", "given")


def random_tree(rng, cards, target, depth):
    """Node arrays of a tree that may ask a variable again, even in vain."""
    variables, values, children = [], [], []

    def grow(left):
        node = len(variables)
        others = [v for v in range(len(cards)) if v != target]
        split = bool(others) and left > 0 and rng.random() < 0.8
        variables.append(int(rng.choice(others)) if split else -1)
        values.append(int(rng.integers(cards[variables[node]])) if split else 0)
        children.append((-1, -1))
        if split:
            children[node] = (grow(left - 1), grow(left - 1))
        return node

    grow(depth)
    return variables, values, children


def random_rule(rng, cards, target):
    """A weight and conditions that some row meets, the target among them or not."""
    row = [int(rng.integers(card)) for card in cards]
    conditions = []
    for v in rng.permutation(len(cards))[: rng.integers(0, len(cards) + 1)].tolist():
        others = [s for s in range(cards[v]) if s != row[v]]
        if others and rng.random() < 0.6:
            chosen = rng.choice(others, size=rng.integers(1, len(others) + 1), replace=False)
            conditions += [(v, int(s), True) for s in chosen]
        if rng.random() < 0.5:
            conditions.append((v, row[v], False))
    return float(rng.normal()), conditions


@st.composite
def networks(draw):
    """(cards, parts of each variable, terms without orders: target, others, table)."""
    n = draw(st.integers(1, 4))
    cards = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    conditionals, terms = [[] for _ in cards], []
    for v in range(n):
        for _ in range(draw(st.integers(0, 2))):
            kind = rng.integers(3)
            if kind == 0:
                tree = random_tree(rng, cards, v, 3)
                logs = rng.normal(size=(len(tree[0]), cards[v]))
                conditionals[v].append(Tree(cards, v, *tree, logs))
                tables = reference.leaf_tables(cards, v, tree, logs)
                terms += [(v, others, table) for others, table in tables]
            elif kind == 1:
                rules = [random_rule(rng, cards, v) for _ in range(3)]
                conditionals[v].append(Rules.from_list(cards, rules))
                tables = [reference.rule_table(cards, *rule) for rule in rules]
                terms += [(v, reference.depends_on(t, v), t) for t in tables]
            else:
                others = [u for u in rng.permutation(n).tolist() if u != v][: rng.integers(3)]
                scope = [*others, v]
                values = rng.normal(size=[cards[u] for u in scope])
                conditionals[v].append(Potential(scope, values))
                for states in product(*(range(cards[u]) for u in others)):
                    table = np.zeros(cards)
                    for row in product(*map(range, cards)):
                        if all(row[u] == s for u, s in zip(others, states, strict=True)):
                            table[row] = values[(*states, row[v])]
                    terms.append((v, {u for u in others if cards[u] > 1}, table))
    return cards, conditionals, terms, rng


def centered(values):
    return values - values.mean()


def log_potentials(model, cards):
    codes = np.array(list(product(*map(range, cards))), dtype=np.uint8).T
    return model.engine.blanket.log_potential(codes).reshape(cards)


@SETTINGS
@given(
    networks(),
    st.sampled_from(WAYS),
    st.sampled_from(["row", "uniform", "marginals"]),
    st.booleans(),
    st.integers(1, 5),
)
def test_conversion_is_its_definition(network, way, base, reverse, max_length):
    cards, conditionals, terms, rng = network
    n = len(cards)
    given_orders = [rng.permutation(n).tolist() for _ in range(2)]
    natural = [list(range(n)), list(range(n))[::-1]][: 1 + reverse]
    at_first, beyond = {
        "all": (reference.all_orders(n), reference.rotations(n, reverse)),
        "linear": (reference.rotations(n, reverse), natural),
        "single": (natural[:1], natural[:1]),
        "given": (given_orders, given_orders),
    }[way]
    schema = cp.Schema.from_cards(cards)
    rows = [rng.integers(0, r, size=4) for r in cards]
    chances = {
        "row": [np.eye(r)[own[0]] for r, own in zip(cards, rows, strict=True)],
        "uniform": [np.full(r, 1 / r) for r in cards],
        "marginals": [
            (np.bincount(own, minlength=r) + 1 / r) / 5 for r, own in zip(cards, rows, strict=True)
        ],
    }[base]
    model = cp.to_markov_network(
        cp.DependencyNetwork(schema, conditionals),
        orders=given_orders if way == "given" else way,
        base={f"x{v}": int(own[0]) for v, own in enumerate(rows)} if base == "row" else base,
        data=cp.Table(schema, rows) if base == "marginals" else None,
        reverse=reverse,
        max_length=max_length,
    )
    taken = [(v, t, beyond if len(others) >= max_length else at_first) for v, others, t in terms]
    expected = reference.log_potentials(cards, taken, chances)
    found = log_potentials(model, cards)
    np.testing.assert_allclose(centered(found), centered(expected), atol=1e-9)


@SETTINGS
@given(networks(), st.sampled_from(WAYS[:3]), st.booleans())
def test_base_rows_are_the_mean_of_single_bases(network, way, weighted):
    cards, conditionals, _, rng = network
    schema = cp.Schema.from_cards(cards)
    codes = np.array([rng.integers(0, r, size=5) for r in cards], dtype=np.uint8)
    weights = rng.integers(1, 4, size=5) if weighted else np.ones(5, dtype=np.int64)
    dependency_network = cp.DependencyNetwork(schema, conditionals)
    found = cp.to_markov_network(
        dependency_network, orders=way, base=cp.Table(schema, codes, weights)
    )
    expected = np.zeros(cards)
    for row, weight in zip(codes.T.tolist(), weights / weights.sum(), strict=True):
        single = cp.to_markov_network(dependency_network, orders=way, base=row)
        expected += weight * log_potentials(single, cards)
    np.testing.assert_allclose(
        centered(log_potentials(found, cards)), centered(expected), atol=1e-9
    )


@SETTINGS
@given(networks(), st.sampled_from(WAYS[:3]))
def test_features_are_merged_and_none_is_a_constant(network, way):
    cards, conditionals, _, _ = network
    schema = cp.Schema.from_cards(cards)
    (rules,) = cp.to_markov_network(cp.DependencyNetwork(schema, conditionals), orders=way).rules
    keys = list(zip(rules.variables.tolist(), rules.values.tolist(), rules.negated, strict=True))
    features = [
        frozenset(keys[a:b]) for a, b in zip(rules.offsets, rules.offsets[1:], strict=False)
    ]
    assert len(set(features)) == len(features) and frozenset() not in features
    assert (rules.weights != 0).all() and (schema.cards[rules.variables] > 1).all()


@st.composite
def fields(draw):
    """A Markov network of 2 to 4 variables as potentials."""
    n = draw(st.integers(2, 4))
    cards = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scopes = [rng.permutation(n)[: rng.integers(1, 4)].tolist() for _ in range(4)]
    return cards, [Potential(s, rng.normal(size=[cards[v] for v in s])) for s in scopes], rng


def full_tree(cards, target, logs):
    """The tree that asks every other variable for every state, with the rows of `logs` below."""
    variables, values, children, leaves = [], [], [], []

    def grow(row, left):
        node = len(variables)
        for array, value in ((variables, -1), (values, 0), (children, (-1, -1)), (leaves, None)):
            array.append(value)
        if not left:
            leaves[node] = logs[
                tuple(slice(None) if v == target else row[v] for v in range(len(cards)))
            ]
            return node
        leaves[node] = np.zeros(cards[target])
        (v, s), *rest = left
        variables[node], values[node] = v, s
        yes = grow({**row, v: s}, [(u, t) for u, t in rest if u != v])
        no = grow({**row, v: s + 1}, rest)
        children[node] = (yes, no)
        return node

    asked = [(v, s) for v in range(len(cards)) if v != target for s in range(cards[v] - 1)]
    grow(dict.fromkeys(range(len(cards)), 0), asked)
    return Tree(cards, target, variables, values, children, leaves)


@SETTINGS
@given(
    fields(), st.sampled_from(WAYS), st.sampled_from(["row", "uniform", "marginals"]), st.booleans()
)
def test_a_consistent_network_gives_its_distribution(field, way, base, as_trees):
    cards, potentials, rng = field
    schema = cp.Schema.from_cards(cards)
    truth = cp.MarkovNetwork(schema, potentials)
    codes = np.array(list(product(*map(range, cards))), dtype=np.uint8).T
    weights = np.exp(truth.engine.blanket.log_potential(codes))
    joint = (weights / weights.sum()).reshape(cards)
    conditionals = []
    for v in range(len(cards)):
        logs = np.log(joint / joint.sum(axis=v, keepdims=True))
        part = full_tree(cards, v, logs) if as_trees else Potential(range(len(cards)), logs)
        conditionals.append([part])
    data = cp.Table(schema, [rng.integers(0, r, size=20) for r in cards])
    model = cp.to_markov_network(
        cp.DependencyNetwork(schema, conditionals),
        orders=rng.permutation(len(cards)).tolist() if way == "given" else way,
        base=[int(rng.integers(r)) for r in cards] if base == "row" else base,
        data=data if base == "marginals" else None,
    )
    logs = log_potentials(model, cards)
    found = np.exp(logs - logs.max())
    np.testing.assert_allclose(found / found.sum(), joint, rtol=1e-9, atol=1e-12)

"""The closed-form conversion where it is tight: zeros, one state, long features, odd questions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import (
    DataError,
    ParameterError,
    ScopeError,
    StateError,
    TableSizeError,
    UnknownNameError,
)
from counterpane.features import Potential, Rules, Tree
from counterpane.learners.dependency import conversion
from error_checks import raises

PAIR = Potential((0, 1), np.log([[0.4, 0.1], [0.2, 0.3]]))


def network(cards, conditionals):
    return cp.DependencyNetwork(cp.Schema.from_cards(cards), conditionals)


def pair():
    return network([2, 2], [[PAIR], [PAIR]])


def joint(model, cards):
    codes = np.array(list(product(*map(range, cards))), dtype=np.uint8).T
    logs = model.engine.blanket.log_potential(codes).reshape(cards)
    weights = np.exp(logs - logs.max())
    assert not np.isnan(weights).any()
    return weights / weights.sum()


def chain(n, target):
    """A tree that asks all others of n binary variables, one after the other, while it hears no."""
    others = [v for v in range(n) if v != target]
    size = 2 * len(others) + 1
    variables, values = [-1] * size, [1] * size
    children, logs = [(-1, -1)] * size, np.zeros((size, 2))
    for k, v in enumerate(others):
        variables[2 * k], children[2 * k] = v, (2 * k + 1, 2 * k + 2)
        logs[2 * k + 1] = np.log([0.9, 0.1])
    logs[-1] = np.log([0.2, 0.8])
    return Tree([2] * n, target, variables, values, children, logs)


def test_a_term_is_weighed_as_the_paper_does():
    one = Rules.from_list([2, 2], [(1.0, [(0, 1, False), (1, 1, False)])])
    found = features(cp.to_markov_network(network([2, 2], [[one], []])))
    found = {tuple(v for v, _, _ in conditions): weight for conditions, weight in found.items()}
    # Half of the orders put x1 first; where it is last it is 1 in half of the base rows.
    assert found == {(0, 1): 0.5, (1,): -0.25, (0,): 0.25}


def features(model):
    """{conditions: weight}"""
    (rules,) = model.rules
    keys = list(zip(rules.variables.tolist(), rules.values.tolist(), rules.negated, strict=True))
    ends = zip(rules.offsets, rules.offsets[1:], rules.weights.tolist(), strict=False)
    return {tuple(keys[a:b]): weight for a, b, weight in ends}


def test_conditions_have_one_form_and_weights_that_cancel_are_left_out():
    cards = [3, 3]
    listed = Rules.from_list(
        cards,
        [
            (1.0, [(1, 1, True), (0, 1, False), (1, 0, True), (1, 1, True)]),
            (2.0, [(0, 1, False), (1, 2, False), (1, 0, True)]),
            (5.0, [(1, 1, True), (0, 0, False)]),
            (-5.0, [(0, 0, False), (1, 1, True)]),
        ],
    )
    found = features(cp.to_markov_network(network(cards, [[listed], []]), orders=[1, 0]))
    assert found == {
        ((1, 2, False),): pytest.approx(-1.0),
        ((0, 1, False), (1, 2, False)): pytest.approx(3.0),
    }


def test_max_length_counts_the_target():
    one = Rules.from_list([2, 2], [(1.0, [(0, 1, False), (1, 1, False)])])
    model = network([2, 2], [[one], []])
    options = {"orders": "linear", "reverse": False}
    rotated = features(cp.to_markov_network(model, **options))
    single = features(cp.to_markov_network(model, orders="single"))
    assert rotated != single
    assert features(cp.to_markov_network(model, max_length=2, **options)) == rotated
    assert features(cp.to_markov_network(model, max_length=1, **options)) == single


def test_orders_by_name_and_by_place():
    model = pair()
    by_name = cp.to_markov_network(model, orders=["x1", "x0"])
    for orders in ([1, 0], [[1, 0]], [["x1", "x0"]], np.array([1, 0]), np.array([[1, 0]])):
        again = cp.to_markov_network(model, orders=orders)
        assert (again.rules[0].weights == by_name.rules[0].weights).all()
    assert by_name.record.conversion.orders == "given"


def test_base_rows_by_name_and_in_order():
    model = pair()
    by_name = cp.to_markov_network(model, base={"x1": 0, "x0": 1})
    for base in ([1, 0], (1, 0), np.array([1, 0])):
        again = cp.to_markov_network(model, base=base)
        assert (again.rules[0].weights == by_name.rules[0].weights).all()
    other = cp.to_markov_network(model, base=[0, 0]).rules[0]
    assert other.weights.tolist() != by_name.rules[0].weights.tolist()


def test_marginals_are_those_of_the_data():
    schema = cp.Schema.from_cards([2, 2])
    rows = cp.Table(schema, [[0, 0, 1], [1, 1, 2]], weights=[1.0, 2.0, 1.0])  # one cell is missing
    one = Rules.from_list([2, 2], [(1.0, [(0, 1, False), (1, 1, False)])])
    model = cp.DependencyNetwork(schema, [[one], []])
    p = (0 + 3 + 0.5) / (3 + 1)
    for data in (rows, cp.MemoryCounts(rows)):
        (rules,) = cp.to_markov_network(model, data=data, orders="single").rules
        np.testing.assert_allclose(rules.weights, [p])  # x0 is first: only x0 = 1 is left
    frame = {"x1": [1, 1], "x0": [0, 0], "other": ["u", "v"]}
    (rules,) = cp.to_markov_network(model, data=frame, orders="single").rules
    np.testing.assert_allclose(rules.weights, [2.5 / 3])
    with raises(ScopeError, about="data"):
        cp.to_markov_network(
            model, data=cp.MemoryCounts(cp.Table(cp.Schema.from_cards([2]), [[1]]))
        )


def test_one_state_variables_and_empty_networks():
    alone = Rules.from_list(
        [1, 2], [(3.0, [(0, 0, False)]), (1.0, [(0, 0, False), (1, 1, False)]), (2.0, [])]
    )
    tree = Tree([1, 2], 0, [-1], [0], [(-1, -1)], [[0.0]])
    model = cp.to_markov_network(network([1, 2], [[tree, alone], [alone]]))
    np.testing.assert_allclose(joint(model, (1, 2))[0, 1], 1 / (1 + np.exp(-1.0)))
    assert (model.rules[0].variables == 1).all()
    nothing = cp.to_markov_network(network([2, 3], [[], []]))
    assert len(nothing.rules[0]) == 0
    np.testing.assert_allclose(joint(nothing, (2, 3)), 1 / 6)


@pytest.mark.parametrize("orders", ["all", "linear", "single"])
def test_features_of_many_conditions(orders):
    n = 40
    model = network([2] * n, [[chain(n, v)] for v in range(n)])
    found = cp.to_markov_network(model, orders=orders)
    assert np.diff(found.rules[0].offsets).max() == n
    assert np.isfinite(found.rules[0].weights).all()
    rows = cp.Table(model.schema, np.random.default_rng(0).integers(0, 2, size=(n, 5)))
    assert np.isfinite(found.pseudo_log_likelihood(rows)).all()


def test_the_store_grows_as_it_must(monkeypatch):
    model = network([2] * 7, [[chain(7, v)] for v in range(7)])
    expected = cp.to_markov_network(model)
    whole = conversion._store
    monkeypatch.setattr(
        conversion,
        "_store",
        lambda f, c: whole(min(f, 130), min(c, 1100)) if f == 2**12 else whole(f, c),
    )
    again = cp.to_markov_network(model)
    assert (again.rules[0].weights == expected.rules[0].weights).all()
    assert (again.rules[0].variables == expected.rules[0].variables).all()


def test_what_would_be_too_large_is_refused_in_time(monkeypatch):
    monkeypatch.setattr(conversion, "MAX_CONDITIONS", 5000)
    model = network([2] * 12, [[chain(12, v)] for v in range(12)])
    with raises(TableSizeError, about=("max_length", "5,000 conditions")):
        cp.to_markov_network(model, max_length=12)
    table = Potential(range(11), np.zeros([2] * 11))
    with raises(TableSizeError, about="5,000"):
        cp.to_markov_network(network([2] * 11, [[table], *[[]] * 10]))


def zero_leaf():
    """x0 is never 1 where x1 is 1; x1 is free."""
    logs = [[0, 0], [0.0, -np.inf], np.log([0.5, 0.5])]
    tree = Tree([2, 2], 0, [1, -1, -1], [1, 0, 0], [(1, 2), (-1, -1), (-1, -1)], logs)
    return network([2, 2], [[tree], [Potential((1,), np.log([0.3, 0.7]))]])


def test_zero_probabilities_are_kept_where_the_base_is_possible():
    for orders in ("all", "linear", [1, 0]):
        found = joint(cp.to_markov_network(zero_leaf(), orders=orders, base=[0, 0]), (2, 2))
        assert found[1, 1] == 0.0 and (found.reshape(-1)[:3] > 0).all()
    # x1 first: P(x1) as it is, and then P(x0 | x1) over P(x0 = 0 | x1).
    np.testing.assert_allclose(found / found[0, 0], [[1, 0.7 / 0.3], [1, 0]])
    # x0 first meets x1 = 0 only, and x1 does not depend on it.
    found = joint(cp.to_markov_network(zero_leaf(), orders="single", base=[0, 0]), (2, 2))
    np.testing.assert_allclose(found, [[0.15, 0.35], [0.15, 0.35]])


@pytest.mark.parametrize("base", ["uniform", [1, 0], [1, 1], {"x0": 1, "x1": 1}])
def test_zero_probabilities_of_the_base_are_refused(base):
    with raises(ParameterError, about="'x0'"):
        cp.to_markov_network(zero_leaf(), base=base)


def test_zero_probabilities_that_the_order_never_meets_are_no_trouble():
    # x0 comes first and x1 is held at 0: the leaf with the zero is not reached.
    found = joint(cp.to_markov_network(zero_leaf(), orders=[0, 1], base=[1, 0]), (2, 2))
    np.testing.assert_allclose(found, [[0.15, 0.35], [0.15, 0.35]])


def test_a_state_that_is_impossible_whatever_else_is_no_trouble():
    never = Tree([3, 2], 0, [-1], [0], [(-1, -1)], [[np.log(0.25), -np.inf, np.log(0.75)]])
    model = cp.to_markov_network(network([3, 2], [[never], []]))
    np.testing.assert_allclose(joint(model, (3, 2)), [[0.125] * 2, [0.0] * 2, [0.375] * 2])


def test_impossible_rules_and_tables():
    rule = Rules.from_list([3, 2], [(-np.inf, [(0, 0, True), (1, 1, False)])])
    model = cp.to_markov_network(network([3, 2], [[rule], []]), base=[0, 0])
    found = joint(model, (3, 2))
    assert found[1:, 1].tolist() == [0, 0] and (found[0] > 0).all() and (found[:, 0] > 0).all()
    hollow = Potential((0, 1), [[0.0, -np.inf], [0.0, -np.inf], [0.0, -np.inf]])  # x1 = 1 never
    model = cp.to_markov_network(network([3, 2], [[hollow], [hollow]]), base=[0, 0])
    np.testing.assert_allclose(joint(model, (3, 2)), [[1 / 3, 0]] * 3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"orders": "some"}, UnknownNameError, "orders 'some' is not known"),
        ({"orders": []}, ParameterError, "no order was given"),
        ({"orders": [0]}, ParameterError, r"the order \[0\] must name each of the 2"),
        ({"orders": [[0, 1], [0, 0]]}, ParameterError, r"the order \[0, 0\] must name"),
        ({"orders": ["x0", "y"]}, UnknownNameError, "'y' is not known"),
        ({"base": "mean"}, UnknownNameError, "base 'mean' is not known"),
        ({"base": "marginals"}, ParameterError, "needs data="),
        ({"base": [0]}, ParameterError, "has 1 states for 2 variables"),
        ({"base": [0, 5]}, StateError, "5 is not one of 2 states"),
        ({"base": {"x0": 0}}, ParameterError, "does not tell 'x1'"),
        ({"max_length": 0}, ParameterError, "must be from 1 to 20"),
        ({"max_length": 21}, ParameterError, "must be from 1 to 20"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        cp.to_markov_network(pair(), **options)


def test_only_dependency_networks_are_converted():
    model = cp.MarkovNetwork(cp.Schema.from_cards([2, 2]), [PAIR])
    with raises(ParameterError, about="MarkovNetwork"):
        cp.to_markov_network(model)


# ---- rows as the base ----------------------------------------------------------------------------


def test_a_frame_a_table_and_a_source_are_the_same_base():
    data = cp.load_dataset("titanic")
    dependency_network = cp.DependencyNetworkLearner().fit(data).model_
    bases = [data, data.to_pandas(), cp.MemoryCounts(data)]
    first, *others = (cp.to_markov_network(dependency_network, base=base) for base in bases)
    cards = data.schema.cards.tolist()
    for other in others:
        np.testing.assert_allclose(joint(other, cards), joint(first, cards), rtol=1e-12)
    marginals = cp.to_markov_network(dependency_network, data=data)
    assert np.abs(joint(marginals, cards) - joint(first, cards)).max() > 1e-4


def test_long_paths_read_the_base_row_by_row():
    """A path of 24 conditions has too many subsets for a table."""
    n = 25
    codes = np.random.default_rng(0).integers(0, 2, (n, 40)).astype(np.uint8)
    dependency_network = network([2] * n, [[chain(n, v)] if v == 3 else [] for v in range(n)])
    table = cp.Table(dependency_network.schema, codes)
    ours = cp.to_markov_network(dependency_network, orders="linear", base=table)
    logs = ours.engine.blanket.log_potential(codes)
    single = [
        cp.to_markov_network(dependency_network, orders="linear", base=row)
        for row in codes.T.tolist()
    ]
    expected = np.mean([one.engine.blanket.log_potential(codes) for one in single], axis=0)
    np.testing.assert_allclose(logs - logs[0], expected - expected[0], atol=1e-9)


def test_base_rows_that_cannot_be_used():
    schema = cp.Schema.from_cards([2, 2])
    with raises(DataError, about="missing"):
        cp.to_markov_network(pair(), base=cp.Table(schema, [[0, 2], [0, 1]]))
    with raises(DataError, about="rows"):
        cp.to_markov_network(pair(), base=cp.Table(schema, np.zeros((2, 0), dtype=np.uint8)))
    with pytest.raises(ScopeError):
        cp.to_markov_network(pair(), base=cp.MemoryCounts(cp.load_dataset("titanic")))

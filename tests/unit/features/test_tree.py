"""Decision trees: rules, blankets that walk them, and what they refuse."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from counterpane.errors import EvidenceError, ParameterError, ScopeError
from counterpane.features import Blanket, Potential, Rules, Tree
from error_checks import raises
from reference import conversion_reference as reference

CARDS = [2, 3, 2]
LEAF = (-1, -1)


def small(**changes):
    """Target 0: is x1 = 2? if not, is x2 = 0?"""
    logs = np.log([[1, 1], [0.9, 0.1], [1, 1], [0.4, 0.6], [0.2, 0.8]])
    given = {
        "cards": CARDS,
        "target": 0,
        "variables": [1, -1, 2, -1, -1],
        "values": [2, 0, 0, 0, 0],
        "children": [(1, 2), LEAF, (3, 4), LEAF, LEAF],
        "log_values": logs,
    }
    return Tree(**{**given, **changes})


def all_codes(cards):
    return np.array(list(product(*map(range, cards))), dtype=np.uint8).T


def test_a_tree_is_final_and_says_what_it_is():
    tree = small()
    assert repr(tree) == "Tree(target=0, 3 leaves, depth 2)"
    with raises(ValueError, about="read-only"):
        tree.log_values[0] = 0
    assert repr(Tree([3], 0, [-1], [0], [LEAF], np.zeros((1, 3)))).endswith("1 leaves, depth 0)")


def test_rules_are_the_paths():
    rules = small().to_rules()
    expected = [
        (0.9, [(1, 2, False), (0, 0, False)]),
        (0.1, [(1, 2, False), (0, 1, False)]),
        (0.4, [(1, 2, True), (2, 0, False), (0, 0, False)]),
        (0.6, [(1, 2, True), (2, 0, False), (0, 1, False)]),
        (0.2, [(1, 2, True), (2, 1, False), (0, 0, False)]),  # not 0 is 1 where there are two
        (0.8, [(1, 2, True), (2, 1, False), (0, 1, False)]),
    ]
    same = Rules.from_list(CARDS, [(np.log(p), conditions) for p, conditions in expected])
    for name in Rules.__slots__:
        np.testing.assert_allclose(getattr(rules, name), getattr(same, name), err_msg=name)


def test_a_single_leaf_has_one_rule_a_state():
    rules = Tree([3, 2], 0, [-1], [0], [LEAF], [[0.0, -1.0, -np.inf]]).to_rules()
    assert rules.offsets.tolist() == [0, 1, 2, 3] and rules.values.tolist() == [0, 1, 2]
    assert rules.weights.tolist() == [0.0, -1.0, -np.inf]


def chain(cards, target, questions):
    """A tree that asks one thing after the other while the answer is no."""
    n = 2 * len(questions) + 1
    variables, values, children = [-1] * n, [0] * n, [LEAF] * n
    for k, (v, s) in enumerate(questions):
        variables[2 * k], values[2 * k], children[2 * k] = v, s, (2 * k + 1, 2 * k + 2)
    logs = np.arange(n * cards[target], dtype=float).reshape(n, -1)
    return Tree(cards, target, variables, values, children, logs)


def test_leaves_that_no_row_reaches_have_no_rule():
    tree = chain([2, 3, 1], 0, [(1, 0), (1, 0), (1, 2), (1, 1), (2, 0)])
    rules = tree.to_rules()
    # The second question is answered, the fourth and the fifth can only be answered with yes.
    assert set((rules.weights // 2).tolist()) == {1.0, 5.0, 7.0}
    conditions = list(
        zip(rules.variables.tolist(), rules.values.tolist(), rules.negated, strict=True)
    )
    last = conditions[rules.offsets[-2] : rules.offsets[-1]]
    assert last == [(1, 0, True), (1, 2, True), (0, 1, False)]


def test_a_value_told_once_settles_later_questions():
    # x1 = 1? then x1 = 0? (no), then x1 = 1? (yes)
    tree = Tree(
        [2, 3],
        0,
        [1, 1, -1, 1, -1, -1, -1],
        [1, 0, 0, 1, 0, 0, 0],
        [(1, 6), (2, 3), LEAF, (4, 5), LEAF, LEAF, LEAF],
        np.arange(14.0).reshape(7, 2),
    )
    rules = tree.to_rules()
    assert rules.weights.tolist() == [8.0, 9.0, 12.0, 13.0]
    assert np.diff(rules.offsets).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_blankets_walk_trees(seed):
    rng = np.random.default_rng(seed)
    cards = [2, 3, 4, 1]
    conditionals, expected = [], []
    codes = all_codes(cards)
    for v in range(4):
        questions = [(int(u), int(rng.integers(cards[u]))) for u in rng.permutation(4) if u != v]
        trees = [chain(cards, v, questions[:2]), chain(cards, v, questions)]
        scope = (v, (v + 1) % 4)
        table = Potential(scope, rng.normal(size=[cards[u] for u in scope]))
        rules = Rules.from_list(
            cards, [(0.7, [(v, 0, False)]), (5.0, []), (9.0, [(*questions[0], False)])]
        )
        conditionals.append([trees[0], table, rules, trees[1]])
        logs = np.zeros((codes.shape[1], cards[v]))
        for r, row in enumerate(codes.T.tolist()):
            for tree in trees:
                arrays = tree.variables, tree.values, tree.children
                logs[r] += tree.log_values[reference.walk(arrays, row)]
            logs[r] += table.log_values[:, row[(v + 1) % 4]]
            logs[r, 0] += 0.7
        expected.append(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    blanket = Blanket.of_conditionals(cards, conditionals)
    np.testing.assert_allclose(blanket.full_conditionals(codes), np.hstack(expected), atol=1e-12)
    own = [expected[v][np.arange(codes.shape[1]), codes[v]] for v in range(4)]
    np.testing.assert_allclose(blanket.pseudo_log_likelihood(codes), np.array(own).T, atol=1e-12)
    as_rules = [[p.to_rules() if isinstance(p, Tree) else p for p in own] for own in conditionals]
    same = Blanket.of_conditionals(cards, as_rules)
    np.testing.assert_allclose(same.full_conditionals(codes), np.hstack(expected), atol=1e-12)


def test_conditionals_serve_one_variable():
    pair = Potential((0, 1), np.log([[0.9, 0.1], [0.2, 0.8]]))
    rules = Rules.from_list([2, 2, 2], [(1.0, [(0, 1, False), (2, 1, False)])])
    blanket = Blanket.of_conditionals([2, 2, 2], [[], [pair, rules], []], ["a", "b", "c"])
    assert blanket.neighbors(0) == () and blanket.neighbors(1) == (0,)  # the rules are free of b
    flat = np.exp(blanket.full_conditionals([[1], [0], [1]]))
    np.testing.assert_allclose(flat, [[0.5, 0.5, 0.2, 0.8, 0.5, 0.5]])
    with raises(ParameterError, about="log-potential"):
        blanket.log_potential([[1], [0], [1]])


def test_only_what_a_tree_asks_must_be_there():
    blanket = Blanket.of_conditionals(CARDS, [[small()], [], []], ["a", "b", "c"])
    assert blanket.neighbors(0) == (1, 2)
    assert repr(blanket) == "Blanket(3 variables, 0 potentials, 0 rules, 1 trees)"
    blanket.full_conditionals([[0], [3], [0]], [1])  # b depends on nothing
    with raises(Exception, about=("'b'", "row 0")):
        blanket.full_conditionals([[0], [3], [0]], [0])


def test_a_leaf_may_forbid_states():
    logs = [[-np.inf, 0.0]]
    never = Tree([2], 0, [-1], [0], [LEAF], logs)
    blanket = Blanket.of_conditionals([2], [[never]])
    assert np.exp(blanket.full_conditionals([[0]])).tolist() == [[0.0, 1.0]]
    other = Tree([2], 0, [-1], [0], [LEAF], [[0.0, -np.inf]])
    with raises(EvidenceError, about=("variable 0", "row 0")):
        Blanket.of_conditionals([2], [[never, other]]).full_conditionals([[0]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": 3}, "target 3 must be among 0 … 2"),
        ({"target": -1}, "target -1 must be among"),
        ({"values": [2, 0, 0, 0]}, r"shapes .*\(4,\).*are needed, with at least one node"),
        ({"log_values": np.zeros((5, 3))}, r"\(5, 3\).*\(5, 2\)\] are needed"),
        ({"variables": [1, -1, 0, -1, -1]}, "node 2 asks whether variable 0 .* the target is"),
        ({"variables": [3, -1, 2, -1, -1]}, "node 0 asks whether variable 3"),
        ({"variables": [1, -2, 2, -1, -1]}, "node 1 asks whether variable -2"),
        ({"values": [3, 0, 0, 0, 0]}, "variable 1 has the value 3"),
        ({"values": [2, 0, -1, 0, 0]}, "variable 2 has the value -1"),
        ({"children": [(1, 2), LEAF, (3, 3), LEAF, LEAF]}, "make no tree"),
        ({"children": [(1, 2), (3, 4), LEAF, LEAF, LEAF]}, "make no tree"),
        ({"children": [(1, 5), LEAF, (3, 4), LEAF, LEAF]}, "make no tree"),
        ({"children": [(1, 0), LEAF, (3, 4), LEAF, LEAF]}, "make no tree"),
        ({"log_values": np.full((5, 2), np.nan)}, "a leaf holds NaN"),
        ({"log_values": np.full((5, 2), np.inf)}, "a leaf holds NaN or .infinity"),
        ({"log_values": np.full((5, 2), -np.inf)}, "makes every state impossible"),
    ],
)
def test_what_is_no_tree_is_refused(changes, message):
    with pytest.raises((ParameterError, ScopeError), match=message):
        small(**changes)


def test_nodes_that_go_round_are_refused():
    with raises(ParameterError, about="5 nodes"):
        Tree(
            CARDS, 0, [-1, 1, 1, -1, -1], [0] * 5, [LEAF, (2, 3), (1, 4), LEAF, LEAF],
            np.zeros((5, 2)),
        )  # fmt: skip


def test_a_tree_serves_its_target_only():
    with raises(ScopeError, about="variable 1"):
        Blanket.of_conditionals(CARDS, [[], [small()], []])
    with raises(ScopeError, about="log-potential"):
        Blanket(CARDS, [small()])
    with raises(ScopeError, about="states"):
        Blanket.of_conditionals([2, 3, 3], [[small()], [], []])
    with raises(ScopeError, about=("2 conditionals", "3 variables")):
        Blanket.of_conditionals(CARDS, [[], []])

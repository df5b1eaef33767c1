"""Dependency networks as models: conditionals, questions, graphs, files, and what they refuse."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import FileFormatError, ParameterError, ScopeError
from counterpane.features import Potential, Rules, Tree
from counterpane.models import dependency_network
from counterpane.models.arrays import arrays_of
from counterpane.models.record import LearnerRecord, LearningRecord
from error_checks import raises

RECORD = LearningRecord(LearnerRecord(text="by hand"))

CARDS = (2, 3, 2)
NAMES = ("a", "b", "c")
SCHEMA = cp.Schema(cp.Variable(n, tuple("xyz"[:r])) for n, r in zip(NAMES, CARDS, strict=True))


def make(*, impossible=False):
    """a by a tree on b; b by rules on a and c, and a table; c by nothing."""
    logs = np.log([[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])
    if impossible:
        logs[1] = (0.0, -np.inf)
    tree = Tree(CARDS, 0, [1, -1, -1], [2, 0, 0], [[1, 2], [-1, -1], [-1, -1]], logs)
    rules = Rules.from_list(CARDS, [(1.5, [(1, 0, True), (0, 1, False)]), (0.5, [(1, 1, False)])])
    table = Potential((2, 1), np.log([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]))
    return cp.DependencyNetwork(SCHEMA, [[tree], [rules, table], []], record=RECORD)


def conditional_of_b(a, c):
    weights = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])[c] * [1, np.exp(0.5), 1]
    weights[1:] *= np.exp(1.5 * a)
    return weights / weights.sum()


def every_row():
    return cp.Table(SCHEMA, np.array(list(product(*map(range, CARDS)))).T)


def test_full_conditionals_and_pseudo_likelihood():
    model, rows = make(), every_row()
    found = np.exp(model.full_conditionals(rows))
    for (a, b, c), row in zip(rows.codes.T, found, strict=True):
        np.testing.assert_allclose(row[:2], [0.9, 0.1] if b == 2 else [0.3, 0.7])
        np.testing.assert_allclose(row[2:5], conditional_of_b(a, c))
        np.testing.assert_allclose(row[5:], 0.5)
        assert found.shape == (12, 7)
    own = np.log(found[np.arange(12)[:, None], rows.codes.T + np.array([0, 2, 5])])
    np.testing.assert_allclose(model.pseudo_log_likelihood(rows), own)
    np.testing.assert_allclose(model.pseudo_log_likelihood(rows, total=True), own.sum(axis=1))
    np.testing.assert_allclose(model.full_conditionals(rows, "b"), np.log(found[:, 2:5]))


def test_graphs():
    model = make()
    assert set(model.graph.edges) == {("b", "a"), ("a", "b"), ("c", "b")}
    assert list(model.graph) == list(NAMES)
    assert model.undirected.edges == ((0, 1), (1, 2))
    assert repr(model) == "DependencyNetwork(3 variables, 1 potentials, 2 rules, 1 trees)"


def test_questions_without_an_open_variable_are_exact():
    model = make()
    np.testing.assert_allclose(
        model.query("b", {"a": "y", "c": "x"}).probabilities, conditional_of_b(1, 0), rtol=1e-12
    )
    assert model.query("a", {"b": "z"})["y"] == pytest.approx(0.1)  # a depends on b alone
    frame = {"a": ["x", "y", None], "c": ["y", "y", "x"]}
    answers = model.query_many("c", frame)
    np.testing.assert_allclose(answers.probabilities, 0.5)
    found = model.query_many("b", {"a": ["x", "y"], "c": ["y", "x"]}).probabilities
    np.testing.assert_allclose(found, [conditional_of_b(0, 1), conditional_of_b(1, 0)], rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba({"b": ["z", "x"]}, "a")[:, 1], [0.1, 0.7])


def stationary():
    """The joint distribution of a chain that redraws a, b and c in turn, by brute force."""
    rows = list(product(*map(range, CARDS)))
    move = np.zeros((12, 12))
    for k, (_, b, _) in enumerate(rows):
        for j, (a2, b2, _) in enumerate(rows):
            p_a = (0.9, 0.1)[a2] if b == 2 else (0.3, 0.7)[a2]
            move[k, j] = p_a * conditional_of_b(a2, rows[k][2])[b2] * 0.5
    joint = np.linalg.matrix_power(move, 200)[0]
    return joint.reshape(CARDS)


def test_other_questions_are_answered_by_sampling():
    model, joint = make(), stationary()
    tolerance = 0.04  # of 4,000 sweeps
    np.testing.assert_allclose(
        model.query("b").probabilities, joint.sum(axis=(0, 2)), atol=tolerance
    )
    np.testing.assert_allclose(
        model.query(["b", "a"]).probabilities, joint.sum(axis=2).T, atol=tolerance
    )
    each = model.marginals()
    np.testing.assert_allclose(each["a"].probabilities, joint.sum(axis=(1, 2)), atol=tolerance)
    # With a given, b and c are drawn from a joint distribution: c even, b given c.
    given = np.mean([conditional_of_b(1, c) for c in (0, 1)], axis=0)
    np.testing.assert_allclose(model.query("b", {"a": "y"}).probabilities, given, atol=tolerance)
    told = model.query_many("b", {"a": ["y", "y", None]})
    np.testing.assert_allclose(told.probabilities[0], given, atol=tolerance)
    assert (told.probabilities[0] == told.probabilities[1]).all()
    two = model.query_many(["b", "c"], {"a": ["y", None, "y"]}).probabilities
    np.testing.assert_allclose(two[0].sum(axis=1), given, atol=tolerance)
    np.testing.assert_allclose(two[1].sum(axis=1), joint.sum(axis=(0, 2)), atol=tolerance)
    assert (two[0] == two[2]).all()


def test_answers_repeat_and_samples_follow_the_seed():
    model = make()
    assert (model.query("b").probabilities == model.query("b").probabilities).all()
    drawn = model.sample(2000, {"c": "y"}, random_state=3)
    assert (drawn.codes == model.sample(2000, {"c": "y"}, random_state=3).codes).all()
    assert (drawn.codes[2] == 1).all()
    joint = stationary()
    free = model.sample(4000, random_state=1)
    found = np.bincount(free.codes[1], minlength=3) / 4000
    np.testing.assert_allclose(found, joint.sum(axis=(0, 2)), atol=0.05)


def test_what_needs_a_joint_distribution_is_refused():
    model = make()
    refused = [
        lambda: model.score_samples(every_row()),
        lambda: model.log_evidence({"a": "x"}),
        lambda: model.query("b", {"a": "y", "c": "x"}).log_evidence,
        lambda: model.query_many("a", {"b": ["x"]}).log_evidence,
        lambda: model.map_query(),
        lambda: model.query("b", method="exact"),
        lambda: model.query_many("b", {"a": ["x", None], "c": ["x", "y"]}, method="exact"),
        lambda: model.to_potentials(),
    ]
    for ask in refused:
        with raises(ParameterError, about="distribution"):
            ask()
    assert model.query("c").log_evidence == 0.0


@pytest.mark.parametrize("suffix", [".cp", ".dn", ".cn.gz", ".cp.gz"])
@pytest.mark.parametrize("impossible", [False, True])
def test_files_keep_every_bit(tmp_path, suffix, impossible):
    model = make(impossible=impossible)
    model.save(tmp_path / f"model{suffix}")
    again = cp.load(tmp_path / f"model{suffix}")
    assert isinstance(again, cp.DependencyNetwork)
    native = ".cp" in suffix
    assert again.schema == (SCHEMA if native else cp.Schema.from_cards(CARDS, prefix="v"))
    assert again.record == (RECORD if native else LearningRecord())
    codes = every_row().codes
    rows = cp.Table(again.schema, codes[:, codes[1] < 2] if impossible else codes)
    ours = cp.Table(SCHEMA, rows.codes)
    assert (again.full_conditionals(rows) == model.full_conditionals(ours)).all()
    assert [[type(p) for p in own] for own in again.conditionals] == [
        [type(p) for p in own] for own in model.conditionals
    ]


def test_damaged_arrays_are_refused(tmp_path, monkeypatch):
    arrays = arrays_of(make())
    good = dependency_network.from_part_arrays(SCHEMA.cards, arrays)
    assert [len(own) for own in good] == [1, 2, 0]
    for name, array in arrays.items():
        for changed in (np.append(array, array[:1]), array[:-1], np.append(array, 0)):
            if changed.size == array.size:
                continue
            with pytest.raises((ScopeError, ParameterError, LookupError, ValueError)):
                dependency_network.from_part_arrays(SCHEMA.cards, {**arrays, name: changed})
    for kinds in ([-1, 1, 0], [3, 1, 0]):
        with pytest.raises((ScopeError, LookupError)):
            dependency_network.from_part_arrays(SCHEMA.cards, {**arrays, "kinds": np.array(kinds)})
    model = make()
    damaged = {**arrays, "tree_sizes": np.array([2**40])}
    monkeypatch.setattr("counterpane.models.base.arrays_of", lambda _: damaged)
    model.save(tmp_path / "model.cp")
    with raises(FileFormatError, about="model.cp"):
        cp.load(tmp_path / "model.cp")


def test_what_does_not_fit_is_refused():
    tree = make().conditionals[0][0]
    with raises(ScopeError, about=("2 conditionals", "3 variables")):
        cp.DependencyNetwork(SCHEMA, [[], []])
    with raises(ParameterError, about="'b'"):
        cp.DependencyNetwork(SCHEMA, [[], ["tree"], []])
    with raises(ScopeError, about="variable 1"):
        cp.DependencyNetwork(SCHEMA, [[], [tree], []])
    with raises(ScopeError, about="scope=(0, 1)"):
        cp.DependencyNetwork(SCHEMA, [[Potential((0, 1), np.zeros((2, 2)))], [], []])
    with raises(ParameterError, about="'.uai'"):
        make().save("model.uai")

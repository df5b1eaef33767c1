"""Markov networks: brute force over all rows, rules, files, and what they refuse."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import (
    EvidenceError,
    FileFormatError,
    ParameterError,
    ScopeError,
    TableSizeError,
)
from counterpane.features import Potential, Rules
from counterpane.inference.certainty import InexactAnswer
from counterpane.models import weights
from counterpane.models.arrays import arrays_of, model_from_arrays
from error_checks import raises, warns

CARDS = (2, 3, 2, 2)
CONDITIONS = [
    (0.7, [(0, 1, False), (3, 0, True)]),
    (-1.2, [(1, 2, True), (2, 1, False)]),
    (0.4, [(2, 0, False)]),
    (0.9, [(3, 1, False), (0, 0, True)]),
    (2.0, []),
]


def make(seed=0, *, rules=True, impossible=False):
    """A loop 0 – 1 – 2 – 0 of potentials, and rules that reach variable 3."""
    rng = np.random.default_rng(seed)
    scopes = [(0, 1), (2, 1), (0, 2)]
    parts = [Potential(s, rng.normal(size=[CARDS[v] for v in s])) for s in scopes]
    if impossible:
        values = parts[0].log_values.copy()
        values[0, 1] = -np.inf
        parts[0] = Potential((0, 1), values)
    if rules:
        parts.append(Rules.from_list(CARDS, CONDITIONS))
    return cp.MarkovNetwork(Schema.from_cards(CARDS), parts)


def log_weight(network, row):
    """What the parts say of one row, read condition by condition."""
    total = sum(p.log_values[tuple(row[v] for v in p.scope)] for p in network.potentials)
    for weight, conditions in CONDITIONS if network.rules else ():
        if all((row[v] == value) != negated for v, value, negated in conditions):
            total += weight
    return total


def joint(network):
    rows = np.array(list(product(*map(range, CARDS))))
    weights = np.exp([log_weight(network, row) for row in rows])
    return rows, weights


@pytest.mark.parametrize("rules", [True, False])
@pytest.mark.parametrize("impossible", [True, False])
def test_answers_are_those_of_brute_force(rules, impossible):
    network = make(rules=rules, impossible=impossible)
    rows, weights = joint(network)
    total = weights.sum()
    assert network.log_partition == pytest.approx(np.log(total))
    table = Table(network.schema, rows.T)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(network.score_samples(table), np.log(weights / total))
    for given in ({}, {0: 1}, {1: 2, 3: 0}):
        agree = np.all([rows[:, v] == code for v, code in given.items()], axis=0) | (not given)
        evidence = {f"x{v}": code for v, code in given.items()}
        answer = network.query("x2", evidence)
        expected = [weights[agree & (rows[:, 2] == s)].sum() for s in range(2)]
        np.testing.assert_allclose(answer.probabilities, np.array(expected) / sum(expected))
        assert answer.log_evidence == pytest.approx(np.log(sum(expected) / total), abs=1e-12)
        assert network.log_evidence(evidence) == pytest.approx(np.log(sum(expected) / total))
        for name, found in network.marginals(evidence).items():
            v = network.schema.index(name)
            sums = [weights[agree & (rows[:, v] == s)].sum() for s in range(CARDS[v])]
            np.testing.assert_allclose(found.probabilities, np.array(sums) / sum(sums))
            assert found.log_evidence == pytest.approx(answer.log_evidence, abs=1e-12)
    many = network.query_many("x3", {"x0": [0, 1, None]})
    sums = [weights[(rows[:, 0] == 1) & (rows[:, 3] == s)].sum() for s in range(2)]
    np.testing.assert_allclose(many.probabilities[1], np.array(sums) / sum(sums))
    assert many.log_evidence[1] == pytest.approx(np.log(sum(sums) / total))
    assert many[1].log_evidence == many.log_evidence[1]
    best = network.map_query()
    assert [best[f"x{v}"] for v in range(4)] == rows[np.argmax(weights)].tolist()


@pytest.mark.parametrize("impossible", [True, False])
def test_rows_with_and_without_gaps(impossible):
    network = make(impossible=impossible)
    rows, weights = joint(network)
    frame = {"x0": [0, 1, None], "x1": [2, 1, 1]}
    many = network.query_many(["x3", "x2"], frame)
    for k, given in enumerate(({0: 0, 1: 2}, {0: 1, 1: 1}, {1: 1})):
        agree = np.all([rows[:, v] == code for v, code in given.items()], axis=0)
        table = [
            [weights[agree & (rows[:, 3] == a) & (rows[:, 2] == b)].sum() for b in range(2)]
            for a in range(2)
        ]
        np.testing.assert_allclose(many.probabilities[k], table / np.sum(table))
        expected = np.log(np.sum(table) / weights.sum())
        assert many.log_evidence[k] == pytest.approx(expected)
        answer = network.query(["x3", "x2"], {f"x{v}": code for v, code in given.items()})
        np.testing.assert_allclose(answer.probabilities, table / np.sum(table))
        assert answer.log_evidence == pytest.approx(expected)
    soft = network.query("x3", {"x0": 1, "x1": 1, "x2": 0}, virtual_evidence={"x3": [1, 3]})
    agree = (rows[:, :3] == [1, 1, 0]).all(axis=1)
    weighed = weights[agree] * [1, 3]
    np.testing.assert_allclose(soft.probabilities, weighed / weighed.sum())


def test_conditionals_and_samples():
    network = make()
    rows, weights = joint(network)
    table = Table(network.schema, rows.T)
    found = np.exp(network.full_conditionals(table, ["x3"]))
    for row, p in zip(rows, found, strict=True):
        same = (rows[:, :3] == row[:3]).all(axis=1)
        own = np.array([weights[same & (rows[:, 3] == s)].sum() for s in range(2)])
        np.testing.assert_allclose(p, own / own.sum())
    sample = network.sample(20_000, random_state=0)
    share = (sample.codes[1] == 2).mean()
    assert share == pytest.approx(network.query("x1")[2], abs=0.02)


def test_the_graph_joins_what_shares_a_part():
    graph = make().graph
    expected = {("x0", "x1"), ("x1", "x2"), ("x0", "x2"), ("x0", "x3")}
    assert {tuple(sorted(e)) for e in graph.edges} == expected
    assert make(rules=False).undirected.neighbors(3) == ()
    assert "4 variables, 3 potentials, 5 rules" in repr(make())


def test_z_is_asked_only_where_it_is_needed():
    n = 60
    pairs = [(a, b) for a in range(n) for b in range(a)]
    rng = np.random.default_rng(0)
    parts = [Potential(p, rng.normal(size=(2, 2))) for p in pairs]
    network = cp.MarkovNetwork(Schema.from_cards([2] * n), parts)
    rest = {f"x{v}": 0 for v in range(1, n)}
    answer = network.query("x0", rest)
    logs = sum(p.log_values[:, 0] if p.scope[0] == 0 else p.log_values[0] for p in parts
               if 0 in p.scope)  # fmt: skip
    np.testing.assert_allclose(answer.probabilities, np.exp(logs) / np.exp(logs).sum())
    with raises(TableSizeError, about="exact"):
        _ = answer.log_evidence
    with pytest.raises(TableSizeError):
        network.score_samples(Table(network.schema, np.zeros((n, 1), dtype=int)))


def test_impossible_evidence():
    network = make(impossible=True)
    with raises(EvidenceError, about=("x0=0", "x1=1")):
        network.query("x3", {"x0": 0, "x1": 1})
    nothing = cp.MarkovNetwork(Schema.from_cards([2]), [Potential((0,), [-np.inf, -np.inf])])
    with raises(ParameterError, about="weight"):
        _ = nothing.log_partition


@pytest.mark.parametrize(
    ("part", "error", "words"),
    [
        (Potential((0, 4), np.zeros((2, 2))), ScopeError, "names variable 4; there are 4"),
        (Potential((0, 1), np.zeros((2, 2))), ScopeError, r"over 'x0', 'x1' has shape \(2, 2\)"),
        (Rules.from_list([2, 2], []), ScopeError, "were written for other numbers of states"),
        ("x0", ParameterError, "cannot hold a str"),
    ],
)
def test_parts_that_do_not_fit(part, error, words):
    with pytest.raises(error, match=words):
        cp.MarkovNetwork(Schema.from_cards(CARDS), [part])


def test_rules_too_wide_to_write_out():
    wide = Rules.from_list([2] * 30, [(1.0, [(v, 1, False) for v in range(30)])])
    network = cp.MarkovNetwork(Schema.from_cards([2] * 30), [wide])
    ones = Table(network.schema, np.ones((30, 1), dtype=int))
    assert network.full_conditionals(ones, ["x0"])[0, 1] == pytest.approx(-np.log1p(np.exp(-1)))
    assert network.query("x0", {f"x{v}": 1 for v in range(1, 30)})[1] == pytest.approx(
        1 / (1 + np.exp(-1))
    )
    with raises(TableSizeError, about="rules"):
        network.query("x0", method="exact")
    with warns(InexactAnswer, about="1,073,741,824 cells"):
        assert network.query("x0")[1] == pytest.approx(0.5, abs=1e-6)


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [True, False])
def test_the_native_file_keeps_everything(tmp_path, rules):
    network = make(rules=rules, impossible=True)
    network.save(tmp_path / "model.cp")
    again = cp.load(tmp_path / "model.cp")
    assert isinstance(again, cp.MarkovNetwork)
    assert [p.scope for p in again.potentials] == [p.scope for p in network.potentials]
    for a, b in zip(again.potentials, network.potentials, strict=True):
        assert a.log_values.tobytes() == b.log_values.tobytes()
    for a, b in zip(again.rules, network.rules, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        np.testing.assert_array_equal(a.negated, b.negated)
    assert again.log_partition == network.log_partition


@pytest.mark.parametrize("name", ["scope_sizes", "scopes", "log_values"])
def test_arrays_that_do_not_add_up_are_refused(name):
    network = make(rules=False)
    arrays = arrays_of(network)
    arrays[name] = np.append(arrays[name], arrays[name][:1])
    with pytest.raises(ScopeError):
        model_from_arrays(network.kind, network.schema, arrays, None)


def test_uai(tmp_path):
    network = make(impossible=True)
    network.save(tmp_path / "net.uai.gz")
    again = cp.load(tmp_path / "net.uai.gz")
    assert again.log_partition == pytest.approx(network.log_partition)
    _, weights = joint(network)
    rows = Table(again.schema, joint(network)[0].T)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(again.score_samples(rows), np.log(weights / weights.sum()))
    with raises(ParameterError, about="'.bif'"):
        network.save(tmp_path / "net.bif")
    extreme = cp.MarkovNetwork(Schema.from_cards([2]), [Potential((0,), [0.0, -800.0])])
    with raises(ParameterError, about="scope=(0,)"):
        extreme.save(tmp_path / "extreme.uai")


def test_uai_as_others_write_it(tmp_path):
    path = tmp_path / "net.uai"
    path.write_text("MARKOV 3 2 2 3 3  1 0  2 0 1  2 2 1  2 0.5 4  4 1 0 2 3  6 1 2 3 4 5 6")
    network = cp.load(path)
    assert [p.scope for p in network.potentials] == [(0,), (0, 1), (2, 1)]
    np.testing.assert_allclose(np.exp(network.potentials[2].log_values), [[1, 2], [3, 4], [5, 6]])
    total = sum(
        [0.5, 4][a] * [[1, 0], [2, 3]][a][b] * [[1, 2], [3, 4], [5, 6]][c][b]
        for a, b, c in product(range(2), range(2), range(3))
    )
    assert network.log_partition == pytest.approx(np.log(total))
    path.write_text("MARKOV 1 2 0")
    assert cp.load(path).query("x0").probabilities.tolist() == [0.5, 0.5]
    path.write_text("MARKOV 2 2 2 1  2 0 0  4 1 1 1 1")
    with raises(FileFormatError, about="net.uai"):
        cp.load(path)


# ---- mixtures with fixed weights -----------------------------------------------------------------


def test_fixed_weights_average_the_answers(tmp_path):
    models = [make(seed) for seed in range(3)]
    weights = np.array([0.5, 0.3, 0.2])
    mixture = cp.Mixture(models, weights, fixed=True)
    evidence = {"x0": 1, "x3": 0}

    def averaged(ask):
        return sum(w * ask(m) for w, m in zip(weights, models, strict=True))

    expected = averaged(lambda m: m.query("x1", evidence).probabilities)
    answer = mixture.query("x1", evidence)
    np.testing.assert_allclose(answer.probabilities, expected)
    shifted = cp.Mixture(models, weights).query("x1", evidence).probabilities
    assert np.abs(shifted - expected).max() > 1e-3
    log_evidence = np.log(averaged(lambda m: np.exp(m.log_evidence(evidence))))
    assert answer.log_evidence == pytest.approx(log_evidence)
    assert mixture.log_evidence(evidence) == pytest.approx(log_evidence)
    assert mixture.query("x1").log_evidence == 0
    each = mixture.marginals(evidence)
    np.testing.assert_allclose(each["x1"].probabilities, expected)
    many = mixture.query_many("x1", {"x0": [1, 0], "x3": [0, 1]})
    np.testing.assert_allclose(many.probabilities[0], expected)
    assert many.log_evidence[0] == pytest.approx(log_evidence)
    rows = Table(models[0].schema, joint(models[0])[0].T)
    conditionals = np.exp(mixture.full_conditionals(rows, ["x1"]))
    wanted = averaged(lambda m: np.exp(m.full_conditionals(rows, ["x1"])))
    np.testing.assert_allclose(conditionals, wanted)
    sample = mixture.sample(20_000, evidence, random_state=0)
    assert (sample.codes[1] == 2).mean() == pytest.approx(expected[2], abs=0.02)
    mixture.save(tmp_path / "mixture.cp")
    again = cp.load(tmp_path / "mixture.cp")
    assert again.fixed
    np.testing.assert_array_equal(again.query("x1", evidence).probabilities, answer.probabilities)
    assert not cp.Mixture(models).fixed
    with raises(ParameterError, about="fixed=True"):
        cp.Mixture([mixture, models[0]])


def test_fixed_weights_leave_out_who_finds_it_impossible():
    sure, open_minded = make(0, impossible=True), make(1)
    mixture = cp.Mixture([sure, open_minded], fixed=True)
    evidence = {"x0": 0, "x1": 1}
    found = mixture.query("x2", evidence).probabilities
    np.testing.assert_allclose(found, open_minded.query("x2", evidence).probabilities)


def test_shifting_weights_need_z():
    models = [make(seed) for seed in range(2)]
    mixture = cp.Mixture(models)
    evidence = {"x0": 1}
    shares = np.exp([m.log_evidence(evidence) for m in models])
    expected = sum(
        s * m.query("x1", evidence).probabilities for s, m in zip(shares, models, strict=True)
    )
    answer = mixture.query("x1", evidence)
    np.testing.assert_allclose(answer.probabilities, expected / shares.sum())
    assert answer.log_evidence == pytest.approx(np.log(shares.mean()))
    many = mixture.query_many("x1", {"x0": [1]})
    np.testing.assert_allclose(many.probabilities[0], answer.probabilities)


@pytest.mark.parametrize("constant", [0.0, 2.0**21, -(2.0**25)])
def test_the_weight_keeps_constants(constant):
    """They are taken off before a question is answered: the weight lacked them."""
    values = np.array([[0.5, 1.0], [-0.25, 0.0]])
    network = cp.MarkovNetwork(Schema.from_cards([2, 2]), [Potential((0, 1), values + constant)])
    assert weights.log_weight(network) == pytest.approx(network.log_partition, abs=1e-6)
    assert weights.log_weight(network, {"x0": 0}) == pytest.approx(
        constant + np.log(np.exp(values[0]).sum()), abs=1e-6
    )
    lower, upper = cp.log_weight_bounds(network, exact=False)
    assert lower - 1e-6 <= network.log_partition <= upper + 1e-6

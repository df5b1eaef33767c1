"""Methods of questions: exact where it fits, else estimates that say how sure they are."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane import BayesianNetwork, Dag, MarkovNetwork, Mixture, Schema, Table
from counterpane.errors import (
    EvidenceError,
    ParameterError,
    StateError,
    TableSizeError,
    UnknownNameError,
)
from counterpane.features import Potential, Rules
from counterpane.inference import BeliefPropagation
from counterpane.inference.certainty import InexactAnswer
from counterpane.inference.gibbs import Gibbs
from counterpane.inference.map import ICM, MaxProduct
from counterpane.inference.mean_field import MeanField
from error_checks import raises, warns

LONG = Gibbs(n_samples=5000)
METHODS = ["gibbs", "mean_field", "bp", LONG, MeanField(), BeliefPropagation(damping=0.2)]


@pytest.fixture(scope="module")
def small():
    """A chain of five variables, weakly tied."""
    rng = np.random.default_rng(0)
    pairs = [Potential((i, i + 1), 0.3 * rng.normal(size=(2, 2))) for i in range(4)]
    return MarkovNetwork(Schema.from_cards([2] * 5), pairs)


@pytest.fixture(scope="module")
def wide():
    """Forty variables, all tied to each other: no table of them fits."""
    n = 40
    rng = np.random.default_rng(1)
    rules = [
        (0.02 * float(rng.normal()), [(a, 1, False), (b, 1, False)])
        for a in range(n)
        for b in range(a)
    ]
    field = Potential((7,), np.log([0.2, 0.8]))
    schema = Schema.from_cards([2] * n)
    return MarkovNetwork(schema, [field, Rules.from_list([2] * n, rules)])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_near_where_variables_are_weakly_tied(small, method):
    evidence, soft = {"x4": 1}, {"x0": [1.0, 2.0]}
    exact = small.query("x2", evidence, virtual_evidence=soft)
    assert exact.certainty is None
    answer = small.query("x2", evidence, virtual_evidence=soft, method=method)
    assert answer[1] == pytest.approx(exact[1], abs=0.02)
    assert answer.log_evidence == pytest.approx(exact.log_evidence)
    name = answer.certainty.method
    assert name in (method, "gibbs", "mean_field", "bp")
    assert answer.certainty.converged
    each = small.marginals(evidence, virtual_evidence=soft, method=method)
    assert list(each) == ["x0", "x1", "x2", "x3"]
    assert each["x2"][1] == pytest.approx(exact[1], abs=0.02)
    assert each["x0"].certainty.method == name
    many = small.query_many("x2", {"x4": [1, None, 1]}, method=method)
    told = small.query_many("x2", {"x4": [1, None, 1]})
    assert told.certainty is None
    np.testing.assert_allclose(many.probabilities, told.probabilities, atol=0.02)
    np.testing.assert_allclose(many.log_evidence, told.log_evidence)
    assert many.certainty.method == name
    if name == "gibbs":
        assert answer.certainty.standard_errors.shape == (2,)
        assert many.certainty.standard_errors.shape == (3, 2)
        assert answer.certainty.rhat < 1.01
        assert answer.certainty.effective_size > 1000
        assert "R-hat up to" in str(answer.certainty)
        joint = small.query(["x3", "x0"], evidence, method=method)
        exact_joint = small.query(["x3", "x0"], evidence)
        np.testing.assert_allclose(joint.probabilities, exact_joint.probabilities, atol=0.02)
        pairs = small.query_many(["x3", "x0"], {"x4": [1, 1]}, method=method)
        np.testing.assert_allclose(pairs.probabilities[1], exact_joint.probabilities, atol=0.02)
        assert pairs.certainty.standard_errors.shape == (2, 4)
    else:
        assert str(answer.certainty) == f"{name}, converged"
        with raises(ParameterError, about="method='gibbs'"):
            small.query(["x3", "x0"], method=method)


@pytest.mark.slow
def test_what_does_not_fit_is_estimated_with_a_warning(wide):
    with raises(TableSizeError, about=("'mean_field'", "'bp'")):
        wide.query("x7", method="exact")
    with warns(InexactAnswer, about="standard"):
        answer = wide.query("x7")
    assert answer[1] == pytest.approx(0.8, abs=0.05)
    assert answer.certainty.method.startswith("gibbs and ")
    with pytest.raises(TableSizeError):
        _ = answer.log_evidence
    with warns(InexactAnswer, about="R-hat"):
        assert wide.marginals({"x0": 1})["x7"][1] == pytest.approx(answer[1], abs=0.05)
    with warns(InexactAnswer, about="errors"):
        many = wide.query_many("x7", {"x0": [1, 0], "x1": [1, 0]})
    assert np.abs(many.probabilities[:, 1] - answer[1]).max() < 0.05
    with warns(InexactAnswer, about="Gibbs"):
        table = wide.sample(500, {"x3": 1}, random_state=0)
    assert (table.codes[3] == 1).all()
    assert table.codes[7].mean() == pytest.approx(0.8, abs=0.1)
    with warns(InexactAnswer, about="exact:"):
        best = wide.map_query(evidence={"x3": 1})
    assert len(best) == 39
    assert best["x7"] == 1
    with pytest.raises(TableSizeError):
        wide.map_query(["x7"], {"x3": 1}, strict=True)
    with warns(InexactAnswer, about="exact:"):
        assert wide.map_query(["x7"], {"x3": 1}) == {"x7": 1}


@pytest.mark.slow
def test_an_estimate_is_trusted_if_sampling_and_propagation_agree():
    weak, strong = (
        cp.MarkovNetwork(
            cp.Schema.from_cards([2] * 12),
            [Potential((v, u), scale * np.eye(2)) for v in range(12) for u in range(v)],
        )
        for scale in (0.02, 3.0)
    )
    with warns(InexactAnswer, about="answer"):
        assert weak.query("x0", exact=1e-9).certainty.trusted
    with warns(InexactAnswer, about="answer"):  # tempered chains are not stuck
        assert strong.query("x0", exact=1e-9)[0] == pytest.approx(0.5, abs=0.02)
    with warns(InexactAnswer, about="trusted:"):  # the time is too short for them
        hasty = strong.query("x0", exact=1e-9, method=cp.Auto(1e-3))
    assert hasty.certainty.trusted is False


def test_the_same_question_has_the_same_answer(wide):
    once, again = (wide.query("x7", method="gibbs").probabilities for _ in range(2))
    np.testing.assert_array_equal(once, again)
    a, b = (wide.sample(20, random_state=5, method="gibbs").codes for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert (wide.sample(20, random_state=6, method="gibbs").codes != a).any()


def test_unsettled_answers_are_told():
    stuck = Potential((0, 1), [[0.0, -30.0], [-30.0, 0.0]])
    model = MarkovNetwork(Schema.from_cards([2, 2]), [stuck])
    with warns(InexactAnswer, about="settled"):
        answer = model.query("x0", method=Gibbs(n_chains=8))
    assert not answer.certainty.converged
    tied = MarkovNetwork(model.schema, [Potential((0, 1), [[1.0, -1.0], [-1.0, 0.0]])])
    with warns(InexactAnswer, about="max_iter"):
        tied.query("x0", method=BeliefPropagation(max_iter=1))
    with warns(InexactAnswer, about="mean_field"):
        tied.marginals(method=MeanField(max_iter=1))


@pytest.mark.parametrize(
    "method", ["icm", "max_product", ICM(restarts=50), MaxProduct(damping=0.1)]
)
def test_the_best_row(small, method):
    evidence = {"x1": 0}
    best = small.map_query(evidence=evidence)
    assert small.map_query(evidence=evidence, method=method) == best
    assert small.map_query(["x4", "x0", "x2", "x3"], evidence, method=method) == best
    with raises(ParameterError, about="4 variables"):
        small.map_query(["x0", "x3"], evidence, method=method)


def test_best_rows_that_are_impossible_are_refused():
    copy = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    model = MarkovNetwork(Schema.from_cards([2, 2, 2]), [copy])
    for method in ("icm", "max_product", "exact"):
        with pytest.raises(EvidenceError):
            model.map_query(evidence={"x0": 0, "x1": 1}, method=method)
        assert model.map_query(evidence={"x0": 1}, method=method)["x1"] == 1


def test_wide_features_have_best_rows_too():
    """A feature of thirty conditions cannot be written out, and needs not be."""
    cards = [2] * 30
    rules = [(5.0, [(v, 1, False) for v in range(30)])] + [
        (1.0, [(v, 1, False)]) for v in range(30)
    ]
    model = MarkovNetwork(Schema.from_cards(cards), [Rules.from_list(cards, rules)])
    with pytest.warns(InexactAnswer):
        assert set(model.map_query().values()) == {1}
    with pytest.raises(TableSizeError):
        model.map_query(method="max_product")
    found = model.query("x0", method="mean_field")
    assert found[1] == pytest.approx(1 / (1 + np.exp(-1)), abs=0.01)


# ---- kinds of models -----------------------------------------------------------------------------


def test_barren_nodes_do_not_slow_chains_down():
    """A root with 200 strong children mixes badly, unless the children do not matter."""
    n = 200
    dag = Dag.from_parents([(), *[(0,)] * n])
    tables = [[0.3, 0.7], *[[[0.99, 0.01], [0.01, 0.99]]] * n]
    model = BayesianNetwork(Schema.from_cards([2] * (n + 1)), dag, tables)
    answer = model.query("x0", method=Gibbs(n_samples=100))
    assert answer[1] == pytest.approx(0.7, abs=1e-12)
    given = model.query("x0", {"x5": 0}, method=LONG)
    assert given[1] == pytest.approx(0.007 / (0.007 + 0.297), abs=1e-12)


def test_mixtures_answer_exactly_only(small):
    mixture = Mixture([small, small])
    assert mixture.query("x0", method="exact")[1] == pytest.approx(small.query("x0")[1])
    with raises(ParameterError, about="Mixture"):
        mixture.query("x0", method="gibbs")
    with raises(ParameterError, about="models"):
        mixture.sample(5, method="gibbs")
    assert mixture.map_query(evidence={"x1": 0}) == small.map_query(evidence={"x1": 0})


def test_dependency_networks_are_sampled_without_a_warning():
    pair = Potential((0, 1), np.log([[0.45, 0.05], [0.05, 0.45]]))
    model = cp.DependencyNetwork(Schema.from_cards([2, 2]), [[pair], [pair]])
    assert model.query("x0", {"x1": 1}).certainty is None
    answer = model.query("x0", method=LONG)
    assert answer.certainty.method == "gibbs"
    assert answer[1] == pytest.approx(0.5, abs=0.05)
    assert model.query("x0").certainty.method == "gibbs"
    assert model.query_many("x0", {"x1": [None, 1]}).certainty.method == "gibbs"
    assert model.query_many("x0", {"x1": [0, 1]}).certainty is None
    assert model.query("x0", method="mean_field")[1] == pytest.approx(0.5)
    soft = model.query("x0", {"x1": 1}, virtual_evidence={"x0": [9.0, 1.0]})
    assert soft[1] == pytest.approx(0.5)
    certain = Potential((0,), [0.0, -np.inf])
    sure = cp.DependencyNetwork(model.schema, [[certain], []])
    with raises(EvidenceError, about="'x0'"):
        sure.query("x0", virtual_evidence={"x0": [0.0, 1.0]})
    with raises(ParameterError, about="distribution"):
        model.query("x0", method="exact")
    with raises(ParameterError, about="distribution"):
        model.query("x0", method="bp")
    assert set(model.map_query(method="icm").values()) in ({0}, {1})
    with raises(ParameterError, about="distribution"):
        model.map_query()
    assert isinstance(model.sample(10, random_state=0), Table)


# ---- what is refused -----------------------------------------------------------------------------


def test_bad_methods(small):
    with raises(UnknownNameError, parameter="method", value="gibs"):
        small.query("x0", method="gibs")
    with raises(UnknownNameError, parameter="method", value="icn"):
        small.map_query(method="icn")
    for method in (ICM(), MaxProduct(), 5, None):
        with raises(ParameterError, parameter="method"):
            small.query("x0", method=method)
    for method in (LONG, None):
        with raises(ParameterError, parameter="method"):
            small.map_query(method=method)
    with raises(ParameterError, about="MeanField"):
        small.sample(5, method="mean_field")


def test_a_start_is_given_by_name():
    stuck = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    schema = Schema([cp.Variable("a", ("no", "yes")), cp.Variable("b", ("no", "yes"))])
    model = MarkovNetwork(schema, [stuck])
    for state in ("no", "yes"):
        start = Gibbs(start={"a": state, "b": state}, n_samples=50)
        assert model.query("a", method=start)[state] == 1.0
        assert model.query_many("a", {"b": [state]}, method=start)[0][state] == 1.0
        assert model.marginals(method=start)["b"][state] == 1.0
        assert set(model.sample(9, method=start).codes.reshape(-1)) == {int(state == "yes")}
    with raises(StateError, parameter="b", value="maybe"):
        model.query("a", method=Gibbs(start={"b": "maybe"}))

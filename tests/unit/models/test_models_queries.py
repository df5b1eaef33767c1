"""Questions to a model as users put them: virtual evidence, all marginals, frames of rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from counterpane import query_interval
from counterpane.data import Schema, Table, Variable
from counterpane.errors import (
    DataError,
    EvidenceError,
    ParameterError,
    StateError,
    UnknownNameError,
)
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from error_checks import raises


@pytest.fixture(name="model")
def lung_cancer():
    """smoke → lung → test ← age; a positive test never comes without lung cancer."""
    schema = Schema(
        [
            Variable("smoke", ("no", "yes")),
            Variable("lung", (False, True)),
            Variable("age", ("young", "old", None), (50.0,)),
            Variable("test", (0, 1)),
        ]
    )
    test = np.empty((2, 3, 2))
    test[0] = [1, 0]
    test[1] = [[0.2, 0.8], [0.1, 0.9], [0.5, 0.5]]
    tables = [[0.7, 0.3], [[0.99, 0.01], [0.9, 0.1]], [0.5, 0.4, 0.1], test]
    return BayesianNetwork(schema, Dag(4, [(0, 1), (1, 3), (2, 3)]), tables)


def test_all_marginals_come_by_name_without_what_is_given(model):
    found = model.marginals({"test": 1})
    assert list(found) == ["smoke", "lung", "age"]
    assert found["lung"][True] == 1.0
    assert math.isclose(found["smoke"]["yes"], 0.03 / 0.037)
    assert math.isclose(found["age"]["old"], 0.36 / 0.81)
    for answer in found.values():
        assert math.isclose(answer.log_evidence, math.log(0.037 * 0.81))
    assert math.isclose(model.log_evidence({"test": 1}), math.log(0.037 * 0.81))
    assert model.marginals()["smoke"].log_evidence == 0.0
    everything = {"smoke": "no", "lung": False, "age": None, "test": 0}
    assert model.marginals(everything) == {}
    assert math.isclose(model.log_evidence(everything), math.log(0.7 * 0.99 * 0.1))
    assert model.log_evidence({}) == 0.0


@pytest.mark.parametrize("likelihoods", [{"no": 1.0, "yes": 4.0}, [0.2, 0.8], np.array([1, 4])])
def test_virtual_evidence_weighs_states(model, likelihoods):
    answer = model.query("lung", virtual_evidence={"smoke": likelihoods})
    weight = np.array([0.7 * 1, 0.3 * 4])
    assert math.isclose(answer[True], weight @ [0.01, 0.1] / weight.sum())
    asked = model.query("smoke", {"lung": True}, virtual_evidence={"smoke": likelihoods})
    assert math.isclose(asked["yes"], 0.3 * 0.1 * 4 / (0.3 * 0.1 * 4 + 0.7 * 0.01))
    found = model.marginals({"lung": True}, virtual_evidence={"smoke": likelihoods})
    assert math.isclose(found["smoke"]["yes"], asked["yes"])
    expected = model.log_evidence({"lung": True}, virtual_evidence={"smoke": likelihoods})
    assert math.isclose(found["smoke"].log_evidence, expected)
    assert math.isclose(asked.log_evidence, expected)


def test_certain_virtual_evidence_is_evidence(model):
    soft = model.query("smoke", virtual_evidence={"lung": {True: 1, False: 0}})
    hard = model.query("smoke", {"lung": True})
    np.testing.assert_allclose(soft.probabilities, hard.probabilities)
    assert math.isclose(soft.log_evidence, hard.log_evidence)


@pytest.mark.parametrize(
    "likelihoods",
    [{"no": 1.0}, [1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf], "no", None, 0.5],
)
def test_bad_virtual_evidence_is_refused_by_name(model, likelihoods):
    with raises(ParameterError, about="'smoke'"):
        model.query("lung", virtual_evidence={"smoke": likelihoods})


def test_virtual_evidence_that_clashes_is_refused(model):
    with raises(EvidenceError, about="'smoke'"):
        model.query("lung", {"smoke": "no"}, virtual_evidence={"smoke": [1, 2]})
    with raises(StateError, parameter="smoke", value="maybe"):
        model.query("lung", virtual_evidence={"smoke": {"maybe": 1.0}})
    with raises(UnknownNameError, parameter="column", value="smok"):
        model.query("lung", virtual_evidence={"smok": [1, 2]})


def test_impossible_evidence_names_the_conflict_and_nothing_else(model):
    evidence = {"smoke": "yes", "age": 20, "test": 1}
    soft = {"lung": [1.0, 0.0]}
    for ask in (model.marginals, lambda *a, **k: model.query("smoke", *a, **k)):
        told = evidence if ask == model.marginals else {"age": 20, "test": 1}
        with raises(EvidenceError, about=("'lung'", "test=1")):
            ask(told, virtual_evidence=soft)
    assert model.log_evidence(evidence, virtual_evidence=soft) == -math.inf
    assert model.log_evidence({"lung": False, "test": 1}) == -math.inf


FRAME = {
    "test": [0, 1, 0, 1],
    "age": [70.0, 20.0, 20.0, 61.0],
    "unknown": ["a", "b", "c", "d"],
    "smoke": ["yes", None, "no", "yes"],
}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_rows_of_frames_are_answered_as_single_questions(model, make):
    answers = model.query_many(["lung"], make(FRAME))
    assert len(answers) == 4
    for r in range(4):
        told = {name: FRAME[name][r] for name in ("test", "age", "smoke")}
        if told["smoke"] is None:
            del told["smoke"]
        single = model.query("lung", told)
        np.testing.assert_allclose(answers[r].probabilities, single.probabilities, atol=1e-12)
        assert math.isclose(answers[r].log_evidence, single.log_evidence, abs_tol=1e-12)
    assert list(answers.to_dict()) == ["lung=False", "lung=True"]
    assert answers[1][True] == 1.0
    assert repr(answers) == "Answers(4 rows, P(lung | row))"


def test_columns_that_are_asked_are_not_read(model):
    frame = FRAME | {"lung": [None, True, False, "nonsense"]}
    pair = model.query_many(["lung", "smoke"], frame)
    assert pair.probabilities.shape == (4, 2, 2)
    assert pair.names == ("lung", "smoke")
    assert list(pair.to_dict())[1] == "lung=False, smoke=yes"
    single = model.query(["lung", "smoke"], {"test": 0, "age": 70.0})
    np.testing.assert_allclose(pair[0].probabilities, single.probabilities)


def test_a_missing_cell_is_a_state_only_where_the_model_has_it(model):
    answers = model.query_many("test", {"age": [None, 20.0], "lung": [True, None]})
    assert math.isclose(answers[0][1], 0.5)  # age is None, a state
    assert math.isclose(answers[1][1], 0.8 * 0.037)


def test_tables_and_arrays_are_rows_too(model):
    table = model.sample(300, random_state=1)
    codes = table.codes.copy()
    codes[1, ::2] = 2  # not observed
    answers = model.query_many("smoke", Table(model.schema, codes))
    part = model.query_many("smoke", table.select(["lung", "test"]))
    assert answers.probabilities.shape == part.probabilities.shape == (300, 2)
    array = np.array([["no", True, "old", 0]], dtype=object)
    assert math.isclose(model.query_many("lung", array)[0][True], 0.001 / (0.99 + 0.001))
    with raises(ValueError, about="read-only"):
        answers.probabilities[0] = 0.5


def test_impossible_rows_are_named_or_answered_by_the_prior(model):
    frame = {"test": [0, 1, 1], "lung": [True, True, False], "age": [20, 20, 20]}
    with raises(EvidenceError, about=("test=1", "lung=False")):
        model.query_many("smoke", frame)
    answers = model.query_many("smoke", frame, impossible="prior")
    assert answers.log_evidence[2] == -math.inf
    np.testing.assert_allclose(answers.probabilities[2], [0.7, 0.3])
    assert np.isfinite(answers.log_evidence[:2]).all()
    with raises(ParameterError, parameter="impossible", value="nan"):
        model.query_many("smoke", frame, impossible="nan")


def test_frames_that_say_nothing_are_refused(model):
    with raises(DataError, about="frame"):
        model.query_many("smoke", {"Lung": [True], "smoke": ["no"]})
    with raises(StateError, parameter="smoke", value="perhaps"):
        model.query_many("lung", {"smoke": ["no", "perhaps"]})
    with raises(ParameterError, about="'lung'"):
        model.query_many(["lung", "lung"], FRAME)


def test_more_columns_than_one_key_holds():
    n = 80
    dag = Dag.from_parents([(), *[(0,)] * n])
    tables = [[0.5, 0.5], *[[[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]]] * n]
    model = BayesianNetwork(Schema.from_cards([2] + [3] * n), dag, tables)
    codes = np.full((n + 1, 12), 1)
    codes[1, :6] = [0, 1, 2, 3, 0, 2]  # the rows differ in the first columns alone
    codes[2, 6:] = [0, 1, 2, 3, 0, 2]
    answers = model.query_many("x0", Table(model.schema, codes))
    odds = np.tile([0.3 / 0.4, 1, 0.4 / 0.3, 1, 0.3 / 0.4, 0.4 / 0.3], 2)
    np.testing.assert_allclose(answers.probabilities[:, 1], odds / (1 + odds), rtol=1e-9)


def test_weighted_samples_stand_for_the_posterior(model):
    table = model.sample(40_000, {"test": 1, "age": "old"}, random_state=0, weighted=True)
    assert (table.codes[3] == 1).all()
    assert (table.codes[2] == 1).all()
    share = table.weights[table.codes[0] == 1].sum() / table.total_weight
    expected = model.query("smoke", {"test": 1, "age": "old"})["yes"]
    assert abs(share - expected) < 5 * math.sqrt(0.25 / table.total_weight)
    w = table.weights
    assert math.isclose(table.total_weight, w.sum() ** 2 / (w @ w))
    assert 0.02 < table.total_weight / table.n_rows < 0.06  # lung cancer is rare: 0.037
    again = model.sample(40_000, {"test": 1, "age": "old"}, random_state=0, weighted=True)
    assert np.array_equal(table.codes, again.codes)
    plain = model.sample(100, random_state=3, weighted=True)
    assert plain.total_weight == 100
    assert np.array_equal(plain.codes, model.sample(100, random_state=3).codes)
    with raises(EvidenceError, about="50 rows"):
        model.sample(50, {"lung": False, "test": 1}, random_state=0, weighted=True)
    with raises(ParameterError, parameter="n", value=0):
        model.sample(0, weighted=True)


def test_intervals_need_strengths_and_narrow_with_them(model):
    with raises(ParameterError, about="certain"):
        query_interval(model, "smoke")
    widths = []
    for size in (20.0, 2000.0):
        strengths = [np.full(t.shape[:-1], size) for t in model.tables]
        sure = BayesianNetwork(model.schema, model.dag, model.tables, strengths)
        found = query_interval(sure, "smoke", {"test": 1}, draws=400, random_state=0)
        exact = model.query("smoke", {"test": 1})["yes"]
        assert found.lower["yes"] < exact < found.upper["yes"]
        assert math.isclose(found.mean.probabilities.sum(), 1.0)
        widths.append(found.upper["yes"] - found.lower["yes"])
        again = query_interval(sure, "smoke", {"test": 1}, draws=400, random_state=0)
        assert again.lower["yes"] == found.lower["yes"]
    assert widths[1] < widths[0] / 3
    with raises(EvidenceError, about="lung=False"):
        query_interval(sure, "smoke", {"lung": False, "test": 1})

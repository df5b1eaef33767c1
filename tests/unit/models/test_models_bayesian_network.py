"""Bayesian networks: what they check, what they answer, how they read frames."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from counterpane.data.schema import Schema, Variable
from counterpane.data.table import Table
from counterpane.errors import (
    EvidenceError,
    ParameterError,
    ScopeError,
    StateError,
    TableSizeError,
    UnknownNameError,
)
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from error_checks import raises

SMOKE = [0.7, 0.3]
LUNG = [[0.99, 0.01], [0.9, 0.1]]
AGE = Variable("age", ("young", "old", None), (50.0,))


@pytest.fixture(name="model")
def lung_cancer():
    """smoke → lung → test ← age; a positive test never comes without lung cancer."""
    smoke, lung = Variable("smoke", ("no", "yes")), Variable("lung", (False, True))
    schema = Schema([smoke, lung, AGE, Variable("test", (0, 1))])
    test = np.empty((2, 3, 2))
    test[0] = [1, 0]
    test[1] = [[0.2, 0.8], [0.1, 0.9], [0.5, 0.5]]
    dag = Dag(4, [(0, 1), (1, 3), (2, 3)])
    return BayesianNetwork(schema, dag, [SMOKE, LUNG, [0.5, 0.4, 0.1], test])


def test_answers_are_exact_and_named(model):
    answer = model.query("smoke", {"lung": "True"})
    p = 0.3 * 0.1 / (0.3 * 0.1 + 0.7 * 0.01)
    assert math.isclose(answer["yes"], p)
    assert math.isclose(answer[{"smoke": "no"}], 1 - p)
    assert math.isclose(math.exp(answer.log_evidence), 0.037)
    pair = model.query(["lung", "smoke"])
    assert pair.names == ("lung", "smoke")
    assert math.isclose(pair[{"lung": True, "smoke": "yes"}], 0.03)
    assert math.isclose(pair[{"smoke": "yes"}], 0.3)
    assert math.isclose(pair.to_dict()[(True, "yes")], 0.03)
    with raises(ParameterError, about="dictionary"):
        pair["yes"]


def test_evidence_finds_states_by_interval_text_and_missing(model):
    by_number = model.query("test", {"age": 61, "lung": True})
    assert math.isclose(by_number[1], 0.9)
    assert math.isclose(model.query("test", {"age": None, "lung": True})["1"], 0.5)
    with raises(StateError, parameter="smoke", value="maybe"):
        model.query("lung", {"smoke": "maybe"})


def test_questions_that_make_no_sense_are_refused(model):
    with raises(UnknownNameError, parameter="column", value="smokes"):
        model.query("smokes")
    with raises(UnknownNameError, parameter="column", value="Lung"):
        model.query("smoke", {"Lung": True})
    with raises(EvidenceError, about="'lung'"):
        model.query(["smoke", "lung"], {"lung": True})
    for question in ([], ["lung", "lung"]):
        with raises(ParameterError, about="once"):
            model.query(question)


def test_impossible_evidence_names_the_conflict_alone(model):
    evidence = {"smoke": "yes", "lung": False, "age": 20, "test": 1}
    with raises(EvidenceError, about=("lung=False", "test=1")):
        model.sample(2, evidence)
    del evidence["smoke"]
    with raises(EvidenceError, about=("lung=False", "test=1")):
        model.query("smoke", evidence)
    with raises(EvidenceError, about=("lung=False", "test=1")):
        model.map_query(evidence=evidence)


def test_best_explanation_has_labels(model):
    assert model.map_query(evidence={"test": 1}) == {"smoke": "yes", "lung": True, "age": "young"}
    assert model.map_query("lung") == {"lung": False}


def test_rows_of_frames_are_scored(model):
    frame = pd.DataFrame(
        {"test": [0, 1], "age": [70.0, np.nan], "lung": [False, True], "smoke": ["no", "yes"]}
    )
    expected = [0.7 * 0.99 * 0.4 * 1.0, 0.3 * 0.1 * 0.1 * 0.5]
    np.testing.assert_allclose(np.exp(model.score_samples(frame)), expected)
    table = Table.from_frame(frame, schema=model.schema)
    assert np.array_equal(model.score_samples(table), model.score_samples(frame))
    conditionals = np.exp(model.full_conditionals(frame, ["smoke", "lung"]))
    np.testing.assert_allclose(conditionals[1], [0.07 / 0.37, 0.3 / 0.37, 0, 1], atol=1e-12)
    pll = model.pseudo_log_likelihood(frame)
    assert pll.shape == (2, 4)
    np.testing.assert_allclose(pll.sum(axis=1), model.pseudo_log_likelihood(frame, total=True))


def test_samples_come_back_as_a_table(model):
    table = model.sample(20_000, random_state=0)
    assert table.schema == model.schema
    assert abs((table.codes[0] == 1).mean() - 0.3) < 0.02
    assert not ((table.codes[3] == 1) & (table.codes[1] == 0)).any()
    given = model.sample(20_000, {"test": 1}, random_state=0)
    assert (given.codes[1] == 1).all()
    assert abs((given.codes[0] == 1).mean() - model.query("smoke", {"test": 1})["yes"]) < 0.02
    for n in (0, -1, 2.5):
        with pytest.raises(ParameterError):
            model.sample(n)


def test_graph_and_sizes(model):
    assert isinstance(model.graph, nx.DiGraph)
    assert set(model.graph.edges) == {("smoke", "lung"), ("lung", "test"), ("age", "test")}
    assert model.dag.n_parameters(model.schema.cards) == 1 + 2 + 2 + 6
    assert repr(model) == "BayesianNetwork(4 variables, 3 edges, 11 parameters)"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.99, 0.01]], r"P\(x1 \| x0\) has shape \(1, 2\); \(2, 2\) is needed"),
        ([[0.99, 0.01], [1.0]], r"P\(x1 \| x0\) is not a full table"),
        ([[0.9, 0.1], [0.9, 0.2]], r"P\(x1 \| x0\) at x0=1 is \[0.9, 0.2\]"),
        ([[0.9, 0.1], [1.5, -0.5]], "not negative"),
        ([[np.nan, 0.1], [0.5, 0.5]], "at x0=0"),
        ([[0.5, 0.5], [np.inf, 0.5]], "at x0=1"),
        ([[0.5, 0.5], [0.0, 0.0]], "at x0=1"),
    ],
)
def test_bad_tables_are_refused_by_name(table, message):
    with pytest.raises((ScopeError, ParameterError), match=message):
        BayesianNetwork(Schema.from_cards([2, 2]), Dag(2, [(0, 1)]), [SMOKE, table])


def test_parts_must_fit_together():
    two = Schema.from_cards([2, 2])
    for dag, tables in [(Dag(3), [SMOKE] * 3), (Dag(2), [SMOKE])]:
        with raises(ScopeError, about="together"):
            BayesianNetwork(two, dag, tables)
    for strengths in ([1.0, 0.0], [1.0, [1.0]], [1.0, np.nan]):
        with raises(ParameterError, about="strengths"):
            BayesianNetwork(two, Dag(2), [SMOKE, SMOKE], strengths)


def test_rows_are_brought_to_one():
    model = BayesianNetwork(Schema.from_cards([3]), Dag(1), [[0.3333333, 0.3333333, 0.3333333]])
    assert model.tables[0].sum() == 1.0
    with raises(ValueError, about="read-only"):
        model.tables[0][0] = 0


def test_counts_give_the_posterior_mean():
    counts = [[6, 2], [[4, 2, 0], [0, 0, 0]]]
    model = BayesianNetwork.from_counts(
        Schema.from_cards([2, 3]), Dag(2, [(0, 1)]), counts, equivalent_sample_size=3.0
    )
    np.testing.assert_allclose(model.tables[0], [7.5 / 11, 3.5 / 11])
    np.testing.assert_allclose(model.tables[1], [[4.5 / 7.5, 2.5 / 7.5, 0.5 / 7.5], [1 / 3] * 3])
    np.testing.assert_allclose(model.strengths[1], [7.5, 1.5])
    np.testing.assert_allclose(model.strengths[1][..., None] * model.tables[1] - 0.5, counts[1])


def test_counts_with_tables_of_pseudo_counts():
    schema, dag = Schema.from_cards([2]), Dag(1)
    model = BayesianNetwork.from_counts(schema, dag, [[3, 1]], alpha=[[1.0, 3.0]])
    assert model.tables[0].tolist() == [0.5, 0.5]
    assert model.strengths[0] == 8.0
    with raises(ParameterError, about="'x0'"):
        BayesianNetwork.from_counts(schema, dag, [[0, 0]], equivalent_sample_size=0.0)
    with raises(ParameterError, parameter="equivalent_sample_size", value=-1.0):
        BayesianNetwork.from_counts(schema, dag, [[0, 0]], equivalent_sample_size=-1.0)
    with raises(ScopeError, about="shape"):
        BayesianNetwork.from_counts(schema, dag, [[3, 1, 2]])


def test_a_question_too_large_names_its_variables():
    n = 30
    schema = Schema.from_cards([2] * n)
    model = BayesianNetwork(schema, Dag(n), [[0.5, 0.5]] * n)
    with raises(TableSizeError, about=("'x0'", "'x1'")):
        model.query(schema.names, method="exact")
    with raises(TableSizeError, about="1,073,741,824 cells"):
        model.query(schema.names)
    assert len(model.map_query()) == n


def test_answers_print_as_tables(model):
    lines = repr(model.query(["lung", "smoke"])).splitlines()
    assert lines[0].split() == ["lung", "smoke", "P"]
    assert lines[1].split() == ["False", "no", "0.693"]
    wide = BayesianNetwork(
        Schema([Variable("<b>", tuple(range(100)))]), Dag(1), [np.full(100, 0.01)]
    ).query("<b>")
    assert repr(wide).splitlines()[-1].split() == ["…", "80", "more"]
    assert "&lt;b&gt;" in wide._repr_html_()
    assert "<b>" not in wide._repr_html_()

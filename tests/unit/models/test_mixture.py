"""Mixtures against tables of all rows."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import (
    DataError,
    EvidenceError,
    FileFormatError,
    ParameterError,
    ScopeError,
)
from counterpane.formats.native import Content, write_native
from counterpane.graphs import Dag
from counterpane.models import BayesianNetwork
from counterpane.models.arrays import arrays_of
from counterpane.models.mixture import Mixture
from counterpane.models.record import LearnerRecord, LearningRecord
from error_checks import raises

SCHEMA = Schema.from_cards([2, 3, 2])
ROWS = np.array(list(product(range(2), range(3), range(2)))).T
WHOLE = Table(SCHEMA, ROWS)


def network(edges, seed, zero=False):
    """Random tables; with `zero`, x0 = 1 excludes x2 = 1 where x0 → x2."""
    rng = np.random.default_rng(seed)
    dag = Dag(3, edges)
    tables = []
    for i in range(3):
        shape = SCHEMA.cards[[*dag.parents(i), i]]
        tables.append(rng.dirichlet(np.ones(shape[-1]), size=tuple(shape[:-1])))
    if zero:
        tables[2] = np.array([[0.4, 0.6], [1.0, 0.0]])
    return BayesianNetwork(SCHEMA, dag, tables)


MODELS = [
    network([(0, 1), (1, 2)], 0),
    network([(0, 2)], 1, zero=True),
    network([(2, 1), (0, 1)], 2),
]
WEIGHTS = np.array([0.5, 0.3, 0.2])


@pytest.fixture(name="model")
def mixture():
    return Mixture(MODELS, 10 * WEIGHTS)


@pytest.fixture(name="joint")
def joint_table():
    """P of every row, axes (x0, x1, x2)."""
    parts = [w * np.exp(m.score_samples(WHOLE)) for w, m in zip(WEIGHTS, MODELS, strict=True)]
    return np.sum(parts, axis=0).reshape(2, 3, 2)


def test_rows(model, joint):
    assert model.weights == pytest.approx(WEIGHTS)
    assert np.exp(model.score_samples(WHOLE)) == pytest.approx(joint.reshape(-1), rel=1e-12)
    assert np.exp(model.score_samples(WHOLE)).sum() == pytest.approx(1.0)
    frame = {f"x{i}": ROWS[i] for i in range(3)}
    assert np.array_equal(model.score_samples(frame), model.score_samples(WHOLE))


def test_conditionals(model, joint):
    full = np.exp(model.full_conditionals(WHOLE))
    pseudo = model.pseudo_log_likelihood(WHOLE)
    for row, (a, b, c) in enumerate(ROWS.T):
        parts = [joint[:, b, c], joint[a, :, c], joint[a, b, :]]
        assert full[row] == pytest.approx(np.hstack([p / p.sum() for p in parts]), rel=1e-10)
        own = [joint[a, b, c] / p.sum() for p in parts]
        assert np.exp(pseudo[row]) == pytest.approx(own, rel=1e-10)
    assert model.pseudo_log_likelihood(WHOLE, total=True) == pytest.approx(pseudo.sum(axis=1))
    two = np.exp(model.full_conditionals(WHOLE, ["x2", "x0"]))
    assert two == pytest.approx(full[:, [5, 6, 0, 1]])
    one = np.exp(model.full_conditionals(WHOLE, "x1"))
    assert one == pytest.approx(full[:, 2:5])


def test_the_variable_asked_may_be_missing(model):
    codes = ROWS.copy()
    codes[1] = 3
    hidden = Table(SCHEMA, codes)
    expected = model.full_conditionals(WHOLE, ["x1"])
    assert model.full_conditionals(hidden, ["x1"]) == pytest.approx(expected, rel=1e-12)
    with raises(DataError, about="missing"):
        model.full_conditionals(hidden, ["x0"])


def test_rows_impossible_under_all_models():
    only = Mixture([MODELS[1]])
    assert only.score_samples(WHOLE).min() == -np.inf
    # x2 = 1 with x0 = 1 is impossible, but x2 = 0 is not, nor is x0 = 0.
    conditionals = np.exp(only.full_conditionals(WHOLE, ["x0", "x2"]))
    impossible = (ROWS[0] == 1) & (ROWS[2] == 1)
    assert conditionals[impossible] == pytest.approx(np.tile([1, 0, 1, 0], (3, 1)))
    with raises(EvidenceError, about=("'x1'", "row 3")):
        only.full_conditionals(Table(SCHEMA, ROWS[:, [0, 1, 2, 7]]), ["x1"])


def test_queries(model, joint):
    answer = model.query(["x2", "x0"])
    assert answer.probabilities == pytest.approx(joint.sum(axis=1).T, rel=1e-12)
    assert answer.log_evidence == 0.0
    given = model.query("x1", {"x0": 1, "x2": 1})
    part = joint[1, :, 1]
    assert given.probabilities == pytest.approx(part / part.sum(), rel=1e-12)
    assert given.log_evidence == pytest.approx(np.log(part.sum()), rel=1e-12)
    soft = model.query("x1", virtual_evidence={"x2": [0.2, 0.7]})
    weighed = (joint * [0.2, 0.7]).sum(axis=(0, 2))
    assert soft.probabilities == pytest.approx(weighed / weighed.sum(), rel=1e-12)
    assert model.log_evidence({"x0": 1, "x1": 2, "x2": 0}) == pytest.approx(np.log(joint[1, 2, 0]))
    each = model.marginals({"x1": 2})
    assert each["x0"].probabilities == pytest.approx(
        joint[:, 2].sum(axis=1) / joint[:, 2].sum(), rel=1e-12
    )
    with raises(EvidenceError, about="'x1'"):
        model.query("x1", {"x1": 0})


def test_many_rows_at_once(model, joint):
    answers = model.query_many("x1", {"x0": [0, 1, 1], "x2": [0, 1, None]})
    parts = [joint[0, :, 0], joint[1, :, 1], joint[1].sum(axis=1)]
    for found, part in zip(answers.probabilities, parts, strict=True):
        assert found == pytest.approx(part / part.sum(), rel=1e-12)
    assert answers.log_evidence == pytest.approx(np.log([p.sum() for p in parts]), rel=1e-12)


def test_evidence_shifts_the_weights():
    """Independent uniform columns against equal ones: after 1, 1 the second is twice as likely."""
    two = Schema.from_cards([2, 2])
    apart = BayesianNetwork(two, Dag(2), [[0.5, 0.5], [0.5, 0.5]])
    equal = BayesianNetwork(two, Dag(2, [(0, 1)]), [[0.5, 0.5], [[1, 0], [0, 1]]])
    assert Mixture([apart, equal]).query("x1", {"x0": 1})[1] == pytest.approx(0.75)
    sure = Mixture([apart, equal]).query("x0", {"x1": 0})
    assert sure[0] == pytest.approx(0.75)


def test_impossible_evidence():
    never = BayesianNetwork(SCHEMA, Dag(3), [[1, 0], [0.2, 0.3, 0.5], [0.5, 0.5]])
    model = Mixture([never, never])
    with raises(EvidenceError, about="x0=1"):
        model.query("x1", {"x0": 1, "x2": 0})
    with raises(EvidenceError, about="x0=1"):
        model.sample(3, {"x0": 1})
    half = Mixture([never, MODELS[0]])
    assert half.query("x1", {"x0": 1}).probabilities == pytest.approx(
        MODELS[0].query("x1", {"x0": 1}).probabilities
    )
    assert set(half.sample(50, {"x0": 1}, 0).codes[0]) == {1}


def test_best_explanation(model, joint):
    best = np.unravel_index(joint.argmax(), joint.shape)
    assert model.map_query() == {f"x{i}": int(c) for i, c in enumerate(best)}
    column = joint[1].sum(axis=1)
    assert model.map_query("x1", {"x0": 1}) == {"x1": int(column.argmax())}


@pytest.mark.parametrize("evidence", [None, {"x0": 1}])
def test_samples(model, joint, evidence):
    table = model.sample(40_000, evidence, 0)
    cells = np.bincount(np.ravel_multi_index(tuple(table.codes), (2, 3, 2)), minlength=12)
    due = joint.copy()
    if evidence:
        due[0] = 0
    due = (due / due.sum()).reshape(-1)
    assert cells / 40_000 == pytest.approx(due, abs=0.012)
    assert np.array_equal(model.sample(10, evidence, 3).codes, model.sample(10, evidence, 3).codes)
    runs = np.count_nonzero(np.diff(table.codes[1].astype(int)))
    assert runs > 10_000  # the models' rows are shuffled


def test_structure(model):
    graph = model.graph
    assert isinstance(graph, nx.DiGraph)
    assert list(graph.nodes) == ["x0", "x1", "x2"]
    weights = {(a, b): round(d["weight"], 6) for a, b, d in graph.edges(data=True)}
    assert weights == {("x0", "x1"): 0.7, ("x1", "x2"): 0.5, ("x0", "x2"): 0.3, ("x2", "x1"): 0.2}
    assert repr(model) == "Mixture(3 models over 3 variables: BayesianNetwork)"
    with raises(ParameterError, about="potentials"):
        model.to_potentials()


def test_a_mixture_of_mixtures_is_one_mixture(model):
    inner = Mixture(MODELS[:2], [5, 3])
    outer = Mixture([inner, MODELS[2]], [0.8, 0.2])
    assert outer.models == tuple(MODELS)
    assert outer.weights == pytest.approx(model.weights)
    assert Mixture(MODELS).weights == pytest.approx([1 / 3] * 3)


def test_what_is_refused():
    for models, weights in [([], None), (MODELS, [1, 2]), (MODELS, [1, 2, 0]),
                            (MODELS, [1, 2, np.nan]), (MODELS, [1, 2, -1])]:  # fmt: skip
        with pytest.raises(ParameterError):
            Mixture(models, weights)
    other = BayesianNetwork(Schema.from_cards([2]), Dag(1), [[0.5, 0.5]])
    with raises(ScopeError, about="mixture"):
        Mixture([MODELS[0], other])


# ---- files -------------------------------------------------------------------------------------


def test_saved_and_loaded_bit_for_bit(model, tmp_path):
    model.record = LearningRecord(learner=LearnerRecord(text="by hand"))
    model.save(tmp_path / "mixture.cp")
    loaded = cp.load(tmp_path / "mixture.cp")
    assert isinstance(loaded, Mixture)
    assert loaded.record == model.record
    assert loaded.weights.tobytes() == model.weights.tobytes()
    for a, b in zip(loaded.models, model.models, strict=True):
        assert a.dag == b.dag
        assert all(x.tobytes() == y.tobytes() for x, y in zip(a.tables, b.tables, strict=True))
    assert loaded.score_samples(WHOLE).tobytes() == model.score_samples(WHOLE).tobytes()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kinds", np.frombuffer(b"mixture", np.uint8).astype(np.int64)),
        ("kinds", np.frombuffer(b"unknown\nx\ny", np.uint8).astype(np.int64)),
        ("kinds", np.array([999])),
        ("weights", np.array([1.0, 2.0])),
        ("weights", np.array([1.0, np.nan, 2.0])),
        ("1.tables", np.array([0.5])),
    ],
)
def test_hostile_files_are_refused(model, tmp_path, name, value):
    arrays = arrays_of(model) | {name: value}
    write_native(tmp_path / "bad.cp", Content("mixture", SCHEMA, arrays, {}))
    with raises(FileFormatError, about="bad.cp"):
        cp.load(tmp_path / "bad.cp")

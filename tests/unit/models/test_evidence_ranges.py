"""Evidence as sets of states and as ranges of numbers and dates, for every model and method."""

import datetime
import itertools
import math

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.data.schema import Variable
from counterpane.errors import EvidenceError, ParameterError, StateError
from counterpane.models.evidence import evidence_weights
from error_checks import raises

SCHEMA = cp.Schema(
    [
        Variable("port", ("a", "b", "c")),
        Variable("size", (1, 2, 5, None)),
        Variable("paid", ("no", "yes")),
    ]
)


def network(seed=0):
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), size=3)]
    tables.append(rng.dirichlet(np.ones(2), size=(3, 4)))
    return cp.BayesianNetwork(SCHEMA, cp.Dag(3, [(0, 1), (0, 2), (1, 2)]), tables)


def by_enumeration(model, asked, evidence):
    """P(asked | evidence) of all rows; evidence is a function of a row."""
    total = {}
    for row in itertools.product(*(v.states for v in SCHEMA)):
        cells = dict(zip(SCHEMA.names, row, strict=True))
        p = math.exp(float(model.score_samples({n: [c] for n, c in cells.items()})[0]))
        total[cells[asked]] = total.get(cells[asked], 0.0) + p * evidence(cells)
    whole = sum(total.values())
    return {state: p / whole for state, p in total.items()}, math.log(whole)


QUESTIONS = [
    ({"port": {"a", "c"}}, lambda row: row["port"] in "ac"),
    ({"port": ["b"], "paid": frozenset({"no", "yes"})}, lambda row: row["port"] == "b"),
    ({"size": cp.Range(low=2)}, lambda row: row["size"] is not None and row["size"] >= 2),
    ({"size": cp.Range(1, 5, include_low=False), "port": ("a", "b")},
     lambda row: row["size"] == 2 and row["port"] in "ab"),
]  # fmt: skip


@pytest.mark.parametrize("evidence, holds", QUESTIONS)
def test_sets_and_ranges_are_what_all_rows_say(evidence, holds):
    model = network()
    mixed = cp.Mixture([network(0), network(1)], [1, 2])
    for one in (model, cp.MarkovNetwork(SCHEMA, model.to_potentials()), mixed):
        asked = "paid" if "paid" not in evidence else "size"
        expected, log_evidence = by_enumeration(one, asked, holds)
        answer = one.query(asked, evidence)
        assert answer.to_dict() == pytest.approx(expected)
        assert answer.log_evidence == pytest.approx(log_evidence)
        assert one.marginals(evidence)[asked].to_dict() == pytest.approx(expected)
        drawn = one.sample(4000, evidence, random_state=0)
        cells = [dict(zip(SCHEMA.names, row, strict=True)) for row in np.asarray(drawn).tolist()]
        for row in cells:
            row["size"] = None if row["size"] is None or row["size"] != row["size"] else row["size"]
            assert holds(row)
        shares = drawn.shares(asked)
        for state, share in zip(SCHEMA[asked].states, shares, strict=True):
            assert share == pytest.approx(expected[state], abs=0.035)


@pytest.mark.parametrize("method", ["gibbs", "bp"])
def test_estimates_take_sets_and_ranges(method):
    model = network()
    evidence = {"port": {"a", "c"}, "size": cp.Range(high=5)}
    exact = model.query("paid", evidence, method="exact")
    assert model.query("paid", evidence, method=method).to_dict() == pytest.approx(
        exact.to_dict(), abs=0.05
    )
    drawn = model.sample(200, evidence, 0, method="gibbs")
    assert set(drawn["port"].tolist()) == {"a", "c"} and set(drawn["size"].tolist()) <= {1, 2}
    weighted = model.sample(20_000, evidence, 0, weighted=True)
    assert weighted.shares("paid") == pytest.approx(exact.probabilities, abs=0.03)


@pytest.mark.parametrize("method", ["exact", cp.ICM(), cp.MaxProduct(), "auto"])
def test_the_most_probable_row_is_one_of_those_left(method):
    model = network()
    evidence = {"port": {"b", "c"}, "size": cp.Range(low=2)}
    rows = [
        dict(zip(SCHEMA.names, row, strict=True))
        for row in itertools.product("bc", (2, 5), ("no", "yes"))
    ]
    frame = {name: [row[name] for row in rows] for name in SCHEMA.names}
    best = rows[int(model.score_samples(frame).argmax())]
    assert model.map_query(evidence=evidence, method=method) == best


def test_a_dependency_network_takes_them_by_sampling():
    table = cp.load_dataset("titanic")
    model = cp.DependencyNetworkLearner().fit(table).model_
    evidence = {"status": {"first", "second"}, "sex": "female"}
    answer = model.query("survived", evidence, method=cp.Gibbs(n_samples=4000))
    assert answer["yes"] == pytest.approx(234 / 251, abs=0.05)
    best = model.map_query(evidence=evidence, method=cp.ICM())
    assert best["status"] in ("first", "second") and best["survived"] == "yes"


def test_a_set_is_what_the_rows_say():
    table = cp.load_dataset("titanic")
    model = cp.StructureSearch().fit(table).model_
    answer = model.query("survived", {"status": {"first", "second"}, "sex": "female"})
    assert answer["yes"] == pytest.approx(234 / 251, abs=0.01)
    asked = model.query("status", {"status": {"first", "second"}})
    assert asked["third"] == 0 and asked["first"] == pytest.approx(325 / 610, abs=0.01)


@pytest.fixture(scope="module")
def cars():
    rng = np.random.default_rng(3)
    mpg = np.round(rng.gamma(9, 2.6, 3000), 1)
    frame = pd.DataFrame(
        {
            "mpg": mpg,
            "doors": rng.integers(2, 60, 3000),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 3000), "D"),
            "cheap": np.where(rng.random(3000) < 1 / (1 + np.exp((mpg - 24) / 3)), "yes", "no"),
        }
    )
    table = cp.read(frame, discretize="quantile", n_bins=6)
    return frame, table, cp.StructureSearch().fit(table).model_


@pytest.mark.parametrize(
    "column, bounds, rows",
    [
        ("mpg", cp.Range(low=30), lambda c: c >= 30),
        ("mpg", cp.Range(low=30, include_low=False), lambda c: c > 30),
        ("mpg", cp.Range(20, 25.5), lambda c: (c >= 20) & (c < 25.5)),
        ("doors", cp.Range(high=17, include_high=True), lambda c: c <= 17),
        ("doors", cp.Range(17, 17, include_high=True), lambda c: c == 17),
        ("sold", cp.Range("2020-06-01", datetime.date(2021, 6, 1)),
         lambda c: (c >= "2020-06-01") & (c < "2021-06-01")),
    ],
)  # fmt: skip
def test_a_range_weighs_intervals_by_the_share_of_their_values(cars, column, bounds, rows):
    frame, table, model = cars
    inside = rows(frame[column]).to_numpy()
    weights = evidence_weights(table.schema[column], bounds)
    codes = table.codes[table.schema.index(column)]
    shares = [inside[codes == code].mean() for code in range(len(weights))]
    assert weights == pytest.approx(shares, abs=0.04)
    weight = math.exp(model.log_evidence({column: bounds}))
    assert weight == pytest.approx(inside.mean(), abs=0.006)
    drawn = model.sample(300, {column: bounds}, random_state=0).to_frame()
    assert rows(drawn[column]).all()


def test_a_range_answers_as_the_rows_do(cars):
    frame, _, model = cars
    for bounds, rows in (
        (cp.Range(low=30), frame.mpg >= 30),
        (cp.Range(22, 26), (frame.mpg >= 22) & (frame.mpg < 26)),
    ):
        share = (frame.cheap[rows] == "yes").mean()
        assert model.query("cheap", {"mpg": bounds})["yes"] == pytest.approx(share, abs=0.05)
    given = model.sample(50, {"mpg": 31.25}, random_state=0)
    assert (given["mpg"] == 31.25).all()  # a number that is known stays


def test_without_quantiles_a_range_must_end_at_a_cut():
    plain = Variable("x", ("<2", "[2, 4)", "≥4"), (2.0, 4.0))
    assert evidence_weights(plain, cp.Range(low=4)).tolist() == [0, 0, 1]
    assert evidence_weights(plain, cp.Range(2, 3)).tolist() == [0, 0.5, 0]
    with raises(EvidenceError, about=("'≥4'", "(2.0, 4.0)")):
        evidence_weights(plain, cp.Range(low=5, include_low=False))


@pytest.mark.parametrize(
    "value, words",
    [
        (set(), "the evidence on 'port' is an empty set; name one or more of its states: 'a'"),
        (cp.Range(low=3), "port ≥ 3 is a range, and the states of 'port' are no numbers"),
    ],
)
def test_evidence_that_says_nothing_is_refused(value, words):
    with pytest.raises(EvidenceError, match=words):
        network().query("paid", {"port": value})


def test_ranges_outside_and_bad_ends_are_refused(cars):
    _, _, model = cars
    with raises(EvidenceError, about="'mpg'"):
        model.query("cheap", {"mpg": cp.Range(low=900)})
    with raises(EvidenceError, about="'doors'"):
        model.query("cheap", {"doors": cp.Range(9, 4)})
    with raises(EvidenceError, about=("'soon'", "'sold'")):
        model.query("cheap", {"sold": cp.Range("soon")})
    with raises(StateError, parameter="port", value="z"):
        network().query("paid", {"port": {"a", "z"}})
    for ends in ((None, None), ([1], None), (math.nan, 3)):
        with raises(ParameterError, about="range"):
            cp.Range(*ends)


def test_impossible_sets_and_ranges_are_named():
    table = cp.load_dataset("titanic")
    rows = cp.BayesianNetwork(
        table.schema.select([0, 1]),
        cp.Dag(2, [(0, 1)]),
        [[0.5, 0.5, 0, 0], [[1, 0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]],
    )
    with raises(EvidenceError, about=("'crew'", "'third'")):
        rows.query("age", {"status": {"third", "crew"}})


def test_ranges_meet():
    assert cp.Range(3, 9) & cp.Range(high=5, include_high=True) == cp.Range(3, 5, True, True)
    assert cp.Range(low=3) & cp.Range(low=3, include_low=False) == cp.Range(3, include_low=False)
    assert repr(cp.Range(low=3, include_low=False)) == "Range(value > 3)"
    assert repr(cp.Range("2020-01-01", "2021-01-01")) == "Range(2020-01-01 ≤ value < 2021-01-01)"


def test_a_range_as_text_names_the_way_to_write_it():
    model = cp.ChowLiu().fit(cp.load_dataset("iris")).model_
    with raises(cp.CounterpaneError, parameter="petal_width", value=">2"):
        model.query("class", {"petal_width": ">2"})
    with raises(cp.CounterpaneError, parameter="petal_width", value="wide"):
        model.query("class", {"petal_width": "wide"})

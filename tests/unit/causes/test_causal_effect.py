"""Effects: of networks by their definition, of classes by all their graphs, and how they print."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.causes.causal_graph import mixed_class
from counterpane.errors import NotFittedError, NotIdentifiedError, UnknownNameError
from counterpane.graphs import cpdag
from error_checks import raises
from reference.causal_reference import (
    answer,
    effect_table,
    graphs_of_class,
    random_network,
    refitted,
)


def as_model(network: Any, **options: Any) -> cp.BayesianNetwork:
    parents, tables = network
    schema = cp.Schema(
        [cp.Variable(f"v{i}", tuple(range(t.shape[-1]))) for i, t in enumerate(tables)]
    )
    return cp.BayesianNetwork(schema, cp.Dag.from_parents(parents), tables, **options)


@pytest.mark.parametrize("seed", range(20))
def test_a_network_has_the_effect_of_its_graph(seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    n = int(rng.integers(2, 7))
    network = random_network(rng, n, rng.uniform(0.3, 0.7))
    x, y, *rest = rng.permutation(n).tolist()
    joint = [x, rest[0]] if rest and seed % 3 == 0 else [x]
    result = cp.effect(as_model(network), [f"v{v}" for v in joint], f"v{y}")
    np.testing.assert_allclose(result.probabilities, effect_table(network, joint, y), atol=1e-12)
    assert result.interval() is None
    if rest and len(joint) == 1:
        e = rest[-1]
        within = cp.effect(as_model(network), f"v{x}", f"v{y}", given={f"v{e}": 1})
        for state in range(within.probabilities.shape[0]):
            truth = answer(network, [y], {x: state}, {e: 1})
            np.testing.assert_allclose(within.probabilities[state], truth, atol=1e-12)


@pytest.mark.parametrize("seed", range(50))
def test_the_range_of_a_class_holds_the_true_effect(seed: int) -> None:
    """IDA with the oracle's class; small classes have exactly the effects of all their graphs."""
    rng = np.random.default_rng([5, seed])
    n = int(rng.integers(2, 7))
    network = random_network(rng, n, rng.uniform(0.2, 0.8), 2)
    x, y, *rest = rng.permutation(n).tolist()
    joint = [x, rest[0]] if rest and seed % 5 == 0 else [x]
    result = cp.effect(as_model(network), [f"v{v}" for v in joint], f"v{y}", equivalence=True)
    truth = effect_table(network, joint, y)
    gaps = [np.abs(e.probabilities - truth).max() for e in result.estimates]
    assert min(gaps) < 1e-9
    assert (result.least - 1e-9 <= truth).all()
    assert (truth <= result.most + 1e-9).all()
    if seed < 60:
        expected = [
            effect_table(refitted(network, graph), joint, y)
            for graph in graphs_of_class(network[0])
        ]
        for each in expected:
            assert min(np.abs(e.probabilities - each).max() for e in result.estimates) < 1e-8
        for e in result.estimates:
            assert min(np.abs(e.probabilities - each).max() for each in expected) < 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_a_group_in_a_class(seed: int) -> None:
    rng = np.random.default_rng([6, seed])
    network = random_network(rng, 5, 0.5, 2)
    x, y, e = rng.permutation(5).tolist()[:3]
    result = cp.effect(as_model(network), f"v{x}", f"v{y}", given={f"v{e}": 1}, equivalence=True)
    truth = np.array([answer(network, [y], {x: s}, {e: 1}) for s in (0, 1)])
    assert min(np.abs(each.probabilities - truth).max() for each in result.estimates) < 1e-9


def confounded_rows(n: int, seed: int = 0) -> dict[str, Any]:
    """z → x, z → y, x → y with P(y=1 | do(x)) = 0.3 and 0.5."""
    rng = np.random.default_rng(seed)
    z = rng.random(n) < 0.5
    x = rng.random(n) < np.where(z, 0.8, 0.2)
    y = rng.random(n) < 0.1 + 0.2 * x + 0.4 * z
    return {"z": z.astype(int), "x": x.astype(int), "y": y.astype(int)}


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    dag = cp.Dag(3, [(0, 1), (0, 2), (1, 2)])
    hits = {"model": 0, "rows": 0}
    for seed in range(60):
        source = cp.MemoryCounts(cp.read(confounded_rows(500, seed)))
        model = cp.fit_parameters(source, dag)
        for name, result in (
            ("model", cp.effect(model, "x", "y", draws=200)),
            ("rows", cp.effect(source, "x", "y", graph="z -> x -> y; z -> y", draws=200)),
        ):
            interval = result.interval("difference")
            assert interval is not None
            hits[name] += bool(interval[0][1, 1] <= 0.2 <= interval[1][1, 1])
    assert 51 <= hits["model"] <= 60
    assert 51 <= hits["rows"] <= 60


def test_adjusting_by_rows_and_by_a_model_agree() -> None:
    source = cp.MemoryCounts(cp.read(confounded_rows(20_000)))
    model = cp.fit_parameters(source, cp.Dag(3, [(0, 1), (0, 2), (1, 2)]))
    by_model = cp.effect(model, "x", "y", draws=2)
    by_rows = cp.effect(source, "x", "y", graph="z -> x -> y; z -> y", draws=2)
    np.testing.assert_allclose(by_model.probabilities, by_rows.probabilities, atol=1e-3)
    assert by_rows.probabilities[:, 1] == pytest.approx([0.3, 0.5], abs=0.02)
    assert by_rows.observed[:, 1] == pytest.approx([0.18, 0.62], abs=0.02)
    frame = cp.effect(confounded_rows(20_000), "x", "y", graph="z -> x -> y; z -> y", draws=2)
    np.testing.assert_array_equal(frame.probabilities, by_rows.probabilities)


def test_a_learner_says_first_what_is_open() -> None:
    learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    result = cp.effect(learner, "sex", "survived", draws=20, equivalence=True)
    assert not result.determined
    assert str(result).startswith(
        "The data leave open whether 'sex' acts on 'survived' or 'survived' on 'sex'"
    )
    with raises(cp.CounterpaneError, about="effects"):
        _ = result.probabilities
    assert result.least[1, 1] < result.most[1, 1]
    same = cp.effect(learner.model_, "sex", "survived", draws=20, equivalence=True)
    np.testing.assert_array_equal(same.least, result.least)
    as_is = cp.effect(learner, "sex", "survived", draws=20, equivalence=False)
    assert as_is.determined
    known = cp.StructureSearch(tiers=[["sex", "age", "status"], ["survived"]])
    known.fit(cp.load_dataset("titanic"))
    told = cp.effect(known, "sex", "survived", draws=20, equivalence=True)
    assert "acts on" not in told.notes[0]
    assert all(e.acts for e in told.estimates)


def test_averages_over_structures() -> None:
    rows = cp.read(confounded_rows(3000))
    samples = cp.bootstrap(cp.StructureSearch(), rows, n=10, keep_models=True, random_state=0)
    result = cp.effect(samples, "x", "y")
    assert result.notes[0].startswith("Averaged over 10 bootstrap samples: a directed path from")
    assert result.probabilities.sum(axis=-1) == pytest.approx([1, 1])
    interval = result.interval("difference")
    assert interval is not None and interval[0][1, 1] < interval[1][1, 1]
    chain = cp.OrderMCMC("bdeu", n_samples=100, n_chains=2, random_state=0).fit(rows)
    posterior = cp.effect(chain, "x", "y", draws=50)
    share = posterior.estimates[0].acts
    direct = [cp.effect(m, "x", "y", equivalence=False, draws=2) for m in chain.model_.models]
    mean = sum(w * d.probabilities for w, d in zip(chain.model_.weights, direct, strict=True))
    np.testing.assert_allclose(posterior.probabilities, mean, atol=1e-12)
    assert share == pytest.approx(
        sum(w * d.estimates[0].acts for w, d in zip(chain.model_.weights, direct, strict=True))
    )


def test_records_json_html_and_text() -> None:
    model = as_model(random_network(np.random.default_rng(1), 3, 1.0, 2))
    result = cp.effect(model, "v0", "v1", baseline=1)
    assert json.loads(json.dumps(result.to_dict()))["baseline"] == [1]
    record = result.records()[0]
    base = result.probabilities[1, 0]
    assert record["difference"] == pytest.approx(result.probabilities[0, 0] - base)
    assert record["ratio"] == pytest.approx(result.probabilities[0, 0] / base)
    assert "minus v0=1" in str(result)
    assert result._repr_html_().count("<tr>") == 5
    strengths = [np.full(t.shape[:-1], 50.0) for t in model.tables]
    sure = cp.BayesianNetwork(model.schema, model.dag, model.tables, strengths)
    text = str(cp.effect(sure, "v0", "v1", level=0.9))
    assert "90 %" in text


def test_a_graph_of_the_user_on_a_model() -> None:
    network = random_network(np.random.default_rng(3), 4, 0.6, 2)
    model = as_model(network)
    for x, y in ((0, 1), (2, 3), (3, 0)):
        by_class = cp.effect(model, f"v{x}", f"v{y}", equivalence=True)
        shape = mixed_class(cpdag(model.dag), model.schema.names)
        same = cp.effect(model, f"v{x}", f"v{y}", graph=shape)
        np.testing.assert_allclose(same.least, by_class.least)
    with raises(NotIdentifiedError, about="hedge"):
        cp.effect(model, "v0", "v1", graph="v0 -> v1; v0 <-> v1")


def test_gaps_and_targets_are_noted() -> None:
    rows = {"x": [0, 1, 0, 1, None], "y": [0, 1, 1, 1, 0]}
    result = cp.effect(rows, "x", "y", graph="x -> y", draws=2)
    assert "Rows with gaps in these columns are left out: 20.0%." in result.notes
    tree = cp.TAN().fit(cp.load_dataset("titanic"), "survived")
    notes = cp.effect(tree.model_, "sex", "survived", draws=2).notes
    assert any("was learned to predict 'survived'" in note for note in notes)


def test_bad_questions() -> None:
    rng = np.random.default_rng(0)
    model = as_model(random_network(rng, 3, 1.0, 2))
    with raises(cp.CounterpaneError, about="'v0'"):
        cp.effect(model, "v0", "v0")
    with raises(UnknownNameError, parameter="column", value="w"):
        cp.effect(model, "w", "v0")
    with raises(cp.CounterpaneError, about="'v1'"):
        cp.effect(model, "v1", "v0", given={"v1": 0})
    with raises(cp.CounterpaneError, about="given='v2'"):
        cp.effect(model, "v1", "v0", given={"v2": {0, 1}})
    with raises(cp.CounterpaneError, about="graph='x -> y; …'"):
        cp.effect({"a": [1, 2], "b": [1, 2]}, "a", "b")
    with raises(NotFittedError, about="StructureSearch"):
        cp.effect(cp.StructureSearch(), "a", "b")
    with raises(cp.CounterpaneError, about="directions"):
        cp.effect(cp.MarkovNetwork(cp.Schema.from_cards([2, 2]), []), "x0", "x1")
    with raises(cp.CounterpaneError, about="keep_models=True"):
        cp.effect(cp.bootstrap(cp.ChowLiu(), cp.load_dataset("titanic"), n=2), "sex", "survived")
    tables = [np.full(2, 0.5), np.eye(2), rng.dirichlet([1, 1], (2, 2))]
    with raises(cp.CounterpaneError, about="'v1'"):
        cp.effect(as_model(([(), (0,), (0, 1)], tables)), "v1", "v2", equivalence=True)
    with raises(cp.CounterpaneError, parameter="measure", value="odds"):
        cp.effect(model, "v0", "v1").interval("odds")

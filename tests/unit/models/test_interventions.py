"""`do` in every question, against sums over all rows; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import EvidenceError, UnknownNameError
from error_checks import raises
from reference.causal_reference import answer, joint_after, random_network


def as_model(network: Any) -> cp.BayesianNetwork:
    parents, tables = network
    schema = cp.Schema(
        [cp.Variable(f"v{i}", tuple(range(t.shape[-1]))) for i, t in enumerate(tables)]
    )
    return cp.BayesianNetwork(schema, cp.Dag.from_parents(parents), tables)


def named(codes: dict[int, int]) -> dict[str, int]:
    return {f"v{v}": code for v, code in codes.items()}


@pytest.mark.parametrize("block", range(20))
def test_do_equals_sums_over_all_rows(block: int) -> None:
    """Fifty networks of up to seven columns in each of twenty blocks, some with zeros."""
    for seed in range(50):
        rng = np.random.default_rng([26, block, seed])
        n = int(rng.integers(2, 8))
        network = random_network(rng, n, rng.uniform(0.2, 0.7), zeros=seed % 3 == 0)
        model, cards = as_model(network), [t.shape[-1] for t in network[1]]
        order = rng.permutation(n).tolist()
        n_set = int(rng.integers(1, min(3, n)))
        do = {v: int(rng.integers(cards[v])) for v in order[:n_set]}
        target, *rest = order[n_set:]
        given = {v: int(rng.integers(cards[v])) for v in rest[: int(rng.integers(0, 3))]}
        truth = answer(network, [target], do, given)
        if truth is None:
            with raises(EvidenceError, about="zero"):
                model.query(f"v{target}", named(given), do=named(do))
            continue
        one = model.query(f"v{target}", named(given), do=named(do))
        np.testing.assert_allclose(one.probabilities, truth, atol=1e-12)
        each = model.marginals(named(given), do=named(do))
        assert set(each) == {f"v{v}" for v in range(n) if v not in do and v not in given}
        np.testing.assert_allclose(each[f"v{target}"].probabilities, truth, atol=1e-12)
        best = model.map_query(f"v{target}", named(given), do=named(do))[f"v{target}"]
        assert truth[best] == pytest.approx(truth.max(), abs=1e-12)
        if given:
            frame = {**{k: [s] for k, s in named(given).items()}, f"v{order[0]}": [0]}
            rows = model.query_many(f"v{target}", frame, do=named(do))
            np.testing.assert_allclose(rows.probabilities[0], truth, atol=1e-12)
            evidence = joint_after(network, do)[
                tuple(given.get(v, slice(None)) for v in range(n))
            ].sum()
            assert one.log_evidence == pytest.approx(np.log(evidence))


def test_samples_follow_the_intervention() -> None:
    network = random_network(np.random.default_rng(7), 4, 0.8, 2)
    model = as_model(network)
    table = model.sample(20_000, random_state=0, do={"v1": 1})
    assert (table.codes[1] == 1).all()
    for v in (0, 2, 3):
        truth = answer(network, [v], {1: 1}, {})
        assert (table.codes[v] == 1).mean() == pytest.approx(truth[1], abs=0.015)
    within = model.sample(20_000, {"v0": 1}, random_state=0, do={"v1": 1})
    assert (within.codes[0] == 1).all()
    truth = answer(network, [3], {1: 1}, {0: 1})
    assert (within.codes[3] == 1).mean() == pytest.approx(truth[1], abs=0.015)
    by_chain = model.sample(4000, random_state=0, do={"v1": 1}, method="gibbs")
    assert (by_chain.codes[1] == 1).all()


def test_numbers_that_are_set_are_drawn_as_they_are() -> None:
    model = cp.StructureSearch().fit(cp.load_dataset("iris")).model_
    rows = model.sample(5, random_state=0, do={"petal_width": 2.0})
    assert rows["petal_width"].tolist() == [2.0] * 5


def test_estimates_take_do() -> None:
    network = random_network(np.random.default_rng(3), 5, 0.6, 2)
    model = as_model(network)
    truth = answer(network, [4], {2: 1}, {0: 1})
    for method in ("gibbs", "bp", "mean_field"):
        value = model.query("v4", {"v0": 1}, do={"v2": 1}, method=method)
        assert value.certainty is not None
        assert value[1] == pytest.approx(truth[1], abs=0.25 if method == "mean_field" else 0.1)


def test_intervals_and_mixtures() -> None:
    table = cp.load_dataset("titanic")
    model = cp.fit_parameters(cp.MemoryCounts(table), cp.Dag(4, [(0, 2), (0, 3), (2, 3)]))
    interval = cp.query_interval(model, "survived", do={"sex": "female"}, random_state=0)
    exact = model.query("survived", do={"sex": "female"})
    assert interval.lower["yes"] < exact["yes"] < interval.upper["yes"]
    apart = cp.fit_parameters(cp.MemoryCounts(table), cp.Dag(4))
    both = cp.Mixture([model, apart], [3, 1])
    mixed = both.query("survived", do={"sex": "female"})["yes"]
    parts = [m.query("survived", do={"sex": "female"})["yes"] for m in (model, apart)]
    assert mixed == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])
    assert (both.sample(50, random_state=0, do={"sex": "female"}).codes[2] == 1).all()


def test_the_cut_network_is_a_model(tmp_path: Any) -> None:
    model = cp.StructureSearch().fit(cp.load_dataset("titanic")).model_
    cut = model.do({"sex": "female"})
    assert cut.dag.parents(2) == ()
    assert cut.record.interventions == {"sex": "female"}
    cut.save(tmp_path / "cut.cp")
    loaded: Any = cp.load(tmp_path / "cut.cp")
    assert loaded.query("survived")["yes"] == model.query("survived", do={"sex": "female"})["yes"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"variables": "v0", "evidence": {"v1": 0}, "do": {"v1": 1}}, "both set by do and given"),
        ({"variables": "v1", "do": {"v1": 1}}, "both set by do and asked about"),
        ({"variables": "v0", "do": {"v1": {0, 1}}}, "leaves several states"),
        ({"variables": "v0", "do": {"v1": 7}}, "is not one of"),
        ({"variables": "v0", "do": "v1"}, "a dictionary from columns to states is needed"),
        (
            {"variables": "v0", "do": {"v1": 1}, "virtual_evidence": {"v1": [1, 2]}},
            "given by virtual evidence",
        ),
    ],
)
def test_what_is_refused(question: dict[str, Any], words: str) -> None:
    model = as_model(random_network(np.random.default_rng(0), 3, 1.0, 2))
    with pytest.raises(cp.CounterpaneError, match=words) as error:
        model.query(**question)
    assert "\n" not in str(error.value)


def test_models_without_directions_refuse() -> None:
    with raises(UnknownNameError, parameter="column", value="v9"):
        as_model(random_network(np.random.default_rng(0), 3, 1.0, 2)).query("v0", do={"v9": 0})
    field = cp.MarkovNetwork(cp.Schema.from_cards([2, 2]), [])
    with raises(cp.CounterpaneError, about="MarkovNetwork"):
        field.query("x0", do={"x1": 1})
    classifier = cp.Mixture(
        [as_model(random_network(np.random.default_rng(0), 3, 1.0, 2))], fixed=True
    )
    with raises(cp.CounterpaneError, about="directions"):
        classifier.query("v0", do={"v1": 1})

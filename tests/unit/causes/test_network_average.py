"""Effects averaged over networks: intervals that know of missing edges, and what was seen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Table
from counterpane.learners.bayesian.sampled_networks import sample_networks
from error_checks import raises


def trial(seed: int, effect: float = -0.083, n: int = 432) -> dict[str, Any]:
    """A randomized trial of `fin` with a small effect on `arrest`, and four other columns."""
    rng = np.random.default_rng(seed)
    fin, age = rng.integers(0, 2, n), rng.integers(0, 3, n)
    prior = np.clip(rng.poisson(1.2, n) - (age > 1), 0, 3)
    wexp = rng.random(n) < 0.35 + 0.18 * age
    race = rng.random(n) < 0.88
    risk = 0.31 - 0.05 * age + 0.05 * (prior - 1) + effect * (fin - 0.5)
    arrest = rng.random(n) < risk
    columns = {"fin": fin, "age": age, "prior": prior, "wexp": wexp, "race": race, "arrest": arrest}
    return {name: column.astype(int) for name, column in columns.items()}


def difference(result: Any) -> tuple[float, float]:
    low, high = result.interval("difference")
    return float(low[1, 1]), float(high[1, 1])


def test_an_interval_knows_of_edges_that_were_not_found() -> None:
    rows = trial(1)
    learner = cp.StructureSearch().fit(rows)
    assert not any("fin" in edge.ends for edge in learner.strengths_)
    result = cp.effect(learner, "fin", "arrest")
    low, high = difference(result)
    assert low < -0.083 < high and high - low > 0.1
    arrest, fin = rows["arrest"], rows["fin"]
    assert result.observed is not None
    shares = [arrest[fin == k].mean() for k in (0, 1)]
    assert result.observed[:, 1] == pytest.approx(shares)
    share = result.estimates[0].acts
    assert f"a directed path from 'fin' to 'arrest' in {4000 * share:,.0f} of 4,000" in str(result)
    as_drawn = cp.effect(learner, "fin", "arrest", equivalence=False)
    assert difference(as_drawn) == (0, 0)
    assert any("The graph is taken as given" in note for note in as_drawn.notes)


def test_intervals_of_a_trial_cover_its_effect() -> None:
    hits = 0
    for seed in range(60):
        model = cp.StructureSearch().fit(trial(seed)).model_
        low, high = difference(cp.effect(model, "fin", "arrest", draws=1000))
        assert high - low > 0.05
        hits += low <= -0.083 <= high
    assert hits >= 54


def test_seeds_hardly_move_the_ends() -> None:
    model = cp.StructureSearch().fit(trial(2)).model_
    ends = [difference(cp.effect(model, "fin", "arrest", random_state=k)) for k in range(4)]
    assert np.ptp(np.array(ends), axis=0).max() < 0.008
    again = cp.effect(model, "fin", "arrest", random_state=0)
    assert difference(again) == ends[0]


def test_what_the_user_knows_is_kept() -> None:
    rows = trial(3)
    tiers = [["age", "race", "wexp", "prior"], ["fin"], ["arrest"]]
    known = cp.StructureSearch(tiers=tiers, forbidden_edges=[("race", "fin")]).fit(rows)
    networks = sample_networks(known.model_, cp.read(rows), 500, np.random.default_rng(0))
    assert networks is not None
    fin, race, arrest = (list(rows).index(name) for name in ("fin", "race", "arrest"))
    assert not (networks.parents[:, fin] >> race & 1).any()
    assert not any((networks.parents[:, v] >> arrest & 1).any() for v in range(6))
    result = cp.effect(known, "fin", "arrest")
    assert "from 'arrest' to 'fin' in 0." in result.notes[0]
    needed = cp.HillClimb(required_edges=[("fin", "arrest")]).fit(rows)
    assert cp.effect(needed, "fin", "arrest").estimates[0].acts == 1


def test_networks_come_from_the_exact_posterior() -> None:
    rows = cp.read(trial(4, -0.15)).select(["fin", "age", "prior", "wexp", "arrest"])
    model = cp.HillClimb("bdeu").fit(rows).model_
    networks = sample_networks(model, rows, 20_000, np.random.default_rng(0))
    assert networks is not None and networks.exact
    exact = cp.ExactPosterior("bdeu").fit(rows).edge_probabilities_
    found = [[(networks.parents[:, x] >> p & 1).mean() for x in range(5)] for p in range(5)]
    np.testing.assert_allclose(found, exact, atol=0.015)
    dags, counts = networks.distinct()
    assert counts.sum() == 20_000 and (np.diff(counts) <= 0).all()
    paths = sum(c for dag, c in zip(dags, counts, strict=True) if 4 in dag.descendants([1]))
    assert networks.with_path([1], 4).sum() == paths


@pytest.mark.parametrize("learner", [cp.ChowLiu(), cp.StructureSearch()])
def test_wide_tables_and_trees_take_bootstrap_samples(learner: Any) -> None:
    rng = np.random.default_rng(0)
    columns = trial(5)
    if isinstance(learner, cp.StructureSearch):
        columns |= {f"noise{k}": rng.integers(0, 2, 432) for k in range(8)}
    result = cp.effect(learner.fit(columns), "age", "prior", draws=1000)
    assert "100 networks learned from bootstrap samples" in result.notes[0]
    assert result.estimates[0].draws is not None
    assert result.estimates[0].draws.shape == (1000, 3, 4)


def test_a_missing_cell_is_no_treatment_and_no_outcome() -> None:
    rng = np.random.default_rng(6)
    columns: dict[str, Any] = {k: v.astype(object) for k, v in trial(6).items()}
    for name in ("fin", "arrest"):
        columns[name][rng.random(432) < 0.1] = None
    for missing in ("state", "em", "drop"):
        learner = cp.StructureSearch(missing=missing).fit(
            {k: v.tolist() for k, v in columns.items()}
        )
        for equivalence in (None, True, False):
            result = cp.effect(learner, "fin", "arrest", draws=100, equivalence=equivalence)
            assert [v.states for v in (*result.treatment, result.outcome)] == [(0, 1), (0, 1)]
            for e in result.estimates:
                np.testing.assert_allclose(e.probabilities.sum(axis=-1), 1)
            assert "(missing)" not in str(result)
            json.dumps(result.to_dict())
    both = [(f, a) for f, a in zip(columns["fin"], columns["arrest"], strict=True)
            if f is not None and a is not None]  # fmt: skip
    share = np.mean([a for f, a in both if f == 1])
    learner = cp.StructureSearch(missing="em").fit({k: v.tolist() for k, v in columns.items()})
    observed = cp.effect(learner, "fin", "arrest", draws=100).observed
    assert observed is not None and observed[1, 1] == pytest.approx(share)
    states = cp.StructureSearch(missing="state").fit({k: v.tolist() for k, v in columns.items()})
    with raises(cp.CounterpaneError, about="baseline"):
        cp.effect(states, "fin", "arrest", baseline={"fin": None})


def test_rows_travel_in_the_file(tmp_path: Any) -> None:
    rows = trial(7)
    model = cp.StructureSearch().fit(rows).model_
    model.save(tmp_path / "m.cp")
    loaded = cp.load(tmp_path / "m.cp")
    expected = difference(cp.effect(model, "fin", "arrest"))
    assert difference(cp.effect(loaded, "fin", "arrest")) == expected
    model.save(tmp_path / "m.bif")
    bare = cp.load(tmp_path / "m.bif")
    result = cp.effect(bare, "fin", "arrest")
    assert result.observed is None and "seen" not in str(result)
    assert result.records()[0]["observed"] is None
    loaded.training_rows = None  # as in files of older releases
    older = cp.effect(loaded, "fin", "arrest", draws=100)
    assert any("pass the data as well" in note for note in older.notes)
    assert difference(cp.effect(loaded, "fin", "arrest", data=cp.read(rows))) == expected
    with raises(cp.CounterpaneError, about="Bayesian"):
        cp.effect(rows, "fin", "arrest", graph="fin -> arrest", data=rows)


def test_several_treatments_and_groups() -> None:
    learner = cp.StructureSearch().fit(trial(8))
    both = cp.effect(learner, ["fin", "wexp"], "arrest", draws=500)
    assert both.probabilities.shape == (2, 2, 2)
    within = cp.effect(learner, "age", "arrest", given={"race": 1}, draws=500)
    for result in (both, within):
        assert result.probabilities.sum(axis=-1) == pytest.approx(1)
        assert result.interval() is not None
        assert "sampled networks" in result.notes[0]


def test_confounding_is_adjusted_for() -> None:
    rng = np.random.default_rng(9)
    n = 6000
    z, w = rng.integers(0, 2, (2, n))
    x = rng.random(n) < np.where(z ^ w, 0.8, 0.2)
    y = rng.random(n) < 0.2 + 0.2 * x + 0.2 * z * w + 0.2 * z
    table = cp.read({"z": z, "w": w, "x": x.astype(int), "y": y.astype(int)})
    result = cp.effect(cp.StructureSearch(tiers=[["z", "w"], ["x"], ["y"]]).fit(table), "x", "y")
    low, high = difference(result)
    assert low < 0.2 < high and high - low < 0.08


def test_weights_count_as_rows() -> None:
    table = cp.read({k: v.tolist() for k, v in trial(10, n=200).items()})
    twice = Table(table.schema, np.repeat(table.codes, 2, axis=1))
    weighted = table.reweighted(np.full(200, 2))
    found = [
        difference(cp.effect(cp.StructureSearch().fit(rows), "fin", "arrest", draws=500))
        for rows in (twice, weighted)
    ]
    assert found[0] == found[1]

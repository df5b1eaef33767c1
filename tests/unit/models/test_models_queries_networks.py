"""All known networks, with random evidence, beside pyAgrum's lazy propagation."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from counterpane.storage import load

FOLDER = Path(os.environ.get("COUNTERPANE_DATA", "")) / "networks"
NETWORKS = sorted(p.name.split(".")[0] for p in FOLDER.glob("*.bif.gz"))
needs_data = pytest.mark.skipif(not NETWORKS, reason="COUNTERPANE_DATA has no networks folder")
N_ROWS = 12


@pytest.fixture(name="pair", scope="module", params=NETWORKS)
def network_in_both(request, pyagrum):
    """(name, our network, the same built from our tables in pyAgrum: its reader rounds)."""
    network = load(FOLDER / f"{request.param}.bif.gz")
    other = pyagrum.BayesNet()
    names = network.schema.names
    for variable in network.schema:
        other.add(pyagrum.LabelizedVariable(variable.name, "", [str(s) for s in variable.states]))
    for parent, child in network.dag.edges:
        other.addArc(names[parent], names[child])
    for i, name in enumerate(names):
        axes = [names.index(n) for n in reversed(other.cpt(name).names)]
        family = [*network.dag.parents(i), i]
        table = network.tables[i].transpose([family.index(v) for v in axes])
        other.cpt(name)[:] = np.ascontiguousarray(table)
    return request.param, network, other


@needs_data
def test_queries_of_rows_equal_lazy_propagation(pair, pyagrum):
    _, network, other = pair
    names = network.schema.names
    rng = np.random.default_rng(3)
    chosen = rng.permutation(len(names))[:6].tolist()
    asked, told = names[chosen[0]], [names[v] for v in chosen[1:]]
    rows = network.sample(N_ROWS, random_state=rng).select(told)
    codes = rows.codes.copy()
    holes = rng.random(codes.shape) < 0.3
    codes = np.where(holes, rows.schema.cards[:, None], codes)
    answers = network.query_many(asked, type(rows)(rows.schema, codes))
    propagation = pyagrum.LazyPropagation(other)
    propagation.addTarget(asked)
    for r in range(N_ROWS):
        seen = [c for c in range(len(told)) if not holes[c, r]]
        propagation.eraseAllEvidence()
        propagation.setEvidence({told[c]: int(codes[c, r]) for c in seen})
        propagation.makeInference()
        expected = propagation.posterior(asked).toarray()
        np.testing.assert_allclose(answers.probabilities[r], expected, rtol=0, atol=1e-9)
        single = network.query(asked, {told[c]: rows.schema[c].states[codes[c, r]] for c in seen})
        np.testing.assert_allclose(single.probabilities, expected, rtol=0, atol=1e-9)


@needs_data
def test_best_explanation_of_alarm_beats_its_samples():
    network = load(FOLDER / "alarm.bif.gz")
    evidence = {"HRBP": "HIGH", "PRESS": "LOW"}
    best = network.map_query(evidence=evidence)
    frame = {name: [state] for name, state in {**best, **evidence}.items()}
    rows = network.sample(2000, evidence, random_state=0)
    assert network.score_samples(frame)[0] >= network.score_samples(rows).max()


N_GIVEN = {"link": [250], "pigs": [5]}


def random_evidence(network, n_given, seed):
    rng = np.random.default_rng(seed)
    row = network.sample(1, random_state=rng).codes[:, 0]
    chosen = rng.choice(len(network.schema), n_given, replace=False).tolist()
    return {network.schema.names[v]: network.schema[v].states[row[v]] for v in chosen}


@needs_data
def test_marginals_equal_lazy_propagation(pair, pyagrum):
    name, network, other = pair
    for n_given in N_GIVEN.get(name, [0, 2, min(5, len(network.schema) - 1)]):
        evidence = random_evidence(network, n_given, n_given)
        propagation = pyagrum.LazyPropagation(other)
        propagation.setEvidence(evidence)
        propagation.makeInference()
        found = network.marginals(evidence)
        assert len(found) == len(network.schema) - n_given
        for variable, answer in found.items():
            expected = propagation.posterior(variable).toarray()
            np.testing.assert_allclose(answer.probabilities, expected, rtol=0, atol=1e-9)
        if evidence:
            expected = np.log(propagation.evidenceProbability())
            np.testing.assert_allclose(answer.log_evidence, expected, rtol=0, atol=1e-9)


@needs_data
def test_virtual_evidence_equals_lazy_propagation(pair, pyagrum):
    name, network, other = pair
    evidence = random_evidence(network, N_GIVEN.get(name, [1])[0], 7)
    free = [v.name for v in network.schema if v.name not in evidence][:3]
    rng = np.random.default_rng(8)
    soft = {n: rng.uniform(0.1, 1.0, network.schema[n].card) for n in free}
    propagation = pyagrum.LazyPropagation(other)
    propagation.setEvidence(evidence | {n: values.tolist() for n, values in soft.items()})
    propagation.makeInference()
    for variable, answer in network.marginals(evidence, virtual_evidence=soft).items():
        expected = propagation.posterior(variable).toarray()
        np.testing.assert_allclose(answer.probabilities, expected, rtol=0, atol=1e-9)

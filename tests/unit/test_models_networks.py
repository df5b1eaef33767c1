"""Known networks: exact round trips, and the answers of pyAgrum."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from counterpane.models import load

FOLDER = Path(os.environ.get("COUNTERPANE_DATA", "")) / "networks"
NETWORKS = sorted(p.name.split(".")[0] for p in FOLDER.glob("*.bif.gz"))
needs_data = pytest.mark.skipif(not NETWORKS, reason="COUNTERPANE_DATA has no networks folder")


@pytest.fixture(name="pyagrum", scope="module")
def quiet_pyagrum():
    with warnings.catch_warnings():  # its import warns, and crashes where warnings are errors
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")


def opened(name):
    return load(FOLDER / f"{name}.bif.gz")


def in_pyagrum(pyagrum, network):
    """The same network, built from our tables and not from a file."""
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
    return other


@needs_data
@pytest.mark.parametrize(
    ("name", "n_given"), [("asia", 0), ("asia", 2), ("alarm", 0), ("alarm", 5)]
)
def test_answers_equal_lazy_propagation(name, n_given, pyagrum):
    network = opened(name)
    rng = np.random.default_rng(n_given)
    row = network.sample(1, random_state=rng).codes[:, 0]
    chosen = rng.choice(len(network.schema), n_given, replace=False).tolist()
    evidence = {network.schema.names[v]: network.schema[v].states[row[v]] for v in chosen}
    propagation = pyagrum.LazyPropagation(in_pyagrum(pyagrum, network))
    propagation.setEvidence(evidence)
    propagation.makeInference()
    for variable in network.schema.names:
        if variable not in evidence:
            answer = network.query(variable, evidence)
            expected = propagation.posterior(variable).toarray()
            np.testing.assert_allclose(answer.probabilities, expected, atol=1e-9)
    if evidence:
        expected = propagation.evidenceProbability()
        assert np.isclose(np.exp(answer.log_evidence), expected, rtol=1e-9)


@needs_data
def test_best_explanation_of_alarm_beats_its_samples():
    network = opened("alarm")
    evidence = {"HRBP": "HIGH", "PRESS": "LOW"}
    best = network.map_query(evidence=evidence)
    frame = {name: [state] for name, state in {**best, **evidence}.items()}
    rows = network.sample(2000, evidence, random_state=0)
    assert network.score_samples(frame)[0] >= network.score_samples(rows).max()

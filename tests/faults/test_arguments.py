"""Questions and seeds of a wrong kind: one sentence of the library, whatever was passed."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from error_checks import raises


@pytest.fixture(scope="module")
def model():
    return cp.ChowLiu().fit(cp.load_dataset("titanic")).model_


@pytest.mark.parametrize("evidence", [["a"], "sex", 5, ("sex", "male"), True, {3: 4}, {None: 1}])
def test_evidence_of_a_wrong_kind(model, evidence):
    for ask in (
        lambda: model.query("survived", evidence),
        lambda: model.query("survived", virtual_evidence=evidence),
        lambda: model.sample(3, evidence),
        lambda: model.marginals(evidence),
        lambda: model.log_evidence(evidence),
    ):
        with pytest.raises(cp.CounterpaneError):
            ask()


@pytest.mark.parametrize("variables", [5, None, [None], [5], 1.5, [], "", b"sex", [["sex"]]])
def test_variables_of_a_wrong_kind(model, variables):
    for ask in (lambda: model.query(variables), lambda: model.query_many(variables, {"age": []})):
        with pytest.raises(cp.CounterpaneError):
            ask()


@pytest.mark.parametrize("seed", [-1, "x", 1.5, float("nan"), object(), b"1"])
def test_seeds_of_a_wrong_kind(model, seed):
    table = cp.load_dataset("titanic")
    for call in (
        lambda: model.sample(3, random_state=seed),
        lambda: model.impute({"sex": [None], "age": ["adult"]}, draws=2, random_state=seed),
        lambda: cp.HillClimb(random_state=seed, restarts=1).fit(table),
        lambda: cp.OrderMCMC(random_state=seed).fit(table),
        lambda: cp.InteractionClassifier(random_state=seed).fit(table, "survived"),
        lambda: cp.bootstrap(cp.ChowLiu(), table, n=2, random_state=seed),
    ):
        with raises(cp.CounterpaneError, parameter="random_state"):
            call()


def test_seeds_of_every_right_kind(model):
    for seed in (None, 0, np.int64(3), 2**70, [1, 2], np.random.default_rng(0)):
        assert model.sample(2, random_state=seed).n_rows == 2


def test_long_names_are_cut_in_messages(model):
    with pytest.raises(cp.CounterpaneError) as caught:
        model.query("x" * 80_000)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("start", [np.zeros((4, 4)), np.array(["a"]), 5, [["sex"]], {"sex": 1}])
def test_starts_of_a_wrong_kind(start):
    for search in (cp.K2Search, cp.HillClimb, cp.StructureSearch):
        with raises(cp.CounterpaneError, about="networkx"):
            search(start=start).fit(cp.load_dataset("titanic"))

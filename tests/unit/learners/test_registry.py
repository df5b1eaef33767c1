"""The registry names every learner, and their parameters survive as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import ParameterError, UnknownNameError
from counterpane.learners.base import Learner
from counterpane.learners.classifiers.classifier import Classifier
from counterpane.learners.density import DensityLearner
from counterpane.learners.estimator import Estimator
from counterpane.learners.registry import LEARNERS, find_learner, learners, rankers
from counterpane.scores import EdgeOdds, EdgePrior
from error_checks import raises

PAGES = Path(__file__).parents[3] / "docs" / "methods"
OURS = [entry for entry in LEARNERS if entry.task != "ranker"]


def described(entry: Any) -> str:
    return f"{entry.task}-{entry.name}"


@pytest.mark.parametrize("entry", LEARNERS, ids=described)
def test_an_entry_is_true(entry: Any) -> None:
    assert entry.learner_class.__name__ == entry.class_name
    assert isinstance(entry.make(), entry.learner_class)
    if PAGES.exists():
        assert (PAGES / f"{entry.page}.md").exists()
    if entry.task != "ranker":
        assert getattr(cp, entry.class_name) is entry.learner_class
        family = Classifier if entry.task == "classifier" else DensityLearner
        assert issubclass(entry.learner_class, family)
        assert (PAGES / f"{entry.page}.md").read_text("utf-8").count(entry.class_name)


def test_names_are_unique_in_their_tasks() -> None:
    assert len({(entry.task, entry.name) for entry in LEARNERS}) == len(LEARNERS)
    command = [entry.name for entry in LEARNERS if entry.task in ("classifier", "network", "field")]
    assert len(set(command)) == len(command)
    assert set(rankers()) == {
        "hybrid", "pairwise", "chow-liu", "naive-bayes", "item-cosine", "item-rank",
        "blend", "popularity",
    }  # fmt: skip
    assert rankers()["naive-bayes"].class_name == "NaiveLinks"


def test_every_public_learner_is_listed() -> None:
    public = {name for name in cp.__all__ if isinstance(getattr(cp, name), type)}
    expected = {name for name in public if issubclass(getattr(cp, name), Learner)}
    assert {entry.class_name for entry in OURS} == expected


def test_a_wrong_name_is_refused() -> None:
    with raises(UnknownNameError, parameter="method", value="hill-clim"):
        find_learner("hill-clim")
    with pytest.raises(UnknownNameError):
        find_learner("popularity")  # ranks links only
    assert find_learner("exact-posterior").class_name == "ExactPosterior"
    assert list(learners("posterior")) == ["exact-posterior", "order-mcmc"]


# ---- configurations ------------------------------------------------------------------------------


def through_json(estimator: Any, base: Any = Learner) -> Any:
    text = json.dumps(estimator.to_config(), allow_nan=False)
    return base.from_config(json.loads(text))


@pytest.mark.parametrize("entry", OURS, ids=described)
def test_every_learner_comes_back(entry: Any) -> None:
    for learner in (
        entry.make(),
        entry.make(time_limit=2.5, checkpoint=Path("a.cp"), discretize={"a": [1.0, np.inf]}),
    ):
        twin = through_json(learner)
        assert type(twin) is type(learner)
        expected = learner.get_params() | {"checkpoint": learner.checkpoint and "a.cp"}
        assert repr(twin.get_params()) == repr(expected)


def test_scores_and_priors_come_back() -> None:
    titanic = cp.load_dataset("titanic")
    network = cp.ChowLiu().fit(titanic).model_
    odds = EdgeOdds(np.arange(1.0, 17.0).reshape(4, 4))
    for score in (
        "bic", cp.BIC(), cp.BDeu(3, structure_prior=EdgePrior(0.25)), cp.K2(structure_prior=odds),
        cp.NodeAverageLikelihood(0.1, alpha=0.3), cp.BDe(network, 10), cp.AIC(),
    ):  # fmt: skip
        twin = through_json(cp.HillClimb(score))
        if not isinstance(score, str):
            assert type(twin.criterion) is type(score)
        if isinstance(score, cp.NodeAverageLikelihood):
            assert repr(twin) == repr(cp.HillClimb(score))
        else:
            assert twin.fit(titanic).score_ == cp.HillClimb(score).fit(titanic).score_


def test_graphs_and_generators_come_back() -> None:
    titanic = cp.load_dataset("titanic")
    start = nx.DiGraph([("sex", "survived"), ("age", "survived")])
    learner = cp.HillClimb(
        start=start, required_edges=[("sex", "survived")], tiers=(("sex", "age"), ["survived"])
    )
    twin = through_json(learner)
    assert set(twin.start.edges) == set(start.edges)
    assert (twin.required_edges, twin.tiers) == ([("sex", "survived")], learner.tiers)
    network = cp.GES().fit(titanic).model_
    twin = through_json(cp.HillClimb(start=network))
    assert twin.start.schema == network.schema
    for mine, theirs in zip(twin.start.tables, network.tables, strict=True):
        assert np.array_equal(mine, theirs)
    test = cp.Oracle(cp.Dag(3, [(0, 2), (1, 2)]), names=["a", "b", "c"])
    twin = through_json(cp.GSMN(test))
    assert (twin.test.graph, twin.test.names) == (test.graph, test.names)
    learner = cp.OrderMCMC(random_state=np.random.default_rng(5))
    assert through_json(learner).random_state.random() == learner.random_state.random()


def test_a_ranker_comes_back() -> None:
    ranker = cp.LinkRanker(cp.HybridRandomFieldLearner(k=3), user="u")
    twin = through_json(ranker, cp.LinkRanker)
    assert (repr(twin), twin.user) == (repr(ranker), "u")


def test_what_json_cannot_hold_is_refused() -> None:
    class Mine(cp.BIC):
        pass

    assert "progress" not in cp.GES(progress=print).to_config()["parameters"]
    for learner in (cp.GES(Mine()), cp.GSMN(cost=len), cp.GES(discretize=object())):
        with raises(ParameterError, about="JSON"):
            learner.to_config()
    model = cp.GES(Mine()).fit(cp.load_dataset("titanic")).model_
    assert model.record.learner.config is None
    for config, words in (
        ({"class": "Path", "parameters": {}}, "Path"),
        ({"class": "BIC", "parameters": {}}, "BIC"),
        ({"class": "GES", "parameters": {"criterion": {"class": "os", "parameters": {}}}}, "'os'"),
    ):
        with pytest.raises(ParameterError, match=words):
            Learner.from_config(config)
    with raises(ParameterError, about="'GES'"):
        cp.ChowLiu.from_config(cp.GES().to_config())
    with raises(UnknownNameError, parameter="parameter", value="tabbu"):
        Learner.from_config({"class": "HillClimb", "parameters": {"tabbu": 3}})
    assert isinstance(Estimator.from_config(cp.GES().to_config()), cp.GES)


@pytest.mark.parametrize(
    "name", ["interaction", "markov", "hybrid", "dn-tree", "dn-logistic", "pairwise"]
)
def test_a_prior_size_that_would_be_ignored_is_refused(name: str) -> None:
    with raises(TypeError, about="equivalent_sample_size"):
        find_learner(name).make(equivalent_sample_size=2.0)

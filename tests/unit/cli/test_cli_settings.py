"""Parameters by --set, scores of methods, edge probabilities, weights and counted rankers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.cli.settings import fits_type, read_settings, type_words
from counterpane.errors import ParameterError, UnknownNameError
from counterpane.learners.estimator import parameter_types
from counterpane.learners.registry import LEARNERS, find_learner
from error_checks import raises


def settings_of(method: str, *texts: str) -> dict[str, Any]:
    return read_settings(texts, [find_learner(method)])[method]


def learned(run, *options: str) -> dict[str, Any]:
    code, out, err = run("learn", "titanic", "--json", "-o", "m.cp", *options)
    assert code == 0, err
    return json.loads(out)


# ---- --set ---------------------------------------------------------------------------------------


def test_values_have_the_types_of_the_parameters() -> None:
    assert settings_of("hill-climb", "tabu=4", "start=chow-liu", "max_parents=none") == {
        "tabu": 4, "start": "chow-liu", "max_parents": None,
    }  # fmt: skip
    assert settings_of("order-mcmc", "partition=False", "thin = 3") == {
        "partition": False, "thin": 3,
    }  # fmt: skip
    assert settings_of("k2", 'order=["sex", "age", "status", "survived"]')["order"][0] == "sex"
    assert settings_of("chow-liu", "root=3") == {"root": "3"}  # a column's name
    assert settings_of("dn-logistic", "l1=2") == {"l1": 2}


@pytest.mark.parametrize(
    "method, text, words",
    [
        ("hill-climb", "tabu=four", "tabu of --method hill-climb is a whole number; by default 0"),
        ("hill-climb", "tabu=1.5", "a whole number"),
        ("hill-climb", "tabu=true", "a whole number"),
        ("order-mcmc", "partition=2", "true or false; by default True"),
        ("exact-posterior", "prior=flat", "'uniform' or 'order'"),
        ("hill-climb", "tabu", "has no value; write it as name=value"),
        ("hill-climb", "criterion=k2", "use the option --score"),
        ("hill-climb", "n_jobs=2", "use the option --jobs"),
        ("order-mcmc", "random_state=2", "use the option --seed"),
        ("interaction", "bootstrap=2", "use the option --bootstrap"),
        ("dn-tree", "local=logistic", "--method dn-tree sets it to 'tree'"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(run, method, text, words) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        settings_of(method, text)
    code, out, err = run(
        "learn", "titanic", "--target", "survived", "--method", method, "--set", text
    )
    assert code == 2 and not out
    assert words in err and err.strip().count("\n") == 0


def test_a_wrong_name_offers_the_near_ones(run) -> None:
    with raises(UnknownNameError, parameter="--set 'tabo=3': the parameter", value="tabo"):
        settings_of("hill-climb", "tabo=3")
    code, _, err = run("compare", "titanic", "--method", "k2", "--set", "max_parent=1")
    assert code == 2 and "did you mean 'max_parents'" in err
    code, _, err = run("compare", "titanic", "--method", "k2", "--set", "k3.max_parents=1")
    assert code == 2 and "the method 'k3' is not known" in err


def test_every_parameter_of_every_method_has_a_type_and_takes_its_default() -> None:
    checked = 0
    for entry in LEARNERS:
        if entry.task == "ranker":
            continue
        for name, default in entry.learner_class._parameters().items():
            kind = parameter_types(entry.learner_class)[name]
            assert kind is Any or type_words(kind), (entry.name, name)
            if isinstance(default, str | int | float | bool | type(None)):
                assert fits_type(default, kind), (entry.name, name, kind)
                checked += 1
    assert checked > 200


def test_types() -> None:
    assert fits_type([1, 2], list[int]) and not fits_type([1, "a"], list[int])
    assert not fits_type("c", Literal["a", "b"])
    assert not fits_type(1, Literal[True])
    assert not fits_type("a", np.ndarray)
    assert type_words(np.ndarray | None) == "none"


def test_a_setting_reaches_the_learner(run, tmp_path: Path) -> None:
    facts = learned(run, "--method", "hill-climb", "--set", "max_parents=1")
    children = [edge["target"] for edge in facts["edges"]]
    assert len(children) == len(set(children))
    assert "max_parents=1" in cp.load(tmp_path / "m.cp").record.learner.text
    tree = learned(run, "--method", "hill-climb", "--set", "start=chow-liu")
    plain = learned(run, "--method", "hill-climb")
    assert tree["score"]["value"] == pytest.approx(plain["score"]["value"])
    facts = learned(run, "--target", "survived", "--method", "markov", "--set", "max_order=2")
    assert max(i["order"] for i in facts["interactions"]) == 1  # and the class


def test_compare_sets_what_a_method_takes(run) -> None:
    code, out, _ = run("compare", "titanic", "--method", "hill-climb", "--method", "dn-tree",
                       "--set", "max_parents=1", "--folds", "2", "--json")  # fmt: skip
    records = {r["method"]: r for r in json.loads(out)["learners"]}
    assert code == 0 and records["hill-climb"]["edges"] <= 3 < records["dn-tree"]["edges"]


# ---- scores --------------------------------------------------------------------------------------


def test_each_method_has_its_own_score_unless_one_is_named(run) -> None:
    assert learned(run, "--method", "k2")["score"]["name"] == "k2"
    assert learned(run, "--method", "k2", "--score", "bic")["score"]["name"] == "bic"
    assert learned(run, "--method", "hill-climb")["score"]["name"] == "bic"
    assert learned(run, "--method", "chow-liu")["score"]["name"] == "bic"
    best = learned(run, "--method", "k2")["score"]["value"]
    assert best == pytest.approx(cp.K2Search().fit(cp.load_dataset("titanic")).score_)


# ---- probabilities of edges ----------------------------------------------------------------------


def test_exact_posterior_prints_probabilities_and_saves_the_best_network(run, tmp_path) -> None:
    learner = cp.ExactPosterior().fit(cp.load_dataset("titanic"))
    facts = learned(run, "--method", "exact-posterior")
    assert facts["score"] == {"name": "bdeu", "value": pytest.approx(learner.best_score_)}
    assert facts["log_evidence"] == pytest.approx(learner.log_evidence_)
    assert facts["edge_probabilities"] == [pytest.approx(e.to_dict()) for e in learner.edges_]
    model = cp.load(tmp_path / "m.cp")
    assert set(model.graph.edges) == set(learner.best_model_.graph.edges)
    assert len(model.record.edge_probabilities) == 12
    code, out, _ = run("learn", "titanic", "--method", "exact-posterior", "-o", "m.bif")
    assert code == 0 and "either direction" in out and "log-evidence" in out
    assert f"{learner.edges_[0].share_of_mark:.3f}" in out
    code, out, _ = run("query", "m.bif", "survived", "--json")
    assert code == 0


def test_order_mcmc_agrees_with_the_exact_posterior(run) -> None:
    exact = {
        (r["source"], r["target"]): r
        for r in learned(run, "--method", "exact-posterior")["edge_probabilities"]
    }
    facts = learned(run, "--method", "order-mcmc", "--seed", "1", "--set", "n_samples=2000")
    assert facts["score"]["value"] == pytest.approx(-5246.266, abs=1e-3)
    assert facts["rhat"] < 1.05 and facts["effective_size"] > 100
    for record in facts["edge_probabilities"]:
        expected = exact[record["source"], record["target"]]["share_of_mark"]
        assert record["share_of_mark"] == pytest.approx(
            expected, abs=5 * record["standard_error"] + 1e-3
        )
    long = ("--method", "order-mcmc", "--seed", "1", "--set", "n_samples=2000")
    code, out, _ = run("learn", "titanic", *long, "-o", "m.cp")
    assert code == 0 and "R-hat" in out and "best network" in out


def test_order_mcmc_is_the_exact_sum_up_to_15_columns(run) -> None:
    facts = learned(run, "--method", "order-mcmc")
    exact = learned(run, "--method", "exact-posterior", "--set", "max_parents=3")
    assert facts["edge_probabilities"] == exact["edge_probabilities"]
    assert facts["log_evidence"] == exact["log_evidence"] and "rhat" not in facts
    code, out, _ = run("learn", "titanic", "--method", "order-mcmc", "-o", "m.cp")
    assert code == 0 and "exact sum over all networks" in out


# ---- weights -------------------------------------------------------------------------------------


def test_weights_are_those_of_python(run, tmp_path: Path) -> None:
    assert run("learn", "titanic", "--method", "dn-tree", "-o", "dn.cp")[0] == 0
    code, out, _ = run("fit-weights", "dn.cp", "titanic", "--prior-sd", "0.5", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["converged"] and facts["model"] == "dn-weights.cp"
    table = cp.load_dataset("titanic")
    expected = cp.fit_weights(cp.load(tmp_path / "dn.cp"), table, prior_sd=0.5)
    model = cp.load(tmp_path / "dn-weights.cp")
    assert cp.evaluate.pll(model, table).mean == pytest.approx(
        cp.evaluate.pll(expected, table).mean, abs=1e-9
    )
    code, out, _ = run("fit-weights", "dn.cp", "titanic", "-o", "w.mn")
    assert code == 0 and "converged" in out and (tmp_path / "w.mn").exists()


def test_validation_rows_choose_the_prior(run, tmp_path: Path) -> None:
    assert run("learn", "titanic", "--method", "hill-climb", "-o", "bn.cp")[0] == 0
    code, out, _ = run("fit-weights", "bn.cp", "titanic", "--validation", "titanic", "--json")
    facts = json.loads(out)
    assert code == 0 and len(facts["tried"]) > 1
    code, _, err = run("fit-weights", "bn.cp", "titanic", "--prior-sd", "-1")
    assert code == 2 and "above zero" in err
    assert run("learn", "titanic", "--target", "survived", "-o", "c.cp")[0] == 0
    code, _, err = run("fit-weights", "c.cp", "titanic")
    assert code == 2 and "features cannot be read" in err


# ---- rankers -------------------------------------------------------------------------------------


@pytest.fixture
def links(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    chance = np.where((np.arange(8) < 4)[None, :] == (rng.random(80) < 0.5)[:, None], 0.8, 0.05)
    users, items = np.nonzero(rng.random((80, 8)) < chance)
    path = tmp_path / "links.csv"
    pd.DataFrame({"who": users, "what": [f"i{j}" for j in items]}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("method", ["naive-bayes", "item-cosine", "popularity"])
def test_counted_rankers_are_methods_for_links(run, tmp_path: Path, links: Path, method) -> None:
    flags = ("--user", "who", "--item", "what", "--method", method, "-o", "m.cp")
    code, out, err = run("learn", str(links), *flags)
    assert code == 0, err
    assert f"ranker {method}" in out and "counterpane rank m.cp" in out
    code, out, _ = run("rank", "m.cp", "--chosen", "i0,i1", "--json")
    expected = cp.LinkRanker(method, user="who", item="what").fit(links).rank(["i0", "i1"])
    ranked = [(r["item"], r["score"]) for r in json.loads(out)["items"]]
    assert ranked == [(r.item, pytest.approx(r.score)) for r in expected]


def test_methods_for_links_are_checked(run, links: Path) -> None:
    flags = ("--user", "who", "--item", "what", "-o", "m.cp")
    code, _, err = run("learn", str(links), *flags, "--method", "popularty")
    assert code == 2 and "did you mean 'popularity'" in err
    code, _, err = run("learn", str(links), *flags, "--method", "tan")
    assert code == 2 and "method for links 'tan' is not known" in err
    code, _, err = run("learn", str(links), *flags, "--method", "naive-bayes", "--set", "k=3")
    assert code == 2 and "needs a --method with parameters" in err
    code, _, err = run("learn", "titanic", "--method", "popularity")
    assert code == 2 and "'popularity' is not known" in err
    code, _, _ = run("learn", str(links), *flags, "--method", "hybrid", "--set", "k=3")
    assert code == 0 and "k=3" in cp.load("m.cp").record.learner.text

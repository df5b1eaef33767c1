"""Reports: what they say of each kind of model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts.memory import MemoryCounts
from counterpane.errors import ParameterError
from counterpane.features import Potential, Rules
from counterpane.graphs import Dag
from counterpane.models.edges import Edge
from counterpane.report.drawn_links import maximal_links
from counterpane.report.panels import three_digits
from counterpane.report.rows import measured_links, pair_information
from counterpane.tools.links import pure_interaction
from error_checks import raises
from report_page import columns_of, report

NETWORKS: dict[str, Any] = {
    "chow-liu": lambda: cp.ChowLiu(),
    "search": lambda: cp.StructureSearch(),
    "trees": lambda: cp.DependencyNetworkLearner(),
    "logistic": lambda: cp.DependencyNetworkLearner(local="logistic"),
    "hybrid": lambda: cp.HybridRandomFieldLearner(),
    "pairwise": lambda: cp.PairwiseMarkovLearner(),
    "gsimn": lambda: cp.GSIMN(),
    "mcmc": lambda: cp.OrderMCMC(random_state=0, n_samples=50),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_each_kind_of_network(name: str, titanic: cp.Table, tmp_path: Path) -> None:
    learner = NETWORKS[name]().fit(titanic)
    found = report(tmp_path, learner, titanic)
    assert [c["n"] for c in found["columns"]] == list(titanic.schema.names)
    for column, shares in zip(found["columns"], titanic.codes, strict=True):
        counted = np.bincount(shares, minlength=len(column["s"])) / titanic.n_rows
        assert column["d"] == [three_digits(x) for x in counted]
        assert column["m"] == pytest.approx(counted, abs=0.05)
    assert {n for link in found["links"] for n in columns_of(link)} <= set(range(4))
    joined = {frozenset(columns_of(link)) for link in found["links"]}
    names = titanic.schema.names
    edges = learner.model_.graph.edges
    assert joined == {frozenset(map(names.index, edge)) for edge in edges}
    assert all(found["panels"]["of"][str(c)] for c in range(4) if any(c in j for j in joined))
    measures = {line[0]: line[2:] for line in found["measures"]["lines"]}
    fresh, itself, base = measures["pseudo-log-likelihood"]
    assert base < fresh < 0
    assert fresh == pytest.approx(itself, abs=0.2)
    assert "held out" in found["measures"]["held"]
    assert found["trace"] and found["trace"] == list(learner.model_.record.learner.trace)
    told = dict(found["learned"])
    assert told["learner"] == repr(learner)
    assert told["fingerprint of the data"] == learner.model_.record.data.fingerprint
    assert told["rows learned from"] == "2,201"


CLASSIFIERS: dict[str, Any] = {
    "interaction": lambda: cp.InteractionClassifier(),
    "markov": lambda: cp.MarkovClassifier(),
    "tan": lambda: cp.TAN(),
    "bnc": lambda: cp.BayesNetClassifier(),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_each_kind_of_classifier(name: str, titanic: cp.Table, tmp_path: Path) -> None:
    learner = CLASSIFIERS[name]().fit(titanic, "survived")
    learner.model_.save(tmp_path / "model.cp")
    found = report(tmp_path, tmp_path / "model.cp", titanic)
    place = titanic.schema.index("survived") if found["shape"] != "faces" else 3
    assert found["columns"][found["target"]]["n"] == "survived"
    assert place == titanic.schema.index("survived")
    measures = {line[0]: line[2:] for line in found["measures"]["lines"]}
    fresh, itself, base = measures["log-loss"]
    assert fresh < base and itself is None
    held = found["measures"]["held"]
    assert held.startswith("2,201 rows in 5 folds, drawn by seed 0, were held out in turn.")
    assert "from scratch" in held
    confusion = np.array(found["measures"]["confusion"])
    assert confusion.sum() == 2201
    assert confusion.trace() / 2201 == pytest.approx(measures["accuracy"][0])
    for curve in found["measures"]["calibration"]:
        assert sum(n for n, _, _ in curve) == 2201
    no, yes = found["measures"]["calibration"]
    assert sum(n * p for n, p, _ in no) + sum(n * p for n, p, _ in yes) == pytest.approx(
        2201, abs=1
    )
    assert sum(n * s for n, _, s in yes) == pytest.approx(confusion[1].sum(), abs=0.5)


def test_faces_of_a_classifier_have_their_shares_and_tables(
    titanic: cp.Table, tmp_path: Path
) -> None:
    learner = cp.InteractionClassifier(bootstrap=20).fit(titanic, "survived")
    found = report(tmp_path, learner.model_, titanic)
    assert "share of 20 half samples" in found["shares"]
    names = [c["n"] for c in found["columns"]]
    listed = {tuple(names[c] for c in columns_of(k)): k for k in found["listed"]}
    for record in learner.interactions_:
        told = listed[tuple(record["columns"])]
        assert told["strength"] == pytest.approx(record["effect"], rel=0.01)
        assert told["explained"] == pytest.approx(record["explained"], abs=1e-4)
        assert told["share"] == record.get("share")
        assert told["bits"] >= 0
    sex = names.index("sex")
    blocks = [found["panels"]["blocks"][b] for b in found["panels"]["of"][str(sex)]]
    alone = next(b for b in blocks if b["c"] == [sex, 3])
    assert alone["axes"][0]["l"] == ["male", "female"] and alone["cls"] == [1]
    male, female = alone["v"][0]
    assert female > male + 0.5  # women survived


def test_numbers_in_a_classifier(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=300), rng.choice(["a", "b"], 300)
    frame = {"x": x, "z": z, "y": np.where(x + 0.3 * rng.normal(size=300) > 0, "up", "down")}
    learner = cp.InteractionClassifier().fit(frame, "y")
    found = report(tmp_path, learner, frame)
    block = next(b for b in found["panels"]["blocks"] if b["c"] == [0, 2])
    assert np.diff(block["axes"][0]["x"]).min() > 0
    assert np.diff(block["v"][0]).min() > -0.2 and block["v"][0][-1] - block["v"][0][0] > 2
    assert "cuts of numbers included" in found["measures"]["held"]


def test_conditional_table_and_parents(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.StructureSearch().fit(titanic).model_
    found = report(tmp_path, model)
    assert found["shape"] == "dag" and found["measures"] is None
    assert all("d" not in c for c in found["columns"])
    for c in range(4):
        (block,) = (found["panels"]["blocks"][b] for b in found["panels"]["of"][str(c)])
        assert block["c"] == [*model.dag.parents(c), c]
        assert block["t"] == [three_digits(x) for x in model.tables[c].reshape(-1).tolist()]


def test_strength_is_conditional_mutual_information() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 4000))
    c = np.where(rng.random(4000) < 0.1, 1 - (a ^ b), a ^ b)
    table = cp.Table.from_frame({"a": a, "b": b, "c": c})
    model = cp.fit_parameters(
        MemoryCounts(table), Dag(3, [(0, 2), (1, 2)]), equivalent_sample_size=1e-9
    )
    links = measured_links(model, None, None, [None] * 3)
    want = 1 - (-0.1 * math.log2(0.1) - 0.9 * math.log2(0.9))
    assert [link.strength for link in links.links] == pytest.approx([want] * 2, abs=0.03)
    assert pair_information(table, [0, 1], [2]) == pytest.approx(want, abs=0.03)
    assert pair_information(table, [0], [2]) == pytest.approx(0, abs=0.01)
    bare = cp.BayesianNetwork(model.schema, model.dag, model.tables)
    halves = [np.array([0.5, 0.5])] * 3
    assert measured_links(bare, None, None, halves).links[0].strength == pytest.approx(
        want, abs=0.03
    )


def test_the_report_has_the_strengths_of_the_model(titanic: cp.Table, tmp_path: Path) -> None:
    """The same number as the command's, also where the model does not bring it along."""
    learner = cp.StructureSearch().fit(titanic)
    want = {frozenset(e.ends): e.strength for e in learner.strengths_}
    bare = cp.BayesianNetwork(titanic.schema, learner.model_.dag, learner.model_.tables)
    for model, data in ((learner.model_, None), (learner.model_, titanic), (bare, titanic)):
        found = report(tmp_path, model, data, folds=0)
        names = [c["n"] for c in found["columns"]]
        assert found["measure"] == "bits per row"
        for k in found["listed"]:
            assert (
                f"{k['strength']:.4f}" == f"{want[frozenset(names[c] for c in columns_of(k))]:.4f}"
            )
            assert "bits" not in k  # one number for an edge
    drawn = report(tmp_path, learner.model_)["picture"]["edges"]
    assert not any(edge["mark"] == "→" for edge in drawn)  # no direction can be known
    assert all(edge["mark"] == "→" for edge in report(tmp_path, bare)["picture"]["edges"])


def test_a_mixture_of_networks_draws_no_direction_that_is_arbitrary(
    titanic: cp.Table, tmp_path: Path
) -> None:
    found = report(tmp_path, cp.OrderMCMC(random_state=0).fit(titanic), titanic, folds=0)
    assert len(found["links"]) == 5
    assert not any(link["mark"] == "→" for link in found["links"])


def test_noise_of_many_states_does_not_rank_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 700)
    weak = np.where(rng.random(700) < 0.61, y, 1 - y)
    frame = {"noise": rng.integers(0, 50, 700).astype(str), "weak": weak.astype(str), "y": y}
    for learner in (cp.NaiveBayes(), cp.PairwiseMarkovLearner()):
        fitted = learner.fit(frame, "y") if hasattr(learner, "predict") else learner.fit(frame)
        found = report(tmp_path, fitted, frame, folds=0)
        names = [c["n"] for c in found["columns"]]
        ranked = [{names[c] for c in columns_of(k)} for k in found["listed"]]
        assert ranked[0] == {"weak", "y"}
        assert {"noise", "y"} in ranked
        assert found["measure"] == "bits per row"


def test_pure_interaction_leaves_out_what_single_columns_do() -> None:
    assert pure_interaction(np.add.outer([1.0, 5.0], [2.0, 3.0])) == pytest.approx(0)
    assert pure_interaction(np.array([[1.0, -1.0], [-1.0, 1.0]])) == pytest.approx(1)


def test_hyperedges_are_drawn_as_such(tmp_path: Path) -> None:
    schema = cp.Schema.from_cards([2, 2, 2, 2])
    three = Potential((0, 1, 2), np.random.default_rng(0).normal(size=(2, 2, 2)))
    inside = Potential((0, 1), np.eye(2))
    outside = Potential((2, 3), np.eye(2))
    model = cp.MarkovNetwork(schema, [three, inside, outside])
    picture = report(tmp_path, model)["picture"]
    assert [h["columns"] for h in picture["hyperedges"]] == [[0, 1, 2]]
    assert [columns_of(e) for e in picture["edges"]] == [[2, 3]]
    links = measured_links(model, None, None, [None] * 4).links
    assert {k.scope for k in links} == {(0, 1), (0, 1, 2), (2, 3)}
    assert {k.scope for k in maximal_links(links)} == {(0, 1, 2), (2, 3)}
    rules = Rules.from_list(schema.cards, [(2.0, [(0, 1, False), (1, 1, False), (3, 0, True)])])
    model = cp.MarkovNetwork(schema, [rules])
    found = report(tmp_path, model)
    assert [h["columns"] for h in found["picture"]["hyperedges"]] == [[0, 1, 3]]
    block = found["panels"]["blocks"][found["panels"]["of"]["3"][0]]
    assert block["rows"] == [[[[3, 0, 1], [0, 1, 0], [1, 1, 0]], 2.0]]


def test_potentials_are_shown_from_each_side(tmp_path: Path) -> None:
    values = np.array([[0.0, 1.0, 5.0], [0.0, 0.0, 0.0]])
    model = cp.MarkovNetwork(cp.Schema.from_cards([2, 3]), [Potential((0, 1), values)])
    found = report(tmp_path, model)
    blocks = [found["panels"]["blocks"][found["panels"]["of"][c][0]] for c in "01"]
    assert [b["c"] for b in blocks] == [[1, 0], [0, 1]]
    assert blocks[0]["t"] == [0.0, 0.0, 1.0, -1.0, 5.0, -5.0]  # log-odds of two states
    assert blocks[1]["t"] == [-2.0, -1.0, 3.0, 0.0, 0.0, 0.0]


def test_trees_and_logistic_weights_are_in_the_panels(titanic: cp.Table, tmp_path: Path) -> None:
    model = cp.DependencyNetworkLearner().fit(titanic).model_
    found = report(tmp_path, model)
    for c, parts in enumerate(model.conditionals):
        (block,) = (found["panels"]["blocks"][b] for b in found["panels"]["of"][str(c)])
        assert block["k"] == "tree" and len(block["nodes"]) == parts[0].variables.size
        leaves = [node[0] for node in block["nodes"] if len(node) == 1]
        assert all(sum(leaf) == pytest.approx(1, abs=0.01) for leaf in leaves)
        for codes in titanic.codes[:, :50].T:
            at = block["nodes"][0]
            while len(at) > 1:
                at = block["nodes"][at[2] if codes[at[0]] == at[1] else at[3]]
            row = cp.Table(titanic.schema, codes[:, None])
            told = np.exp(model.full_conditionals(row, [titanic.schema.names[c]]))[0]
            assert at[0] == pytest.approx(told, rel=0.01)
    model = cp.DependencyNetworkLearner(local="logistic").fit(titanic).model_
    found = report(tmp_path, model)
    kinds = {b["k"] for b in found["panels"]["blocks"]}
    assert "rules" in kinds


def test_confidence_makes_the_width(titanic: cp.Table, tmp_path: Path) -> None:
    learner = cp.StructureSearch()
    shares = cp.bootstrap(learner, titanic, n=20, random_state=0)
    model = learner.fit(titanic).model_
    found = report(tmp_path, model, confidence=shares)
    for k in found["links"]:
        a, b = (shares.names.index(found["columns"][c]["n"]) for c in columns_of(k))
        assert k["share_of_mark"] == pytest.approx(min(shares.strengths[a, b], 1.0), abs=1e-3)
    assert found["shares"] == "share of 20 bootstrap samples with the edge as it is drawn"
    assert found["samples"] == 20
    few = report(tmp_path, model, confidence=cp.bootstrap(learner, titanic, n=19, random_state=0))
    assert (few["shares"], few["samples"], few["links"][0]["share_of_mark"]) == ("", None, None)
    for samples in (19, 40):
        edge = Edge("status", "sex", share=0.75, share_of_mark=0.75, samples=samples)
        model.record = model.record.with_parts(edge_shares=(edge,))
        assert (report(tmp_path, model)["links"][0]["share_of_mark"] is None) == (samples < 20)
    found = report(tmp_path, model)
    names = [column["n"] for column in found["columns"]]
    shares = {
        frozenset(names[c] for c in columns_of(k)): k["share_of_mark"] for k in found["links"]
    }
    assert shares[frozenset(["status", "sex"])] == 0.75
    exact = report(tmp_path, cp.ExactPosterior().fit(titanic))
    assert all(k["share_of_mark"] > 0 for k in exact["links"])
    with raises(ParameterError, about="confidence"):
        report(tmp_path, model, confidence=np.zeros((2, 2)))

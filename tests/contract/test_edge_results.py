"""An edge has one form: every result and every JSON output with edges has `Edge`s or their keys."""

import json
from dataclasses import fields

import numpy as np
import pytest

import counterpane as cp
from counterpane.models.edges import Edge, Edges, edges_of_graph, stored_shares
from report_page import report

KEYS = {"source", "target", "mark", "strength", "unit", "share", "share_of_mark", "samples"}
MARKS = {"→", "—", "↔", "o→", "o–o", "–", "–o"}
TITANIC = cp.load_dataset("titanic")


def check(edges, names=TITANIC.schema.names):
    assert isinstance(edges, Edges)
    for edge in edges:
        assert isinstance(edge, Edge) and edge.mark in MARKS
        assert {edge.source, edge.target} <= set(names) and edge.source != edge.target
        assert (edge.strength is None) == (not edge.unit)
        assert 0 <= (edge.share_of_mark or 0) <= (edge.share or 0) <= 1
        assert json.loads(json.dumps(edge.to_dict())) == edge.to_dict()
    assert str(edges) == repr(edges) == edges.table().to_text()
    assert edges._repr_html_().count("<tr>") == len(edges.table().rows) + 1


def test_the_keys_are_the_fields():
    assert {field.name for field in fields(Edge)} == KEYS == Edge("a", "b").to_dict().keys()


@pytest.mark.parametrize(
    "learner", [cp.HillClimb(), cp.ChowLiu(), cp.StructureSearch(), cp.K2Search(), cp.GES()]
)
def test_results_of_network_learners(learner):
    learner.fit(TITANIC)
    for edges, unit in ((learner.strengths_, "bits per row"), (learner.gains_, "nats")):
        check(edges)
        assert {edge.unit for edge in edges} == {unit}
        strengths = [edge.strength for edge in edges]
        assert strengths == sorted(strengths, reverse=True)
    assert {edge.ends for edge in learner.gains_} == set(learner.graph_.edges)
    assert all(edge.directed for edge in learner.gains_)


@pytest.mark.parametrize(
    "learner", [cp.ExactPosterior(), cp.OrderMCMC(n_samples=50, random_state=0)]
)
@pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")
def test_results_of_posteriors(learner):
    learner.fit(TITANIC)
    check(learner.edges_)
    place = {name: i for i, name in enumerate(TITANIC.schema.names)}
    found = learner.edge_probabilities_
    for edge in learner.edges_:
        a, b = place[edge.source], place[edge.target]
        assert edge.share_of_mark == found[a, b]
        assert edge.share == pytest.approx(min(found[a, b] + found[b, a], 1.0))


@pytest.mark.parametrize("learner", [cp.ChowLiu(), cp.GSMN()])
@pytest.mark.parametrize("equivalence", [True, False])
def test_results_of_a_bootstrap(learner, equivalence):
    result = cp.bootstrap(learner, TITANIC, 21, equivalence=equivalence, random_state=0)
    check(result.edges)
    assert {edge.samples for edge in result.edges} == {21}
    drawn = result.averaged_graph(1e-9)
    for edge in result.edges:
        a, b = (TITANIC.schema.names.index(end) for end in edge.ends)
        assert edge.share == result.strengths[a, b]
        assert edge.share_of_mark == (result.arrows[a, b] if edge.directed else edge.share)
        assert result.arrows[a, b] >= result.arrows[b, a]
        assert drawn.edges[edge.ends]["strength"] == edge.share
    assert equivalence or not result.directed or all(edge.directed for edge in result.edges)


def test_results_of_a_comparison():
    found = cp.evaluate.compare([cp.ChowLiu(), cp.GSMN()], TITANIC, folds=2)
    check(found.edges)
    for record, edge in zip(found.to_dict()["edges"], found.edges, strict=True):
        assert record == edge.to_dict() | {"by": found.edge_shares[edge.ends]}
        assert edge.samples == 4 and edge.share == pytest.approx(np.mean([*record["by"].values()]))


METHODS = (
    "structure-search",
    "chow-liu",
    "exact-posterior",
    "fci",
    "pc",
    "gsmn",
    "dn-tree",
    "hybrid",
)


@pytest.mark.parametrize("method", METHODS)
def test_edges_of_learn(run, tmp_path, method):
    code, out, err = run("learn", "titanic", "--method", method, "--json", "-o", "m.cp")
    assert code == 0, err
    facts = json.loads(out)
    records = facts["edges"] + facts.get("edge_probabilities", [])
    assert records
    for record in records:
        check(Edges([Edge(**{key: record[key] for key in KEYS})]))
        assert record.keys() - KEYS <= {"standard_error", "rhat", "effective_size"}
    record = cp.load(tmp_path / "m.cp").record
    stored = [record.edge_shares, record.edge_probabilities]
    assert all(isinstance(edge, Edge) for edges in stored for edge in edges)


def test_edges_of_learn_with_a_target_or_with_samples(run, tmp_path):
    code, out, err = run("learn", "titanic", "--target", "survived", "--method", "tan", "--json")
    assert code == 0, err
    assert all(record.keys() == KEYS for record in json.loads(out)["edges"])
    code, out, err = run("learn", "titanic", "--bootstrap", "20", "--json", "-o", "m.cp")
    assert code == 0, err
    records = json.loads(out)["edges"]
    assert all(record.keys() == KEYS and record["samples"] == 20 for record in records)
    model = cp.load(tmp_path / "m.cp")
    check(stored_shares(model.record.edge_shares))
    assert model.edge_strengths().to_dicts() == records


def test_edges_of_compare(run):
    code, out, err = run("compare", "titanic", "--method", "chow-liu", "--method", "ges", "--json")
    assert code == 0, err
    records = json.loads(out)["edges"]
    assert records and all(record.keys() == KEYS | {"by"} for record in records)


def test_edges_of_pages(tmp_path):
    learner = cp.StructureSearch().fit(TITANIC)
    samples = cp.bootstrap(learner, TITANIC, 20, random_state=0)
    page = report(tmp_path, learner, TITANIC, confidence=samples, folds=0)
    for records in (page["links"], page["listed"], page["picture"]["edges"]):
        assert len(records) == len(learner.strengths_)
        for record in records:
            assert record.keys() - {"route"} <= KEYS
            ends = [TITANIC.schema.names[record[end]] for end in ("source", "target")]
            edge = learner.strengths_.between(*ends)
            assert record["mark"] == edge.mark
            assert record["strength"] == pytest.approx(edge.strength, rel=1e-5)
            shares = samples.edges.between(*ends)
            assert record["share_of_mark"] == shares.share_of_mark


def test_arrows_both_ways_are_a_line():
    graph = cp.DependencyNetworkLearner().fit(TITANIC).graph_
    edges = edges_of_graph(graph)
    assert len(edges) == len({frozenset(pair) for pair in graph.edges})
    for edge in edges:
        assert edge.directed != graph.has_edge(edge.target, edge.source)

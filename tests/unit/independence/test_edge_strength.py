"""The one measure of an edge: corrected for chance, and the same for a whole class of networks."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterpane as cp
from counterpane.graphs import Dag, cpdag, with_known_directions
from counterpane.independence import mutual_information
from counterpane.independence.edge_strength import corrected_information
from counterpane.models.typed_values import plain
from counterpane.tools.links import strengths_of
from reference.edge_strength_reference import (
    class_strengths,
    corrected_bits,
    graphs_with,
    subsets,
)
from reference.graph_reference import classes


def some_rows(n_rows, cards, seed):
    """Rows of dependent columns."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cards, (n_rows, len(cards)))
    for i in range(1, len(cards)):
        copied = rng.random(n_rows) < 0.5
        codes[copied, i] = codes[copied, i - 1] % cards[i]
    return codes


def table_of(codes):
    return cp.Table.from_frame({f"x{i}": codes[:, i] for i in range(codes.shape[1])})


@pytest.mark.parametrize("cards", [(2, 2), (3, 5), (2, 3, 4), (20, 2), (15, 15, 2)])
@pytest.mark.parametrize("n_rows", [1, 12, 150])
def test_information_less_its_mean_over_all_shufflings(cards, n_rows):
    codes = some_rows(n_rows, cards, n_rows)
    counts = np.zeros(cards)
    np.add.at(counts, tuple(codes.T), 1)
    *given, a, b = range(len(cards))
    want = corrected_bits(codes.tolist(), a, b, given)
    assert corrected_information(counts) == pytest.approx(want, abs=1e-6)


@pytest.mark.slow
def test_large_cells_are_expanded_well():
    counts = np.array([[4000, 4100, 3900], [130, 150, 170]])
    rows = [(i, j) for i in range(2) for j in range(3) for _ in range(counts[i, j])]
    want = corrected_bits(rows, 0, 1, ())
    assert corrected_information(counts) == pytest.approx(want, abs=2e-6)


def test_a_copy_of_many_states_is_not_corrected_away():
    """Half the degrees of freedom, 16 bits here, would leave nothing of it."""
    x = np.random.default_rng(0).integers(0, 150, 1000)
    counts = np.zeros((150, 150))
    np.add.at(counts, (x, x), 1)
    assert corrected_information(counts) > 2.5


@pytest.mark.parametrize("n", [2, 3, 4])
def test_all_networks_of_a_class_give_the_same_numbers(n):
    codes = some_rows(60, [2, 3, 2, 2][:n], n)
    source = cp.MemoryCounts(table_of(codes))
    for k, graphs in enumerate(classes(n).values()):
        if n == 4 and k % 5:
            continue  # a fifth of them: the reference is slow
        want = class_strengths(graphs, codes.tolist())
        for edges in graphs:
            model = cp.fit_parameters(source, Dag(n, edges), equivalent_sample_size=2.0)
            names = model.schema.names
            found = {
                frozenset((names.index(e.source), names.index(e.target))): e.strength
                for e in model.edge_strengths()
            }
            assert found == pytest.approx(want, abs=2e-6)


def test_an_interaction_without_main_effects_is_strong():
    """x2 = x0 xor x1, and x0 — x1 are joined too, so that the class leaves every direction open."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 2000)
    b = np.where(rng.random(2000) < 0.6, a, 1 - a)
    table = cp.Table.from_frame({"a": a, "b": b, "c": a ^ b})
    model = cp.fit_parameters(cp.MemoryCounts(table), Dag(3, [(0, 1), (0, 2), (1, 2)]))
    assert not cpdag(model.dag).compelled.edges
    assert min(e.strength for e in model.edge_strengths()) > 0.9


def test_noise_with_many_states_is_weaker_than_a_weak_dependency():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 700)
    weak = np.where(rng.random(700) < 0.61, y, 1 - y)
    noise = rng.integers(0, 50, 700)
    table = cp.Table.from_frame({"noise": noise.astype(str), "weak": weak, "y": y})
    model = cp.NaiveBayes().fit(table, "y").model_
    first, second = model.edge_strengths()
    assert {*first.ends} == {"weak", "y"}
    assert first.strength > 2 * second.strength
    source = cp.MemoryCounts(table)
    plain = [mutual_information(source, name, "y", base=2) for name in ("noise", "weak")]
    assert plain[0] > plain[1]  # uncorrected, the noise ranks first


def test_a_saved_model_tells_the_same(tmp_path):
    learner = cp.StructureSearch().fit(cp.load_dataset("titanic"))
    learner.model_.save(tmp_path / "m.cp")
    assert cp.load(tmp_path / "m.cp").edge_strengths() == learner.strengths_
    assert str(learner.strengths_[0]) == "survived — sex: 0.1379 bits per row"
    learner.model_.save(tmp_path / "m.bif")
    assert cp.load(tmp_path / "m.bif").edge_strengths() == ()


def test_strengths_by_em_are_those_of_the_counts_without_the_prior(tmp_path):
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.7, a, rng.integers(0, 3, 300))
    c = rng.integers(0, 2, 300).astype(float)
    c[:30] = np.nan  # so that EM runs; the pair a, b has no gaps
    learner = cp.StructureSearch(missing="em").fit({"a": a, "b": b, "c": c})
    counts = np.zeros((3, 3))
    np.add.at(counts, (a, b), 1)
    (edge,) = learner.strengths_
    assert edge.strength == pytest.approx(corrected_information(counts), abs=2e-6)
    learner.model_.save(tmp_path / "m.cp")
    assert cp.load(tmp_path / "m.cp").edge_strengths() == learner.strengths_


def test_strengths_of_other_rows():
    table = cp.load_dataset("titanic")
    model = cp.StructureSearch().fit(table).model_
    scopes = [(*model.dag.parents(x), x) for x in range(model.dag.n)]
    counted = list(cp.MemoryCounts(table).counts(scopes))
    assert strengths_of(model, counted) == model.edge_strengths()


# ---- directions --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4])
def test_meek_rules_find_what_all_graphs_with_the_known_directions_share(n):
    for graphs in classes(n).values():
        for edges in graphs:
            dag = Dag(n, edges)
            for known in subsets(sorted(edges), 2):
                shared, turned = graphs_with(graphs, known)
                found = with_known_directions(cpdag(dag), known)
                assert set(found.compelled.edges) == shared
                assert set(found.reversible.edges) == turned


def test_the_class_has_names():
    learner = cp.ChowLiu("bic").fit(cp.load_dataset("titanic"))
    assert set(learner.cpdag_.nodes) == {"status", "age", "sex", "survived"}
    assert learner.cpdag_.has_edge("sex", "survived") and learner.cpdag_.has_edge("survived", "sex")
    assert not any(d for _, _, d in learner.cpdag_.edges(data="directed"))


def test_knowledge_directs_edges():
    table = cp.load_dataset("titanic")
    tiers = [["sex", "age", "status"], ["survived"]]
    learner = cp.HillClimb(tiers=tiers).fit(table)
    assert {e.ends for e in learner.strengths_ if e.directed} == {
        (p, "survived") for p in ("sex", "age", "status")
    }
    json.dumps(plain(learner.model_.record))
    free = cp.HillClimb().fit(table)
    assert not any(e.directed for e in free.strengths_)
    first = free.strengths_[0]
    known = cp.HillClimb(required_edges=[(first.target, first.source)]).fit(table)
    assert (first.target, first.source, True) in {(*e.ends, e.directed) for e in known.strengths_}
    barred = cp.HillClimb(forbidden_edges=[("status", "sex")]).fit(table)
    assert ("sex", "status", True) in {(*e.ends, e.directed) for e in barred.strengths_}
    ordered = cp.K2Search(order=list(table.schema.names)).fit(table)
    assert all(e.directed for e in ordered.strengths_)
    assert not all(e.directed for e in cp.K2Search(random_state=0).fit(table).strengths_)


@pytest.mark.parametrize("scale", [1e150, 1e250, 1e305])
def test_tables_of_very_many_rows(scale):
    """Products of their margins overflow; a file that is damaged has such counts."""
    few = np.array([[1.0, 3.0], [2.0, 1000.0]])
    huge = few * np.array([[1.0, 1.0], [1.0, scale]])
    for table in (huge, few * scale / 1e3):
        bits = corrected_information(table)
        assert 0 <= bits < 1

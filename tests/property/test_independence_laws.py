"""Laws: graphoid axioms of the oracle, identities of information, tests against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpane.counts import MemoryCounts
from counterpane.data import Schema, Table
from counterpane.graphs import Dag, UndirectedGraph, d_separated, separated
from counterpane.independence import (
    BayesianTest,
    ChiSquare,
    GTest,
    Oracle,
    entropy,
    interaction_information,
    mutual_information,
)
from law_settings import examples
from reference import independence_reference as naive

SIZE = 6


@st.composite
def oracles(draw: Any, directed: bool) -> Oracle:
    order = draw(st.permutations(range(SIZE)))
    flags = draw(st.lists(st.booleans(), min_size=15, max_size=15))
    pairs = [(order[a], order[b]) for a in range(SIZE) for b in range(a + 1, SIZE)]
    edges = [pair for pair, flag in zip(pairs, flags, strict=True) if flag]
    return Oracle(Dag(SIZE, edges) if directed else UndirectedGraph(SIZE, edges))


@st.composite
def parts(draw: Any) -> tuple[int, int, int, set[int], set[int]]:
    """Variables x, y, w, and disjoint sets among the rest."""
    x, y, w, *rest = draw(st.permutations(range(SIZE)))
    places = draw(st.lists(st.integers(0, 2), min_size=3, max_size=3))
    sets = [{v for v, p in zip(rest, places, strict=True) if p == k} for k in (0, 1)]
    return x, y, w, sets[0], sets[1]


def all_separated(oracle: Oracle, x: int, ys: set[int], z: set[int]) -> bool:
    """x ⊥ ys | z by the graph itself, which also knows sets."""
    if isinstance(oracle.graph, Dag):
        return d_separated(oracle.graph, x, ys, z)
    return separated(oracle.graph, x, ys, z)


both_kinds = st.booleans().flatmap(oracles)


@given(both_kinds, parts())
def test_oracle_obeys_the_graphoid_laws(oracle: Oracle, chosen: Any) -> None:
    x, y, w, z, _ = chosen
    joint = all_separated(oracle, x, {y, w}, z)
    assert bool(oracle(x, y, z)) == bool(oracle(y, x, z))  # symmetry
    if joint:
        assert oracle(x, y, z)  # decomposition
        assert oracle(x, w, z)
        assert oracle(x, y, z | {w})  # weak union
    if oracle(x, y, z) and oracle(x, w, z | {y}):
        assert joint  # contraction
    if oracle(x, y, z | {w}) and oracle(x, w, z | {y}):
        assert joint  # intersection: separation has it, whatever the distribution


@given(oracles(directed=False), parts())
def test_undirected_oracle_obeys_strong_union_and_transitivity(oracle: Oracle, chosen: Any) -> None:
    x, y, w, z, more = chosen
    if oracle(x, y, z):
        assert oracle(x, y, z | more)
        assert oracle(x, w, z) or oracle(w, y, z)


@given(oracles(directed=False), parts(), st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_triangle_rules_hold(oracle: Oracle, chosen: Any, z1: set[int], z2: set[int]) -> None:
    x, y, w, _, _ = chosen
    z1 -= {x, w, y}
    z2 -= {x, w, y}
    if not oracle(x, w, z1) and not oracle(w, y, z2):
        assert not oracle(x, y, z1 & z2)
    if oracle(x, w, z1) and not oracle(w, y, z1 | z2):
        assert oracle(x, y, z1)


@st.composite
def tables(draw: Any, n: int = 4) -> Table:
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    row = st.tuples(*(st.integers(0, r - 1) for r in cards))
    rows = draw(st.lists(row, min_size=1, max_size=60))
    return Table(Schema.from_cards(cards), np.array(rows).T)


@examples(60)
@given(tables(), st.permutations(range(4)), st.integers(0, 2))
def test_tests_are_their_naive_twins(table: Table, order: list[int], n_given: int) -> None:
    source = MemoryCounts(table)
    x, y, *rest = order
    z = rest[:n_given]
    rows = list(zip(*table.codes.tolist(), strict=True))
    found = naive.slices(rows, x, y, z)
    for method, pearson in ((ChiSquare, True), (GTest, False)):
        verdict = method().bind(source)(x, y, z)
        statistic, freedom = naive.asymptotic(found.values(), pearson)
        assert verdict.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-9)
        assert verdict.degrees_of_freedom == freedom
        assert 0 <= verdict.p_value <= 1
    r, s = table.schema.cards[[x, y]].tolist()
    slices = [[[t[i, j] for j in range(s)] for i in range(r)] for t in found.values()]
    verdict = BayesianTest(hyper="consistent").bind(source)(x, y, z)
    expected = naive.bayesian(slices, consistent=True)
    assert verdict.log_likelihoods == pytest.approx(expected[:2], rel=1e-10, abs=1e-10)
    assert verdict.probability == pytest.approx(expected[2], rel=1e-9)


@examples(60)
@given(tables())
def test_information_identities(table: Table) -> None:
    source = MemoryCounts(table)

    def h(*columns: int) -> float:
        return entropy(source, columns)

    mutual = mutual_information(source, 0, 1)
    assert mutual >= 0
    assert mutual == pytest.approx(h(0) + h(1) - h(0, 1), abs=1e-12)
    assert mutual == mutual_information(source, 1, 0)
    assert mutual_information(source, 0, 0) == pytest.approx(h(0), abs=1e-12)
    chain = mutual + mutual_information(source, 0, 2, 1) + mutual_information(source, 0, 3, [1, 2])
    assert mutual_information(source, 0, [1, 2, 3]) == pytest.approx(chain, abs=1e-12)
    assert h(0, 1, 2) == pytest.approx(h(0) + entropy(source, 1, 0) + entropy(source, 2, (0, 1)))
    assert 0 <= h(0) <= np.log(table.schema.cards[0]) + 1e-12
    assert mutual <= min(h(0), h(1)) + 1e-12
    three = interaction_information(source, [0, 1, 2])
    assert three == pytest.approx(interaction_information(source, [2, 0, 1]), abs=1e-12)
    assert three == pytest.approx(mutual_information(source, 0, 1, 2) - mutual, abs=1e-12)

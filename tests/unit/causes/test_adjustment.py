"""Adjustment sets against all subsets, and classes against all their graphs."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.causes.causal_graph import mixed_class
from counterpane.causes.parent_sets import parent_sets
from counterpane.errors import GraphError, NotIdentifiedError
from counterpane.graphs import cpdag
from error_checks import raises
from reference.causal_reference import (
    graphs_of_class,
    minimal_adjustment_sets,
    random_network,
    refitted,
)


def named(parents: list[tuple[int, ...]]) -> cp.MixedGraph:
    names = [f"v{i}" for i in range(len(parents))]
    edges = [(names[p], "->", names[v]) for v, family in enumerate(parents) for p in family]
    return cp.MixedGraph(names, edges)


def as_sets(sets: list[tuple[str, ...]]) -> set[frozenset[int]]:
    assert len({frozenset(s) for s in sets}) == len(sets)
    return {frozenset(int(name[1:]) for name in s) for s in sets}


@pytest.mark.parametrize("seed", range(20))
def test_minimal_sets_are_those_that_give_the_effect(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(3, 7))
    network = random_network(rng, n, rng.uniform(0.3, 0.7), 2)
    x, y = rng.choice(n, 2, replace=False).tolist()
    sets = cp.adjustment_sets(named(network[0]), f"v{x}", f"v{y}")
    assert as_sets(sets) == minimal_adjustment_sets([network], x, y)


@pytest.mark.parametrize("seed", range(20))
def test_sets_of_a_class_hold_for_all_its_graphs(seed: int) -> None:
    rng = np.random.default_rng([2, seed])
    n = int(rng.integers(3, 6))
    network = random_network(rng, n, rng.uniform(0.3, 0.7), 2)
    x, y = rng.choice(n, 2, replace=False).tolist()
    members = [refitted(network, graph) for graph in graphs_of_class(network[0])]
    expected = minimal_adjustment_sets(members, x, y)
    graph = mixed_class(cpdag(cp.Dag.from_parents(network[0])), [f"v{i}" for i in range(n)])
    try:
        sets = cp.adjustment_sets(graph, f"v{x}", f"v{y}")
    except NotIdentifiedError:
        assert not expected
        return
    assert as_sets(sets) == expected


@pytest.mark.parametrize("seed", range(20))
def test_parents_in_a_class_are_those_of_its_graphs(seed: int) -> None:
    rng = np.random.default_rng([3, seed])
    n = int(rng.integers(2, 7))
    parents, _ = random_network(rng, n, rng.uniform(0.3, 0.8), 2)
    shape = cpdag(cp.Dag.from_parents(parents))
    treatments = rng.choice(n, int(rng.integers(1, min(n, 3) + 1)), replace=False).tolist()
    sets = [s.parents for s in parent_sets(shape, treatments, 1000)]
    expected = {tuple(graph[v] for v in treatments) for graph in graphs_of_class(parents)}
    assert set(sets) == expected
    assert len(sets) == len(expected)


def test_fewest_cells_come_first() -> None:
    graph = "z -> x; z -> w -> y; x -> y"
    states = {"x": (0, 1), "y": (0, 1), "z": tuple(range(9)), "w": (0, 1)}
    schema = cp.Schema([cp.Variable(name, values) for name, values in states.items()])
    assert cp.adjustment_sets(graph, "x", "y") == [("z",), ("w",)]
    assert cp.adjustment_sets(graph, "x", "y", source=schema) == [("w",), ("z",)]


def test_textbook_sets() -> None:
    assert cp.adjustment_sets("a <-> x; a <-> y; x -> y", "x", "y") == [()]
    assert cp.adjustment_sets("x -> y; x <-> y", "x", "y") == []
    assert cp.adjustment_sets("u -> x -> m -> y; u -> y", "x", "y") == [("u",)]
    assert cp.adjustment_sets("u -> a -> m -> y; u -> y; b -> m; c -> b", ["a", "b"], "y") == [
        ("u",)
    ]
    changed = "x -> m -> y; m -> d -> y; c -> x; c -> d"  # m and d separate too, after x
    assert cp.adjustment_sets(changed, "x", "y") == [("c",)]
    chain = "x -> a -> b -> y; x <-> y"
    assert cp.front_door_sets(chain, "x", "y") == [("a",), ("b",)]
    assert cp.front_door_sets("x -> m -> y; x <-> m", "x", "y") == []
    assert cp.front_door_sets("x -> m -> y; x -> y; x <-> y", "x", "y") == []


def test_bad_graphs_and_limits() -> None:
    pairs = "; ".join(f"x <- a{i}; a{i} -> b{i} -> y" for i in range(4))
    assert len(cp.adjustment_sets(f"{pairs}; x -> y", "x", "y")) == 16
    with raises(cp.CounterpaneError, about="limit=10"):
        cp.adjustment_sets(f"{pairs}; x -> y", "x", "y", limit=10)
    with raises(NotIdentifiedError, about=("'x'", "'y'")):
        cp.adjustment_sets("x -- y", "x", "y")
    with raises(GraphError, about="'x ->'"):
        cp.causal_graph("x -> ; y")
    with raises(cp.CounterpaneError, about="directions"):
        cp.causal_graph(cp.MarkovNetwork(cp.Schema.from_cards([2, 2]), []))
    with raises(cp.CounterpaneError, about="3 sets"):
        parent_sets(cpdag(cp.Dag(6, [(0, v) for v in range(1, 6)])), [0], 3)
    assert str(cp.causal_graph("a—b\nb ← c")) == "a – b\nc → b"

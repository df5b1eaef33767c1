"""Distances between structures, against a plain count over pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from counterpane.data import Schema, Variable
from counterpane.errors import GraphError
from counterpane.evaluate import (
    compare_structures,
    hamming_distance,
    structural_hamming_distance,
)
from counterpane.graphs import Dag, cpdag
from counterpane.models import BayesianNetwork
from error_checks import raises


def random_dag(rng: np.random.Generator, n: int) -> Dag:
    order = rng.permutation(n)
    return Dag(n, [(int(order[i]), int(order[j]))
                   for i, j in combinations(range(n), 2) if rng.random() < 0.4])  # fmt: skip


def kind(dag: Dag, a: int, b: int) -> str:
    pattern = cpdag(dag)
    if pattern.reversible.has_edge(a, b):
        return "-"
    return (
        ">" if pattern.compelled.has_edge(a, b) else "<" if pattern.compelled.has_edge(b, a) else ""
    )


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_dag(rng, 6), random_dag(rng, 6)
    pairs = list(combinations(range(6), 2))
    kinds = [(kind(a, *p), kind(b, *p)) for p in pairs]
    assert structural_hamming_distance(a, b) == sum(x != y for x, y in kinds)
    assert hamming_distance(a, b) == sum(bool(x) != bool(y) for x, y in kinds)
    both = sum(bool(x) and bool(y) for x, y in kinds)
    found = compare_structures(a, b)
    assert found.precision == (both / a.n_edges if a.n_edges else 1.0)
    assert found.recall == (both / b.n_edges if b.n_edges else 1.0)
    assert found.missing == b.n_edges - both
    assert found.extra == a.n_edges - both
    assert structural_hamming_distance(a, a) == 0


def test_networks_are_matched_by_name() -> None:
    def chain(names: str, edges: list[tuple[int, int]]) -> BayesianNetwork:
        schema = Schema(Variable(n, (0, 1)) for n in names)
        dag = Dag(3, edges)
        tables = [np.full((2,) * (len(dag.parents(i)) + 1), 0.5) for i in range(3)]
        return BayesianNetwork(schema, dag, tables)

    one = chain("abc", [(0, 1), (2, 1)])  # a → b ← c
    same = chain("bca", [(2, 0), (1, 0)])
    assert structural_hamming_distance(one, same) == 0
    with raises(GraphError, about="variables"):
        hamming_distance(one, chain("abd", []))
    with raises(GraphError, about="BayesianNetwork"):
        hamming_distance(one, one.dag)

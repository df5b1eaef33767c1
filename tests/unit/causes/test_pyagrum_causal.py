"""Textbook effects against pyAgrum's causal module, by its own identification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpane as cp
from error_checks import raises

SIMPSON = "gender -> drug -> patient; gender -> patient"
MEDIATOR = "smoking -> cancer; smoking -> tar -> cancer"
EXAMPLES: dict[str, tuple[str, list[tuple[str, str]], str, str]] = {
    "Simpson": (SIMPSON, [], "drug", "patient"),
    "smoking with a mediator": (MEDIATOR, [], "smoking", "cancer"),
    "the front-door by tar": (
        "smoking -> tar -> cancer", [("smoking", "cancer")], "smoking", "cancer",
    ),
    "back-door beside an unobserved confounder": (
        "z -> x -> y; z -> y; z -> w -> y", [("z", "w")], "x", "y",
    ),
    "an unobserved confounder of what is not set": (
        "x -> m -> y; z -> x; z -> m", [("z", "y")], "x", "y",
    ),
}  # fmt: skip


def both(pyagrum: Any, arrows: str, seed: int) -> tuple[Any, cp.BayesianNetwork]:
    """The same random network of the observed columns, in both libraries."""
    bn = pyagrum.fastBN(arrows.replace(" ", ""), 2)
    graph = cp.causal_graph(arrows)
    names = list(graph.names)
    rng = np.random.default_rng(seed)
    parents = [tuple(sorted(names.index(p) for p in graph.parents(name))) for name in names]
    tables = [rng.dirichlet([1.0, 1.0], [2] * len(family)) for family in parents]
    for v, (family, table) in enumerate(zip(parents, tables, strict=True)):
        cpt = bn.cpt(names[v])
        for cell in np.ndindex(table.shape):
            states = {names[p]: code for p, code in zip((*family, v), cell, strict=True)}
            cpt[states] = float(table[cell])
    schema = cp.Schema([cp.Variable(name, (0, 1)) for name in names])
    return bn, cp.BayesianNetwork(schema, cp.Dag.from_parents(parents), tables)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("seed", range(3))
def test_effects_agree(pyagrum: Any, name: str, seed: int) -> None:
    causal = pytest.importorskip("pyagrum.causal")
    arrows, arcs, x, y = EXAMPLES[name]
    bn, model = both(pyagrum, arrows, seed)
    latent = [(f"U{k}", list(pair)) for k, pair in enumerate(arcs)]
    theirs = causal.CausalModel(bn, latent, True)
    graph = "; ".join([arrows, *(f"{a} <-> {b}" for a, b in arcs)])
    identified = cp.identify(graph, x, y)
    result = cp.effect(model, x, y, graph=graph)
    for state in (0, 1):
        potential = causal.causalImpact(theirs, on=y, doing=x, values={x: state})[1]
        expected = [potential[{y: code}] for code in (0, 1)]
        np.testing.assert_allclose(identified.evaluate(model, {x: state}).probabilities, expected)
        np.testing.assert_allclose(result.probabilities[state], expected)
        if not arcs:
            np.testing.assert_allclose(model.query(y, do={x: state}).probabilities, expected)


def test_both_refuse_an_unobserved_confounder(pyagrum: Any) -> None:
    causal = pytest.importorskip("pyagrum.causal")
    bn, model = both(pyagrum, "smoking -> cancer", 0)
    theirs = causal.CausalModel(bn, [("genes", ["smoking", "cancer"])], True)
    assert causal.causalImpact(theirs, on="cancer", doing="smoking")[1] is None
    with raises(cp.CounterpaneError, about="identified"):
        cp.effect(model, "smoking", "cancer", graph="smoking -> cancer; smoking <-> cancer")


@pytest.mark.parametrize("seen", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_counterfactuals_agree(pyagrum: Any, seen: tuple[int, int]) -> None:
    """y = u xor x: what y would have been, had x been the other."""
    causal = pytest.importorskip("pyagrum.causal")
    bn = pyagrum.fastBN("u->y;x->y", 2)
    table = np.zeros((2, 2, 2))
    for u, x in np.ndindex(2, 2):
        table[u, x, u ^ x] = 1.0
        bn.cpt("y")[{"u": u, "x": x}] = table[u, x].tolist()
    for name, shares in (("u", [0.3, 0.7]), ("x", [0.4, 0.6])):
        bn.cpt(name).fillWith(shares)
    schema = cp.Schema([cp.Variable(name, (0, 1)) for name in "uxy"])
    dag = cp.Dag(3, [(0, 2), (1, 2)])
    model = cp.BayesianNetwork(schema, dag, [[0.3, 0.7], [0.4, 0.6], table])
    x, y = seen
    theirs = causal.counterfactual(
        cm=causal.CausalModel(bn), profile={"x": x, "y": y}, whatif={"x"}, on={"y"},
        values={"x": 1 - x},
    )  # fmt: skip
    ours = cp.counterfactual(model, "y", do={"x": 1 - x}, evidence={"x": x, "y": y})
    np.testing.assert_allclose(ours.probabilities, [theirs[{"y": code}] for code in (0, 1)])

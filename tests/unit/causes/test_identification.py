"""Expressions of ID against the truth in models with latent columns, and against all hedges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import counterpane as cp
from counterpane.causes.expressions import expression_text
from counterpane.errors import GraphError, NotIdentifiedError, UnknownNameError
from error_checks import raises
from reference.causal_reference import answer, has_hedge, joint_after

BOW = "x -> y; x <-> y"
IDENTIFIED = {
    "back-door": "z -> x; z -> y; x -> y",
    "front-door": "x -> m -> y; x <-> y",
    "napkin": "w -> z -> x -> y; w <-> x; w <-> y",
    "verma": "a -> x -> b -> y; x <-> y; a <-> b; a -> b",
    "two-step": "x -> m -> y; x -> n -> y; x <-> y",
    "m-graph": "a <-> x; a <-> y; x -> y",
}


def latent_network(
    rng: np.random.Generator, n: int, arrows: set[tuple[int, int]], arcs: list[tuple[int, int]]
) -> Any:
    """Parents and tables of the observed columns, then of one latent column for each arc."""
    families: list[list[int]] = [sorted(a for a, b in arrows if b == v) for v in range(n)]
    for k, pair in enumerate(arcs):
        for v in pair:
            families[v].append(n + k)
    parents = [tuple(f) for f in families] + [()] * len(arcs)
    cards = [2] * n + [3] * len(arcs)
    tables = [
        rng.dirichlet(np.ones(cards[v]), [cards[p] for p in f]) for v, f in enumerate(parents)
    ]
    return parents, tables


def as_model(network: Any) -> cp.BayesianNetwork:
    parents, tables = network
    schema = cp.Schema(
        [cp.Variable(f"v{i}", tuple(range(np.shape(t)[-1]))) for i, t in enumerate(tables)]
    )
    return cp.BayesianNetwork(schema, cp.Dag.from_parents(parents), tables)


def random_question(rng: np.random.Generator) -> Any:
    n = int(rng.integers(2, 6))
    order = rng.permutation(n).tolist()
    arrows = {(order[a], order[b]) for b in range(n) for a in range(b) if rng.random() < 0.5}
    arcs = [(a, b) for b in range(n) for a in range(b) if rng.random() < 0.3][:4]
    x, y = rng.choice(n, 2, replace=False).tolist()
    more = [v for v in range(n) if v not in (x, y)]
    several = {x, more[0]} if more and rng.random() < 0.25 else {x}
    return n, arrows, arcs, several, y


def mixed_graph(n: int, arrows: set[tuple[int, int]], arcs: list[tuple[int, int]]) -> cp.MixedGraph:
    edges = [(f"v{a}", "->", f"v{b}") for a, b in arrows] + [
        (f"v{a}", "<->", f"v{b}") for a, b in arcs
    ]
    return cp.MixedGraph([f"v{i}" for i in range(n)], edges)


@pytest.mark.parametrize("seed", range(50))
def test_id_is_the_truth_where_no_hedge_exists(seed: int) -> None:
    rng = np.random.default_rng([26, seed])
    n, arrows, arcs, x, y = random_question(rng)
    graph = mixed_graph(n, arrows, arcs)
    treatment = [f"v{v}" for v in sorted(x)]
    hedged = has_hedge(n, arrows, {frozenset(arc) for arc in arcs}, x, {y})
    try:
        identified = cp.identify(graph, treatment, f"v{y}", method="id" if seed % 2 else "auto")
    except NotIdentifiedError:
        assert hedged
        return
    assert not hedged
    network = latent_network(rng, n, arrows, arcs)
    model = as_model(network)
    assert set(identified.columns) <= set(graph.names)
    for cell in np.ndindex(*[2] * len(x)):
        do = dict(zip(sorted(x), map(int, cell), strict=True))
        value = identified.evaluate(model, {f"v{v}": code for v, code in do.items()})
        np.testing.assert_allclose(value.probabilities, answer(network, [y], do, {}), atol=1e-9)


@pytest.mark.parametrize("name", IDENTIFIED)
@pytest.mark.parametrize("method", ["auto", "id"])
def test_textbook_graphs_are_identified(name: str, method: Any) -> None:
    graph = cp.causal_graph(IDENTIFIED[name])
    place = {v: i for i, v in enumerate(graph.names)}
    arrows = {(place[e.a], place[e.b]) for e in graph.edges if e.kind == "->"}
    arcs = [(place[e.a], place[e.b]) for e in graph.edges if e.kind == "<->"]
    network = latent_network(np.random.default_rng(5), len(place), arrows, arcs)
    plain = as_model(network)
    names = [*graph.names, *(f"u{k}" for k in range(len(arcs)))]
    schema = cp.Schema(
        [cp.Variable(name, v.states) for name, v in zip(names, plain.schema, strict=True)]
    )
    model = cp.BayesianNetwork(schema, plain.dag, plain.tables)
    identified = cp.identify(graph, "x", "y", method=method)
    for state in (0, 1):
        truth = answer(network, [place["y"]], {place["x"]: state}, {})
        value = identified.evaluate(model, {"x": state})
        np.testing.assert_allclose(value.probabilities, truth, atol=1e-10)


def test_methods_and_texts() -> None:
    front = cp.identify(IDENTIFIED["front-door"], "x", "y")
    assert front.method == "front-door"
    assert str(front) == "P(y | do(x)) = Σ_{m} P(m | x) [Σ_{x′} P(y | x′, m) P(x′)]"
    napkin = cp.identify(IDENTIFIED["napkin"], "x", "y")
    assert napkin.method == "id"
    assert expression_text(napkin.expression) == (
        "Σ_{z} P(z) {Σ_{w} P(w) P(x | w, z) P(y | w, z, x)} / {Σ_{w} P(w) P(x | w, z)}"
    )
    assert cp.identify(IDENTIFIED["back-door"], "x", "y").method == "back-door"


@pytest.mark.parametrize(
    ("graph", "hedge"),
    [
        (BOW, (("x", "y"), ("y",))),
        ("x -> z -> y; x <-> z", (("x", "z"), ("z",))),
        ("x -> z -> y; z <-> y; x <-> z", (("x", "y", "z"), ("y", "z"))),
        ("x -> y; z -> y; x <-> z; z <-> y", (("x", "y", "z"), ("y", "z"))),
    ],
)
def test_a_hedge_refuses(graph: str, hedge: Any) -> None:
    with raises(NotIdentifiedError, about="identified") as error:
        cp.identify(graph, "x", "y")
    assert error.value.hedge == hedge
    assert "\n" not in str(error.value)


def test_conditional_effects() -> None:
    """P(y | do(x), z) in all graphs of four columns in which IDC succeeds."""
    done = 0
    for seed in range(150):
        rng = np.random.default_rng([62, seed])
        n, arrows, arcs, x, y = random_question(rng)
        rest = [v for v in range(n) if v not in {*x, y}]
        if not rest:
            continue
        z = rest[0]
        treatment = [f"v{v}" for v in sorted(x)]
        try:
            identified = cp.identify(mixed_graph(n, arrows, arcs), treatment, f"v{y}", f"v{z}")
        except NotIdentifiedError:
            continue
        network = latent_network(rng, n, arrows, arcs)
        do = dict.fromkeys(sorted(x), 1)
        value = identified.evaluate(
            as_model(network), {f"v{v}": 1 for v in do}, {f"v{z}": 0}
        ).probabilities
        np.testing.assert_allclose(value, answer(network, [y], do, {z: 0}), atol=1e-9)
        done += 1
    assert done > 60


def test_counts_without_a_model_come_near_the_model() -> None:
    graph = cp.causal_graph(IDENTIFIED["front-door"])
    arrows, arcs = {(0, 1), (1, 2)}, [(0, 2)]
    network = latent_network(np.random.default_rng(0), 3, arrows, arcs)
    joint = joint_after(network, {}).sum(axis=3)
    codes = np.array(list(np.ndindex(*joint.shape)))
    frame = dict(zip(graph.names, codes.T.tolist(), strict=True))
    rows = cp.read(frame).reweighted(joint.reshape(-1))
    identified = cp.identify(graph, "x", "y")
    value = identified.evaluate(cp.MemoryCounts(rows), {"x": 1}).probabilities
    np.testing.assert_allclose(value, answer(network, [2], {0: 1}, {}), atol=1e-12)


def test_a_cell_that_never_occurs_is_named() -> None:
    rows = cp.MemoryCounts(cp.read({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "z": [0, 1, 1, 1]}))
    identified = cp.identify("z -> x -> y; z -> y", "x", "y")
    with raises(cp.CounterpaneError, about=("x=1", "z=0")):
        identified.evaluate(rows, {"x": 1})
    smooth = identified.evaluate(rows, {"x": 1}, equivalent_sample_size=1)
    assert smooth.probabilities.sum() == pytest.approx(1)


def test_bad_questions() -> None:
    with raises(UnknownNameError, parameter="column", value="w"):
        cp.identify(BOW, "w", "y")
    with raises(cp.CounterpaneError, about="'x'"):
        cp.identify(BOW, "x", "x")
    with raises(cp.CounterpaneError, about="'x'"):
        cp.identify(BOW, "x", "y", "x")
    with raises(GraphError, about="cycle"):
        cp.identify("x -> y -> z -> x", "x", "y")
    with raises(GraphError, about="direction"):
        cp.identify("x -- y", "x", "y")
    with raises(cp.CounterpaneError, about="state"):
        cp.identify("x -> y", "x", "y").evaluate(
            as_model(([(), (0,)], [[0.5, 0.5], [[1, 0], [0, 1]]])), {}
        )

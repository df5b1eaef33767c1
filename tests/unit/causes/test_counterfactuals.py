"""Counterfactuals by sums over the noise; bounds by linear programs over all mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import counterpane as cp
from counterpane.causes.causation_bounds import _bounds
from error_checks import raises


def random_mechanisms(rng: np.random.Generator, n: int) -> Any:
    """n noise columns, and n columns that each follow from a noise column and earlier ones."""
    noise = rng.integers(2, 5, n).tolist()
    parents = [tuple(sorted(v for v in range(k) if rng.random() < 0.6)) for k in range(n)]
    functions = [rng.integers(0, 2, [*(2 for _ in parents[k]), noise[k]]) for k in range(n)]
    weights = [rng.dirichlet(np.ones(size)) for size in noise]
    return parents, functions, weights


def as_model(mechanisms: Any) -> cp.BayesianNetwork:
    parents, functions, weights = mechanisms
    n = len(parents)
    schema = cp.Schema(
        [cp.Variable(f"v{k}", (0, 1)) for k in range(n)]
        + [cp.Variable(f"u{k}", tuple(range(len(w)))) for k, w in enumerate(weights)]
    )
    families = [(*parents[k], n + k) for k in range(n)] + [()] * n
    tables = [np.eye(2)[f] for f in functions] + list(weights)
    return cp.BayesianNetwork(schema, cp.Dag.from_parents(families), tables)


def world(mechanisms: Any, noise: tuple[int, ...], do: dict[int, int]) -> list[int]:
    parents, functions, _ = mechanisms
    row: list[int] = []
    for k, function in enumerate(functions):
        value = int(function[(*(row[p] for p in parents[k]), noise[k])])
        row.append(do.get(k, value))
    return row


@pytest.mark.parametrize("seed", range(20))
def test_the_twin_network_is_the_sum_over_the_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    mechanisms = random_mechanisms(rng, n)
    model, weights = as_model(mechanisms), mechanisms[2]
    x, y, *rest = rng.permutation(n).tolist()
    do = {x: int(rng.integers(2))}
    seen = {y: 1} if seed % 2 else {v: int(rng.integers(2)) for v in [x, *rest]}
    shares = np.zeros(2)
    for noise in np.ndindex(*map(len, weights)):
        row = world(mechanisms, noise, {})
        if all(row[v] == code for v, code in seen.items()):
            p = np.prod([w[u] for w, u in zip(weights, noise, strict=True)])
            shares[world(mechanisms, noise, do)[y]] += p
    evidence = {f"v{v}": code for v, code in seen.items()}
    question = (f"v{y}", {f"v{v}": code for v, code in do.items()}, evidence)
    if y in seen and y not in model.dag.descendants(x):
        with raises(cp.CounterpaneError, about="changed"):
            cp.counterfactual(model, *question)
    elif shares.sum() == 0:
        with raises(cp.CounterpaneError, about="v0=1"):
            cp.counterfactual(model, *question)
    else:
        value = cp.counterfactual(model, *question).probabilities
        np.testing.assert_allclose(value, shares / shares.sum(), atol=1e-12)


def test_mechanisms_are_needed() -> None:
    schema = cp.Schema.from_cards([2, 2])
    model = cp.BayesianNetwork(schema, cp.Dag(2, [(0, 1)]), [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]])
    with raises(cp.CounterpaneError, about="'x1'"):
        cp.counterfactual(model, "x1", {"x0": 1}, {"x0": 0})
    with raises(cp.CounterpaneError, about="mechanisms"):
        cp.counterfactual(cp.MarkovNetwork(schema, []), "x1", {"x0": 1})  # type: ignore[arg-type]
    with raises(cp.CounterpaneError, about="'x1'"):
        cp.counterfactual(model, "x1", {"x1": 1})


def response_types() -> list[tuple[int, int, int]]:
    """(treatment taken, outcome without it, outcome with it)."""
    return [(x, y0, y1) for x in (0, 1) for y0 in (0, 1) for y1 in (0, 1)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tables", ["both", "observational", "experimental"])
def test_bounds_are_sharp(seed: int, tables: str) -> None:
    """The least and largest values over all shares of the eight response types."""
    rng = np.random.default_rng([7, seed])
    types = response_types()
    shares = rng.dirichlet(np.full(8, 0.5))
    joint = np.zeros((2, 2))
    for share, (x, y0, y1) in zip(shares, types, strict=True):
        joint[x, y1 if x else y0] += share
    trial = (
        sum(s for s, t in zip(shares, types, strict=True) if t[2]),
        sum(s for s, t in zip(shares, types, strict=True) if t[1]),
    )
    rows, values = [np.ones(8)], [1.0]
    if tables != "experimental":
        for x in (0, 1):
            rows.append(np.array([t[0] == x and (t[2] if x else t[1]) == 1 for t in types], float))
            values.append(float(joint[x, 1]))
        rows.append(np.array([t[0] == 1 for t in types], float))
        values.append(float(joint[1].sum()))
    if tables != "observational":
        rows += [np.array([t[2] for t in types], float), np.array([t[1] for t in types], float)]
        values += list(trial)
    bounds = _bounds(
        None if tables == "experimental" else joint, None if tables == "observational" else trial
    )
    goals = [("both", [t[2] == 1 and t[1] == 0 for t in types], 1.0)]
    if tables == "both":
        goals += [
            ("necessity", [t == (1, 0, 1) for t in types], float(joint[1, 1])),
            ("sufficiency", [t == (0, 0, 1) for t in types], float(joint[0, 0])),
        ]
    for name, flags, scale in goals:
        goal = np.array(flags, float) / scale
        ends = [
            sign * linprog(sign * goal, A_eq=np.array(rows), b_eq=values, bounds=(0, 1)).fun
            for sign in (1, -1)
        ]
        np.testing.assert_allclose(getattr(bounds, name), ends, atol=1e-6)


def two_by_two(counts: list[list[float]]) -> cp.Table:
    frame = {"drug": ["no", "no", "yes", "yes"], "dead": ["no", "yes", "no", "yes"]}
    return cp.read(frame).reweighted(np.array(counts).reshape(-1))  # type: ignore[union-attr]


def test_tables_states_and_refusals() -> None:
    seen, trial = two_by_two([[972, 28], [998, 2]]), two_by_two([[986, 14], [984, 16]])
    bounds = cp.causation_bounds("drug", "dead", observational=seen, experimental=trial)
    assert bounds.necessity == pytest.approx((1.0, 1.0))
    turned = cp.causation_bounds(
        "drug", "dead", observational=seen, experimental=trial, cause="no", result="no"
    )
    assert turned.both.lower <= turned.both.upper
    alone = cp.causation_bounds("drug", "dead", observational=trial, unconfounded=True)
    assert alone.both.lower == pytest.approx(0.002)
    with raises(cp.CounterpaneError, about="describe"):
        cp.causation_bounds(
            "drug", "dead", observational=two_by_two([[5, 95], [0, 100]]), experimental=trial
        )
    with raises(cp.CounterpaneError, about="observational"):
        cp.causation_bounds("drug", "dead")
    with raises(cp.CounterpaneError, about="'drug'"):
        cp.causation_bounds("drug", "drug", observational=seen)
    with raises(cp.CounterpaneError, parameter="drug", value="maybe"):
        cp.causation_bounds("drug", "dead", observational=seen, cause="maybe")

"""Interventions, identification and effects, against their definitions and against known networks.

    python benchmarks/causal.py

References are those of `tests/reference/causal_reference.py`: sums over all rows, all hedges, all
graphs of a class. The last figures learn networks from sampled rows and ask how often the range
of an effect, with its interval, holds the effect in the network that the rows came from.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness import publish, seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import counterpane as cp
from counterpane.errors import NotIdentifiedError
from reference.causal_reference import (
    answer,
    effect_table,
    graphs_of_class,
    has_hedge,
    random_network,
    refitted,
)

NETWORKS = ("asia", "survey", "sachs", "child", "alarm")
ROWS, PAIRS = 5000, 30


def as_model(network: Any) -> cp.BayesianNetwork:
    """The network in our terms, its columns called v0, v1 …"""
    parents, tables = network
    states = [tuple(range(table.shape[-1])) for table in tables]
    schema = cp.Schema([cp.Variable(f"v{i}", s) for i, s in enumerate(states)])
    return cp.BayesianNetwork(schema, cp.Dag.from_parents(parents), tables)


def interventions(n_networks: int) -> list[dict[str, Any]]:
    """The largest difference between `query(do=…)` and the sum over all rows."""
    worst = 0.0
    for seed in range(n_networks):
        rng = np.random.default_rng([1, seed])
        n = int(rng.integers(2, 8))
        network = random_network(rng, n, rng.uniform(0.2, 0.7))
        cards = [table.shape[-1] for table in network[1]]
        x, y, *rest = rng.permutation(n).tolist()
        do = {x: int(rng.integers(cards[x]))}
        given = {v: int(rng.integers(cards[v])) for v in rest[: int(rng.integers(0, 3))]}
        value = as_model(network).query(
            f"v{y}", {f"v{v}": c for v, c in given.items()}, do={f"v{v}": c for v, c in do.items()}
        )
        worst = max(
            worst, float(np.abs(value.probabilities - answer(network, [y], do, given)).max())
        )
    what = f"do: largest error of a probability, {n_networks:,} networks of up to 7 columns"
    return [{"what": what, "value": worst, "unit": "", "limit": 1e-9}]


def identification(n_graphs: int) -> list[dict[str, Any]]:
    """Graphs with latent columns: how many effects are identified, and how many wrongly so."""
    counts = dict.fromkeys(("identified", "refused", "wrong", "refused though identifiable"), 0)
    for seed in range(n_graphs):
        rng = np.random.default_rng([2, seed])
        n = int(rng.integers(2, 7))
        order = rng.permutation(n).tolist()
        arrows = {(order[a], order[b]) for b in range(n) for a in range(b) if rng.random() < 0.5}
        arcs = [(a, b) for b in range(n) for a in range(b) if rng.random() < 0.3][:4]
        x, y = rng.choice(n, 2, replace=False).tolist()
        edges = [(f"v{a}", "->", f"v{b}") for a, b in arrows]
        edges += [(f"v{a}", "<->", f"v{b}") for a, b in arcs]
        graph = cp.MixedGraph([f"v{i}" for i in range(n)], edges)
        hedge = has_hedge(n, arrows, {frozenset(arc) for arc in arcs}, {x}, {y})
        try:
            identified = cp.identify(graph, f"v{x}", f"v{y}", method="id")
        except NotIdentifiedError:
            counts["refused"] += 1
            counts["refused though identifiable"] += not hedge
            continue
        counts["identified"] += 1
        network = with_latents(rng, n, arrows, arcs)
        value = identified.evaluate(as_model(network), {f"v{x}": 1}).probabilities
        counts["wrong"] += bool(np.abs(value - answer(network, [y], {x: 1}, {})).max() > 1e-9)
    limits = {"wrong": 0, "refused though identifiable": 0}
    return [
        {"what": f"ID, {n_graphs:,} graphs with latent columns: {name}", "value": n,
         "unit": "graphs", "limit": limits.get(name)}
        for name, n in counts.items()
    ]  # fmt: skip


def with_latents(
    rng: np.random.Generator, n: int, arrows: set[tuple[int, int]], arcs: list[tuple[int, int]]
) -> Any:
    """Random tables for the columns, and for one latent column of three states for each arc."""
    families = [sorted(a for a, b in arrows if b == v) for v in range(n)]
    for k, pair in enumerate(arcs):
        for v in pair:
            families[v].append(n + k)
    parents = [tuple(family) for family in families] + [()] * len(arcs)
    cards = [2] * n + [3] * len(arcs)
    shapes = [[cards[p] for p in family] for family in parents]
    return parents, [rng.dirichlet(np.ones(c), s) for c, s in zip(cards, shapes, strict=True)]


def classes(n_networks: int) -> list[dict[str, Any]]:
    """IDA with the oracle's class: whether the true effect is among the estimates."""
    held, exact, determined = 0, 0, 0
    for seed in range(n_networks):
        rng = np.random.default_rng([3, seed])
        n = int(rng.integers(3, 7))
        network = random_network(rng, n, rng.uniform(0.2, 0.8), 2)
        x, y = rng.choice(n, 2, replace=False).tolist()
        result = cp.effect(as_model(network), f"v{x}", f"v{y}", equivalence=True)
        values = [e.probabilities for e in result.estimates]
        truth = effect_table(network, [x], y)
        held += bool(min(np.abs(v - truth).max() for v in values) < 1e-9)
        determined += result.determined
        members = [effect_table(refitted(network, g), [x], y) for g in graphs_of_class(network[0])]
        exact += all(min(np.abs(v - m).max() for v in values) < 1e-8 for m in members) and all(
            min(np.abs(v - m).max() for m in members) < 1e-8 for v in values
        )
    sets = f"IDA, {n_networks} networks with the oracle's class"
    return [
        {"what": f"{sets}: the true effect is in the range", "value": held, "unit": "networks",
         "limit": n_networks, "sign": "≥"},
        {"what": f"{sets}: effects are those of all graphs of the class", "value": exact,
         "unit": "networks", "limit": n_networks, "sign": "≥"},
        {"what": f"{sets}: one effect only", "value": determined, "unit": "networks"},
    ]  # fmt: skip


def learned() -> list[dict[str, Any]]:
    """Effects from sampled rows: how often the range with its interval holds the truth."""
    figures: list[dict[str, Any]] = []
    for name in NETWORKS:
        path = Path(os.environ["COUNTERPANE_DATA"]) / "networks" / f"{name}.bif.gz"
        true: Any = cp.load(path)
        learner = cp.StructureSearch(random_state=0).fit(true.sample(ROWS, random_state=0))
        rng = np.random.default_rng(0)
        cells: list[float] = []
        pairs, determined, widths = 0, 0, []
        for _ in range(PAIRS):
            y = int(rng.integers(len(true.schema)))
            above = true.dag.ancestors(y) or [v for v in range(len(true.schema)) if v != y]
            names = true.schema.names[int(rng.choice(above))], true.schema.names[y]
            result = cp.effect(learner, *names, draws=100)
            truth = cp.effect(true, *names, draws=2).probabilities
            ends = result.interval()
            assert ends is not None
            inside = (ends[0] - 1e-9 <= truth) & (truth <= ends[1] + 1e-9)
            cells += inside.reshape(-1).tolist()
            pairs += bool(inside.all())
            determined += result.determined
            widths.append(float((result.most - result.least).max()))
        about = f"{name}, {ROWS:,} rows, {PAIRS} pairs"
        figures += [
            {"what": f"{about}: true probabilities after do within range and interval",
             "value": 100 * float(np.mean(cells)), "unit": "% of probabilities"},
            {"what": f"{about}: all of them within", "value": 100 * pairs / PAIRS,
             "unit": "% of pairs"},
            {"what": f"{about}: one effect only", "value": 100 * determined / PAIRS,
             "unit": "% of pairs"},
            {"what": f"{about}: mean width of the range", "value": float(np.mean(widths)),
             "unit": ""},
        ]  # fmt: skip
    return figures


def speed() -> list[dict[str, Any]]:
    """Processor time of questions on ALARM."""
    path = Path(os.environ["COUNTERPANE_DATA"]) / "networks" / "alarm.bif.gz"
    model: Any = cp.load(path)
    learner = cp.StructureSearch().fit(model.sample(ROWS, random_state=0))
    plain = seconds(lambda: model.query("BP", {"HR": "HIGH"}))
    cut = seconds(lambda: model.query("BP", do={"HR": "HIGH"}))
    whole = seconds(lambda: cp.effect(learner, "VENTLUNG", "BP"), repeat=1)
    return [
        {"what": "ALARM: query with evidence", "value": 1000 * plain, "unit": "ms"},
        {"what": "ALARM: query with do", "value": 1000 * cut, "unit": "ms"},
        {"what": "ALARM: effect of a learned network, 200 draws", "value": whole, "unit": "s"},
    ]


def main() -> None:
    """Measure all, and write the figures."""
    figures = [*interventions(1000), *identification(2000), *classes(500), *learned(), *speed()]
    publish("causal", figures)


if __name__ == "__main__":
    main()

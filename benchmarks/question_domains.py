"""Domains with known Markov networks: grids, trees, random graphs, and moral graphs of networks.

Graphs: grids 4×4, 4×5 and 5×10, random trees, and random graphs of a share τ of all pairs. Two
states a column; the log-odds ratio of each edge given all else is ±1, ±2, or mixed (±U(.5, 2.5),
with log-odds U(−.5, .5) of each state). The list of domains is cut into two halves by a seeded
permutation: settings may be chosen on the first, and the second is reported.
"""

from __future__ import annotations

import math
import os
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

import counterpane as cp
from counterpane.data import Schema, Table

SPLIT_SEED = 2026
ROWS = (500, 2000, 10_000, 50_000)
NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "hailfinder")
GRIDS = {16: (4, 4), 20: (4, 5), 50: (5, 10)}
MOST_WIDTH = 20
CHAINS = 500

Edges = list[tuple[int, int]]


class Domain(NamedTuple):
    """A way to draw rows: `family` is "grid", "tree", "r.3" (τ = .3) or "net:alarm"."""

    family: str
    n: int
    strength: float | str
    rows: int

    @property
    def is_network(self) -> bool:
        return self.family.startswith("net:")


def all_domains() -> list[Domain]:
    """198 domains; the dense graphs of 50 columns have no 50,000 rows."""
    drawn = [
        Domain(family, n, strength, rows)
        for n in (16, 20, 50)
        for family in ("grid", "tree", "r.1", "r.3", "r.5")
        for strength in (1, 2, "mixed")
        for rows in ROWS
        if not (n == 50 and family in ("r.3", "r.5") and rows > 10_000)
    ]
    return drawn + [Domain(f"net:{name}", 0, 0, rows) for name in NETWORKS for rows in ROWS]


def halves() -> tuple[list[Domain], list[Domain]]:
    """The domains that settings may be chosen on, and the held-out ones."""
    domains = all_domains()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(domains))
    middle = len(domains) // 2
    first, second = sorted(order[:middle]), sorted(order[middle:])
    return [domains[i] for i in first], [domains[i] for i in second]


def drawn(domain: Domain, seed: int) -> tuple[Table, Edges]:
    """Rows of a domain, and the edges of its Markov network."""
    if domain.is_network:
        network, edges = moral_network(domain.family.removeprefix("net:"))
        frame = network.sample(domain.rows, random_state=seed)
        return Table.from_frame(frame, schema=network.schema), edges
    letters = sum(map(ord, domain.family))
    strength = 7 if domain.strength == "mixed" else int(10 * float(domain.strength))
    rng = np.random.default_rng([seed, domain.n, letters, domain.rows, strength])
    edges = drawn_edges(domain.family, domain.n, rng)
    codes = drawn_rows(domain, edges, rng)
    return Table(Schema.from_cards([2] * domain.n), codes), edges


@cache
def moral_network(name: str) -> tuple[Any, Edges]:
    """A network of the collection, and the edges of its moral graph."""
    network = cp.load(Path(os.environ["COUNTERPANE_DATA"]) / "networks" / f"{name}.bif.gz")
    place = {column: i for i, column in enumerate(network.schema.names)}
    pairs = nx.moral_graph(network.graph).edges
    return network, sorted(ordered(place[a], place[b]) for a, b in pairs)


def ordered(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def drawn_edges(family: str, n: int, rng: np.random.Generator) -> Edges:
    """A graph with shuffled labels."""
    if family.startswith("r"):
        pairs = list(combinations(range(n), 2))
        chosen = rng.permutation(len(pairs))[: round(float(family[1:]) * len(pairs))]
        return sorted(pairs[i] for i in chosen)
    label = rng.permutation(n).tolist()
    if family == "tree":
        edges = [(i, int(rng.integers(0, i))) for i in range(1, n)]
    else:
        height, width = GRIDS[n]
        places = [(i, j) for i in range(height) for j in range(width)]
        edges = [(i * width + j, i * width + j + 1) for i, j in places if j + 1 < width]
        edges += [(i * width + j, (i + 1) * width + j) for i, j in places if i + 1 < height]
    return sorted(ordered(label[a], label[b]) for a, b in edges)


def drawn_rows(domain: Domain, edges: Edges, rng: np.random.Generator) -> np.ndarray:
    """Codes (n, rows) of p(s) ∝ exp(Σ w s_i s_j + Σ h s_i), s = ±1: exact, else by Gibbs."""
    if domain.strength == "mixed":
        weights = rng.uniform(0.5, 2.5, len(edges))
        fields = rng.uniform(-0.5, 0.5, domain.n) / 2
    else:
        weights, fields = np.full(len(edges), float(domain.strength)), np.zeros(domain.n)
    weights = weights * rng.choice([-1.0, 1.0], len(edges)) / 4
    order = None
    if domain.n <= 20 or len(edges) <= 2.6 * domain.n:
        order = elimination(domain.n, edges)
    if order is None:
        return by_gibbs(domain, edges, weights, fields, rng)
    return exactly(domain, edges, weights, fields, order, rng)


def elimination(n: int, edges: Edges) -> list[tuple[int, list[int]]] | None:
    """Columns with what each depends on once those before it are summed out; None if too wide."""
    near: dict[int, set[int]] = {i: set() for i in range(n)}
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    order = []
    while near:
        v = min(near, key=lambda v: (fill_in(near, v), len(near[v]), v))
        if len(near[v]) > MOST_WIDTH:
            return None
        order.append((v, sorted(near[v])))
        for a, b in combinations(near[v], 2):
            near[a].add(b)
            near[b].add(a)
        for a in near.pop(v):
            near[a].discard(v)
    return order


def fill_in(near: dict[int, set[int]], v: int) -> int:
    return sum(b not in near[a] for a, b in combinations(near[v], 2))


def exactly(
    domain: Domain,
    edges: Edges,
    weights: np.ndarray,
    fields: np.ndarray,
    order: list[tuple[int, list[int]]],
    rng: np.random.Generator,
) -> np.ndarray:
    """Rows drawn column by column, after summing out in the other direction."""
    factors = [(edge, np.array([[w, -w], [-w, w]])) for edge, w in zip(edges, weights, strict=True)]
    factors += [((i,), np.array([-h, h])) for i, h in enumerate(fields)]
    conditionals = {}
    for v, rest in order:
        scope = [v, *rest]
        total = np.zeros((2,) * len(scope))
        for columns, values in [f for f in factors if v in f[0]]:
            places = [scope.index(c) for c in columns]
            shape = [2 if i in places else 1 for i in range(len(scope))]
            total = total + values.transpose(np.argsort(places)).reshape(shape)
        factors = [f for f in factors if v not in f[0]]
        summed = np.logaddexp(total[0], total[1])
        conditionals[v] = np.exp(total[1] - summed).ravel()
        if rest:
            factors.append((tuple(rest), summed))
    codes = np.zeros((domain.n, domain.rows), dtype=np.uint8)
    for v, rest in reversed(order):
        place = np.zeros(domain.rows, dtype=np.int64)
        for c in rest:
            place = place * 2 + codes[c]
        codes[v] = rng.random(domain.rows) < conditionals[v][place]
    return codes


def by_gibbs(
    domain: Domain, edges: Edges, weights: np.ndarray, fields: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rows of 500 chains side by side: 100 sweeps, then 10 between two rows of a chain."""
    coupling = np.zeros((domain.n, domain.n))
    for (a, b), w in zip(edges, weights, strict=True):
        coupling[a, b] = coupling[b, a] = w
    spins = rng.choice([-1.0, 1.0], (domain.n, CHAINS))
    parts = []
    for k in range(math.ceil(domain.rows / CHAINS)):
        for _ in range(100 if k == 0 else 10):
            for i in range(domain.n):
                up = 1.0 / (1.0 + np.exp(-2.0 * (fields[i] + coupling[i] @ spins)))
                spins[i] = np.where(rng.random(CHAINS) < up, 1.0, -1.0)
        parts.append(spins > 0)
    return np.concatenate(parts, axis=1)[:, : domain.rows].astype(np.uint8)

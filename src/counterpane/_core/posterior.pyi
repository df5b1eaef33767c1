"""Posteriors over networks: sums over all, chains of orders and partitions.

Shapes: src/core/learn/posterior/area.cpp.
"""

from typing import NamedTuple

from counterpane.typing import Array, Floats, Ints

class Tables(NamedTuple):
    """Of each variable, tables over masks of its k candidate parents, which rise by position.

    `scores[i, mask]` is the log-score of i given those candidates, less the largest; `sums` holds
    the logs of the sums over all subsets of a mask; `sets` the masks that are allowed; `bits[i, j]`
    the bit of j among the candidates of i, 0 where it is none.
    """

    candidates: Ints
    bits: Ints
    sets: Ints
    scores: Floats
    sums: Floats

class Alpha(NamedTuple):
    """α = value × 2^exponent with 1 ≤ value < 2; each of shape (n, 2ⁿ⁻¹)."""

    value: Floats
    exponent: Ints

def log_sum_subsets(sums: Floats, /) -> None: ...
def walk_orders(
    tables: Tables,
    order: Ints,
    uniforms: Floats,
    edges: Floats,
    squares: Floats,
    log_scores: Floats,
    /,
) -> None: ...
def draw_by_order(tables: Tables, order: Ints, uniforms: Floats, chosen: Ints, /) -> None: ...
def walk_layers(
    tables: Tables,
    layer: Ints,
    uniforms: Floats,
    edges: Floats,
    squares: Floats,
    log_scores: Floats,
    /,
) -> None: ...
def draw_by_layers(tables: Tables, layer: Ints, uniforms: Floats, chosen: Ints, /) -> None: ...
def fill_layers(candidates: Ints, chosen: Ints, layer: Ints, /) -> None: ...
def fill_terms(
    codes: Array,
    weights: Floats,
    cards: Ints,
    split: int,
    prefix: int,
    max_size: int,
    kind: int,
    a: float,
    ranks: Ints,
    logs: Floats,
    terms: Floats,
    /,
) -> None: ...
def fill_families(
    whole: Floats,
    parents: Floats,
    cards: Ints,
    child: int,
    max_parents: int,
    kind: int,
    a: float,
    by_count: Floats,
    by_edge: Floats,
    out: Floats,
    /,
) -> None: ...
def sum_subsets(scores: Floats, value: Floats, exponent: Ints, /) -> None: ...
def sum_orders(alpha: Alpha, out: Floats, /) -> None: ...
def weigh_orders(
    alpha: Alpha, forward: Floats, start: int, budget: int, backward: Floats, edges: Floats, /
) -> int: ...
def sum_networks(alpha: Alpha, scale: Ints, start: int, budget: int, forward: Floats, /) -> int: ...
def weigh_networks(
    alpha: Alpha,
    scale: Ints,
    forward: Floats,
    start: int,
    budget: int,
    backward: Floats,
    edges: Floats,
    /,
) -> int: ...
def best_subsets(best: Floats, /) -> None: ...
def best_sinks(best: Floats, score: Floats, sink: Ints, /) -> None: ...

"""Bayesian networks: searches on the rows of a `RowCache`, and posteriors over networks.

A search that lacks rows notes their families and returns `MISS`; it is called again once the rows
are there, and goes on where it stopped, by its `cursor`. Shapes: src/core/learn/bayesian/area.cpp.
"""

from typing import Any, NamedTuple

from counterpane.typing import Array, Bools, Floats, Ints, Words

MISS: int
ADD: int
DROP: int
TURN: int

class RowRequests(NamedTuple):
    """The row cache as a search sees it: rows, and room for the families whose rows it lacks."""

    store: Any
    n_wanted: Ints  # one number: how many families are noted
    children: Ints
    families: Words
    n_moves: Ints  # one number: moves made so far, whatever calls were cut short by missing rows

class Limits(NamedTuple):
    """What a search may do: `allowed[x]` holds the parents x may have, `required[x]` must have."""

    allowed: Words
    required: Words
    tolerance: float

class DagState(NamedTuple):
    """A DAG that is being searched: bit rows, and the cached row and score of each family."""

    parents: Words
    children: Words
    reach: Words  # reach[u]: u and its descendants
    slot: Ints  # of the row of (u, parents of u), −1 where not looked up yet
    score: Floats
    most_added: Floats  # no parent of u gains more when it is added
    most_dropped: Floats  # or dropped

class Pattern(NamedTuple):
    """A class of DAGs (its CPDAG), one member, and what is known of each node."""

    parents: Words  # directed edges into a node
    children: Words
    neighbors: Words  # undirected edges
    member: Words  # parents in a DAG of the class
    reach: Words  # the node, and those to which a semi-directed path leads
    bound: Floats  # no insert into the node gains more
    drop_gain: Floats  # the best delete at the node
    drop_node: Ints
    drop_clique: Words
    dirty: Bools

def add_edges(dag: DagState, parents: Words, /) -> None: ...
def make_move(dag: DagState, kind: int, parent: int, child: int, /) -> None: ...
def load_families(rows: RowRequests, dag: DagState, /) -> int: ...
def climb(rows: RowRequests, dag: DagState, limits: Limits, max_moves: int, /) -> int: ...
def tabu_walk(
    rows: RowRequests,
    dag: DagState,
    best: DagState,
    limits: Limits,
    tabu: Words,
    cursor: Ints,
    /,
) -> int: ...
def reinsert(
    rows: RowRequests,
    dag: DagState,
    kept: DagState,
    limits: Limits,
    cursor: Ints,
    last: int,
    /,
) -> int: ...
def knock_out(
    rows: RowRequests,
    dag: DagState,
    kept: DagState,
    limits: Limits,
    cursor: Ints,
    last: int,
    /,
) -> int: ...
def relabel(pattern: Pattern, /) -> None: ...
def ges(
    rows: RowRequests, pattern: Pattern, limits: Limits, max_parents: int, max_steps: int, /
) -> int: ...
def knock_out_classes(
    rows: RowRequests,
    pattern: Pattern,
    kept: Pattern,
    limits: Limits,
    max_parents: int,
    cursor: Ints,
    last: int,
    /,
) -> int: ...
def parents_in_order(
    rows: RowRequests,
    limits: Limits,
    order: Ints,
    shrink: bool,
    parents: Words,
    total: Floats,
    /,
) -> int: ...
def place_nodes(
    rows: RowRequests, order: Ints, limits: Limits, cursor: Ints, last: int, /
) -> int: ...

class Tables(NamedTuple):
    """Of each variable, tables over masks of its k candidate parents, which rise by position.

    `scores[i, mask]` is the log-score of i given those candidates, less the largest; `sums` holds
    the logs of the sums over all subsets of a mask; `sets` the masks that are allowed, by falling
    score; `bits[i, j]` the bit of j among the candidates of i, 0 where it is none.
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
    log_scores: Floats,
    /,
) -> None: ...
def draw_by_order(tables: Tables, order: Ints, uniforms: Floats, chosen: Ints, /) -> None: ...
def walk_layers(
    tables: Tables,
    layer: Ints,
    uniforms: Floats,
    edges: Floats,
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
    by_parameter: float,
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
def best_of_sets(best: Floats, score: Floats, /) -> None: ...

"""Searches for networks on the rows of a `RowCache`. Shapes: src/core/learn/structure/area.cpp.

A search that lacks rows notes their families and returns `MISS`; it is called again once the rows
are there, and goes on where it stopped, by its `cursor`.
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

class Pattern(NamedTuple):
    """A class of DAGs (its CPDAG), one member, and what is known of each node."""

    parents: Words  # directed edges into a node
    children: Words
    neighbors: Words  # undirected edges
    member: Words  # parents in a DAG of the class
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
def grow_forest(weights: Floats, root: int, threshold: float, parents: Ints, /) -> None: ...
def fill_chi_squares(counts: Array, left_from: Ints, right_from: Ints, out: Floats, /) -> None: ...
def fill_binary_chi_squares(joint: Ints, first: int, ones: Ints, out: Floats, /) -> None: ...
def keep_largest(values: Floats, first: int, order: Ints, out: Ints, /) -> None: ...

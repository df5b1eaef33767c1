"""Junction trees, chains, messages and climbs. Shapes: src/core/inference/area.cpp."""

from typing import NamedTuple

from counterpane._core.features import Parts, RuleMasks
from counterpane.typing import Bools, Codes, Floats, Ints, Words

IMPOSSIBLE: int
PLAN_ENTRIES: int
JOIN_ENTRIES: int

class Tree(NamedTuple):
    """A rooted junction tree as flat arrays; parents come before children, siblings in a row.

    Clique k has the children child_from[k] … , the variables scopes[scope_from[k]] … , of which it
    shares those from shared_from[k] on with its parent, and the factors factor_from[k] … ; factor
    f has the axes (with their strides) axis_from[f] … , and its values begin at value_from[f].
    """

    parents: Ints
    child_from: Ints
    scope_from: Ints
    shared_from: Ints
    factor_from: Ints
    scopes: Ints
    axis_from: Ints
    value_from: Ints
    axes: Ints
    strides: Ints

class Scopes(NamedTuple):
    """Sorted sets of variables end to end, and the strides of tables over them, end to end too.

    `owners` names the one variable whose conditional a table serves, −1 for all in its scope.
    """

    offsets: Ints
    variables: Ints
    owners: Ints
    strides: Ints
    cells: Ints

class Leaves(NamedTuple):
    """The leaves of trees: leaf l of variable owners[l] has its logs from values[l] on.

    The owners are sorted; the conditions of leaf l are those of rule l in `ways`.
    """

    owners: Ints
    values: Ints
    ways: RuleMasks

class Scan(NamedTuple):
    """Free variables in order, their tables, whom they move, and where conditionals are remembered.

    A table over free variables is the sum of all factors whose free variables it holds: factor f,
    of those `sources` that matter, goes to table hosts[f], at what the observed variables
    fixed[fixed_offsets[f]] … say; wide rule k goes to rule_hosts[k] if what is observed allows.
    `plain` is what is in no table. The tables of variable v are touched[touch_offsets[v]] … , those
    that serve it until serve_ends[v]. A change of v adds child_steps to the codes of `children`.
    """

    free: Ints
    is_free: Bools
    plain: Parts
    scopes: Scopes
    rules: Ints
    rule_hosts: Ints
    sources: Ints
    hosts: Ints
    step_offsets: Ints
    steps: Ints
    fixed_offsets: Ints
    fixed: Ints
    fixed_strides: Ints
    touch_offsets: Ints
    serve_ends: Ints
    touched: Ints
    touch_strides: Ints
    child_offsets: Ints
    children: Ints
    child_steps: Words
    slots: Ints
    shifts: Ints
    memory: Ints

class FactorGraph(NamedTuple):
    """Factor f has the values offsets[f] … and the edges edge_offsets[f] … , one a variable.

    Edge e leads to variable variables[e], whose state moves strides[e] cells in the factor; the
    message along it starts at first[e]. The edges of variable v are edges_of[edges_offsets[v]] … .
    Values are the factors' own, each divided by its largest.
    """

    cards: Ints
    offsets: Ints
    values: Floats
    edge_offsets: Ints
    variables: Ints
    strides: Ints
    first: Ints
    edges_offsets: Ints
    edges_of: Ints

class FactorList(NamedTuple):
    """Tables of natural logs: factor f is over scopes[scope_from[f]] … , the last fastest.

    Its values begin at value_from[f].
    """

    cards: Ints
    scope_from: Ints
    scopes: Ints
    value_from: Ints
    logs: Floats

def answer_rows(
    tree: Tree,
    cards: Ints,
    columns: Ints,
    rows: Ints,
    targets: Ints,
    homes: Ints,
    values: Floats,
    least: Floats,
    out: Floats,
    log_weights: Floats,
    logs: bool,
    /,
) -> None: ...
def expect_rows(
    tree: Tree,
    cards: Ints,
    rows: Ints,
    weights: Floats,
    values: Floats,
    least: Floats,
    out: Floats,
    log_weights: Floats,
    logs: bool,
    /,
) -> None: ...
def compare_rows(
    tree: Tree,
    cards: Ints,
    rows: Ints,
    weights: Floats,
    values: Floats,
    least: Floats,
    change_from: Ints,
    ratio_from: Ints,
    ratios: Floats,
    out: Floats,
    log_weights: Floats,
    logs: bool,
    /,
) -> None: ...
def draw_rows(
    tree: Tree,
    cards: Ints,
    rows: Ints,
    seeds: Words,
    values: Floats,
    least: Floats,
    out: Codes,
    log_weights: Floats,
    logs: bool,
    /,
) -> None: ...
def find_hosts(
    offsets: Ints, variables: Ints, owners: Ints, order: Ints, n_variables: int, hosts: Ints, /
) -> int: ...
def add_rules(
    rules: RuleMasks,
    chosen: Ints,
    hosts: Ints,
    scopes: Scopes,
    cards: Ints,
    is_free: Bools,
    x: Codes,
    values: Floats,
    /,
) -> None: ...
def add_tables(
    source: Floats,
    starts: Ints,
    step_offsets: Ints,
    steps: Ints,
    hosts: Ints,
    scopes: Scopes,
    cards: Ints,
    values: Floats,
    /,
) -> None: ...
def set_strides(
    offsets: Ints, variables: Ints, cards: Ints, strides: Ints, cells: Ints, /
) -> None: ...
def align_steps(
    starts: Ints,
    variables: Ints,
    steps: Ints,
    hosts: Ints,
    scope_offsets: Ints,
    scopes: Ints,
    offsets: Ints,
    out: Ints,
    /,
) -> None: ...
def pair_up(offsets: Ints, variables: Ints, owners: Ints, n: int, out: Ints, /) -> int: ...
def run_chains(
    factors: Scopes,
    values: Floats,
    rules: RuleMasks,
    scan: Scan,
    parts: Parts,
    relaxed: Parts,
    laws: Ints,
    sweeps: int,
    codes: Codes,
    likelihoods: Floats,
    targets: Ints,
    strides: Ints,
    burn_in: int,
    samples: int,
    seeds: Words,
    first: int,
    last: int,
    keys: Words,
    sums: Floats,
    kept: Codes,
    faults: Ints,
    /,
) -> None: ...
def relax(
    parts: Parts,
    rules: RuleMasks,
    own_offsets: Ints,
    own: Ints,
    leaves: Leaves,
    leaf_offsets: Ints,
    states: Ints,
    free: Ints,
    soft: Floats,
    q: Floats,
    /,
) -> float: ...
def expected_energy(parts: Parts, rules: RuleMasks, states: Ints, q: Floats, /) -> float: ...
def multiply_messages(
    graph: FactorGraph, messages: Floats, v: int, but: int, out: Floats, /
) -> None: ...
def sweep(graph: FactorGraph, messages: Floats, maximize: bool, damping: float, /) -> float: ...
def bethe(graph: FactorGraph, messages: Floats, /) -> float: ...
def climb(parts: Parts, free: Ints, sweeps: int, rows: Codes, /) -> None: ...
def plan_exact(
    factors: FactorList,
    evidence: Ints,
    stages: Ints,
    most_words: float,
    most_cells: float,
    limit: float,
    order: Ints,
    conditioned: Ints,
    report: Floats,
    /,
) -> bool: ...
def solve_exact(
    factors: FactorList,
    evidence: Ints,
    stages: Ints,
    targets: Ints,
    order: Ints,
    conditioned: Ints,
    segment: float,
    pool_cells: float,
    task: int,
    first: int,
    last: int,
    threads: int,
    out: Floats,
    best: Ints,
    /,
) -> float: ...
def order_graph(
    neighbors: Words, cards: Ints, most_words: float, uses: float, order: Ints, /
) -> float: ...
def plan_order(
    factors: FactorList,
    evidence: Ints,
    most_words: float,
    uses: float,
    out: Ints,
    report: Floats,
    /,
) -> int: ...
def propagate_clusters(
    factors: FactorList,
    evidence: Ints,
    order: Ints,
    most: float,
    iterations: int,
    damping: float,
    tolerance: float,
    out: Floats,
    report: Floats,
    /,
) -> bool: ...
def bound_weight(
    factors: FactorList, evidence: Ints, order: Ints, most: float, maximize: bool, /
) -> float: ...
def cut_columns(
    factors: FactorList, evidence: Ints, order: Ints, most: float, out: Ints, /
) -> int: ...
def temper(
    factors: FactorList, evidence: Ints, seed: int, most_work: float, means: Floats, /
) -> int: ...
def find_solution(
    factors: FactorList,
    evidence: Ints,
    beliefs: Floats,
    seed: int,
    noise: bool,
    most: int,
    codes: Ints,
    /,
) -> int: ...

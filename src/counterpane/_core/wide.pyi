"""Wide searches: screens of all pairs, and GES over short lists.

Parent lists come flat: node v has the parents `parents[parents_from[v] : parents_from[v + 1]]`.
Nodes are int32. Shapes: src/core/learn/wide/area.cpp.
"""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Floats, Ints, Words

class WideData(NamedTuple):
    """What is counted and how families are scored; see src/core/learn/wide/lanes.hpp."""

    words: Words  # bit set first[v] + s holds the rows with v = s
    ones: Ints  # and has so many
    first: Ints
    cards: Ints
    weights: Floats  # empty: every row counts once
    logs: Floats  # c ln c
    n_rows: int
    kind: int
    a: float
    by_count: Floats
    by_parameter: float
    price: Floats  # of an edge, by its degrees of freedom
    max_parents: int
    max_cells: int
    lanes: Array  # blocks of eight columns of one number of states, −1 where there are fewer

def screen_pairs(
    data: WideData,
    keep: Floats,
    from_block: int,
    to_block: int,
    cursor: Ints,
    pairs: Array,
    gains: Floats,
    /,
) -> int: ...
def screen_families(
    data: WideData,
    parents_from: Ints,
    parents: Array,
    children_from: Ints,
    children: Array,
    first_node: int,
    best: Array,
    /,
) -> None: ...
def judge_pairs(data: WideData, keep: Floats, pairs: Array, gains: Floats, /) -> None: ...
def choose_families(
    data: WideData,
    parents_from: Ints,
    parents: Array,
    children_from: Ints,
    children: Array,
    first_node: int,
    families: Array,
    /,
) -> None: ...
def judge_families(
    data: WideData,
    parents_from: Ints,
    parents: Array,
    first_node: int,
    families: Array,
    listed_from: Ints,
    listed: Array,
    best: Array,
    /,
) -> None: ...
def search_wide(
    data: WideData,
    candidates_from: Ints,
    candidates: Array,
    gains: Floats,
    every: bool,
    passes: int,
    parents_from: Ints,
    parents: Array,
    arrows: Bools,
    figures: Floats,
    /,
) -> None: ...
def score_lists(
    data: WideData, parents_from: Ints, parents: Array, scores: Floats, gains: Floats, /
) -> None: ...
def list_partners(
    pairs: Array, gains: Floats, partner_from: Ints, partners: Array, theirs: Floats, /
) -> None: ...
def fill_left(data: WideData, parents_from: Ints, parents: Array, left: Floats, /) -> None: ...
def join_pairs(pairs: Array, root: Ints, kept: Bools, /) -> int: ...
def find_arrows(parents_from: Ints, parents: Array, arrows: Bools, /) -> None: ...

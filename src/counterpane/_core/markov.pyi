"""The pseudo-likelihood of Markov networks. Shapes: src/core/learn/markov/area.cpp."""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Codes, Floats, Ints, Words

class PseudoView(NamedTuple):
    codes: Codes  # uint16
    weights: Floats
    variables: Ints
    own: Ints
    row_from: Ints
    row_to: Ints
    table_from: Ints
    table_starts: Ints
    table_steps: Ints
    other_from: Ints
    other_columns: Ints
    other_strides: Ints

class Conjunctions(NamedTuple):
    word_from: Ints
    word_to: Ints
    first: Ints
    last: Ints
    skipped: Ints
    variables: Ints
    literals: Ints
    negated: Bools

class RowLists(NamedTuple):
    of_entry: Ints
    offsets: Ints
    opposite: Bools
    positions: Array  # uint16

def count_rows(
    words: Words, valid: Words, conjunctions: Conjunctions, sizes: Ints, opposite: Bools, /
) -> None: ...
def list_rows(
    words: Words,
    valid: Words,
    conjunctions: Conjunctions,
    opposite: Bools,
    starts: Ints,
    positions: Array,
    /,
) -> None: ...
def add_pseudo_gradient(
    view: PseudoView,
    lists: RowLists,
    cards: Ints,
    entry_from: Ints,
    slot_from: Ints,
    first: int,
    last: int,
    values: Floats,
    by_slot: Floats,
    minus_pll: Floats,
    value_slopes: Floats,
    slot_slopes: Floats,
    /,
) -> None: ...

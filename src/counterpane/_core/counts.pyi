"""Counting loops: bit sets, mixed radix, weights, all pairs. Shapes: src/core/counts/area.cpp."""

from counterpane.typing import Array, Bools, Codes, Ints, Words

BLOCK_ROWS: int
CHUNK_WORDS: int

def count_bits(
    bits: Words,
    first: Ints,
    cards: Ints,
    scopes: Ints,
    scope_from: Ints,
    out_from: Ints,
    queries: Ints,
    word_from: int,
    word_to: int,
    out: Ints,
    /,
) -> None: ...
def count_radix(
    codes: Codes,
    cards: Ints,
    scopes: Ints,
    scope_from: Ints,
    out_from: Ints,
    queries: Ints,
    row_from: int,
    row_to: int,
    out: Ints,
    /,
) -> None: ...
def count_weighted(
    codes: Codes,
    weights: Array,
    cards: Ints,
    scopes: Ints,
    scope_from: Ints,
    out_from: Ints,
    queries: Ints,
    row_from: int,
    row_to: int,
    out: Array,
    /,
) -> None: ...
def pair_popcounts(
    left: Words,
    left_rows: Ints,
    left_from: int,
    right: Words,
    right_rows: Ints,
    right_from: int,
    width: int,
    symmetric: bool,
    out_rows: Ints,
    out: Ints,
    /,
) -> None: ...
def pair_weights(
    codes: Codes,
    weights: Array,
    left: Ints,
    left_from: Ints,
    right: Ints,
    right_from: Ints,
    row_from: int,
    row_to: int,
    out: Array,
    /,
) -> None: ...
def hash_columns(codes: Codes, hashes: Words, constant: Bools, /) -> None: ...
def pack_states(
    codes: Codes, columns: Ints, cards: Ints, first: Ints, words: Words, total: Ints, /
) -> None: ...
def spread_pairs(
    joint: Ints,
    left_cards: Ints,
    right_cards: Ints,
    left_ones: Ints,
    right_ones: Ints,
    symmetric: bool,
    out: Ints,
    /,
) -> None: ...
def lay_out(
    cards: Ints, scopes: Ints, scope_from: Ints, max_cells: int, out_from: Ints, /
) -> int: ...
def count_patterns(
    baskets: tuple[Array, ...],
    columns: Ints,
    marks: Words,
    patterns: Words,
    weights: Ints,
    /,
) -> int: ...
def count_companions(
    baskets: tuple[Array, ...], first: int, items: Array, shared: Array, /
) -> None: ...

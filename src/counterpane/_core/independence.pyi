"""Statistics of tables with axes (given, x, y). Formulas and shapes: src/core/independence."""

from counterpane.typing import Array, Floats, Ints

def count_configurations(cards: Ints, scopes: Ints, scope_from: Ints, out: Floats, /) -> None: ...
def asymptotic(
    values: Array,
    cards: Ints,
    scopes: Ints,
    scope_from: Ints,
    out_from: Ints,
    n_slices: Floats,
    pearson: bool,
    out: Floats,
    /,
) -> None: ...
def bayesian(
    values: Array,
    cards: Ints,
    scopes: Ints,
    scope_from: Ints,
    out_from: Ints,
    n_slices: Floats,
    consistent: bool,
    prior: float,
    out: Floats,
    /,
) -> None: ...
def stratified(
    values: Array,
    cards: Ints,
    scopes: Ints,
    scope_from: Ints,
    out_from: Ints,
    out: Floats,
    /,
) -> None: ...
def pair_information(counts: Array, starts: Ints, out: Floats, /) -> None: ...
def fill_chi_squares(counts: Array, left_from: Ints, right_from: Ints, out: Floats, /) -> None: ...
def fill_binary_chi_squares(joint: Ints, first: int, ones: Ints, out: Floats, /) -> None: ...
def keep_largest(values: Floats, first: int, order: Ints, out: Ints, /) -> None: ...
def relate_items(
    baskets: tuple[Array, ...], by_count: Ints, rank: Ints, first: int, out: Ints, /
) -> None: ...

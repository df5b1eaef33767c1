"""The conditional likelihood of a class. Shapes: src/core/learn/classify/area.cpp."""

from counterpane.typing import Bools, Codes, Floats, Ints

ADD: int
DELETE: int
REVERSE: int

def fill_posterior(
    codes: Codes, weights: Floats, cards: Ints, prior: float, parents: Ints, out: Floats, /
) -> float: ...
def best_move(
    codes: Codes,
    weights: Floats,
    cards: Ints,
    prior: float,
    parents: Ints,
    above: Bools,
    posterior: Floats,
    child: int,
    max_cells: int,
    tie: float,
    move: Ints,
    /,
) -> float: ...

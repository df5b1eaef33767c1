"""Local networks of a hybrid random field and their blankets. Shapes: src/core/learn/hybrid.

Row v of `members` holds the columns of v's network, filled up with −1, row v of `parents` the bit
set of parents of each.
"""

from typing import NamedTuple

from counterpane.typing import Array, Codes, Floats, Ints

LEAST_ROOM: int

class Data(NamedTuple):
    """The rows of a table; no weights means that each counts once."""

    codes: Codes
    weights: Floats
    cards: Ints

class Terms(NamedTuple):
    """The score of a family: log-likelihood by (c + α) / (c_pa + α r) less `penalty` a parameter.

    α is prior / (r q) of r states and q parent configurations, in the tables, and score_prior /
    (r q) in the score, which is 0 for the maximum likelihood.
    """

    prior: float
    score_prior: float
    penalty: float
    tolerance: float

class Scratch(NamedTuple):
    """Room for one local network at a time; `codes` and `weights` are its distinct rows."""

    numbers: Array  # of the rows of the table, uint32
    new_numbers: Array  # of each old one, int32
    codes: Array  # (columns, distinct rows), uint32
    weights: Floats
    groups: Array  # (2, distinct rows), uint32
    cells: Floats
    logits: Floats

def learn_networks(
    data: Data,
    terms: Terms,
    variables: Ints,
    members: Ints,
    scratch: Scratch,
    parents: Ints,
    scores: Floats,
    /,
) -> None: ...
def fill_tables(
    data: Data,
    terms: Terms,
    variables: Ints,
    members: Ints,
    parents: Ints,
    scratch: Scratch,
    table_from: Ints,
    out: Floats,
    /,
) -> None: ...
def insert_relatives(relatives: Ints, first: int, rank: Ints, out: Ints, /) -> None: ...
def fill_blankets(members: Ints, parents: Ints, rank: Ints, out: Ints, /) -> None: ...
def unite(members: Ints, parents: Ints, rank: Ints, out: Ints, /) -> None: ...

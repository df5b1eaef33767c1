"""Particles: graphs that move by what they say of tests.

Shapes: src/core/learn/independence/area.cpp.
"""

from typing import NamedTuple

from counterpane.typing import Bools, Floats, Ints, Words

class Tests(NamedTuple):
    """Executed tests: ends, conditioning sets, log-likelihoods of independent and dependent."""

    pairs: Ints
    given: Words
    logs: Floats

class Criterion(NamedTuple):
    """What tests are judged by: particles and their classes, and how large tables may be."""

    edges: Words
    bounds: Ints
    x_log_x: Floats
    entropy: float
    log_cards: Floats
    log_cells: float

class Reading(NamedTuple):
    """The covariance of indicator columns, and how far it is to be believed."""

    sigma: Floats
    starts: Ints
    effects: Floats
    rows: Floats
    floor: float
    doubt: float
    prior: float

class Tested(NamedTuple):
    """Pairs that were tested, and the evidence of each test for an edge."""

    pairs: Bools
    evidence: Floats

def list_conditions(
    graph: Words,
    later: Words,
    strength: Floats,
    pairs: Ints,
    first: int,
    starts: Ints,
    out: Ints,
    /,
) -> None: ...
def measure(graphs: Words, tests: Tests, first: int, reached: Words, totals: Floats, /) -> None: ...
def walk(
    graphs: Words,
    tests: Tests,
    reached: Words,
    sizes: Ints,
    totals: Floats,
    log_prior: Floats,
    shares: Floats,
    draws: Floats,
    ratios: Floats,
    /,
) -> None: ...
def class_walk(
    graphs: Words,
    tests: Tests,
    reached: Words,
    sizes: Ints,
    totals: Floats,
    log_prior: Floats,
    shares: Floats,
    draws: Floats,
    ratios: Floats,
    /,
) -> None: ...
def jump(
    graphs: Words,
    tests: Tests,
    reached: Words,
    sizes: Ints,
    totals: Floats,
    log_prior: Floats,
    masks: Words,
    draws: Floats,
    ratios: Floats,
    /,
) -> None: ...
def addable(rows: Words, tests: Tests, reached: Words, free: Words, /) -> int: ...
def removable(rows: Words, tests: Tests, reached: Words, free: Words, /) -> int: ...
def spread_edges(graphs: Words, edges: Words, /) -> None: ...
def reach(edges: Words, given: Words, start: int, reached: Words, waiting: Bools, /) -> None: ...
def answer(edges: Words, pairs: Ints, given: Words, met: Words, /) -> None: ...
def gain(met: Words, bounds: Ints, x_log_x: Floats, /) -> float: ...
def seek(
    criterion: Criterion,
    starts: Ints,
    sets: Words,
    worths: Floats,
    gains: Floats,
    best: Words,
    /,
) -> None: ...
def climb(
    criterion: Criterion,
    pairs: Ints,
    draws: Floats,
    worths: Floats,
    gains: Floats,
    best: Words,
    /,
) -> None: ...
def partial_information(sigma: Floats, starts: Ints, x: int, y: int, given: Ints, /) -> float: ...
def pair_strengths(sigma: Floats, starts: Ints, out: Floats, /) -> None: ...
def settle_graph(reading: Reading, tested: Tested, graph: Bools, log_odds: Floats, /) -> int: ...
def move_graph(
    reading: Reading,
    tested: Tested,
    graph: Bools,
    pairs: Ints,
    orders: Ints,
    draws: Floats,
    sums: Floats,
    /,
) -> None: ...
def doubt_graph(
    reading: Reading,
    tested: Tested,
    graph: Bools,
    log_odds: Floats,
    raised: float,
    out: Floats,
    /,
) -> None: ...

"""Gradient boosting on binned columns. Shapes: src/core/learn/boosting."""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Floats, Ints, Words

MOST_BINS: int
MOST_CHANNELS: int
MOST_BOX_COLUMNS: int

class Data(NamedTuple):
    """Rows of bins (uint8, rows × columns); bin 0 holds missing cells."""

    bins: Array
    n_bins: Ints
    numeric: Bools
    labels: Ints
    weights: Floats
    held: Floats
    n_classes: int

class Settings(NamedTuple):
    """How a tree is grown and how far it moves the scores."""

    rate: float
    penalty: float
    min_weight: float
    row_share: float
    n_columns: int
    most_leaves: int
    most_columns: int
    seed: int
    patience: int
    enough: float

class Trees(NamedTuple):
    """Trees: columns and children of nodes, bins that go first, gains, and values of leaves."""

    column: Array  # int16
    child: Array  # int16
    goes_first: Words
    gain: Array  # float32
    values: Array  # float32

class Boxes(NamedTuple):
    """Boxes over few columns: rising columns, filled up with −1, and the bins of each."""

    columns: Ints
    bins: Words

def boost(
    data: Data,
    settings: Settings,
    sets: Ints,
    set_from: Ints,
    first: int,
    last: int,
    scores: Array,
    trees: Trees,
    curve: Floats,
    /,
) -> int:
    """Fill trees and losses of the rounds first … last − 1 and add to the scores; rounds in all."""

def add_scores(bins: Array, trees: Trees, count: int, scores: Floats, /) -> None:
    """Add the values of the first `count` trees to the scores of rows of bins."""

def list_boxes(trees: Trees, boxes: Boxes, /) -> int:
    """Fill the boxes of all leaves, in order; their number, −1 if a path has too many columns."""

def add_parts(
    rows: Array,
    boxes: Boxes,
    shares: Floats,
    values: Array,
    parts: Ints,
    out: Floats,
    /,
) -> None:
    """Add the pure part of each subset T of each box's columns to out[parts[box, T]]."""

def add_edges(
    boxes: Boxes,
    shares: Floats,
    values: Array,
    which: Ints,
    face: Ints,
    at: Ints,
    at_from: Ints,
    out: Floats,
    /,
) -> None:
    """Add the edges of boxes to a table over the bins `at` of a face, with a mean on each axis."""

"""The interaction classifier: ridge, searches, scores. Shapes: src/core/learn/interactions."""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Codes, Floats, Ints

CHUNK: int

class BlockDesign(NamedTuple):
    """A structure on some rows: the cells of each row, and the features of each cell."""

    cells: Array  # (blocks, rows) int32: a row's cell, counted through all blocks
    starts: Ints  # (blocks + 1,): where each block's cells begin
    link_block: Ints  # (faces,): a face's block
    link_start: Ints  # (faces,): where the face's part of `links` begins, one entry a cell
    links: Array  # int32: the feature of a block's cell, or −1
    numbers: Floats  # (terms, rows)
    first_number: int  # the feature of the first numeric term
    n_features: int

class StepPairs(NamedTuple):
    """The last pairs of steps and changes of the gradient, and the penalty these belong to."""

    steps: Floats  # (pairs, size)
    changes: Floats  # (pairs, size)
    curvatures: Floats  # (pairs,): step · change
    penalty: Floats  # (features,)
    used: Ints  # place of the newest pair, number of pairs

class LabeledRows(NamedTuple):
    """Distinct rows."""

    codes: Codes  # (columns, rows), uint16
    labels: Ints
    weights: Floats

class BackOffFaces(NamedTuple):
    """Faces and their tables; face 0 is the empty one."""

    columns: Ints  # (faces, most columns), −1 behind the last
    cards: Ints  # of these columns, 1 behind the last
    parts: Ints  # (faces, subsets): the face of each subset, by the bits of its columns' places
    index_starts: Ints  # (faces,): where the face's part of `place_of` begins
    place_starts: Ints  # (faces + 1,): where its places begin
    place_of: Array  # int32: cell · C + own class → place within the face, or −1
    origins: Ints  # (places,): place → cell · C + own class
    tables: Floats  # (places, classes)

def exponentials(x: Floats, scratch: Floats, /) -> None: ...
def logarithms(x: Floats, scratch: Floats, /) -> None: ...
def normal_scores(probabilities: Floats, /) -> None: ...
def number_keys(keys: Ints, known: Array, ids: Array, firsts: Ints, /) -> int: ...
def evaluate(
    design: BlockDesign,
    labels: Ints,
    row_weights: Floats,
    prior: Floats,
    penalty: Floats,
    w: Floats,
    gradient: Floats,
    /,
) -> float: ...
def predict_rows(
    design: BlockDesign, prior: Floats, w: Floats, row_from: int, out: Floats, /
) -> None: ...
def turn_to(memory: StepPairs, penalty: Floats, /) -> None: ...
def minimize(
    design: BlockDesign,
    labels: Ints,
    row_weights: Floats,
    prior: Floats,
    penalty: Floats,
    metric: Floats,
    memory: StepPairs,
    w: Floats,
    tolerance: float,
    max_steps: int,
    /,
) -> int: ...
def count_places(
    rows: LabeledRows, columns: Ints, cards: Ints, counts: Floats, index: Array, origins: Ints, /
) -> int: ...
def back_off(
    faces: BackOffFaces, face: int, order: int, counts: Floats, unit: float, /
) -> None: ...
def log_likelihoods(
    rows: LabeledRows,
    others: Floats,
    faces: BackOffFaces,
    candidates: Ints,
    present: Bools,
    out: Floats,
    /,
) -> None: ...
def join(
    rows: LabeledRows, faces: BackOffFaces, face: int, present: Bools, others: Floats, /
) -> None: ...
def score_faces(
    codes: Codes,
    residuals: Floats,
    variances: Floats,
    columns: Ints,
    cards: Ints,
    free: Floats,
    n_classes: int,
    out: Floats,
    /,
) -> None: ...

"""Classifiers: the conditional likelihood of a class, faces, interactions.

Shapes: src/core/learn/classifiers/area.cpp.
"""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Codes, Floats, Ints

ADD: int
DROP: int
TURN: int
CHUNK: int

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

class GroupedRows(NamedTuple):
    """Distinct rows x, those of equal weight side by side."""

    codes: Codes  # (columns, rows), uint16
    starts: Ints  # run r holds the rows starts[r] … starts[r + 1] − 1
    run_weights: Floats  # the weight of each row of a run
    pair_rows: Ints  # the pairs (x, class) that occur: their row,
    pair_labels: Ints  # class
    pair_weights: Floats  # and weight

class FaceStore(NamedTuple):
    """All faces known, each a set of columns, and their tables end to end."""

    columns: Ints  # (faces, most columns), −1 behind the last
    sizes: Ints  # columns of each face
    cells: Ints  # joint states of these
    # [f, j]: the face of the columns of f that the bits of j + 1 name; −1 behind f itself
    subsets: Ints
    offsets: Ints  # where the table of each face, (classes − 1, cells), begins
    values: Floats  # the tables
    sums: Floats  # Σ n ln w of each face

class FaceLayers(NamedTuple):
    """Faces in the order of the climb, and the structures seen on the way."""

    cards: Ints  # the states of each column and one, for what is not known
    columns: Ints  # (faces, most columns)
    sizes: Ints  # columns of each face
    offsets: Ints  # where the tables of each face, (classes, cells), begin
    values: Floats  # φ; 0 where a state is not known
    factors: Floats  # exp φ over its largest in the cell; 1 where a state is not known
    added: Ints  # layer t adds the faces added[t − 1] … added[t] − 1; layer 0 is empty
    steps: Ints  # structure s has the first steps[s] layers, which rise,
    extra_offsets: Ints  # and the faces extras[extra_offsets[s] … extra_offsets[s + 1] − 1]
    extras: Ints
    weights: Floats  # of the structures

def fill_tables(
    faces: FaceStore,
    first: int,
    stop: int,
    rows: GroupedRows,
    cards: Ints,
    prior: Floats,
    outliers: float,
    /,
) -> None: ...
def gains(
    faces: FaceStore,
    candidates: Ints,
    rows: GroupedRows,
    cards: Ints,
    proba: Floats,
    present: Bools,
    out: Floats,
    /,
) -> None: ...
def add_face(
    faces: FaceStore, face: int, rows: GroupedRows, cards: Ints, log_odds: Floats, /
) -> None: ...
def normalize(log_odds: Floats, rows: GroupedRows, out: Floats, /) -> float: ...
def average(layers: FaceLayers, prior: Floats, codes: Codes, out: Floats, /) -> None: ...

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

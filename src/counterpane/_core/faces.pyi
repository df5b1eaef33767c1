"""Faces that tell of the class: their tables, gains, averages. Shapes: src/core/learn/faces."""

from typing import NamedTuple

from counterpane.typing import Bools, Codes, Floats, Ints

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

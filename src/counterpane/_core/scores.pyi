"""Family scores and the rows of a `RowCache`. Formulas and shapes: src/core/scores."""

from typing import NamedTuple

from counterpane.typing import Array, Bools, Codes, Floats, Ints, Words

LIKELIHOOD: int
EQUIVALENT: int
CONSTANT: int
AVERAGE: int

class RowData(NamedTuple):
    """What is counted to fill rows and how it is scored."""

    codes: Codes
    words: Words  # bit set first[v] + s holds the rows with v = s
    ones: Ints  # and has so many
    first: Ints
    cards: Ints
    weights: Floats  # empty: every row counts once
    logs: Floats
    kind: int
    a: float
    by_count: Floats  # structure prior by number of parents
    by_edge: Floats  # and by (parent, child), or of size 0
    by_parameter: float  # and for each parameter, (r − 1) q of a family
    max_parents: int
    max_cells: int
    gaps: Bools  # columns with missing cells; empty unless families have complete rows of their own

class RowStore(NamedTuple):
    """The rows kept: a ring of slots, found through chained hash buckets."""

    zobrist: Words  # (2, n): random words of a node as child and as parent
    head: Ints  # first slot of each bucket plus 1; 0, an untouched page, for none
    next: Ints  # next slot in the same bucket, likewise
    keys: Words
    child: Ints
    parents: Words  # (slots, words): the exact parent set, since keys may collide
    scores: Floats  # (slots, n)
    improving: Ints  # (slots, n): parents whose addition improves, best first
    n_improving: Ints
    ring: Ints  # slots used, next slot to take, rows found, rows filled

def fill_clogc(out: Floats, /) -> None: ...
def score_table(
    table: Floats, q: int, r: int, s: int, kind: int, a: float, logs: Floats, /
) -> float: ...
def score_tables(
    values: Array,
    out_from: Ints,
    cards: Ints,
    kind: int,
    a: float,
    logs: Floats,
    out: Floats,
    /,
) -> None: ...
def score_pairs(
    counts: Array,
    left_from: Ints,
    right_from: Ints,
    kind: int,
    a: float,
    logs: Floats,
    out: Floats,
    /,
) -> None: ...
def find_row(store: RowStore, child: int, family: Words, /) -> int: ...
def claim_slot(store: RowStore, child: int, family: Words, /) -> int: ...
def claim_missing(store: RowStore, children: Ints, families: Words, slots: Ints, /) -> int: ...
def rank_rows(store: RowStore, slots: Ints, /) -> None: ...
def fill_slots(data: RowData, store: RowStore, slots: Ints, first: int, stop: int, /) -> None: ...
def fill_counted(
    data: RowData,
    store: RowStore,
    slots: Ints,
    cells_from: Ints,
    totals: Ints,
    kept_from: Ints,
    counts: Ints,
    first: int,
    stop: int,
    /,
) -> None: ...
def fill_summed(data: RowData, store: RowStore, slots: Ints, sums: Floats, /) -> None: ...
def finish_counted(
    data: RowData, store: RowStore, slots: Ints, cells_from: Ints, totals: Ints, /
) -> None: ...

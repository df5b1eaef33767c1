"""The same rows give the same columns, whatever their size and the door by which they enter.

A table of texts is compared with its small text file, and one of typed columns with its pandas
frame. What must be equal: which columns were dropped and why, the notes, the states, cut points,
quantiles and steps, and the codes and counts of the rows.

One allowance: a column of more different numbers than blocks keep one by one (`MOST_NUMBERS` of
`data/tallies.py`, lowered here to `KEPT`) has its cut points from bins. A bin holds the numbers
that agree in their leading bits, as many as the limit allows: spread over k octaves a number is
known to k / limit of its size, or to twice that where some of the bins are empty. Such columns have
the same number of cut points, each within 2 k / limit of its size.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import counterpane as cp
from contract.doors import DOORS, IN_MEMORY, KEPT, Rows, force_blocks
from contract.messy_tables import TABLES
from counterpane.counts import MemoryCounts
from counterpane.data import Table
from counterpane.errors import CounterpaneError

PAIRED = 12  # columns of which all pairs are counted
OCTAVES = 4  # of the numbers of "many real numbers"

SAME_AS = {False: "text", True: "pandas"}
FILES_ALONE = {"text", "text blocks"}  # all of their cells are texts
NO_DATES = "the format has no dates"
CANNOT = {  # (door, table, typed or None for both): why the door cannot hold the table
    ("excel", "long cells", None): "a cell has at most 32,767 characters",
    ("excel", "dates with zones", True): "times have no zones",
    ("json lines", "iso dates", True): NO_DATES,
    ("json lines", "datetimes", True): NO_DATES,
    ("json lines", "dates with zones", True): NO_DATES,
    ("json lines", "decimals", True): "numbers have no declared precision",
    ("sqlite connection", "iso dates", True): NO_DATES,
    ("sqlite connection", "datetimes", True): NO_DATES,
    ("sqlite connection", "dates with zones", True): NO_DATES,
    ("sqlite connection", "decimals", True): "the format has no decimals",
    ("sqlite connection", "booleans", True): "the format has no booleans",
    ("sqlite connection", "ten thousand names", None): "a table has at most 2,000 columns",
}


def cells():
    """Each door with each table that it can hold, the texts and the typed columns."""
    for name, make in TABLES.items():
        for typed in (False, True) if make().typed is not None else (False,):
            for door in DOORS:
                texts_only = typed and door in FILES_ALONE
                cannot = {(door, name, typed), (door, name, None)} & CANNOT.keys()
                if not texts_only and not cannot and door != SAME_AS[typed]:
                    form = "typed" if typed else "texts"
                    yield pytest.param(name, typed, door, id=f"{name}-{form}-{door}")


def enter(name, typed, door, folder):
    """What a door makes of a table."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of titles, names and bytes: see below
        if door not in IN_MEMORY:
            force_blocks(patch)
        found = DOORS[door](Rows(TABLES[name](), typed, folder))
        assert isinstance(found, Table) == (door in IN_MEMORY)
        return Facts(found, exact=TABLES[name]().exact or door in IN_MEMORY)


class Facts:
    """What a door tells of a table."""

    def __init__(self, found, *, exact):
        source = MemoryCounts(found) if isinstance(found, Table) else found
        names = source.schema.names
        self.variables = {v.name: v for v in source.schema}
        self.notes = getattr(found, "notes", None)
        self.dropped = dict(getattr(found, "preparation", {}).get("left_out", {}))
        self.n_rows, self.exact = source.n_rows, exact
        self.total = source.total_weight
        self.codes = np.concatenate(source.map_reduce(own_codes, range(len(names))), axis=1)
        pairs = list(combinations(names[:PAIRED], 2)) or [names]
        counted = source.counts(pairs, missing="state")
        self.counts = {p: np.asarray(c) for p, c in zip(pairs, counted, strict=True)}

    def differences(self, other):
        """In what other facts differ, in words."""
        for what in "dropped", "n_rows", "total", "notes":
            if getattr(self, what) != getattr(other, what):
                yield f"{what}: {getattr(self, what)!r}, not {getattr(other, what)!r}"
        if list(self.variables) != list(other.variables):
            yield f"names: {short(list(self.variables))}, not {short(list(other.variables))}"
            return
        near = not (self.exact and other.exact)
        for name, variable in self.variables.items():
            yield from (
                f"{name}.{what}" for what in different(variable, other.variables[name], near=near)
            )
        if not near:
            if not np.array_equal(self.sorted_codes(), other.sorted_codes()):
                yield "codes"
            for pair, counted in self.counts.items():
                if not np.array_equal(counted, other.counts[pair]):
                    yield f"counts of {pair}"

    def sorted_codes(self):
        """The codes of the rows in one order: an engine may hand them over in any."""
        codes = self.codes.astype(np.int64)
        return codes[:, np.lexsort(codes)]


def own_codes(codes, weights):
    """A block of codes, which blocks are added to."""
    return [codes.copy()]


def different(own, other, *, near):
    """What two variables differ in: with `near`, cut points and quantiles may by a bin."""
    if len(own.states) != len(other.states) or (own.cuts is None) != (other.cuts is None):
        yield f"states: {short(own.states)}, not {short(other.states)}"
        return
    close = near and own.cuts is not None
    if not close and (own.states, kinds(own)) != (other.states, kinds(other)):
        yield f"states: {short(own.states)}, not {short(other.states)}"
    if own.step != other.step:
        yield f"step: {own.step}, not {other.step}"
    if own.dated != other.dated or own.numeric != other.numeric:
        yield "kind of values"
    for what in "cuts", "quantiles":
        mine, others = (flat(getattr(variable, what)) for variable in (own, other))
        error = 2 * OCTAVES / KEPT if close else 0.0
        same = len(mine) == len(others) and all(
            math.isclose(a, b, rel_tol=error, abs_tol=0.0)
            for a, b in zip(mine, others, strict=True)
        )
        if not same:
            yield f"{what}: {short(mine)}, not {short(others)}"


def kinds(variable):
    """The types of states: True is not 1; a whole number may be written as 1 or as 1.0."""
    return [type(state) in (int, float) or type(state) for state in variable.states]


def flat(numbers):
    """Cut points, or the quantiles of all intervals, in a row."""
    parts = [] if numbers is None else numbers
    return [n for part in parts for n in (part if isinstance(part, tuple) else (part,))]


def short(values):
    """The first of some values."""
    several = f" and {len(values) - 5} more" if len(values) > 5 else ""
    return ", ".join(repr(value)[:40] for value in list(values)[:5]) + several


@cache
def reference(name, typed):
    """The facts that all doors must tell."""
    with tempfile.TemporaryDirectory() as folder:
        return enter(name, typed, SAME_AS[typed], Path(folder))


@pytest.mark.parametrize(("name", "typed", "door"), list(cells()))
def test_a_table_is_the_same_by_every_door(name, typed, door, tmp_path):
    expected = reference(name, typed)
    found = list(enter(name, typed, door, tmp_path).differences(expected))
    assert not found, "; ".join(found[:4]) + (f"; and {len(found) - 4} more" * (len(found) > 4))


def test_what_a_door_cannot_hold_is_a_door_and_a_table():
    assert {door for door, _, _ in CANNOT} <= DOORS.keys()
    assert {name for _, name, _ in CANNOT} <= TABLES.keys()


# ---- what is told, and refused -------------------------------------------------------------------


def told(path, *, blocks):
    """The warnings and the error of reading a file."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if blocks:
            force_blocks(patch)
        try:
            cp.read(path)
        except CounterpaneError as error:
            return [str(w.message) for w in caught], (type(error), str(error))
    return [str(w.message) for w in caught], None


@pytest.mark.parametrize("name", TABLES)
def test_blocks_of_text_warn_as_a_small_file_does(name, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(TABLES[name]().to_bytes())
    assert told(path, blocks=True) == told(path, blocks=False)


REFUSED = {
    "a row with too few fields": "a,b\n" + "1,2\n" * 150 + "1\n" + "1,2\n" * 50,
    "a row with too many fields": "a,b\n" + "1,2\n" * 150 + "1,2,3\n" + "1,2\n" * 50,
    "a quote that is not closed": "a,b\n" + "1,2\n" * 150 + '1,"2\n' + "1,2\n" * 50,
    "no rows": "a,b\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_blocks_of_text_are_refused_as_a_small_file_is(text, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(text + " " * 20 * (not text))
    small, large = told(path, blocks=False), told(path, blocks=True)
    assert small[1] is not None
    assert large == small

"""Rows in an order that does not depend on how a table was written.

Columns are in the order of their names, states and classes in that of their texts, states that no
row has are left out; the rows are then sorted. So folds, searches and fits are the same for equal
cells, whatever the order of rows, columns, states and classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from counterpane.data.schema import state_text
from counterpane.learn.classifiers.interactions.fold_coding import RawRows
from counterpane.learn.classifiers.interactions.fold_rows import sorted_rows
from counterpane.learn.classifiers.training_data import Training
from counterpane.models.additive_member import Coding, Face, Member
from counterpane.typing import Codes, Floats, Ints, State


class TableLayout(NamedTuple):
    """Where the columns, states and classes of sorted rows are in the table they came from."""

    columns: Ints  # the place of each sorted column
    states: tuple[Ints, ...]  # by sorted column, the code of each sorted state; empty of numbers
    classes: Ints  # the code of each sorted class
    cards: Ints  # of the table


def canonical_rows(training: Training) -> tuple[RawRows, Floats, TableLayout]:
    """The distinct rows, sorted, their weights, and where everything came from."""
    table, schema = training.table, training.table.schema
    columns = sorted(range(len(schema)), key=schema.names.__getitem__)
    numeric = set(training.numeric)
    codes = np.zeros((len(columns), table.codes.shape[1]), dtype=np.uint16)
    states, cards = [], []
    for place, c in enumerate(columns):
        order: Ints = np.empty(0, dtype=np.int64)
        if c not in numeric:
            seen = np.bincount(table.codes[c], minlength=schema[c].card) > 0
            order = _by_text(schema[c].states, np.flatnonzero(seen).tolist())
            codes[place] = _inverse(order, schema[c].card)[table.codes[c]]
        states.append(order)
        cards.append(max(len(order), 1))
    classes = _by_text(training.target.states, range(training.target.card))
    held = [training.numeric.index(c) for c in columns if c in numeric]
    rows, weights = sorted_rows(
        codes,
        np.array(cards, dtype=np.int64),
        np.array([place for place, c in enumerate(columns) if c in numeric], dtype=np.int64),
        training.numbers[held],
        _inverse(classes, training.target.card)[training.labels],
        training.target.card,
        table.weights,
    )
    layout = TableLayout(np.array(columns), tuple(states), classes, schema.cards.copy())
    return rows, weights, layout


def table_rows(rows: RawRows, layout: TableLayout) -> tuple[Codes, Floats]:
    """Sorted rows as codes and numbers of the table they came from."""
    codes = np.zeros_like(rows.codes)
    for place, (c, states) in enumerate(zip(layout.columns, layout.states, strict=True)):
        if len(states):
            codes[c] = states[rows.codes[place]]
    return codes, rows.numbers[np.argsort(layout.columns[rows.numeric])]


def table_member(member: Member, layout: TableLayout) -> Member:
    """A member fitted to sorted rows, for rows of the table they came from."""
    coding, places = member.coding, np.argsort(layout.columns[member.coding.numeric])
    cards = layout.cards.copy()
    cards[layout.columns[coding.numeric]] = coding.cards[coding.numeric]
    each = (coding.cuts, coding.values, coding.scores)
    cuts, values, scores = (tuple(part[a] for a in places) for part in each)
    turned = Coding(
        cards,
        layout.columns[coding.numeric][places],
        cuts,
        coding.centers[places],
        coding.scales[places],
        coding.fills[places],
        values,
        scores,
    )
    back = np.argsort(layout.classes)
    whole = [
        _table(face, keys, table[:, back], coding.cards, cards, layout)
        for face, keys, table in zip(member.faces, member.keys, member.tables, strict=True)
    ]
    # Terms are those of the varying columns of numbers alone, z of all of them before r.
    terms = member.terms[:, back]
    if len(terms):
        known = np.full(len(places), -1)
        known[coding.varying] = np.arange(len(coding.varying))
        order = known[places][known[places] >= 0]
        terms = terms[np.append(order, order + len(order))]
    faces, keys, tables = zip(*sorted(whole, key=_by_face), strict=True) if whole else ((), (), ())
    return replace(
        member,
        coding=turned,
        constant=member.constant[back],
        faces=faces,
        keys=keys,
        tables=tables,
        terms=np.ascontiguousarray(terms),
    )


def table_face(face: Face, layout: TableLayout) -> Face:
    """The columns of a face in the table."""
    return tuple(sorted(layout.columns[list(face)].tolist()))


def _table(
    face: Face, keys: Ints, table: Floats, old: Ints, new: Ints, layout: TableLayout
) -> tuple[Face, Ints, Floats]:
    """A face with its cells and values, for codes of the table."""
    states = np.unravel_index(keys, [int(old[c]) for c in face])
    codes = {}
    for c, own in zip(face, states, strict=True):
        turned = layout.states[c]
        codes[int(layout.columns[c])] = turned[own] if len(turned) else own
    columns = tuple(sorted(codes))
    cells = np.zeros(len(keys), dtype=np.int64)
    for c in columns:
        cells = cells * int(new[c]) + codes[c]
    order = np.argsort(cells)
    return columns, cells[order], np.ascontiguousarray(table[order])


def _by_face(part: tuple[Face, Ints, Floats]) -> tuple[int, Face]:
    return len(part[0]), part[0]


def _by_text(states: Sequence[State], codes: Iterable[int]) -> Ints:
    """Codes in the order of the states' texts, the missing cell last."""

    def key(code: int) -> tuple[bool, str, str]:
        state = states[code]
        return state is None, state_text(state), type(state).__name__

    return np.array(sorted(codes, key=key), dtype=np.int64)


def _inverse(order: Ints, size: int) -> Ints:
    found = np.zeros(size, dtype=np.int64)
    found[order] = np.arange(len(order))
    return found

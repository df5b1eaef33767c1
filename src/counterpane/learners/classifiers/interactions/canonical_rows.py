"""Training rows in a canonical order, and the way back to the table they came from.

Columns are in the order of their names, states and classes in the order of their texts, and states
without a row are left out. Then the rows are sorted, and equal rows joined with their weights. So
folds, searches and fits depend neither on the order of rows, columns, states and classes, nor on
whether a row is written twice or has weight 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from counterpane.additive.member import Coding, Member
from counterpane.data.schema import state_text
from counterpane.data.table import distinct_rows
from counterpane.learners.classifiers.interactions.ridge import Interaction
from counterpane.learners.classifiers.training_data import Training
from counterpane.typing import Array, Codes, Floats, Ints, State


class RawRows(NamedTuple):
    """Rows before the coding of numbers: codes of states (0 in columns of numbers), and numbers."""

    codes: Codes  # (columns, rows) uint16
    cards: Ints
    numeric: Ints  # positions of the columns of numbers
    numbers: Floats  # (numeric columns, rows), NaN where missing
    labels: Ints
    n_classes: int

    def take(self, rows: Ints) -> RawRows:
        """Some of the rows."""
        return self._replace(
            codes=self.codes[:, rows], numbers=self.numbers[:, rows], labels=self.labels[rows]
        )

    def first(self, n: int) -> RawRows:
        """The first rows, without a copy."""
        return self._replace(
            codes=self.codes[:, :n], numbers=self.numbers[:, :n], labels=self.labels[:n]
        )


class TableLayout(NamedTuple):
    """The positions of the columns, states and classes of canonical rows in their table."""

    columns: Ints  # the position of each sorted column
    states: tuple[Ints, ...]  # by sorted column, the code of each sorted state; empty for numbers
    classes: Ints  # the code of each sorted class
    cards: Ints  # of the table


def canonical_rows(training: Training) -> tuple[RawRows, Floats, TableLayout]:
    """The distinct rows, sorted, their weights, and their layout in the table."""
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
    positions = [training.numeric.index(c) for c in columns if c in numeric]
    rows, weights = sort_distinct(
        codes,
        np.array(cards, dtype=np.int64),
        np.array([place for place, c in enumerate(columns) if c in numeric], dtype=np.int64),
        training.numbers[positions],
        _inverse(classes, training.target.card)[training.labels],
        training.target.card,
        table.weights,
    )
    layout = TableLayout(np.array(columns), tuple(states), classes, schema.cards.copy())
    return rows, weights, layout


def sort_distinct(
    codes: Codes,
    cards: Ints,
    numeric: Ints,
    numbers: Floats,
    labels: Ints,
    n_classes: int,
    weights: Array | None,
) -> tuple[RawRows, Floats]:
    """The distinct rows in order, and their weights."""
    places = codes.astype(np.int64)
    values = []
    for position, row in zip(numeric, numbers, strict=True):
        distinct, places[position] = np.unique(row, return_inverse=True)  # NaN comes last, once
        values.append(distinct)
    sizes = cards.copy()
    sizes[numeric] = [len(v) for v in values]
    joint = np.vstack([labels, places])
    distinct_codes, sums = distinct_rows(joint, weights, np.append(n_classes, sizes))
    labels, places = distinct_codes[0].astype(np.int64), distinct_codes[1:].astype(np.int64)
    decoded: Floats = np.empty((len(numeric), places.shape[1]))
    for a, position in enumerate(numeric):
        decoded[a] = values[a][places[position]]
        places[position] = 0
    rows = RawRows(places.astype(np.uint16), cards, numeric, decoded, labels, n_classes)
    return rows, sums.astype(np.float64)


def table_rows(rows: RawRows, layout: TableLayout) -> tuple[Codes, Floats]:
    """Canonical rows as codes and numbers of their table."""
    codes = np.zeros_like(rows.codes)
    for place, (c, states) in enumerate(zip(layout.columns, layout.states, strict=True)):
        if len(states):
            codes[c] = states[rows.codes[place]]
    return codes, rows.numbers[np.argsort(layout.columns[rows.numeric])]


def table_member(member: Member, layout: TableLayout) -> Member:
    """A member fitted to canonical rows, for rows of their table."""
    coding, places = member.coding, np.argsort(layout.columns[member.coding.numeric])
    cards = layout.cards.copy()
    cards[layout.columns[coding.numeric]] = coding.cards[coding.numeric]
    fields = (coding.cuts, coding.values, coding.scores)
    cuts, values, scores = (tuple(field[a] for a in places) for field in fields)
    table_coding = Coding(
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
    parts = [
        _table_part(columns, keys, table[:, back], coding.cards, cards, layout)
        for columns, keys, table in zip(member.faces, member.keys, member.tables, strict=True)
    ]
    # Terms are those of the varying columns of numbers only: z of all of these, then r.
    terms = member.terms[:, back]
    if len(terms):
        known = np.full(len(places), -1)
        known[coding.varying] = np.arange(len(coding.varying))
        order = known[places][known[places] >= 0]
        terms = terms[np.append(order, order + len(order))]
    parts.sort(key=lambda part: (len(part[0]), part[0]))
    faces, keys, tables = zip(*parts, strict=True) if parts else ((), (), ())
    return replace(
        member,
        coding=table_coding,
        constant=member.constant[back],
        faces=faces,
        keys=keys,
        tables=tables,
        terms=np.ascontiguousarray(terms),
    )


def table_interaction(interaction: Interaction, layout: TableLayout) -> Interaction:
    """The columns of an interaction in the table."""
    return tuple(sorted(layout.columns[list(interaction)].tolist()))


def _table_part(
    interaction: Interaction, keys: Ints, table: Floats, old: Ints, new: Ints, layout: TableLayout
) -> tuple[Interaction, Ints, Floats]:
    """An interaction with its cells and values, for codes of the table."""
    codes = {}
    for c, states in zip(
        interaction, np.unravel_index(keys, [int(old[c]) for c in interaction]), strict=True
    ):
        table_states = layout.states[c]
        codes[int(layout.columns[c])] = table_states[states] if len(table_states) else states
    columns = tuple(sorted(codes))
    cells = np.zeros(len(keys), dtype=np.int64)
    for c in columns:
        cells = cells * int(new[c]) + codes[c]
    order = np.argsort(cells)
    return columns, cells[order], np.ascontiguousarray(table[order])


def _by_text(states: Sequence[State], codes: Iterable[int]) -> Ints:
    """Codes in the order of the states' texts, the missing cell last."""

    def key(code: int) -> tuple[bool, str, str]:
        state = states[code]
        return state is None, state_text(state), type(state).__name__

    return np.array(sorted(codes, key=key), dtype=np.int64)


def _inverse(order: Ints, size: int) -> Ints:
    inverse = np.zeros(size, dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse

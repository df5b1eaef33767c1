"""What a page needs to answer for a classifier: its tables or trees, and the rows that it keeps.

Numbers of a column are replaced by their places in a list: the numbers of the kept rows and what is
put in for a state. What a number does to a model is tabulated over this list.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane.additive.boosted_member import BoostedMember
from counterpane.additive.classifier import AdditiveClassifier
from counterpane.additive.member import Member
from counterpane.models.mixture import Mixture
from counterpane.models.training_rows import TrainingRows
from counterpane.ragged import flatten, offsets_of
from counterpane.report.packing import Spec, packed
from counterpane.typing import Array, Floats, Ints

MAX_ROW_CELLS = 2**20  # of kept rows in a page


def additive_engine(model: AdditiveClassifier) -> Spec:
    """The engine of an additive classifier that keeps rows."""
    assert model.rows is not None
    rows = _bounded(model.rows)
    cards = model.schema.cards
    levels = _Levels(rows, cards.tolist())
    shares = row_shares(rows, cards[:-1].tolist())
    predictor = {
        "kind": "additive",
        "classes": model.n_classes,
        "numeric": packed(rows.numeric),
        "shares": packed(model.shares),
        "total": model.total,
        "members": [_member(member, levels.numbers, cards) for member in model.members],
        "terms": _terms(model, levels.numbers),
    }
    return _row_engine(cards, rows, levels, shares, predictor)


def row_shares(rows: TrainingRows, cards: list[int]) -> list[Floats]:
    """The share of kept rows in each state of each feature."""
    known = [rows.shares(column) for column in range(len(cards))]
    return [np.append(p, np.zeros(card - len(p))) for p, card in zip(known, cards, strict=True)]


def class_numbers(model: AdditiveClassifier) -> int:
    """How many numbers the tables and leaves of a classifier have."""
    return sum(
        member.box_values.size
        if isinstance(member, BoostedMember)
        else sum(table.size for table in member.tables)
        for member in model.members
    )


def average_engine(model: Mixture) -> Spec:
    """The engine of an average of classifiers that keeps rows; the class is the last column."""
    assert model.rows is not None
    cards, last = model.schema.cards, len(model.schema) - 1
    rows = _bounded(model.rows)
    models = []
    for part in model.models:
        tables = [p for p in part.to_potentials() if last in p.scope]
        scopes = [(*(v for v in p.scope if v != last), last) for p in tables]
        values = [np.moveaxis(p.log_values, p.scope.index(last), -1).reshape(-1) for p in tables]
        models.append(
            {
                "scopes": packed(flatten(scopes)),
                "scopeFrom": packed(offsets_of(map(len, scopes))),
                "values": packed(flatten(values, np.float64)),
            }
        )
    predictor = {
        "kind": "average",
        "classes": int(cards[-1]),
        "cards": packed(cards),
        "weights": packed(model.weights),
        "models": models,
    }
    shares = [np.zeros(card) for card in cards[:-1].tolist()]
    return _row_engine(cards, rows, _Levels(rows, cards.tolist()), shares, predictor)


def _bounded(rows: TrainingRows) -> TrainingRows:
    """The first rows, which represent all: as many as a page may hold."""
    return rows.first(max(1, MAX_ROW_CELLS // max(1, len(rows.codes) + len(rows.numeric))))


class _Levels:
    """The numbers of each column of numbers, and the places in it of rows and of states."""

    def __init__(self, rows: TrainingRows, cards: list[int]) -> None:
        self.numbers: list[Floats] = []
        self.of_rows: list[Array] = []
        self.of_states: list[Array] = []
        for place, column in enumerate(rows.numeric.tolist()):
            typical = rows.typical(place, np.arange(cards[column]))
            both = np.concatenate([rows.numbers[place], typical])
            distinct, where = np.unique(both, return_inverse=True)  # NaN once, at the end
            self.numbers.append(distinct)
            self.of_rows.append(where[: len(rows)].astype(np.int32))
            self.of_states.append(where[len(rows) :].astype(np.int32))


def _row_engine(
    cards: Any, rows: TrainingRows, levels: _Levels, shares: list[Floats], predictor: Spec
) -> Spec:
    return {
        "kind": "rows",
        "cards": packed(cards),
        "codes": [packed(row) for row in rows.codes],
        "numeric": packed(rows.numeric),
        "values": [packed(where) for where in levels.of_rows],
        "typical": [packed(where) for where in levels.of_states],
        "ranks": [packed(row) for row in rows.own_ranks],
        "copies": packed(rows.weights / rows.unit),
        "shares": [packed(each) for each in shares],
        "rows": len(rows),
        "seen": rows.seen,
        "predictor": predictor,
    }


def _member(member: Member | BoostedMember, numbers: list[Floats], cards: Ints) -> Spec:
    if not isinstance(member, BoostedMember):
        return _faces(member, numbers)
    bins = _bins_of(member, numbers, cards)
    return _tables(member, bins) or _trees(member, bins)


def _faces(member: Member, numbers: list[Floats]) -> Spec:
    bins = []
    for cuts, values in zip(member.coding.cuts, numbers, strict=True):
        states = np.searchsorted(cuts, values, side="right")
        states[np.isnan(values)] = len(cuts) + 1
        bins.append(packed(states.astype(np.uint16)))
    tables = [table.reshape(-1) for table in member.tables]
    return {
        "kind": "faces",
        "constant": packed(member.constant),
        "cards": packed(member.coding.cards),
        "bins": bins,
        "faces": packed(flatten(member.faces)),
        "faceFrom": packed(offsets_of(map(len, member.faces))),
        "keys": packed(flatten(member.keys).astype(np.float64)),  # may be beyond 32 bits
        "keyFrom": packed(offsets_of(map(len, member.keys))),
        "values": packed(flatten(tables, np.float64)),
    }


def _bins_of(member: BoostedMember, numbers: list[Floats], cards: Ints) -> list[Array]:
    """The bin of each listed number, or of each state, by column of the member."""
    binning = member.binning
    bins = []
    for j, (column, row) in enumerate(
        zip(binning.columns.tolist(), binning.numbers.tolist(), strict=True)
    ):
        own: Array = np.zeros(cards[column], dtype=np.uint8)  # unknown states are in bin 0
        if row < 0:
            own[: len(binning.state_bins[j])] = binning.state_bins[j]
        else:
            places = np.searchsorted(binning.cuts[j], numbers[row], side="right") + 1
            own = np.where(np.isnan(numbers[row]), 0, places).astype(np.uint8)
        bins.append(own)
    return bins


def _tables(member: BoostedMember, bins: list[Array]) -> Spec | None:
    """The trees as tables over the cells that the page may meet; None where trees are shorter."""
    binning, sets = member.binning, [columns for columns in member.parts.holders if columns]
    at = [
        own if row < 0 else np.unique(own)
        for own, row in zip(bins, binning.numbers.tolist(), strict=True)
    ]
    cells = sum(math.prod(len(at[c]) for c in columns) for columns in sets)
    if 2 * cells * member.n_classes > member.box_values.size:
        return None
    cards, states = np.zeros(member.n_columns, dtype=np.int64), [np.zeros(0)] * member.n_columns
    for j, (column, row) in enumerate(
        zip(binning.columns.tolist(), binning.numbers.tolist(), strict=True)
    ):
        cards[column] = len(at[j])
        if row >= 0:
            states[row] = np.searchsorted(at[j], bins[j]).astype(np.uint16)
    faces, keys, tables, constant = [], [], [], member.constant.copy()
    for columns in member.parts.holders:
        order = sorted(columns, key=lambda c: int(binning.columns[c]))
        sizes = [len(at[c]) for c in order]
        rows = np.zeros((math.prod(sizes), member.n_columns), dtype=np.uint8)
        for c, place in zip(order, np.indices(sizes).reshape(len(sizes), len(rows)), strict=True):
            rows[:, c] = at[c][place]
        values = member.by_class(member.parts.part(columns, rows))
        if not columns:
            constant += values[0]
            continue
        faces.append(binning.columns[order])
        keys.append(np.arange(len(rows)))
        tables.append(values.reshape(-1))
    return {
        "kind": "faces",
        "constant": packed(constant),
        "cards": packed(cards),
        "bins": [packed(each) for each in states[: int((binning.numbers >= 0).sum())]],
        "faces": packed(flatten(faces)),
        "faceFrom": packed(offsets_of(map(len, faces))),
        "keys": packed(flatten(keys)),
        "keyFrom": packed(offsets_of(map(len, keys))),
        "values": packed(flatten(tables, np.float64)),
    }


def _trees(member: BoostedMember, bins: list[Array]) -> Spec:
    """Nodes of all trees end to end; sets of bins that go first are listed once."""
    trees, n_columns = member.trees, member.n_columns
    sizes = 2 * (trees.column >= 0).sum(axis=1) + 1
    there = np.arange(trees.column.shape[1]) < sizes[:, None]
    column, child = trees.column[there], trees.child[there]
    words = np.ascontiguousarray(trees.goes_first[there].astype("<u8")).view("<u4")
    sets, which = np.unique(words, axis=0, return_inverse=True)
    narrow = np.uint8 if n_columns < 2**8 else np.uint16
    return {
        "kind": "boosted",
        "constant": packed(member.constant),
        "columns": packed(member.binning.columns),
        "numbers": packed(member.binning.numbers),
        "bins": [packed(own) for own in bins],
        "scores": trees.values.shape[2],
        "treeFrom": packed(offsets_of(sizes.tolist())),
        "column": packed(np.where(column >= 0, column, n_columns).astype(narrow)),
        "child": packed(child.astype(np.uint8)),
        "which": packed(which.reshape(-1).astype(np.uint16 if len(sets) <= 2**16 else np.int32)),
        "sets": packed(sets),
        "leafValues": packed(member.box_values),
    }


def _terms(model: AdditiveClassifier, numbers: list[Floats]) -> list[Spec | None]:
    """What the numeric terms of all members add, by number and class, for each such column."""
    sums = [np.zeros((len(values), model.n_classes)) for values in numbers]
    used = [False] * len(numbers)
    for share, member in zip(model.shares.tolist(), model.members, strict=True):
        if isinstance(member, BoostedMember) or not len(member.terms):
            continue
        for place, values in enumerate(numbers):
            rows = np.full((len(numbers), len(values)), np.nan)
            rows[place] = values
            for face, part in member.term_parts(rows):
                if face == (int(model.numeric[place]),):
                    sums[place] += share * part
                    used[place] = True
    return [packed(each) if use else None for each, use in zip(sums, used, strict=True)]

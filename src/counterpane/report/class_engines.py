"""What a page needs to answer for a classifier: its tables or trees, and the rows that it keeps.

Numbers of a column are replaced by their places in a list: the numbers of the kept rows and what is
put in for a state. What a number does to a model is tabulated over this list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane.models.additive import AdditiveClassifier
from counterpane.models.additive_member import Member
from counterpane.models.boosted_member import BoostedMember
from counterpane.models.mixture import Mixture
from counterpane.models.training_rows import TrainingRows
from counterpane.ragged import flatten, offsets_of
from counterpane.report.packing import Spec, packed
from counterpane.typing import Array, Floats

MAX_ROW_CELLS = 2**20  # of kept rows in a page


def additive_engine(model: AdditiveClassifier) -> Spec:
    """The engine of an additive classifier that keeps rows."""
    assert model.rows is not None
    rows = _bounded(model.rows)
    cards = model.schema.cards
    levels = _Levels(rows, cards.tolist())
    shares = []
    for column, card in enumerate(cards[:-1].tolist()):
        known = rows.shares(column)
        shares.append(np.append(known, np.zeros(card - len(known))))
    predictor = {
        "kind": "additive",
        "classes": model.n_classes,
        "numeric": packed(rows.numeric),
        "shares": packed(model.shares),
        "total": model.total,
        "members": [_member(member, levels.numbers) for member in model.members],
        "terms": _terms(model, levels.numbers),
    }
    return _row_engine(cards, rows, levels, shares, predictor)


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


def _member(member: Member | BoostedMember, numbers: list[Floats]) -> Spec:
    return (
        _boosted(member, numbers) if isinstance(member, BoostedMember) else _faces(member, numbers)
    )


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


def _boosted(member: BoostedMember, numbers: list[Floats]) -> Spec:
    binning, trees = member.binning, member.trees
    bins = []
    for j, row in enumerate(binning.numbers.tolist()):
        if row < 0:
            bins.append(packed(binning.state_bins[j].astype(np.uint8)))
            continue
        places = np.searchsorted(binning.cuts[j], numbers[row], side="right") + 1
        bins.append(packed(np.where(np.isnan(numbers[row]), 0, places).astype(np.uint8)))
    words = np.ascontiguousarray(trees.goes_first.astype("<u8")).view("<u4")
    return {
        "kind": "boosted",
        "constant": packed(member.constant),
        "columns": packed(binning.columns),
        "numbers": packed(binning.numbers),
        "bins": bins,
        "shape": [trees.column.shape[1], trees.values.shape[1], trees.values.shape[2]],
        "column": packed(trees.column),
        "child": packed(trees.child),
        "first": packed(words),
        "leafValues": packed(trees.values),
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

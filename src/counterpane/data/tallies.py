"""Statistics of columns that merge across blocks of rows: each distinct cell and its rows.

A tally gives a column whose entries stand for all rows of equal cells, so that types, states and
cut points come from the rules that columns in memory have.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpane.data.clean import numbers_of_texts, text_column
from counterpane.data.columns import (
    Binned,
    Column,
    Labels,
    Numbers,
    Unread,
    make_labels,
    n_rows,
)
from counterpane.data.distinct_values import (
    HASHES,
    Cells,
    DistinctCount,
    grouped,
    joined,
    mixed,
    ordered_bits,
    tally_numbers,
    text_hashes,
)
from counterpane.data.intervals import find_step, find_steps
from counterpane.data.number_formats import GAP_WORDS, NO_NUMBER, CellFormat
from counterpane.data.prepare import few_words, typed_texts, words_of_reading
from counterpane.data.schema import MAX_STATES
from counterpane.data.weights import column_weights
from counterpane.errors import DataError
from counterpane.typing import Array, Floats, Ints, State

MOST_TEXTS = MAX_STATES + 1  # distinct texts that are kept of a column
MOST_NUMBERS = 2**17  # distinct numbers that are kept of a column
ALL_NUMBERS = 2**22  # the same, of all columns together
ALL_HASHES = 2**24  # the same, of all columns together

_KINDS = {str: "texts", bool: "booleans"}


class NumberTally:
    """The distinct numbers of a column, the rows of each, and the sum of their weights.

    Above `limit` numbers, those that agree in their leading bits share a bin, of which the least
    number is kept. The bins depend on the set of numbers alone, not on their order, and are as
    narrow as the limit allows: 2^17 of them tell numbers of four octaves apart to 3e-5 of their
    size.
    """

    def __init__(self, limit: int = MOST_NUMBERS, most_hashes: int = HASHES) -> None:
        self.limit, self.shift = limit, 0
        self._distinct = DistinctCount(most_hashes)
        self._parts: list[Cells] = []
        self._n_merged = self._n_pending = 0
        self._steps: dict[bool, list[float]] = {}  # of all numbers, if there are bins

    def add(self, values: Array, weights: Floats | None = None) -> None:
        """Add numbers, none of them NaN."""
        if len(values):
            self.add_cells(tally_numbers(values, weights))

    def add_cells(self, cells: Cells) -> None:
        """Add distinct ascending numbers with their rows and weights."""
        if self.shift:
            self._look(cells[0])
        self._parts.append(cells)
        self._n_pending += len(cells[0])
        if self._n_pending > max(self._n_merged, self.limit // 4):
            self.cells()

    def __add__(self, other: NumberTally) -> NumberTally:
        both = copy.deepcopy(self)
        if other.shift and not self.shift:
            both._look(both.cells()[0])
        for dated, steps in other._steps.items():
            own = both._steps[dated] if self.shift or other.shift else steps
            both._steps[dated] = [step for step in steps if step in own]
        both._distinct = both._distinct + other._distinct
        both.shift = max(self.shift, other.shift)
        for cells in other._parts:
            both.add_cells(cells)
        return both

    def cells(self) -> Cells:
        """The ascending numbers, or the least of each bin, with their rows and weights."""
        if not self._parts:
            return np.empty(0), np.empty(0, dtype=np.int64), np.empty(0)
        if self._n_pending:
            values, rows, weights = map(joined, zip(*self._parts, strict=True))
            order = np.argsort(values, kind="stable")
            cells = grouped((values[order], rows[order], weights[order]), self.shift)
            if len(cells[0]) > self.limit and not self.shift:
                self._look(cells[0])
            while len(cells[0]) > self.limit:
                self.shift += 1
                cells = grouped(cells, self.shift)
            self._parts, self._n_merged, self._n_pending = [cells], len(cells[0]), 0
        return self._parts[0]

    def facts(self, *, dated: bool) -> Binned:
        """The number of different numbers, and their step."""
        values = self.cells()[0]
        if not self.shift:
            return Binned(len(values), find_step(values[np.isfinite(values)], dated=dated))
        return Binned(self._distinct.n, next(iter(self._steps.get(dated, [])), None))

    def _look(self, values: Array) -> None:
        """Note what bins lose: of which steps the numbers are, and how many there are."""
        finite = values[np.isfinite(values)]
        for dated in (False, True):
            self._steps[dated] = find_steps(finite, self._steps.get(dated), dated=dated)
        self._distinct.add(mixed(ordered_bits(values)))


class ColumnTally:
    """The distinct cells of a column of blocks, the rows of each, and the sum of their weights.

    When texts are more than `MOST_TEXTS`, they are read as numbers or dates from then on, if those
    so far are. A column of a text file comes as texts and, in blocks of many plain numbers, as
    numbers. With `lenient` a few texts among numbers are missing values.
    """

    def __init__(
        self, name: str, limit: int = MOST_NUMBERS, most_hashes: int = HASHES, *,
        text_file: bool = False, lenient: bool = True,
    ) -> None:  # fmt: skip
        self.name, self._text_file, self._lenient = name, text_file, lenient
        self._kind = ""
        self._declared = False
        self._states: dict[State, Array] = {}  # rows and weight of each
        self._missing: Array = np.zeros(2)  # the same
        self._more: Array = np.zeros(2)  # of texts that are not kept
        self._numbers = NumberTally(limit, most_hashes)
        self._texts = DistinctCount(most_hashes)  # once there are more
        self._written: CellFormat | None = None  # of texts that are read as numbers or dates
        self._dated = self._came_as_numbers = False
        self._sure = False  # points are decimal marks

    def add(self, column: Column, weights: Floats | None) -> None:
        """Add a block."""
        if isinstance(column, Numbers) or column.states:
            self._agree(column)
        if isinstance(column, Numbers):
            self._add_numbers(column, weights)
            return
        size, places = len(column.states) + 1, column.codes.astype(np.int64) + 1
        rows = np.bincount(places, column.rows, size)
        weights = weights if column.rows is None else column.weights
        sums = rows if weights is None else np.bincount(places, weights, size)
        cells = np.stack([rows, sums]).astype(np.float64)
        self._missing = self._missing + cells[:, 0]
        self._add_states(column.states, cells[:, 1:])

    def __add__(self, other: ColumnTally) -> ColumnTally:
        both = copy.deepcopy(self)
        if both._kind and other._kind and both._kind != other._kind:
            raise both._two_kinds(other._kind)
        both._kind, both._declared = both._kind or other._kind, both._declared or other._declared
        both._dated = both._dated or other._dated
        if other._came_as_numbers or other._written is not None:
            both._came_as_numbers |= other._came_as_numbers
            both._sure = both._sure or other._sure
            if both._written is None:
                both._read_as(other._written)
            both._numbers = both._numbers + other._numbers
        both._missing = both._missing + other._missing
        if other._more[0] and not both._more[0]:
            both._texts.add(text_hashes(both._states))
        both._more, both._texts = both._more + other._more, both._texts + other._texts
        if other._states:
            cells = np.stack(list(other._states.values()), axis=1)
            both._add_states(list(other._states), cells)
        return both

    @property
    def must_be_text(self) -> bool:
        """Whether blocks came as numbers, and others show that the column may be one of texts."""
        if not self._text_file or not self._came_as_numbers:
            return False
        real = self._numbers.cells()[0].dtype.kind == "f"
        return bool(self._others()) or (real and not self._sure)

    @property
    def has_missing(self) -> bool:
        """Whether there are missing cells."""
        return bool(self._missing[0])

    def column(self) -> Column:
        """The column: an entry for each distinct cell, and one for the missing cells."""
        if not self._came_as_numbers and self._written is None:
            return self._labels()
        values, rows, weights = self._numbers.cells()
        others = self._others()
        n_others = sum((self._states[text] for text in others), self._more)
        gaps = sum(self._states.values(), self._missing) + self._more
        binned = self._numbers.shift or self._written is not None
        facts = self._numbers.facts(dated=self._dated) if binned else None
        numbers = Numbers(
            self.name,
            np.append(values, values[:0] if gaps[0] == 0 else np.zeros(1, values.dtype)),
            np.arange(len(values) + (gaps[0] > 0)) >= len(values),
            self._dated,
            self._written,
            rows=np.append(rows, gaps[:1].astype(np.int64))[: len(values) + (gaps[0] > 0)],
            weights=np.append(weights, gaps[1:])[: len(values) + (gaps[0] > 0)],
            binned=facts,
        )
        if self._written is None or facts is None:
            return numbers
        n_known = int(rows.sum() + n_others[0])
        words = words_of_reading(numbers, n_known, int(n_others[0]), few_words(map(str, others)))
        if words is None or (others and not self._lenient):
            return replace(self._labels(), more=n_known - int(n_others[0]) + int(self._more[0]))
        told = others or self._dated
        return replace(numbers, binned=facts._replace(read_as=words if told else ""))

    def _agree(self, column: Column) -> None:
        """Refuse a block of another kind of values than before."""
        if isinstance(column, Numbers):
            kind = "dates" if column.dated else "numbers"
        else:
            types = set(map(type, column.states))
            several = len(types) > 1
            kind = "values of any type" if several else _KINDS.get(types.pop(), "categories")
            self._declared = self._declared or column.declared
        if self._kind and kind != self._kind and not self._text_file:
            raise self._two_kinds(kind)
        self._kind = self._kind or kind

    def _two_kinds(self, kind: str) -> DataError:
        return DataError(
            f"column {self.name!r} holds {self._kind} in some rows and {kind} in others; write it "
            "as one type."
        )

    def _add_numbers(self, column: Numbers, weights: Floats | None) -> None:
        known, own = ~column.missing, column.rows
        weights = weights if own is None else column.weights
        if not known.all():
            gaps = ~known if own is None else own[~known]
            sums = gaps if weights is None else weights[~known]
            self._missing = np.add(self._missing, (gaps.sum(), sums.sum()))
            weights = None if weights is None else weights[known]
        if self._text_file:
            if self._written is None:
                self._read_as(CellFormat())
            if column.written is not None and self._written is not None:
                words = self._written.gap_words | column.written.gap_words
                self._written = replace(self._written, gap_words=words)
        self._came_as_numbers, self._dated = True, self._dated or column.dated
        values = column.values if known.all() else column.values[known]
        self._sure = self._sure or values.dtype.kind == "f"
        if own is None:
            self._numbers.add(values, weights)
        elif len(values):
            assert weights is not None
            order = np.argsort(values, kind="stable")
            cells = values[order], own[known][order], weights[order]
            self._numbers.add_cells(grouped(cells, 0))

    def _add_states(self, states: Sequence[State], cells: Array) -> None:
        if self._written is not None:
            self._read(states, cells)
            return
        known = self._states
        if self._more[0]:
            self._texts.add(text_hashes(states))
        for state, rows in zip(states, cells.T, strict=True):
            known[state] = known[state] + rows if state in known else rows
        if len(known) > MOST_TEXTS:
            self._overflow()

    def _overflow(self) -> None:
        """Read the texts as numbers or dates if they are; else forget those above the limit."""
        if self._kind == "texts" and not self._declared and not self._more[0]:
            texts = [*self._states]
            found: Any = None
            if self._text_file:
                found = text_column(Labels(self.name, tuple(texts), np.arange(len(texts))))
            if not isinstance(found, Numbers):
                found = typed_texts(self._labels())
                found = None if found is None else found[0]
            if found is not None:
                self._dated = found.dated
                self._read_as(replace(found.written or CellFormat(), gap_words=frozenset()))
                return
        if not self._more[0]:
            self._texts.add(text_hashes(self._states))
        for state in list(self._states)[MOST_TEXTS:]:
            self._more = self._more + self._states.pop(state)

    def _read_as(self, written: CellFormat | None) -> None:
        """Let the texts so far, and those to come, be numbers or dates that are written so."""
        self._written, states = written, self._states
        if written is not None and states:
            self._states = {}
            self._read(list(states), np.stack(list(states.values()), axis=1))

    def _read(self, states: Sequence[State], cells: Array) -> None:
        """Add texts as numbers where they are written so."""
        assert self._written is not None
        column = Labels(self.name, tuple(states), np.arange(len(states)))
        numbers = numbers_of_texts(column, self._written, dated=self._dated)
        known = ~numbers.missing
        if known.any():
            values, order = numbers.values[known], np.argsort(numbers.values[known], kind="stable")
            rows, weights = cells[0, known].astype(np.int64), cells[1, known]
            self._numbers.add_cells(grouped((values[order], rows[order], weights[order]), 0))
        for place in np.flatnonzero(numbers.missing).tolist():
            text = str(states[place])
            if text in self._states or len(self._states) < MOST_TEXTS:
                self._states[text] = self._states.get(text, 0) + cells[:, place]
            else:
                self._more = self._more + cells[:, place]
            if text in GAP_WORDS:
                words = self._written.gap_words | {text}
                self._written = replace(self._written, gap_words=words)

    def _others(self) -> list[State]:
        """The texts that are no numbers or dates, where texts are read so."""
        return [s for s in self._states if isinstance(s, str) and s.strip() not in NO_NUMBER]

    def _labels(self) -> Labels:
        kept = [s for s, cells in self._states.items() if self._declared or cells[0]]
        cells = np.stack([*(self._states[s] for s in kept), self._missing], axis=1)
        codes = np.append(np.arange(len(kept)), -1)
        column = Labels(self.name, tuple(kept), codes)
        if not self._text_file:
            column = make_labels(self.name, kept, codes, declared=self._declared)
        rows, weights = cells[:, cells[0] > 0]
        return replace(
            column,
            codes=column.codes[cells[0] > 0],
            rows=rows.astype(np.int64),
            weights=weights,
            more=int(self._more[0]),
            more_values=max(0, self._texts.n - len(kept)),
        )


class TableTally:
    """The tallies of the columns of a table, its number of rows and its total weight.

    The last column of a block holds the weights, if the table has any. Tallies of other rows are
    added by `+`, in the order of the rows.
    """

    def __init__(
        self, names: Sequence[str], *, weighted: bool = False, text_file: bool = False,
        lenient: bool = True,
    ) -> None:  # fmt: skip
        limit = max(1, min(MOST_NUMBERS, ALL_NUMBERS // len(names)))
        most = max(2, min(HASHES, ALL_HASHES // len(names)))
        self.columns = {
            name: ColumnTally(name, limit, most, text_file=text_file, lenient=lenient)
            for name in names
        }
        self.unusable: dict[str, str] = {}  # kinds of the columns whose values have no states
        self.n_rows, self.total_weight, self.whole = 0, 0.0, True
        self._weighted = weighted

    def add(self, block: Sequence[Column | Unread]) -> None:
        """Add a block."""
        weights = None
        if self._weighted:
            assert not isinstance(block[-1], Unread)
            weights = column_weights(block[-1])
        for column in block[: len(self.columns)]:
            if isinstance(column, Unread):
                self.unusable[column.name] = column.kind
            else:
                self.columns[column.name].add(column, weights)
        rows = n_rows(block[0])
        self.n_rows += rows
        with np.errstate(over="ignore"):
            self.total_weight += rows if weights is None else float(weights.sum())
        self.whole &= weights is None or bool((weights == np.floor(weights)).all())

    def add_values(self, column: Column | Unread, rows: Ints, weights: Floats) -> None:
        """Add the distinct cells of a column, the rows of each, and the sum of their weights."""
        if isinstance(column, Unread):
            self.unusable[column.name] = column.kind
        else:
            self.columns[column.name].add(replace(column, rows=rows, weights=weights), None)

    def __add__(self, other: TableTally) -> TableTally:
        both = copy.copy(self)
        both.columns = {name: t + other.columns[name] for name, t in self.columns.items()}
        both.unusable = self.unusable | other.unusable
        both.n_rows += other.n_rows
        both.total_weight += other.total_weight
        both.whole &= other.whole
        return both

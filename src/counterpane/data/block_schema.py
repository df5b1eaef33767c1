"""The schema of rows that are read block by block, by the rules of rows in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypedDict

import numpy as np

from counterpane.data.clean import numbers_of_texts, text_columns
from counterpane.data.columns import Column, Numbers, Unread, UnusableError
from counterpane.data.distinct_values import grouped, ordered_bits
from counterpane.data.encoding import BlockEncoder, Unseen, ValueCodes
from counterpane.data.number_formats import CellFormat
from counterpane.data.prepare import Prepared, ReadRules, choose_columns
from counterpane.data.schema import Schema, Variable
from counterpane.data.schema_inference import Discretize, check_limits, check_rule, infer_schema
from counterpane.data.tallies import MOST_NUMBERS, NumberTally, TableTally
from counterpane.data.weights import check_total_weight, column_weights
from counterpane.errors import DataError, ParameterError, unknown_name
from counterpane.typing import Array, Floats, Ints, State


class SchemaOptions(TypedDict, total=False):
    """The options of a source that describe its columns; see `FileSource`."""

    columns: Sequence[str] | None
    states: Mapping[str, Sequence[State]] | None
    schema: Schema | None
    weights: str | None
    discretize: Discretize
    target: str | None
    unseen: Unseen
    max_states: int
    n_bins: int
    on_unusable: Literal["error", "drop"] | None
    drop: Collection[str]
    categorical: Collection[str]
    decimal: str | None


@dataclass(frozen=True, kw_only=True)
class ColumnRules(ReadRules):
    """What the user says of columns that are read block by block; see `FileSource`."""

    columns: Sequence[str] | None = None
    weights: str | None = None
    unseen: Unseen = "error"
    max_states: int = 20
    n_bins: int = 4
    decimal: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weights, str | None):
            raise ParameterError("weights must name a column here; they are no array.")
        check_limits(self.max_states, self.n_bins)
        if not (isinstance(self.discretize, str) and self.discretize == "auto"):
            check_rule(self.discretize, self.target, by_block=True)

    def names(self, known: Sequence[str], kind: str = "column") -> list[str]:
        """The names of the columns to count, of all `known` ones; `kind` is for messages."""
        all_names = known if self.schema is None else self.schema.names
        all_names = all_names if self.columns is None else self.columns
        names = [name for name in all_names if name != self.weights]
        if not names:
            raise DataError("no column is left to be counted; at least one is needed.")
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise ParameterError(f"columns=… names {twice!r} twice; once is enough.")
        needed, there = [*names, *([] if self.weights is None else [self.weights])], set(known)
        for name in needed:
            if name not in there:
                raise unknown_name(kind, name, known)
        for name in (*self.keep, *self.drop, *self.categorical):
            if name not in names:
                raise unknown_name("column", name, names)
        return [name for name in names if name not in self.drop]


@dataclass(frozen=True)
class BlockSchema:
    """What is known of rows that were read once: their encoder, number, weight and preparation."""

    encoder: BlockEncoder
    n_rows: int
    total_weight: float
    preparation: dict[str, Any]


class Rows(Protocol):
    """What `find_schema` has to know of rows: a `BlockReader`, or a `RowFacts`."""

    names: tuple[str, ...]
    kind: str
    text_file: bool
    semicolons: bool


@dataclass
class RowFacts:
    """The columns of rows that others hold; `kind` is what messages call one."""

    what: str
    names: tuple[str, ...]
    kind: str = "column"
    text_file: bool = False
    semicolons: bool = False
    n_bytes: int | None = None


Pass = Callable[[Any, list[str], Collection[str]], Any]
"""Adds all blocks to a tally: the tally, the columns, and those of them to read as texts."""


def find_schema(read: Pass, source: Rows, rules: ColumnRules) -> BlockSchema:
    """The schema of the rows of `source`, over which `read` passes.

    It does once, again where numbers are cut by class, and again over the columns of a text file
    whose blocks do not agree on what is a number.
    """
    names = rules.names(source.names, source.kind)
    weights = [] if rules.weights is None else [rules.weights]

    def tally(some: list[str], as_text: Collection[str]) -> TableTally:
        empty = TableTally(some, weighted=bool(weights), text_file=source.text_file,
                           lenient=rules.lenient)  # fmt: skip
        found: TableTally = read(empty, [*some, *weights], as_text)
        return found

    total = tally(names, ())
    if not total.n_rows:
        raise DataError("the table has no rows; at least one is needed.")
    check_total_weight(total.total_weight)
    as_text = [name for name, column in total.columns.items() if column.must_be_text]
    if as_text:
        total.columns |= tally(as_text, as_text).columns
    raw = {name: column.column() for name, column in total.columns.items()}
    columns = raw
    if source.text_file:
        typed = text_columns(
            list(raw.values()), decimal=rules.decimal, semicolons=source.semicolons
        )
        columns = {column.name: column for column in typed}
    schema, facts = rules.schema, {}
    if schema is not None:
        if total.unusable:
            name, kind = next(iter(total.unusable.items()))
            raise UnusableError(name, kind)
        schema = schema.select([schema.index(name) for name in names])
    else:
        prepared = _prepared(columns, total.unusable, rules)
        chosen, facts = {c.name: c for c in prepared.columns}, prepared.facts()

        def by_class(numeric: list[str], target: Variable) -> dict[str, tuple[Numbers, Array]]:
            used = [c for c in map(chosen.__getitem__, numeric) if isinstance(c, Numbers)]
            empty = ClassTally(used, target, weighted=bool(weights), text_file=source.text_file,
                               finite=rules.lenient)  # fmt: skip
            found: ClassTally = read(empty, [*numeric, target.name, *weights], as_text)
            return found.cells()

        schema = infer_schema(chosen, rules.states, rules.discretize, rules.target, np.ones(0),
                              max_states=rules.max_states, n_bins=rules.n_bins,
                              by_class=by_class)  # fmt: skip
    whole = total.whole and total.total_weight < 2**53
    encoder = BlockEncoder(
        schema, rules.weights, whole=whole, text_file=source.text_file, as_text=tuple(as_text),
        unseen="missing" if rules.schema is None and rules.lenient else rules.unseen,
        finite=rules.lenient,
    )  # fmt: skip
    encoder.find_missing({name: raw[name] for name in schema.names})
    return BlockSchema(encoder, total.n_rows, total.total_weight, facts)


def _prepared(
    columns: Mapping[str, Column], unusable: Mapping[str, str], rules: ColumnRules
) -> Prepared:
    """The columns to learn from, as `read` has them of rows in memory."""
    if not rules.lenient:
        for name, kind in unusable.items():
            raise UnusableError(name, kind)
        return Prepared(choose_columns(list(columns.values()), categorical=rules.categorical))
    return rules.prepared({
        name: Unread(name, unusable[name]) if name in unusable else column
        for name, column in columns.items()
    })  # fmt: skip


class ClassTally:
    """The numbers of columns by class: a tally for each class that a variable has."""

    def __init__(
        self, columns: Sequence[Numbers], target: Variable, *, weighted: bool, text_file: bool,
        finite: bool,
    ) -> None:  # fmt: skip
        self._columns = [replace(c, values=c.values[:0], missing=c.missing[:0], rows=None,
                                 weights=None) for c in columns]  # fmt: skip
        self.names, self.target = [c.name for c in columns], target.name
        self._weighted, self._finite = weighted, finite
        self._classes = ValueCodes(target, text_file=text_file)
        limit = max(1, MOST_NUMBERS // target.card)
        self._tallies = [[NumberTally(limit) for _ in range(target.card)] for _ in columns]

    def add(self, block: Sequence[Column | Unread]) -> None:
        """Add a block of the columns, their class and, if there are any, the weights."""
        weights = column_weights(block[-1]) if self._weighted else None  # type: ignore[arg-type]
        classes = self._codes(block[len(self._columns)])
        for column in block[: len(self._columns)]:
            self._add(column, classes, None, weights)

    def add_values(
        self, column: Column | Unread, target: Column | Unread, rows: Ints, weights: Floats
    ) -> None:
        """Add distinct cells of a column and their classes, the rows and the weight of each."""
        self._add(column, self._codes(target), rows, weights)

    def _codes(self, target: Column | Unread) -> Array:
        assert not isinstance(target, Unread)
        return self._classes.of_block(target, "missing")

    def _add(
        self, column: Column | Unread, classes: Array, rows: Ints | None, weights: Floats | None
    ) -> None:
        assert not isinstance(column, Unread)
        place = self.names.index(column.name)
        tallies, numbers = self._tallies[place], _as_numbers(column, self._columns[place])
        known = ~numbers.missing & (classes < len(tallies))
        if weights is not None:
            known &= weights > 0
        if self._finite:
            known &= np.isfinite(numbers.values)
        for c, tally in enumerate(tallies):
            own = known & (classes == c)
            values, sums = numbers.values[own], None if weights is None else weights[own]
            if rows is None:
                tally.add(values, sums)
            elif own.any() and sums is not None:
                order = np.argsort(values, kind="stable")
                tally.add_cells(grouped((values[order], rows[own][order], sums[order]), 0))

    def __add__(self, other: ClassTally) -> ClassTally:
        for own, others in zip(self._tallies, other._tallies, strict=True):
            own[:] = [a + b for a, b in zip(own, others, strict=True)]
        return self

    def cells(self) -> dict[str, tuple[Numbers, Array]]:
        """For each column its numbers, with their rows and weights, and their classes."""
        found = {}
        for like, tallies in zip(self._columns, self._tallies, strict=True):
            parts = [tally.cells() for tally in tallies]
            values, rows, weights = map(np.concatenate, zip(*parts, strict=True))
            shift = np.uint64(max(tally.shift for tally in tallies))
            if shift:  # numbers of one bin are one number in all classes
                order = np.argsort(values)
                keys = ordered_bits(values[order]) >> shift
                new = np.append(True, keys[1:] != keys[:-1])
                values[order] = values[order][new][np.cumsum(new) - 1]
            missing = np.zeros(len(values), dtype=bool)
            numbers = replace(like, values=values, missing=missing, rows=rows, weights=weights)
            classes = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
            found[like.name] = numbers, classes
        return found


def _as_numbers(column: Column | Unread, like: Numbers) -> Numbers:
    """A column of a block as the numbers that the whole column was read as."""
    assert not isinstance(column, Unread)
    if isinstance(column, Numbers):
        return column
    return numbers_of_texts(column, like.written or CellFormat(), dated=like.dated)

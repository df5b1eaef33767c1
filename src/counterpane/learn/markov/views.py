"""The rows of a table as the pseudo-likelihood's kernels read them.

A variable whose blanket has few joint states reads distinct rows of these few columns; all others
read the same rows, of all columns. Both are views of the same kind, so that one kernel serves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpane._core import markov as kernels
from counterpane._core.features import Parts
from counterpane._core.markov import Conjunctions, PseudoView, RowLists
from counterpane.counts.bitsets import BitColumns
from counterpane.data.table import Table
from counterpane.errors import TableSizeError
from counterpane.learn.markov.incidence import Incidence
from counterpane.ragged import offsets_of, ranges
from counterpane.typing import Array, Codes, Ints


@dataclass(frozen=True, eq=False)
class Features:
    """Tables and rules, compiled."""

    parts: Parts
    incidence: Incidence

    @property
    def cards(self) -> Ints:
        """The number of states of each variable."""
        return self.parts.cards

    def neighbors(self) -> list[Ints]:
        """For each variable those that share a table or a rule with it, sorted."""
        p, n = self.parts, self.cards.size
        owners = np.repeat(np.arange(n), np.diff(p.potential_offsets))
        first, last = (p.scope_offsets[p.potentials + k] for k in (0, 1))
        by_table = np.repeat(owners, last - first) * n + p.scopes[ranges(first, last)]
        pairs = np.unique(np.concatenate([by_table, self.incidence.neighbors()]))
        pairs = pairs[pairs // n != pairs % n]
        return np.split(pairs % n, np.searchsorted(pairs, np.arange(1, n) * n))


class Reading:
    """How `variables` read rows: all the same ones, or each its own, of its own `columns`.

    columns[i] are the columns of the table that variables[i] reads, itself first.
    """

    def __init__(
        self, features: Features, variables: Ints, columns: Sequence[Ints] | None = None
    ) -> None:
        self.features = features
        self.variables = variables
        incidence = features.incidence
        first, last = (incidence.entry_from[variables + k] for k in (0, 1))
        entries = ranges(first, last)
        rests = incidence.rest_of_entry[entries]
        self._of_entry = np.zeros(incidence.rest_of_entry.size, dtype=np.int64)
        self._tables = _tables(features.parts, variables)
        if columns is None:  # entries with the same rest share a list
            rests, self._of_entry[entries] = np.unique(rests, return_inverse=True)
            self._readers = np.zeros(rests.size, dtype=np.int64)
            self._conditions = incidence.conditions
            offsets, rules = self._conditions.offsets, incidence.rest_rules[rests]
            self._spans = (offsets[rules], offsets[rules + 1], incidence.rest_variables[rests])
            self._cards = features.cards
        else:
            self._of_entry[entries] = np.arange(entries.size)
            self._readers = np.repeat(np.arange(variables.size), last - first)
            self._conditions = incidence.rests(rests)
            offsets = self._conditions.offsets
            self._spans = (offsets[:-1], offsets[1:], np.full(rests.size, -1))
            self._move_to(columns)

    def _move_to(self, columns: Sequence[Ints]) -> None:
        """Replace columns of the table by their places among those of each variable."""
        owners = np.repeat(self._readers, np.diff(self._conditions.offsets))
        places = _places(columns, owners, self._conditions.variables)
        self._conditions = self._conditions._replace(variables=places)
        table_from, starts, steps, other_from, others, strides = self._tables
        owners = np.repeat(np.arange(len(columns)), np.diff(other_from[table_from]))
        others = _places(columns, owners, others)
        self._tables = table_from, starts, steps, other_from, others, strides
        widest = max(own.size for own in columns)
        cards = (self.features.cards[own] for own in columns)
        self._cards = np.max([np.pad(own, (0, widest - own.size)) for own in cards], axis=0)

    def shared(self, codes: Codes, weights: Array | None) -> PseudoView:
        """The view in which all variables read the rows `codes` of all columns."""
        plain = np.ones(codes.shape[1]) if weights is None else weights.astype(np.float64)
        start = np.zeros(self.variables.size, dtype=np.int64)
        end = np.full(self.variables.size, codes.shape[1])
        return PseudoView(
            _final(codes), plain, self.variables, self.variables, start, end, *self._tables
        )

    def stacked(self, tables: Sequence[Table]) -> PseudoView:
        """The view in which variables[i] reads the rows of tables[i]."""
        sizes = np.array([table.n_rows for table in tables])
        starts = offsets_of(-(-sizes // 64) * 64)  # bit sets start with a word
        codes = np.zeros((self._cards.size, starts[-1]), dtype=np.uint16)
        weights = np.zeros(starts[-1])
        for table, start in zip(tables, starts.tolist(), strict=False):
            codes[: table.n_columns, start : start + table.n_rows] = table.codes
            weights[start : start + table.n_rows] = table.weights
        own = np.zeros_like(self.variables)
        ends = starts[:-1] + sizes
        return PseudoView(
            _final(codes), weights, self.variables, own, starts[:-1], ends, *self._tables
        )

    def lists(self, view: PseudoView, most: float = np.inf) -> RowLists:
        """The lists of a view; `TableSizeError` where they would hold more than `most` rows."""
        conditions = self._conditions
        bits = BitColumns(view.codes, self._cards)
        bits.pack(np.unique(conditions.variables))
        valid = np.zeros(bits.n_words, dtype=np.uint64)
        weighty = np.packbits(view.weights > 0, bitorder="little")
        valid.view(np.uint8)[: weighty.size] = weighty
        conjunctions = Conjunctions(
            view.row_from[self._readers] // 64, -(-view.row_to[self._readers] // 64), *self._spans,
            conditions.variables,
            bits.first[conditions.variables] + conditions.values, conditions.negated,
        )  # fmt: skip
        sizes = np.zeros(self._readers.size, dtype=np.int64)
        opposite = np.zeros(self._readers.size, dtype=np.bool_)
        kernels.count_rows(bits.words, valid, conjunctions, sizes, opposite)
        offsets = offsets_of(sizes)
        if offsets[-1] > most:
            raise TableSizeError(f"the lists of rules would hold {offsets[-1]:,} rows.")
        positions = np.empty(offsets[-1], dtype=np.uint16)
        kernels.list_rows(bits.words, valid, conjunctions, opposite, offsets, positions)
        return RowLists(self._of_entry, offsets, opposite, positions)


def _tables(parts: Parts, variables: Ints) -> tuple[Ints, ...]:
    """What a view says about tables."""
    first, last = (parts.potential_offsets[variables + k] for k in (0, 1))
    tables = parts.potentials[ranges(first, last)]
    scope_from, scope_to = (parts.scope_offsets[tables + k] for k in (0, 1))
    flat = ranges(scope_from, scope_to)
    owners = np.repeat(np.repeat(variables, last - first), scope_to - scope_from)
    mine = parts.scopes[flat] == owners
    others = flat[~mine]
    return (
        offsets_of(last - first), parts.value_offsets[tables], parts.strides[flat[mine]],
        offsets_of(scope_to - scope_from - 1), parts.scopes[others], parts.strides[others],
    )  # fmt: skip


def _places(columns: Sequence[Ints], owners: Ints, variables: Ints) -> Ints:
    """Where columns[owner] has the variable, for each pair of them."""
    sizes = np.array([own.size for own in columns])
    known = np.concatenate(columns)
    n = int(known.max()) + 1
    codes = np.repeat(np.arange(sizes.size), sizes) * n + known
    order = np.argsort(codes)
    found = order[np.searchsorted(codes, owners * n + variables, sorter=order)]
    places: Ints = found - (np.cumsum(sizes) - sizes)[owners]
    return places


def _final(codes: Codes) -> Codes:
    """Codes as one type for the kernels, whatever was given."""
    own = np.ascontiguousarray(codes, dtype=np.uint16).view()
    own.flags.writeable = False
    return own

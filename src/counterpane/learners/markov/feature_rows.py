"""The rows in which features bear on the conditional of a variable, as the kernels read them.

A rule adds its weight to state s of its variable v in the rows where its other conditions, the
*rest*, hold. Rules with the same rest share an *entry* of v, with a *slot* for each state of v but
the first, whose number is a sum of weights; entries of several variables with the same rest share a
list of rows. The lists are computed once: value and gradient are then 5 to 20 times as fast as the
value alone from the conditions (docs/design/features.md).
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
from counterpane.features.conditions import Conditions, number_groups
from counterpane.ragged import entries, flatten, offsets_of, ranges, segment_sums
from counterpane.typing import Array, Codes, Floats, Ints


class Incidence:
    """Entries and slots of rules, whose `conditions` are in canonical form.

    Entry e belongs to the variable v with entry_from[v] ≤ e < entry_from[v+1], counts where its
    rest r = rest_of_entry[e] holds, and has a slot for each state of v but the first, from
    slot_from[v] + (e − entry_from[v]) · (card − 1) on. Rest r has all conditions of rule
    rest_rules[r] but those on the variable rest_variables[r]: one such pair of many.

    >>> from counterpane.features import Rules
    >>> cards = np.array([2, 2, 2])
    >>> rules = Rules.from_list(cards, [(1.0, [(0, 1, False), (1, 1, False)]),
    ...                                 (2.0, [(0, 1, False), (2, 1, False)])])
    >>> incidence = Incidence(cards, rules.conditions.simplified(cards))
    >>> incidence.entry_from.tolist(), incidence.by_slot(rules.weights).tolist()
    ([0, 2, 3, 4], [1.0, 2.0, 1.0, 2.0])
    """

    def __init__(self, cards: Ints, conditions: Conditions) -> None:
        self.n_rules = conditions.offsets.size - 1
        self.conditions = conditions
        starts, pair_rule, pair_variable = conditions.groups()
        words = conditions.fingerprints(cards)
        of_rules = segment_sums(words, conditions.offsets)
        rests, pairs = number_groups(*(of_rules[:, pair_rule] - segment_sums(words, starts)))
        places, first = number_groups(pair_variable, rests)
        self.rest_rules: Ints = pair_rule[pairs]
        self.rest_variables: Ints = pair_variable[pairs]
        self.rest_of_entry: Ints = rests[first]
        self.entry_from: Ints = np.searchsorted(pair_variable[first], np.arange(cards.size + 1))
        self.slot_from: Ints = offsets_of(np.diff(self.entry_from) * (cards - 1))
        states = cards[pair_variable]
        offsets, flags = conditions.allowed_states(cards, starts)
        meets = flags.astype(np.int64)
        signs = meets - np.repeat(meets[offsets[:-1]], states)  # against state 0
        at = self.slot_from[pair_variable]
        at += (places - self.entry_from[pair_variable]) * (states - 1) - 1  # of state 0: no slot
        (linked,) = np.nonzero(signs)
        self._slots: Ints = ranges(at, at + states)[linked]
        self._rules: Ints = np.repeat(pair_rule, states)[linked]
        self._signs: Floats = signs[linked].astype(np.float64)

    def by_slot(self, weights: Floats) -> Floats:
        """The number of each slot: what its entry adds to its state against the first."""
        terms = self._signs * weights[self._rules]
        return _totals(self._slots, terms, int(self.slot_from[-1]))

    def by_rule(self, slopes: Floats) -> Floats:
        """The slope of each rule's weight, from those of the slots."""
        terms = self._signs * slopes[self._slots]
        return _totals(self._rules, terms, self.n_rules)

    def rests(self, which: Ints) -> Conditions:
        """The conditions of the rests `which`."""
        rules = self.conditions.take(self.rest_rules[which])
        rest = rules.variables != np.repeat(self.rest_variables[which], np.diff(rules.offsets))
        offsets = offsets_of(rest)[rules.offsets]
        return Conditions(offsets, rules.variables[rest], rules.values[rest], rules.negated[rest])


def _totals(places: Ints, terms: Floats, size: int) -> Floats:
    """The sum of the terms at each place."""
    return np.asarray(np.bincount(places, terms, minlength=size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CompiledFeatures:
    """Tables, in `parts`, and rules, in `incidence`."""

    parts: Parts
    incidence: Incidence

    @property
    def cards(self) -> Ints:
        """The number of states of each variable."""
        return self.parts.cards


class RowReading:
    """How `variables` read rows: all the same rows, or each its own rows of its own `columns`.

    columns[i] are the columns of the table that variables[i] reads, itself first. Both are views
    of the same kind, so that one kernel serves them.
    """

    def __init__(
        self, features: CompiledFeatures, variables: Ints, columns: Sequence[Ints] | None = None
    ) -> None:
        self.features = features
        self.variables = variables
        incidence = features.incidence
        own_entries = entries(incidence.entry_from, variables)
        rests = incidence.rest_of_entry[own_entries]
        self._list_of_entry = np.zeros(incidence.rest_of_entry.size, dtype=np.int64)
        self._tables = _tables(features.parts, variables)
        if columns is None:  # entries with the same rest share a list
            rests, self._list_of_entry[own_entries] = np.unique(rests, return_inverse=True)
            self._readers = np.zeros(rests.size, dtype=np.int64)
            self._conditions = incidence.conditions
            offsets, rules = self._conditions.offsets, incidence.rest_rules[rests]
            self._spans = (offsets[rules], offsets[rules + 1], incidence.rest_variables[rests])
            self._cards = features.cards
        else:
            self._list_of_entry[own_entries] = np.arange(own_entries.size)
            self._readers = np.repeat(
                np.arange(variables.size), np.diff(incidence.entry_from)[variables]
            )
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
        """The lists of a view; `TableSizeError` if they would contain more than `most` rows."""
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
        return RowLists(self._list_of_entry, offsets, opposite, positions)


def _tables(parts: Parts, variables: Ints) -> tuple[Ints, ...]:
    """The fields of a view that describe the tables of each variable."""
    tables = parts.potentials[entries(parts.potential_offsets, variables)]
    n_tables = np.diff(parts.potential_offsets)[variables]
    flat, sizes = entries(parts.scope_offsets, tables), np.diff(parts.scope_offsets)[tables]
    is_target = parts.scopes[flat] == np.repeat(np.repeat(variables, n_tables), sizes)
    others = flat[~is_target]
    return (
        offsets_of(n_tables), parts.value_offsets[tables], parts.strides[flat[is_target]],
        offsets_of(sizes - 1), parts.scopes[others], parts.strides[others],
    )  # fmt: skip


def _places(columns: Sequence[Ints], owners: Ints, variables: Ints) -> Ints:
    """The place of each variable in columns[owner], for pairs of an owner and a variable."""
    offsets, listed = offsets_of(map(len, columns)), flatten(columns)
    n = int(listed.max()) + 1
    codes = np.repeat(np.arange(len(columns)), np.diff(offsets)) * n + listed
    order = np.argsort(codes)
    places: Ints = order[np.searchsorted(codes, owners * n + variables, sorter=order)]
    return places - offsets[owners]


def _final(codes: Codes) -> Codes:
    """Read-only codes of one type for the kernels."""
    copy = np.ascontiguousarray(codes, dtype=np.uint16).view()
    copy.flags.writeable = False
    return copy

"""Loops over rows for the pseudo-likelihood of tables and rules: its value and gradient.

A rule touches the conditional of its variable v in the rows where its other conditions hold. These
rows are found once, by AND over bit sets, and kept as lists: then one evaluation is, for each
variable, additions at listed rows, exponentials over all rows, and sums over listed rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane._jit import kernel, popcount, trailing_zeros
from counterpane.learn.interactions._exp_kernels import exponentials, logarithms
from counterpane.typing import Array, Bools, Codes, Floats, Ints, Words


class View(NamedTuple):
    """Weighted rows, and what each of some variables needs to know about its own share of them.

    Variable variables[i] has its codes in row own[i] of `codes`, and reads the columns
    row_from[i] … row_to[i]−1. The tables that touch it are table_from[i] … table_from[i+1]−1; their
    other variables lie in rows other_columns of `codes` and count other_strides.
    """

    codes: Codes
    weights: Floats
    variables: Ints
    own: Ints
    row_from: Ints
    row_to: Ints
    table_from: Ints
    table_starts: Ints
    table_steps: Ints
    other_from: Ints
    other_columns: Ints
    other_strides: Ints


class Conjunctions(NamedTuple):
    """Which rows to list: those from word word_from[c] to word_to[c]−1 where all conditions hold.

    Conjunction c has the conditions first[c] … last[c]−1, but for those on the variable skipped[c].
    Condition k is the bit set literals[k], or what is not in it.
    """

    word_from: Ints
    word_to: Ints
    first: Ints
    last: Ints
    skipped: Ints
    variables: Ints
    literals: Ints
    negated: Bools


class Lists(NamedTuple):
    """The rows that entry e of the rules reads: positions[offsets[l]] … with l = of_entry[e].

    Positions count from the first row of the entry's variable. Where opposite[l], they are those of
    all other rows: no list has more than half of them.
    """

    of_entry: Ints
    offsets: Ints
    opposite: Bools
    positions: Array  # uint16


@kernel
def count_rows(
    words: Words, valid: Words, asked: Conjunctions, mask: Words, sizes: Ints, opposite: Bools
) -> None:
    """Fill `sizes` and `opposite` of the lists of some conjunctions."""
    for c in range(sizes.size):
        width = _conjunction(words, valid, asked, c, mask)
        size, whole = 0, 0
        for w in range(width):
            size += popcount(mask[w])
            whole += popcount(valid[asked.word_from[c] + w])
        opposite[c] = 2 * size > whole
        sizes[c] = whole - size if opposite[c] else size


@kernel
def list_rows(
    words: Words, valid: Words, asked: Conjunctions, mask: Words, opposite: Bools, starts: Ints,
    positions: Array,
) -> None:  # fmt: skip
    """Write the positions of each list from starts[c] on."""
    for c in range(opposite.size):
        width = _conjunction(words, valid, asked, c, mask)
        end = starts[c]
        for w in range(width):
            bits = mask[w]
            if opposite[c]:
                bits = valid[asked.word_from[c] + w] & ~bits
            while bits != 0:
                positions[end] = w * 64 + trailing_zeros(bits)
                end += 1
                bits &= bits - np.uint64(1)


@kernel
def _conjunction(words: Words, valid: Words, asked: Conjunctions, c: int, mask: Words) -> int:
    """Fill the start of `mask` with the rows where conjunction c holds; returns its words."""
    lo, hi = asked.word_from[c], asked.word_to[c]
    mask[: hi - lo] = valid[lo:hi]
    for k in range(asked.first[c], asked.last[c]):
        if asked.variables[k] == asked.skipped[c]:
            continue
        column = words[asked.literals[k], lo:hi]
        if asked.negated[k]:
            for w in range(hi - lo):
                mask[w] &= ~column[w]
        else:
            for w in range(hi - lo):
                mask[w] &= column[w]
    return int(hi - lo)


@kernel
def add_pseudo_gradient(
    view: View, lists: Lists, cards: Ints, entry_from: Ints, slot_from: Ints, first: int, last: int,
    values: Floats, by_slot: Floats, minus_pll: Floats, value_slopes: Floats, slot_slopes: Floats,
) -> None:  # fmt: skip
    """Add −Σ weight · ln P(own code | rest) of variables first … last−1 of a view, and slopes.

    Entry e of variable v counts by_slot[slot_from[v] + (e − entry_from[v]) · (card − 1) + s − 1]
    for state s against state 0. The slope of a state is Σ weight · (P(it | rest) − whether it is).
    """
    most_rows, most_states = 0, 1
    for i in range(first, last):
        most_rows = max(most_rows, view.row_to[i] - view.row_from[i])
        most_states = max(most_states, cards[view.variables[i]])
    scores = np.empty(most_states * most_rows)
    scratch = np.empty(most_states * most_rows)
    totals = np.empty(most_rows)
    constants = np.zeros(most_states)
    cells = np.empty(most_rows, np.int64)
    for i in range(first, last):
        v = view.variables[i]
        states, rows = cards[v], view.row_to[i] - view.row_from[i]
        mine = scores[: states * rows]
        mine[:] = 0.0
        for t in range(view.table_from[i], view.table_from[i + 1]):
            _cells(view, i, t, cells)
            _read_table(cells[:rows], view.table_steps[t], states, values, mine)
        slots = slot_from[v]
        for e in range(entry_from[v], entry_from[v + 1]):
            _add_entry(lists, e, by_slot[slots : slots + states - 1], constants, mine)
            slots += states - 1
        for s in range(1, states):
            mine[s * rows : (s + 1) * rows] += constants[s]
        minus_pll[v] += _to_slopes(
            view.codes[view.own[i], view.row_from[i] : view.row_to[i]],
            view.weights[view.row_from[i] : view.row_to[i]],
            states, mine, scratch[: states * rows], totals[:rows],
        )  # fmt: skip
        for s in range(1, states):
            constants[s] = mine[s * rows : (s + 1) * rows].sum()
        slots = slot_from[v]
        for e in range(entry_from[v], entry_from[v + 1]):
            _sum_entry(lists, e, mine, constants, slot_slopes[slots : slots + states - 1])
            slots += states - 1
        constants[:] = 0.0
        for t in range(view.table_from[i], view.table_from[i + 1]):
            _cells(view, i, t, cells)
            _spread_table(cells[:rows], view.table_steps[t], states, mine, value_slopes)


@kernel
def _cells(view: View, i: int, t: int, cells: Ints) -> None:
    """Fill the start of `cells` with the cell of each row that has variable i in state 0."""
    lo, hi = view.row_from[i], view.row_to[i]
    cells[: hi - lo] = view.table_starts[t]
    for k in range(view.other_from[t], view.other_from[t + 1]):
        column = view.codes[view.other_columns[k], lo:hi]
        stride = view.other_strides[k]
        for row in range(hi - lo):
            cells[row] += np.int64(column[row]) * stride


@kernel
def _read_table(cells: Ints, step: int, states: int, values: Floats, scores: Floats) -> None:
    """Add what a table says for each state against state 0."""
    for s in range(1, states):
        mine = scores[s * cells.size : (s + 1) * cells.size]
        for row in range(cells.size):
            mine[row] += values[cells[row] + s * step] - values[cells[row]]


@kernel
def _spread_table(cells: Ints, step: int, states: int, slopes: Floats, out: Floats) -> None:
    """Add the slope of each state to the cell it reads."""
    for s in range(states):
        mine = slopes[s * cells.size : (s + 1) * cells.size]
        for row in range(cells.size):
            out[cells[row] + s * step] += mine[row]


@kernel
def _add_entry(lists: Lists, e: int, numbers: Floats, constants: Floats, scores: Floats) -> None:
    """Add an entry's numbers at its rows: where these are not listed, to all but the listed."""
    which = lists.of_entry[e]
    listed = lists.positions[lists.offsets[which] : lists.offsets[which + 1]]
    rows = scores.size // (numbers.size + 1)
    for s in range(numbers.size):
        number = numbers[s]
        if number == 0.0:
            continue
        if lists.opposite[which]:
            constants[s + 1] += number
            number = -number
        mine = scores[(s + 1) * rows : (s + 2) * rows]
        for k in range(listed.size):
            mine[listed[k]] += number


@kernel
def _sum_entry(lists: Lists, e: int, slopes: Floats, totals: Floats, out: Floats) -> None:
    """Add the slopes at an entry's rows; four sums side by side, as each addition waits."""
    which = lists.of_entry[e]
    listed = lists.positions[lists.offsets[which] : lists.offsets[which + 1]]
    rows = slopes.size // (out.size + 1)
    whole = listed.size // 4 * 4
    for s in range(out.size):
        mine = slopes[(s + 1) * rows : (s + 2) * rows]
        a = b = c = d = 0.0
        for k in range(0, whole, 4):
            a += mine[listed[k]]
            b += mine[listed[k + 1]]
            c += mine[listed[k + 2]]
            d += mine[listed[k + 3]]
        for k in range(whole, listed.size):
            a += mine[listed[k]]
        found = (a + b) + (c + d)
        out[s] += totals[s + 1] - found if lists.opposite[which] else found


@kernel
def _to_slopes(
    own: Codes, weights: Floats, states: int, scores: Floats, scratch: Floats, totals: Floats
) -> float:
    """Replace scores, those of state 0 first, by slopes; returns −Σ weight · ln P(own state)."""
    rows = own.size
    totals[:] = scores[:rows]
    for s in range(1, states):
        for row in range(rows):
            totals[row] = max(totals[row], scores[s * rows + row])
    for s in range(states):
        for row in range(rows):
            scores[s * rows + row] -= totals[row]
    minus = 0.0
    for row in range(rows):
        minus -= weights[row] * scores[np.int64(own[row]) * rows + row]
    exponentials(scores, scratch)
    totals[:] = scores[:rows]
    for s in range(1, states):
        for row in range(rows):
            totals[row] += scores[s * rows + row]
    for s in range(states):
        for row in range(rows):
            scores[s * rows + row] *= weights[row] / totals[row]
    for row in range(rows):
        scores[np.int64(own[row]) * rows + row] -= weights[row]
    logarithms(totals, scratch[:rows])
    for row in range(rows):
        minus += weights[row] * totals[row]
    return minus

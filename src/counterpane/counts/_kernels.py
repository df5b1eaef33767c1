"""Counting loops: bit sets, mixed radix, weights, all pairs.

Queries come as flat arrays: query q counts the columns `scopes[scope_from[q]:scope_from[q+1]]`
into `out[out_from[q]:out_from[q+1]]`, last column fastest. `queries` says which q to count.

Slices are taken before the loops and indices are unsigned where it matters: both keep LLVM's
vectorizer working, and no test but a speed test would notice their loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpane._jit import kernel, popcount

CHUNK_WORDS = 512  # 32,768 rows: the masks of a prefix stay in the first-level cache
BLOCK_ROWS = 8192  # rows coded at a time: the codes stay in the first-level cache
SPLIT_CELLS = 1024  # below this a histogram is split four ways, so that equal neighbors do not wait


@kernel
def and_count(a: Any, b: Any, out: Any) -> int:
    """Fill `out` with a & b; return the number of set bits."""
    total = 0
    for i in range(out.size):
        word = a[i] & b[i]
        out[i] = word
        total += popcount(word)
    return total


@kernel
def _count_ones(a: Any) -> int:
    total = 0
    for i in range(a.size):
        total += popcount(a[i])
    return total


@kernel
def count_common(a: Any, b: Any) -> int:
    total = 0
    for i in range(a.size):
        total += popcount(a[i] & b[i])
    return total


@kernel
def _count_last(mask: Any, total: int, bits: Any, first: int, card: int, lo: int, out: Any) -> None:
    """Add to `out` the counts of the last column's states within `mask`, one by subtraction."""
    hi = lo + mask.size
    for state in range(card - 1):
        if total == 0:
            return
        common = count_common(mask, bits[first + state, lo:hi])
        out[state] += common
        total -= common
    out[card - 1] += total


@kernel
def _count_prefixes(bits: Any, first: Any, scope: Any, cards: Any, lo: int, hi: int,
                    masks: Any, state: Any, out: Any) -> None:  # fmt: skip
    """Count one query of two or more columns over words lo … hi, walking its prefixes in order.

    masks[d] holds the rows that match the first d+1 columns' present states.
    """
    depth = scope.size - 1
    last = scope[depth]
    card = cards[last]
    width = hi - lo
    prefixes = out.size // card
    level = 0
    state[:depth] = 0
    for prefix in range(prefixes):
        total = 0
        if level == 0:
            masks[0, :width] = bits[first[scope[0]] + state[0], lo:hi]
            total = _count_ones(masks[0, :width])
            level = 1
        while level < depth:
            row = bits[first[scope[level]] + state[level], lo:hi]
            total = and_count(masks[level - 1, :width], row, masks[level, :width])
            level += 1
        cells = out[prefix * card : (prefix + 1) * card]
        _count_last(masks[depth - 1, :width], total, bits, first[last], card, lo, cells)
        level = depth - 1
        state[level] += 1
        while level > 0 and state[level] == cards[scope[level]]:
            state[level] = 0
            level -= 1
            state[level] += 1


@kernel
def count_bits(bits: Any, first: Any, cards: Any, scopes: Any, scope_from: Any, out_from: Any,
               queries: Any, word_from: int, word_to: int, out: Any) -> None:  # fmt: skip
    """Add counts over words word_from … word_to, by bit sets: row first[v] + s is column v = s."""
    longest = 1
    for q in queries:
        longest = max(longest, scope_from[q + 1] - scope_from[q])
    masks = np.empty((longest, CHUNK_WORDS), np.uint64)
    state = np.zeros(longest, np.int64)
    for lo in range(word_from, word_to, CHUNK_WORDS):
        hi = min(lo + CHUNK_WORDS, word_to)
        for q in queries:
            scope = scopes[scope_from[q] : scope_from[q + 1]]
            cells = out[out_from[q] : out_from[q + 1]]
            if scope.size == 1:
                for s in range(cells.size):
                    cells[s] += _count_ones(bits[first[scope[0]] + s, lo:hi])
            else:
                _count_prefixes(bits, first, scope, cards, lo, hi, masks, state, cells)


@kernel
def code_rows(codes: Any, scope: Any, cards: Any, lo: int, hi: int, cell: Any) -> None:
    """Fill `cell` with the mixed-radix cell of each row, column by column so that it vectorizes.

    `cell` is uint16 or uint32; the caller makes sure that the largest cell fits.
    """
    cell[:] = 0
    for k in range(scope.size):
        column = codes[scope[k], lo:hi]
        radix = cell.dtype.type(cards[scope[k]])
        for i in range(cell.size):
            cell[i] = cell[i] * radix + column[i]


@kernel
def histogram(cell: Any, split: Any, out: Any) -> None:
    """Add 1 to `out` at each cell; small tables go through four histograms at a time."""
    if out.size > SPLIT_CELLS:
        for i in range(cell.size):
            out[np.uint64(cell[i])] += 1
        return
    size = np.uint64(out.size)
    split[: 4 * out.size] = 0
    whole = cell.size // 4 * 4
    for i in range(0, whole, 4):
        split[np.uint64(cell[i])] += np.uint32(1)
        split[size + np.uint64(cell[i + 1])] += np.uint32(1)
        split[2 * size + np.uint64(cell[i + 2])] += np.uint32(1)
        split[3 * size + np.uint64(cell[i + 3])] += np.uint32(1)
    for i in range(whole, cell.size):
        split[np.uint64(cell[i])] += np.uint32(1)
    for j in range(out.size):
        out[j] += split[j] + split[out.size + j] + split[2 * out.size + j] + split[3 * out.size + j]


@kernel
def count_radix(codes: Any, cards: Any, scopes: Any, scope_from: Any, out_from: Any, queries: Any,
                row_from: int, row_to: int, out: Any) -> None:  # fmt: skip
    """Add counts over rows row_from … row_to, in two phases: cells of a block, then a histogram."""
    narrow = np.empty(BLOCK_ROWS, np.uint16)
    wide = np.empty(BLOCK_ROWS, np.uint32)
    split = np.empty(4 * SPLIT_CELLS, np.uint32)
    for lo in range(row_from, row_to, BLOCK_ROWS):
        hi = min(lo + BLOCK_ROWS, row_to)
        for q in queries:
            scope = scopes[scope_from[q] : scope_from[q + 1]]
            table = out[out_from[q] : out_from[q + 1]]
            if table.size <= 65536:
                code_rows(codes, scope, cards, lo, hi, narrow[: hi - lo])
                histogram(narrow[: hi - lo], split, table)
            else:
                code_rows(codes, scope, cards, lo, hi, wide[: hi - lo])
                histogram(wide[: hi - lo], split, table)


@kernel
def count_weighted(codes: Any, weights: Any, cards: Any, scopes: Any, scope_from: Any,
                   out_from: Any, queries: Any, row_from: int, row_to: int,
                   out: Any) -> None:  # fmt: skip
    """Add the weights of rows row_from … row_to, in row order; `out` has the weights' type."""
    wide = np.empty(BLOCK_ROWS, np.uint32)
    for lo in range(row_from, row_to, BLOCK_ROWS):
        hi = min(lo + BLOCK_ROWS, row_to)
        for q in queries:
            table = out[out_from[q] : out_from[q + 1]]
            cell = wide[: hi - lo]
            code_rows(codes, scopes[scope_from[q] : scope_from[q + 1]], cards, lo, hi, cell)
            for i in range(hi - lo):
                table[np.uint64(cell[i])] += weights[lo + i]


@kernel
def pair_popcounts(left: Any, left_rows: Any, left_lo: int, right: Any, right_rows: Any,
                   right_lo: int, width: int, symmetric: bool, out_rows: Any,
                   out: Any) -> None:  # fmt: skip
    """Add to out[out_rows[a], b] the bits common to left[left_rows[a]] and right[right_rows[b]].

    `width` words are compared, from left_lo and right_lo on. Tiles of 64 rows stay in the
    second-level cache. With `symmetric` (both sides are the same) only blocks that reach the
    diagonal or lie above it are filled.
    """
    words, tile = 1024, 64
    n_left, n_right = left_rows.size, right_rows.size
    whole = n_right // 4 * 4
    for start in range(0, width, words):
        size = min(words, width - start)
        lo, ro = left_lo + start, right_lo + start
        for first in range(0, n_left, tile):
            end = min(first + tile, n_left)
            for b in range(0, whole, 4):
                stop = min(end, b + 4) if symmetric else end
                a = first
                while a + 4 <= stop:
                    _block_of_16(left, left_rows, lo, right, right_rows, ro, size, a, b, out_rows,
                                 out)  # fmt: skip
                    a += 4
                for i in range(a, stop):
                    _block_of_4(left, left_rows, lo, right, right_rows, ro, size, i, b, out_rows,
                                out)  # fmt: skip
            for j in range(whole, n_right):
                theirs = right[right_rows[j], ro : ro + size]
                for i in range(first, end):
                    out[out_rows[i], j] += count_common(left[left_rows[i], lo : lo + size], theirs)


@kernel
def _block_of_16(left: Any, left_rows: Any, lo: int, right: Any, right_rows: Any, ro: int,
                 size: int, a: int, b: int, out_rows: Any, out: Any) -> None:  # fmt: skip
    """Four rows by four, unrolled so that each loaded word serves four counts."""
    a0 = left[left_rows[a], lo : lo + size]
    a1 = left[left_rows[a + 1], lo : lo + size]
    a2 = left[left_rows[a + 2], lo : lo + size]
    a3 = left[left_rows[a + 3], lo : lo + size]
    b0 = right[right_rows[b], ro : ro + size]
    b1 = right[right_rows[b + 1], ro : ro + size]
    b2 = right[right_rows[b + 2], ro : ro + size]
    b3 = right[right_rows[b + 3], ro : ro + size]
    s00 = s01 = s02 = s03 = 0
    s10 = s11 = s12 = s13 = 0
    s20 = s21 = s22 = s23 = 0
    s30 = s31 = s32 = s33 = 0
    for w in range(size):
        s00 += popcount(a0[w] & b0[w])
        s01 += popcount(a0[w] & b1[w])
        s02 += popcount(a0[w] & b2[w])
        s03 += popcount(a0[w] & b3[w])
        s10 += popcount(a1[w] & b0[w])
        s11 += popcount(a1[w] & b1[w])
        s12 += popcount(a1[w] & b2[w])
        s13 += popcount(a1[w] & b3[w])
        s20 += popcount(a2[w] & b0[w])
        s21 += popcount(a2[w] & b1[w])
        s22 += popcount(a2[w] & b2[w])
        s23 += popcount(a2[w] & b3[w])
        s30 += popcount(a3[w] & b0[w])
        s31 += popcount(a3[w] & b1[w])
        s32 += popcount(a3[w] & b2[w])
        s33 += popcount(a3[w] & b3[w])
    row = out[out_rows[a]]
    row[b] += s00
    row[b + 1] += s01
    row[b + 2] += s02
    row[b + 3] += s03
    row = out[out_rows[a + 1]]
    row[b] += s10
    row[b + 1] += s11
    row[b + 2] += s12
    row[b + 3] += s13
    row = out[out_rows[a + 2]]
    row[b] += s20
    row[b + 1] += s21
    row[b + 2] += s22
    row[b + 3] += s23
    row = out[out_rows[a + 3]]
    row[b] += s30
    row[b + 1] += s31
    row[b + 2] += s32
    row[b + 3] += s33


@kernel
def _block_of_4(left: Any, left_rows: Any, lo: int, right: Any, right_rows: Any, ro: int,
                size: int, a: int, b: int, out_rows: Any, out: Any) -> None:  # fmt: skip
    """One row by four."""
    a0 = left[left_rows[a], lo : lo + size]
    b0 = right[right_rows[b], ro : ro + size]
    b1 = right[right_rows[b + 1], ro : ro + size]
    b2 = right[right_rows[b + 2], ro : ro + size]
    b3 = right[right_rows[b + 3], ro : ro + size]
    s0 = s1 = s2 = s3 = 0
    for w in range(size):
        s0 += popcount(a0[w] & b0[w])
        s1 += popcount(a0[w] & b1[w])
        s2 += popcount(a0[w] & b2[w])
        s3 += popcount(a0[w] & b3[w])
    row = out[out_rows[a]]
    row[b] += s0
    row[b + 1] += s1
    row[b + 2] += s2
    row[b + 3] += s3


@kernel
def pair_weights(codes: Any, weights: Any, left: Any, left_from: Any, right: Any, right_from: Any,
                 row_from: int, row_to: int, out: Any) -> None:  # fmt: skip
    """Add the weights of rows row_from … row_to to out[left_from[i] + s, right_from[j] + t].

    A plain loop over all pairs: a matrix product of indicators costs the square of the states, and
    its threads spin on busy cores.
    """
    for lo in range(row_from, row_to, BLOCK_ROWS):
        hi = min(lo + BLOCK_ROWS, row_to)
        weight = weights[lo:hi]
        for i in range(left.size):
            mine = codes[left[i], lo:hi]
            for j in range(right.size):
                other = codes[right[j], lo:hi]
                for r in range(hi - lo):
                    a = np.uint64(left_from[i]) + np.uint64(mine[r])
                    b = np.uint64(right_from[j]) + np.uint64(other[r])
                    out[a, b] += weight[r]


@kernel
def spread_pairs(joint: Any, left_cards: Any, right_cards: Any, left_ones: Any, right_ones: Any,
                 symmetric: bool, out: Any) -> None:  # fmt: skip
    """Fill `out`, all states by all states, from `joint`, which leaves out each last state.

    `left_ones` and `right_ones` count each state alone; a last state is what the others leave.
    """
    i_all = i_kept = 0
    for i in range(left_cards.size):
        r = left_cards[i]
        j_all = j_kept = 0
        for j in range(right_cards.size):
            c = right_cards[j]
            if not symmetric or j >= i:
                for s in range(r - 1):
                    rest = left_ones[i_all + s]
                    for t in range(c - 1):
                        cell = joint[i_kept + s, j_kept + t]
                        out[i_all + s, j_all + t] = cell
                        rest -= cell
                    out[i_all + s, j_all + c - 1] = rest
                for t in range(c):
                    rest = right_ones[j_all + t]
                    for s in range(r - 1):
                        rest -= out[i_all + s, j_all + t]
                    out[i_all + r - 1, j_all + t] = rest
                if symmetric:
                    for s in range(r):
                        for t in range(c):
                            out[j_all + t, i_all + s] = out[i_all + s, j_all + t]
            j_all += c
            j_kept += c - 1
        i_all += r
        i_kept += r - 1


@kernel
def lay_out(cards: Any, scopes: Any, scope_from: Any, max_cells: int, out_from: Any) -> int:
    """Fill `out_from` for the queries; a table above `max_cells` gets no cells.

    Returns -1, or the first query that names a column out of range or twice.
    """
    seen = np.full(cards.size, -1, np.int64)
    out_from[0] = 0
    for q in range(scope_from.size - 1):
        cells = 1.0  # the product of many cards overflows an integer, not a float
        for k in range(scope_from[q], scope_from[q + 1]):
            column = scopes[k]
            if column < 0 or column >= cards.size or seen[column] == q:
                return q
            seen[column] = q
            cells *= cards[column]
        end = out_from[q] + (cells if cells <= max_cells else 0.0)
        out_from[q + 1] = int(min(end, 2.0**62))
    return -1

"""Loops that grow one tree: a node is a bit set of rows, and a list of rows where it is small."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane._jit import kernel, trailing_zeros
from counterpane.counts._kernels import count_common, pair_popcounts
from counterpane.typing import Bools, Codes, Floats, Ints, Words

ROUNDING = 1e-13  # of N ln N, by which a later question must be better than an earlier one


class Rows(NamedTuple):
    """A table as trees are grown from it: what is asked, and who says yes.

    Question q asks whether column `columns[q]` has the code `values[q]`; `bit_rows[q]` is its row
    in `words`, and `first[v]` the row of code 0 of column v. Row i answers yes to the questions
    `yes[yes_from[i]:yes_from[i+1]]`. Where `weights` has a size, bits are not counted.
    """

    codes: Codes
    weights: Ints
    words: Words
    first: Ints
    columns: Ints
    values: Ints
    bit_rows: Ints
    yes_from: Ints
    yes: Any  # uint16 or uint32


class Scratch(NamedTuple):
    """What a thread needs to grow one tree after another.

    A level holds a node that waits. The lighter of two children is grown first, so that as many
    levels are enough as their weight has bits.
    """

    node: Ints  # of each level
    is_list: Bools  # whether its rows are order[start:stop], else the bits of its mask
    start: Ints
    stop: Ints
    masks: Words
    tables: Ints  # (levels, states, questions): weight of the rows that say yes
    state_masks: Words
    order: Any  # int32: rows of the nodes held as lists
    states: Ints  # 0, 1, …
    sums: Ints  # of a table over the states
    allowed: Bools  # the questions that the tree may ask


class Grown(NamedTuple):
    """The nodes of a tree, the first of them the root.

    `asked` is a node's question (−1: a leaf), `children` the nodes of its yes and no. `gains` is
    the least gain of all questions from the root to the node's own, −∞ at a leaf: at a higher
    price, the tree is the nodes whose parents' `gains` are above it. `counts` are units.
    """

    asked: Ints
    children: Ints
    gains: Floats
    counts: Ints


class Terms(NamedTuple):
    """When a node is split, and what a leaf is worth.

    A split must gain more than `price` nats and leave `least` units, each a weight of `unit`, on
    both sides. The rows of a node are listed if there are at most `few`. A leaf of N = Σ c has the
    log-likelihood Σ c ln(c + pseudo) − N ln(N + states · pseudo). `c_logs` and `n_logs` hold these
    terms by c and by N, or nothing.
    """

    price: float
    least: int
    few: int
    unit: float
    pseudo: float
    c_logs: Floats
    n_logs: Floats


@kernel
def spread_bits(words: Words, bit_rows: Ints, n_rows: int, yes_from: Ints, yes: Any) -> None:
    """Fill `yes_from` and `yes` of `Rows`; an empty `yes` gets nothing."""
    if yes.size == 0:
        yes_from[:] = 0
        for q in range(bit_rows.size):
            row = words[bit_rows[q]]
            for w in range(row.size):
                word = row[w]
                while word:
                    yes_from[64 * w + trailing_zeros(word) + 1] += 1
                    word &= word - np.uint64(1)
        for i in range(n_rows):
            yes_from[i + 1] += yes_from[i]
        return
    at = yes_from[:-1].copy()
    for q in range(bit_rows.size):
        row = words[bit_rows[q]]
        for w in range(row.size):
            word = row[w]
            while word:
                i = 64 * w + trailing_zeros(word)
                yes[at[i]] = q
                at[i] += 1
                word &= word - np.uint64(1)


@kernel
def grow(rows: Rows, target: int, terms: Terms, use: Scratch, out: Grown) -> int:
    """Grow the tree of `target` into `out`; return its number of nodes."""
    _plant(rows, target, use, out)
    n_nodes, level = 1, 0
    while level >= 0:
        node = use.node[level]
        counts = out.counts[node]
        best, gain = -1, 0.0
        if _may_split(counts, terms):
            table = use.tables[level]
            best, gain = _best_question(counts, table, terms, use.allowed, use.sums)
        out.asked[node] = best
        if best < 0:
            out.children[node] = -1
            out.gains[node] = -np.inf
            level -= 1
            continue
        out.gains[node] = min(gain, out.gains[node])
        for s in range(counts.size):
            out.counts[n_nodes, s] = use.tables[level, s, best]
            out.counts[n_nodes + 1, s] = counts[s] - use.tables[level, s, best]
        for child in range(2):
            out.children[node, child] = n_nodes + child
            out.gains[n_nodes + child] = out.gains[node]
        _divide(rows, target, best, terms, level, use, out)
        n_nodes += 2
        level += 1
    return n_nodes


@kernel
def _plant(rows: Rows, target: int, use: Scratch, out: Grown) -> None:
    """Put all rows into level 0, and count them."""
    n_rows = rows.codes.shape[1]
    use.node[0] = 0
    out.gains[0] = np.inf
    use.is_list[0] = rows.weights.size > 0
    if use.is_list[0]:
        use.start[0], use.stop[0] = 0, n_rows
        for i in range(n_rows):
            use.order[i] = i
    else:
        mask = use.masks[0]
        mask[:] = 0
        for s in range(out.counts.shape[1]):
            theirs = rows.words[rows.first[target] + s]
            for w in range(mask.size):
                mask[w] |= theirs[w]
    _count(rows, target, 0, use)
    own = out.counts[0]
    own[:] = 0
    for i in range(n_rows):
        own[np.int64(rows.codes[target, i])] += rows.weights[i] if rows.weights.size else 1


@kernel
def _count(rows: Rows, target: int, level: int, use: Scratch) -> None:
    """Fill the table of the node at `level`."""
    table = use.tables[level]
    table[:] = 0
    if use.is_list[level]:
        for k in range(use.start[level], use.stop[level]):
            i = use.order[k]
            weight = rows.weights[i] if rows.weights.size else 1
            cells = table[np.int64(rows.codes[target, i])]
            for e in range(rows.yes_from[i], rows.yes_from[i + 1]):
                cells[np.uint64(rows.yes[e])] += weight
        return
    mask = use.masks[level]
    for s in range(table.shape[0]):
        theirs, own = rows.words[rows.first[target] + s], use.state_masks[s]
        for w in range(mask.size):
            own[w] = mask[w] & theirs[w]
    pair_popcounts(use.state_masks, use.states, 0, rows.words, rows.bit_rows, 0, mask.size,
                   False, use.states, table)  # fmt: skip


@kernel
def _c_log(count: int, pseudo: float, unit: float, logs: Floats) -> float:
    """c ln(c + pseudo): from a table where there is one."""
    if logs.size:
        return float(logs[np.uint64(count)])
    c = count * unit
    return float(c * np.log(c + pseudo)) if count else 0.0


@kernel
def log_likelihood(counts: Ints, terms: Terms) -> float:
    """That of a leaf: at most 0."""
    total, n = 0.0, 0
    for s in range(counts.size):
        total += _c_log(counts[s], terms.pseudo, terms.unit, terms.c_logs)
        n += counts[s]
    return total - _c_log(n, counts.size * terms.pseudo, terms.unit, terms.n_logs)


@kernel
def _may_split(counts: Ints, terms: Terms) -> bool:
    """Whether a node has enough rows, and more left to gain than a split costs."""
    return counts.sum() >= 2 * terms.least and -log_likelihood(counts, terms) > terms.price


@kernel
def _best_question(counts: Ints, table: Ints, terms: Terms, allowed: Bools,
                   sums: Ints) -> tuple[int, float]:  # fmt: skip
    """The first allowed question of greatest gain, and the gain; −1 where none gains the price."""
    n, states = counts.sum(), counts.size
    alone = log_likelihood(counts, terms)
    best, most = -1, alone + terms.price
    tie = ROUNDING * (1e3 + _c_log(n, states * terms.pseudo, terms.unit, terms.n_logs))
    sums[:] = table[0]
    for s in range(1, states):
        row = table[s]
        for q in range(row.size):
            sums[q] += row[q]
    low, high = terms.least, n - terms.least
    for q in range(sums.size):
        yes = sums[q]
        if yes < low or yes > high or not allowed[q]:
            continue
        total = 0.0
        for s in range(states):
            total += _c_log(table[s, q], terms.pseudo, terms.unit, terms.c_logs)
            total += _c_log(counts[s] - table[s, q], terms.pseudo, terms.unit, terms.c_logs)
        total -= _c_log(yes, states * terms.pseudo, terms.unit, terms.n_logs)
        total -= _c_log(n - yes, states * terms.pseudo, terms.unit, terms.n_logs)
        if total > most + (tie if best >= 0 else 0.0):
            best, most = q, total
    return best, most - alone


@kernel
def _divide(rows: Rows, target: int, question: int, terms: Terms, level: int, use: Scratch,
            out: Grown) -> None:  # fmt: skip
    """Leave the larger child in the place of its parent, and put the smaller on the next level."""
    children = out.children[use.node[level]]
    if not use.is_list[level] and out.counts[use.node[level]].sum() <= terms.few:
        _list_rows(level, use)
    small = level + 1
    yes, no = out.counts[children[0]].sum(), out.counts[children[1]].sum()
    yes_is_small = yes <= no
    if use.is_list[level]:
        start, stop = use.start[level], use.stop[level]
        column, value = rows.columns[question], rows.values[question]
        middle = _partition(rows.codes[column], value, use.order, start, stop)
        use.is_list[small] = True
        use.start[small], use.stop[small] = (start, middle) if yes_is_small else (middle, stop)
        use.start[level], use.stop[level] = (middle, stop) if yes_is_small else (start, middle)
    else:
        theirs = rows.words[rows.bit_rows[question]]
        _split(use.masks[level], theirs, yes_is_small, use.masks[small])
        use.is_list[small] = False
        if min(yes, no) <= terms.few:
            _list_rows(small, use)
    use.node[small], use.node[level] = children[0], children[1]
    if not yes_is_small:
        use.node[small], use.node[level] = children[1], children[0]
    if _may_split(out.counts[children[0]], terms) or _may_split(out.counts[children[1]], terms):
        _count(rows, target, small, use)
        for s in range(out.counts.shape[1]):
            left, gone = use.tables[level, s], use.tables[small, s]
            for q in range(gone.size):
                left[q] -= gone[q]


@kernel
def _split(mask: Any, yes: Any, take_yes: bool, out: Any) -> None:
    """Move the rows of `mask` that say yes, or those that say no, to `out`."""
    flip = np.uint64(0) if take_yes else ~np.uint64(0)
    for w in range(mask.size):
        out[w] = mask[w] & (yes[w] ^ flip)
        mask[w] ^= out[w]


@kernel
def _list_rows(level: int, use: Scratch) -> None:
    """Make a list of a mask; no lower level is a list, since children of lists are."""
    use.is_list[level] = True
    at, mask = 0, use.masks[level]
    for w in range(mask.size):
        word = mask[w]
        while word:
            use.order[at] = 64 * w + trailing_zeros(word)
            at += 1
            word &= word - np.uint64(1)
    use.start[level], use.stop[level] = 0, at


@kernel
def _partition(codes: Any, value: int, order: Any, start: int, stop: int) -> int:
    """Put the rows of order[start:stop] that have `value` first; return where the others begin."""
    while start < stop:
        i = order[start]
        if codes[i] == value:
            start += 1
        else:
            stop -= 1
            order[start] = order[stop]
            order[stop] = i
    return start


@kernel
def cut(tree: Grown, rows: Rows, price: float, terms: Terms, place: Ints, asked: Ints,
        children: Ints, log_values: Floats) -> tuple[int, float]:  # fmt: skip
    """Write the tree cut back to a price; return its number of nodes and its log-likelihood.

    `asked` holds the column and the value of each question, (−1, 0) at a leaf; `log_values` the
    log-probabilities of leaves. Node k comes to place[k]; parents come before their children.
    """
    place[:] = -1
    place[0] = 0
    n, score, states = 1, 0.0, tree.counts.shape[1]
    for k in range(tree.asked.size):
        at = place[k]
        if at < 0:
            continue
        log_values[at] = 0.0
        if tree.gains[k] > price:
            asked[at, 0] = rows.columns[tree.asked[k]]
            asked[at, 1] = rows.values[tree.asked[k]]
            for child in range(2):
                children[at, child] = place[tree.children[k, child]] = n
                n += 1
            continue
        asked[at, 0], asked[at, 1] = -1, 0
        children[at] = -1
        total = tree.counts[k].sum() * terms.unit + states * terms.pseudo
        for s in range(states):
            count = tree.counts[k, s] * terms.unit
            log_values[at, s] = np.log((count + terms.pseudo) / total)
            if count > 0.0:
                score += count * log_values[at, s]
    return n, score


@kernel
def judge(words: Words, first: Ints, weights: Floats, target: int, bit_rows: Ints, tree: Grown,
          prices: Floats, terms: Terms, masks: Words, node: Ints, reach: Floats,
          out: Floats) -> None:  # fmt: skip
    """Add to `out`, by price, the log-likelihood of other rows in the tree cut back to that price.

    `bit_rows` is that of each node's question in their `words`; level 0 of `masks` holds the rows
    to begin with. As in `grow`, a level holds a node that waits; `reach` is the highest price at
    which it is there.
    """
    level = node[0] = 0
    reach[0] = np.inf
    while level >= 0:
        here, mask = node[level], masks[level]
        worth, known = 0.0, False
        for k in range(prices.size):
            if tree.gains[here] <= prices[k] < reach[level]:
                if not known:
                    states = words[first[target] :]
                    worth = _worth(mask, states, weights, tree.counts[here], terms)
                    known = True
                out[k] += worth
        size = count_common(mask, mask)
        if size == 0 or tree.asked[here] < 0:
            level -= 1
            continue
        theirs = words[bit_rows[here]]
        yes_is_small = 2 * count_common(mask, theirs) <= size
        _split(mask, theirs, yes_is_small, masks[level + 1])
        small = 0 if yes_is_small else 1
        node[level + 1], node[level] = tree.children[here, small], tree.children[here, 1 - small]
        reach[level + 1] = reach[level] = tree.gains[here]
        level += 1


@kernel
def _worth(mask: Any, states: Words, weights: Floats, counts: Ints, terms: Terms) -> float:
    """The log-likelihood of the rows of `mask` in a leaf of `counts`."""
    n = counts.sum() * terms.unit + counts.size * terms.pseudo
    total = 0.0
    for s in range(counts.size):
        if weights.size:
            weight = _sum_common(mask, states[s], weights)
        else:
            weight = float(count_common(mask, states[s]))
        if weight > 0.0:
            total += weight * np.log((counts[s] * terms.unit + terms.pseudo) / n)
    return total


@kernel
def _sum_common(a: Any, b: Any, weights: Floats) -> float:
    """The weight of the rows in both sets."""
    total = 0.0
    for w in range(a.size):
        word = a[w] & b[w]
        while word:
            total += weights[64 * w + trailing_zeros(word)]
            word &= word - np.uint64(1)
    return total

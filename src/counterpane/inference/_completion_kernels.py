"""What rows with missing cells stand for: expected counts of families, and draws of the cells.

Both begin with messages to the root of a junction tree (see `_tree_kernels`) in which what the row
shows is observed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel
from counterpane.inference._tree_kernels import (
    Tree,
    Work,
    collect,
    distribute,
    lay_out,
    read,
    scope_of,
    shared_of,
    table_of,
)
from counterpane.typing import Bools, Codes, Floats, Ints, Words

GOLDEN: Any = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX: Any = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MIX: Any = np.uint64(0x94D049BB133111EB)


@kernel
def see_row(cards: Ints, row: Ints, current: Ints, codes: Ints) -> bool:
    """Enter a row's codes as evidence, a code at the card as none; whether the gaps have moved."""
    moved = False
    for v in range(cards.size):
        seen = row[v] < cards[v]
        card = 1 if seen else cards[v]
        moved |= card != current[v]
        current[v] = card
        codes[v] = row[v] if seen else 0
    return moved


@kernel
def add_family(
    tree: Tree, k: int, f: int, cards: Ints, codes: Ints, weight: float, work: Work, asked: Ints,
    answer: Floats, out: Floats, logs: bool,
) -> None:  # fmt: skip
    """Add weight × P(factor f's variables | row) to the factor's place in `out`."""
    at, n, cells = tree.factors[f]["value"], 0, 1
    for a in range(tree.factors[f]["axis"], tree.factors[f + 1]["axis"]):
        v = tree.axes[a]
        at += codes[v] * tree.strides[a]
        if cards[v] > 1:
            asked[n] = v
            n += 1
            cells *= cards[v]
    if n == 0:
        out[at] += weight
        return
    read(tree, k, asked[:n], cards, work, answer[:cells], logs)
    for cell in range(cells):
        place, rest = at, cell
        for a in range(tree.factors[f + 1]["axis"] - 1, tree.factors[f]["axis"] - 1, -1):
            card = cards[tree.axes[a]]
            place += rest % card * tree.strides[a]
            rest //= card
        out[place] += weight * answer[cell]


@kernel
def expect_rows(
    tree: Tree, cards: Ints, rows: Ints, weights: Floats, values: Floats, least: Floats,
    work: Work, answer: Floats, out: Floats, log_weights: Floats, logs: bool,
) -> None:  # fmt: skip
    """Add each row's expected counts of all factors to `out`; fill `log_weights`, NaN: use logs."""
    current, codes = np.zeros_like(cards), np.zeros_like(cards)
    asked = np.empty_like(cards)
    stale = np.ones(tree.cliques.size - 1, dtype=np.bool_)
    for r in range(rows.shape[0]):
        if see_row(cards, rows[r], current, codes):
            lay_out(tree, current, work.nodes)
        log_weights[r] = collect(tree, current, codes, values, least, stale, work, logs)
        if not log_weights[r] > -np.inf:
            continue
        distribute(tree, current, work, logs)
        for k in range(tree.cliques.size - 1):
            for f in range(tree.cliques[k]["factor"], tree.cliques[k + 1]["factor"]):
                add_family(tree, k, f, current, codes, weights[r], work, asked, answer, out, logs)


@kernel
def next_uniform(state: Words) -> float:
    """A number in [0, 1): SplitMix64 (Steele, Lea & Flood 2014)."""
    state[0] += GOLDEN
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * FIRST_MIX
    z = (z ^ (z >> np.uint64(27))) * SECOND_MIX
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@kernel
def draw_clique(
    tree: Tree, k: int, cards: Ints, work: Work, state: Words, places: Ints, drawn: Codes,
    logs: bool,
) -> None:  # fmt: skip
    """Draw clique k's own variables given those shared with its parent, in each column of `drawn`.

    The draws lie at equal distances in the distribution, in an order of the clique's own: if all
    are from one distribution, each state is drawn as often as it should be but for less than one.
    """
    scope, shared, table = scope_of(tree, k), shared_of(tree, k), table_of(work, k)
    n_shared = 1
    for v in shared:
        n_shared *= cards[v]
    n_own = table.size // n_shared
    if n_own == 1:
        return
    n_draws = places.size
    for j in range(n_draws - 1, 0, -1):
        other = int(next_uniform(state) * (j + 1))
        places[j], places[other] = places[other], places[j]
    offset = next_uniform(state)
    for j in range(n_draws):
        column = 0
        for v in shared:
            if cards[v] > 1:
                column = column * cards[v] + drawn[v, j]
        top, total = -np.inf, 0.0
        for x in table[column::n_shared]:
            top = max(top, x)
        for x in table[column::n_shared]:
            total += math.exp(x - top) if logs else x
        rest = (places[j] + offset) / n_draws * total
        own = 0
        for i in range(n_own):
            x = table[i * n_shared + column]
            share = math.exp(x - top) if logs else x
            if share > 0.0:
                own = i
                rest -= share
                if rest < 0.0:
                    break
        for a in range(scope.size - shared.size - 1, -1, -1):
            if cards[scope[a]] > 1:
                drawn[scope[a], j] = own % cards[scope[a]]
                own //= cards[scope[a]]


@kernel
def draw_rows(
    tree: Tree, cards: Ints, rows: Ints, seeds: Words, values: Floats, least: Floats, work: Work,
    out: Codes, log_weights: Floats, logs: bool,
) -> None:  # fmt: skip
    """Fill `out`, (variables, rows × draws), with draws of each row's missing cells given the rest.

    The draws of a row follow one another, and depend on the row's seed alone.
    """
    current, codes = np.zeros_like(cards), np.zeros_like(cards)
    stale: Bools = np.ones(tree.cliques.size - 1, dtype=np.bool_)
    n_draws = out.shape[1] // rows.shape[0]
    places = np.arange(n_draws)
    state = np.empty(1, dtype=np.uint64)
    for r in range(rows.shape[0]):
        if see_row(cards, rows[r], current, codes):
            lay_out(tree, current, work.nodes)
        log_weights[r] = collect(tree, current, codes, values, least, stale, work, logs)
        if not log_weights[r] > -np.inf:
            continue
        drawn = out[:, r * n_draws : (r + 1) * n_draws]
        for v in range(cards.size):
            drawn[v, :] = codes[v]
        state[0] = seeds[r]
        places[:] = np.arange(n_draws)
        for k in range(tree.cliques.size - 1):
            draw_clique(tree, k, current, work, state, places, drawn, logs)

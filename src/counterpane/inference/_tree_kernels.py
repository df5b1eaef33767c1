"""Messages in a junction tree: what is sent where, and what is read from it in the end.

A clique's table has the axes (its own variables…, those shared with its parent…), the last
fastest. A variable that is observed has one state here: its axis is gone, and `codes` says at
which state a factor is read. Values are numbers scaled to at most 1, or natural logs if `logs`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import inlined, kernel
from counterpane.inference._kernels import (
    absorb,
    plan_walk,
    project,
    project_logs,
    rescale,
    set_steps,
)
from counterpane.typing import Array, Bools, Floats, Ints

TINY = 1e-290  # above the subnormals, with room for sums over 10⁸ cells
CLIQUE = np.dtype([(name, np.int64) for name in ("parent", "child", "scope", "shared", "factor")])
FACTOR = np.dtype([(name, np.int64) for name in ("axis", "value")])
NODE = np.dtype(
    [(name, np.int64) for name in ("table", "message")]
    + [(name, np.float64) for name in ("scale", "bound", "least")]
)


class Tree(NamedTuple):
    """A rooted junction tree as flat arrays; parents come before children, siblings in a row.

    A clique's fields say where its children, its scope, the part of the scope that it shares with
    its parent, and its factors begin; a factor's fields where its axes (with their strides) and
    its values begin. Each ends where the next one's begin.
    """

    cliques: Array
    scopes: Ints
    factors: Array
    axes: Ints
    strides: Ints


class Work(NamedTuple):
    """What one run fills in: tables and messages end to end, and what is known of each.

    A node's fields say where its clique's table and its message to (later from) the parent begin,
    the log taken out of that message, and lower bounds on the positive cells of both. `steps_of`
    is by variable, `runs` holds (size, step, place) for each run of a walk.
    """

    tables: Floats
    messages: Floats
    spare: Floats
    nodes: Array
    steps_of: Ints
    runs: Ints


@kernel
def lay_out(tree: Tree, cards: Ints, nodes: Array) -> None:
    """Fill in where each table and message begins; the last entries are the totals."""
    for k in range(tree.cliques.size - 1):
        cells = np.int64(1)
        for a in range(tree.cliques[k]["shared"], tree.cliques[k + 1]["scope"]):
            cells *= cards[tree.scopes[a]]
        nodes[k + 1]["message"] = nodes[k]["message"] + cells
        for a in range(tree.cliques[k]["scope"], tree.cliques[k]["shared"]):
            cells *= cards[tree.scopes[a]]
        nodes[k + 1]["table"] = nodes[k]["table"] + cells


@inlined
def scope_of(tree: Tree, k: int) -> Ints:
    """The variables of clique k."""
    return tree.scopes[tree.cliques[k]["scope"] : tree.cliques[k + 1]["scope"]]


@inlined
def shared_of(tree: Tree, k: int) -> Ints:
    """The variables that clique k shares with its parent."""
    return tree.scopes[tree.cliques[k]["shared"] : tree.cliques[k + 1]["scope"]]


@inlined
def table_of(work: Work, k: int) -> Floats:
    """The table of clique k."""
    return work.tables[work.nodes[k]["table"] : work.nodes[k + 1]["table"]]


@inlined
def message_of(work: Work, k: int) -> Floats:
    """The message between clique k and its parent."""
    return work.messages[work.nodes[k]["message"] : work.nodes[k + 1]["message"]]


@kernel
def sum_to(
    scope: Ints, table: Floats, cards: Ints, kept: Ints, out: Floats, work: Work, logs: bool
) -> None:
    """Fill `out`, a table over `kept`, with the sums of a table over `scope`."""
    set_steps(kept, cards, work.steps_of)
    n = plan_walk(scope, cards, work.steps_of, work.runs)
    if logs:
        project_logs(table, out, n, work.runs, work.spare)
    else:
        project(table, out, n, work.runs)


@kernel
def fill_clique(
    tree: Tree, k: int, cards: Ints, codes: Ints, values: Floats, least: Floats, work: Work,
    logs: bool,
) -> None:  # fmt: skip
    """Fill the table of clique k with the product of its factors and its children's messages.

    A factor whose `least` is 0 is passed over.
    """
    scope, table = scope_of(tree, k), table_of(work, k)
    table[:] = 0.0 if logs else 1.0
    work.nodes[k]["bound"] = 1.0
    for f in range(tree.cliques[k]["factor"], tree.cliques[k + 1]["factor"]):
        if least[f] == 0.0:
            continue
        at = tree.factors[f]["value"]
        for a in range(tree.factors[f]["axis"], tree.factors[f + 1]["axis"]):
            v = tree.axes[a]
            if cards[v] == 1:
                at += codes[v] * tree.strides[a]
            else:
                work.steps_of[v] = tree.strides[a]
        n = plan_walk(scope, cards, work.steps_of, work.runs)
        absorb(table, values, at, n, work.runs, logs)
        work.nodes[k]["bound"] *= least[f]
    for c in range(tree.cliques[k]["child"], tree.cliques[k + 1]["child"]):
        set_steps(shared_of(tree, c), cards, work.steps_of)
        n = plan_walk(scope, cards, work.steps_of, work.runs)
        absorb(table, work.messages, work.nodes[c]["message"], n, work.runs, logs)
        work.nodes[k]["bound"] *= work.nodes[c]["least"]


@kernel
def collect(
    tree: Tree, cards: Ints, codes: Ints, values: Floats, least: Floats, stale: Bools, work: Work,
    logs: bool,
) -> float:  # fmt: skip
    """ln of the total weight, after messages from all leaves to the root; NaN: logs are needed.

    Only the cliques marked `stale` are filled anew; the marks must rise to the root. The root's
    own message is one number, the total.
    """
    log_weight = 0.0
    for k in range(tree.cliques.size - 2, -1, -1):
        if stale[k]:
            fill_clique(tree, k, cards, codes, values, least, work, logs)
            if work.nodes[k]["bound"] < TINY and not logs:
                return np.nan
            scope, shared = scope_of(tree, k), shared_of(tree, k)
            message = message_of(work, k)
            sum_to(scope, table_of(work, k), cards, shared, message, work, logs)
            work.nodes[k]["scale"], work.nodes[k]["least"] = rescale(message, logs)
        log_weight += work.nodes[k]["scale"]
        if log_weight == -np.inf:
            break
    return log_weight


@kernel
def distribute(tree: Tree, cards: Ints, work: Work, logs: bool) -> None:
    """Messages from the root to all leaves, so that each table is its marginal up to a factor.

    The message down is divided by the message up, which its receiver already holds (Jensen,
    Lauritzen & Olesen 1990). What underflows here is a marginal probability below `TINY`.
    """
    half = work.spare.size // 2
    for k in range(1, tree.cliques.size - 1):
        p = tree.cliques[k]["parent"]
        scope, shared = scope_of(tree, k), shared_of(tree, k)
        message = message_of(work, k)
        ratio = work.spare[half : half + message.size]
        sum_to(scope_of(tree, p), table_of(work, p), cards, shared, ratio, work, logs)
        rescale(ratio, logs)
        for i in range(message.size):
            new, old = ratio[i], message[i]
            message[i] = new
            if logs:
                ratio[i] = new - old if old > -np.inf else -np.inf
            else:
                ratio[i] = new / old if old > 0.0 else 0.0
        set_steps(shared, cards, work.steps_of)
        n = plan_walk(scope, cards, work.steps_of, work.runs)
        absorb(table_of(work, k), work.spare, half, n, work.runs, logs)


@kernel
def read(
    tree: Tree, place: int, asked: Ints, cards: Ints, work: Work, out: Floats, logs: bool
) -> None:
    """Fill `out` with P(asked | evidence), from clique `place` or, n_cliques on, a separator."""
    n_cliques = tree.cliques.size - 1
    k = place % n_cliques
    scope, table = scope_of(tree, k), table_of(work, k)
    if place >= n_cliques:
        scope, table = shared_of(tree, k), message_of(work, k)
    sum_to(scope, table, cards, asked, out, work, logs)
    top = out[0]
    for x in out:
        top = max(top, x)
    total = 0.0
    for i in range(out.size):
        out[i] = math.exp(out[i] - top) if logs else out[i] / top
        total += out[i]
    out /= total


@kernel
def mark_stale(tree: Tree, changed: Bools, stale: Bools) -> None:
    """Mark the cliques with a factor of a changed variable, and all that lie above them."""
    stale[:] = False
    for k in range(tree.cliques.size - 2, -1, -1):
        first = tree.factors[tree.cliques[k]["factor"]]["axis"]
        for a in range(first, tree.factors[tree.cliques[k + 1]["factor"]]["axis"]):
            stale[k] |= changed[tree.axes[a]]
        if k > 0 and stale[k]:
            stale[tree.cliques[k]["parent"]] = True


@kernel
def answer_rows(
    tree: Tree, cards: Ints, columns: Ints, rows: Ints, asked: Ints, homes: Ints, values: Floats,
    least: Floats, work: Work, out: Floats, log_weights: Floats, logs: bool,
) -> None:  # fmt: skip
    """Fill `out` with probabilities and `log_weights`, for rows of evidence over `columns`.

    A code at or above the card is not observed. With `homes`, the probabilities are the marginals
    of the variables `asked`, end to end, each read from its home; without, they are the joint
    ones of `asked`, which lies in the root. Then, as rows that follow one another should look
    alike, what has not changed since the last row is not computed again. A log-weight is NaN
    where logs are needed.
    """
    current = cards.copy()
    codes = np.zeros_like(current)
    changed = np.zeros(cards.size, dtype=np.bool_)
    stale = np.ones(tree.cliques.size - 1, dtype=np.bool_)
    places = homes if homes.size else np.zeros(1, dtype=np.int64)
    width = asked.size // places.size
    kept = False
    for r in range(rows.shape[0]):
        moved = not kept
        for c in range(columns.size):
            v, code = columns[c], rows[r, c]
            card = cards[v] if code >= cards[v] else 1
            moved |= card != current[v]
            current[v] = card
            new = code if code < cards[v] else 0
            changed[v] = codes[v] != new
            codes[v] = new
        if moved:
            stale[:] = True
            lay_out(tree, current, work.nodes)
        else:
            mark_stale(tree, changed, stale)
        log_weights[r] = collect(tree, current, codes, values, least, stale, work, logs)
        possible = log_weights[r] > -np.inf  # false for NaN too
        kept = possible and homes.size == 0
        if possible:
            if homes.size:
                distribute(tree, current, work, logs)
            end = 0
            for k in range(places.size):
                some = asked[k * width : (k + 1) * width]
                start, cells = end, 1
                for v in some:
                    cells *= cards[v]
                end = start + cells
                read(tree, places[k], some, current, work, out[r, start:end], logs)

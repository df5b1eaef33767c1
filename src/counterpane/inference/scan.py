"""What Gibbs chains read when some variables are free and the others observed."""

from __future__ import annotations

import math

import numpy as np

from counterpane._core import inference as kernels
from counterpane._core.features import Parts
from counterpane._core.inference import Scan, Scopes
from counterpane.inference.factors import (
    Factors,
    aligned,
    merge,
    only,
    segments,
    widths_of,
)
from counterpane.typing import Bools, Ints, Words

TABLE_CELLS = 2**14  # of a table over free variables for rules that are too wide otherwise
ALL_CELLS = 2**22  # of all such tables: 32 MiB a thread
DENSE_SLOTS = 2**20  # conditionals remembered where all of a variable's fit
HASHED_SLOTS = 2**17  # and of all other variables together


def compile_scan(factors: Factors, cards: Ints, free: Bools) -> Scan:
    """The scan for the variables flagged as free. Cost: that of the entries of all scopes."""
    given, sizes = factors.scopes, np.diff(factors.scopes.offsets)
    open_ = free[given.variables]
    widths = np.diff(np.append(0, np.cumsum(open_))[given.offsets])
    sources = np.flatnonzero((widths > 0) & ((given.owners < 0) | free[given.owners]))
    mine = segments(sizes, sources)
    inside, outside = mine[open_[mine]], mine[~open_[mine]]
    scopes, hosts, rules = _merged(factors, cards, free, widths[sources], inside, sources)
    n = sources.size
    step_offsets, steps = aligned(
        scopes, widths[sources], given.variables[inside], given.strides[inside], hosts[:n]
    )
    stay = np.zeros(factors.rules.weights.size, dtype=np.bool_)
    stay[factors.wide] = True
    stay[rules] = False
    every = np.ones(factors.parts.value_offsets.size - 1, dtype=np.bool_)
    plain = only(factors.parts, every, stay)
    children, codes, logs = _children(plain, scopes, cards, free)
    offsets, movers, moves = _by_mover(cards.size, children, codes)
    touch_offsets, serve_ends, touched, touch_strides = _touched(scopes, cards.size)
    slots, shifts, memory = _slots(cards, free, logs)
    return Scan(
        free=np.flatnonzero(free & (cards > 1)),
        is_free=free,
        plain=plain,
        scopes=scopes,
        rules=rules,
        rule_hosts=hosts[n:],
        sources=sources,
        hosts=hosts[:n],
        step_offsets=step_offsets,
        steps=steps,
        fixed_offsets=np.append(0, np.cumsum(sizes[sources] - widths[sources])),
        fixed=given.variables[outside],
        fixed_strides=given.strides[outside],
        touch_offsets=touch_offsets,
        serve_ends=serve_ends,
        touched=touched,
        touch_strides=touch_strides,
        child_offsets=offsets,
        children=movers,
        child_steps=moves,
        slots=slots,
        shifts=shifts,
        memory=memory,
    )


def _merged(
    factors: Factors, cards: Ints, free: Bools, widths: Ints, inside: Ints, sources: Ints
) -> tuple[Scopes, Ints, Ints]:
    """(tables over free variables; the one of each source, then of each wide rule; these rules)."""
    given, rules = factors.scopes, factors.rules
    sizes = np.diff(rules.offsets)
    entries = segments(sizes, factors.wide)
    open_ = free[rules.variables[entries]]
    ends = np.append(0, np.cumsum(sizes[factors.wide]))
    counts = np.diff(np.append(0, np.cumsum(open_))[ends])
    members = rules.variables[entries[open_]]
    logs = widths_of(cards, counts, members)
    serve = (counts > 0) & ((factors.wide_owners < 0) | free[factors.wide_owners])
    limit = np.log2(TABLE_CELLS)
    while True:
        some = np.flatnonzero(serve & (logs <= limit))
        scopes, hosts = merge(
            cards,
            np.append(widths, counts[some]),
            np.append(given.variables[inside], members[segments(counts, some)]),
            np.append(given.owners[sources], factors.wide_owners[some]),
        )
        if scopes.cells[-1] <= ALL_CELLS + given.cells[-1] or not some.size:
            return scopes, hosts, factors.wide[some]
        limit -= 2.0


def _touched(scopes: Scopes, n: int) -> tuple[Ints, Ints, Ints, Ints]:
    """(offsets, ends of those that serve, tables, strides) for each variable."""
    tables = np.repeat(np.arange(scopes.owners.size), np.diff(scopes.offsets))
    idle = (scopes.owners[tables] >= 0) & (scopes.owners[tables] != scopes.variables)
    order = np.lexsort((idle, scopes.variables))
    offsets = np.searchsorted(scopes.variables[order], np.arange(n + 1))
    counts = np.bincount(scopes.variables[~idle], minlength=n)
    return offsets, offsets[:-1] + counts, tables[order], scopes.strides[order]


def _children(
    plain: Parts, scopes: Scopes, cards: Ints, free: Bools
) -> tuple[Ints, Words, dict[int, float]]:
    """(n · v + u for each u that v depends on, both free; u's step in v's code; log₂ of v's codes).

    Codes count through the joint states of the neighbors. Where 62 bits do not hold that number,
    steps are random odd numbers, and two joint states have the same code by a chance of 2⁻⁶⁴.
    """
    n, sizes = cards.size, np.diff(scopes.offsets)
    room: Ints = np.empty(int((sizes * (sizes - 1)).sum()), dtype=np.int64)
    used = kernels.pair_up(*scopes[:3], n, room)
    pairs = np.unique(np.concatenate([room[:used], _plain_pairs(plain, n)]))
    pairs = pairs[free[pairs // n] & free[pairs % n]]
    steps: Words = np.empty(pairs.size, dtype=np.uint64)
    rng = np.random.default_rng(1)
    logs = {}
    cuts = np.searchsorted(pairs, n * np.arange(n + 1)).tolist()
    for v in range(n):
        near = cards[pairs[cuts[v] : cuts[v + 1]] % n]
        logs[v] = float(np.log2(near).sum())
        if logs[v] <= 62:
            steps[cuts[v] : cuts[v + 1]] = np.cumprod(np.append(1, near))[:-1]
        else:
            steps[cuts[v] : cuts[v + 1]] = rng.integers(2**64, size=near.size, dtype=np.uint64) | 1
    return pairs, steps, logs


def _plain_pairs(plain: Parts, n: int) -> Ints:
    """n · v + u for all u that a potential, rule or tree outside the tables makes v depend on."""
    found = [np.empty(0, dtype=np.int64)]
    for offsets, members, starts, variables in (
        (plain.potential_offsets, plain.potentials, plain.scope_offsets, plain.scopes),
        (plain.touching_offsets, plain.touching, plain.rule_offsets, plain.rule_variables),
        (plain.tree_offsets, np.arange(plain.tree_roots.size - 1), plain.tree_roots,
         plain.nodes[:, 0]),
    ):  # fmt: skip
        owners, sizes = np.repeat(np.arange(n), np.diff(offsets)), np.diff(starts)
        near = variables[segments(sizes, members)]
        pairs = np.repeat(owners, sizes[members]) * n + near
        found.append(np.unique(pairs[(near >= 0) & (pairs // n != near)]))
    return np.concatenate(found)


def _by_mover(n: int, pairs: Ints, steps: Words) -> tuple[Ints, Ints, Words]:
    """(offsets, children, steps): for each variable those whose codes it moves."""
    order = np.argsort(pairs % n, kind="stable")
    return np.searchsorted(pairs[order] % n, np.arange(n + 1)), pairs[order] // n, steps[order]


def _slots(cards: Ints, free: Bools, logs: dict[int, float]) -> tuple[Ints, Ints, Ints]:
    """(first slot, shift of the hash or −1, first number remembered) of each variable, with ends.

    A variable has a slot for each code where these are few, the others share what is left.
    """
    n, count = cards.size, int(free.sum())
    share = max(4, min(12, int(math.log2(HASHED_SLOTS / max(count, 1)))))
    sizes, shifts = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    dense = 0
    for v in sorted(np.flatnonzero(free).tolist(), key=lambda v: logs[v]):
        cells = 2.0 ** logs[v] if logs[v] < 40 else math.inf
        if cells <= 2**share or dense + cells <= DENSE_SLOTS:
            sizes[v] = round(cells)
            dense += round(cells)
        else:
            sizes[v], shifts[v] = 2**share, 64 - share
    ends = np.cumsum(np.append(0, sizes))
    return ends, shifts, np.cumsum(np.append(0, sizes * cards))

"""The tables that Gibbs chains read: sums of potentials and rules, and the scan of free variables.

Each potential or rule is added to a table whose scope contains its own. Features come in families:
those of a path of a tree, or of the parts into which a conversion splits it, are about subsets of
the same variables. 170,000 features of 69 variables became 1,200 tables.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._core import inference as kernels
from counterpane._core.features import Parts, RuleMasks
from counterpane._core.inference import Scan, Scopes
from counterpane.features import Blanket
from counterpane.ragged import entries, offsets_of
from counterpane.typing import Bools, Floats, Ints, Words

RULE_CELLS = 2**10  # limit for the table of a rule: in a larger one, most cells are seldom read
POTENTIAL_CELLS = 2**16  # limit for a potential that is copied into a table
FREE_CELLS = 2**14  # limit for the table of a wide rule over its free variables
ALL_FREE_CELLS = 2**22  # limit for all such tables: 32 MiB for each thread
DENSE_SLOTS = 2**20  # cached conditionals of variables for which all fit
HASHED_SLOTS = 2**17  # cached conditionals of all other variables together
CACHED_NUMBERS = 2**25  # of all cached conditionals: 256 MiB for each thread


class GibbsTables(NamedTuple):
    """Tables over `scopes`; `parts` has the trees, potentials and rules that are in no table.

    `wide` are the numbers of these rules, with their owners.
    """

    scopes: Scopes
    values: Floats
    parts: Parts
    rules: RuleMasks
    wide: Ints
    wide_owners: Ints


def gather_tables(blanket: Blanket) -> GibbsTables:
    """The blanket's potentials and rules as tables over the largest scopes among them.

    Rules and potentials that would need too large a table are left out.
    """
    cards, parts, rules = blanket.cards, blanket.parts, blanket.rule_masks
    n, n_tables = cards.size, parts.value_offsets.size - 1
    owners, served = _owners(blanket, n_tables + rules.weights.size)
    sizes = np.concatenate([np.diff(parts.scope_offsets), np.diff(rules.offsets)])
    offsets = offsets_of(sizes)
    variables, axes = _sorted_scopes(parts, rules)
    limits = np.repeat(np.log2([POTENTIAL_CELLS, RULE_CELLS]), [n_tables, rules.weights.size])
    fits = log_cells(cards, offsets, variables) <= limits
    chosen = np.flatnonzero(served & (sizes > 0) & fits)
    members = variables[entries(offsets, chosen)]
    scopes, hosts = merge_scopes(cards, offsets_of(sizes[chosen]), members, owners[chosen])
    values: Floats = np.zeros(scopes.cells[-1])
    first = int(np.searchsorted(chosen, n_tables))
    kernels.add_rules(
        rules, chosen[first:] - n_tables, hosts[first:], scopes, cards,
        np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.uint16), values,
    )  # fmt: skip
    tables, table_hosts = chosen[:first], hosts[:first]
    steps = parts.strides[axes[entries(offsets, tables)]]
    kernels.add_tables(
        parts.values, parts.value_offsets[tables],
        *_aligned_steps(scopes, offsets_of(sizes[tables]), members, steps, table_hosts),
        table_hosts, scopes, cards, values,
    )  # fmt: skip
    wide = served & ~fits
    wide_rules = np.flatnonzero(wide[n_tables:])
    rest = only(parts, wide[:n_tables], wide[n_tables:])
    return GibbsTables(scopes, values, rest, rules, wide_rules, owners[n_tables + wide_rules])


def merge_scopes(cards: Ints, offsets: Ints, variables: Ints, owners: Ints) -> tuple[Scopes, Ints]:
    """(the scopes that no other scope contains; for each scope the number of one that contains it).

    Scope i has the sorted variables offsets[i] … offsets[i+1]−1; none is empty.
    """
    sizes = np.diff(offsets)
    marks = np.random.default_rng(0).integers(0, 2**62, size=cards.size)
    alike = np.add.reduceat(marks[variables], offsets[:-1]) if sizes.size else sizes
    order = np.lexsort((alike, owners, -sizes))
    hosts: Ints = np.empty(sizes.size, dtype=np.int64)
    size = kernels.find_hosts(offsets, variables, owners, order, cards.size, hosts)
    _, first = np.unique(hosts[order], return_index=True)
    maximal = order[first]
    members = variables[entries(offsets, maximal)]
    starts = offsets_of(sizes[maximal])
    strides, cells = np.empty(members.size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    kernels.set_strides(starts, members, cards, strides, cells)
    return Scopes(starts, members, owners[maximal], strides, cells), hosts


def _aligned_steps(
    scopes: Scopes, starts: Ints, variables: Ints, steps: Ints, hosts: Ints
) -> tuple[Ints, Ints]:
    """(offsets, steps): for each scope, the step in it of each variable of its host."""
    offsets = offsets_of(np.diff(scopes.offsets)[hosts])
    out: Ints = np.zeros(offsets[-1], dtype=np.int64)
    kernels.align_steps(starts, variables, steps, hosts, *scopes[:2], offsets, out)
    return offsets, out


def _owners(blanket: Blanket, size: int) -> tuple[Ints, Bools]:
    """(owner, whether any conditional reads it) of each potential and then of each rule."""
    owners, served = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    parts, n_tables = blanket.parts, blanket.parts.value_offsets.size - 1
    for offsets, members, shift in (
        (parts.potential_offsets, parts.potentials, 0),
        (parts.touching_offsets, parts.touching, n_tables),
    ):
        served[members + shift] = True
        if not blanket.joint:
            owners[members + shift] = np.repeat(np.arange(blanket.cards.size), np.diff(offsets))
    return owners, served


def _sorted_scopes(parts: Parts, rules: RuleMasks) -> tuple[Ints, Ints]:
    """(sorted variables of potentials, then of rules; the axis of each variable of potentials)."""
    owner = np.repeat(np.arange(parts.scope_offsets.size - 1), np.diff(parts.scope_offsets))
    axes = np.lexsort((parts.scopes, owner))
    return np.concatenate([parts.scopes[axes], rules.variables]), axes


def log_cells(cards: Ints, offsets: Ints, variables: Ints) -> Floats:
    """log₂ of the number of joint states of each scope."""
    ends = np.concatenate([[0.0], np.cumsum(np.log2(cards[variables]))])
    widths: Floats = np.round(ends[offsets[1:]] - ends[offsets[:-1]], 6)
    return widths


def only(parts: Parts, tables: Bools, rules: Bools) -> Parts:
    """The parts without the potentials and rules that are not flagged."""
    potentials, touching = tables[parts.potentials], rules[parts.touching]
    return parts._replace(
        potential_offsets=offsets_of(potentials)[parts.potential_offsets],
        potentials=parts.potentials[potentials],
        touching_offsets=offsets_of(touching)[parts.touching_offsets],
        touching=parts.touching[touching],
    )


def compile_scan(tables: GibbsTables, cards: Ints, free: Bools) -> Scan:
    """The scan for the variables flagged as free. Cost: that of the entries of all scopes."""
    full = tables.scopes
    is_free = free[full.variables]
    widths = np.diff(offsets_of(is_free)[full.offsets])
    sources = np.flatnonzero((widths > 0) & ((full.owners < 0) | free[full.owners]))
    members = entries(full.offsets, sources)
    inside, outside = members[is_free[members]], members[~is_free[members]]
    starts = offsets_of(widths[sources])
    scopes, hosts, rules = _free_scopes(tables, cards, free, starts, inside, sources)
    n = sources.size
    step_offsets, steps = _aligned_steps(
        scopes, starts, full.variables[inside], full.strides[inside], hosts[:n]
    )
    stay = np.zeros(tables.rules.weights.size, dtype=np.bool_)
    stay[tables.wide] = True
    stay[rules] = False
    every = np.ones(tables.parts.value_offsets.size - 1, dtype=np.bool_)
    plain = only(tables.parts, every, stay)
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
        fixed_offsets=offsets_of(np.diff(full.offsets)[sources] - widths[sources]),
        fixed=full.variables[outside],
        fixed_strides=full.strides[outside],
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


def _free_scopes(
    tables: GibbsTables, cards: Ints, free: Bools, starts: Ints, inside: Ints, sources: Ints
) -> tuple[Scopes, Ints, Ints]:
    """(scopes of free variables; the host of each source, then of each rule added; these rules).

    Wide rules are added to tables over their free variables as long as these tables stay small.
    """
    full, rules = tables.scopes, tables.rules
    members = entries(rules.offsets, tables.wide)
    is_free = free[rules.variables[members]]
    ends = offsets_of(np.diff(rules.offsets)[tables.wide])
    offsets = offsets_of(is_free)[ends]
    sizes, variables = np.diff(offsets), rules.variables[members[is_free]]
    logs = log_cells(cards, offsets, variables)
    serve = (sizes > 0) & ((tables.wide_owners < 0) | free[tables.wide_owners])
    limit = np.log2(FREE_CELLS)
    while True:
        added = np.flatnonzero(serve & (logs <= limit))
        scopes, hosts = merge_scopes(
            cards,
            np.append(starts, starts[-1] + np.cumsum(sizes[added])),
            np.append(full.variables[inside], variables[entries(offsets, added)]),
            np.append(full.owners[sources], tables.wide_owners[added]),
        )
        if scopes.cells[-1] <= ALL_FREE_CELLS + full.cells[-1] or not added.size:
            return scopes, hosts, tables.wide[added]
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

    The code of v is the number of the joint state of its neighbors. Where 62 bits do not hold that
    number, steps are random odd numbers, and two joint states have the same code with probability
    2⁻⁶⁴.
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
    """n · v + u for all u on which a potential, rule or tree outside the tables makes v depend."""
    pairs = [np.empty(0, dtype=np.int64)]
    for offsets, members, starts, variables in (
        (plain.potential_offsets, plain.potentials, plain.scope_offsets, plain.scopes),
        (plain.touching_offsets, plain.touching, plain.rule_offsets, plain.rule_variables),
        (plain.tree_offsets, np.arange(plain.tree_roots.size - 1), plain.tree_roots,
         plain.nodes[:, 0]),
    ):  # fmt: skip
        owners = np.repeat(np.arange(n), np.diff(offsets))
        near = variables[entries(starts, members)]
        codes = np.repeat(owners, np.diff(starts)[members]) * n + near
        pairs.append(np.unique(codes[(near >= 0) & (codes // n != near)]))
    return np.concatenate(pairs)


def _by_mover(n: int, pairs: Ints, steps: Words) -> tuple[Ints, Ints, Words]:
    """(offsets, children, steps): for each variable those whose codes it changes."""
    order = np.argsort(pairs % n, kind="stable")
    return np.searchsorted(pairs[order] % n, np.arange(n + 1)), pairs[order] // n, steps[order]


def _slots(cards: Ints, free: Bools, logs: dict[int, float]) -> tuple[Ints, Ints, Ints]:
    """(first slot, shift of the hash or −1, first cached number) of each variable, with ends.

    A variable with few codes has a slot for each of them; the others share the rest by hashing.
    """
    n, count = cards.size, int(free.sum())
    share = max(4, min(12, int(math.log2(HASHED_SLOTS / max(count, 1)))))
    sizes, shifts = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    dense, numbers = 0, 0.0
    for v in sorted(np.flatnonzero(free).tolist(), key=lambda v: logs[v]):
        cells = 2.0 ** logs[v] if logs[v] < 40 else math.inf
        # Conditionals of very many states share their room as well.
        most = CACHED_NUMBERS / (count * int(cards[v]))
        bits = max(1, min(share, int(math.log2(max(most, 2)))))
        small = numbers + cells * int(cards[v]) <= CACHED_NUMBERS
        if cells <= 2**bits or (small and dense + cells <= DENSE_SLOTS):
            sizes[v] = round(cells)
            dense += round(cells)
            numbers += cells * int(cards[v])
        else:
            sizes[v], shifts[v] = 2**bits, 64 - bits
    return offsets_of(sizes), shifts, offsets_of(sizes * cards)

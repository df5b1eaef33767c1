"""Potentials and rules gathered into few tables: each goes into one whose scope holds its own.

Features come in families: a path of a tree, and what conversions make of its parts, are about
subsets of the same variables. 170,000 features of 69 variables became 1,200 tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpane._core import inference as kernels
from counterpane._core.features import Parts
from counterpane._core.inference import Conjunctions, Scopes
from counterpane.features import Blanket
from counterpane.inference.conjunctions import conjunctions
from counterpane.typing import Bools, Floats, Ints

RULE_CELLS = 2**10  # of the table of a rule: above it, most cells would be seldom met
POTENTIAL_CELLS = 2**16  # of a potential that is worth a copy


class Factors(NamedTuple):
    """Tables over `scopes`; what is in none stays in `parts`: trees, and what is `wide`.

    `wide` are the numbers of rules, with their owners.
    """

    scopes: Scopes
    values: Floats
    parts: Parts
    rules: Conjunctions
    wide: Ints
    wide_owners: Ints


def gather(blanket: Blanket) -> Factors:
    """The blanket's potentials and rules as tables over the largest scopes among them.

    Each goes into a table that the widest of its family would have alone; rules and potentials
    that would need too large ones are left out.
    """
    cards, parts, rules = blanket.cards, blanket.parts, conjunctions(blanket)
    n, n_tables = cards.size, parts.value_offsets.size - 1
    owners, served = _owners(blanket, n_tables + rules.weights.size)
    sizes = np.concatenate([np.diff(parts.scope_offsets), np.diff(rules.offsets)])
    variables, axes = _sorted_scopes(parts, rules)
    limits = np.repeat(np.log2([POTENTIAL_CELLS, RULE_CELLS]), [n_tables, rules.weights.size])
    fits = widths_of(cards, sizes, variables) <= limits
    chosen = np.flatnonzero(served & (sizes > 0) & fits)
    kept = segments(sizes, chosen)
    scopes, hosts = merge(cards, sizes[chosen], variables[kept], owners[chosen])
    values: Floats = np.zeros(scopes.cells[-1])
    first = int(np.searchsorted(chosen, n_tables))
    kernels.add_rules(
        rules, chosen[first:] - n_tables, hosts[first:], scopes, cards,
        np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.uint16), values,
    )  # fmt: skip
    steps = parts.strides[axes[segments(sizes, chosen[:first])]]
    kernels.add_tables(
        parts.values, parts.value_offsets[chosen[:first]],
        *aligned(scopes, sizes[chosen[:first]], variables[kept], steps, hosts[:first]),
        hosts[:first], scopes, cards, values,
    )  # fmt: skip
    left = served & ~fits
    wide = np.flatnonzero(left[n_tables:])
    rest = only(parts, left[:n_tables], left[n_tables:])
    return Factors(scopes, values, rest, rules, wide, owners[n_tables + wide])


def merge(cards: Ints, sizes: Ints, variables: Ints, owners: Ints) -> tuple[Scopes, Ints]:
    """(the scopes that are in no other one; for each given scope one of them that holds it).

    Scopes are given by their sizes and their sorted variables, end to end; none is empty.
    """
    n, offsets = cards.size, np.concatenate([[0], np.cumsum(sizes)])
    marks = np.random.default_rng(0).integers(0, 2**62, size=n)
    alike = np.add.reduceat(marks[variables], offsets[:-1]) if sizes.size else sizes
    order = np.lexsort((alike, owners, -sizes))
    hosts: Ints = np.empty(sizes.size, dtype=np.int64)
    size = kernels.find_hosts(offsets, variables, owners, order, n, hosts)
    _, first = np.unique(hosts[order], return_index=True)
    kept = order[first]
    mine = variables[segments(sizes, kept)]
    starts = np.concatenate([[0], np.cumsum(sizes[kept])])
    strides, cells = np.empty(mine.size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    kernels.set_strides(starts, mine, cards, strides, cells)
    return Scopes(starts, mine, owners[kept], strides, cells), hosts


def aligned(
    scopes: Scopes, sizes: Ints, variables: Ints, steps: Ints, hosts: Ints
) -> tuple[Ints, Ints]:
    """(offsets, steps): for each scope given, how far each variable of its host moves in it."""
    widths = np.diff(scopes.offsets)[hosts]
    offsets, out = np.concatenate([[0], np.cumsum(widths)]), np.zeros(widths.sum(), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    kernels.align_steps(starts, variables, steps, hosts, *scopes[:2], offsets, out)
    return offsets, out


def segments(sizes: Ints, chosen: Ints) -> Ints:
    """The places of the entries of some of several lists that lie end to end."""
    ends = np.cumsum(sizes[chosen])
    shift = (np.cumsum(sizes) - sizes)[chosen] - (ends - sizes[chosen])
    places: Ints = np.arange(ends[-1] if ends.size else 0) + np.repeat(shift, sizes[chosen])
    return places


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


def _sorted_scopes(parts: Parts, rules: Conjunctions) -> tuple[Ints, Ints]:
    """(sorted variables of potentials, then of rules; which axis each of the first ones is)."""
    owner = np.repeat(np.arange(parts.scope_offsets.size - 1), np.diff(parts.scope_offsets))
    axes = np.lexsort((parts.scopes, owner))
    return np.concatenate([parts.scopes[axes], rules.variables]), axes


def widths_of(cards: Ints, sizes: Ints, variables: Ints) -> Floats:
    """log₂ of the numbers of joint states of scopes that lie end to end."""
    ends = np.concatenate([[0.0], np.cumsum(np.log2(cards[variables]))])
    last = np.cumsum(sizes)
    widths: Floats = np.round(ends[last] - ends[last - sizes], 6)
    return widths


def only(parts: Parts, tables: Bools, rules: Bools) -> Parts:
    """The parts without the potentials and rules that are not flagged."""
    held, touching = tables[parts.potentials], rules[parts.touching]
    return parts._replace(
        potential_offsets=np.append(0, np.cumsum(held))[parts.potential_offsets],
        potentials=parts.potentials[held],
        touching_offsets=np.append(0, np.cumsum(touching))[parts.touching_offsets],
        touching=parts.touching[touching],
    )

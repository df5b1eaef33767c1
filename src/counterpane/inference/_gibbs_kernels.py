"""Gibbs chains: a sweep draws each free variable from its conditional given the rest.

A conditional is looked up by the code of its neighbors' joint state, which moves with each of their
changes, and summed up from tables (and what is in none) only where that state is new: see
docs/design/sampling.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import inlined, kernel
from counterpane.inference._factor_kernels import add_rules, add_table
from counterpane.inference.factors import Factors
from counterpane.inference.scan import Scan
from counterpane.potentials._kernels import Parts, conditional
from counterpane.typing import Codes, Floats, Ints, Words

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53
_TINY = 2.0**-54
IMPOSSIBLE = 10.0  # nats that breaking a law costs while a start is looked for


class Work(NamedTuple):
    """One chain: its row, its tables and places in them, and the conditionals it remembers.

    A conditional is remembered for the evidence `epoch` and the code that `keys` hold together.
    """

    x: Codes
    states: Ints
    probabilities: Floats
    codes: Words
    last: Words
    values: Floats
    places: Ints
    keys: Words
    memory: Floats
    epoch: Words
    digits: Ints
    scratch: Floats


@inlined
def uniform(state: np.uint64) -> float:
    """A number in [0, 1) from a state of splitmix64 (Steele, Lea & Flood 2014)."""
    z = state
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return np.float64((z ^ (z >> _S31)) >> _S11) * _UNIT


@kernel
def settle(factors: Factors, scan: Scan, work: Work) -> None:
    """Sum up the tables over free variables for the evidence in `work.x`."""
    cards, scopes, given = factors.parts.cards, scan.scopes, factors.scopes
    work.values[:] = 0.0
    for k in range(scan.sources.size):
        start = given.cells[scan.sources[k]]
        for i in range(scan.fixed_offsets[k], scan.fixed_offsets[k + 1]):
            start += scan.fixed_strides[i] * np.int64(work.x[scan.fixed[i], 0])
        h = scan.hosts[k]
        add_table(
            factors.values,
            start,
            scopes.variables[scopes.offsets[h] : scopes.offsets[h + 1]],
            cards,
            scan.steps[scan.step_offsets[k] : scan.step_offsets[k + 1]],
            work.digits[0],
            work.values[scopes.cells[h] : scopes.cells[h + 1]],
        )
    add_rules(
        factors.rules, scan.rules, scan.rule_hosts, scopes.offsets, scopes.variables,
        scopes.strides, cards, scopes.cells, scan.is_free, work.x, work.digits, work.values,
    )  # fmt: skip
    work.epoch[0] += _STEP


@kernel
def begin(scan: Scan, work: Work) -> None:
    """Find the place of the row in `work.x` in all tables, and the codes of all neighborhoods."""
    scopes = scan.scopes
    for h in range(scopes.owners.size):
        work.places[h] = scopes.cells[h]
        for k in range(scopes.offsets[h], scopes.offsets[h + 1]):
            work.places[h] += scopes.strides[k] * np.int64(work.x[scopes.variables[k], 0])
    work.codes[:] = np.uint64(0)
    for u in scan.free:
        for k in range(scan.child_offsets[u], scan.child_offsets[u + 1]):
            work.codes[scan.children[k]] += scan.child_steps[k] * np.uint64(work.x[u, 0])
    for v in scan.free:
        work.last[v] = ~work.codes[v]


@kernel
def walk(
    plain: Parts, scan: Scan, work: Work, likelihoods: Floats, asked: Ints, strides: Ints,
    burn_in: int, samples: int, state: np.uint64, sums: Floats, kept: Codes,
) -> int:  # fmt: skip
    """Run a chain from where `begin` left it; −1, or the variable that has no possible state.

    After each of the last `samples` sweeps the conditionals are added to a row of `sums`, of which
    each takes its share of the sweeps: all of them, or, with `asked`, that of the last variable
    asked, to the cells of the joint state of the others, which come before it in the scan. Rows
    of `kept`, if any, get the row at even distances.

    One long body, and arrays taken out of their tuples first: what is called or taken inside the
    loops would count references to arrays at every step, which made it five times slower.
    """
    free, touch_offsets, serve_ends = scan.free, scan.touch_offsets, scan.serve_ends
    touched, touch_strides = scan.touched, scan.touch_strides
    child_offsets, children, child_steps = scan.child_offsets, scan.children, scan.child_steps
    slots, shifts, starts = scan.slots, scan.shifts, scan.memory
    x, states, p, codes, last = work.x, work.states, work.probabilities, work.codes, work.last
    values, places, keys, memory = work.values, work.places, work.keys, work.memory
    scratch, epoch = work.scratch, work.epoch[0]
    potentials, touching, trees = (
        plain.potential_offsets,
        plain.touching_offsets,
        plain.tree_offsets,
    )
    for sweep in range(burn_in + samples):
        for v in free:
            here = states[v]
            card = states[v + 1] - here
            old = np.int64(x[v, 0])
            code = codes[v]
            if code != last[v]:
                last[v] = code
                slot = np.int64(code)
                if shifts[v] >= 0:
                    slot = np.int64((code * _STEP) >> np.uint64(shifts[v]))
                at = starts[v] + slot * card
                if keys[slots[v] + slot] == code ^ epoch:
                    for s in range(card):
                        p[here + s] = memory[at + s]
                else:
                    for s in range(card):
                        scratch[s] = 0.0
                    if (
                        potentials[v + 1] > potentials[v]
                        or touching[v + 1] > touching[v]
                        or trees[v + 1] > trees[v]
                    ):
                        conditional(plain, x, 0, v, scratch)
                    for k in range(touch_offsets[v], serve_ends[v]):
                        cell = places[touched[k]] - touch_strides[k] * old
                        for s in range(card):
                            scratch[s] += values[cell]
                            cell += touch_strides[k]
                    top = -np.inf
                    for s in range(card):
                        if likelihoods.size:
                            scratch[s] += likelihoods[here + s]
                        top = max(top, scratch[s])
                    if top == -np.inf:
                        return int(v)
                    total = 0.0
                    for s in range(card):
                        p[here + s] = math.exp(scratch[s] - top) if scratch[s] < top else 1.0
                        total += p[here + s]
                    total = 1.0 / total
                    for s in range(card):
                        p[here + s] *= total
                        memory[at + s] = p[here + s]
                    keys[slots[v] + slot] = code ^ epoch
            state += _STEP
            left = uniform(state) - p[here]
            new = np.int64(0)
            while left >= 0.0 and new + 1 < card:
                new += 1
                left -= p[here + new]
            while p[here + new] == 0.0:  # rounding alone leads beyond the last possible state
                new -= 1
            if new != old:
                x[v, 0] = new
                for k in range(touch_offsets[v], touch_offsets[v + 1]):
                    places[touched[k]] += touch_strides[k] * (new - old)
                moved = np.uint64(new) - np.uint64(old)
                for k in range(child_offsets[v], child_offsets[v + 1]):
                    codes[children[k]] += child_steps[k] * moved
        done = sweep - burn_in
        if done < 0:
            continue
        row = sums[done * sums.shape[0] // samples]
        if asked.size == 0:
            for k in range(row.size):
                row[k] += p[k]
        else:
            cell = np.int64(0)
            for k in range(asked.size - 1):
                cell += strides[k] * np.int64(x[asked[k], 0])
            here = states[asked[-1]]
            for s in range(states[asked[-1] + 1] - here):
                row[cell + s * strides[-1]] += p[here + s]
        place = done * kept.shape[0] // samples
        if (done + 1) * kept.shape[0] // samples > place:
            for u in range(x.shape[0]):
                kept[place, u] = x[u, 0]
    return -1


@kernel
def _weigh(parts: Parts, x: Codes, v: int, out: Floats) -> None:
    """`conditional`, compiled once for the loops that are not hot."""
    conditional(parts, x, 0, v, out)


@kernel
def _lawful(
    parts: Parts, states: Ints, likelihoods: Floats, laws: Ints, x: Codes, scratch: Floats
) -> bool:
    """Whether the state of each of the variables `laws` is possible given the others."""
    for v in laws:
        _weigh(parts, x, v, scratch)
        here = states[v] + np.int64(x[v, 0])
        if scratch[here - states[v]] == -np.inf:
            return False
        if likelihoods.size and likelihoods[here] == -np.inf:
            return False
    return True


@kernel
def _find_start(
    parts: Parts, relaxed: Parts, states: Ints, likelihoods: Floats, free: Ints, laws: Ints,
    sweeps: int, state: np.uint64, x: Codes, scratch: Floats,
) -> bool:  # fmt: skip
    """Move the row `x` to one that is possible, by Gibbs sweeps in which nothing is forbidden."""
    for _ in range(sweeps):
        if _lawful(parts, states, likelihoods, laws, x, scratch):
            return True
        for v in free:
            card = parts.cards[v]
            _weigh(relaxed, x, v, scratch)
            best, top = 0, -np.inf
            for s in range(card):
                state += _STEP
                if likelihoods.size:
                    scratch[s] += max(likelihoods[states[v] + s], -IMPOSSIBLE)
                # the largest of logits with Gumbel noise is a draw
                noisy = scratch[s] - math.log(-math.log(uniform(state) + _TINY))
                if noisy > top:
                    best, top = s, noisy
            x[v, 0] = best
    return _lawful(parts, states, likelihoods, laws, x, scratch)


@kernel
def run(
    factors: Factors,
    scan: Scan,
    parts: Parts,
    relaxed: Parts,
    laws: Ints,
    sweeps: int,
    work: Work,
    codes: Codes,
    likelihoods: Floats,
    asked: Ints,
    strides: Ints,
    burn_in: int,
    samples: int,
    seeds: Words,
    first: int,
    last: int,
    sums: Floats,
    kept: Codes,
    faults: Ints,
) -> None:
    """Run the chains first … last−1, each of a row of `codes`: evidence, and a start or missing.

    `likelihoods` are logs. `faults` gets −1, −2 where no possible start was found, or what `walk`
    says. A chain with the evidence of the one before goes on with its tables and its memory.
    """
    ready = False  # whether the tables are those of the unit before
    for unit in range(first, last):
        state = seeds[unit] ^ _MIX1
        same = ready
        for v in range(parts.cards.size):
            same = same and codes[v, unit] == codes[v, unit - 1]
            work.x[v, 0] = codes[v, unit]
        for v in scan.free:
            if work.x[v, 0] >= parts.cards[v]:
                state += _STEP
                work.x[v, 0] = np.int64(uniform(state) * parts.cards[v])
        if laws.size and not _find_start(
            parts, relaxed, work.states, likelihoods, scan.free, laws, sweeps, state, work.x,
            work.scratch,
        ):  # fmt: skip
            faults[unit], ready = -2, False
            continue
        if not same:
            settle(factors, scan, work)
        ready = True
        begin(scan, work)
        faults[unit] = walk(
            scan.plain, scan, work, likelihoods, asked, strides, burn_in, samples, seeds[unit],
            sums[unit], kept[unit],
        )  # fmt: skip

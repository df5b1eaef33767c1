"""Messages between variables and factors, one factor at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane._jit import kernel
from counterpane.typing import Floats, Ints


class FactorGraph(NamedTuple):
    """Factor f has the values offsets[f] … and the edges edge_offsets[f] … , one a variable.

    Edge e leads to variable variables[e], whose state moves strides[e] cells in the factor; the
    message along it starts at first[e]. The edges of variable v are edges_of[edges_offsets[v]] … .
    Values are the factors' own, each divided by its largest.
    """

    cards: Ints
    offsets: Ints
    values: Floats
    edge_offsets: Ints
    variables: Ints
    strides: Ints
    first: Ints
    edges_offsets: Ints
    edges_of: Ints


@kernel
def collect(graph: FactorGraph, messages: Floats, v: int, but: int, out: Floats) -> None:
    """Fill the start of `out` with the product of all messages to v but that of an edge.

    Messages are logs; the product's largest state is brought to 1.
    """
    card = graph.cards[v]
    out[:card] = 0.0
    for k in range(graph.edges_offsets[v], graph.edges_offsets[v + 1]):
        e = graph.edges_of[k]
        if e != but:
            for s in range(card):
                out[s] += messages[graph.first[e] + s]
    top = -np.inf
    for s in range(card):
        top = max(top, out[s])
    for s in range(card):
        out[s] = math.exp(out[s] - top) if top > -np.inf else 0.0


@kernel
def send(
    graph: FactorGraph, messages: Floats, f: int, maximize: bool, incoming: Floats,
    outgoing: Floats, digits: Ints, before: Floats,
) -> None:  # fmt: skip
    """Fill `outgoing`, rows by edge of factor f, with its new messages, not normalized.

    `incoming` gets what comes from the variables; a message leaves out what its own variable says.
    """
    lo = graph.edge_offsets[f]
    n = graph.edge_offsets[f + 1] - lo
    for k in range(n):
        collect(graph, messages, graph.variables[lo + k], lo + k, incoming[k])
        outgoing[k, : graph.cards[graph.variables[lo + k]]] = 0.0
    for cell in range(graph.offsets[f + 1] - graph.offsets[f]):
        before[0] = graph.values[graph.offsets[f] + cell]
        for k in range(n):
            digits[k] = cell // graph.strides[lo + k] % graph.cards[graph.variables[lo + k]]
            before[k + 1] = before[k] * incoming[k, digits[k]]
        after = 1.0
        for k in range(n - 1, -1, -1):
            weight = before[k] * after
            if maximize:
                outgoing[k, digits[k]] = max(outgoing[k, digits[k]], weight)
            else:
                outgoing[k, digits[k]] += weight
            after *= incoming[k, digits[k]]


@kernel
def sweep(
    graph: FactorGraph, messages: Floats, maximize: bool, damping: float, incoming: Floats,
    outgoing: Floats, digits: Ints, before: Floats,
) -> float:  # fmt: skip
    """The largest change of a message when all factors send, the last one first, and back again.

    −1 − f where factor f finds no state possible.
    """
    largest = 0.0
    n_factors = graph.offsets.size - 1
    for step in range(2 * n_factors):
        f = n_factors - 1 - step if step < n_factors else step - n_factors
        send(graph, messages, f, maximize, incoming, outgoing, digits, before)
        lo = graph.edge_offsets[f]
        for k in range(graph.edge_offsets[f + 1] - lo):
            total = 0.0
            card = graph.cards[graph.variables[lo + k]]
            for s in range(card):
                total += outgoing[k, s]
            if not total > 0.0:
                return -1.0 - f
            for s in range(card):
                old = math.exp(messages[graph.first[lo + k] + s])
                new = (1.0 - damping) * outgoing[k, s] / total + damping * old
                largest = max(largest, abs(new - old))
                messages[graph.first[lo + k] + s] = math.log(new) if new > 0.0 else -np.inf
    return largest


@kernel
def bethe(
    graph: FactorGraph, messages: Floats, incoming: Floats, outgoing: Floats, digits: Ints,
    before: Floats,
) -> float:  # fmt: skip
    """Σ_f (E[ln f] + H(f)) + Σ_v (1 − degree) H(v) at the beliefs; −∞ where these are empty."""
    total = 0.0
    for f in range(graph.offsets.size - 1):
        send(graph, messages, f, False, incoming, outgoing, digits, before)
        lo = graph.edge_offsets[f]
        n = graph.edge_offsets[f + 1] - lo
        mass, logs = 0.0, 0.0
        for cell in range(graph.offsets[f + 1] - graph.offsets[f]):
            weight = graph.values[graph.offsets[f] + cell]
            told = 0.0
            for k in range(n):
                s = cell // graph.strides[lo + k] % graph.cards[graph.variables[lo + k]]
                weight *= incoming[k, s]
                if weight > 0.0:
                    told += math.log(incoming[k, s])
            if weight > 0.0:
                mass += weight
                logs += weight * told
        if mass == 0.0:
            return -np.inf
        total += math.log(mass) - logs / mass  # E[ln f − ln belief], the belief being f · in / mass
    for v in range(graph.cards.size):
        collect(graph, messages, v, -1, before)
        mass, logs = 0.0, 0.0
        for s in range(graph.cards[v]):
            if before[s] > 0.0:
                mass += before[s]
                logs += before[s] * math.log(before[s])
        if mass == 0.0:
            return -np.inf
        degree = graph.edges_offsets[v + 1] - graph.edges_offsets[v]
        total += (1.0 - degree) * (math.log(mass) - logs / mass)
    return total

"""Blankets in local networks, and their unions."""

from __future__ import annotations

import numpy as np

from counterpane._jit import kernel
from counterpane.learn.hybrid._climb_kernels import members_of
from counterpane.typing import Ints


@kernel
def blanket_of(a: int, parents: Ints) -> int:
    """The bit set of the parents, children and children's other parents of the local column a."""
    found: int = parents[a]
    for c in range(parents.size):
        if parents[c] >> a & 1:
            found |= parents[c] | 1 << c
    return found & ~(1 << a)


@kernel
def insert(v: int, rank: Ints, row: Ints) -> bool:
    """Put v into its place by rank in a row that −1 fills up; False if there is no room left."""
    size = members_of(row).size
    place = 0
    while place < size and rank[row[place]] < rank[v]:
        place += 1
    if place < size and row[place] == v:
        return True
    if size == row.size:
        return False
    for k in range(size, place, -1):
        row[k] = row[k - 1]
    row[place] = v
    return True


@kernel
def insert_relatives(relatives: Ints, first: int, rank: Ints, out: Ints) -> None:
    """Put the columns relatives[i], up to the first −1, into out[first + i]."""
    for i in range(relatives.shape[0]):
        for v in members_of(relatives[i]):
            insert(v, rank, out[first + i])


@kernel
def fill_blankets(members: Ints, parents: Ints, rank: Ints, out: Ints) -> None:
    """Fill out[v] with v and its blanket in its own network, by rank."""
    for v in range(members.shape[0]):
        out[v] = -1
        out[v, 0] = v
        columns = members_of(members[v])
        for a in range(columns.size):
            if columns[a] == v:
                blanket = blanket_of(a, parents[v, : columns.size])
                for b in range(columns.size):
                    if blanket >> b & 1:
                        insert(columns[b], rank, out[v])


@kernel
def unite(members: Ints, parents: Ints, rank: Ints, out: Ints) -> None:
    """Fill out[v] with v and the union of its blankets in all networks it is in, by rank.

    out[v, 0] is −1 if the union has no room.
    """
    n = members.shape[0]
    fits = np.ones(n, np.bool_)
    for v in range(n):
        out[v] = -1
        out[v, 0] = v
    for j in range(n):
        columns = members_of(members[j])
        for a in range(columns.size):
            blanket = blanket_of(a, parents[j, : columns.size])
            v = columns[a]
            for b in range(columns.size):
                if fits[v] and blanket >> b & 1:
                    fits[v] = insert(columns[b], rank, out[v])
    for v in range(n):
        if not fits[v]:
            out[v, 0] = -1

"""The sparse design of a structure: the cells of its faces, and the cells of each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterpane._core.classifiers import BlockDesign, number_keys
from counterpane.typing import Array, Codes, Floats, Ints

Face = tuple[int, ...]

OPEN_BLOCKS = 8  # blocks that may still take in columns
DENSE_KEYS = 2**22  # keys below are numbered through a table, above by sorting


class FaceDesign(NamedTuple):
    """A design over the training rows, then others; and what its features stand for.

    Feature 0 is the empty face; face f has the features from `starts[f]` on, one for each of its
    `keys[f]`; the numeric terms are the last.
    """

    arrays: BlockDesign
    faces: tuple[Face, ...]
    starts: Ints
    keys: tuple[Ints, ...]
    squares: Floats  # Σ weight · x², by feature

    @property
    def orders(self) -> Ints:
        """The number of columns of each feature's face; -1 for a numeric term."""
        orders = np.full(self.arrays.n_features, -1, dtype=np.int64)
        orders[0] = 0
        for face, start, keys in zip(self.faces, self.starts, self.keys, strict=True):
            orders[start : start + len(keys)] = len(face)
        return orders


def mixed_radix(codes: Codes, cards: Ints, columns: Face) -> Ints:
    """The key of each row's cell: the first column counts most."""
    keys = np.zeros(codes.shape[1], dtype=np.int64)
    for column in columns:
        keys *= cards[column]
        keys += codes[column]
    return keys


def number(keys: Ints, size: int) -> tuple[Array, Ints]:
    """(the number of each key by first appearance, where each number first appears)."""
    if size > max(DENSE_KEYS, 4 * len(keys)):
        _, keys = np.unique(keys, return_inverse=True)
        size = len(keys)
    ids = np.empty(len(keys), dtype=np.int32)
    firsts = np.empty(min(size, len(keys)), dtype=np.int64)
    n = number_keys(keys, np.full(size, -1, dtype=np.int32), ids, firsts)
    return ids, firsts[:n]


def blocks_of(faces: Sequence[Face], cards: Ints, most: int) -> list[tuple[Face, list[int]]]:
    """Sets of columns that hold all faces, each with its faces; of at most `most` cells if it can.

    First fit, the largest faces first: a face joins a block that holds it, or one of the last few
    that can take its columns in.
    """
    blocks: list[tuple[set[int], list[int]]] = []
    sizes: list[int] = []
    with_column: dict[int, list[int]] = {}
    for f in sorted(range(len(faces)), key=lambda f: -len(faces[f])):
        face = faces[f]
        recent = range(max(0, len(blocks) - OPEN_BLOCKS), len(blocks))
        chosen = len(blocks)
        for b in (*with_column.get(face[0], ()), *recent):
            grown = sizes[b]
            for column in face:
                if column not in blocks[b][0]:
                    grown *= int(cards[column])
            if grown == sizes[b] or grown <= most:
                chosen = b
                break
        if chosen == len(blocks):
            blocks.append((set(), []))
            sizes.append(1)
        columns, held = blocks[chosen]
        held.append(f)
        for column in face:
            if column not in columns:
                columns.add(column)
                sizes[chosen] *= int(cards[column])
                with_column.setdefault(column, []).append(chosen)
    return [(tuple(sorted(columns)), held) for columns, held in blocks]


def lay_out_faces(
    codes: Codes, cards: Ints, weights: Floats, faces: Sequence[Face], numbers: Floats
) -> FaceDesign:
    """The design of `faces` and numeric terms; the first len(weights) rows are for training.

    A cell without training rows has no feature.
    """
    n_train, n_rows = len(weights), codes.shape[1]
    blocks = blocks_of(faces, cards, max(16, n_train // 8))
    cells = np.empty((len(blocks), n_rows), dtype=np.int32)
    starts = np.zeros(len(blocks) + 1, dtype=np.int64)
    link_block, link_start, links = [], [], []
    keys: list[Ints] = [np.empty(0, dtype=np.int64)] * len(faces)
    places: list[Array] = [np.empty(0, dtype=np.int32)] * len(faces)
    for b, (columns, held) in enumerate(blocks):
        size = math.prod(int(cards[c]) for c in columns)
        cells[b], firsts = number(mixed_radix(codes, cards, columns), size)
        seen = int(np.searchsorted(firsts, n_train))  # training rows come first, so do their cells
        corners = codes[:, firsts]
        for f in held:
            of_cell = mixed_radix(corners, cards, faces[f])
            ids, first = number(of_cell, math.prod(int(cards[c]) for c in faces[f]))
            known = int(np.searchsorted(first, seen))
            ids[ids >= known] = -1
            keys[f], places[f] = of_cell[first[:known]], ids
        starts[b + 1] = starts[b] + len(firsts)
        cells[b] += starts[b]
    sizes = np.array([len(k) for k in keys], dtype=np.int64)
    firsts_of = 1 + np.cumsum(sizes) - sizes
    total = 0
    for b, (_, held) in enumerate(blocks):
        for f in held:
            link_block.append(b)
            link_start.append(total)
            links.append(np.where(places[f] < 0, -1, places[f] + firsts_of[f]).astype(np.int32))
            total += len(places[f])
    n_features = 1 + int(sizes.sum()) + len(numbers)
    arrays = BlockDesign(
        cells,
        starts,
        np.array(link_block, dtype=np.int64),
        np.array(link_start, dtype=np.int64),
        np.concatenate(links) if links else np.empty(0, dtype=np.int32),
        np.ascontiguousarray(numbers),
        n_features - len(numbers),
        n_features,
    )
    return FaceDesign(arrays, tuple(faces), firsts_of, tuple(keys), _squares(arrays, weights))


def _squares(arrays: BlockDesign, weights: Floats) -> Floats:
    """Σ weight · x² of each feature over the training rows."""
    squares = np.zeros(arrays.n_features)
    squares[0] = weights.sum()
    n_train = len(weights)
    sums = np.zeros(int(arrays.starts[-1]))
    for row in arrays.cells:
        sums += np.bincount(row[:n_train], weights, len(sums))
    for b, start in zip(arrays.link_block, arrays.link_start, strict=True):
        low, high = arrays.starts[b], arrays.starts[b + 1]
        link = arrays.links[start : start + high - low]
        np.add.at(squares, link[link >= 0], sums[low:high][link >= 0])
    squares[arrays.first_number :] = (arrays.numbers[:, :n_train] ** 2) @ weights
    return squares

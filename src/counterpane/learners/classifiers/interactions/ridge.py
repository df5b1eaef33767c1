"""Multinomial ridge regression on the tables of interactions.

    minimize −Σ weight · ln P(class | x) + ½ Σ_T λ_T ‖β_T‖² + ½ · 0.3 λ (‖γ‖² + ‖δ‖²),

with λ_∅ = 1 and λ_T = λ · 2^(|T| − 1): a table of more columns has a larger penalty. β_T has a
weight for each class and each cell of the interaction T; γ and δ are those of the numeric terms.
All classes have weights, which the penalty makes sum to zero; of two classes only the difference is
fitted. The design is sparse: the cells of each row.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterpane._core.classifiers import (
    BlockDesign,
    StepPairs,
    minimize,
    number_keys,
    predict_rows,
)
from counterpane.ragged import flatten
from counterpane.typing import Array, Codes, Floats, Ints

Interaction = tuple[int, ...]
"""A set of columns with a joint effect on the class, in rising order."""

OPEN_BLOCKS = 8  # blocks that may still take in columns
DENSE_KEYS = 2**22  # smaller keys are numbered through a table, larger ones by sorting
NUMERIC_SHARE = 0.3  # of λ, for numeric terms
TOLERANCE = 1e-5  # nats per row that the next step may still gain
MAX_STEPS = 200
MEMORY = 40  # pairs of steps and changes of the gradient; fewer if they need too much memory
MAX_ENTRIES = 2**22  # of the steps: 32 MB


class InteractionDesign(NamedTuple):
    """The design of the training rows and of others behind them, and the meaning of its features.

    Feature 0 is the constant; interaction t has the features from `starts[t]` on, one for each cell
    `keys[t]`; the numeric terms are the last.
    """

    arrays: BlockDesign
    interactions: tuple[Interaction, ...]
    starts: Ints
    keys: tuple[Ints, ...]
    squares: Floats  # Σ weight · x², by feature

    @property
    def orders(self) -> Ints:
        """The number of columns of each feature's interaction; −1 for a numeric term."""
        orders = np.full(self.arrays.n_features, -1, dtype=np.int64)
        orders[0] = 0
        for columns, start, keys in zip(self.interactions, self.starts, self.keys, strict=True):
            orders[start : start + len(keys)] = len(columns)
        return orders


def mixed_radix(codes: Codes, cards: Ints, columns: Interaction) -> Ints:
    """The key of each row's cell: the first column counts most."""
    keys = np.zeros(codes.shape[1], dtype=np.int64)
    for column in columns:
        keys *= cards[column]
        keys += codes[column]
    return keys


def number_cells(keys: Ints, size: int) -> tuple[Array, Ints]:
    """(the number of each key by first appearance, where each number first appears)."""
    if size > max(DENSE_KEYS, 4 * len(keys)):
        _, keys = np.unique(keys, return_inverse=True)
        size = len(keys)
    ids = np.empty(len(keys), dtype=np.int32)
    firsts = np.empty(min(size, len(keys)), dtype=np.int64)
    n = number_keys(keys, np.full(size, -1, dtype=np.int32), ids, firsts)
    return ids, firsts[:n]


def blocks_of(
    interactions: Sequence[Interaction], cards: Ints, most: int
) -> list[tuple[Interaction, list[int]]]:
    """Sets of columns that contain all interactions, each with the positions of its interactions.

    First fit, the largest interactions first: each joins a block that contains it, or one of the
    last few blocks that can take its columns in without more than `most` cells.
    """
    blocks: list[tuple[set[int], list[int]]] = []
    sizes: list[int] = []
    with_column: dict[int, list[int]] = {}
    for t in sorted(range(len(interactions)), key=lambda t: -len(interactions[t])):
        interaction = interactions[t]
        recent = range(max(0, len(blocks) - OPEN_BLOCKS), len(blocks))
        chosen = len(blocks)
        for b in (*with_column.get(interaction[0], ()), *recent):
            grown = sizes[b]
            for column in interaction:
                if column not in blocks[b][0]:
                    grown *= int(cards[column])
            if grown == sizes[b] or grown <= most:
                chosen = b
                break
        if chosen == len(blocks):
            blocks.append((set(), []))
            sizes.append(1)
        columns, members = blocks[chosen]
        members.append(t)
        for column in interaction:
            if column not in columns:
                columns.add(column)
                sizes[chosen] *= int(cards[column])
                with_column.setdefault(column, []).append(chosen)
    return [(tuple(sorted(columns)), members) for columns, members in blocks]


def lay_out_interactions(
    codes: Codes,
    cards: Ints,
    weights: Floats,
    interactions: Sequence[Interaction],
    numbers: Floats,
) -> InteractionDesign:
    """The design of interactions and numeric terms; the first len(weights) rows are for training.

    A cell without training rows has no feature.
    """
    n_train, n_rows = len(weights), codes.shape[1]
    blocks = blocks_of(interactions, cards, max(16, n_train // 8))
    cells = np.empty((len(blocks), n_rows), dtype=np.int32)
    starts = np.zeros(len(blocks) + 1, dtype=np.int64)
    link_block, link_start, links = [], [], []
    keys: list[Ints] = [np.empty(0, dtype=np.int64)] * len(interactions)
    places: list[Array] = [np.empty(0, dtype=np.int32)] * len(interactions)
    for b, (columns, members) in enumerate(blocks):
        size = math.prod(int(cards[c]) for c in columns)
        cells[b], firsts = number_cells(mixed_radix(codes, cards, columns), size)
        seen = int(np.searchsorted(firsts, n_train))  # training rows come first, so do their cells
        corners = codes[:, firsts]
        for t in members:
            of_cell = mixed_radix(corners, cards, interactions[t])
            ids, first = number_cells(of_cell, math.prod(int(cards[c]) for c in interactions[t]))
            known = int(np.searchsorted(first, seen))
            ids[ids >= known] = -1
            keys[t], places[t] = of_cell[first[:known]], ids
        starts[b + 1] = starts[b] + len(firsts)
        cells[b] += starts[b]
    sizes = np.array([len(k) for k in keys], dtype=np.int64)
    firsts_of = 1 + np.cumsum(sizes) - sizes
    total = 0
    for b, (_, members) in enumerate(blocks):
        for t in members:
            link_block.append(b)
            link_start.append(total)
            links.append(np.where(places[t] < 0, -1, places[t] + firsts_of[t]).astype(np.int32))
            total += len(places[t])
    n_features = 1 + int(sizes.sum()) + len(numbers)
    arrays = BlockDesign(
        cells,
        starts,
        np.array(link_block, dtype=np.int64),
        np.array(link_start, dtype=np.int64),
        flatten(links, np.int32),
        np.ascontiguousarray(numbers),
        n_features - len(numbers),
        n_features,
    )
    squares = _squares(arrays, weights)
    return InteractionDesign(arrays, tuple(interactions), firsts_of, tuple(keys), squares)


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


def log_prior(labels: Ints, n_classes: int, weights: Floats) -> Floats:
    """ln((n_c + 1/C) / (m + 1)) by class."""
    counts = np.bincount(labels, weights, n_classes)
    prior: Floats = np.log((counts + 1 / n_classes) / (counts.sum() + 1))
    return prior


def smooth(log_proba: Floats, total: float) -> Floats:
    """ln((m p + 1/C) / (m + 1)), classes on the first axis: no class is ever impossible."""
    share = 1 / (total + 1)
    mixed: Floats = np.logaddexp(log_proba + np.log1p(-share), np.log(share / len(log_proba)))
    return mixed


def normalize_log_proba(predictors: Floats) -> Floats:
    """ln P of classes, on the first axis, from their predictors."""
    largest = predictors.max(axis=0)
    log_proba: Floats = predictors - (largest + np.log(np.exp(predictors - largest).sum(axis=0)))
    return log_proba


def empty_memory(columns: int, features: int) -> StepPairs:
    """No pairs of steps and changes of the gradient."""
    size = columns * features
    pairs = max(5, min(MEMORY, MAX_ENTRIES // size))
    return StepPairs(
        np.zeros((pairs, size)),
        np.zeros((pairs, size)),
        np.zeros(pairs),
        np.zeros(features),
        np.array([-1, 0]),
    )


class Ridge:
    """A fit in progress: each `solve` starts from the last solution."""

    def __init__(
        self, design: InteractionDesign, labels: Ints, n_classes: int, weights: Floats
    ) -> None:
        self.design = design
        self.n_classes = n_classes
        self.labels = labels
        self.weights = weights
        prior = log_prior(labels, n_classes, weights)
        self.binary = n_classes == 2
        self.prior: Floats = prior[1:] - prior[:1] if self.binary else prior
        self.w: Floats = np.zeros((len(self.prior), int(design.arrays.n_features)))
        self._memory = empty_memory(*self.w.shape)
        orders = design.orders
        powers = np.where(orders < 0, NUMERIC_SHARE, 2.0 ** (orders - 1))
        self._powers = np.where(orders == 0, 0.0, powers)
        self._curvature = 0.25 if self.binary else max(0.1, (1 - 1 / n_classes) / n_classes)

    def solve(
        self, strength: float, *, tolerance: float = TOLERANCE, max_steps: int = MAX_STEPS
    ) -> int:
        """Move the weights to the optimum for λ = `strength`; the number of steps."""
        if self.n_classes == 1:
            return 0
        penalty = self._powers * strength
        penalty[0] = 1.0
        if self.binary:
            penalty /= 2
        metric = 1 / (self._curvature * self.design.squares + penalty)
        return minimize(
            self.design.arrays,
            self.labels,
            self.weights,
            self.prior,
            penalty,
            metric,
            self._memory,
            self.w.reshape(-1),
            tolerance * float(self.weights.sum()),
            max_steps,
        )

    def frozen(self) -> Ridge:
        """A copy of this fit that cannot be solved again and needs less memory."""
        twin = copy.copy(self)
        twin.w = self.w.copy()
        del twin._memory
        return twin

    def log_proba(self, first: int, last: int) -> Floats:
        """ln P(class) of the design's rows from `first` to `last`, (classes, rows)."""
        out = np.empty((len(self.prior), last - first))
        predict_rows(self.design.arrays, self.prior, self.w.reshape(-1), first, out)
        if self.binary:
            return np.stack([-np.logaddexp(0.0, out[0]), -np.logaddexp(0.0, -out[0])])
        return normalize_log_proba(out)

    def start_from(self, other: Ridge) -> None:
        """Copy the weights of the interactions that another fit on the same rows has too."""
        new, old = self.design, other.design
        self.w[:, 0] = other.w[:, 0]
        numbers = new.arrays.numbers.shape[0]
        self.w[:, self.w.shape[1] - numbers :] = other.w[:, other.w.shape[1] - numbers :]
        positions = {interaction: t for t, interaction in enumerate(old.interactions)}
        for interaction, start, keys in zip(new.interactions, new.starts, new.keys, strict=True):
            if interaction in positions:
                t = positions[interaction]
                order = np.argsort(old.keys[t])
                place = order[np.searchsorted(old.keys[t], keys, sorter=order)]
                self.w[:, start : start + len(keys)] = other.w[:, old.starts[t] + place]

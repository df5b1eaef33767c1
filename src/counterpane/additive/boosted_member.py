"""Boosted trees as a part of an additive classifier: a sum of boxes over few columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.additive.binning import Binning
from counterpane.additive.box_parts import BoxParts
from counterpane.typing import Array, Codes, Floats, Ints

Face = tuple[int, ...]
BLOCK_BOXES = 2**11  # whose bins are spread out at a time

_TREE_ARRAYS = {  # how they are kept in a file, which holds int64 and float64 only
    "column": (np.int16, np.int64),
    "child": (np.int16, np.int64),
    "goes_first": (np.uint64, np.int64),
    "gain": (np.float32, np.float64),
    "values": (np.float32, np.float64),
}


@dataclass(frozen=True, eq=False)
class BoostedMember:
    """A sum of trees with at most a few columns on a path, for every class.

    Attributes
    ----------
    binning
        How cells become bins.
    constant
        What every row has, by class.
    trees
        All trees; the values of leaves are those of each class, or of the log-odds of class 1 of
        two.
    shares
        The share of training rows in each bin of each column, (columns, 256): the measure under
        which parts have the mean zero.
    fits
        The number of trees of each fit, in order; by default all are of one.
    scales
        The share of each fit in the sum; the values of its trees are multiplied by it.
    """

    binning: Binning
    constant: Floats
    trees: kernels.Trees
    shares: Floats
    fits: Ints | None = None
    scales: Floats | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.constant)

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return len(self.binning.columns)

    @property
    def numeric(self) -> Ints:
        """Positions of the columns of numbers."""
        numbers = self.binning.numbers
        order = np.argsort(numbers[numbers >= 0])
        return self.binning.columns[numbers >= 0][order]

    def values_of(self, row: int) -> Floats:
        """Rising values of a column of numbers, by its row among them: its cuts."""
        return self.binning.cuts[int(np.flatnonzero(self.binning.numbers == row)[0])]

    def cuts_within(self, face: Face, column: int) -> Floats:
        """Rising cuts of a column of numbers at which the part of a face may change."""
        columns = tuple(np.flatnonzero(np.isin(self.binning.columns, face)).tolist())
        which = self.parts.holders.get(columns)
        if which is None:
            return np.zeros(0)
        j = int(np.flatnonzero(self.binning.columns == column)[0])
        words = self.boxes.bins[which][self.boxes.columns[which] == j]
        bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
        bits = bits[:, 1 : int(self.binning.n_bins[j])]  # without the missing cells
        cuts: Floats = self.binning.cuts[j][(bits[:, 1:] != bits[:, :-1]).any(axis=0)]
        return cuts

    @cached_property
    def boxes(self) -> kernels.Boxes:
        """The leaves of all trees, in order."""
        leaves = int((self.trees.column >= 0).sum() + len(self.trees.column))
        most = self._longest_path()
        boxes = kernels.Boxes(
            np.empty((leaves, most), dtype=np.int64), np.empty((leaves, most, 4), dtype=np.uint64)
        )
        kernels.list_boxes(self.trees, boxes)
        used = max(1, int((boxes.columns >= 0).sum(axis=1).max(initial=0)))
        return kernels.Boxes(
            np.ascontiguousarray(boxes.columns[:, :used]),
            np.ascontiguousarray(boxes.bins[:, :used]),
        )

    @cached_property
    def box_values(self) -> Array:
        """The values of the boxes, (boxes, scores)."""
        leaves = (self.trees.column >= 0).sum(axis=1) + 1
        there = np.arange(self.trees.values.shape[1]) < leaves[:, None]
        return np.ascontiguousarray(self.trees.values[there])

    @cached_property
    def parts(self) -> BoxParts:
        """The parts of the boxes that belong to each set of columns."""
        shares: Floats = np.ones(self.boxes.columns.shape)
        for low in range(0, len(shares), BLOCK_BOXES):
            columns, bins = (a[low : low + BLOCK_BOXES] for a in self.boxes)
            bits = np.unpackbits(bins.view(np.uint8), axis=-1, bitorder="little")
            inside = np.einsum("bqk,bqk->bq", bits, self.shares[np.maximum(columns, 0)])
            shares[low : low + BLOCK_BOXES] = np.where(columns >= 0, inside, 1.0)
        return BoxParts(self.boxes, self.box_values, shares)

    @cached_property
    def all_faces(self) -> frozenset[Face]:
        """The sets of columns that have a part, subsets included, by positions of features."""
        return frozenset(self._face(columns) for columns in self.parts.holders if columns)

    def _face(self, columns: Sequence[int]) -> Face:
        return tuple(sorted(self.binning.columns[list(columns)].tolist()))

    def predictor(self, codes: Codes, numbers: Floats) -> Floats:
        """The scores of the classes, (rows, classes), up to a constant of the row."""
        scores = np.zeros((codes.shape[1], self.trees.values.shape[2]))
        kernels.add_scores(self.binning(codes, numbers), self.trees, len(self.trees.column), scores)
        return self.by_class(scores) + self.constant

    def pure_parts(self, codes: Codes, numbers: Floats) -> Iterator[tuple[Face, Floats]]:
        """(face, what it adds to the scores of the classes of rows); the empty face is a constant.

        The sum over all faces and `constant` is `predictor`.
        """
        bins = self.binning(codes, numbers)
        for columns, part in self.parts.all_parts(bins):
            yield self._face(columns), self.by_class(part)

    def fit_parts(self, face: Face, codes: Codes, numbers: Floats) -> tuple[Floats, Floats]:
        """(shares, values): what a purified face adds to the scores, by the fits alone.

        `values` are (fits, rows, classes); their sum, weighed by the shares, is that of the model.
        """
        columns = tuple(np.flatnonzero(np.isin(self.binning.columns, face)).tolist())
        bins = self.binning(codes, numbers)
        scales = np.ones(1) if self.scales is None else self.scales
        values = [
            self.by_class(self.parts.part(columns, bins, self._box_fits == k)) / scale
            for k, scale in enumerate(scales.tolist())
        ]
        return scales, np.reshape(values, (len(scales), len(bins), self.n_classes))

    @cached_property
    def _box_fits(self) -> Ints:
        """The fit of each box."""
        leaves = (self.trees.column >= 0).sum(axis=1) + 1
        n_trees = np.array([len(leaves)]) if self.fits is None else self.fits
        return np.repeat(np.repeat(np.arange(len(n_trees)), n_trees), leaves)

    def by_class(self, scores: Floats) -> Floats:
        """Scores of all classes, from the log-odds of class 1 if there are two."""
        if scores.shape[1] == self.n_classes:
            return scores
        return np.concatenate([-scores / 2, scores / 2], axis=1)

    def _longest_path(self) -> int:
        """An upper bound of the number of different columns on a path."""
        depth = int((self.trees.column >= 0).sum(axis=1).max(initial=0))
        return max(1, min(depth, kernels.MOST_BOX_COLUMNS))

    def to_arrays(self) -> dict[str, Array]:
        """All of it as int64 and float64 arrays."""
        trees = {
            f"trees.{name}": getattr(self.trees, name).astype(kept)
            for name, (_, kept) in _TREE_ARRAYS.items()
        }
        binning = {f"bins.{name}": array for name, array in self.binning.to_arrays().items()}
        arrays = {"constant": self.constant, "shares": self.shares, **trees, **binning}
        if self.fits is not None and self.scales is not None:
            arrays |= {"fits": self.fits, "scales": self.scales}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The member that `to_arrays` described."""
        own = {k.removeprefix("bins."): v for k, v in arrays.items() if k.startswith("bins.")}
        trees = kernels.Trees._make(
            arrays[f"trees.{name}"].astype(used) for name, (used, _) in _TREE_ARRAYS.items()
        )
        fits = arrays.get("fits"), arrays.get("scales")
        return cls(Binning.from_arrays(own), arrays["constant"], trees, arrays["shares"], *fits)

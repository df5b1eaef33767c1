"""Boosted trees as a part of an additive classifier: a sum of boxes over few columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Self

import numpy as np

from counterpane._core import boosting as kernels
from counterpane.models.binning import Binning
from counterpane.typing import Array, Bools, Codes, Floats, Ints

Face = tuple[int, ...]

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
    """

    binning: Binning
    constant: Floats
    trees: kernels.Trees
    shares: Floats

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

    @cached_property
    def boxes(self) -> kernels.Boxes:
        """The leaves of all trees, in order."""
        leaves = int((self.trees.column >= 0).sum() + len(self.trees.column))
        most = self._longest_path()
        boxes = kernels.Boxes(
            np.empty((leaves, most), dtype=np.int64), np.empty((leaves, most, 4), dtype=np.uint64)
        )
        kernels.list_boxes(self.trees, boxes)
        return boxes

    @cached_property
    def box_values(self) -> Array:
        """The values of the boxes, (boxes, scores)."""
        leaves = (self.trees.column >= 0).sum(axis=1) + 1
        there = np.arange(self.trees.values.shape[1]) < leaves[:, None]
        return np.ascontiguousarray(self.trees.values[there])

    @cached_property
    def box_shares(self) -> Floats:
        """The share of rows that are in a box by each of its columns, (boxes, columns)."""
        bits = np.unpackbits(self.boxes.bins.view(np.uint8), axis=-1, bitorder="little")
        known = self.boxes.columns >= 0
        measure = self.shares[np.where(known, self.boxes.columns, 0)]
        inside: Floats = np.einsum("bqk,bqk->bq", bits, measure)
        return np.where(known, inside, 1.0)

    @cached_property
    def all_faces(self) -> frozenset[Face]:
        """The sets of columns that have a part, subsets included, by positions of features."""
        return frozenset(self._subsets())

    def _subsets(self) -> dict[Face, int]:
        """The sets of columns that have a part, in the order of `_parts`."""
        found: dict[Face, int] = {}
        for columns in np.unique(self.boxes.columns, axis=0).tolist():
            own = [c for c in columns if c >= 0]
            for size in range(1, len(own) + 1):
                for subset in combinations(own, size):
                    found.setdefault(self._face(subset), len(found))
        return found

    def _face(self, columns: Sequence[int]) -> Face:
        return tuple(sorted(self.binning.columns[list(columns)].tolist()))

    def _parts(self, places: Mapping[Face, int]) -> Ints:
        """The place of each subset of each box's columns, (boxes, 2 ** columns); −1: left out."""
        distinct, where = np.unique(self.boxes.columns, axis=0, return_inverse=True)
        rows = np.full((len(distinct), 1 << distinct.shape[1]), -1, dtype=np.int64)
        for k, columns in enumerate(distinct.tolist()):
            own = [c for c in columns if c >= 0]
            for subset in range(1 << len(own)):
                chosen = [c for j, c in enumerate(own) if subset >> j & 1]
                rows[k, subset] = places.get(self._face(chosen), -1)
        return np.ascontiguousarray(rows[where.reshape(-1)])

    def predictor(self, codes: Codes, numbers: Floats) -> Floats:
        """The scores of the classes, (rows, classes), up to a constant of the row."""
        scores = np.zeros((codes.shape[1], self.trees.values.shape[2]))
        kernels.add_scores(self.binning(codes, numbers), self.trees, len(self.trees.column), scores)
        return self._by_class(scores) + self.constant

    def pure_parts(self, codes: Codes, numbers: Floats) -> Iterator[tuple[Face, Floats]]:
        """(face, what it adds to the scores of the classes of rows); the empty face is a constant.

        The sum over all faces and `constant` is `predictor`.
        """
        places = {(): 0} | {face: 1 + k for face, k in self._subsets().items()}
        out = np.zeros((len(places), codes.shape[1], self.trees.values.shape[2]))
        self._add_parts(self.binning(codes, numbers), places, out)
        for face, place in places.items():
            yield face, self._by_class(out[place])

    def pure_part(self, face: Face, codes: Codes, numbers: Floats) -> Floats:
        """What one purified face adds to the scores of the classes, (rows, classes)."""
        out = np.zeros((1, codes.shape[1], self.trees.values.shape[2]))
        self._add_parts(self.binning(codes, numbers), {face: 0}, out)
        return self._by_class(out[0])

    def table(self, face: Face) -> tuple[tuple[Ints, ...], Floats]:
        """(bins, values): the bins of each column of a face, and its part by cell and class.

        Adjacent bins that no box separates stand as one, by the first of them.
        """
        columns = [int(np.flatnonzero(self.binning.columns == c)[0]) for c in face]
        firsts = tuple(np.flatnonzero(self._separated(c)) for c in columns)
        cells = np.array(list(product(*firsts)), dtype=np.uint8).reshape(-1, len(face))
        rows = np.zeros((len(cells), len(self.binning.columns)), dtype=np.uint8)
        rows[:, columns] = cells
        out = np.zeros((1, len(cells), self.trees.values.shape[2]))
        self._add_parts(rows, {face: 0}, out)
        shape = (*(len(f) for f in firsts), self.n_classes)
        return firsts, self._by_class(out[0]).reshape(shape)

    def _separated(self, column: int) -> Bools:
        """Which bins of a column some box tells from the bin before; bins 0 and 1 always."""
        at = self.boxes.columns == column
        bits = np.unpackbits(self.boxes.bins[at].view(np.uint8), axis=-1, bitorder="little")
        bits = bits[:, : int(self.binning.n_bins[column])]
        changes = np.ones(bits.shape[1], dtype=np.bool_)
        changes[2:] = (bits[:, 2:] != bits[:, 1:-1]).any(axis=0)
        return changes

    def _add_parts(self, bins: Array, places: Mapping[Face, int], out: Floats) -> None:
        kernels.add_parts(
            bins, self.boxes, self.box_shares, self.box_values, self._parts(places), out
        )

    def _by_class(self, scores: Floats) -> Floats:
        if scores.shape[1] == self.n_classes:
            return scores
        return np.concatenate([-scores / 2, scores / 2], axis=1)  # log-odds of class 1

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
        return {"constant": self.constant, "shares": self.shares, **trees, **binning}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The member that `to_arrays` described."""
        own = {k.removeprefix("bins."): v for k, v in arrays.items() if k.startswith("bins.")}
        trees = kernels.Trees._make(
            arrays[f"trees.{name}"].astype(used) for name, (used, _) in _TREE_ARRAYS.items()
        )
        return cls(Binning.from_arrays(own), arrays["constant"], trees, arrays["shares"])

"""One fit of an additive classifier: its coding of the columns, and its tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from counterpane.errors import DataError, ParameterError, ScopeError
from counterpane.ragged import join, split
from counterpane.typing import Array, Codes, Floats, Ints

LIMIT = 4.0  # standardized values are clipped to ±LIMIT
Face = tuple[int, ...]

DENSE_CELLS = 2**16  # tables of at most so many cells are looked up directly


@dataclass(frozen=True, eq=False)
class Coding:
    """States and numeric terms of rows, from their codes and numbers.

    A column of numbers has one state for each interval between its `cuts`, and one for missing.
    Its terms are z, the standardized value clipped to ±4, and r, its normal score, looked up in
    `scores`: entry 2j + 1 belongs to the j-th of the rising `values`, entry 2j to what lies below
    it. A missing number counts as `fill`. A column of scale 0 is constant and has no terms.
    """

    cards: Ints  # states by column
    numeric: Ints  # positions of the columns of numbers
    cuts: tuple[Floats, ...]
    centers: Floats
    scales: Floats
    fills: Floats
    values: tuple[Floats, ...]
    scores: tuple[Floats, ...]

    def __post_init__(self) -> None:
        n = len(self.numeric)
        each = (self.cuts, self.centers, self.scales, self.fills, self.values, self.scores)
        if any(len(part) != n for part in each):
            raise DataError(f"{n} columns of numbers need cuts, scale, fill and scores each.")
        for position, cuts in zip(self.numeric.tolist(), self.cuts, strict=True):
            if self.cards[position] != len(cuts) + 2:
                raise DataError(f"column {position}: {len(cuts)} cuts make {len(cuts) + 2} states.")
        for values, scores in zip(self.values, self.scores, strict=True):
            if len(scores) != 2 * len(values) + 1:
                raise DataError(f"{len(values)} values need {2 * len(values) + 1} scores.")

    @property
    def varying(self) -> Ints:
        """The places, among the columns of numbers, of those that have terms."""
        return np.flatnonzero(self.scales > 0)

    def codes(self, codes: Codes, numbers: Floats) -> Codes:
        """Each cell's state, uint16; columns without numbers keep their codes."""
        coded = codes.astype(np.uint16)
        for position, cuts, row in zip(self.numeric, self.cuts, numbers, strict=True):
            coded[position] = np.searchsorted(cuts, row, side="right")
            coded[position, np.isnan(row)] = len(cuts) + 1
        return coded

    def terms(self, numbers: Floats) -> Floats:
        """z of each varying column of numbers, then r of each, by row."""
        varying = self.varying
        terms = np.empty((2 * len(varying), numbers.shape[1]))
        for place, a in enumerate(varying):
            x = np.where(np.isnan(numbers[a]), self.fills[a], numbers[a])
            with np.errstate(over="ignore"):  # what is infinite is clipped
                z = (x - self.centers[a]) / self.scales[a]
            terms[place] = np.clip(z, -LIMIT, LIMIT)
            below = np.searchsorted(self.values[a], x, side="left")
            upto = np.searchsorted(self.values[a], x, side="right")
            terms[len(varying) + place] = self.scores[a][below + upto]
        return terms

    def to_arrays(self) -> dict[str, Array]:
        """All of it as int64 and float64 arrays."""
        arrays: dict[str, Array] = {"cards": self.cards, "numeric": self.numeric}
        arrays |= {"centers": self.centers, "scales": self.scales, "fills": self.fills}
        for name in ("cuts", "values", "scores"):
            arrays |= _stored(name, f"{name}_ends", getattr(self, name), np.float64)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The coding that `to_arrays` described."""
        cuts, values, scores = (
            parted(arrays[name], arrays[f"{name}_ends"]) for name in ("cuts", "values", "scores")
        )
        centers, scales, fills = (arrays[name] for name in ("centers", "scales", "fills"))
        cards, numeric = arrays["cards"], arrays["numeric"]
        rows = (len(numeric),)
        if cards.ndim != 1 or not rows == centers.shape == scales.shape == fills.shape:
            raise DataError(f"{len(numeric)} columns of numbers have other numbers of scales.")
        if ((numeric < 0) | (numeric >= len(cards))).any() or (cards < 1).any():
            raise DataError("a column of numbers, or a number of states, is out of range.")
        if not all(np.isfinite(a).all() for a in (centers, scales, fills, *scores)):
            raise ParameterError("the coding of numbers holds one that is not finite.")
        return cls(cards, numeric, cuts, centers, scales, fills, values, scores)


def _stored(
    name: str, ends: str, parts: Sequence[npt.ArrayLike], dtype: npt.DTypeLike = np.int64
) -> dict[str, Array]:
    """Parts end to end and where each ends, under the names of a file."""
    flat, offsets = join(parts, dtype)
    return {name: flat, ends: offsets[1:]}


def parted(array: Array, ends: Ints) -> tuple[Array, ...]:
    """The parts of an array, which must end where the array does."""
    offsets = np.append(0, ends)
    if (np.diff(offsets) < 0).any() or offsets[-1] != len(array):
        raise DataError(f"parts that end at {ends.tolist()} do not fill {len(array)} values.")
    return tuple(split(array, offsets))


class Moved(NamedTuple):
    """What of a face's table belongs to a smaller face: values by cell of the latter.

    The smaller face may be empty, the constant; its one cell is then 0.
    """

    source: Face
    target: Face
    keys: Ints
    table: Floats  # (cells, classes)


@dataclass(frozen=True, eq=False)
class Member:
    """Faces with tables by cell and class; cells are numbered in mixed radix, `keys` are rising.

    `terms` holds the weights of the coding's numeric terms, (2 × varying columns, classes), z
    before r; it may be empty. `moved` changes no prediction: it tells what the tables are made of,
    see `counterpane.additive.purified`.
    """

    coding: Coding
    constant: Floats  # (classes,)
    faces: tuple[Face, ...]
    keys: tuple[Ints, ...]
    tables: tuple[Floats, ...]  # (cells, classes) each
    terms: Floats
    moved: tuple[Moved, ...] = ()

    def __post_init__(self) -> None:
        flat = (*self.keys, self.constant, *(moved.keys for moved in self.moved))
        numbers = (self.constant, self.terms, *self.tables, *(m.table for m in self.moved))
        terms = self.terms.size == 0 or self.terms.shape[1:] == self.constant.shape
        whole = all(keys.dtype.kind in "iu" for keys in (self.coding.cards, *self.keys))
        if not terms or not whole or any(a.ndim != 1 for a in flat):
            raise ScopeError("the keys, terms or constants are of another type or shape.")
        if not all(a.dtype.kind == "f" and np.isfinite(a).all() for a in numbers):
            raise ParameterError("a table, term or constant holds a number that is not finite.")
        if len(self.terms) not in (0, 2 * len(self.coding.varying)):
            raise ScopeError(
                f"{len(self.coding.varying)} varying columns of numbers have {len(self.terms)} "
                "terms; two of each, or none, are needed."
            )
        for face, keys, table in zip(self.faces, self.keys, self.tables, strict=True):
            if not face:
                raise ScopeError("a face without columns has a table; the constant is told apart.")
            self._check_table(face, keys, table)
        for moved in self.moved:
            self._check_table(moved.target, moved.keys, moved.table)
            if not set(moved.target) < set(moved.source) <= set(range(len(self.coding.cards))):
                raise ScopeError(f"what moves from {moved.source} cannot move to {moved.target}.")

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return len(self.coding.cards)

    @property
    def numeric(self) -> Ints:
        """Positions of the columns of numbers."""
        return self.coding.numeric

    def values_of(self, row: int) -> Floats:
        """Rising values of a column of numbers, by its row among them."""
        return self.coding.values[row]

    def cuts_within(self, face: Face, column: int) -> Floats:
        """Rising cuts of a column of numbers at which the part of a face may change."""
        if not any(set(face) <= set(other) for other in self.faces):
            return np.zeros(0)
        return self.coding.cuts[int(np.flatnonzero(self.coding.numeric == column)[0])]

    def _check_table(self, face: Face, keys: Ints, table: Floats) -> None:
        n_columns = len(self.coding.cards)
        rising = all(a < b for a, b in pairwise(face))
        if not rising or (face and (face[0] < 0 or face[-1] >= n_columns)):
            raise ScopeError(f"the face {face} is no rising set of {n_columns} columns.")
        if table.shape != (len(keys), len(self.constant)):
            raise ScopeError(
                f"the face {face} has {len(keys)} cells and a table of shape {table.shape}."
            )
        size = math.prod(self.coding.cards[list(face)].tolist())
        if len(keys) and (keys[0] < 0 or keys[-1] >= size or (keys[1:] <= keys[:-1]).any()):
            raise ScopeError(f"the cells of face {face} do not rise from 0 to {size - 1}.")

    @cached_property
    def all_faces(self) -> frozenset[Face]:
        """The faces, with those that have numeric terms only, or what larger ones leave to them."""
        found = frozenset(self.faces) | {m.target for m in self.moved if m.target}
        if not len(self.terms):
            return found
        numeric = self.coding.numeric[self.coding.varying].tolist()
        return found | {(c,) for c in numeric}

    def parts(self, codes: Codes, numbers: Floats) -> Iterator[tuple[Face, Floats]]:
        """What each table and each pair of terms adds to the predictors, (rows, classes)."""
        coded = self.coding.codes(codes, numbers).astype(np.int64)
        for face, lookup in zip(self.faces, self.lookups, strict=True):
            yield face, lookup(*self._cells(coded, face))
        yield from self.term_parts(numbers)

    def pure_parts(self, codes: Codes, numbers: Floats) -> Iterator[tuple[Face, Floats]]:
        """The same, with what moved taken from one face and added to another one.

        The empty face is the constant, less what it is for all rows anyway.
        """
        yield from self.parts(codes, numbers)
        coded = self.coding.codes(codes, numbers).astype(np.int64)
        for moved, lookup in zip(self.moved, self._moved_lookups, strict=True):
            part = lookup(*self._cells(coded, moved.target))
            yield moved.source, -part
            yield moved.target, part

    def fit_parts(self, face: Face, codes: Codes, numbers: Floats) -> tuple[Floats, Floats]:
        """(shares, values): what a purified face adds to the predictors, of this one fit."""
        total = np.zeros((1, codes.shape[1], len(self.constant)))
        for other, part in self.pure_parts(codes, numbers):
            if other == face:
                total[0] += part
        return np.ones(1), total

    def term_parts(self, numbers: Floats) -> Iterator[tuple[Face, Floats]]:
        """What the numeric terms of each column add to the predictors."""
        if len(self.terms):
            terms = self.coding.terms(numbers)
            n = len(self.coding.varying)
            for a, c in enumerate(self.coding.numeric[self.coding.varying].tolist()):
                z, r = terms[a, :, None], terms[n + a, :, None]
                yield (c,), z * self.terms[a] + r * self.terms[n + a]

    def _cells(self, coded: Ints, face: Face) -> tuple[Ints, Array]:
        """The number of each row's cell, and which rows have a state that is not known."""
        cells = np.zeros(coded.shape[1], dtype=np.int64)
        strange = np.zeros(coded.shape[1], dtype=np.bool_)
        for c in face:
            cells = cells * self.coding.cards[c] + coded[c]
            strange |= coded[c] >= self.coding.cards[c]
        return cells, strange

    def predictor(self, codes: Codes, numbers: Floats) -> Floats:
        """The sum of all parts and the constant, (rows, classes)."""
        total: Floats = np.repeat(self.constant[None], codes.shape[1], axis=0)
        for _, part in self.parts(codes, numbers):
            total += part
        return total

    @cached_property
    def lookups(self) -> list[_Lookup]:
        """Each face's table by cell."""
        sizes = [math.prod(self.coding.cards[list(face)].tolist()) for face in self.faces]
        return [_Lookup(*own) for own in zip(sizes, self.keys, self.tables, strict=True)]

    @cached_property
    def _moved_lookups(self) -> list[_Lookup]:
        sizes = [math.prod(self.coding.cards[list(m.target)].tolist()) for m in self.moved]
        return [_Lookup(n, m.keys, m.table) for n, m in zip(sizes, self.moved, strict=True)]

    def to_arrays(self) -> dict[str, Array]:
        """All of it as int64 and float64 arrays."""
        arrays = self.coding.to_arrays()
        arrays |= {"constant": self.constant, "terms": self.terms}
        arrays |= _stored("faces", "face_ends", self.faces)
        arrays |= _stored("keys", "key_ends", self.keys)
        n_classes = len(self.constant)
        arrays["tables"] = np.concatenate([np.empty((0, n_classes)), *self.tables])
        if self.moved:
            sources, targets, keys, tables = zip(*self.moved, strict=True)
            for name, each in (("from", sources), ("to", targets), ("cells", keys)):
                arrays |= _stored(f"moved_{name}", f"moved_{name}_ends", each)
            arrays["moved"] = np.concatenate(tables)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The member that `to_arrays` described."""
        faces = parted(arrays["faces"], arrays["face_ends"])
        return cls(
            Coding.from_arrays(arrays),
            arrays["constant"],
            tuple(tuple(face.tolist()) for face in faces),
            parted(arrays["keys"], arrays["key_ends"]),
            parted(arrays["tables"], arrays["key_ends"]),
            arrays["terms"],
            tuple(_moved_of(arrays)) if "moved" in arrays else (),
        )


def _moved_of(arrays: Mapping[str, Array]) -> Iterator[Moved]:
    """What `Member.to_arrays` told of what moved."""
    parts = [parted(arrays[f"moved_{n}"], arrays[f"moved_{n}_ends"]) for n in ("from", "to")]
    ends = arrays["moved_cells_ends"]
    cells = parted(arrays["moved_cells"], ends), parted(arrays["moved"], ends)
    for source, target, keys, table in zip(*parts, *cells, strict=True):
        yield Moved(tuple(source.tolist()), tuple(target.tolist()), keys, table)


class _Lookup:
    """Rows of a table by key; zero for a key without a row."""

    def __init__(self, size: int, keys: Ints, table: Floats) -> None:
        self.keys = keys
        self.table: Floats = np.vstack([table, np.zeros((1, table.shape[1]))])
        self.places: Ints | None = None
        if size <= DENSE_CELLS:
            self.places = np.full(size, len(keys), dtype=np.int64)
            self.places[keys] = np.arange(len(keys))

    def __call__(self, cells: Ints, strange: Array) -> Floats:
        cells = np.where(strange, 0, cells)
        if self.places is not None:
            places = self.places[cells]
        else:
            places = np.minimum(np.searchsorted(self.keys, cells), len(self.keys) - 1)
            places = np.where(self.keys[places] == cells, places, len(self.keys))
        found: Floats = self.table[np.where(strange, len(self.keys), places)]
        return found

"""How one fit saw the columns: cuts, scales and ranks of numbers, from its training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from counterpane.errors import DataError
from counterpane.typing import Array, Codes, Floats, Ints

LIMIT = 4.0  # standardized values are clipped to ±LIMIT


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
            arrays[name], arrays[f"{name}_ends"] = joined(getattr(self, name))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The coding that `to_arrays` described."""
        cuts, values, scores = (
            parted(arrays[name], arrays[f"{name}_ends"]) for name in ("cuts", "values", "scores")
        )
        centers, scales, fills = (arrays[name] for name in ("centers", "scales", "fills"))
        cards, numeric = arrays["cards"], arrays["numeric"]
        return cls(cards, numeric, cuts, centers, scales, fills, values, scores)


def joined(parts: Sequence[Array], dtype: type = np.float64) -> tuple[Array, Ints]:
    """Arrays end to end, and where each ends."""
    ends = np.cumsum([len(p) for p in parts], dtype=np.int64)
    return np.concatenate([np.empty(0, dtype=dtype), *parts]), ends


def parted(array: Array, ends: Ints) -> tuple[Array, ...]:
    """The parts that `joined` put end to end."""
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if len(ends) else 0) != len(array):
        raise DataError(f"parts that end at {ends.tolist()} do not fill {len(array)} values.")
    return tuple(array[low:high] for low, high in pairwise([0, *ends.tolist()]))

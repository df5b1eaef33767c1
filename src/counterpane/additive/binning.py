"""Bins of columns, at most 256 of each; bin 0 holds missing cells and unknown states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from counterpane.ragged import join, split
from counterpane.typing import Array, Bools, Codes, Floats, Ints


@dataclass(frozen=True, eq=False)
class Binning:
    """How cells become bins.

    Attributes
    ----------
    columns
        The position of each binned column among the features.
    numbers
        Its row among the numbers, or −1 for a column of states.
    ordered
        Whether neighboring bins are neighbors: numbers, and states that are numbers.
    cuts
        For a column of numbers, rising cuts: bin k holds cuts[k − 2] ≤ x < cuts[k − 1].
    state_bins
        For a column of states, the bin of each state.
    """

    columns: Ints
    numbers: Ints
    ordered: Bools
    cuts: tuple[Floats, ...]
    state_bins: tuple[Ints, ...]

    @cached_property
    def n_bins(self) -> Ints:
        """The number of bins of each column, with bin 0."""
        sizes = [
            len(cuts) + 2 if row >= 0 else int(bins.max(initial=0)) + 1
            for row, cuts, bins in zip(self.numbers, self.cuts, self.state_bins, strict=True)
        ]
        return np.array(sizes, dtype=np.int64)

    def __call__(self, codes: Codes, numbers: Floats) -> Array:
        """The bins of rows, (rows, columns) uint8, from codes and numbers by column."""
        bins = np.zeros((codes.shape[1], len(self.columns)), dtype=np.uint8)
        for j, (column, row) in enumerate(
            zip(self.columns.tolist(), self.numbers.tolist(), strict=True)
        ):
            if row >= 0:
                known = ~np.isnan(numbers[row])
                places = np.searchsorted(self.cuts[j], numbers[row], side="right") + 1
                bins[:, j] = np.where(known, places, 0)
            else:
                by_code = np.append(self.state_bins[j], 0)  # an unknown state is in bin 0
                bins[:, j] = by_code[np.minimum(codes[column], len(by_code) - 1)]
        return bins

    def to_arrays(self) -> dict[str, Array]:
        """All of it as arrays."""
        cuts, cut_from = join(self.cuts, np.float64)
        state_bins, state_from = join(self.state_bins, np.int64)
        return {
            "columns": self.columns,
            "numbers": self.numbers,
            "ordered": self.ordered.astype(np.int64),
            "cuts": cuts,
            "cut_from": cut_from,
            "state_bins": state_bins,
            "state_from": state_from,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """The binning that `to_arrays` described."""
        return cls(
            arrays["columns"],
            arrays["numbers"],
            arrays["ordered"].astype(np.bool_),
            tuple(split(arrays["cuts"], arrays["cut_from"])),
            tuple(split(arrays["state_bins"], arrays["state_from"])),
        )

"""Arrays of different lengths, stored end to end with the offsets of their ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from counterpane.typing import Array, Ints


def offsets_of(sizes: Iterable[int] | Ints) -> Ints:
    """Offsets (0, size₀, size₀ + size₁, …): part k is `flat[offsets[k] : offsets[k + 1]]`.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    lengths = np.asarray(sizes if isinstance(sizes, np.ndarray) else list(sizes), dtype=np.int64)
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def flatten(parts: Iterable[npt.ArrayLike], dtype: npt.DTypeLike = np.int64) -> Array:
    """The parts end to end as one array of `dtype`; an empty array if there is no part.

    >>> flatten([[1, 2], [], [3]]).tolist()
    [1, 2, 3]
    """
    arrays = [np.asarray(part, dtype=dtype).reshape(-1) for part in parts]
    return np.concatenate([np.empty(0, dtype=dtype), *arrays])


def join(parts: Sequence[npt.ArrayLike], dtype: npt.DTypeLike = np.int64) -> tuple[Array, Ints]:
    """(flat, offsets): the parts end to end, and the offsets of their ends.

    >>> flat, offsets = join([[1, 2], [], [3]])
    >>> flat.tolist(), offsets.tolist()
    ([1, 2, 3], [0, 2, 2, 3])
    """
    return flatten(parts, dtype), offsets_of(np.size(part) for part in parts)


def split(flat: Array, offsets: Ints) -> list[Array]:
    """The parts of a flat array, as views.

    >>> [part.tolist() for part in split(np.array([1, 2, 3]), np.array([0, 2, 2, 3]))]
    [[1, 2], [], [3]]
    """
    return [flat[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def ranges(first: Ints, last: Ints) -> Ints:
    """first[k], …, last[k] − 1 for each k, end to end.

    >>> ranges(np.array([4, 0]), np.array([6, 3])).tolist()
    [4, 5, 0, 1, 2]
    """
    sizes = last - first
    shifts: Ints = np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    return shifts + np.arange(shifts.size)


def entries(offsets: Ints, which: Ints) -> Ints:
    """The places in the flat array of the entries of parts `which`, part after part.

    >>> entries(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    return ranges(offsets[which], offsets[which + 1])


def segment_sums(flat: Array, offsets: Ints) -> Array:
    """The sum of each part of the last axis; sums of integers may wrap around.

    >>> segment_sums(np.array([1, 2, 3]), np.array([0, 2, 2, 3])).tolist()
    [3, 0, 3]
    """
    padded = np.zeros((*flat.shape[:-1], flat.shape[-1] + 1), dtype=flat.dtype)
    np.cumsum(flat, axis=-1, out=padded[..., 1:])
    sums: Array = padded[..., offsets[1:]] - padded[..., offsets[:-1]]
    return sums


def groups_of(keys: Ints, n: int) -> Ints:
    """Offsets of the groups 0 … n − 1 in sorted `keys`: group k is at offsets[k] : offsets[k + 1].

    >>> groups_of(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    offsets: Ints = np.searchsorted(keys, np.arange(n + 1))
    return offsets

"""A number for each column of a table, alike for equal columns."""

from __future__ import annotations

import numpy as np

from counterpane._core import counts as kernels
from counterpane.parallel import map_in_threads
from counterpane.typing import Bools, Codes, Ints, Words


def hash_columns(codes: Codes, n_jobs: int) -> tuple[Words, Bools]:
    """A hash of each column, and whether the column is constant.

    Columns that differ have different hashes but for an accident of one in 2⁶⁴; nothing protects
    against columns that are made to collide.

    >>> hashes, constant = hash_columns(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8), 1)
    >>> bool(hashes[0] == hashes[2]), len(set(hashes.tolist())), constant.tolist()
    (True, 2, [False, True, False])
    """
    hashes, constant = np.empty(len(codes), dtype=np.uint64), np.empty(len(codes), dtype=bool)

    def fill(part: Ints) -> None:
        if part.size:
            rows = slice(int(part[0]), int(part[-1]) + 1)
            kernels.hash_columns(codes[rows], hashes[rows], constant[rows])

    list(map_in_threads(fill, np.array_split(np.arange(len(codes)), n_jobs), n_jobs))
    return hashes, constant

"""Bit sets of a table, families and screens, as a device takes them.

A bit set is a row of `width` words of 32 bits, in multiples of 16 words. A device packs codes into
sets, intersects some of them, and multiplies: the *bit product* of A and B is |A_i ∩ B_j| for all
i and j. Whatever counts on a card is made of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpane.typing import Floats, Ints

STAGE = 16  # words of one step of a product: widths are multiples of it
BINARY_ROWS = 2**16 - 1  # up to so many, binary columns are screened without counts in memory


class PairSide(NamedTuple):
    """Columns of a table of pairs: where each begins without and with its last state, and sizes."""

    kept: Ints  # one more than columns
    begins: Ints  # likewise
    ones: Ints  # rows of each state


class ScreenSide(NamedTuple):
    """Columns of a screen, by the sets of all their states but the last."""

    sets: Any
    starts: Ints  # one more than columns
    sizes: Ints  # rows of each set
    at: int  # the number of the first column

    @property
    def is_binary(self) -> bool:
        """Whether each column has one set."""
        return len(self.sizes) == len(self.starts) - 1 and bool((np.diff(self.starts) == 1).all())


class FamilyTasks(NamedTuple):
    """Families of a screen: for each configuration of the parents a mask of its rows, then masks of
    its rows with each state of the child but the last.
    """

    masks: Any
    first: Ints  # the first mask of each task, one more than tasks
    states: Ints  # of its child
    sizes: Ints  # rows of each mask
    least: Floats  # (tasks, states): the least log-likelihood ratio of a column of s + 1 states


class Families(NamedTuple):
    """Families of a batch, each its parents and then its child, end to end."""

    cells_from: Ints  # one more than families
    members_from: Ints  # likewise
    first: Ints  # of each member: the set of its state 0
    last: Ints  # the set of its last state
    states: Ints  # their number


def words_of(n_rows: int) -> int:
    """The width of a set of so many rows.

    >>> words_of(1), words_of(512), words_of(513)
    (16, 16, 32)
    """
    return -(-max(n_rows, 1) // (32 * STAGE)) * STAGE

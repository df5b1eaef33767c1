"""The protocol of sources that count many candidate columns at once, such as a GPU.

A structure search asks which column improves a family most. Such a source counts the cells of the
family with the states of all columns by one product, or lists the columns above a threshold.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from counterpane.counts.source import CountSource
from counterpane.data.table import Table
from counterpane.progress import Control
from counterpane.typing import Floats, Ints


class StateCounts(NamedTuple):
    """Counts of the cells of some scopes with all states but the last of all columns.

    The cells of scope i are the rows cells_from[i] … cells_from[i + 1] − 1; column v has the
    places kept_from[v] … kept_from[v + 1] − 1.
    """

    counts: Ints  # (cells, places)
    totals: Ints  # of each cell
    cells_from: Ints
    kept_from: Ints


class StateLikelihoods(NamedTuple):
    """Σ N_jk ln(N_jk / N_j) of the last column of some scopes given the others and each column."""

    sums: Floats  # (scopes, columns); any number for a column of the scope
    totals: Ints  # of each cell
    cells_from: Ints


class CandidateCounter(CountSource):
    """A source that counts families with each further column at once; see `GpuCounts`.

    Attributes
    ----------
    n_jobs : int
        The number of threads of what is done on the CPU.
    """

    n_jobs: int

    @abstractmethod
    def reorder_columns(self, order: Sequence[int]) -> CandidateCounter:
        """Return the same counts with column `order[i]` at place i."""

    @abstractmethod
    def count_table(self, table: Table) -> CandidateCounter:
        """Return counts of another table in the same way."""

    @property
    @abstractmethod
    def prefers_state_counts(self) -> bool:
        """Whether `state_counts` is the fast way to count families with each further column."""

    @abstractmethod
    def state_counts(
        self, scopes: Sequence[Ints], *, ctl: Control | None = None
    ) -> Iterator[tuple[range, StateCounts]]:
        """Yield which scopes, and the counts of their cells with the states of all columns.

        As many scopes at a time as fit into memory.
        """

    @property
    @abstractmethod
    def max_cells_for_likelihoods(self) -> int:
        """The cells up to which `state_likelihoods` is faster than counts; 0: never."""

    @abstractmethod
    def state_likelihoods(self, scopes: Sequence[Ints]) -> Iterator[tuple[range, StateLikelihoods]]:
        """Yield which scopes, and the log-likelihoods of their last column given the others and
        one more column: those of the CPU to the last bit.
        """

    @property
    @abstractmethod
    def screens(self) -> bool:
        """Whether `pairs_above_threshold` and `parents_above_threshold` work for these rows."""

    @property
    @abstractmethod
    def screens_binary(self) -> bool:
        """Whether all columns are binary, so that screens need no counts in memory."""

    @property
    @abstractmethod
    def screened_together(self) -> int:
        """The columns of one side of a tile of the screens."""

    @abstractmethod
    def pairs_above_threshold(self, begin: int, end: int, limit: Floats, least: Floats) -> Ints:
        """Return the pairs of columns begin … end − 1 with later columns of a ratio above least[d].

        The ratio is N · MI and d its degrees of freedom; a pair of a χ² up to limit[d] cannot have
        so much. `begin` and `end` are multiples of `screened_together`, or the end. Pairs are
        sorted.
        """

    @abstractmethod
    def parents_above_threshold(self, children: Ints, families: Ints, least: Floats) -> Ints:
        """Return the (place in `children`, column) of a ratio above the least, given the family.

        `families` has one or two columns of each child, −1 behind the last; `least` is for columns
        of s + 1 states, (children, s). Pairs are sorted.
        """


def candidate_counter(source: CountSource) -> CandidateCounter | None:
    """Return `source` if it counts families with each further column at once, else None."""
    if isinstance(source, CandidateCounter) and source.prefers_state_counts:
        return source
    return None

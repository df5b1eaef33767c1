"""Bins of the columns of training rows; no class is looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterpane.additive.binning import Binning
from counterpane.data.schema import Variable
from counterpane.typing import Codes, Floats, Ints

MOST_CUTS = 128  # of a column of numbers
MOST_STATES = 254  # that have a bin of their own; the rarest share bin 0 with missing cells


def find_binning(
    variables: Sequence[Variable],
    codes: Codes,
    numeric: Sequence[int],
    numbers: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    columns: Sequence[int] | None = None,
    most: int = MOST_CUTS,
) -> Binning:
    """The bins of columns, found on all rows of a table.

    A number of few different values has a cut between each two of them, others have cuts at
    quantiles, shifted at random. States that are numbers are in their order.

    Parameters
    ----------
    variables
        The features of the table.
    codes, numeric, numbers
        Their cells: codes of states, the positions of the columns of numbers, and these columns.
    columns
        The order in which columns are drawn and binned; by default that of the table.
    """
    rows = {c: row for row, c in enumerate(numeric)}
    order = list(range(len(variables)) if columns is None else columns)
    cuts: list[Floats] = []
    bins: list[Ints] = []
    ordered: list[bool] = []
    for c in order:
        if c in rows:
            cuts.append(number_cuts(numbers[rows[c]], weights, rng, most))
            bins.append(np.zeros(0, dtype=np.int64))
            ordered.append(True)
        else:
            by_state, by_value = state_bins(variables[c], codes[c], weights)
            cuts.append(np.zeros(0))
            bins.append(by_state)
            ordered.append(by_value)
    return Binning(
        np.array(order, dtype=np.int64),
        np.array([rows.get(c, -1) for c in order], dtype=np.int64),
        np.array(ordered, dtype=np.bool_),
        tuple(cuts),
        tuple(bins),
    )


def number_cuts(values: Floats, weights: Floats, rng: np.random.Generator, most: int) -> Floats:
    """Cuts between all different values, or at most `most` near quantiles."""
    shift, places = rng.random(), rng.random(most)  # drawn for every column: it sees no other one
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    sorted_values = values[known][order]
    distinct = np.unique(sorted_values)
    if len(distinct) <= most:
        return middle(distinct[:-1], distinct[1:], np.full(max(len(distinct) - 1, 0), 0.5))
    heights = np.cumsum(weights[known][order])
    quantiles = (np.arange(most) + shift) / most * heights[-1]
    at = np.minimum(np.searchsorted(heights, quantiles), len(sorted_values) - 1)
    upper = np.unique(np.searchsorted(distinct, sorted_values[at]))
    upper = upper[upper > 0]
    return np.unique(middle(distinct[upper - 1], distinct[upper], places[: len(upper)]))


def middle(low: Floats, high: Floats, share: Floats) -> Floats:
    """Numbers above `low` and at most `high`, some share of the way; infinite ends are kept."""
    finite = np.isfinite(low) & np.isfinite(high)
    inside = np.where(finite, low, 0.0) + share * np.where(finite, high / 2 - low / 2, 0.0) * 2
    inside = np.where(finite, inside, high)
    return np.asarray(np.where((inside > low) & (inside <= high), inside, high))


def state_bins(variable: Variable, codes: Codes, weights: Floats) -> tuple[Ints, bool]:
    """(the bin of each state, whether bins are in the order of numbers)."""
    states = variable.states
    counts = np.bincount(codes, weights, variable.card + 1)[: variable.card]
    counts[[state is None for state in states]] = 0
    by_value = all(
        isinstance(s, (int, float)) and not isinstance(s, bool) for s in states if s is not None
    )
    seen = np.flatnonzero(counts > 0)
    seen = seen[np.lexsort((seen, -counts[seen]))][:MOST_STATES]
    if by_value:
        seen = seen[np.argsort([float(states[k] or 0) for k in seen.tolist()], kind="stable")]
    else:
        texts = [(str(states[k]), type(states[k]).__name__) for k in seen.tolist()]
        seen = seen[sorted(range(len(seen)), key=texts.__getitem__)]
    bins = np.zeros(variable.card, dtype=np.int64)
    bins[seen] = np.arange(1, len(seen) + 1)
    return bins, by_value and len(seen) > 0

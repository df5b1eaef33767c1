"""A dense local log-potential: a scope and one natural logarithm for each cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from counterpane.errors import ParameterError, ScopeError, TableSizeError
from counterpane.typing import Floats

MAX_CELLS = 2**26
"""The most cells a dense table may have: half a gigabyte of float64."""


LARGE = 1024.0  # nats: sums with larger ones lose more than a trillionth
MAX_LOG = 2.0**32
"""The largest finite log-value or weight; sums of larger ones round by more than 1e-6 nats."""


class Potential:
    """Natural logs over the joint states of `scope`: axis k of `log_values` is variable scope[k].

    Minus infinity, an impossible cell, is allowed. Final and read-only.

    >>> Potential((3, 0), [[0.0, -1.0], [-2.0, 0.5]]).at({0: 1}).log_values.tolist()
    [-1.0, 0.5]
    """

    __slots__ = ("log_values", "scope")

    def __init__(self, scope: Iterable[int], log_values: npt.ArrayLike) -> None:
        self.scope = tuple(int(v) for v in scope)
        if len(set(self.scope)) != len(self.scope) or min(self.scope, default=0) < 0:
            raise ScopeError(f"the scope {self.scope} repeats a variable or has a negative one.")
        shape = np.shape(log_values)
        check_cells(shape, f"the potential over the variables {self.scope}")
        if len(shape) != len(self.scope) or 0 in shape:
            raise ScopeError(
                f"log-values of shape {shape} do not fit the scope {self.scope}; "
                f"{len(self.scope)} axes without an empty one are needed."
            )
        values: Floats = np.array(log_values, dtype=np.float64, order="C")
        check_logs(values, f"the potential over {self.scope}")
        values.flags.writeable = False
        self.log_values = values

    def __repr__(self) -> str:
        return f"Potential(scope={self.scope}, cards={self.log_values.shape})"

    def to_potentials(self) -> list[Potential]:
        """This potential in a list, as for `Rules`."""
        return [self]

    def at(self, evidence: Mapping[int, int]) -> Potential:
        """The potential of the other variables, with those in `evidence` fixed at their codes."""
        if evidence.keys().isdisjoint(self.scope):
            return self
        scope = tuple(v for v in self.scope if v not in evidence)
        where = tuple(evidence.get(v, slice(None)) for v in self.scope)
        return Potential(scope, self.log_values[where])


def leveled(potentials: Iterable[Potential]) -> tuple[list[Potential], float]:
    """(the potentials, large ones with the largest value 0; the sum of what was taken off).

    Answers depend on differences alone. A large constant in a potential would round them.
    """
    level, peaks = [], []
    for p in potentials:
        peak = float(p.log_values.max())
        if abs(peak) < LARGE or peak == -np.inf:
            level.append(p)
        else:
            level.append(Potential(p.scope, p.log_values - peak))
            peaks.append(peak)
    return level, math.fsum(peaks)


def check_logs(values: Floats, what: str) -> None:
    """Refuse log-values whose sums would not tell states apart; minus infinity is impossible."""
    bad = ~((np.abs(values) <= MAX_LOG) | (values == -np.inf))
    if bad.any():
        raise ParameterError(
            f"{what} holds {values[bad].flat[0]:g}; logs from -{MAX_LOG:.2g} to {MAX_LOG:.2g} and "
            "-infinity, for what is impossible, are allowed."
        )


def check_cells(cards: Iterable[int], what: str, limit: int = MAX_CELLS) -> int:
    """The number of cells of a table, or a `TableSizeError` before anything is allocated."""
    cells = math.prod(int(c) for c in cards)
    if cells > limit:
        raise TableSizeError(
            f"{what} has {cells:,} cells; at most {limit:,} are allowed: use fewer variables or "
            "merge states."
        )
    return cells


def normalized(logs: Floats) -> tuple[Floats, Floats]:
    """(exp of the logs, each row scaled to the sum 1; ln Σ exp of each row).

    A row of minus infinities has the probabilities 0.
    """
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - np.where(largest == -np.inf, 0.0, largest))
    totals = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_totals: Floats = (largest + np.log(totals))[:, 0]
    return weights / np.where(totals > 0, totals, 1.0), log_totals


def log_sum(log_values: Floats) -> Floats:
    """ln Σ exp along the last axis; minus infinity where all values are."""
    largest = log_values.max(axis=-1, keepdims=True)
    shift = np.where(largest == -np.inf, 0.0, largest)
    work = log_values - shift
    with np.errstate(divide="ignore"):
        summed: Floats = np.log(np.exp(work, out=work).sum(axis=-1)) + shift[..., 0]
    return summed

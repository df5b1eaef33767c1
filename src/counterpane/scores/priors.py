"""Prior probabilities of network structures, as sums over families."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from counterpane.errors import ParameterError, Setting
from counterpane.lazy import lazy
from counterpane.typing import Floats, Ints

special = lazy("scipy.special")


class StructurePrior:
    """ln P(G) = Σ_i [by_count(|Pa_i|) + Σ_{p ∈ Pa_i} by_edge(p, i) + by_parameter · (r_i − 1) q_i].

    Up to a constant; r_i states and q_i configurations of the parents. The parts are arrays and a
    number, so that a search adds them without a call per family.
    """

    score_equivalent: ClassVar[bool] = True

    @property
    def by_parameter(self) -> float:
        """The term for each free parameter of a network's tables."""
        return 0.0

    def by_count(self, n: int) -> Floats:
        """The term for 0 … n parents, in a network of n nodes."""
        return np.zeros(n + 1)

    def by_edge(self, n: int) -> Floats:
        """The term for each (parent, child); shape (0, 0) where there is none."""
        return np.zeros((0, 0))

    def families(self, cards: Ints, families: Sequence[tuple[int, Sequence[int]]]) -> Floats:
        """The terms of several (child, parents); `cards` are the states of all variables."""
        n = len(cards)
        by_count, by_edge = self.by_count(n), self.by_edge(n)
        terms = np.array([by_count[len(parents)] for _, parents in families])
        if by_edge.size:
            # Added from the first to the last, as the kernels do: equal to the last bit.
            terms += [sum(by_edge[list(parents), child].tolist()) for child, parents in families]
        if self.by_parameter:
            terms += [self.by_parameter * _n_parameters(cards, *family) for family in families]
        return terms

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def _n_parameters(cards: Ints, child: int, parents: Sequence[int]) -> float:
    """The free parameters of a family, (r − 1) q."""
    return float(math.prod(cards[list(parents)].tolist(), start=int(cards[child]) - 1))


class UniformPrior(StructurePrior):
    """Every network is as probable as any other."""


class EdgePrior(StructurePrior):
    """P(G) ∝ c^{|edges|}, 0 < c ≤ 1: each edge must earn −ln c."""

    def __init__(self, c: float = 0.5) -> None:
        if not 0 < c <= 1:
            raise ParameterError(
                Setting("c", c), "; an edge's prior factor lies above 0 and up to 1."
            )
        self.c = c

    def by_count(self, n: int) -> Floats:
        terms: Floats = np.arange(n + 1) * np.log(self.c)
        return terms


class ParentCountPrior(StructurePrior):
    """P(G) ∝ Π_i 1 / C(n−1, |Pa_i|): every number of parents is as probable as any other.

    Equivalent networks have the same numbers of parents: to reverse a covered edge swaps k, k + 1.
    """

    def by_count(self, n: int) -> Floats:
        k = np.arange(n + 1)
        inside = k < n
        terms = np.full(n + 1, -np.inf)
        terms[inside] = (
            special.gammaln(k[inside] + 1) + special.gammaln(n - k[inside]) - special.gammaln(n)
        )
        return terms


class ParameterCountPrior(StructurePrior):
    """P(G) ∝ c^{free parameters}, 0 < c ≤ 1: each parameter must earn −ln c.

    Equivalent networks have equally many parameters. With c = N^{−1/2} the likelihood becomes BIC,
    with c = 1/e it becomes AIC.

    Parameters
    ----------
    c : float
        The prior factor of each free parameter of the tables, Σ_i (r_i − 1) q_i of them.

    Examples
    --------
    >>> import counterpane as cp
    >>> titanic = cp.load_dataset("titanic")
    >>> scores = (cp.BDeu(), cp.BDeu(structure_prior=ParameterCountPrior(1e-3)))
    >>> graphs = [cp.StructureSearch(s).fit(titanic).model_.dag for s in scores]
    >>> [dag.n_parameters(titanic.schema.cards) for dag in graphs]
    [23, 19]
    """

    def __init__(self, c: float = 0.5) -> None:
        if not 0 < c <= 1:
            raise ParameterError(
                Setting("c", c), "; a parameter's prior factor lies above 0 and up to 1."
            )
        self.c = c

    @property
    def by_parameter(self) -> float:
        return math.log(self.c)


class EdgeOdds(StructurePrior):
    """P(G) ∝ Π over edges (p → i) of odds[p, i]: what an expert believes of single edges."""

    score_equivalent = False

    def __init__(self, odds: npt.ArrayLike) -> None:
        self.odds = np.asarray(odds, dtype=np.float64)
        square = self.odds.ndim == 2 and self.odds.shape[0] == self.odds.shape[1]
        if not square or not (self.odds > 0).all() or not np.isfinite(self.odds).all():
            raise ParameterError("odds must be a square matrix of positive finite numbers.")

    def by_edge(self, n: int) -> Floats:
        if len(self.odds) != n:
            raise ParameterError(f"odds cover {len(self.odds)} variables; the data has {n}.")
        return np.log(self.odds)

"""Where the probabilities of an effect come from, and draws of them from their posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from counterpane.counts.source import CountSource
from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import DataError, EvidenceError
from counterpane.features import Potential
from counterpane.inference import marginal
from counterpane.inference.sampling import draw_dirichlet_logs
from counterpane.lazy import lazy
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.typing import Floats

sparse = lazy("scipy.sparse")

Codes = Mapping[int, int]
NO_CODES: Codes = {}


class Distribution(Protocol):
    """P(columns | evidence) of any columns, and draws of the whole from its posterior."""

    schema: Schema
    uncertain: bool
    drawn: int  # draws, along a last axis; in them very small probabilities may be zero

    def ask(self, targets: Sequence[int], evidence: Codes = NO_CODES) -> Floats:
        """P(targets | evidence), an axis for each target; evidence is column → code."""
        ...

    def draw(self, rng: np.random.Generator, n: int) -> Distribution:
        """`n` distributions drawn from the posterior."""
        ...


class NetworkDistribution:
    """That of a network; a draw has new tables from the Dirichlet posterior of each row.

    Only `nodes` and their ancestors take part.
    """

    def __init__(self, model: BayesianNetwork, nodes: Sequence[int]) -> None:
        self.schema = model.schema
        self.uncertain, self.drawn = model.strengths is not None, 0
        relevant = sorted({*nodes, *model.dag.ancestors(nodes)})
        potentials = model.to_potentials()
        self.families = {v: potentials[v] for v in relevant}
        self.alphas: dict[int, Floats] = {}
        if model.strengths is not None:
            self.alphas = {v: model.strengths[v][..., None] * model.tables[v] for v in relevant}

    def ask(self, targets: Sequence[int], evidence: Codes = NO_CODES) -> Floats:
        return self._answer(list(self.families.values()), targets, evidence)

    def effect(self, treatments: Sequence[int], outcome: int, evidence: Codes = NO_CODES) -> Floats:
        """P(outcome | do(treatments), evidence) in the network itself, axes (treatments…, outcome).

        The families of the treatments are left out; a row for each of their states is normalized.
        """
        kept = [family for v, family in self.families.items() if v not in treatments]
        kept += [Potential((v,), np.zeros(self.schema[v].card)) for v in treatments]
        table = self._answer(kept, [*treatments, outcome], evidence)
        totals = table.sum(axis=len(treatments), keepdims=True)
        if not self.drawn and not (totals > 0).all():
            raise EvidenceError(
                "the evidence is impossible after one of the interventions; drop part of it."
            )
        with np.errstate(invalid="ignore"):
            rows: Floats = table / totals
        return rows

    def _answer(self, parts: list[Potential], targets: Sequence[int], evidence: Codes) -> Floats:
        schema, cards, keep = self.schema, self.schema.cards.tolist(), list(targets)
        if self.drawn:  # a variable that is never summed out
            cards, keep = [*cards, self.drawn], [*keep, len(schema)]
        table, log_weight = marginal(parts, cards, keep, evidence, names=(*schema.names, "draws"))
        if log_weight == -np.inf:
            states = ", ".join(
                f"{schema.names[v]}={schema[v].states[c]!r}" for v, c in evidence.items()
            )
            raise EvidenceError(f"{states} has probability zero under the model; drop one of it.")
        if self.drawn:
            with np.errstate(invalid="ignore"):
                table = table / table.sum(axis=tuple(range(table.ndim - 1)))
        return table

    def draw(self, rng: np.random.Generator, n: int) -> NetworkDistribution:
        drawn = object.__new__(NetworkDistribution)
        drawn.schema, drawn.uncertain, drawn.alphas = self.schema, self.uncertain, {}
        drawn.drawn = n
        drawn.families = {}
        for v, alpha in self.alphas.items():
            logs = draw_dirichlet_logs(rng, np.broadcast_to(alpha, (n, *alpha.shape)))
            scope = (*self.families[v].scope, len(self.schema))
            drawn.families[v] = Potential(scope, np.moveaxis(logs, 0, -1))
        return drawn


class CountDistribution:
    """The shares of the rows; a draw gives each row a random weight (Rubin's Bayesian bootstrap).

    `size` rows are added to each table, evenly over its cells.
    """

    uncertain = True
    left_out: float  # the share of rows with gaps in these columns

    def __init__(self, source: CountSource, columns: Sequence[int], size: float) -> None:
        rows = source.distinct(sorted(columns))
        complete = (rows.codes < rows.schema.cards[:, None]).all(axis=0)
        if not complete.any():
            names = ", ".join(rows.schema.names)
            raise DataError(f"no row is complete in {names}; fill the gaps first.")
        self.schema = source.schema
        self.place = {v: k for k, v in enumerate(sorted(columns))}
        self.rows: Table = rows.take(complete)
        self.left_out = 1 - self.rows.total_weight / rows.total_weight
        self.size = size
        self.drawn = 0
        assert self.rows.weights is not None
        self.weights: Floats = self.rows.weights.astype(np.float64)[:, None]

    def ask(self, targets: Sequence[int], evidence: Codes = NO_CODES) -> Floats:
        scope = [*evidence, *targets]
        shape = self.schema.cards[scope].tolist()
        cells = np.ravel_multi_index([self.rows.codes[self.place[v]] for v in scope], shape)
        ones, places = np.ones(len(cells)), np.arange(len(cells))
        ends = (math.prod(shape), len(cells))
        counts = sparse.csr_array((ones, (cells, places)), shape=ends) @ self.weights
        table = (counts + self.size / len(counts)).reshape(*shape, -1)[tuple(evidence.values())]
        totals = table.sum(axis=tuple(range(len(targets))))
        if (totals == 0).any():
            schema = self.schema
            states = ", ".join(
                f"{schema.names[v]}={schema[v].states[c]!r}" for v, c in evidence.items()
            )
            raise EvidenceError(f"no row has {states}; drop one of it.")
        shares: Floats = table / totals
        return shares if self.drawn else shares[..., 0]

    def draw(self, rng: np.random.Generator, n: int) -> CountDistribution:
        drawn = object.__new__(CountDistribution)
        drawn.schema, drawn.place, drawn.size = self.schema, self.place, self.size
        drawn.rows, drawn.drawn = self.rows, n
        shapes = np.broadcast_to(self.weights, (len(self.weights), n))
        drawn.weights = np.maximum(rng.standard_gamma(shapes), np.finfo(np.float64).tiny)
        return drawn


class ParentWeighting:
    """P(y | do(x), e) ∝ Σ_s P(y, x, s | e) / Π P(x | its parents), with parents s in some graph.

    This is the truncated factorization; all other families sum to 1. Axes: (treatments…, outcome),
    and last the draws.
    """

    MOST_CELLS = 2**16  # of one table from which those of all sets of parents are read

    def __init__(
        self, treatments: Sequence[int], outcome: int, sets: Sequence[Sequence[Sequence[int]]]
    ) -> None:
        self.treatments, self.outcome, self.sets = list(treatments), outcome, sets

    def effects(self, distribution: Distribution, evidence: Codes = NO_CODES) -> list[Floats]:
        """The effect for each set of parents."""
        everything = sorted({v for each in self.sets for parents in each for v in parents})
        if self._cells(distribution.schema, everything) > self.MOST_CELLS:
            tables = [
                self._tables(distribution, self._others(each), evidence) for each in self.sets
            ]
        else:
            others = [v for v in everything if v not in (*self.treatments, self.outcome)]
            tables = [self._tables(distribution, others, evidence)] * len(self.sets)
        check = not distribution.drawn
        pairs = zip(tables, self.sets, strict=True)
        return [self._effect(*table, each, check=check) for table, each in pairs]

    def _cells(self, schema: Schema, columns: Sequence[int]) -> int:
        scope = {*columns, *self.treatments, self.outcome}
        return math.prod(schema.cards[sorted(scope)].tolist())

    def _others(self, each: Sequence[Sequence[int]]) -> list[int]:
        return sorted({v for parents in each for v in parents} - {*self.treatments, self.outcome})

    def _tables(
        self, distribution: Distribution, others: list[int], evidence: Codes
    ) -> tuple[list[int], Floats, Floats]:
        """(axes, their joint given the evidence, their joint)."""
        axes = [*self.treatments, *others, self.outcome]
        free = [v for v in axes if v not in evidence]
        plain = distribution.ask(axes)
        if not evidence:
            return axes, plain, plain
        joint = np.zeros(plain.shape)
        where = tuple(evidence[v] if v in evidence else slice(None) for v in axes)
        joint[where] = distribution.ask(free, evidence)
        return axes, joint, plain

    def _effect(
        self,
        axes: list[int],
        joint: Floats,
        plain: Floats,
        each: Sequence[Sequence[int]],
        *,
        check: bool,
    ) -> Floats:
        weighted = joint
        for treatment, parents in zip(self.treatments, each, strict=True):
            drop = tuple(k for k, v in enumerate(axes) if v != treatment and v not in parents)
            family = plain.sum(axis=drop, keepdims=True)
            total = family.sum(axis=axes.index(treatment), keepdims=True)
            if check and ((family == 0) & (total > 0)).any():
                raise NeverSeen(treatment, tuple(parents))
            weighted = np.where(weighted > 0, weighted * total / np.where(family > 0, family, 1), 0)
        middle = tuple(range(len(self.treatments), len(axes) - 1))
        sums: Floats = weighted.sum(axis=middle)
        with np.errstate(invalid="ignore"):
            rows: Floats = sums / sums.sum(axis=len(self.treatments), keepdims=True)
        return rows


class NeverSeen(Exception):
    """A state of a treatment never occurs with some states of its parents."""

    def __init__(self, treatment: int, parents: tuple[int, ...]) -> None:
        super().__init__()
        self.treatment, self.parents = treatment, parents

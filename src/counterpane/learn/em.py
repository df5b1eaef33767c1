"""Parameters from rows with missing cells, by expectation–maximization.

Dempster, Laird & Rubin (1977); for networks Lauritzen (1995). The E-step adds up, for every family
and row, P(family | what the row shows) under the present parameters: exactly, and for all rows
with the same gap in the family at once. The M-step is the posterior mean of those counts. Cells are
taken to be missing at random.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from counterpane.counts.memory import MemoryCounts
from counterpane.data.table import Table
from counterpane.errors import ParameterError
from counterpane.graphs import Dag
from counterpane.learn.driver import Driver, Search
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.progress import Control, Report
from counterpane.typing import Array, Floats, Ints


class Gap(NamedTuple):
    """The rows in which the same members of one family are missing."""

    child: int
    scope: tuple[int, ...]  # parents…, child
    missing: tuple[int, ...]
    seen: tuple[int, ...]
    rows: Table
    where: Ints  # positions of the rows in the table


class EMState(NamedTuple):
    """Expected counts of all families, end to end, and the log-likelihood they came from."""

    expected: Floats
    log_likelihood: float
    gain: float
    steps: int


class EMSearch(Search[EMState]):
    """One iteration a step."""

    def __init__(
        self, table: Table, dag: Dag, size: float, tolerance: float, max_steps: int, seed: int
    ) -> None:
        self.table = table.distinct()
        assert self.table.weights is not None
        self.weights: Floats = self.table.weights.astype(np.float64)
        self.dag = dag
        self.prior_size = size
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.seed = seed
        cards = table.schema.cards
        self.scopes = [(*dag.parents(i), i) for i in range(dag.n)]
        self.shapes = [tuple(cards[list(s)].tolist()) for s in self.scopes]
        source = MemoryCounts(self.table)
        self.shown = [t.astype(np.float64) for t in source.counts(self.scopes, missing="drop")]
        self.gaps = [gap for i in range(dag.n) for gap in self._gaps(i)]
        self.complete = ~(self.table.codes == cards[:, None]).any(axis=0)

    def _gaps(self, child: int) -> list[Gap]:
        """The gaps of one family."""
        scope = self.scopes[child]
        absent = self.table.codes[list(scope)] == self.table.schema.cards[list(scope)][:, None]
        patterns, of_row = np.unique(absent, axis=1, return_inverse=True)
        found = []
        for k, pattern in enumerate(patterns.T):
            if pattern.any():
                where = np.flatnonzero(of_row.reshape(-1) == k)
                missing = tuple(v for v, m in zip(scope, pattern, strict=True) if m)
                seen = tuple(v for v in scope if v not in missing)
                found.append(Gap(child, scope, missing, seen, self.table.take(where), where))
        return found

    def model(self, expected: list[Floats]) -> BayesianNetwork:
        """The posterior mean given (expected) counts."""
        return BayesianNetwork.from_counts(
            self.table.schema, self.dag, expected, equivalent_sample_size=self.prior_size
        )

    def start(self) -> EMState:
        """The counts of each family's complete rows, shaken a little: hidden states are alike."""
        rng = np.random.default_rng(self.seed)
        shaken = [t + rng.random(t.shape) for t in self.shown]
        return EMState(_joined(shaken), -np.inf, np.inf, 0)

    def done(self, state: EMState) -> bool:
        small = state.gain <= self.tolerance * max(1.0, abs(state.log_likelihood))
        return state.steps >= self.max_steps or (state.steps > 1 and small)

    def size(self, state: EMState) -> tuple[float, float]:
        return state.steps, self.max_steps

    def step(self, state: EMState, ctl: Control) -> tuple[EMState, dict[str, Any]]:
        model = self.model(self.cut(state.expected))
        expected = [table.copy() for table in self.shown]
        per_row = np.zeros(self.table.n_rows)
        if self.complete.any():
            per_row[self.complete] = model.score_samples(self.table.take(self.complete))
        names = self.table.schema.names
        for gap in self.gaps:
            ctl.check()
            answers = model.query_many([names[v] for v in gap.missing], gap.rows)
            per_row[gap.where] = answers.log_evidence
            shares = answers.probabilities.reshape(len(gap.where), -1)
            expected[gap.child] += self._spread(gap, self.weights[gap.where, None] * shares)
        fit = float(self.weights @ per_row)
        gain = fit - state.log_likelihood
        record = {"log_likelihood": fit}
        return EMState(_joined(expected), fit, gain, state.steps + 1), record

    def _spread(self, gap: Gap, shares: Floats) -> Floats:
        """The weighted shares of a gap's rows, added up into a table over the family's scope."""
        cards = self.table.schema.cards
        codes = gap.rows.codes[list(gap.seen)].astype(np.int64)
        shape = tuple(cards[list(gap.seen)].tolist())
        cell = np.ravel_multi_index(tuple(codes), shape) if gap.seen else np.zeros(
            len(shares), dtype=np.int64
        )  # fmt: skip
        summed = np.zeros((int(np.prod(shape, dtype=np.int64)), shares.shape[1]))
        np.add.at(summed, cell, shares)
        order = (*gap.seen, *gap.missing)
        table = summed.reshape(cards[list(order)])
        return table.transpose([order.index(v) for v in gap.scope])

    def cut(self, joined: Array) -> list[Floats]:
        """Joined counts as one table a family."""
        ends = np.cumsum([int(np.prod(s)) for s in self.shapes])[:-1]
        parts = np.split(joined, ends)
        return [p.reshape(s) for p, s in zip(parts, self.shapes, strict=True)]


def _joined(tables: list[Floats]) -> Floats:
    return np.concatenate([t.reshape(-1) for t in tables])


def fit_parameters_em(
    table: Table,
    dag: Dag,
    *,
    equivalent_sample_size: float = 1.0,
    tolerance: float = 1e-8,
    max_steps: int = 500,
    random_state: int = 0,
    time_limit: float | None = None,
    progress: bool | Report = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> BayesianNetwork:
    """The network of `dag` whose parameters make the observed cells most probable.

    Stops when an iteration gains less than `tolerance` times the log-likelihood. `strengths` hold
    the expected counts, so that uncertainty grows with what is missing. A time limit or Ctrl-C
    returns the parameters so far.

    >>> import counterpane as cp
    >>> table = cp.read({"a": [0, 0, 1, 1, None, 1], "b": [0, 0, 1, None, 1, 1]})
    >>> model = fit_parameters_em(table, cp.Dag(2, [(0, 1)]), equivalent_sample_size=0.01)
    >>> round(model.query("a")[1], 2)
    0.67
    """
    if max_steps < 1 or not tolerance >= 0:
        raise ParameterError(
            f"max_steps={max_steps}, tolerance={tolerance}; at least one step and a tolerance "
            "that is not negative are needed."
        )
    search = EMSearch(table, dag, equivalent_sample_size, tolerance, max_steps, random_state)
    known = {"em": [equivalent_sample_size, tolerance, random_state], "edges": list(dag.edges)}
    driver = Driver(table.schema, known, time_limit, progress, checkpoint)
    outcome = driver.run(search, "expectation–maximization")
    return search.model(search.cut(outcome.state.expected))

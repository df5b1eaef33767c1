"""Parameters of a known structure: from counts, or by expectation–maximization (EM).

EM is for rows with missing cells: Dempster, Laird & Rubin (1977); for networks Lauritzen (1995).
The E-step adds up, for every family and row, P(family | cells that the row shows) under the present
parameters: exactly, by one junction tree for all rows. The M-step is the posterior mean of those
counts. Cells are assumed to be missing at random.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from counterpane.checks import (
    BOOLEAN,
    FUNCTION,
    INTEGER,
    ITERABLE,
    NONE,
    NUMBER,
    PATH,
    accepts,
    instance_of,
)
from counterpane.counts.memory import MemoryCounts
from counterpane.counts.source import CountSource, Policy
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError
from counterpane.graphs import Dag
from counterpane.inference.completion import Completion
from counterpane.learners.base import digest
from counterpane.learners.bayesian.interventions import read_interventions
from counterpane.learners.driver import Driver, Search
from counterpane.models.bayesian_network import BayesianNetwork
from counterpane.models.record import LearningRecord
from counterpane.progress import Control, Report
from counterpane.ragged import flatten, offsets_of, split
from counterpane.seeds import random_generator
from counterpane.typing import Floats


@accepts(
    source=instance_of(CountSource),
    dag=instance_of(Dag),
    equivalent_sample_size=NUMBER,
    record=instance_of(LearningRecord) | NONE,
)
def fit_parameters(
    source: CountSource,
    dag: Dag,
    *,
    equivalent_sample_size: float = 1.0,
    missing: Policy = "error",
    interventions: Any = None,
    record: LearningRecord | None = None,
    ctl: Control | None = None,
) -> BayesianNetwork:
    """The network of `dag` with the posterior mean under a BDeu prior, from one batch of counts.

    Parameters
    ----------
    source : CountSource
        The data.
    dag : Dag
        The structure over the columns of `source`.
    equivalent_sample_size : float
        The weight of the uniform prior, in rows.
    missing : {"error", "drop", "state"}
        With "drop", each family's parameters come from the rows that are complete in it.
    interventions : sequence or mapping, optional
        The columns that were set from outside, a row; see `StructureSearch.fit`. A family is fitted
        on the rows in which its child was not set, or on all if it was in each.
    record : LearningRecord, optional
        How the structure was found, for the model's file.
    ctl : Control, optional
        Progress and cancellation.

    Returns
    -------
    BayesianNetwork
        The network.

    Examples
    --------
    >>> import counterpane as cp
    >>> source = cp.MemoryCounts(cp.load_dataset("titanic"))  # status, age, sex, survived
    >>> model = fit_parameters(source, cp.Dag(4, [(2, 3)]))
    >>> round(model.query("survived", {"sex": "female"})["yes"], 3)
    0.732
    """
    families = [(*dag.parents(i), i) for i in range(dag.n)]
    counts: Any = source.counts(families, missing=missing, ctl=ctl)
    if interventions is not None:
        counts = list(counts)
        cells = read_interventions(interventions, source)
        for x in np.flatnonzero(cells.flags.any(axis=1)).tolist():
            counts[x] = cells.free(x).counts([families[x]], missing=missing, ctl=ctl)[0]
    return BayesianNetwork.from_counts(
        source.schema,
        dag,
        counts,
        equivalent_sample_size=equivalent_sample_size,
        record=record,
    )


class EMState(NamedTuple):
    """Expected counts of all families, end to end, and the log-likelihood they came from."""

    expected: Floats
    log_likelihood: float
    gain: float
    steps: int


class EMSearch(Search[EMState]):
    """One iteration a step, from the network `first`; `fixed` variables keep its tables."""

    def __init__(
        self,
        table: Table,
        dag: Dag,
        size: float,
        tolerance: float,
        max_steps: int,
        seed: int,
        *,
        first: BayesianNetwork | None = None,
        fixed: Collection[int] = (),
        n_jobs: int = 1,
    ) -> None:
        self.dag = dag
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.seed = seed
        self.first = first
        self.fixed = fixed
        self.prior_size = size
        self.schema = table.schema
        cards = self.schema.cards
        self.scopes = [(*dag.parents(i), i) for i in range(dag.n)]
        self.shapes = [tuple(cards[list(s)].tolist()) for s in self.scopes]
        each = [0.0 if i in fixed else size / np.prod(s) for i, s in enumerate(self.shapes)]
        self.alpha = [np.full(s, a) for s, a in zip(self.shapes, each, strict=True)]
        rows = table.distinct()
        assert rows.weights is not None
        complete = (rows.codes < cards[:, None]).all(axis=0)
        self.shown = np.zeros(sum(int(np.prod(s)) for s in self.shapes))
        if complete.any():
            self.shown[:] = flatten(
                MemoryCounts(rows.take(complete)).counts(self.scopes), np.float64
            )
        self.table = rows
        self.gaps = rows.codes[:, ~complete]
        self.weights: Floats = rows.weights[~complete].astype(np.float64)
        names = self.schema.names
        self.completion = Completion(self.scopes, cards, self.gaps, names, n_jobs=n_jobs)

    def model(self, state: EMState) -> BayesianNetwork:
        """The network of a state: the posterior mean given its (expected) counts."""
        if state.steps == 0 and self.first is not None:
            return self.first
        counts = self.cut(state.expected)
        if not self.fixed:
            return BayesianNetwork.from_counts(
                self.schema, self.dag, counts, equivalent_sample_size=self.prior_size
            )
        for i in self.fixed:
            assert self.first is not None
            rows = counts[i].sum(axis=-1, keepdims=True)
            counts[i] = self.first.tables[i] * np.maximum(rows, np.finfo(np.float64).tiny)
        return BayesianNetwork.from_counts(self.schema, self.dag, counts, alpha=self.alpha)

    def start(self) -> EMState:
        """The counts of each family's complete rows plus noise, which tells hidden states apart."""
        rng = random_generator(self.seed)
        shown = MemoryCounts(self.table).counts(self.scopes, missing="drop", max_cells=2**28)
        shaken = [t + rng.random(t.shape) for t in shown]
        return EMState(flatten(shaken, np.float64), -np.inf, np.inf, 0)

    def done(self, state: EMState) -> bool:
        small = state.gain <= self.tolerance * max(1.0, abs(state.log_likelihood))
        return state.steps >= self.max_steps or (state.steps > 1 and small)

    def size(self, state: EMState) -> tuple[float, float]:
        return state.steps, self.max_steps

    def step(self, state: EMState, ctl: Control) -> tuple[EMState, dict[str, Any]]:
        logs = [p.log_values for p in self.model(state).to_potentials()]
        expected, per_row = self.completion.expected(logs, self.weights, ctl=ctl)
        expected += self.shown
        counted = self.shown > 0
        fit = float(
            self.shown[counted] @ flatten(logs, np.float64)[counted] + self.weights @ per_row
        )
        if fit == -np.inf:
            raise EvidenceError(
                "a row of the table is impossible under the tables given; let no table that is "
                "fixed, or that EM starts from, hold a zero where rows were seen."
            )
        gain = fit - state.log_likelihood
        return EMState(expected, fit, gain, state.steps + 1), {"log_likelihood": fit}

    def cut(self, flat: Floats) -> list[Floats]:
        """Counts end to end as one table a family."""
        parts = split(flat, offsets_of(int(np.prod(s)) for s in self.shapes))
        return [p.reshape(s) for p, s in zip(parts, self.shapes, strict=True)]


@accepts(
    table=instance_of(Table, CountSource),
    dag=instance_of(Dag),
    fixed=ITERABLE,
    equivalent_sample_size=NUMBER,
    tolerance=NUMBER,
    max_steps=INTEGER,
    random_state=INTEGER,
    time_limit=NUMBER | NONE,
    progress=BOOLEAN | FUNCTION,
    checkpoint=PATH | NONE,
)
def fit_parameters_em(
    table: Table | CountSource,
    dag: Dag,
    *,
    start: BayesianNetwork | None = None,
    fixed: Iterable[str] = (),
    equivalent_sample_size: float = 1.0,
    tolerance: float = 1e-8,
    max_steps: int = 500,
    random_state: int = 0,
    time_limit: float | None = None,
    progress: bool | Report = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> BayesianNetwork:
    """The network of `dag` whose parameters make the observed cells most probable.

    The model's `strengths` are the expected counts, so uncertainty grows with the number of missing
    cells. A time limit or Ctrl-C returns the parameters so far.

    Parameters
    ----------
    table : Table or CountSource
        Rows with missing cells; the distinct rows of a source must fit in memory.
    dag : Dag
        The structure over the columns of `table`.
    start : BayesianNetwork, optional
        A network of the same structure to start from; by default EM starts from the complete rows
        of each family.
    fixed : iterable of str
        Variables that keep their tables of `start`.
    equivalent_sample_size : float
        The weight of the uniform prior, in rows.
    tolerance : float
        EM stops when an iteration gains less than this share of the log-likelihood.
    max_steps : int
        The largest number of iterations.
    random_state : int
        The seed of small random counts that tell hidden states apart.
    time_limit, progress, checkpoint
        As in every learner.

    Returns
    -------
    BayesianNetwork
        The network.

    Examples
    --------
    >>> import counterpane as cp
    >>> table = cp.read({"a": [0, 0, 1, 1, None, 1], "b": [0, 0, 1, None, 1, 1]})
    >>> model = fit_parameters_em(table, cp.Dag(2, [(0, 1)]), equivalent_sample_size=0.01)
    >>> round(model.query("a")[1], 2)
    0.67
    """
    if max_steps < 1 or not tolerance >= 0 or not 0 <= equivalent_sample_size < np.inf:
        raise ParameterError(
            f"max_steps={max_steps}, tolerance={tolerance}, equivalent_sample_size="
            f"{equivalent_sample_size}; at least one step, and numbers that are not negative, are "
            "needed."
        )
    table = table.rows() if isinstance(table, CountSource) else table
    known_tables = _fixed(table, dag, start, fixed)
    size = equivalent_sample_size
    search = EMSearch(
        table, dag, size, tolerance, max_steps, random_state, first=start, fixed=known_tables
    )
    start_tables = None if start is None else [t.tolist() for t in start.tables]
    fingerprint = {
        "em": [size, tolerance, random_state, start_tables, known_tables],
        "edges": list(dag.edges),
        "data": digest(MemoryCounts(table)),
    }
    driver = Driver(table.schema, fingerprint, time_limit, progress, checkpoint)
    return search.model(driver.run(search, "expectation–maximization").state)


def _fixed(
    table: Table, dag: Dag, start: BayesianNetwork | None, names: Iterable[str]
) -> list[int]:
    """The positions of the variables that keep their tables of `start`, checked."""
    fixed = sorted(table.schema.index(name) for name in names)
    if start is None:
        if fixed:
            raise ParameterError(
                f"fixed={[table.schema.names[i] for i in fixed]}, but no start; pass the network "
                "whose tables they keep."
            )
        return []
    if start.schema != table.schema or start.dag != dag:
        raise ParameterError(
            "start is a network over other columns, states or edges than the table and the DAG "
            "given; it must agree with both."
        )
    return fixed

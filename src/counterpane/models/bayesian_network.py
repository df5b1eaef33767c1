"""Bayesian networks: a directed acyclic graph and one conditional table for each variable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from counterpane.checks import (
    BOOLEAN,
    CHOICE,
    MAPPING,
    NONE,
    NUMBER,
    accepts,
    instance_of,
)
from counterpane.counts.layout import CountBatch
from counterpane.data.encoding import Unseen
from counterpane.data.schema import Schema, state_text
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError, ScopeError, Setting
from counterpane.features import Potential
from counterpane.formats import Network
from counterpane.graphs import Dag
from counterpane.inference.answering import ProductEngine
from counterpane.inference.completion import Completion
from counterpane.inference.question import CodedEvidence
from counterpane.inference.sampling import sample_forward
from counterpane.models.arrays import (
    Arrays,
    as_numbers,
    cut_at,
    joined_tables,
    shaped_tables,
    store_as,
)
from counterpane.models.edges import Edges
from counterpane.models.evidence import (
    Evidence,
    Intervention,
    encode_evidence,
    intervention_codes,
)
from counterpane.models.interventions import cut_network
from counterpane.models.joint import JointModel
from counterpane.models.record import LearningRecord
from counterpane.models.samples import check_n_rows
from counterpane.plotting import use_tool
from counterpane.ragged import flatten
from counterpane.seeds import random_generator
from counterpane.typing import Array, Codes, Floats

TOLERANCE = 1e-6


class BayesianNetwork(JointModel):
    """P(x) = Π_i P(x_i | parents of i).

    Parameters
    ----------
    schema
        The variables.
    dag
        The graph, a node for each variable.
    tables
        For each variable i a table of axes (parents of i in schema order…, i). Its rows must sum
        to 1 within 1e-6 and are normalized.
    strengths
        For each variable an array of axes (parents…) with the Dirichlet total α_ij + N_ij of each
        row, so that the posterior's parameters are strength × table.
    record
        How the model was learned; see `Model`.
    prior_size
        The weight, in rows, of the uniform prior in the strengths, if it is known; for `update`.

    Examples
    --------
    >>> smoke_and_lung = Schema.from_cards([2, 2])
    >>> model = BayesianNetwork(
    ...     smoke_and_lung, Dag(2, [(0, 1)]), [[0.7, 0.3], [[0.99, 0.01], [0.9, 0.1]]]
    ... )
    >>> round(model.query("x0", {"x1": 1})[1], 4)
    0.8108
    """

    kind = "bayesian_network"

    def __init__(
        self,
        schema: Schema,
        dag: Dag,
        tables: Sequence[npt.ArrayLike],
        strengths: Sequence[npt.ArrayLike] | None = None,
        *,
        record: LearningRecord | None = None,
        prior_size: float | None = None,
    ) -> None:
        _check_lengths(schema, dag, tables, strengths)
        self.schema = schema
        self.dag = dag
        self.record = record or LearningRecord()
        self.prior_size = prior_size if prior_size is not None else self.record.learner.prior_size
        self._parents = [dag.parents(i) for i in range(dag.n)]
        self.tables = tuple(self._table(i, table) for i, table in enumerate(tables))
        self.strengths = (
            None
            if strengths is None
            else tuple(self._strength(i, strength) for i, strength in enumerate(strengths))
        )

    @classmethod
    @accepts(
        schema=instance_of(Schema),
        dag=instance_of(Dag),
        equivalent_sample_size=NUMBER,
        record=instance_of(LearningRecord) | NONE,
    )
    def from_counts(
        cls,
        schema: Schema,
        dag: Dag,
        counts: Sequence[npt.ArrayLike] | CountBatch,
        *,
        equivalent_sample_size: float = 1.0,
        alpha: Sequence[npt.ArrayLike] | None = None,
        record: LearningRecord | None = None,
    ) -> Self:
        """The posterior mean (N_ijk + α_ijk) / (N_ij + α_ij) given counts of axes (parents…, i).

        By default α_ijk is equivalent_sample_size / (cells of family i), the BDeu prior; `alpha`
        can give other tables, of the same shapes as the counts.

        >>> two = Schema.from_cards([2])
        >>> BayesianNetwork.from_counts(two, Dag(1, []), [[3, 0]]).tables[0].tolist()
        [0.875, 0.125]
        """
        _check_lengths(schema, dag, counts, alpha)
        if alpha is None and not 0 <= equivalent_sample_size < np.inf:
            raise ParameterError(
                Setting("equivalent_sample_size", equivalent_sample_size),
                " must be finite, not negative.",
            )
        cards, parents = schema.cards.tolist(), [dag.parents(i) for i in range(dag.n)]
        shapes = [(*(cards[p] for p in above), cards[i]) for i, above in enumerate(parents)]
        flat = joined_tables(schema, shapes, counts, "the counts")
        sizes = np.array([math.prod(shape) for shape in shapes])
        prior: Floats = np.repeat(equivalent_sample_size / sizes, sizes)
        if alpha is not None:
            prior = joined_tables(schema, shapes, alpha, "alpha")
        posterior = flat + prior
        states = np.repeat(schema.cards, sizes // schema.cards)  # of each row of each table
        starts = np.cumsum(states) - states
        strength = np.add.reduceat(posterior, starts)
        if not (np.isfinite(posterior).all() and posterior.min() >= 0 and strength.min() > 0):
            bad = ~(np.isfinite(posterior) & (posterior >= 0)) | np.repeat(strength <= 0, states)
            where = int(np.searchsorted(np.cumsum(sizes), np.argmax(bad), side="right"))
            raise ParameterError(
                f"counts plus prior of {schema.names[where]!r} must be finite and not negative, "
                "with a positive sum for each parent configuration; use a positive prior."
            )
        posterior /= np.repeat(strength, states)
        network = cls.__new__(cls)  # what the constructor checks holds by now
        network.schema, network.dag, network.record = schema, dag, record or LearningRecord()
        network.prior_size = equivalent_sample_size if alpha is None else None
        network._parents = parents
        posterior.flags.writeable = strength.flags.writeable = False
        network.tables = tuple(shaped_tables(posterior, shapes))
        network.strengths = tuple(shaped_tables(strength, [shape[:-1] for shape in shapes]))
        return network

    def __repr__(self) -> str:
        return (
            f"BayesianNetwork({len(self.schema)} variables, {self.dag.n_edges} edges, "
            f"{self.dag.n_parameters(self.schema.cards)} parameters)"
        )

    @property
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""
        return self.dag.to_networkx(self.schema.names)

    def edge_strengths(self) -> Edges:
        """Return the edges with their strength in bits per row, strongest first.

        Mutual information of parent and child given the child's other parents, corrected for
        chance; see `counterpane.independence.edge_strength`. Empty if not learned from rows.
        """
        found: Edges = use_tool("strengths_of", self)
        return found

    @cached_property
    def engine(self) -> NetworkEngine:
        """What answers questions in codes; its potentials are ln P(i | parents), child last."""
        return NetworkEngine(self)

    def score_samples(self, X: Any) -> Floats:
        """ln P(observed cells of a row), natural log, (n_rows,); −∞ for an impossible row.


        >>> tables = [[0.7, 0.3], [[0.9, 0.1], [0.4, 0.6]]]
        >>> network = BayesianNetwork(Schema.from_cards([2, 2]), Dag(2, [(0, 1)]), tables)
        >>> np.exp(network.score_samples({"x0": [0, None], "x1": [1, 1]})).round(4).tolist()
        [0.07, 0.25]
        """
        codes = self._codes(X)
        return self._shown(codes) if self._has_gaps(codes) else super().score_samples(X)

    @accepts(total=BOOLEAN)
    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums.

        Missing cells are summed out, and their own entries are zero. If there are missing cells,
        the method makes one pass over the rows for each variable.
        """
        codes = self._codes(X)
        if not self._has_gaps(codes):
            return super().pseudo_log_likelihood(X, total=total)
        shown = codes < self.schema.cards[:, None]
        row_logs = self._shown(codes)
        logs: Floats = np.zeros(codes.T.shape)
        for v, card in enumerate(self.schema.cards.tolist()):
            rest = codes[:, shown[v]].copy()
            rest[v] = card
            logs[shown[v], v] = row_logs[shown[v]] - self._shown(rest)
        sums: Floats = logs.sum(axis=1)
        return sums if total else logs

    def _has_gaps(self, codes: Codes) -> bool:
        return bool((codes == self.schema.cards[:, None]).any())

    def _shown(self, codes: Codes) -> Floats:
        """ln P(the cells that are not missing), one number a row."""
        distinct, place = np.unique(codes, axis=1, return_inverse=True)
        scopes = [p.scope for p in self.engine.potentials]
        rows = Completion(scopes, self.schema.cards, distinct, self.schema.names)
        logs = [p.log_values for p in self.engine.potentials]
        return rows.expected(logs, np.ones(distinct.shape[1]))[1][place.reshape(-1)]

    def _sample_weighted(self, n: int, evidence: Evidence, do: Intervention, seed: Any) -> Table:
        if do:
            intervention_codes(self.schema, do, evidence)
            return self.do(do)._sample_weighted(n, evidence, None, seed)
        coded, rng = encode_evidence(self.schema, evidence), random_generator(seed)
        order, rows = self.dag.topological_order(), check_n_rows(n, self.schema)
        codes, logs = sample_forward(self.tables, self._parents, order, coded.codes, rows, rng)
        with np.errstate(divide="ignore"):
            for v, weights in coded.weights.items():
                logs += np.log(weights)[codes[v]]
        if logs.max() == -np.inf:
            raise EvidenceError(
                f"none of {n} rows agrees with the evidence, which is rare or impossible; draw "
                "more rows, or give less evidence."
            )
        weights = np.exp(logs - logs.max())
        return Table(self.schema, codes, weights * (weights.sum() / (weights @ weights)))

    @accepts(states=MAPPING)
    def do(self, states: Mapping[str, Any]) -> BayesianNetwork:
        """The network after an intervention: `states` are set, and edges into them are cut.

        Of a learned network, the data may leave directions open: see `counterpane.effect`.

        >>> tables = [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]]
        >>> network = BayesianNetwork(Schema.from_cards([2, 2]), Dag(2, [(0, 1)]), tables)
        >>> round(network.query("x0", {"x1": 1})[1], 4), network.do({"x1": 1}).query("x0")[1]
        (0.8889, 0.5)
        """
        return cut_network(self, intervention_codes(self.schema, states))

    @accepts(missing=CHOICE, unseen=CHOICE)
    def update(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        missing: Literal["error", "drop"] = "error",
        unseen: Unseen = "error",
    ) -> BayesianNetwork:
        """The network with further rows in its tables; the graph stays as it is.

        `X` is what `counterpane.read` takes, in the states of this network, or a `CountSource`. If
        weights are whole, the result is that of all rows at once, to the last bit. A row with gaps
        is refused; with "drop" it counts in the families that it shows. A value that is not a state
        is refused as well; with unseen="missing" or "unknown" it is a gap.
        The result keeps no training rows.

        >>> import counterpane as cp
        >>> titanic, dag = cp.load_dataset("titanic"), cp.Dag(4, [(2, 3)])
        >>> model = cp.fit_parameters(cp.MemoryCounts(titanic), dag)
        >>> int(model.strengths[0]), int(model.update(titanic).strengths[0])
        (2202, 4403)
        """
        network: BayesianNetwork = use_tool(
            "updated_network", self, X, sample_weight, missing, unseen
        )
        return network

    def _network(self) -> Network:
        return Network(self.schema, self.dag, self.tables)

    def _family(self, i: int) -> str:
        names = self.schema.names
        given = ", ".join(names[p] for p in self._parents[i])
        return f"P({names[i]} | {given})" if given else f"P({names[i]})"

    def _table(self, i: int, values: npt.ArrayLike) -> Floats:
        table = as_numbers(values, self._family(i))
        need = tuple(self.schema.cards[[*self._parents[i], i]].tolist())
        if table.shape != need:
            raise ScopeError(
                f"{self._family(i)} has shape {table.shape}; {need} is needed: one axis for each "
                f"parent in schema order, then {self.schema.names[i]!r}."
            )
        sums = np.asarray(table.sum(axis=-1))
        good = (table >= 0).all(axis=-1) & (np.abs(sums - 1) <= TOLERANCE)
        if not good.all():
            where = np.unravel_index(int(np.argmin(good)), sums.shape)
            state = ", ".join(
                f"{self.schema.names[p]}={state_text(self.schema[p].states[k])}"
                for p, k in zip(self._parents[i], where, strict=True)
            )
            raise ParameterError(
                f"{self._family(i)}{' at ' + state if state else ''} is {table[where].tolist()}; "
                "probabilities that are not negative and sum to 1 are needed."
            )
        # A sum that is 1 up to rounding is left alone, so that a saved table loads bit for bit.
        off = np.abs(sums - 1) > 4 * np.finfo(np.float64).eps * need[-1]
        table[off] /= sums[off, None]
        table.flags.writeable = False
        return table

    def _strength(self, i: int, values: npt.ArrayLike) -> Floats:
        strength = as_numbers(values, f"the strengths of {self._family(i)}")
        need = self.tables[i].shape[:-1]
        if strength.shape != need or not (np.isfinite(strength) & (strength > 0)).all():
            raise ParameterError(
                f"the strengths of {self._family(i)} must be positive numbers of shape {need}; got "
                f"shape {strength.shape}."
            )
        strength.flags.writeable = False
        return strength


class NetworkEngine(ProductEngine):
    """Answers of a Bayesian network; rows without evidence are drawn along its graph."""

    def __init__(self, model: BayesianNetwork) -> None:
        parents = [model.dag.parents(i) for i in range(model.dag.n)]
        with np.errstate(divide="ignore"):
            potentials = [
                Potential((*parents[i], i), np.log(table)) for i, table in enumerate(model.tables)
            ]
        super().__init__(model.schema.cards, model.schema.names, potentials, parents=parents)
        self.tables, self.order = model.tables, model.dag.topological_order

    def draw(self, n: int, coded: CodedEvidence, rng: np.random.Generator) -> Codes | None:
        """Codes (n_variables, n) of independent rows given the evidence; None if impossible."""
        if coded.variables or self.parents is None:
            return super().draw(n, coded, rng)
        return sample_forward(self.tables, self.parents, self.order(), {}, n, rng)[0]


def _check_lengths(
    schema: Schema, dag: Dag, tables: Sequence[Any] | CountBatch, more: Sequence[Any] | None
) -> None:
    sizes = {len(schema), dag.n, len(tables), len(schema) if more is None else len(more)}
    if len(sizes) > 1:
        raise ScopeError(
            f"a schema of {len(schema)} variables, a graph of {dag.n} nodes and {len(tables)} "
            "tables do not fit together; each variable needs one of each."
        )


def _write(model: BayesianNetwork) -> dict[str, Array]:
    """Parents, tables and strengths, each end to end."""
    parents = [model.dag.parents(i) for i in range(model.dag.n)]
    arrays: dict[str, Array] = {
        "n_parents": flatten([len(p)] for p in parents),
        "parents": flatten(parents),
        "tables": flatten(model.tables, np.float64),
    }
    if model.strengths is not None:
        arrays["strengths"] = flatten(model.strengths, np.float64)
        if model.prior_size is not None:
            arrays["prior_size"] = np.array([model.prior_size], dtype=np.float64)
    return arrays


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> BayesianNetwork:
    families = [f.tolist() for f in cut_at(arrays["parents"], arrays["n_parents"])]
    dag = Dag.from_parents(families)
    if dag.n != len(schema):
        raise ScopeError(f"{len(schema)} variables cannot have {dag.n} sets of parents.")
    shapes = [tuple(schema.cards[[*family, i]].tolist()) for i, family in enumerate(families)]
    tables = shaped_tables(arrays["tables"], shapes)
    above = [shape[:-1] for shape in shapes]
    strengths = shaped_tables(arrays["strengths"], above) if "strengths" in arrays else None
    size = float(arrays["prior_size"][0]) if "prior_size" in arrays else None
    return BayesianNetwork(schema, dag, tables, strengths, record=record, prior_size=size)


store_as(BayesianNetwork.kind, _write, _read)

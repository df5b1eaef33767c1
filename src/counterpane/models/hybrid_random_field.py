"""Hybrid random fields: a small Bayesian network around each variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.checks import STRING, accepts
from counterpane.data.schema import Schema
from counterpane.errors import GraphError, ParameterError, ScopeError
from counterpane.features import Potential
from counterpane.lazy import lazy
from counterpane.models.arrays import Arrays, store_as
from counterpane.models.bayesian_network import TOLERANCE, BayesianNetwork
from counterpane.models.dependency_network import (
    DependencyNetwork,
    from_part_arrays,
    to_part_arrays,
)
from counterpane.models.record import LearningRecord
from counterpane.typing import Array

nx = lazy("networkx")


class HybridRandomField(DependencyNetwork):
    """P(x_v | rest) ∝ P(x_v | parents of v) Π_c P(x_c | parents of c) in its own network.

    Freno, Trentin & Gori (KDD 2009). The networks need not agree with each other. The rest is as in
    `DependencyNetwork`, the base class.

    Parameters
    ----------
    schema
        The variables.
    networks
        For each variable v a `BayesianNetwork` over some of the columns, including v, or only its
        relevant part: the log-tables of v and of each child of v, as potentials of scope
        (parents…, child).
    record
        How the model was learned; see `Model`.

    Examples
    --------
    >>> copies = np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> coin = Potential([0], np.log([0.5, 0.5]))
    >>> field = HybridRandomField(
    ...     Schema.from_cards([2, 2]),
    ...     [[coin, Potential((0, 1), copies)], [Potential((0, 1), copies)]],
    ... )
    >>> round(field.query("x0", {"x1": 1})[1], 4), sorted(field.local_graph("x1").edges)
    (0.8889, [('x0', 'x1')])
    """

    kind = "hybrid_random_field"
    conditionals: tuple[tuple[Potential, ...], ...]

    def __init__(
        self,
        schema: Schema,
        networks: Sequence[BayesianNetwork | Iterable[Potential]],
        *,
        record: LearningRecord | None = None,
    ) -> None:
        if len(networks) != len(schema):
            raise ScopeError(f"{len(networks)} networks were given for {len(schema)} variables.")
        tables = [
            _around(schema, v, given) if isinstance(given, BayesianNetwork) else tuple(given)
            for v, given in enumerate(networks)
        ]
        super().__init__(schema, tables, record=record)
        for v, parts in enumerate(self.conditionals):
            _check_families(schema.names, v, parts)
        _check_sums(schema.names, self.conditionals)

    def __repr__(self) -> str:
        return (
            f"HybridRandomField({len(self.schema)} variables, {len(self._edges)} blanket members)"
        )

    @cached_property
    def _edges(self) -> list[tuple[int, int]]:
        return [
            (u, v)
            for v, parts in enumerate(self.conditionals)
            for u in sorted({u for part in parts for u in part.scope} - {v})
        ]

    @property
    def blankets(self) -> dict[str, tuple[str, ...]]:
        """The blanket of each variable, by name."""
        names = self.schema.names
        found: dict[str, list[str]] = {name: [] for name in names}
        for u, v in self._edges:
            found[names[v]].append(names[u])
        return {name: tuple(members) for name, members in found.items()}

    @accepts(name=STRING)
    def local_graph(self, name: str) -> Any:
        """The network of one variable, as a networkx graph: its family and those of its children.

        Edges between other members of the blanket do not matter to the variable and are not kept.
        """
        v = self.schema.index(name)
        names = self.schema.names
        graph: Any = nx.DiGraph()
        graph.add_node(name)
        for part in self.conditionals[v]:
            *parents, child = part.scope
            graph.add_edges_from((names[p], names[child]) for p in parents)
        return graph


def _around(schema: Schema, v: int, network: BayesianNetwork) -> tuple[Potential, ...]:
    """The log-tables of v and its children in a network over some columns of `schema`."""
    where = schema.indices(network.schema.names)
    if any(schema[c] != given for c, given in zip(where, network.schema, strict=True)):
        raise ScopeError(
            f"the network of {schema.names[v]!r} has a column with other states than the schema."
        )
    if v not in where:
        raise ScopeError(f"the network of {schema.names[v]!r} does not hold {schema.names[v]!r}.")
    me = where.index(v)
    tables = network.to_potentials()
    return tuple(
        Potential([where[u] for u in tables[c].scope], tables[c].log_values)
        for c in (me, *network.dag.children(me))
    )


def _check_families(names: Sequence[str], v: int, parts: Sequence[Potential]) -> None:
    """Refuse what is not the family of v and those of its children, without a cycle."""
    if any(not isinstance(part, Potential) or not part.scope for part in parts):
        raise ParameterError(
            f"the network of {names[v]!r} must be made of potentials of scope (parents…, child)."
        )
    families = {part.scope[-1]: set(part.scope[:-1]) for part in parts}
    if len(families) < len(parts) or v not in families:
        raise ScopeError(
            f"the network of {names[v]!r} must hold one table of {names[v]!r} itself, and at most "
            "one of every other column."
        )
    for child, parents in families.items():
        if child != v and v not in parents:
            raise ScopeError(
                f"the network of {names[v]!r} has a table of {names[child]!r}, which is no child "
                "of it; leave it out."
            )
    while ready := [c for c, parents in families.items() if families.keys().isdisjoint(parents)]:
        for child in ready:
            del families[child]
    if families:
        cycle = ", ".join(repr(names[c]) for c in families)
        raise GraphError(f"the network of {names[v]!r} has a cycle among {cycle}.")


def _check_sums(names: Sequence[str], conditionals: Sequence[Sequence[Potential]]) -> None:
    """Refuse tables whose rows do not sum to 1."""
    owned = [(v, part) for v, parts in enumerate(conditionals) for part in parts]
    if not owned:
        return
    states = np.array([part.log_values.shape[-1] for _, part in owned])
    rows = np.array([part.log_values.size for _, part in owned]) // states
    starts = np.cumsum(np.repeat(states, rows)) - np.repeat(states, rows)
    values = np.exp(np.concatenate([part.log_values.reshape(-1) for _, part in owned]))
    off = np.abs(np.add.reduceat(values, starts) - 1.0) > TOLERANCE
    for k in np.searchsorted(np.cumsum(rows), np.flatnonzero(off), side="right"):
        v, part = owned[int(k)]
        raise ParameterError(
            f"the table of {names[part.scope[-1]]!r} in the network of {names[v]!r} has a row that "
            "does not sum to 1; pass ln P(child | parents), the child on the last axis."
        )


def _write(model: HybridRandomField) -> dict[str, Array]:
    """The tables of all networks, end to end."""
    return to_part_arrays(model.conditionals)


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> HybridRandomField:
    parts: Any = from_part_arrays(schema.cards, arrays)
    return HybridRandomField(schema, parts, record=record)


store_as(HybridRandomField.kind, _write, _read)

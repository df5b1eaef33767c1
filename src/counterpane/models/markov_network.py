"""Markov networks: a product of potentials, dense tables and rules side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import ParameterError, ScopeError, shown_type
from counterpane.features import Blanket, Potential, Rules, check_cells
from counterpane.features.potential import leveled, normalized
from counterpane.formats import Factors
from counterpane.graphs import UndirectedGraph
from counterpane.inference import marginal
from counterpane.inference.answering import ProductEngine
from counterpane.inference.question import CodedEvidence
from counterpane.models.arrays import Arrays, store_as
from counterpane.models.joint import JointModel
from counterpane.models.record import LearningRecord
from counterpane.ragged import flatten
from counterpane.typing import Array, Codes, Floats

RULE_FIELDS = ("weights", "offsets", "variables", "values", "negated")
FEW_STATES = 1024  # joint states that are tried one after the other


class MarkovNetwork(JointModel):
    """P(x) = exp(Σ potentials + Σ rules that hold) / Z.

    Parameters
    ----------
    schema
        The variables.
    potentials
        Dense tables of logs (`Potential`) and weighted rules (`Rules`).
    record
        How the model was learned; see `Model`.

    Notes
    -----
    Full conditionals, and queries whose own tables are small, do not need Z. `score_samples` and
    `log_evidence` need it: they compute it once, by elimination, and raise `TableSizeError` if the
    tables are too large. A variable without potentials is uniform.

    Examples
    --------
    >>> pair = Potential((0, 1), [[0.0, 0.0], [0.0, np.log(3.0)]])
    >>> model = MarkovNetwork(Schema.from_cards([2, 2, 2]), [pair])
    >>> round(model.query("x0", {"x1": 1})[1], 4), float(np.exp(model.log_partition).round(4))
    (0.75, 12.0)
    """

    kind = "markov_network"

    def __init__(
        self,
        schema: Schema,
        potentials: Iterable[Potential | Rules],
        *,
        record: LearningRecord | None = None,
    ) -> None:
        self.schema = schema
        self.record = record or LearningRecord()
        given = tuple(potentials)
        for part in given:
            if not isinstance(part, Potential | Rules):
                raise ParameterError(
                    f"a Markov network cannot hold {shown_type(part)}; pass potentials and rules."
                )
            _check_fit(schema, part)
        self.potentials = tuple(p for p in given if isinstance(p, Potential))
        self.rules = tuple(r for r in given if isinstance(r, Rules))

    def __repr__(self) -> str:
        return (
            f"MarkovNetwork({len(self.schema)} variables, {len(self.potentials)} potentials, "
            f"{sum(map(len, self.rules))} rules)"
        )

    @cached_property
    def undirected(self) -> UndirectedGraph:
        """The graph whose edges join the variables that share a potential or a rule."""
        edges = {pair for p in self.potentials for pair in combinations(sorted(p.scope), 2)}
        return UndirectedGraph(len(self.schema), edges.union(*(r.edges() for r in self.rules)))

    @property
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""
        return self.undirected.to_networkx(self.schema.names)

    @cached_property
    def engine(self) -> MarkovEngine:
        """What answers questions in codes."""
        return MarkovEngine(self)

    @property
    def log_partition(self) -> float:
        """ln Z, by elimination; `TableSizeError` where that needs too large a table."""
        return self.engine.log_partition

    def _network(self) -> Factors | None:
        return Factors(self.schema, [*self.potentials, *self.rules])


class MarkovEngine(ProductEngine):
    """Answers of a Markov network: rules become tables only where a question needs them.

    A large constant is taken off each potential: it cancels in every answer.
    """

    def __init__(self, model: MarkovNetwork) -> None:
        super().__init__(model.schema.cards, model.schema.names)
        self.rules = model.rules
        self.leveled, self.log_constant = leveled(model.potentials)

    @cached_property
    def blanket(self) -> Blanket:
        """The potentials and rules compiled for full conditionals."""
        return Blanket(self.cards, [*self.leveled, *self.rules], self.names)

    @cached_property
    def potentials(self) -> tuple[Potential, ...]:
        """Dense potentials that are equivalent to the network."""
        dense = [*self.leveled]
        for rules in self.rules:
            dense += rules.to_potentials()
        alone = set(range(len(self.cards))).difference(*(p.scope for p in dense))
        dense += [Potential((v,), np.zeros(self.cards[v])) for v in sorted(alone)]
        return tuple(dense)

    @cached_property
    def log_total(self) -> float:  # type: ignore[override]
        """ln of the sum over all rows."""
        log_weight = marginal(self.potentials, self.cards, (), {}, names=self.names)[1]
        if log_weight == -np.inf:
            raise ParameterError("the network gives every row the weight zero; it has no Z.")
        return log_weight

    def ask(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[Floats, float]:
        """(P(queried | evidence), log-weight of the evidence)."""
        if coded.weights or not self._complete(queried, coded.codes):
            return super().ask(queried, coded)
        codes = np.array(list(coded.codes.values()), dtype=np.uint16).reshape(-1, 1)
        found, log_weights = self._ask_complete(queried, tuple(coded.codes), codes)
        return found.reshape(self.cards[list(queried)]), float(log_weights[0])

    def ask_rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        """(P(queried | row), shape (n_rows, cells); log-weight of each row)."""
        full = (codes < self.cards[list(columns), None]).all(axis=0)
        if not self._complete(queried, columns) or not full.any():
            return super().ask_rows(queried, columns, codes)
        found, log_weights = self._ask_complete(queried, columns, codes[:, full])
        if full.all():
            return found, log_weights
        out, all_weights = np.empty((full.size, found.shape[1])), np.empty(full.size)
        out[full], all_weights[full] = found, log_weights
        out[~full], all_weights[~full] = super().ask_rows(queried, columns, codes[:, ~full])
        return out, all_weights

    def _complete(self, queried: Iterable[int], given: Iterable[int]) -> bool:
        """Whether the question is about few joint states and leaves no other variable open."""
        nothing_open = len({*queried, *given}) == len(self.cards)
        return nothing_open and int(self.cards[list(queried)].prod()) <= FEW_STATES

    def _ask_complete(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        """As `ask_rows`, where all but `queried` is observed: each state is tried in each row."""
        shape = tuple(self.cards[list(queried)].tolist())
        rows: Codes = np.empty((len(self.cards), codes.shape[1]), dtype=np.uint16)
        rows[list(columns)] = codes
        logs: Floats = np.empty((codes.shape[1], math.prod(shape)))
        for cell, states in enumerate(np.ndindex(shape)):
            rows[list(queried)] = np.array(states, dtype=np.uint16)[:, None]
            logs[:, cell] = self.blanket.log_potential(rows)
        return normalized(logs)


def _check_fit(schema: Schema, part: Potential | Rules) -> None:
    """Refuse a potential or rules made for other variables."""
    if isinstance(part, Rules):
        if not np.array_equal(part.cards, schema.cards):
            raise ScopeError(f"{part!r} were written for other numbers of states than {schema!r}.")
        return
    unknown = [v for v in part.scope if v >= len(schema)]
    if unknown:
        raise ScopeError(f"{part!r} names variable {unknown[0]}; there are {len(schema)}.")
    needed = tuple(schema.cards[list(part.scope)].tolist())
    if part.log_values.shape != needed:
        names = ", ".join(repr(schema.names[v]) for v in part.scope)
        raise ScopeError(
            f"the potential over {names} has shape {part.log_values.shape}; {needed} is needed."
        )


def _write(model: MarkovNetwork) -> dict[str, Array]:
    """Scopes and log-values of the potentials, and the rules, each end to end."""
    arrays: dict[str, Array] = {
        "scope_sizes": flatten([len(p.scope)] for p in model.potentials),
        "scopes": flatten(p.scope for p in model.potentials),
        "log_values": flatten((p.log_values for p in model.potentials), np.float64),
    }
    for place, rules in enumerate(model.rules):
        for name in RULE_FIELDS:
            array = getattr(rules, name)
            integers = array.dtype == np.bool_
            arrays[f"rules{place}.{name}"] = array.astype(np.int64) if integers else array
    return arrays


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> MarkovNetwork:
    ends = np.cumsum(arrays["scope_sizes"])
    if (arrays["scope_sizes"] < 0).any() or ends[-1:].sum() != arrays["scopes"].size:
        raise ScopeError("the scopes do not add up to what the file holds.")
    parts: list[Potential | Rules] = []
    read = 0
    for scope in np.split(arrays["scopes"], ends)[:-1]:
        shape = schema.cards[scope]
        size = check_cells(shape, "a potential of the file")
        parts.append(Potential(scope, arrays["log_values"][read : read + size].reshape(shape)))
        read += size
    if read != arrays["log_values"].size:
        raise ScopeError(f"{arrays['log_values'].size - read} log-values have no potential.")
    place = 0
    while f"rules{place}.weights" in arrays:
        fields = (arrays[f"rules{place}.{name}"] for name in RULE_FIELDS)
        parts.append(Rules(schema.cards, *fields))
        place += 1
    return MarkovNetwork(schema, parts, record=record)


store_as(MarkovNetwork.kind, _write, _read)

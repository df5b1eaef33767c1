"""Dependency networks: one conditional distribution per variable, learned independently."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.checks import accepts
from counterpane.data.schema import Schema
from counterpane.errors import EvidenceError, ParameterError, ScopeError
from counterpane.features import Blanket, Potential, Rules, Tree, check_cells
from counterpane.features.parts import Part, check_part
from counterpane.formats import Conditionals
from counterpane.graphs import UndirectedGraph
from counterpane.inference.answering import Engine
from counterpane.inference.question import CodedEvidence
from counterpane.lazy import lazy
from counterpane.models.arrays import Arrays, store_as
from counterpane.models.joint import JointModel
from counterpane.models.record import LearningRecord
from counterpane.ragged import flatten, offsets_of
from counterpane.typing import Array, Codes, Floats, Ints

nx = lazy("networkx")
KINDS = (Potential, Rules, Tree)


class DependencyNetwork(JointModel):
    """P(x_v | rest) ∝ exp(Σ conditionals[v]) for every variable v (Heckerman et al. 2000).

    Parameters
    ----------
    schema
        The variables.
    conditionals
        For each variable v its potentials, rules and trees; terms without v have no effect.
    record
        How the model was learned; see `Model`.

    Notes
    -----
    The conditionals need not agree on a joint distribution: `score_samples` and other methods that
    need one raise an error, and `to_markov_network` makes one. A variable without terms is uniform.

    A query of one variable given all variables that it depends on is exact. Other queries use Gibbs
    sampling, or mean field with `method`. If the conditionals disagree, answers and samples are
    those of Gibbs chains that draw the variables in the order of the schema.

    Examples
    --------
    >>> agree = Potential((0, 1), np.log([[0.9, 0.1], [0.1, 0.9]]))
    >>> model = DependencyNetwork(Schema.from_cards([2, 2]), [[agree], [agree]])
    >>> round(model.query("x0", {"x1": 1})[1], 4), model.graph.number_of_edges()
    (0.9, 2)
    """

    kind = "dependency_network"

    def __init__(
        self,
        schema: Schema,
        conditionals: Sequence[Iterable[Potential | Rules | Tree]],
        *,
        record: LearningRecord | None = None,
    ) -> None:
        self.schema = schema
        self.record = record or LearningRecord()
        self.conditionals = tuple(tuple(parts) for parts in conditionals)
        if len(self.conditionals) != len(schema):
            raise ScopeError(
                f"{len(self.conditionals)} conditionals were given for {len(schema)} variables."
            )
        for v, parts in enumerate(self.conditionals):
            for part in parts:
                if not isinstance(part, Potential | Rules | Tree):
                    raise ParameterError(
                        f"the conditional of {schema.names[v]!r} cannot hold a "
                        f"{type(part).__name__}; pass potentials, rules and trees."
                    )
                check_part(part, v, schema.cards)

    def __repr__(self) -> str:
        held = [part for parts in self.conditionals for part in parts]
        potentials = sum(isinstance(p, Potential) for p in held)
        rules = sum(len(p) for p in held if isinstance(p, Rules))
        trees = sum(isinstance(p, Tree) for p in held)
        return (
            f"DependencyNetwork({len(self.schema)} variables, {potentials} potentials, "
            f"{rules} rules, {trees} trees)"
        )

    @cached_property
    def engine(self) -> ConditionalEngine:
        """What answers questions in codes."""
        return ConditionalEngine(self)

    @property
    def graph(self) -> Any:
        """A networkx graph of the column names, with an edge to each from those it depends on."""
        graph: Any = nx.DiGraph()
        names = self.schema.names
        graph.add_nodes_from(names)
        graph.add_edges_from((names[u], names[v]) for u, v in self._edges)
        return graph

    @cached_property
    def undirected(self) -> UndirectedGraph:
        """The graph that joins two variables if one depends on the other."""
        return UndirectedGraph(len(self.schema), {(min(e), max(e)) for e in self._edges})

    @property
    def _edges(self) -> list[tuple[int, int]]:
        return [(u, v) for v in range(len(self.schema)) for u in self.engine.blanket.neighbors(v)]

    @accepts()
    def score_samples(self, X: Any) -> Floats:
        """Raises an error: rows have no probability without a joint distribution."""
        raise _no_joint()

    def _network(self) -> Conditionals:
        return Conditionals(self.schema, self.conditionals)


class ConditionalEngine(Engine):
    """Answers of conditionals that need not agree: one variable given all that it depends on."""

    def __init__(self, model: DependencyNetwork) -> None:
        super().__init__(model.schema.cards, model.schema.names)
        self.conditionals = model.conditionals

    @cached_property
    def blanket(self) -> Blanket:
        """The conditionals compiled."""
        return Blanket.of_conditionals(self.cards, self.conditionals, self.names)

    @property
    def potentials(self) -> tuple[Potential, ...]:
        """Raises: conditionals that need not agree are no product of potentials."""
        raise _no_joint()

    def has_exact(self, queried: Sequence[int], known: Collection[int]) -> bool:
        """Whether one variable is queried and all that its conditional reads is known."""
        return len(queried) == 1 and set(known).issuperset(self.blanket.neighbors(queried[0]))

    def ask(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[Floats, float]:
        if not self.has_exact(queried, coded.codes):
            raise _no_joint()
        codes = np.array([list(coded.codes.values())], dtype=np.uint16).T
        found = self._conditional(queried[0], tuple(coded.codes), codes)[0]
        found *= coded.weights.get(queried[0], 1.0)
        if not found.any():
            raise EvidenceError(
                f"the virtual evidence on {self.names[queried[0]]!r} rules out each state that is "
                "possible given the rest; change it."
            )
        return found / found.sum(), 0.0

    def ask_each(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[list[Floats], float]:
        if len(queried) != 1:
            raise _no_joint()
        return [self.ask(queried, coded)[0]], 0.0

    def ask_rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        full = (codes < self.cards[list(columns), None]).all(axis=1)
        if not self.has_exact(queried, np.array(columns)[full].tolist()):
            raise _no_joint()
        return self._conditional(queried[0], columns, codes), np.zeros(codes.shape[1])

    def ask_best(
        self, queried: Sequence[int], coded: CodedEvidence
    ) -> tuple[dict[int, int], float]:
        raise _no_joint()

    def draw(self, n: int, coded: CodedEvidence, rng: np.random.Generator) -> Codes | None:
        raise _no_joint()

    def log_evidence(self, log_weight: float, coded: CodedEvidence) -> float:
        if coded.variables:
            raise _no_joint()
        return 0.0

    def log_evidence_rows(
        self, log_weights: Floats, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        raise _no_joint()

    def _conditional(self, v: int, columns: Sequence[int], codes: Codes) -> Floats:
        """P(v | row), exactly, for rows that tell all that it depends on."""
        rows: Codes = np.zeros((len(self.cards), codes.shape[1]), dtype=np.uint16)
        rows[list(columns)] = np.minimum(codes, self.cards[list(columns), None] - 1)
        return np.exp(self.blanket.full_conditionals(rows, [v]))


def _no_joint() -> ParameterError:
    return ParameterError(
        "a dependency network has no joint distribution; convert it with to_markov_network, or ask "
        "for one variable given all others."
    )


def to_part_arrays(conditionals: Sequence[Sequence[Part]]) -> dict[str, Array]:
    """int64 and float64 arrays that hold the parts of each variable, one after the other."""
    parts = [part for own in conditionals for part in own]
    tables = [p for p in parts if isinstance(p, Potential)]
    rules = [p for p in parts if isinstance(p, Rules)]
    trees = [p for p in parts if isinstance(p, Tree)]
    whole: dict[str, Sequence[Array | Sequence[int]]] = {
        "kinds": [[KINDS.index(type(p)) for p in parts]],
        "part_counts": [[len(own) for own in conditionals]],
        "scope_sizes": [[len(p.scope) for p in tables]],
        "scopes": [p.scope for p in tables],
        "rule_counts": [[len(p) for p in rules]],
        "rule_sizes": [np.diff(p.offsets) for p in rules],
        "rule_variables": [p.variables for p in rules],
        "rule_values": [p.values for p in rules],
        "rule_negated": [p.negated for p in rules],
        "tree_sizes": [[p.variables.size for p in trees]],
        "tree_nodes": [p.nodes().reshape(-1) for p in trees],
    }
    numbers = {
        "log_values": [p.log_values.reshape(-1) for p in tables],
        "rule_weights": [p.weights for p in rules],
        "leaf_values": [p.log_values[p.variables < 0].reshape(-1) for p in trees],
    }
    ints = {name: flatten(arrays) for name, arrays in whole.items()}
    return ints | {name: flatten(arrays, np.float64) for name, arrays in numbers.items()}


def from_part_arrays(
    cards: Ints, arrays: Mapping[str, Array], n: int | None = None
) -> list[list[Part]]:
    """The parts of each variable that `to_part_arrays` described; what does not add up raises.

    With `n`, those of the first n variables.
    """
    counts, kinds = arrays["part_counts"], arrays["kinds"].tolist()
    if (
        counts.size != (cards.size if n is None else n)
        or (counts < 0).any()
        or (counts > len(kinds)).any()  # whose sum could wrap around
        or counts.sum() != len(kinds)
        or min(kinds, default=0) < 0
    ):
        raise ScopeError(f"{len(kinds)} parts do not fit {counts.size} counts of them.")
    reader = _PartReader(cards, arrays)
    read = (reader.potential, reader.rules, reader.tree)
    kinds_left = iter(kinds)
    conditionals: list[list[Part]] = [
        [read[next(kinds_left)](v) for _ in range(count)] for v, count in enumerate(counts.tolist())
    ]
    reader.check_empty()
    return conditionals


class _PartReader:
    """Takes parts off the front of the arrays."""

    def __init__(self, cards: Ints, arrays: Mapping[str, Array]) -> None:
        self.cards = cards
        self.arrays = arrays
        self.taken = dict.fromkeys(arrays, 0)

    def potential(self, target: int) -> Part:
        scope = self._take("scopes", self._one("scope_sizes"))
        shape = self.cards[scope]
        size = check_cells(shape, "a potential of the file")
        return Potential(scope, self._take("log_values", size).reshape(shape))

    def rules(self, target: int) -> Part:
        count = self._one("rule_counts")
        offsets = offsets_of(self._take("rule_sizes", count))
        names = ("rule_variables", "rule_values", "rule_negated")
        flat = [self._take(name, int(offsets[-1])) for name in names]
        return Rules(self.cards, self._take("rule_weights", count), offsets, *flat)

    def tree(self, target: int) -> Part:
        size = self._one("tree_sizes")
        nodes = self._take("tree_nodes", 4 * size).reshape(size, 4)
        leaves = nodes[:, 0] < 0
        states = int(self.cards[target])
        values = np.zeros((size, states))
        values[leaves] = self._take("leaf_values", states * int(leaves.sum())).reshape(-1, states)
        return Tree(self.cards, target, nodes[:, 0], nodes[:, 1], nodes[:, 2:], values)

    def check_empty(self) -> None:
        """Refuse arrays that hold more than the parts took."""
        for name, array in self.arrays.items():
            if name not in ("kinds", "part_counts") and self.taken[name] != array.size:
                raise ScopeError(f"{array.size - self.taken[name]} numbers of {name} are too many.")

    def _one(self, name: str) -> int:
        return int(self._take(name, 1)[0])

    def _take(self, name: str, count: int) -> Array:
        start = self.taken[name]
        if not 0 <= count <= self.arrays[name].size - start:
            raise ScopeError(f"{count} more numbers of {name} are needed than the file holds.")
        self.taken[name] = start + count
        return self.arrays[name][start : start + count]


def _write(model: DependencyNetwork) -> dict[str, Array]:
    """The parts of all conditionals, each kind end to end."""
    return to_part_arrays(model.conditionals)


def _read(schema: Schema, arrays: Arrays, record: LearningRecord | None) -> DependencyNetwork:
    return DependencyNetwork(schema, from_part_arrays(schema.cards, arrays), record=record)


store_as(DependencyNetwork.kind, _write, _read)

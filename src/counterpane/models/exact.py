"""Exact answers in codes from the potentials of a model; `JointModel` puts them into words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.checks import BOOLEAN, NAMES, NONE, accepts
from counterpane.data.schema import MISSING, Schema
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError, Setting
from counterpane.features import Blanket, Potential
from counterpane.inference import (
    ExactRun,
    JunctionMarginals,
    map_query,
    marginal,
    query_rows,
)
from counterpane.memory import need_memory
from counterpane.models.base import ClassModel
from counterpane.models.evidence import CodedEvidence, Evidence, evidence_text
from counterpane.typing import Codes, Floats

CELL_BYTES, ROW_BYTES = 4, 64  # that a drawn cell takes, and a row while it is drawn
TREE_CELLS = 2**15  # up to here a tree answers a question sooner than a plan of its own


class ExactAnswers(ClassModel):
    """Exact answers from potentials over the variables of `schema`.

    A model that is no product of potentials overrides the hooks `_ask`, `_ask_each`, `_ask_rows`,
    `_best` and `_draw`. Hooks give the weight of the evidence as it comes out of the potentials;
    `_log_total` is taken off only where ln P(evidence) is needed, since it may be out of
    reach where the question is easy.
    """

    log_partition: float = 0.0  # ln of the sum of exp(Σ potentials) over all rows
    _log_constant: float = 0.0  # that `to_potentials` takes off

    @property
    def _log_total(self) -> float:
        """The same for the potentials of `to_potentials` and of `blanket`."""
        return self.log_partition

    @abstractmethod
    def to_potentials(self) -> tuple[Potential, ...]:
        """The potentials whose sum is ln P(x) + `_log_total`."""

    @property
    @abstractmethod
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""

    @cached_property
    def blanket(self) -> Blanket:
        """The potentials compiled for full conditionals."""
        return Blanket(self.schema.cards, self.to_potentials(), self.schema.names)

    @accepts()
    def score_samples(self, X: Any) -> Floats:
        """ln P(row), natural log, shape (n_rows,); minus infinity for an impossible row."""
        return self.blanket.log_potential(self._codes(X)) - self._log_total

    @accepts(variables=NAMES | NONE)
    def full_conditionals(self, X: Any, variables: str | Iterable[str] | None = None) -> Floats:
        """ln P(variable = state | rest of the row), shape (n_rows, Σ cards of the variables)."""
        columns = None if variables is None else self.schema.indices(name_list(variables))
        return self.blanket.full_conditionals(self._codes(X), columns)

    @accepts(total=BOOLEAN)
    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums."""
        return self.blanket.pseudo_log_likelihood(self._codes(X), total=total)

    @cached_property
    def _propagation(self) -> JunctionMarginals:
        return JunctionMarginals(self.to_potentials(), self.schema.cards, self.schema.names)

    def _draw(
        self,
        n: int,
        coded: CodedEvidence,
        rng: np.random.Generator,
    ) -> Codes | None:
        cards, names = self.schema.cards, self.schema.names
        parts = [*self.to_potentials(), *coded.weight_potentials()]
        every = range(cards.size)
        return ExactRun(parts, cards, coded.codes, every=every, names=names).draws(n, rng)

    def _best(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[dict[int, int], float]:
        """(the most probable codes of `queried`, their log-weight), exactly."""
        relevant = self._relevant({*queried, *coded.variables})
        parts = [*relevant, *coded.weight_potentials()]
        return map_query(parts, self.schema.cards, queried, coded.codes, names=self.schema.names)

    def _relevant(self, nodes: set[int]) -> Sequence[Potential]:
        """The potentials that bear on `nodes`; the others would sum to 1."""
        return self.to_potentials()

    def _ask(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[Floats, float]:
        """(P(queried | evidence), ln of the weight of the evidence, −∞ where it is impossible).

        A plan is made for the question, which leaves out what does not bear on it. One variable
        is read from the tree instead, if `marginals` has compiled it and it is small.
        """
        cards, names = self.schema.cards, self.schema.names
        if (
            len(queried) == 1
            and "_propagation" in vars(self)
            and self._propagation.cells() <= TREE_CELLS
        ):
            each, log_evidence = self._ask_each(queried, coded)
            return each[0], log_evidence
        relevant = self._relevant({*queried, *coded.variables})
        parts = [*relevant, *coded.weight_potentials()]
        return marginal(parts, cards, queried, coded.codes, names=names)

    def _ask_each(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[list[Floats], float]:
        """(P(v | evidence) for each v in `queried`, ln of the weight of the evidence)."""
        return self._propagation.run(queried, *coded)

    def _ask_rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        """(P(queried | row), shape (n_rows, cells); ln of each row's weight); see `query_rows`."""
        cards, names = self.schema.cards, self.schema.names
        return query_rows(self._relevant, cards, queried, columns, codes, names=names)

    def _log_evidence(self, log_weight: float, coded: CodedEvidence) -> float:
        """ln P(evidence), from what `_ask` gave."""
        return log_weight - self._log_total if coded.variables else 0.0

    def _log_evidence_rows(
        self, log_weights: Floats, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        """ln P(evidence of each row), from what `_ask_rows` gave."""
        return log_weights - self._log_total

    def _impossible(
        self, coded: CodedEvidence, evidence: Evidence = None, row: int | None = None
    ) -> EvidenceError:
        """An error that names a small conflict, found by leaving out one item at a time."""
        codes, weights = dict(coded.codes), dict(coded.weights)
        for v in [*codes, *weights]:
            rest = CodedEvidence(
                {u: code for u, code in codes.items() if u != v},
                {u: own for u, own in weights.items() if u != v},
            )
            if self._ask((), rest)[1] == -np.inf:
                codes, weights = dict(rest.codes), dict(rest.weights)
        names = self.schema.names
        states = {v: self.schema[v].states[code] for v, code in codes.items()}
        texts = [f"{names[v]}={MISSING if s is None else repr(s)}" for v, s in states.items()]
        values = evidence or {}
        texts += [
            evidence_text(names[v], values[names[v]])
            if names[v] in values
            else f"the virtual evidence on {names[v]!r}"
            for v in weights
        ]
        where = "" if row is None else f"row {row}: "
        way = "change or drop one of it" if row is None else "change it, or pass impossible='prior'"
        return EvidenceError(
            f"{where}the evidence {', '.join(texts)} has probability zero under the model; {way}."
        )

    def _codes(self, X: Any) -> Codes:
        same = isinstance(X, Table) and X.schema == self.schema
        table: Table = X if same else Table.from_frame(X, schema=self.schema)
        return table.codes


def name_list(variables: str | Iterable[str]) -> list[str]:
    """The names of the variables in a question, of which one may be passed alone."""
    if isinstance(variables, str):
        return [variables]
    if not isinstance(variables, Iterable):
        raise ParameterError(
            f"{variables!r} names no column; pass the name of a column, or a list of names."
        )
    return list(variables)


def check_n_rows(n: int, schema: Schema) -> int:
    """`n` as a number of rows of the columns of `schema` to draw, for which there is memory."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise ParameterError(
            Setting("n", n), " rows cannot be drawn; a whole number from 1 is needed."
        )
    numbers = sum(variable.cuts is not None for variable in schema)
    each = CELL_BYTES * len(schema) + 8 * numbers + ROW_BYTES
    need_memory(
        int(n) * each, f"a sample of {int(n):,} rows of {len(schema):,} columns", "draw fewer rows"
    )
    return int(n)

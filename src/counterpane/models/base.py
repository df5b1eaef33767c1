"""What every model can do, once it says what its potentials are."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError
from counterpane.inference import map_query, marginal, sample
from counterpane.models.answer import Answer
from counterpane.models.formats.native import Content, write_native
from counterpane.potentials import Blanket, Potential
from counterpane.typing import Array, Codes, Floats, State

Evidence = Mapping[str, Any] | None
"""Name → state: by equality, by interval for numeric variables that were cut, else by text."""


class Model(ABC):
    """A final distribution over the variables of `schema`, as a product of potentials.

    `X` is a `Table`, or any frame that `Table.from_frame` reads with the model's schema.
    `provenance` says how the model was learned, and is saved with it.
    """

    kind: ClassVar[str]
    schema: Schema
    provenance: dict[str, Any] | None
    log_partition: float = 0.0  # ln of the sum of exp(Σ potentials) over all rows

    @property
    @abstractmethod
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""

    @abstractmethod
    def to_potentials(self) -> tuple[Potential, ...]:
        """The potentials whose sum is ln P(x) + `log_partition`."""

    @abstractmethod
    def to_arrays(self) -> dict[str, Array]:
        """All that `from_arrays` needs beside the schema, as int64 and float64 arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls, schema: Schema, arrays: Mapping[str, Array], provenance: dict[str, Any] | None
    ) -> Self:
        """The model that `to_arrays` described."""

    @cached_property
    def blanket(self) -> Blanket:
        """The potentials compiled for full conditionals."""
        return Blanket(self.schema.cards, self.to_potentials(), self.schema.names)

    def score_samples(self, X: Any) -> Floats:
        """ln P(row), natural log, shape (n_rows,); minus infinity for an impossible row."""
        return self.blanket.log_potential(self._codes(X)) - self.log_partition

    def full_conditionals(self, X: Any, variables: Iterable[str] | None = None) -> Floats:
        """ln P(variable = state | rest of the row), shape (n_rows, Σ cards of the variables)."""
        asked = None if variables is None else self.schema.indices(_listed(variables))
        return self.blanket.full_conditionals(self._codes(X), asked)

    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums."""
        return self.blanket.pseudo_log_likelihood(self._codes(X), total=total)

    def query(self, variables: str | Iterable[str], evidence: Evidence = None) -> Answer:
        """P(variables | evidence), exactly; the answer's axes follow the order asked."""
        given = self._given(evidence)
        asked = self._asked(_listed(variables), given)
        relevant = self._relevant({*asked, *given})
        probabilities, log_weight = marginal(
            relevant, self.schema.cards, asked, given, names=self.schema.names
        )
        if log_weight == -np.inf:
            raise self._impossible(given)
        log_evidence = log_weight - self.log_partition if given else 0.0
        return Answer([self.schema[v] for v in asked], probabilities, log_evidence)

    def map_query(
        self, variables: str | Iterable[str] | None = None, evidence: Evidence = None
    ) -> dict[str, State]:
        """The most probable joint states of `variables`, by default of all that are not given."""
        given = self._given(evidence)
        rest = [n for i, n in enumerate(self.schema.names) if i not in given]
        asked = self._asked(rest if variables is None else _listed(variables), given)
        relevant = self._relevant({*asked, *given})
        best, log_weight = map_query(
            relevant, self.schema.cards, asked, given, names=self.schema.names
        )
        if log_weight == -np.inf:
            raise self._impossible(given)
        return {self.schema.names[v]: self.schema[v].states[code] for v, code in best.items()}

    def sample(
        self,
        n: int,
        evidence: Evidence = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Table:
        """A table of `n` independent rows, drawn exactly from P(row | evidence)."""
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise ParameterError(f"n={n!r} rows cannot be drawn; a whole number from 1 is needed.")
        given = self._given(evidence)
        codes = self._draw(int(n), given, np.random.default_rng(random_state))
        if codes is None:
            raise self._impossible(given)
        return Table(self.schema, codes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the native model file (`.cp`); `counterpane.load` reads it back, bit for bit."""
        if Path(path).suffix in (".bif", ".gz"):
            raise ParameterError(
                f"save writes the native format, not {Path(path).suffix!r}; use a name that ends "
                "in .cp, or write_bif."
            )
        write_native(path, Content(self.kind, self.schema, self.to_arrays(), self.provenance))

    def _draw(self, n: int, given: Mapping[int, int], rng: np.random.Generator) -> Codes | None:
        return sample(self.to_potentials(), self.schema.cards, given, n, rng)

    def _relevant(self, nodes: set[int]) -> Sequence[Potential]:
        """The potentials that bear on `nodes`; the others would sum to 1."""
        return self.to_potentials()

    def _codes(self, X: Any) -> Codes:
        same = isinstance(X, Table) and X.schema == self.schema
        table: Table = X if same else Table.from_frame(X, schema=self.schema)
        return table.codes

    def _given(self, evidence: Evidence) -> dict[int, int]:
        return {
            self.schema.index(name): self.schema[name].code(state)
            for name, state in (evidence or {}).items()
        }

    def _asked(self, names: Sequence[str], given: Mapping[int, int]) -> tuple[int, ...]:
        asked = self.schema.indices(names)
        both = [self.schema.names[v] for v in asked if v in given]
        if both:
            raise EvidenceError(
                f"{both[0]!r} is both asked and given; drop it from the question or the evidence."
            )
        if len(set(asked)) != len(asked) or not asked:
            raise ParameterError(f"the question {list(names)} must name each variable once.")
        return asked

    def _impossible(self, given: Mapping[int, int]) -> EvidenceError:
        """An error that names the smallest conflict found by leaving out one item at a time."""
        conflict = dict(given)
        for v in given:
            rest = {u: code for u, code in conflict.items() if u != v}
            weight = marginal(self._relevant(set(rest)), self.schema.cards, (), rest)[1]
            if weight == -np.inf:
                conflict = rest
        shown = ", ".join(
            f"{self.schema.names[v]}={self.schema[v].states[code]!r}"
            for v, code in conflict.items()
        )
        return EvidenceError(
            f"the evidence {shown} has probability zero under the model; change or drop one of it."
        )


def _listed(variables: str | Iterable[str]) -> list[str]:
    return [variables] if isinstance(variables, str) else list(variables)

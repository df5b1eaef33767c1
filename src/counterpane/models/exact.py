"""Exact answers in codes from the potentials of a model; `JointModel` puts them into words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from counterpane.data.schema import MISSING
from counterpane.data.table import Table
from counterpane.errors import EvidenceError
from counterpane.features import Blanket, Potential
from counterpane.inference import (
    JunctionMarginals,
    map_query,
    marginal,
    query_rows,
    sample_exactly,
)
from counterpane.models.base import ClassModel
from counterpane.models.evidence import Evidence, evidence_text, likelihood_potentials
from counterpane.typing import Codes, Floats

TREE_CELLS = 2**15  # up to here a tree answers a question sooner than a plan of its own


class ExactAnswers(ClassModel):
    """Exact answers from potentials over the variables of `schema`.

    A model that is no product of potentials overrides the hooks `_ask`, `_ask_each`, `_ask_rows`,
    `_best` and `_draw`. Hooks give the weight of the evidence as it comes out of the potentials;
    `log_partition` is taken off only where ln P(evidence) is asked for, since it may be out of
    reach where the question is easy.
    """

    log_partition: float = 0.0  # ln of the sum of exp(Σ potentials) over all rows

    @abstractmethod
    def to_potentials(self) -> tuple[Potential, ...]:
        """The potentials whose sum is ln P(x) + `log_partition`."""

    @property
    @abstractmethod
    def graph(self) -> Any:
        """The structure as a networkx graph whose nodes are the column names."""

    @cached_property
    def blanket(self) -> Blanket:
        """The potentials compiled for full conditionals."""
        return Blanket(self.schema.cards, self.to_potentials(), self.schema.names)

    def score_samples(self, X: Any) -> Floats:
        """ln P(row), natural log, shape (n_rows,); minus infinity for an impossible row."""
        return self.blanket.log_potential(self._codes(X)) - self.log_partition

    def full_conditionals(self, X: Any, variables: Iterable[str] | None = None) -> Floats:
        """ln P(variable = state | rest of the row), shape (n_rows, Σ cards of the variables)."""
        columns = None if variables is None else self.schema.indices(name_list(variables))
        return self.blanket.full_conditionals(self._codes(X), columns)

    def pseudo_log_likelihood(self, X: Any, *, total: bool = False) -> Floats:
        """ln P(cell | rest of its row), shape (n_rows, n_variables); with `total` the row sums."""
        return self.blanket.pseudo_log_likelihood(self._codes(X), total=total)

    @cached_property
    def _propagation(self) -> JunctionMarginals:
        return JunctionMarginals(self.to_potentials(), self.schema.cards, self.schema.names)

    def _draw(
        self,
        n: int,
        given: Mapping[int, int],
        likelihoods: Mapping[int, Floats],
        rng: np.random.Generator,
    ) -> Codes | None:
        cards, names = self.schema.cards, self.schema.names
        parts = [*self.to_potentials(), *likelihood_potentials(likelihoods)]
        return sample_exactly(parts, cards, given, n, rng, names=names)

    def _best(
        self, asked: Sequence[int], given: Mapping[int, int], likelihoods: Mapping[int, Floats]
    ) -> tuple[dict[int, int], float]:
        """(the most probable codes of `asked`, their log-weight), exactly."""
        relevant = self._relevant({*asked, *given, *likelihoods})
        parts = [*relevant, *likelihood_potentials(likelihoods)]
        return map_query(parts, self.schema.cards, asked, given, names=self.schema.names)

    def _relevant(self, nodes: set[int]) -> Sequence[Potential]:
        """The potentials that bear on `nodes`; the others would sum to 1."""
        return self.to_potentials()

    def _ask(
        self, asked: Sequence[int], given: Mapping[int, int], likelihoods: Mapping[int, Floats]
    ) -> tuple[Floats, float]:
        """(P(asked | evidence), ln of the weight of the evidence, −∞ where it is impossible).

        A plan is made for the question, which leaves out what does not bear on it. One variable
        is read from the tree instead, if `marginals` has compiled it and it is small.
        """
        cards, names = self.schema.cards, self.schema.names
        if (
            len(asked) == 1
            and "_propagation" in vars(self)
            and self._propagation.tree.cells(cards) <= TREE_CELLS
        ):
            each, log_evidence = self._ask_each(asked, given, likelihoods)
            return each[0], log_evidence
        relevant = self._relevant({*asked, *given, *likelihoods})
        parts = [*relevant, *likelihood_potentials(likelihoods)]
        return marginal(parts, cards, asked, given, names=names)

    def _ask_each(
        self, asked: Sequence[int], given: Mapping[int, int], likelihoods: Mapping[int, Floats]
    ) -> tuple[list[Floats], float]:
        """(P(v | evidence) for each v in `asked`, ln of the weight of the evidence)."""
        return self._propagation.run(asked, given, likelihoods)

    def _ask_rows(
        self, asked: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        """(P(asked | row), shape (n_rows, cells); ln of each row's weight); see `query_rows`."""
        cards, names = self.schema.cards, self.schema.names
        return query_rows(self._relevant, cards, asked, columns, codes, names=names)

    def _log_evidence(
        self, log_weight: float, given: Mapping[int, int], likelihoods: Mapping[int, Floats]
    ) -> float:
        """ln P(evidence), from what `_ask` gave."""
        return log_weight - self.log_partition if given or likelihoods else 0.0

    def _log_evidence_rows(
        self, log_weights: Floats, asked: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        """ln P(evidence of each row), from what `_ask_rows` gave."""
        return log_weights - self.log_partition

    def _impossible(
        self,
        given: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
        row: int | None = None,
        evidence: Evidence = None,
    ) -> EvidenceError:
        """An error that names the smallest conflict found by leaving out one item at a time."""
        hard, soft = dict(given), dict(likelihoods or {})
        for v in [*given, *soft]:
            fewer = {u: code for u, code in hard.items() if u != v}
            softer = {u: weights for u, weights in soft.items() if u != v}
            if self._ask((), fewer, softer)[1] == -np.inf:
                hard, soft = fewer, softer
        names = self.schema.names
        states = {v: self.schema[v].states[code] for v, code in hard.items()}
        shown = [f"{names[v]}={MISSING if s is None else repr(s)}" for v, s in states.items()]
        known = evidence or {}
        shown += [
            evidence_text(names[v], known[names[v]])
            if names[v] in known
            else f"the virtual evidence on {names[v]!r}"
            for v in soft
        ]
        where = "" if row is None else f"row {row}: "
        way = "change or drop one of it" if row is None else "change it, or pass impossible='prior'"
        return EvidenceError(
            f"{where}the evidence {', '.join(shown)} has probability zero under the model; {way}."
        )

    def _codes(self, X: Any) -> Codes:
        same = isinstance(X, Table) and X.schema == self.schema
        table: Table = X if same else Table.from_frame(X, schema=self.schema)
        return table.codes


def name_list(variables: str | Iterable[str]) -> list[str]:
    """The names asked, of which one may stand alone."""
    return [variables] if isinstance(variables, str) else list(variables)

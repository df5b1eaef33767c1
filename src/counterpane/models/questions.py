"""The questions every model answers, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from counterpane.data.schema import Schema
from counterpane.data.table import Table
from counterpane.errors import EvidenceError, ParameterError
from counterpane.inference import Propagation, map_query, marginal, query_rows, sample
from counterpane.models.answer import Answer
from counterpane.models.answers import Answers
from counterpane.models.evidence import (
    Evidence,
    Unseen,
    VirtualEvidence,
    read_evidence,
    read_likelihoods,
    read_rows,
)
from counterpane.potentials import Potential
from counterpane.typing import Codes, Floats, State

TREE_CELLS = 2**15  # up to here a tree answers a question sooner than a plan of its own


class Questions(ABC):
    """Exact answers and samples from potentials over the variables of `schema`.

    A model that is no product of potentials overrides the hooks `_ask`, `_ask_each`, `_ask_rows`
    and `_draw`; what is public stays as it is. Hooks give the weight of the evidence as it comes
    out of the potentials; `log_partition` is taken off only where ln P(evidence) is asked for,
    since it may be out of reach where the question is easy.
    """

    schema: Schema
    log_partition: float = 0.0  # ln of the sum of exp(Σ potentials) over all rows

    @abstractmethod
    def to_potentials(self) -> tuple[Potential, ...]:
        """The potentials whose sum is ln P(x) + `log_partition`."""

    def query(
        self,
        variables: str | Iterable[str],
        evidence: Evidence = None,
        *,
        virtual_evidence: VirtualEvidence = None,
    ) -> Answer:
        """P(variables | evidence), exactly; the answer's axes follow the order asked.

        `virtual_evidence` weighs the states of variables that were not seen themselves: by
        {state: likelihood}, or by a vector in the order of the states.

        >>> from counterpane import BayesianNetwork, Dag
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> round(model.query("x0", {"x1": 1})[1], 4)
        0.6
        >>> round(model.query("x0", virtual_evidence={"x1": [1, 3]})[1], 4)
        0.3143
        """
        given, likelihoods = self._known(evidence, virtual_evidence)
        asked = self._asked(listed(variables), given)
        probabilities, log_weight = self._ask(asked, given, likelihoods)
        if log_weight == -np.inf:
            raise self._impossible(given, likelihoods)
        log_evidence = partial(self._log_evidence, log_weight, given, likelihoods)
        return Answer([self.schema[v] for v in asked], probabilities, log_evidence)

    def marginals(
        self, evidence: Evidence = None, *, virtual_evidence: VirtualEvidence = None
    ) -> dict[str, Answer]:
        """P(variable | evidence) for every variable that is not given, all at once.

        By messages in a junction tree, compiled at the first call and kept. Where it is too large
        `TableSizeError` is raised before anything is allocated.

        >>> from counterpane import BayesianNetwork, Dag
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> {name: round(answer[1], 4) for name, answer in model.marginals().items()}
        {'x0': 0.2, 'x1': 0.2}
        """
        given, likelihoods = self._known(evidence, virtual_evidence)
        rest = [v for v in range(len(self.schema)) if v not in given]
        found, log_weight = self._ask_each(rest, given, likelihoods)
        if log_weight == -np.inf:
            raise self._impossible(given, likelihoods)
        log_evidence = partial(self._log_evidence, log_weight, given, likelihoods)
        return {
            self.schema.names[v]: Answer([self.schema[v]], probabilities, log_evidence)
            for v, probabilities in zip(rest, found, strict=True)
        }

    def log_evidence(
        self, evidence: Evidence, *, virtual_evidence: VirtualEvidence = None
    ) -> float:
        """ln P(evidence), natural log; minus infinity where it is impossible.

        With virtual evidence, of the expected product of its likelihoods as well.
        """
        given, likelihoods = self._known(evidence, virtual_evidence)
        return self._log_evidence(self._ask((), given, likelihoods)[1], given, likelihoods)

    def query_many(
        self,
        variables: str | Iterable[str],
        frame: Any,
        *,
        impossible: Literal["error", "prior"] = "error",
        unseen: Unseen = "error",
    ) -> Answers:
        """P(variables | row) for each row of a frame or `Table`, exactly.

        Evidence is what the frame's columns say of the model's other variables; columns of the
        variables asked are not read, columns that the model does not know are passed over, and a
        missing cell is not observed. A row that is impossible raises `EvidenceError` with its
        number, or, with impossible="prior", is answered as if nothing were observed; its
        `log_evidence` is then minus infinity. A state that the model does not know raises, or is
        taken as missing or as not observed (`unseen`, as in `Table.from_frame`). Equal rows are
        answered once.

        >>> from counterpane import BayesianNetwork, Dag
        >>> schema, dag = Schema.from_cards([2, 2]), Dag(2, [(0, 1)])
        >>> model = BayesianNetwork(schema, dag, [[0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]]])
        >>> model.query_many("x0", {"x1": [1, 0, None]}).probabilities[:, 1].round(4).tolist()
        [0.6, 0.1, 0.2]
        """
        if impossible not in ("error", "prior"):
            raise ParameterError(f"impossible={impossible!r}; 'error' or 'prior' is allowed.")
        asked = self._asked(listed(variables), {})
        columns, codes = read_rows(self.schema, frame, asked, unseen)
        found, log_weights = self._ask_rows(asked, columns, codes)
        bad = np.flatnonzero(log_weights == -np.inf)
        if bad.size and impossible == "error":
            row = zip(columns, codes[:, bad[0]].tolist(), strict=True)
            given = {v: code for v, code in row if code < self.schema.cards[v]}
            raise self._impossible(given, row=int(bad[0]))
        if bad.size:
            found[bad] = self._ask(asked, {}, {})[0].reshape(-1)
        told = [self.schema[v] for v in asked]
        log_evidence = partial(self._log_evidence_rows, log_weights, asked, columns, codes)
        return Answers(told, found.reshape(-1, *(v.card for v in told)), log_evidence)

    def map_query(
        self, variables: str | Iterable[str] | None = None, evidence: Evidence = None
    ) -> dict[str, State]:
        """The most probable joint states of `variables`, by default of all that are not given."""
        given = self._given(evidence)
        rest = [n for i, n in enumerate(self.schema.names) if i not in given]
        asked = self._asked(rest if variables is None else listed(variables), given)
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
        given = self._given(evidence)
        codes = self._draw(check_n_rows(n), given, np.random.default_rng(random_state))
        if codes is None:
            raise self._impossible(given)
        return Table(self.schema, codes)

    @cached_property
    def _propagation(self) -> Propagation:
        return Propagation(self.to_potentials(), self.schema.cards, self.schema.names)

    def _draw(self, n: int, given: Mapping[int, int], rng: np.random.Generator) -> Codes | None:
        cards, names = self.schema.cards, self.schema.names
        return sample(self.to_potentials(), cards, given, n, rng, names=names)

    def _relevant(self, nodes: set[int]) -> Sequence[Potential]:
        """The potentials that bear on `nodes`; the others would sum to 1."""
        return self.to_potentials()

    def _given(self, evidence: Evidence) -> dict[int, int]:
        return read_evidence(self.schema, evidence)

    def _known(
        self, evidence: Evidence, virtual_evidence: VirtualEvidence
    ) -> tuple[dict[int, int], dict[int, Floats]]:
        given = self._given(evidence)
        return given, read_likelihoods(self.schema, virtual_evidence, given)

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
        with np.errstate(divide="ignore"):
            soft = [Potential((v,), np.log(weights)) for v, weights in likelihoods.items()]
        return marginal([*relevant, *soft], cards, asked, given, names=names)

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

    def _impossible(
        self,
        given: Mapping[int, int],
        likelihoods: Mapping[int, Floats] | None = None,
        row: int | None = None,
    ) -> EvidenceError:
        """An error that names the smallest conflict found by leaving out one item at a time."""
        hard, soft = dict(given), dict(likelihoods or {})
        for v in [*given, *soft]:
            fewer = {u: code for u, code in hard.items() if u != v}
            softer = {u: weights for u, weights in soft.items() if u != v}
            if self._ask((), fewer, softer)[1] == -np.inf:
                hard, soft = fewer, softer
        names = self.schema.names
        shown = [f"{names[v]}={self.schema[v].states[code]!r}" for v, code in hard.items()]
        shown += [f"the virtual evidence on {names[v]!r}" for v in soft]
        where = "" if row is None else f"row {row}: "
        way = "change or drop one of it" if row is None else "change it, or pass impossible='prior'"
        return EvidenceError(
            f"{where}the evidence {', '.join(shown)} has probability zero under the model; {way}."
        )


def listed(variables: str | Iterable[str]) -> list[str]:
    """The names asked, of which one may stand alone."""
    return [variables] if isinstance(variables, str) else list(variables)


def check_n_rows(n: int) -> int:
    """`n` as a number of rows to draw."""
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ParameterError(f"n={n!r} rows cannot be drawn; a whole number from 1 is needed.")
    return int(n)

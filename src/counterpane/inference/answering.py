"""Questions in codes and their answers: exact within limits, else an estimate with its error.

An `Engine` answers what is asked about variables by position. `ProductEngine` is that of a product
of potentials; other models have engines of their own. Engines know nothing of names and states of
users, so that anything which can be written as potentials and a question has an answer here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import ClassVar, TypeVar

import numpy as np

from counterpane.errors import ParameterError, TableSizeError
from counterpane.features import Blanket, Potential
from counterpane.inference.calibration import JunctionMarginals, query_rows
from counterpane.inference.certainty import Certainty, warn_if_inexact, warn_inexact, worst_of
from counterpane.inference.estimates import AnswerEstimator, MapMethod, Method, as_method
from counterpane.inference.exact_run import ExactRun, map_query, marginal
from counterpane.inference.fallback import Auto
from counterpane.inference.join_graph import ClusterRun, WeightBounds
from counterpane.inference.limits import current_limits
from counterpane.inference.question import CodedEvidence
from counterpane.typing import Codes, Floats, Ints

T = TypeVar("T")

AUTO = Auto()
TREE_CELLS = 2**15  # up to here a compiled tree answers a question sooner than a plan of its own


class Engine(ABC):
    """Answers to questions in codes, exact within the limits of memory and time or estimated.

    Log-weights are ln of the weight of the evidence as it comes out of the potentials, −∞ where it
    is impossible; `log_evidence` turns them into ln P(evidence), for which the weight of all rows
    may be needed, which can be out of reach where the question is easy.
    """

    estimates: ClassVar[bool] = True  # whether there is a blanket for inexact answers
    log_total: float = 0.0  # ln of the sum of exp(Σ potentials) over all rows
    log_constant: float = 0.0  # that `potentials` have taken off

    def __init__(self, cards: Ints, names: Sequence[str]) -> None:
        self.cards = cards
        self.names = names

    # ---- exact answers, which a kind of model defines

    @abstractmethod
    def ask(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[Floats, float]:
        """(P(queried | evidence), log-weight of the evidence)."""

    @abstractmethod
    def ask_each(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[list[Floats], float]:
        """(P(v | evidence) for each v in `queried`, log-weight of the evidence)."""

    @abstractmethod
    def ask_rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        """(P(queried | row), shape (n_rows, cells); log-weight of each row); see `query_rows`."""

    @abstractmethod
    def ask_best(
        self, queried: Sequence[int], coded: CodedEvidence
    ) -> tuple[dict[int, int], float]:
        """(the most probable codes of `queried`, their log-weight)."""

    @abstractmethod
    def draw(self, n: int, coded: CodedEvidence, rng: np.random.Generator) -> Codes | None:
        """Codes (n_variables, n) of independent rows given the evidence; None if impossible."""

    @property
    @abstractmethod
    def blanket(self) -> Blanket:
        """The full conditionals."""

    @property
    @abstractmethod
    def potentials(self) -> tuple[Potential, ...]:
        """The potentials whose sum is ln P(row) + `log_total`."""

    def has_exact(self, queried: Sequence[int], known: Collection[int]) -> bool:
        """Whether a question has an exact answer, if only its tables are not too large."""
        return True

    @property
    def log_partition(self) -> float:
        """ln of the sum of exp(Σ potentials) over all rows, as the potentials were given."""
        return self.log_total + self.log_constant

    def log_evidence(self, log_weight: float, coded: CodedEvidence) -> float:
        """ln P(evidence), from the log-weight of an exact answer."""
        return log_weight - self.log_total if coded.variables else 0.0

    def log_evidence_rows(
        self, log_weights: Floats, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> Floats:
        """ln P(evidence of each row), from the log-weights of exact answers."""
        return log_weights - self.log_total

    # ---- estimates

    @cached_property
    def estimator(self) -> AnswerEstimator:
        """What estimates answers."""
        return AnswerEstimator(self.cards, self.names, self.blanket, lambda: self.potentials)

    def estimator_of(self, nodes: set[int]) -> AnswerEstimator:
        """What estimates answers about `nodes`."""
        return self.estimator

    # ---- answers by a method

    def answer(
        self, queried: Sequence[int], coded: CodedEvidence, method: Method, *, strict: bool = False
    ) -> tuple[Floats, float | None, Certainty | None]:
        """(P(queried | evidence), log-weight if exact, how sure if estimated)."""
        ask = partial(self.ask, queried, coded)
        exact, how, why = self._try_exact(method, queried, coded.codes, ask)
        if exact is not None:
            return *exact, None
        estimator = self.estimator_of({*queried, *coded.variables})
        probabilities, certainty = estimator.joint(queried, coded, how)
        if strict and len(queried) == 1:
            (certainty,) = estimator.compared(queried, coded, [probabilities], [certainty])
        warn_if_inexact(certainty, why, strict=strict)
        return probabilities, None, certainty

    def answer_each(
        self, queried: Sequence[int], coded: CodedEvidence, method: Method, *, strict: bool = False
    ) -> tuple[list[Floats], float | None, Sequence[Certainty | None]]:
        """(P(v | evidence) of each v in `queried`, log-weight if exact, how sure if estimated)."""
        ask = partial(self.ask_each, queried, coded)
        exact, how, why = self._try_exact(method, queried, coded.codes, ask)
        if exact is not None:
            return *exact, [None] * len(queried)
        each, sure = self.estimator.each(queried, coded, how)
        if strict:
            sure = self.estimator.compared(queried, coded, each, sure)
        if sure:
            warn_if_inexact(worst_of(sure), why, strict=strict)
        return each, None, sure

    def answer_rows(
        self,
        queried: Sequence[int],
        columns: Sequence[int],
        codes: Codes,
        method: Method,
        *,
        strict: bool = False,
    ) -> tuple[Floats, Floats | None, Certainty | None]:
        """(P(queried | row), log-weight of each row if exact, how sure if estimated)."""
        full = (codes < self.cards[list(columns), None]).all(axis=1)
        known = np.array(columns)[full].tolist()
        ask = partial(self.ask_rows, queried, columns, codes)
        exact, how, why = self._try_exact(method, queried, known, ask)
        if exact is not None:
            return *exact, None
        estimator = self.estimator_of({*queried, *columns})
        found, certainty = estimator.rows(queried, columns, codes, how)
        warn_if_inexact(certainty, why, strict=strict)
        return found, None, certainty

    def answer_best(
        self, queried: Sequence[int], coded: CodedEvidence, how: MapMethod, *, strict: bool = False
    ) -> dict[int, int] | None:
        """The most probable codes of `queried`; None if the evidence is impossible.

        All variables that have no evidence are asked, or an exact answer sums out the rest.
        """
        rest = len(self.cards) - len(coded.codes)
        partly = len(queried) < rest
        if isinstance(how, str):
            try:
                best, log_weight = self.ask_best(queried, coded)
                return None if log_weight == -np.inf else best
            except TableSizeError as error:
                if how == "exact" or strict or not self.estimates:
                    raise
                codes = self.estimator.best(coded, how, queried if partly else None)
                doubt = self.estimator.doubt_of(codes, coded, partly=partly)
                warn_inexact(f"not exact: {error.reason}; {doubt}.")
        elif partly:
            raise ParameterError(
                f"{len(queried)} of {rest} variables are asked; what is neither asked nor given is "
                "summed out by method='exact' or 'auto' alone: ask for all."
            )
        else:
            codes = self.estimator.best(coded, how)
        return {v: int(codes[v]) for v in queried}

    def answer_draws(
        self, n: int, coded: CodedEvidence, fixed: CodedEvidence, method: Method,
        rng: np.random.Generator,
    ) -> Codes | None:  # fmt: skip
        """Codes (n_variables, n) of rows given the evidence; None if it is impossible.

        `fixed` is the same evidence with what an intervention sets, which chains do not draw.
        """

        def draw() -> tuple[Codes | None]:
            return (self.draw(n, coded, rng),)

        every = range(len(self.cards))
        exact, how, why = self._try_exact(method, every, coded.codes, draw)
        if exact is not None:
            return exact[0]
        if why is not None:
            warn_inexact(f"{why.reason}; rows along Gibbs chains are drawn instead.")
        return self.estimator.draw(n, fixed, how, rng)

    def bounds(self, coded: CodedEvidence) -> WeightBounds:
        """Bounds on the log-weight of the evidence, equal if an exact answer is affordable."""
        if current_limits().seconds > 0:
            with suppress(TableSizeError):
                weight = self.ask((), coded)[1] + self.log_constant
                return WeightBounds((weight, weight))
        parts = [*self.potentials, *coded.weight_potentials()]
        lower, upper = ClusterRun(parts, self.cards, coded.codes).bounds()
        return WeightBounds((lower + self.log_constant, upper + self.log_constant))

    def conflict(self, coded: CodedEvidence) -> CodedEvidence:
        """A small impossible part of impossible evidence, found by leaving out one at a time."""
        for v in [*coded.codes, *coded.weights]:
            rest = coded.without(v)
            if self.ask((), rest)[1] == -np.inf:
                coded = rest
        return coded

    def _try_exact(
        self, method: Method, queried: Sequence[int], known: Collection[int], ask: Callable[[], T]
    ) -> tuple[T | None, Method, TableSizeError | None]:
        """(what `ask` gives, or None; then the settings of an estimate; why it is not exact)."""
        how = method if method in ("auto", "exact") else as_method(method)
        if not isinstance(how, str | Auto):
            if not self.estimates:
                raise ParameterError(
                    "a Mixture answers exactly only; pass method='exact', or ask one of its models."
                )
            return None, how, None
        forced, auto = how == "exact", how if isinstance(how, Auto) else AUTO
        if not forced and self.estimates and current_limits().seconds == 0:
            return None, auto, None
        if not forced and not self.has_exact(queried, known):
            return None, auto, None
        try:
            return ask(), auto, None
        except TableSizeError as error:
            if forced or not self.estimates:
                raise
            return None, auto, error


class ProductEngine(Engine):
    """Answers of a product of potentials.

    With `parents`, potential i is P(i | parents[i]), and what is no ancestor of a question is left
    out of it: it sums to 1.

    >>> pair = Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))
    >>> engine = ProductEngine(np.array([2, 2]), ["a", "b"], [pair])
    >>> engine.answer([0], CodedEvidence({1: 1}, {}), "auto")[0].round(4).tolist()
    [0.3333, 0.6667]
    """

    def __init__(
        self,
        cards: Ints,
        names: Sequence[str],
        potentials: Sequence[Potential] = (),
        *,
        parents: Sequence[Sequence[int]] | None = None,
    ) -> None:
        super().__init__(cards, names)
        self._given = tuple(potentials)
        self.parents = parents

    @property
    def potentials(self) -> tuple[Potential, ...]:
        return self._given

    @cached_property
    def blanket(self) -> Blanket:
        return Blanket(self.cards, self.potentials, self.names)

    @cached_property
    def tree(self) -> JunctionMarginals:
        """The clique tree of all potentials, compiled at the first call for all marginals."""
        return JunctionMarginals(self.potentials, self.cards, self.names)

    def relevant(self, nodes: set[int]) -> Sequence[Potential]:
        """The potentials that bear on `nodes`; the others would sum to 1."""
        if self.parents is None:
            return self.potentials
        found, waiting = set(nodes), list(nodes)
        while waiting:
            above = [p for p in self.parents[waiting.pop()] if p not in found]
            found.update(above)
            waiting += above
        return [self._given[v] for v in sorted(found)]

    def _parts(self, queried: Sequence[int], coded: CodedEvidence) -> Sequence[Potential]:
        """The potentials that a question is about."""
        relevant = self.relevant({*queried, *coded.codes, *coded.weights})
        return [*relevant, *coded.weight_potentials()] if coded.weights else relevant

    def ask(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[Floats, float]:
        """(P(queried | evidence), log-weight of the evidence).

        A plan is made for the question, which leaves out what does not bear on it. One variable is
        read from the tree instead, if that is compiled and small.
        """
        if len(queried) == 1 and "tree" in vars(self) and self.tree.cells() <= TREE_CELLS:
            each, log_weight = self.ask_each(queried, coded)
            return each[0], log_weight
        parts = self._parts(queried, coded)
        return marginal(parts, self.cards, queried, coded.codes, names=self.names)

    def ask_each(self, queried: Sequence[int], coded: CodedEvidence) -> tuple[list[Floats], float]:
        return self.tree.run(queried, *coded)

    def ask_rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Codes
    ) -> tuple[Floats, Floats]:
        return query_rows(self.relevant, self.cards, queried, columns, codes, names=self.names)

    def ask_best(
        self, queried: Sequence[int], coded: CodedEvidence
    ) -> tuple[dict[int, int], float]:
        parts = self._parts(queried, coded)
        return map_query(parts, self.cards, queried, coded.codes, names=self.names)

    def draw(self, n: int, coded: CodedEvidence, rng: np.random.Generator) -> Codes | None:
        parts, every = [*self.potentials, *coded.weight_potentials()], range(self.cards.size)
        run = ExactRun(parts, self.cards, coded.codes, every=every, names=self.names)
        return run.draws(n, rng)

    def estimator_of(self, nodes: set[int]) -> AnswerEstimator:
        if self.parents is None:
            return self.estimator
        relevant = self.relevant(nodes)
        if len(relevant) == len(self.potentials):
            return self.estimator
        # Chains mix better without the families of barren nodes, which then are uniform.
        blanket = Blanket(self.cards, relevant, self.names)
        return AnswerEstimator(self.cards, self.names, blanket, lambda: relevant)

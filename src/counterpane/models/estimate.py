"""Estimated answers: Gibbs sampling, mean field, belief propagation, and how certain they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from counterpane.data.schema import Schema
from counterpane.errors import (
    CounterpaneError,
    EvidenceError,
    ParameterError,
    TableSizeError,
    UntrustedError,
    unknown_name,
)
from counterpane.features import Blanket, Potential
from counterpane.inference.belief_propagation import BeliefPropagation, propagate
from counterpane.inference.gibbs import Estimate, Gibbs, Sampler
from counterpane.inference.map import ICM, MaxProduct, climb_to_mode, max_product
from counterpane.inference.mean_field import Approximation, MeanField, mean_field
from counterpane.models.evidence import CodedEvidence, evidence_codes
from counterpane.typing import Array, Codes, Floats, Ints

AGREED = 1.1  # R-hat up to which chains are taken to agree
TRUSTED = 0.02  # the largest difference between sampling and propagation that is trusted
Method: TypeAlias = str | Gibbs | MeanField | BeliefPropagation
"""How a question is answered: "auto", "exact", "gibbs", "mean_field", "bp", or their settings."""

MapMethod: TypeAlias = str | ICM | MaxProduct
"""How the best row is found: "auto", "exact", "icm", "max_product", or their settings."""

METHODS: dict[str, Callable[[], Gibbs | MeanField | BeliefPropagation]] = {
    "gibbs": Gibbs,
    "mean_field": MeanField,
    "bp": BeliefPropagation,
}
MAP_METHODS: dict[str, Callable[[], ICM | MaxProduct]] = {"icm": ICM, "max_product": MaxProduct}


class InexactAnswer(UserWarning):
    """Warns that an answer is an estimate instead of exact, or has not converged.

    >>> import warnings
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", cp.InexactAnswer)
    ...     answer = model.query("survived", {"status": "first"}, method=cp.MeanField(max_iter=1))
    >>> told[0].category.__name__, answer.certainty.converged
    ('InexactAnswer', False)
    """


class Certainty(NamedTuple):
    """`method`, and what it tells of its answer.

    Gibbs sampling tells `standard_errors`, in the shape of the probabilities, and of one question
    the largest `rhat` and the least `effective_size` of all states; the others whether they have
    `converged`. An estimate that replaces an exact answer is `trusted` if the chains agree and
    belief propagation differs by at most .02; `difference` is the largest one.
    """

    method: str
    converged: bool = True
    standard_errors: Floats | None = None
    rhat: float | None = None
    effective_size: float | None = None
    trusted: bool | None = None
    difference: float | None = None

    @classmethod
    def of_chains(cls, estimate: Estimate) -> Certainty:
        """Of an answer by Gibbs sampling."""
        worst, size = float(estimate.rhat.max()), float(estimate.effective_size.min())
        return cls("gibbs", not worst > AGREED, estimate.standard_errors, worst, size)

    def __str__(self) -> str:
        if self.standard_errors is None:
            return f"{self.method}, {'converged' if self.converged else 'not converged'}"
        errors = self.standard_errors
        text = f"{self.method}, standard errors "
        text += "unknown" if np.isnan(errors).all() else f"up to {np.nanmax(errors):.2g}"
        return text if self.rhat is None else f"{text}, R-hat up to {self.rhat:.3g}"


def warn_if_inexact(
    certainty: Certainty, reason: CounterpaneError | None = None, *, strict: bool = False
) -> None:
    """Warn of an estimate where, for a reason, no exact answer was found, and of a bad one.

    With `strict`, an estimate that is not trusted raises.
    """
    if strict and not certainty.trusted:
        cause = "the estimate" if reason is None else f"{reason.reason}; the estimate instead"
        raise UntrustedError(
            f"{cause} is not trusted ({certainty}): give more evidence, allow an exact answer by "
            "exact=… and max_memory=…, or accept it by strict=False."
        )
    if reason is not None:
        doubt = "" if certainty.trusted is not False else "not trusted (see certainty): "
        warn_inexact(f"{doubt}{reason.reason}; this is an estimate instead ({certainty}).", 4)
    elif not certainty.converged:
        way = "more sweeps" if certainty.method == "gibbs" else "a larger max_iter, or damping"
        warn_inexact(f"the answer is not settled ({certainty}); use {way}, or another method.", 4)


def warn_inexact(sentence: str, depth: int = 3) -> None:
    """Warn whoever called the method that calls this."""
    # The guard around each public method of `Model` is one more frame.
    warnings.warn(sentence, InexactAnswer, stacklevel=depth + 1)


def as_method(method: Method) -> Method:
    """The settings that a name stands for; "auto" and "exact" have none."""
    settings: Method = _by_name(method, METHODS)
    known = isinstance(settings, str | Gibbs | MeanField | BeliefPropagation)
    if not known or isinstance(settings, MaxProduct):
        raise ParameterError(f"method={method!r} answers no question; pass Gibbs(…), or a name.")
    return settings


def as_map_method(method: MapMethod) -> MapMethod:
    """The same for methods that find the most probable row."""
    settings: MapMethod = _by_name(method, MAP_METHODS)
    if not isinstance(settings, str | ICM | MaxProduct):
        raise ParameterError(f"method={method!r} finds no best row; pass ICM(…), or a name.")
    return settings


def _by_name(method: Any, methods: Mapping[str, Callable[[], Any]]) -> Any:
    if not isinstance(method, str) or method in ("auto", "exact"):
        return method
    if method not in methods:
        raise unknown_name("method", method, ["auto", "exact", *methods])
    return methods[method]()


class Approximator:
    """Inexact answers for the conditionals of `blanket`; `potentials` gives them as a product."""

    def __init__(
        self, schema: Schema, blanket: Blanket, potentials: Callable[[], Sequence[Potential]]
    ) -> None:
        self.schema = schema
        self.blanket = blanket
        self._potentials = potentials

    @cached_property
    def sampler(self) -> Sampler:
        """The blanket compiled for chains."""
        return Sampler(self.blanket, self.schema.names)

    def joint(
        self,
        queried: Sequence[int],
        coded: CodedEvidence,
        how: Method,
    ) -> tuple[Floats, Certainty]:
        """(P(queried | evidence), how sure)."""
        if isinstance(how, Gibbs):
            start = evidence_codes(self.schema, how.start)
            estimate = self.sampler.joint(queried, *coded, settings=how, start=start)
            return estimate.probabilities, Certainty.of_chains(estimate)
        if len(queried) > 1:
            raise ParameterError(
                f"{type(how).__name__} tells of one variable at a time; ask for each alone, or use "
                "method='gibbs'."
            )
        each, certainty = self.each(queried, coded, how)
        return each[0], certainty[0]

    def each(
        self,
        queried: Sequence[int],
        coded: CodedEvidence,
        how: Method,
    ) -> tuple[list[Floats], list[Certainty]]:
        """P(v | evidence) and how sure, for each v in `queried`."""
        if isinstance(how, Gibbs):
            start = evidence_codes(self.schema, how.start)
            chains = self.sampler.marginals(*coded, settings=how, start=start)
            estimates = [chains[v] for v in queried]
            return [e.probabilities for e in estimates], [Certainty.of_chains(e) for e in estimates]
        approximation = self._iterate(coded, how)
        name = "mean_field" if isinstance(how, MeanField) else "bp"
        certainty = Certainty(name, approximation.converged)
        return [approximation.marginals[v] for v in queried], [certainty] * len(queried)

    def compared(
        self,
        queried: Sequence[int],
        coded: CodedEvidence,
        each: Sequence[Floats],
        sure: Sequence[Certainty],
    ) -> list[Certainty]:
        """The certainties of estimates by sampling, with what belief propagation says of them."""
        try:
            others, _ = self.each(queried, coded, BeliefPropagation())
        except CounterpaneError:  # messages that leave no state, tables that do not fit
            return [c._replace(trusted=False) for c in sure]
        gaps = [float(np.abs(a - b).max()) for a, b in zip(each, others, strict=True)]
        return [
            c._replace(trusted=c.converged and gap <= TRUSTED, difference=gap)
            for c, gap in zip(sure, gaps, strict=True)
        ]

    def _iterate(self, coded: CodedEvidence, how: Method) -> Approximation:
        if isinstance(how, MeanField):
            names = self.schema.names
            return mean_field(self.blanket, *coded, settings=how, names=names)
        assert isinstance(how, BeliefPropagation)
        parts = [*self._potentials(), *coded.weight_potentials()]
        return propagate(parts, self.schema.cards, coded.codes, settings=how)

    def rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Array, how: Method
    ) -> tuple[Floats, Certainty]:
        """(P(queried | row), shape (n_rows, cells); how sure)."""
        cards = self.schema.cards
        if isinstance(how, Gibbs) and len(queried) == 1 and how.start is None:
            first = int(cards[: queried[0]].sum())
            states = slice(first, first + int(cards[queried[0]]))
            shares, errors = self.sampler.rows(columns, codes, settings=how)
            return shares[:, states], Certainty("gibbs", standard_errors=errors[:, states])
        distinct, inverse = np.unique(codes, axis=1, return_inverse=True)
        answers: list[Floats] = []
        certainties: list[Certainty] = []
        for row in distinct.T.tolist():
            cells = zip(columns, row, strict=True)
            coded = CodedEvidence({v: code for v, code in cells if code < cards[v]}, {})
            p, certainty = self.joint(queried, coded, how)
            answers.append(p.reshape(-1))
            certainties.append(certainty)
        back = inverse.reshape(-1)
        worst = min(certainties, key=lambda c: c.converged)
        spreads = [
            c.standard_errors.reshape(-1) for c in certainties if c.standard_errors is not None
        ]
        spread = np.array(spreads)[back] if spreads else None
        return np.array(answers)[back], worst._replace(standard_errors=spread)

    def draw(
        self,
        n: int,
        coded: CodedEvidence,
        how: Method,
        rng: np.random.Generator,
    ) -> Codes:
        """Codes (n_variables, n) of rows along Gibbs chains."""
        if not isinstance(how, Gibbs):
            raise ParameterError(f"{type(how).__name__} draws no rows; use method='gibbs'.")
        start = evidence_codes(self.schema, how.start)
        settings = replace(how, random_state=rng)
        return self.sampler.draw(n, *coded, settings=settings, start=start)

    def best(self, coded: CodedEvidence, how: MapMethod) -> Ints:
        """The codes of the most probable row found that agrees with the evidence.

        With "auto" the better of max-product (if its tables fit) and climbs.
        """
        candidates: list[tuple[Ints, float]] = []
        blanket = self.blanket.weighed(coded.weights) if coded.weights else self.blanket
        if how == "auto" or isinstance(how, MaxProduct):
            settings = MaxProduct() if isinstance(how, str) else how
            try:
                parts = [*self._potentials(), *coded.weight_potentials()]
                start = max_product(parts, self.schema.cards, coded.codes, settings)
                candidates.append(climb_to_mode(blanket, coded.codes, ICM(), start=start))
            except TableSizeError:
                if how != "auto":
                    raise
        if how == "auto" or isinstance(how, ICM):
            candidates.append(
                climb_to_mode(blanket, coded.codes, how if isinstance(how, ICM) else ICM())
            )
        codes, score = max(candidates, key=lambda pair: pair[1])
        if score == -np.inf:
            raise EvidenceError(
                "no row of positive probability that agrees with the evidence was found; use more "
                "restarts, ICM(restarts=…), or less evidence."
            )
        return codes

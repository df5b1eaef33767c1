"""Estimated answers: Gibbs sampling, mean field, belief propagation, and how certain they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from counterpane.errors import (
    CounterpaneError,
    EvidenceError,
    ParameterError,
    Setting,
    TableSizeError,
    unknown_name,
)
from counterpane.features import Blanket, Potential
from counterpane.inference.certainty import TRUSTED, Certainty, worst_of
from counterpane.inference.fallback import (
    Auto,
    chosen_joint,
    chosen_marginals,
    likely_rows,
    possible_rows,
)
from counterpane.inference.gibbs import Gibbs, Sampler
from counterpane.inference.join_graph import BeliefPropagation, ClusterRun, JoinGraph
from counterpane.inference.map import ICM, MaxProduct, climb_to_mode
from counterpane.inference.mean_field import Approximation, MeanField, mean_field
from counterpane.inference.question import CodedEvidence
from counterpane.typing import Array, Codes, Floats, Ints

Method: TypeAlias = str | Auto | Gibbs | MeanField | BeliefPropagation | JoinGraph
"""How a question is answered: "auto", "exact", "gibbs", "mean_field", "bp", "join_graph", or their
settings."""

MapMethod: TypeAlias = str | ICM | MaxProduct
"""How the best row is found: "auto", "exact", "icm", "max_product", or their settings."""

METHODS: dict[str, Callable[[], Method]] = {
    "gibbs": Gibbs,
    "mean_field": MeanField,
    "bp": BeliefPropagation,
    "join_graph": JoinGraph,
}
MOST_CHOSEN = 200  # distinct rows that are answered by both kinds of estimates each
LEAST_SECONDS = 0.05  # for one of them
CHECKED = 20  # of more rows, those that propagation is asked about too
MAP_METHODS: dict[str, Callable[[], ICM | MaxProduct]] = {"icm": ICM, "max_product": MaxProduct}


def as_method(method: Method) -> Method:
    """The settings that a name stands for; "auto" and "exact" have none."""
    settings: Method = _by_name(method, METHODS)
    known = isinstance(settings, str | Auto | Gibbs | MeanField | BeliefPropagation | JoinGraph)
    if not known or isinstance(settings, MaxProduct):
        raise ParameterError(
            Setting("method", method), " answers no question; pass Gibbs(…), or a name."
        )
    return settings


def as_map_method(method: MapMethod) -> MapMethod:
    """The same for methods that find the most probable row."""
    settings: MapMethod = _by_name(method, MAP_METHODS)
    if not isinstance(settings, str | ICM | MaxProduct):
        raise ParameterError(
            Setting("method", method), " finds no best row; pass ICM(…), or a name."
        )
    return settings


def _by_name(method: Any, methods: Mapping[str, Callable[[], Any]]) -> Any:
    if not isinstance(method, str) or method in ("auto", "exact"):
        return method
    if method not in methods:
        raise unknown_name("method", method, ["auto", "exact", *methods])
    return methods[method]()


T = TypeVar("T")


class AnswerEstimator:
    """Inexact answers for the conditionals of `blanket`; `potentials` gives them as a product."""

    def __init__(
        self,
        cards: Ints,
        names: Sequence[str],
        blanket: Blanket,
        potentials: Callable[[], Sequence[Potential]],
    ) -> None:
        self.cards = cards
        self.names = names
        self.blanket = blanket
        self._potentials = potentials

    @cached_property
    def sampler(self) -> Sampler:
        """The blanket compiled for chains."""
        return Sampler(self.blanket, self.names)

    def joint(
        self,
        queried: Sequence[int],
        coded: CodedEvidence,
        how: Method,
    ) -> tuple[Floats, Certainty]:
        """(P(queried | evidence), how sure)."""
        if isinstance(how, Auto) and len(queried) > 1:
            parts = self._product()
            if parts is not None:
                sampler, cards = self.sampler, self.cards
                return chosen_joint(parts, sampler, cards, queried, coded, how)
            how = Gibbs(random_state=how.random_state)
        if isinstance(how, Gibbs):
            estimate = self._from_start(
                coded, how,
                lambda start: self.sampler.joint(queried, *coded, settings=how, start=start),
            )  # fmt: skip
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
        if isinstance(how, Auto):
            parts = self._product()
            if parts is not None:
                sampler, cards = self.sampler, self.cards
                return chosen_marginals(parts, sampler, cards, queried, coded, how)
            each, sure = self.each(queried, coded, Gibbs(random_state=how.random_state))
            if self.blanket.joint:  # chains are all that can be had
                sure = [c._replace(trusted=False) for c in sure]
            return each, sure
        if isinstance(how, Gibbs):
            chains = self._from_start(
                coded, how,
                lambda start: self.sampler.marginals(*coded, settings=how, start=start),
            )  # fmt: skip
            estimates = [chains[v] for v in queried]
            return [e.probabilities for e in estimates], [Certainty.of_chains(e) for e in estimates]
        approximation = self._iterate(coded, how)
        names = {MeanField: "mean_field", JoinGraph: "join_graph"}
        name = names.get(type(how), "bp")
        certainty = Certainty(name, approximation.converged)
        return [approximation.marginals[v] for v in queried], [certainty] * len(queried)

    def compared(
        self,
        queried: Sequence[int],
        coded: CodedEvidence,
        each: Sequence[Floats],
        sure: Sequence[Certainty],
    ) -> list[Certainty]:
        """The certainties of estimates, with what a method of the other kind says of them."""
        if not sure or sure[0].trusted is not None:
            return list(sure)
        other = JoinGraph() if sure[0].method == "gibbs" else Gibbs()
        try:
            others, _ = self.each(queried, coded, other)
        except CounterpaneError:  # tables that do not fit
            return [c._replace(trusted=False) for c in sure]
        gaps = [float(np.abs(a - b).max()) for a, b in zip(each, others, strict=True)]
        return [
            c._replace(trusted=c.converged and gap <= TRUSTED, difference=gap)
            for c, gap in zip(sure, gaps, strict=True)
        ]

    def _product(self) -> Sequence[Potential] | None:
        """The potentials, or None where there are none, or tables that do not fit."""
        if not self.blanket.joint:
            return None
        try:
            return self._potentials()
        except CounterpaneError:
            return None

    def _from_start(
        self,
        coded: CodedEvidence,
        how: Gibbs,
        run: Callable[[Mapping[int, Any]], T],
    ) -> T:
        """What chains give; from rows found by search if they find no possible start themselves."""
        try:
            return run(how.start or {})
        except EvidenceError:
            parts = self._product()
            if parts is None or how.start is not None:
                raise
            return run(possible_rows(parts, self.cards, coded, how.n_chains))

    def _iterate(self, coded: CodedEvidence, how: Method) -> Approximation:
        if isinstance(how, MeanField):
            names = self.names
            return mean_field(self.blanket, *coded, settings=how, names=names)
        parts, cards = [*self._potentials(), *coded.weight_potentials()], self.cards
        assert isinstance(how, JoinGraph | BeliefPropagation)
        return ClusterRun(parts, cards, coded.codes).propagate(how)

    def rows(
        self, queried: Sequence[int], columns: Sequence[int], codes: Array, how: Method
    ) -> tuple[Floats, Certainty]:
        """(P(queried | row), shape (n_rows, cells); how sure)."""
        cards = self.cards
        distinct, inverse = np.unique(codes, axis=1, return_inverse=True)
        n = distinct.shape[1]
        sampled = Gibbs(random_state=how.random_state) if isinstance(how, Auto) else how
        alone = not isinstance(how, Auto) or not self.blanket.joint
        if isinstance(sampled, Gibbs) and len(queried) == 1 and sampled.start is None:
            with suppress(*([] if alone else [EvidenceError])):  # chains that find no start
                if alone or n > MOST_CHOSEN:
                    certainty, p = self._sampled_rows(queried[0], columns, codes, sampled)
                    if not alone:
                        certainty = self._checked(queried[0], columns, codes, p, certainty)
                    return p, certainty
        if isinstance(how, Auto):
            how = replace(how, seconds=max(how.seconds / max(n, 1), LEAST_SECONDS))
        answers: list[Floats] = []
        certainties: list[Certainty] = []
        for row in distinct.T.tolist():
            cells = zip(columns, row, strict=True)
            coded = CodedEvidence({v: code for v, code in cells if code < cards[v]}, {})
            p, certainty = self.joint(queried, coded, how)
            answers.append(p.reshape(-1))
            certainties.append(certainty)
        back = inverse.reshape(-1)
        worst = worst_of(certainties)
        spreads = [
            c.standard_errors.reshape(-1) for c in certainties if c.standard_errors is not None
        ]
        spread = np.array(spreads)[back] if len(spreads) == n else None
        return np.array(answers)[back], worst._replace(standard_errors=spread)

    def _sampled_rows(
        self, v: int, columns: Sequence[int], codes: Array, how: Gibbs
    ) -> tuple[Certainty, Floats]:
        """(how sure, P(v | row) of all rows), by chains."""
        cards = self.cards
        first = int(cards[:v].sum())
        states = slice(first, first + int(cards[v]))
        shares, errors = self.sampler.rows(columns, codes, settings=how)
        return Certainty("gibbs", standard_errors=errors[:, states]), shares[:, states]

    def _checked(
        self, v: int, columns: Sequence[int], codes: Array, p: Floats, certainty: Certainty
    ) -> Certainty:
        """The certainty with the largest difference to propagation on a few of the rows."""
        chosen = np.linspace(0, codes.shape[1] - 1, CHECKED).astype(int)
        gap = 0.0
        for r in chosen.tolist():
            cells = zip(columns, codes[:, r].tolist(), strict=True)
            known = {u: code for u, code in cells if code < self.cards[u]}
            (other,), _ = self.each([v], CodedEvidence(known, {}), JoinGraph(LEAST_SECONDS))
            gap = max(gap, float(np.abs(other - p[r]).max()))
        settled = certainty.standard_errors is not None and bool(
            np.nanmax(certainty.standard_errors, initial=0.0) <= TRUSTED
        )
        return certainty._replace(trusted=settled and gap <= TRUSTED, difference=gap)

    def draw(
        self,
        n: int,
        coded: CodedEvidence,
        how: Method,
        rng: np.random.Generator,
    ) -> Codes:
        """Codes (n_variables, n) of rows along Gibbs chains."""
        if isinstance(how, Auto):
            how = Gibbs()
        if not isinstance(how, Gibbs):
            raise ParameterError(f"{type(how).__name__} draws no rows; use method='gibbs'.")
        chains = min(how.n_chains, n)
        settings = replace(how, random_state=rng, n_chains=chains)
        return self._from_start(
            coded, settings,
            lambda start: self.sampler.draw(n, *coded, settings=settings, start=start),
        )  # fmt: skip

    def best(
        self, coded: CodedEvidence, how: MapMethod, queried: Sequence[int] | None = None
    ) -> Ints:
        """The codes of the most probable row found that agrees with the evidence.

        With "auto" the better of max-product (if its tables fit) and climbs. If only some variables
        are `queried`, a row in which they have the states of highest marginal probability that are
        possible together.
        """
        if queried is not None:
            run = ClusterRun(
                [*self._potentials(), *coded.weight_potentials()], self.cards, coded.codes
            )
            return run.solution(run.propagate(JoinGraph()).flat(self.cards))
        candidates: list[tuple[Ints, float]] = []
        blanket = self.blanket.weighed(coded.weights) if coded.weights else self.blanket
        if how == "auto" or isinstance(how, MaxProduct):
            settings = MaxProduct() if isinstance(how, str) else how
            try:
                parts = [*self._potentials(), *coded.weight_potentials()]
                row = ClusterRun(parts, self.cards, coded.codes).best_row(settings)
                start = dict(enumerate(row.tolist()))
                candidates.append(climb_to_mode(blanket, coded.codes, ICM(), start=start))
            except (TableSizeError, EvidenceError):
                if how != "auto":
                    raise
        if how == "auto" or isinstance(how, ICM):
            candidates.append(
                climb_to_mode(blanket, coded.codes, how if isinstance(how, ICM) else ICM())
            )
        product = self._product() if how == "auto" else None
        if product is not None:
            candidates += [
                climb_to_mode(blanket, coded.codes, ICM(), start=start)
                for start in likely_rows(product, self.cards, coded)
            ]
        codes, score = max(candidates, key=lambda pair: pair[1])
        if score == -np.inf:
            raise EvidenceError(
                "no row of positive probability that agrees with the evidence was found; use more "
                "restarts, ICM(restarts=…), or less evidence."
            )
        return codes

    def doubt_of(self, codes: Ints, coded: CodedEvidence, *, partly: bool) -> str:
        """What is known of the distance of a row to the best one."""
        if partly:
            return "these states are probable one by one; others may be more probable together"
        parts = self._product()
        if parts is None:
            return "the best row found may not be the best one"
        run = ClusterRun([*parts, *coded.weight_potentials()], self.cards, coded.codes)
        upper = run.upper(maximize=True)
        blanket = self.blanket.weighed(coded.weights) if coded.weights else self.blanket
        weight = float(blanket.log_potential(codes[:, None].astype(np.uint16))[0])
        return (
            f"the log-weight of the best row found is {weight:.6g}, and that of no row is above "
            f"{max(upper, weight):.6g}"
        )

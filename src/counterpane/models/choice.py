"""Which way a question is answered: exactly where limits allow, else by an estimate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, cast

from counterpane.checks import MAPPING, accepts
from counterpane.errors import Advice, EvidenceError, ParameterError, TableSizeError, shown_type
from counterpane.inference.limits import current_limits
from counterpane.models.estimate import Approximator, Method, as_method
from counterpane.models.evidence import (
    CodedEvidence,
    Evidence,
    Intervention,
    VirtualEvidence,
    evidence_mapping,
    intervention_codes,
)
from counterpane.models.exact import ExactAnswers
from counterpane.models.fallback import Auto
from counterpane.typing import State

T = TypeVar("T")


class ChosenAnswers(ExactAnswers):
    """Answers that are exact within the limits of memory and time, else estimated."""

    _estimates: ClassVar[bool] = True  # whether there is a blanket for inexact answers

    @cached_property
    def _approximator(self) -> Approximator:
        return Approximator(self.schema, self.blanket, self.to_potentials)

    def _estimator(self, nodes: set[int]) -> Approximator:
        """What estimates answers about `nodes`."""
        return self._approximator

    def _has_exact(self, queried: Sequence[int], known: Collection[int]) -> bool:
        """Whether a question has an exact answer, if only its tables are not too large."""
        return True

    def _exactly(
        self, method: Method, queried: Sequence[int], known: Collection[int], ask: Callable[[], T]
    ) -> tuple[T | None, Any, TableSizeError | None]:
        """(what `ask` gives, or None; then the settings of an estimate; why it is not exact)."""
        how = as_method(method)
        auto = how if isinstance(how, Auto) else Auto()
        if isinstance(how, Auto):
            how = "auto"
        if how == "auto" and self._estimates and current_limits().seconds == 0:
            return None, auto, None
        if not isinstance(how, str):
            if not self._estimates:
                raise ParameterError(
                    f"{shown_type(self)} answers exactly only; pass method='exact', or ask "
                    "one of its models."
                )
            return None, how, None
        if how == "exact" or self._has_exact(queried, known):
            try:
                return ask(), how, None
            except TableSizeError as error:
                if how == "exact" or not self._estimates:
                    raise
                return None, auto, error
        return None, auto, None

    @accepts(states=MAPPING)
    def do(self, states: Mapping[str, Any]) -> ChosenAnswers:
        """The model after an intervention; only Bayesian networks, and mixtures of them, have one.

        `states` is {column: state}. Edges into these columns are cut, and they have their state
        with certainty; all else stays as it is. The questions of a model take it as `do=…`.
        """
        raise no_directions(self)

    def _after(
        self,
        do: Intervention,
        evidence: Evidence,
        asked: Sequence[str] = (),
        virtual_evidence: VirtualEvidence = None,
    ) -> tuple[Self, Any]:
        """(the model after an intervention, the evidence with what is set); as they are without."""
        if not do:
            return self, evidence
        intervention_codes(self.schema, do, evidence)  # refuses evidence on what is set
        for name in do:
            if name in asked or name in (virtual_evidence or {}):
                what = "asked about" if name in asked else "given by virtual evidence"
                raise EvidenceError(
                    f"{name!r} is both set by do and {what}; drop it from one of the two."
                )
        return cast("Self", self.do(do)), {**evidence_mapping(evidence), **do}

    def _positions(self, names: Sequence[str], coded: CodedEvidence) -> tuple[int, ...]:
        """The positions of the queried variables, which have no evidence and come once."""
        queried = self.schema.indices(names)
        both = [self.schema.names[v] for v in queried if v in coded.codes]
        if both:
            raise EvidenceError(
                f"{both[0]!r} is both asked and given; drop it from the question or the evidence."
            )
        if len(set(queried)) != len(queried) or not queried:
            raise ParameterError(f"the question {list(names)} must name each variable once.")
        return queried

    def _states(self, codes: Mapping[int, int]) -> dict[str, State]:
        return {self.schema.names[v]: self.schema[v].states[code] for v, code in codes.items()}


def no_directions(model: Any) -> ParameterError:
    """The error of a question about causes to a model that has none."""
    return ParameterError(
        f"the edges of the {type(model).__name__} have no directions, so it cannot tell "
        "what an intervention changes; learn a Bayesian network",
        Advice(", for instance by cp.StructureSearch().", ", which `learn` does without --target."),
    )

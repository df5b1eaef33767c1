"""Which way a question is answered: exactly where limits allow, else by an estimate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from counterpane.errors import EvidenceError, ParameterError, TableSizeError
from counterpane.inference.limits import current_limits
from counterpane.models.estimate import Approximator, Method, as_method
from counterpane.models.evidence import CodedEvidence
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
                    f"a {type(self).__name__} answers exactly only; pass method='exact', or ask "
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

"""The base of searches that learn the conditional of each variable separately."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from counterpane.features.parts import Part
from counterpane.learners.driver import Search

S = TypeVar("S", bound=tuple[Any, ...])

MIN_STEPS = 16  # if there are enough variables: an interruption loses one step
MIN_TASKS = 4  # variables for each thread in one step


class LearnedConditionals(NamedTuple):
    """The conditionals of a network, and their log-likelihood summed over the training rows."""

    parts: Sequence[Sequence[Part]]
    score: float


class VariableSearch(Search[S], Generic[S]):
    """A search that gives each variable a conditional, for one or several settings."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    @abstractmethod
    def validation_scores(self, state: S) -> dict[float, float]:
        """The mean log-likelihood of a validation row, summed over variables, by setting."""

    @abstractmethod
    def conditionals(self, state: S, setting: float) -> LearnedConditionals:
        """The conditionals learned with one of the settings."""

    def batch(self, first: int, n: int) -> range:
        """The variables of one step, from `first` on."""
        return range(first, min(n, first + max(n // MIN_STEPS, MIN_TASKS * self.n_jobs)))

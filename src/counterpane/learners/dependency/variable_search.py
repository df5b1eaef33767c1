"""The search that learns the conditional of each variable separately, some in each step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from types import GenericAlias
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from counterpane.features.parts import Part
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_workers
from counterpane.progress import Control

MIN_STEPS = 16  # if there are enough variables: an interruption loses one step
MIN_TASKS = 4  # variables for each thread in one step

L = TypeVar("L", bound=tuple[Any, ...])


class LearnedConditionals(NamedTuple):
    """The conditionals of a network, and their log-likelihood summed over the training rows."""

    parts: Sequence[Sequence[Part]]
    score: float


class VariableSearch(Search[tuple[L, ...]], Generic[L]):
    """Gives each of `n` variables a conditional, for one or several settings.

    A state has what was learned of the first variables, a named tuple `learned` for each. With
    several `levels`, all variables are learned again at each of them.
    """

    learned: ClassVar[Any]
    levels = 1

    def __init__(self, n: int, n_jobs: int) -> None:
        self.n = n
        self.n_jobs = n_jobs

    @abstractmethod
    def learn(self, task: int, state: tuple[L, ...]) -> L:
        """What is learned of variable `task % n` at level `task // n`."""

    @abstractmethod
    def conditional(self, v: int, learned: L | None, setting: float) -> tuple[list[Part], float]:
        """The conditional of variable v and its log-likelihood; without parents if not learned."""

    @abstractmethod
    def validation_scores(self, state: tuple[L, ...]) -> dict[float, float]:
        """The mean log-likelihood of a validation row, summed over variables, by setting."""

    @abstractmethod
    def record(self, state: tuple[L, ...], fresh: Sequence[L]) -> dict[str, Any]:
        """What the trace says about a step that has led to `state`."""

    def state_type(self, fresh: tuple[L, ...]) -> Any:
        return GenericAlias(tuple, (self.learned, ...))

    def start(self) -> tuple[L, ...]:
        return ()

    def done(self, state: tuple[L, ...]) -> bool:
        return len(state) == self.levels * self.n

    def size(self, state: tuple[L, ...]) -> tuple[float, float]:
        return len(state), self.levels * self.n

    def check(self, state: tuple[L, ...]) -> None:
        if len(state) > self.levels * self.n:
            raise ValueError("it has too many variables")

    def step(self, state: tuple[L, ...], ctl: Control) -> tuple[tuple[L, ...], dict[str, Any]]:
        level, first = divmod(len(state), self.n)
        stop = min(self.n, first + self.batch)
        tasks = range(len(state), level * self.n + stop)
        fresh = list(map_in_workers(lambda t: self.learn(t, state), tasks, self.n_jobs, ctl))
        after = (*state, *fresh)
        return after, {"variables": stop, **self.record(after, fresh)}

    @property
    def batch(self) -> int:
        """The number of variables of a step."""
        return max(self.n // MIN_STEPS, MIN_TASKS * self.n_jobs)

    def conditionals(self, state: tuple[L, ...], setting: float) -> LearnedConditionals:
        """The conditionals learned with one of the settings."""
        known: list[L | None] = [*self.of_setting(state, setting)]
        known += [None] * (self.n - len(known))
        found = [self.conditional(v, one, setting) for v, one in enumerate(known)]
        return LearnedConditionals([parts for parts, _ in found], sum(s for _, s in found))

    def of_setting(self, state: tuple[L, ...], setting: float) -> Sequence[L]:
        """What was learned with a setting."""
        return state

"""The base of searches that learn the conditional of each variable separately."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from counterpane.features import Rules, Tree
from counterpane.learn.driver import Search

S = TypeVar("S", bound=tuple[Any, ...])
R = TypeVar("R")

MIN_STEPS = 16  # if there are enough variables: an interruption loses one step
MIN_TASKS = 4  # variables for each thread in one step


class LearnedConditionals(NamedTuple):
    """The conditionals of a network, and their log-likelihood summed over the training rows."""

    parts: list[list[Rules | Tree]]
    score: float


class VariableSearch(Search[S], Generic[S]):
    """A search that gives each variable a conditional, for one or several settings."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes that another process needs, without scratch memory of threads."""
        return {name: value for name, value in vars(self).items() if name != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _local=threading.local())

    @abstractmethod
    def validation_scores(self, state: S) -> dict[float, float]:
        """The mean log-likelihood of a validation row, summed over variables, by setting."""

    @abstractmethod
    def conditionals(self, state: S, setting: float) -> LearnedConditionals:
        """The conditionals learned with one of the settings."""

    def batch(self, first: int, n: int) -> range:
        """The variables of one step, from `first` on."""
        return range(first, min(n, first + max(n // MIN_STEPS, MIN_TASKS * self.n_jobs)))

    def of_thread(self, key: int, make: Callable[[int], R]) -> R:
        """make(key), called once in each thread."""
        cache: dict[Any, R] = vars(self._local)
        if key not in cache:
            cache[key] = make(key)
        return cache[key]

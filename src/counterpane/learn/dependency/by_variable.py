"""What is learned for each variable on its own, with one setting for all."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from counterpane.features import Rules, Tree
from counterpane.learn.driver import Search

S = TypeVar("S", bound=tuple[Any, ...])
R = TypeVar("R")

STEPS = 16  # at least, where there are variables enough: a step is what an interruption loses
TASKS = 4  # variables a thread in one step, at least


class Conditionals(NamedTuple):
    """A network's conditionals, and their log-likelihood summed over the rows they are from."""

    parts: list[list[Rules | Tree]]
    score: float


class VariableSearch(Search[S], Generic[S]):
    """A search that gives each variable a conditional, for one or several settings."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._own = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs: no room that belongs to a thread."""
        return {name: value for name, value in vars(self).items() if name != "_own"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _own=threading.local())

    @abstractmethod
    def validation_scores(self, state: S) -> dict[float, float]:
        """The mean log-likelihood of a validation row, summed over variables, by setting."""

    @abstractmethod
    def conditionals(self, state: S, setting: float) -> Conditionals:
        """What was found with one of the settings."""

    def batch(self, first: int, n: int) -> range:
        """The variables of one step, from `first` on."""
        return range(first, min(n, first + max(n // STEPS, TASKS * self.n_jobs)))

    def of_thread(self, key: int, make: Callable[[int], R]) -> R:
        """make(key), made once in each thread."""
        kept: dict[Any, R] = vars(self._own)
        if key not in kept:
            kept[key] = make(key)
        return kept[key]

"""The choice of structure and strength by held-out likelihood, and the fits that are averaged."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from counterpane.learn.classifiers.folds import N_FOLDS, HeldOut, deal_folds, join_folds
from counterpane.learn.classifiers.interactions.fold_coding import RawRows
from counterpane.learn.classifiers.interactions.interaction_structures import (
    PLAIN,
    SINGLES,
    WITH_NUMBERS,
    Part,
    Structure,
)
from counterpane.learn.classifiers.interactions.ridge import Ridge, smooth
from counterpane.learn.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Floats

STRENGTHS: tuple[float, ...] = tuple(4.0**k for k in range(4, -6, -1))
PRIOR_ONLY = 2.0**40  # a strength at which the class has the same probabilities in every row
TURNED = 3.0  # nats below the best of a fold's held-out likelihood, where its path ends

T = TypeVar("T")
R = TypeVar("R")


class Looked(NamedTuple):
    """How many structures were looked at, and what the held-out rows say of them.

    `scores` are log-likelihoods, (structures, folds, strengths), natural log.
    """

    done: int
    scores: Floats


class Choice(NamedTuple):
    """A structure, a strength, and the log-loss of held-out rows, in nats."""

    structure: str
    strength: float
    log_loss: float


class Fitted(NamedTuple):
    """A structure, and the ridge that was fitted on it."""

    structure: Structure
    ridge: Ridge


class InteractionSearch(Search[Looked]):
    """Five folds; each step tries one more structure on all of them, at every strength."""

    def __init__(
        self, rows: RawRows, weights: Floats, rng: np.random.Generator, *, n_jobs: int = 1
    ) -> None:
        self.weights = weights
        self.names = WITH_NUMBERS if len(rows.numeric) else PLAIN
        n_folds = N_FOLDS if rows.n_classes > 1 else 0
        self.held = deal_folds(rows.labels, weights, n_folds, rng)
        self.n_jobs = n_jobs
        # The rows of each fold behind the rest of them; last, all rows for training.
        self._parts = [Part(rows, weights - held, held) for held in self.held]
        self._parts.append(Part(rows, weights, np.zeros_like(weights)))
        self._paths: dict[tuple[str, int], Path] = {}

    def start(self) -> Looked:
        """Nothing looked at."""
        return Looked(0, np.full((len(self.names), len(self.held), len(STRENGTHS)), -np.inf))

    def done(self, state: Looked) -> bool:
        """Whether all structures were looked at; at once where there are no folds."""
        return state.done == len(self.names) or not len(self.held)

    def size(self, state: Looked) -> tuple[float, float | None]:
        """Structures done, of all."""
        return float(state.done), float(len(self.names))

    def step(self, state: Looked, ctl: Control) -> tuple[Looked, dict[str, Any]]:
        """One more structure."""
        name = self.names[state.done]

        def look(k: int) -> Floats:
            ctl.check()
            return self._path(name, k).scores

        scores = state.scores.copy()
        scores[state.done] = list(map_in_threads(look, range(len(self.held)), self.n_jobs))
        found = Looked(state.done + 1, scores)
        best, own = self.choose(found), self._choice(name, scores[state.done])
        for (other, _), path in self._paths.items():
            path.keep_only(best.strength if other == best.structure else None)
        record = {"structure": name, "penalty": own.strength, "inner_log_loss": own.log_loss}
        return found, record

    def choose(self, state: Looked) -> Choice:
        """The best structure and strength, of equals the first."""
        if not state.done:  # stopped before the first, or too few rows for folds
            return Choice(SINGLES, 1.0, float("nan"))
        pairs = zip(self.names, state.scores[: state.done], strict=False)
        return min((self._choice(*pair) for pair in pairs), key=lambda choice: choice.log_loss)

    def fits(self, choice: Choice, *, folds: bool, whole: bool) -> list[Fitted]:
        """The fits on the folds' training rows, and on all rows."""
        name, strength, _ = choice
        tasks = [*(range(len(self.held)) if folds else ()), *([-1] if whole else ())]

        def fit(k: int) -> Fitted:
            if k >= 0:
                return self._path(name, k).at(strength)
            return fit_at(self._parts[-1], self._parts[-1].structure(name), strength)

        return list(map_in_threads(fit, tasks, self.n_jobs))

    def held_out(self, choice: Choice) -> HeldOut:
        """What the fits of each fold say of its held-out rows."""
        name, strength, _ = choice
        found = []
        for k in range(len(self.held)):
            part = self._parts[k]
            ridge = self._path(name, k).at(strength).ridge
            log_proba = held_out_log_proba(ridge, part)
            found.append((log_proba.T, part.rows.labels[part.n_train :], part.held))
        return join_folds(found)

    def _choice(self, name: str, scores: Floats) -> Choice:
        total = scores.sum(axis=0)
        best = int(np.argmax(total))
        return Choice(name, STRENGTHS[best], -float(total[best] / self.weights.sum()))

    def _path(self, name: str, k: int) -> Path:
        """The path of a structure in fold k; structures that turn out the same share it."""
        if (name, k) not in self._paths:
            structure = self._parts[k].structure(name)
            for known in self.names:
                path = self._paths.get((known, k))
                if path is not None and path.structure.same_as(structure):
                    break
            else:
                path = Path(self._parts[k], structure)
            self._paths[name, k] = path
        return self._paths[name, k]


class Path:
    """Held-out log-likelihoods of one structure on one part, from the largest strength down.

    The path ends where they have clearly turned, by TURNED nats; from there on they are taken to
    fall on at the same pace.
    """

    def __init__(self, part: Part, structure: Structure) -> None:
        self.part = part
        self.structure = structure
        ridge = new_ridge(part, structure)
        self.scores: Floats = np.full(len(STRENGTHS), -np.inf)
        self._fits: dict[float, Ridge] = {}
        for j, strength in enumerate(STRENGTHS):
            ridge.solve(strength)
            self._fits[strength] = ridge.frozen()
            self.scores[j] = held_out(ridge, part)
            drop = self.scores.max() - self.scores[j]
            if drop > TURNED:
                self.scores[j:] = self.scores[j] - drop * np.arange(len(STRENGTHS) - j)
                break

    def keep_only(self, strength: float | None) -> None:
        """Let go of all fits but one: weights of many strengths and structures take memory."""
        self._fits = {s: fit for s, fit in self._fits.items() if s == strength}

    def at(self, strength: float) -> Fitted:
        """The fit of one strength, made again if it was let go."""
        if strength in self._fits:
            return Fitted(self.structure, self._fits[strength])
        return fit_at(self.part, self.structure, strength)


def new_ridge(part: Part, structure: Structure) -> Ridge:
    """A ridge on the part's training rows, not yet solved."""
    return Ridge(part.design(structure), part.train.labels, part.rows.n_classes, part.weights)


def fit_at(part: Part, structure: Structure, strength: float) -> Fitted:
    """The fit of one strength, by the way of the larger ones."""
    ridge = new_ridge(part, structure)
    for larger in STRENGTHS:
        if larger > strength:
            ridge.solve(larger)
    ridge.solve(strength)
    return Fitted(structure, ridge.frozen())


def held_out_log_proba(ridge: Ridge, part: Part) -> Floats:
    """ln P(class) of the part's held-out rows, (classes, rows), smoothed as predictions are."""
    n = part.rows.labels.size
    return smooth(ridge.log_proba(part.n_train, n), float(part.weights.sum()))


def held_out(ridge: Ridge, part: Part) -> float:
    """The log-likelihood of the part's held-out rows."""
    log_proba = held_out_log_proba(ridge, part)
    own = log_proba[part.rows.labels[part.n_train :], np.arange(log_proba.shape[1])]
    return float(own @ part.held)

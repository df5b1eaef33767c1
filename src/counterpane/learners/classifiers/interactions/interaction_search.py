"""The choice of structure and penalty by held-out likelihood, and the fits that are averaged."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterpane.additive.member import Coding
from counterpane.learners.classifiers.folds import (
    N_FOLDS,
    HeldOut,
    deal_folds,
    first_folds,
    join_folds,
)
from counterpane.learners.classifiers.interactions.canonical_rows import RawRows
from counterpane.learners.classifiers.interactions.fold_data import FoldData
from counterpane.learners.classifiers.interactions.ridge import (
    Interaction,
    Ridge,
    lay_out_interactions,
    smooth,
)
from counterpane.learners.classifiers.interactions.staged_searches import (
    leave_one_out_interactions,
    score_interactions,
    subsets_of,
    unit_weight,
)
from counterpane.learners.driver import Search
from counterpane.parallel import map_in_threads
from counterpane.progress import Control
from counterpane.typing import Floats

SINGLES = "singles"
PLAIN = ("score", "leave-one-out")
WITH_NUMBERS = (*PLAIN, "tables", "numbers")
"""The structures that are tried if some columns are numbers.

All have every single column, and numeric terms for numbers. Beyond that "score" has the
interactions of `score_interactions`, and "leave-one-out" those of `leave_one_out_interactions`.
"tables" is the last without numeric terms, and "numbers" without the tables of single numbers.
"""

STRENGTHS: tuple[float, ...] = tuple(4.0**k for k in range(4, -6, -1))
PRIOR_ONLY = 2.0**40  # a strength at which all rows have the same class probabilities
TURNED = 3.0  # nats below the best held-out log-likelihood of a fold at which its path ends


class InteractionStructure(NamedTuple):
    """Interactions, the coding of their columns, and whether there are numeric terms."""

    interactions: tuple[Interaction, ...]
    coding: Coding
    terms: bool

    def same_as(self, other: InteractionStructure) -> bool:
        """Whether both lead to the same fit."""
        return (
            self.coding is other.coding
            and self.interactions == other.interactions
            and self.terms == other.terms
        )


class FoldStructures:
    """The structures that the searches find on the training rows of one fold."""

    def __init__(self, fold: FoldData) -> None:
        self.fold = fold

    @cached_property
    def _leave_one_out(self) -> list[Interaction]:
        fold = self.fold
        unit = unit_weight(fold.weights)
        return leave_one_out_interactions(*fold.training(fold.coding), unit=unit)

    def structure(self, name: str) -> InteractionStructure:
        """The structure of a name."""
        fold, coding = self.fold, self.fold.coding
        if name == "score":
            coding = fold.coding_with_thirds
            terms = np.ascontiguousarray(fold.terms[:, : fold.n_train])
            selected = score_interactions(*fold.training(coding), terms)
            if not any(coding.cards[c] != fold.coding.cards[c] for s in selected for c in s):
                coding = fold.coding
        else:
            selected = [] if name == SINGLES else self._leave_one_out
        rows = enumerate(fold.codes(coding)[:, : fold.n_train])
        varying = [c for c, row in rows if row.min() != row.max()]
        if name == "numbers":
            numeric = set(coding.numeric.tolist())
            singles = [(c,) for c in varying if c not in numeric]
            closed = {s for s in closure(selected) if len(s) > 1}
        else:
            singles, closed = [(c,) for c in varying], closure(selected)
        ordered = sorted(closed.union(singles), key=lambda s: (len(s), s))
        return InteractionStructure(
            tuple(ordered), coding, name != "tables" and fold.terms.size > 0
        )

    def ridge(self, structure: InteractionStructure) -> Ridge:
        """A ridge of a structure on the training rows, not yet solved."""
        fold, coding = self.fold, structure.coding
        numbers = fold.terms if structure.terms else np.empty((0, fold.rows.labels.size))
        design = lay_out_interactions(
            fold.codes(coding), coding.cards, fold.weights, structure.interactions, numbers
        )
        return Ridge(design, fold.train.labels, fold.rows.n_classes, fold.weights)

    def fit(self, structure: InteractionStructure, strength: float) -> StructureFit:
        """The fit of one strength, by way of the larger ones."""
        ridge = self.ridge(structure)
        for larger in STRENGTHS:
            if larger > strength:
                ridge.solve(larger)
        ridge.solve(strength)
        return StructureFit(structure, ridge.frozen())

    def held_out_log_proba(self, ridge: Ridge) -> Floats:
        """ln P(class) of the held-out rows, (classes, rows), smoothed as predictions are."""
        fold = self.fold
        log_proba = ridge.log_proba(fold.n_train, fold.rows.labels.size)
        return smooth(log_proba, float(fold.weights.sum()))

    def held_out_log_likelihood(self, ridge: Ridge) -> float:
        """The log-likelihood of the held-out rows."""
        log_proba = self.held_out_log_proba(ridge)
        of_labels = log_proba[self.fold.held_labels, np.arange(log_proba.shape[1])]
        return float(of_labels @ self.fold.held)


def closure(interactions: Iterable[Interaction]) -> set[Interaction]:
    """The interactions with all their subsets but the empty one."""
    return {s for interaction in interactions for s in subsets_of(interaction)[1:]}


class ChoiceState(NamedTuple):
    """The number of structures tried, and their held-out log-likelihoods.

    `scores` is (structures, folds, strengths), natural log.
    """

    done: int
    scores: Floats


class StructureChoice(NamedTuple):
    """A structure, a strength, and the log-loss of held-out rows, in nats."""

    structure: str
    strength: float
    log_loss: float


class StructureFit(NamedTuple):
    """A structure, and the ridge that was fitted on it."""

    structure: InteractionStructure
    ridge: Ridge


class InteractionSearch(Search[ChoiceState]):
    """Five folds; each step tries one more structure on all of them, at every strength."""

    def __init__(
        self, rows: RawRows, weights: Floats, rng: np.random.Generator, *, n_jobs: int = 1
    ) -> None:
        self.rows, self.weights = rows, weights
        self.names: tuple[str, ...] = WITH_NUMBERS if len(rows.numeric) else PLAIN
        n_folds = N_FOLDS if rows.n_classes > 1 else 0
        self.held = first_folds(deal_folds(rows.labels, weights, n_folds, rng))
        self.n_jobs = n_jobs
        self._paths: dict[tuple[str, int], PenaltyPath] = {}

    @cached_property
    def _folds(self) -> list[FoldStructures]:
        folds = [FoldData(self.rows, self.weights - held, held) for held in self.held]
        return [FoldStructures(fold) for fold in folds]

    @cached_property
    def _all_rows(self) -> FoldStructures:
        return FoldStructures(FoldData(self.rows, self.weights, np.zeros_like(self.weights)))

    def start(self) -> ChoiceState:
        """No structure tried."""
        return ChoiceState(0, np.full((len(self.names), len(self.held), len(STRENGTHS)), -np.inf))

    def done(self, state: ChoiceState) -> bool:
        """Whether all structures were tried; at once if there are no folds."""
        return state.done == len(self.names) or not len(self.held)

    def size(self, state: ChoiceState) -> tuple[float, float | None]:
        """Structures done, of all."""
        return float(state.done), float(len(self.names))

    def step(self, state: ChoiceState, ctl: Control) -> tuple[ChoiceState, dict[str, Any]]:
        """One more structure."""
        name = self.names[state.done]

        def fold_scores(k: int) -> Floats:
            ctl.check()
            return self._path(name, k).scores

        scores = state.scores.copy()
        scores[state.done] = list(map_in_threads(fold_scores, range(len(self.held)), self.n_jobs))
        new_state = ChoiceState(state.done + 1, scores)
        best, current = self.choose(new_state), self._choice(name, scores[state.done])
        for (structure, _), path in self._paths.items():
            path.keep_only(best.strength if structure == best.structure else None)
        record = {
            "structure": name,
            "penalty": current.strength,
            "inner_log_loss": current.log_loss,
        }
        return new_state, record

    def choose(self, state: ChoiceState) -> StructureChoice:
        """The best structure and strength; ties go to the first."""
        if not state.done:  # stopped before the first, or too few rows for folds
            return StructureChoice(SINGLES, 1.0, float("nan"))
        pairs = zip(self.names, state.scores[: state.done], strict=False)
        return min((self._choice(*pair) for pair in pairs), key=lambda choice: choice.log_loss)

    def fits(self, choice: StructureChoice, *, folds: bool, all_rows: bool) -> list[StructureFit]:
        """The fits on the folds' training rows, and on all rows."""
        name, strength, _ = choice
        tasks = [*(range(len(self.held)) if folds else ()), *([-1] if all_rows else ())]

        def fit(k: int) -> StructureFit:
            if k >= 0:
                return self._path(name, k).at(strength)
            return self._all_rows.fit(self._all_rows.structure(name), strength)

        return list(map_in_threads(fit, tasks, self.n_jobs))

    def held_out(self, choice: StructureChoice) -> HeldOut:
        """The predictions of the held-out rows of each fold."""
        name, strength, _ = choice
        predictions = []
        for k, structures in enumerate(self._folds):
            log_proba = structures.held_out_log_proba(self._path(name, k).at(strength).ridge)
            predictions.append((log_proba.T, structures.fold.held_labels, structures.fold.held))
        return join_folds(predictions)

    def _choice(self, name: str, scores: Floats) -> StructureChoice:
        total = scores.sum(axis=0)
        best = int(np.argmax(total))
        return StructureChoice(name, STRENGTHS[best], -float(total[best] / self.held.sum()))

    def _path(self, name: str, k: int) -> PenaltyPath:
        """The path of a structure in fold k; equal structures share it."""
        if (name, k) not in self._paths:
            structure = self._folds[k].structure(name)
            for other in self.names:
                path = self._paths.get((other, k))
                if path is not None and path.structure.same_as(structure):
                    break
            else:
                path = PenaltyPath(self._folds[k], structure)
            self._paths[name, k] = path
        return self._paths[name, k]


class PenaltyPath:
    """Held-out log-likelihoods of one structure in one fold, from the largest strength down.

    The path ends when they have dropped by TURNED nats below the best; from there on they are
    assumed to fall at the same rate.
    """

    def __init__(self, structures: FoldStructures, structure: InteractionStructure) -> None:
        self.structures = structures
        self.structure = structure
        ridge = structures.ridge(structure)
        self.scores: Floats = np.full(len(STRENGTHS), -np.inf)
        self._fits: dict[float, Ridge] = {}
        for j, strength in enumerate(STRENGTHS):
            ridge.solve(strength)
            self._fits[strength] = ridge.frozen()
            self.scores[j] = structures.held_out_log_likelihood(ridge)
            drop = self.scores.max() - self.scores[j]
            if drop > TURNED:
                self.scores[j:] = self.scores[j] - drop * np.arange(len(STRENGTHS) - j)
                break

    def keep_only(self, strength: float | None) -> None:
        """Drop all fits but one: weights of many strengths and structures take memory."""
        self._fits = {s: fit for s, fit in self._fits.items() if s == strength}

    def at(self, strength: float) -> StructureFit:
        """The fit of one strength, fitted again if it was dropped."""
        if strength in self._fits:
            return StructureFit(self.structure, self._fits[strength])
        return self.structures.fit(self.structure, strength)

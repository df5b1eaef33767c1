"""Where a climb over hyperedges is, and the structures that it keeps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from counterpane.learn.classifiers.faces.face_tables import FaceTables
from counterpane.typing import Floats, Ints

WINDOW = math.log(100.0)  # structures below 1 % of the best do not count


class Climb(NamedTuple):
    """Where a climb is.

    `faces` are all candidates so far, a row of columns each with −1 behind the last, and `gains`
    what each added to the log-posterior when it was last looked at. `path` are the hyperedges
    chosen, as rows of `faces`, and `scores` the log-posteriors from the empty structure on. Kept
    structures have the first `kept_steps` hyperedges of the path and the face `kept_faces`
    (−1: none). `size` is the number of attributes being tried; one more than allowed is any.
    """

    size: int
    faces: Ints
    gains: Floats
    path: Ints
    scores: Floats
    kept_steps: Ints
    kept_faces: Ints
    kept_scores: Floats
    finished: bool


class Structure(NamedTuple):
    """Hyperedges in the order they were chosen, without the class; what they score and cost.

    The first `steps` are those of the climb; one more makes a structure that was only looked at.
    """

    hyperedges: tuple[tuple[int, ...], ...]
    steps: int
    log_posterior: float
    free: int

    @property
    def accepted(self) -> bool:
        """Whether the climb went through it."""
        return self.steps == len(self.hyperedges)


def keep(state: Climb, asked: Ints, scores: Floats, peak: float) -> Climb:
    """`state` with the structures looked at that are within 1 % of the peak, and without others."""
    fresh, old = scores >= peak - WINDOW, state.kept_scores >= peak - WINDOW
    steps = np.full(int(fresh.sum()), state.path.size, dtype=np.int64)
    return state._replace(
        kept_steps=np.append(state.kept_steps[old], steps),
        kept_faces=np.append(state.kept_faces[old], asked[fresh]),
        kept_scores=np.append(state.kept_scores[old], scores[fresh]),
    )


def distinct_structures(tables: FaceTables, state: Climb) -> list[Structure]:
    """The structures kept, the climb's best first; equal sets of faces count once."""
    path = state.path.tolist()
    chosen = [columns_of(row) for row in state.faces[path].tolist()]
    reached: list[frozenset[int]] = [frozenset()]
    for face in path:
        reached.append(reached[-1] | tables.closure(face))
    kept = zip(
        state.kept_steps.tolist(),
        state.kept_faces.tolist(),
        state.kept_scores.tolist(),
        strict=True,
    )
    found: dict[frozenset[int], Structure] = {}
    for steps, face, score in sorted(kept):
        whole, hyperedges, accepted = reached[steps], chosen[:steps], steps
        if face >= 0:
            whole = whole | tables.closure(face)
            hyperedges = [*hyperedges, columns_of(state.faces[face].tolist())]
            accepted += face in path[steps : steps + 1]
        free = tables.n_classes - 1 + tables.free[list(whole)].sum()
        # Of several ways to one set of faces the last counts, which is the climb's if it has one.
        found[whole] = Structure(tuple(hyperedges), accepted, score, int(free))
    best = int(np.argmax(state.scores))
    return sorted(
        found.values(), key=lambda s: (not s.accepted or s.steps != best, -s.log_posterior)
    )


def columns_of(row: list[int]) -> tuple[int, ...]:
    """The columns of a face, without what fills up its row."""
    return tuple(c for c in row if c >= 0)

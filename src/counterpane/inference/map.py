"""The most probable row where an exact answer is too expensive: max-product, or hill climbing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.errors import ParameterError, Setting
from counterpane.features import Blanket, Potential
from counterpane.inference.belief_propagation import (
    BeliefPropagation,
    belief_of,
    pass_messages,
)
from counterpane.seeds import random_generator
from counterpane.typing import Codes, Floats, Ints

SWEEPS = 1000  # limit for conditionals that are inconsistent and lead in a circle


@dataclass(frozen=True)
class ICM:
    """The settings of iterated conditional modes (Besag 1986), for `map_query`.

    Parameters
    ----------
    restarts : int
        Number of uniformly drawn rows from which the method climbs.
    random_state : int, Generator or None
        Seed of these rows.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> model.map_query(evidence={"survived": "yes"}, method=cp.ICM())
    {'status': 'crew', 'age': 'adult', 'sex': 'male'}
    """

    restarts: int = 20
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        if not isinstance(self.restarts, (int, np.integer)) or self.restarts < 1:
            raise ParameterError(
                Setting("restarts", self.restarts), "; a whole number from 1 is needed."
            )


@dataclass(frozen=True)
class MaxProduct(BeliefPropagation):
    """The settings of max-product belief propagation, then hill climbing, for `map_query`.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations.
    tolerance : float
        The iteration ends when no message changes by more.
    damping : float
        The share of its old value in a new message.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> model.map_query(evidence={"survived": "yes"}, method=cp.MaxProduct())
    {'status': 'crew', 'age': 'adult', 'sex': 'male'}
    """


def climb_to_mode(
    blanket: Blanket,
    evidence: Mapping[int, int],
    settings: ICM,
    *,
    start: Mapping[int, int] | None = None,
) -> tuple[Ints, float]:
    """(codes of the best row that agrees with the evidence, its score), by coordinate ascent.

    The score is the log-potential, or the pseudo-log-likelihood of conditionals that were given
    one by one; minus infinity if no possible row was reached. With `start` there is one climb,
    from that row.

    >>> pair = Potential((0, 1), [[1.0, 0.0], [0.0, 2.0]])
    >>> climb_to_mode(Blanket([2, 2], [pair]), {}, ICM())[0].tolist()
    [1, 1]
    """
    cards = blanket.cards
    rng = random_generator(settings.random_state)
    n_rows = 1 if start is not None else settings.restarts
    rows: Codes = rng.integers(0, cards[:, None], size=(cards.size, n_rows), dtype=np.uint16)
    for v, code in {**(start or {}), **evidence}.items():
        rows[v] = code
    free = np.array([v for v in range(cards.size) if v not in evidence], dtype=np.int64)
    kernels.climb(blanket.parts, free, SWEEPS, rows)
    scores = _scores(blanket, rows)
    best = int(scores.argmax())
    return rows[:, best].astype(np.int64), float(scores[best])


def max_product(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    evidence: Mapping[int, int],
    settings: BeliefPropagation,
) -> dict[int, int]:
    """A row that agrees with the evidence, read from max-product messages; the best one on trees.

    Factors are read in the order in which they send: each sets its variables that have no state yet
    to the best states by its table and the messages of its neighbors, given the states already set.

    >>> max_product([Potential((0, 1), [[1.0, 0.0], [0.0, 2.0]])], [2, 2], {}, MaxProduct())
    {0: 1, 1: 1}
    """
    sizes: Ints = np.asarray(cards, dtype=np.int64)
    state = pass_messages(potentials, sizes, evidence, settings, maximize=True)
    best = dict(evidence)
    for f, (scope, logs) in enumerate(state.factors):
        table = logs
        for axis, v in enumerate(scope):
            edge = int(state.graph.edge_offsets[f]) + axis
            with np.errstate(divide="ignore"):
                message = np.log(belief_of(state, v, without=edge))
            table = table + message.reshape([-1 if k == axis else 1 for k in range(len(scope))])
        free = [v for v in scope if v not in best]
        table = table[tuple(best.get(v, slice(None)) for v in scope)]
        states = np.unravel_index(int(table.argmax()), table.shape)
        best |= {v: int(s) for v, s in zip(free, states, strict=True)}
    return {v: best.get(v, 0) for v in range(sizes.size)}


def _scores(blanket: Blanket, rows: Codes) -> Floats:
    if blanket.joint:
        return blanket.log_potential(rows)
    return blanket.pseudo_log_likelihood(rows, total=True)

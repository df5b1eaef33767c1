"""The most probable row where an exact answer is too expensive: max-product, or hill climbing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from counterpane._core import inference as kernels
from counterpane.errors import ParameterError, Setting
from counterpane.features import Blanket
from counterpane.inference.join_graph import BeliefPropagation
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
        The iteration ends when no probability changes by more.
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

    >>> from counterpane.features import Potential
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


def _scores(blanket: Blanket, rows: Codes) -> Floats:
    if blanket.joint:
        return blanket.log_potential(rows)
    return blanket.pseudo_log_likelihood(rows, total=True)

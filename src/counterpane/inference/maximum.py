"""The most probable row, where an exact answer is out of reach: by messages, or uphill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.errors import ParameterError
from counterpane.features import Blanket, Potential
from counterpane.inference.propagation import BeliefPropagation, belief_of, settle
from counterpane.typing import Codes, Floats, Ints

SWEEPS = 1000  # at which a climb ends even if conditionals that disagree lead it in a circle


@dataclass(frozen=True)
class ICM:
    """Iterated conditional modes (Besag 1986) from `restarts` uniformly drawn rows.

    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> model.map_query(evidence={"survived": "yes"}, method=cp.ICM())
    {'status': 'crew', 'age': 'adult', 'sex': 'male'}
    """

    restarts: int = 20
    random_state: int | np.random.Generator | None = 0

    def __post_init__(self) -> None:
        if not isinstance(self.restarts, (int, np.integer)) or self.restarts < 1:
            raise ParameterError(f"restarts={self.restarts!r}; a whole number from 1 is needed.")


@dataclass(frozen=True)
class MaxProduct(BeliefPropagation):
    """Max-product belief propagation, then hill climbing from the row that it finds.

    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> model.map_query(evidence={"survived": "yes"}, method=cp.MaxProduct())
    {'status': 'crew', 'age': 'adult', 'sex': 'male'}
    """


def climb(
    blanket: Blanket,
    evidence: Mapping[int, int],
    settings: ICM,
    *,
    start: Mapping[int, int] | None = None,
) -> tuple[Ints, float]:
    """(codes of the best row found that agrees with the evidence, its score).

    The score is the log-potential, or the pseudo-log-likelihood where conditionals were given one
    by one. With `start` one row climbs, from there. Minus infinity if no row found is possible.

    >>> pair = Potential((0, 1), [[1.0, 0.0], [0.0, 2.0]])
    >>> climb(Blanket([2, 2], [pair]), {}, ICM())[0].tolist()
    [1, 1]
    """
    cards = blanket.cards
    rng = np.random.default_rng(settings.random_state)
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

    Factors are read in the order in which they send: each sets its variables that are still open
    to the best states that it and its other neighbors' messages allow, given those already set.

    >>> max_product([Potential((0, 1), [[1.0, 0.0], [0.0, 2.0]])], [2, 2], {}, MaxProduct())
    {0: 1, 1: 1}
    """
    sizes: Ints = np.asarray(cards, dtype=np.int64)
    found = settle(potentials, sizes, evidence, settings, maximize=True)
    best = dict(evidence)
    for f, (scope, logs) in enumerate(found.factors):
        table = logs
        for axis, v in enumerate(scope):
            with np.errstate(divide="ignore"):
                told = np.log(belief_of(found, v, but=int(found.graph.edge_offsets[f]) + axis))
            table = table + told.reshape([-1 if k == axis else 1 for k in range(len(scope))])
        open_ = [v for v in scope if v not in best]
        table = table[tuple(best.get(v, slice(None)) for v in scope)]
        states = np.unravel_index(int(table.argmax()), table.shape)
        best |= {v: int(s) for v, s in zip(open_, states, strict=True)}
    return {v: best.get(v, 0) for v in range(sizes.size)}


def _scores(blanket: Blanket, rows: Codes) -> Floats:
    if blanket.joint:
        return blanket.log_potential(rows)
    return blanket.pseudo_log_likelihood(rows, total=True)

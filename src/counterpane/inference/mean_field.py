"""Naive mean field: the nearest distribution in which all variables are independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpane._core import inference as kernels
from counterpane.errors import EvidenceError, ParameterError
from counterpane.features import Blanket
from counterpane.features.tree import paths
from counterpane.ragged import offsets_of
from counterpane.typing import Floats, Ints


@dataclass(frozen=True)
class MeanField:
    """The settings of mean field, an approximate method of queries.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations.
    tolerance : float
        The iteration ends when probabilities change by less.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> round(model.query("survived", {"sex": "female"}, method=cp.MeanField())["yes"], 2)
    0.73
    """

    max_iter: int = 50
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        check_iteration(self.max_iter, self.tolerance)


class Approximation(NamedTuple):
    """P(v | evidence) for each free variable v, and how the iteration ended.

    `log_weight` is a bound on, or an estimate of, ln of the weight of the evidence (ln Z without
    evidence); None if there is no joint distribution. `change` is the last change of a probability.
    """

    marginals: dict[int, Floats]
    log_weight: float | None
    n_iter: int
    change: float
    converged: bool

    def flat(self, cards: Ints) -> Floats:
        """The marginals of all variables end to end; uniform where a variable has evidence."""
        uniform = (np.full(card, 1.0 / card) for card in cards)
        return np.concatenate([self.marginals.get(v, p) for v, p in enumerate(uniform)])


def mean_field(
    blanket: Blanket,
    evidence: Mapping[int, int],
    likelihoods: Mapping[int, Floats] | None = None,
    *,
    settings: MeanField | None = None,
    names: Sequence[str] | None = None,
) -> Approximation:
    """The marginals of the product distribution q that minimizes KL(q ‖ P(· | evidence)), locally.

    Each variable in turn is set to q_v ∝ exp E_q[ln P(v | others)], which for a joint distribution
    raises E_q[ln weight] + H(q), a lower bound of ln of the weight of the evidence. Conditionals
    given one by one are updated in the same way, without a bound. The start is uniform. Cost of an
    iteration: the cells of all potentials and the conditions of all rules, for each of their
    variables.

    >>> from counterpane.features import Potential
    >>> answer = mean_field(Blanket([2, 2], [Potential((0,), np.log([1.0, 3.0]))]), {})
    >>> answer.marginals[0].round(4).tolist(), round(float(np.exp(answer.log_weight)), 4)
    ([0.25, 0.75], 8.0)
    """
    how = settings or MeanField()
    parts, cards, n = blanket.parts, blanket.cards, blanket.cards.size
    rules, forest = blanket.rule_masks, leaf_masks(blanket)
    serving = np.flatnonzero(rules.serves)
    serving = serving[np.argsort(rules.variables[serving], kind="stable")]
    places = np.arange(n + 1)
    states = offsets_of(cards)
    q: Floats = np.repeat(1.0 / cards, cards)
    soft: Floats = np.zeros(q.size)
    for v, code in evidence.items():
        q[states[v] : states[v + 1]] = np.arange(cards[v]) == code
    with np.errstate(divide="ignore"):
        for v, weights in (likelihoods or {}).items():
            soft[states[v] : states[v + 1]] = np.log(weights)
    free = np.array([v for v in range(n) if v not in evidence], dtype=np.int64)
    change, n_iter = np.inf, 0
    while change >= how.tolerance and n_iter < how.max_iter:
        n_iter += 1
        change = kernels.relax(
            parts, rules, np.searchsorted(rules.variables[serving], places), serving, forest,
            np.searchsorted(forest.owners, places), states, free, soft, q,
        )  # fmt: skip
        if change < 0:
            raise _no_state(int(-1 - change), names)
    bound = None
    if blanket.joint:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(q > 0, q * (soft - np.log(q)), 0.0)
        bound = kernels.expected_energy(parts, rules, states, q) + float(terms.sum())
        if bound == -np.inf:
            raise _no_state(-1, names)
    marginals = {v: q[states[v] : states[v + 1]] for v in free.tolist()}
    return Approximation(marginals, bound, n_iter, float(change), change < how.tolerance)


def leaf_masks(blanket: Blanket) -> kernels.Leaves:
    """The leaves that rows can reach of all trees of a blanket, with the states on their paths."""
    parts, cards = blanket.parts, blanket.cards
    leaves, conditions = paths(cards, parts.nodes, parts.tree_roots[:-1])
    trees = np.searchsorted(parts.tree_roots, leaves, side="right") - 1
    owners = np.searchsorted(parts.tree_offsets, trees, side="right") - 1
    nobody = np.empty(0, dtype=np.int64)
    sorted_paths = conditions.simplified(cards, certain=True)
    masks = sorted_paths.masks(cards, np.ones(leaves.size), nobody)
    return kernels.Leaves(owners, parts.nodes[leaves, 2], masks)


def check_iteration(max_iter: int, tolerance: float) -> None:
    """Raise if the iteration would not start, or not end."""
    if not isinstance(max_iter, (int, np.integer)) or max_iter < 1 or not tolerance > 0:
        raise ParameterError(
            f"max_iter={max_iter!r}, tolerance={tolerance!r}; a whole number from 1 and a positive "
            "tolerance are needed."
        )


def _no_state(v: int, names: Sequence[str] | None) -> EvidenceError:
    what = "the evidence" if v < 0 else f"variable {v}" if names is None else repr(names[v])
    return EvidenceError(
        f"{what} has no possible state if all variables are independent: the evidence is "
        "impossible, or the model has too many zeros; use method='gibbs', 'bp' or 'exact'."
    )

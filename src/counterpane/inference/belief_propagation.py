"""Belief propagation on a factor graph: exact on trees, an approximation where there are loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.errors import EvidenceError, ParameterError, Setting
from counterpane.features import Potential
from counterpane.inference.mean_field import Approximation, check_iteration
from counterpane.ragged import flatten, offsets_of
from counterpane.typing import Floats, Ints


@dataclass(frozen=True)
class BeliefPropagation:
    """The settings of loopy belief propagation, an approximate method of queries.

    Parameters
    ----------
    max_iter : int
        The largest number of iterations.
    tolerance : float
        The iteration ends when no message changes by more.
    damping : float
        The share of its old value in a new message; above 0 it helps if messages oscillate.

    Examples
    --------
    >>> import counterpane as cp
    >>> model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    >>> round(model.query("survived", {"sex": "female"}, method=cp.BeliefPropagation())["yes"], 2)
    0.73
    """

    max_iter: int = 50
    tolerance: float = 1e-4
    damping: float = 0.0

    def __post_init__(self) -> None:
        check_iteration(self.max_iter, self.tolerance)
        if not 0 <= self.damping < 1:
            raise ParameterError(
                Setting("damping", self.damping), "; a number from 0 below 1 is needed."
            )


class MessageState(NamedTuple):
    """The messages after the last iteration, with the factor graph and its tables of logs."""

    graph: kernels.FactorGraph
    factors: list[tuple[tuple[int, ...], Floats]]
    messages: Floats
    constant: float
    n_iter: int
    change: float


def propagate(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    evidence: Mapping[int, int],
    *,
    settings: BeliefPropagation | None = None,
) -> Approximation:
    """P(v | evidence) for each free variable v, by loopy belief propagation (sum-product).

    Potentials over the same variables are one factor. Factors are ordered breadth first and send
    messages from the last to the first and back, so that on a tree one iteration is enough, and the
    second one confirms it. The log-weight is Bethe's, which is exact on trees. Cost of an
    iteration: the cells of all factors, and for each variable the square of the number of its
    factors.

    >>> pair = Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))
    >>> answer = propagate([pair], [2, 2], {1: 1})
    >>> answer.marginals[0].round(4).tolist(), round(float(np.exp(answer.log_weight)), 4)
    ([0.3333, 0.6667], 0.6)
    """
    how = settings or BeliefPropagation()
    state = pass_messages(potentials, np.asarray(cards, dtype=np.int64), evidence, how)
    free = [v for v in range(state.graph.cards.size) if v not in evidence]
    beliefs = [belief_of(state, v) for v in free]
    free_energy = kernels.bethe(state.graph, state.messages)
    if free_energy == -np.inf or any(belief.max() == 0 for belief in beliefs):
        raise impossible()
    marginals = {v: b / b.sum() for v, b in zip(free, beliefs, strict=True)}
    log_weight = state.constant + free_energy
    converged = state.change < how.tolerance
    return Approximation(marginals, log_weight, state.n_iter, state.change, converged)


def pass_messages(
    potentials: Iterable[Potential],
    cards: Ints,
    evidence: Mapping[int, int],
    settings: BeliefPropagation,
    *,
    maximize: bool = False,
) -> MessageState:
    """The messages after sweeps over all factors, until they converge or `max_iter` is reached."""
    factors, constant = _factors(_at_evidence(potentials, cards, evidence))
    if constant == -np.inf:
        raise impossible()
    sizes = cards.copy()
    sizes[list(evidence)] = 1
    graph = _compile(sizes, factors)
    lengths = sizes[graph.variables]
    messages: Floats = np.repeat(-np.log(lengths), lengths)
    change, n_iter = np.inf, 0
    while change >= settings.tolerance and n_iter < settings.max_iter:
        n_iter += 1
        change = kernels.sweep(graph, messages, maximize, float(settings.damping))
        if change < 0:
            raise impossible()
    return MessageState(graph, factors, messages, constant, n_iter, float(change))


def belief_of(state: MessageState, v: int, *, without: int = -1) -> Floats:
    """The product of all messages to v, without that of one edge; its largest state is 1."""
    out: Floats = np.empty(state.graph.cards[v])
    kernels.multiply_messages(state.graph, state.messages, v, without, out)
    return out


def impossible() -> EvidenceError:
    """The error for evidence of probability zero."""
    return EvidenceError(
        "the evidence has probability zero under the model: messages leave no state possible; "
        "change or drop some of it."
    )


def _factors(
    potentials: Iterable[Potential],
) -> tuple[list[tuple[tuple[int, ...], Floats]], float]:
    """(scope and logs of each factor, breadth first, largest value 0; the sum of the maxima)."""
    joined: dict[tuple[int, ...], Floats] = {}
    for p in potentials:
        scope = tuple(sorted(p.scope))
        moved = p.log_values.transpose([p.scope.index(v) for v in scope])
        joined[scope] = joined[scope] + moved if scope in joined else moved
    constant = 0.0
    for scope, logs in joined.items():
        top = float(logs.max())
        if top == -np.inf:
            return [], -np.inf
        constant += top
        joined[scope] = np.ascontiguousarray(logs - top)
    joined.pop((), None)
    return [(scope, joined[scope]) for scope in _breadth_first(list(joined))], constant


def _breadth_first(scopes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The scopes in an order in which each follows one that it shares a variable with, if any."""
    holders: dict[int, list[int]] = {}
    for f, scope in enumerate(scopes):
        for v in scope:
            holders.setdefault(v, []).append(f)
    order: list[int] = []
    seen: set[int] = set()
    waiting = 0
    for root in range(len(scopes)):
        if root not in seen:
            seen.add(root)
            order.append(root)
        while waiting < len(order):
            adjacent = [f for v in scopes[order[waiting]] for f in holders.pop(v, ())]
            new = [f for f in dict.fromkeys(adjacent) if f not in seen]
            seen.update(new)
            order += new
            waiting += 1
    return [scopes[f] for f in order]


def _compile(cards: Ints, factors: Sequence[tuple[tuple[int, ...], Floats]]) -> kernels.FactorGraph:
    variables = np.array([v for scope, _ in factors for v in scope], dtype=np.int64)
    lengths = cards[variables]
    order = np.argsort(variables, kind="stable")
    strides = [s // 8 for _, logs in factors for s in logs.strides]
    return kernels.FactorGraph(
        cards,
        offsets_of(logs.size for _, logs in factors),
        np.exp(flatten((logs for _, logs in factors), np.float64)),
        offsets_of(len(scope) for scope, _ in factors),
        variables,
        np.array(strides, dtype=np.int64),
        offsets_of(lengths)[:-1],
        np.searchsorted(variables[order], np.arange(cards.size + 1)),
        order,
    )


def _at_evidence(
    potentials: Iterable[Potential], cards: npt.ArrayLike, evidence: Mapping[int, int]
) -> list[Potential]:
    """The potentials at the evidence, without variables of one state (numpy allows 64 axes)."""
    fixed = {int(v): 0 for v in np.flatnonzero(np.asarray(cards) == 1)} | dict(evidence)
    return [p.at(fixed) for p in potentials]

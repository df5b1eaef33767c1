"""Belief propagation on a factor graph: exact on trees, an approximation where there are loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane._core import inference as kernels
from counterpane.errors import EvidenceError, ParameterError
from counterpane.features import Potential
from counterpane.inference.exact import reduce
from counterpane.inference.mean_field import Approximation, check_iteration
from counterpane.typing import Floats, Ints


@dataclass(frozen=True)
class BeliefPropagation:
    """How long to iterate: until no message changes by `tolerance`, at most `max_iter` times.

    `damping` is the share of its old value that a message keeps; it helps if messages oscillate.

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
            raise ParameterError(f"damping={self.damping!r}; a number from 0 below 1 is needed.")


class Beliefs(NamedTuple):
    """Messages at rest: the factor graph, its tables of logs, and where the iteration ended."""

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
    """P(v | evidence) for each variable v not given, by loopy belief propagation (sum-product).

    Potentials over the same variables are one factor. Factors are ordered breadth first and send
    in turn from the last to the first and back, so that on a tree one iteration is enough, and the
    next shows it. The log-weight is Bethe's, exact on trees too. Cost of an iteration: the cells
    of all factors, and for each variable the square of the number of its factors.

    >>> pair = Potential((0, 1), np.log([[0.3, 0.2], [0.1, 0.4]]))
    >>> found = propagate([pair], [2, 2], {1: 1})
    >>> found.marginals[0].round(4).tolist(), round(float(np.exp(found.log_weight)), 4)
    ([0.3333, 0.6667], 0.6)
    """
    how = settings or BeliefPropagation()
    found = settle(potentials, np.asarray(cards, dtype=np.int64), evidence, how, maximize=False)
    open_ = [v for v in range(found.graph.cards.size) if v not in evidence]
    beliefs = [belief_of(found, v) for v in open_]
    free_energy = kernels.bethe(found.graph, found.messages)
    if free_energy == -np.inf or any(belief.max() == 0 for belief in beliefs):
        raise impossible()
    marginals = {v: b / b.sum() for v, b in zip(open_, beliefs, strict=True)}
    log_weight = found.constant + free_energy
    converged = found.change < how.tolerance
    return Approximation(marginals, log_weight, found.n_iter, found.change, converged)


def settle(
    potentials: Iterable[Potential],
    cards: Ints,
    evidence: Mapping[int, int],
    settings: BeliefPropagation,
    *,
    maximize: bool,
) -> Beliefs:
    """The messages after sweeps over all factors until they rest, or are as many as allowed."""
    factors, constant = _factors(reduce(potentials, cards, evidence))
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
    return Beliefs(graph, factors, messages, constant, n_iter, float(change))


def belief_of(found: Beliefs, v: int, *, but: int = -1) -> Floats:
    """The product of all messages to v, but for one edge's; its largest state is 1."""
    out: Floats = np.empty(found.graph.cards[v])
    kernels.multiply_messages(found.graph, found.messages, v, but, out)
    return out


def impossible() -> EvidenceError:
    """What is raised where messages leave no state possible."""
    return EvidenceError(
        "the evidence has probability zero under the model: messages leave no state possible; "
        "change or drop some of it."
    )


def _factors(
    potentials: Iterable[Potential],
) -> tuple[list[tuple[tuple[int, ...], Floats]], float]:
    """(scope and logs of each factor, breadth first, largest value 0; what was taken off)."""
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
            found = [f for v in scopes[order[waiting]] for f in holders.pop(v, ())]
            new = [f for f in dict.fromkeys(found) if f not in seen]
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
        np.cumsum([0, *(logs.size for _, logs in factors)]),
        np.exp(np.concatenate([np.empty(0), *(logs.reshape(-1) for _, logs in factors)])),
        np.cumsum([0, *(len(scope) for scope, _ in factors)]),
        variables,
        np.array(strides, dtype=np.int64),
        np.cumsum(lengths) - lengths,
        np.searchsorted(variables[order], np.arange(cards.size + 1)),
        order,
    )

"""Exact answers by variable elimination in log space: marginals, best states, and samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterpane.errors import ParameterError, TableSizeError
from counterpane.features import Potential
from counterpane.features.potential import leveled
from counterpane.inference.exact_run import ExactRun
from counterpane.inference.junction import LARGE_CELLS, elimination_order, is_worth_compiling
from counterpane.typing import Array, Codes, Floats, Ints

Factor = tuple[tuple[int, ...], Floats]
"""A scope and its log-values; an intermediate table is not checked like a `Potential`."""


class Bucket(NamedTuple):
    """The table from which a variable was eliminated: log-values with axes (others…, variable)."""

    variable: int
    others: tuple[int, ...]
    log_values: Floats


def marginal(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    keep: Iterable[int],
    evidence: Mapping[int, int],
    *,
    names: Sequence[str] | None = None,
) -> tuple[Floats, float]:
    """(P(keep | evidence), ln of the weight of the evidence); axes follow `keep`.

    The weight is Σ exp(Σ potentials) over all rows that agree with the evidence: the probability
    of the evidence for a normalized model. If it is zero the probabilities are all zero.
    """
    run = ExactRun(potentials, cards, evidence, keep=tuple(keep), names=names)
    return run.joint()


def map_query(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    variables: Iterable[int],
    evidence: Mapping[int, int],
    *,
    names: Sequence[str] | None = None,
) -> tuple[dict[int, int], float]:
    """(most probable joint codes of `variables` given the evidence, their log-weight).

    Other variables are summed out first. If several rows are equally probable, one is returned.
    """
    targets = tuple(variables)
    return ExactRun(potentials, cards, evidence, maximize=targets, names=names).best()


def at_evidence(
    potentials: Iterable[Potential], cards: npt.ArrayLike, evidence: Mapping[int, int]
) -> list[Potential]:
    """The potentials at the evidence, without variables of one state (numpy allows 64 axes)."""
    fixed = {int(v): 0 for v in np.flatnonzero(np.asarray(cards) == 1)} | dict(evidence)
    return [p.at(fixed) for p in potentials]


def normalized(logs: Floats) -> tuple[Floats, Floats]:
    """(exp of the logs, each row scaled to the sum 1; ln Σ exp of each row).

    A row of minus infinities has the probabilities 0.
    """
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - np.where(largest == -np.inf, 0.0, largest))
    totals = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_totals: Floats = (largest + np.log(totals))[:, 0]
    return weights / np.where(totals > 0, totals, 1.0), log_totals


def log_sum(log_values: Floats) -> Floats:
    """ln Σ exp along the last axis; minus infinity where all values are."""
    largest = log_values.max(axis=-1, keepdims=True)
    shift = np.where(largest == -np.inf, 0.0, largest)
    work = log_values - shift
    with np.errstate(divide="ignore"):
        summed: Floats = np.log(np.exp(work, out=work).sum(axis=-1)) + shift[..., 0]
    return summed


def _eliminate(potentials: Iterable[Potential], order: Sequence[int]) -> tuple[list[Bucket], float]:
    """The buckets from the last variable eliminated to the first, and the log of the total.

    A factor is in the bucket of the first of its variables to be eliminated. From the last bucket
    to the first, each gives the distribution of its variable given those that are already drawn.
    """
    place = {v: k for k, v in enumerate(order)}
    last = len(place)
    factors: list[list[Factor]] = [[] for _ in range(last + 1)]

    def bucket_of(scope: Iterable[int]) -> list[Factor]:
        return factors[min((place[v] for v in scope), default=last)]

    for p in potentials:
        bucket_of(p.scope).append((p.scope, p.log_values))
    buckets = []
    for k, v in enumerate(order):
        others = tuple(sorted({u for scope, _ in factors[k] for u in scope} - {v}))
        table = _multiply(factors[k], (*others, v))
        buckets.append(Bucket(v, others, table))
        factors[k] = []  # free the tables
        bucket_of(others).append((others, log_sum(table)))
    return buckets[::-1], float(sum(values for _, values in factors[last]))


def _align(factor: Factor, scope: Sequence[int]) -> Array:
    """The factor's values with one axis for each variable of `scope`, of size 1 where absent."""
    axes, values = factor
    moved = values.transpose([axes.index(v) for v in scope if v in axes])
    return moved[tuple(slice(None) if v in axes else None for v in scope)]


def _multiply(factors: Sequence[Factor], scope: Sequence[int]) -> Floats:
    """The sum of the logs over `scope`."""
    total: Floats = np.zeros((1,) * len(scope))
    for factor in sorted(factors, key=lambda f: f[1].size):
        total = total + _align(factor, scope)
    return total


def sample_exactly(
    potentials: Iterable[Potential],
    cards: npt.ArrayLike,
    evidence: Mapping[int, int],
    n: int,
    rng: np.random.Generator,
    *,
    names: Sequence[str] | None = None,
) -> Codes | None:
    """Codes (n_variables, n) of n independent exact draws given the evidence; None if impossible.

    Variables are summed out once, and then drawn in reverse order, each given those in its bucket
    that are already drawn. A variable in no potential is uniform.
    """
    sizes: Ints = np.asarray(cards, dtype=np.int64)
    codes: Codes = np.empty((sizes.size, n), dtype=np.uint16)
    free = [v for v in range(sizes.size) if v not in evidence]
    reduced, _ = leveled(at_evidence(potentials, sizes, evidence))
    reduced += [Potential((v,), np.zeros(sizes[v])) for v in free]
    if not is_worth_compiling(reduced, sizes):
        raise TableSizeError(
            f"exact draws need more than the {LARGE_CELLS:,} table cells that are allowed; give "
            "evidence on more columns, or draw by method='gibbs'."
        )
    order = elimination_order([p.scope for p in reduced], sizes, names)
    buckets, log_weight = _eliminate(reduced, order)
    if log_weight == -np.inf:
        return None
    for v, code in evidence.items():
        codes[v] = code
    for v, others, table in buckets:
        logs = table.reshape(-1, sizes[v])
        largest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(largest == -np.inf, 0.0, largest))
        codes[v] = draw_states(rng, weights, cell_of(codes, others, sizes))
    return codes


def sample_forward(
    tables: Sequence[Floats],
    parents: Sequence[Sequence[int]],
    order: Iterable[int],
    evidence: Mapping[int, int],
    n: int,
    rng: np.random.Generator,
) -> tuple[Codes, Floats]:
    """(codes (n_variables, n), log-weights (n,)) drawn along `order`, parents first.

    tables[i] has the axes (parents of i…, i). A variable in `evidence` is set to its state, whose
    probability multiplies the weight of the row (likelihood weighting: Fung & Chang, Shachter &
    Peot 1989). Without evidence the draws are exact and the log-weights 0.
    """
    cards = np.array([table.shape[-1] for table in tables], dtype=np.int64)
    codes: Codes = np.empty((cards.size, n), dtype=np.uint16)
    log_weights: Floats = np.zeros(n)
    for i in order:
        rows = tables[i].reshape(-1, cards[i])
        cells = cell_of(codes, parents[i], cards)
        if i in evidence:
            codes[i] = evidence[i]
            with np.errstate(divide="ignore"):
                log_weights += np.log(rows[cells, evidence[i]])
        else:
            codes[i] = draw_states(rng, rows, cells)
    return codes, log_weights


def draw_states(rng: np.random.Generator, weights: Floats, cells: Ints) -> Ints:
    """A state for each entry of `cells`, drawn from that row of `weights`, shape (m, card).

    Rows need not sum to 1; a state of weight zero is never drawn. Cost: a uniform number for each
    entry, then a binary search for all entries together, O(n log card).
    """
    upper = np.cumsum(weights, axis=1)
    uniform = rng.random(cells.size) * upper[cells, -1]
    low: Ints = np.zeros(cells.size, dtype=np.int64)
    high = np.full(cells.size, weights.shape[1] - 1)
    for _ in range(int(weights.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        above = uniform >= upper[cells, middle]
        low = np.where(above, np.minimum(middle + 1, high), low)
        high = np.where(above, high, middle)
    return low


def cell_of(codes: Codes, scope: Iterable[int], cards: Ints) -> Ints:
    """For each row of `codes` the flat cell of `scope` in a table of axes (scope…)."""
    cells: Ints = np.zeros(codes.shape[1], dtype=np.int64)
    for v in scope:
        cells = cells * cards[v] + codes[v]
    return cells


def answer_interval(
    families: Mapping[tuple[int, ...], Floats],
    cards: Ints,
    targets: Sequence[int],
    evidence: Mapping[int, int],
    fixed: Sequence[Potential] = (),
    *,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """(mean, lower, upper) of P(targets | evidence) over tables drawn from Dirichlet distributions.

    `families` maps scopes (parents…, variable) to the Dirichlet parameters of their tables. The
    bounds contain the middle `level` of the answers, cell by cell. `fixed` are potentials without
    uncertainty.
    """
    if not (0 < level < 1 and draws >= 2):
        raise ParameterError(
            f"level={level!r}, draws={draws!r}; a level between 0 and 1, and 2 draws or more, are "
            "needed."
        )
    answers = []
    for _ in range(draws):
        drawn = [Potential(scope, draw_dirichlet_logs(rng, a)) for scope, a in families.items()]
        answers.append(marginal([*drawn, *fixed], cards, targets, evidence)[0])
    stack = np.stack(answers)
    low, high = np.quantile(stack, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return stack.mean(axis=0), low, high


def draw_dirichlet_logs(rng: np.random.Generator, alpha: Floats) -> Floats:
    """Logs of a draw from the Dirichlet distribution of each row of `alpha`, its last axis.

    A gamma variable of shape α is one of shape α + 1 times u^(1/α): in logs, so that α near 0 does
    not give a row of zeros (Marsaglia & Tsang 2000). Where α is 0, so is the probability.
    """
    with np.errstate(divide="ignore"):
        logs = (
            np.log(rng.standard_gamma(alpha + 1.0)) - rng.standard_exponential(alpha.shape) / alpha
        )
    return logs - log_sum(logs)[..., None]

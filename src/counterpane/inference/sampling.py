"""Draws of rows along a directed graph, and answers over tables drawn from their posterior."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from counterpane.errors import ParameterError
from counterpane.features import Potential
from counterpane.features.potential import log_sum
from counterpane.inference.exact_run import marginal
from counterpane.typing import Codes, Floats, Ints


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

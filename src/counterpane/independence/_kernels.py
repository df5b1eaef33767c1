"""Statistics of tables with axes (configuration of given, x, y), y fastest.

Tables come as count batches lay them out: table q has the columns
`scopes[scope_from[q]:scope_from[q+1]]`, of which the last two are x and y, and the cells
`out_from[q]:out_from[q+1]`, none where it is stored sparsely. `n_slices[q]` is the number of
configurations to reckon with, 0 for those that occur. All logs are natural.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from counterpane._jit import kernel

TINY = 1e-280  # below, a sum of exponentials is taken in log space


@kernel
def _margins(table: Any, rows: Any, columns: Any) -> float:
    """Fill the margins of one slice and return its total."""
    rows[:] = 0.0
    columns[:] = 0.0
    total = 0.0
    for i in range(rows.size):
        for j in range(columns.size):
            cell = float(table[i * columns.size + j])
            rows[i] += cell
            columns[j] += cell
        total += rows[i]
    return total


@kernel
def _occurring(counts: Any) -> int:
    """The number of positive counts; a plain loop compiles several times faster than NumPy's."""
    occurring = 0
    for i in range(counts.size):
        if counts[i] > 0:
            occurring += 1
    return occurring


@kernel
def _pearson(table: Any, rows: Any, columns: Any, total: float) -> float:
    """Σ (N − E)² / E of one slice, over cells with E > 0."""
    statistic = 0.0
    for i in range(rows.size):
        for j in range(columns.size):
            expected = rows[i] * (columns[j] / total)
            if expected > 0:
                gap = table[i * columns.size + j] - expected
                statistic += gap / expected * gap
    return statistic


@kernel
def _information(table: Any, rows: Any, columns: Any, total: float) -> float:
    """Σ N ln(N N_.. / (N_i. N_.j)) of one slice: its total times its mutual information."""
    information = 0.0
    for i in range(rows.size):
        for j in range(columns.size):
            cell = float(table[i * columns.size + j])
            if cell > 0:
                information += cell * math.log(cell / rows[i] * (total / columns[j]))
    return max(information, 0.0)


@kernel
def _scratch(cards: Any, scopes: Any, scope_from: Any, back: int) -> Any:
    """Room for one margin of the largest table, that of the column `back` places from the end."""
    largest = 0
    for q in range(scope_from.size - 1):
        largest = max(largest, cards[scopes[scope_from[q + 1] - back]])
    return np.empty(largest)


@kernel
def count_configurations(cards: Any, scopes: Any, scope_from: Any, out: Any) -> None:
    """Fill `out` with the number of configurations of given: a float, as it may be astronomic."""
    for q in range(out.size):
        out[q] = 1.0
        for k in range(scope_from[q], scope_from[q + 1] - 2):
            out[q] = min(out[q] * cards[scopes[k]], 1e300)


@kernel
def asymptotic(values: Any, cards: Any, scopes: Any, scope_from: Any, out_from: Any, n_slices: Any,
               pearson: bool, out: Any) -> None:  # fmt: skip
    """Fill rows of `out` with Pearson's χ², or else G², and the degrees of freedom.

    Where n_slices[q] = 0, slice k adds (rows_k − 1)(columns_k − 1), and only rows and columns that
    occur in it count.
    """
    all_rows = _scratch(cards, scopes, scope_from, 2)
    all_columns = _scratch(cards, scopes, scope_from, 1)
    for q in range(scope_from.size - 1):
        rows = all_rows[: cards[scopes[scope_from[q + 1] - 2]]]
        columns = all_columns[: cards[scopes[scope_from[q + 1] - 1]]]
        size = rows.size * columns.size
        statistic = freedom = 0.0
        for start in range(out_from[q], out_from[q + 1], size):
            table = values[start : start + size]
            total = _margins(table, rows, columns)
            free = (_occurring(rows) - 1) * (_occurring(columns) - 1)
            if total == 0 or free == 0:
                continue  # the statistic is 0 here, and must not be 1e-30 by rounding
            freedom += free
            if pearson:
                statistic += _pearson(table, rows, columns, total)
            else:
                statistic += 2 * _information(table, rows, columns, total)
        if n_slices[q] > 0:
            freedom = n_slices[q] * (rows.size - 1) * (columns.size - 1)
        out[q, 0] = statistic
        out[q, 1] = freedom


@kernel
def _log_dirichlet(counts: Any, alpha: float, total: float) -> float:
    """ln of the Dirichlet–multinomial probability of a sequence with these counts, each α equal."""
    log_prob = math.lgamma(counts.size * alpha) - math.lgamma(counts.size * alpha + total)
    at_zero = math.lgamma(alpha)
    for i in range(counts.size):
        if counts[i] > 0:
            log_prob += math.lgamma(alpha + counts[i]) - at_zero
    return log_prob


@kernel
def bayesian(values: Any, cards: Any, scopes: Any, scope_from: Any, out_from: Any,
             n_slices: Any, consistent: bool, prior: float, out: Any) -> None:  # fmt: skip
    """Fill rows of `out` with ln P(D | CI), ln P(D | not CI) and P(CI | D).

    With g_k and h_k the likelihoods of slice k if independent and if not, p = prior^(1/K) and
    e_k = h_k (1 − p) / (g_k p), the posterior is Π 1 / (1 + e_k) = exp(−t), t = Σ ln(1 + e_k), and
    P(D | not CI) = P(D | CI) · prior / (1 − prior) · (exp(t) − 1), K slices in all; one without
    rows has g = h = 1.
    """
    all_rows = _scratch(cards, scopes, scope_from, 2)
    all_columns = _scratch(cards, scopes, scope_from, 1)
    for q in range(scope_from.size - 1):
        rows = all_rows[: cards[scopes[scope_from[q + 1] - 2]]]
        columns = all_columns[: cards[scopes[scope_from[q + 1] - 1]]]
        size = rows.size * columns.size
        alpha = float(columns.size) if consistent else 1.0
        beta = float(rows.size) if consistent else 1.0
        observed = 0
        for start in range(out_from[q], out_from[q + 1], size):
            observed += min(_occurring(values[start : start + size]), 1)
        k = n_slices[q] if n_slices[q] > 0 else float(max(observed, 1))
        log_p = math.log(prior) / k
        log_odds = log_p - math.log(-math.expm1(log_p))
        log_g = 0.0
        t = (observed - k) * log_p
        top, scaled = -np.inf, 0.0  # Σ e_k = exp(top) · scaled
        for start in range(out_from[q], out_from[q + 1], size):
            table = values[start : start + size]
            total = _margins(table, rows, columns)
            if total == 0:
                continue
            g = _log_dirichlet(rows, alpha, total) + _log_dirichlet(columns, beta, total)
            log_e = _log_dirichlet(table, 1.0, total) - g - log_odds
            log_g += g
            t += max(log_e, 0.0) + math.log1p(math.exp(-abs(log_e)))
            scaled = scaled * math.exp(min(top - log_e, 0.0)) + math.exp(min(log_e - top, 0.0))
            top = max(top, log_e)
        if t > 700:
            excess = t
        elif t > TINY:
            excess = math.log(math.expm1(t))
        else:
            excess = top + math.log(scaled)
        out[q, 0] = log_g
        out[q, 1] = log_g + math.log(prior) - math.log1p(-prior) + excess
        out[q, 2] = math.exp(-t)


@kernel
def pair_information(counts: Any, starts: Any, out: Any) -> None:
    """Fill out[i, j] with the mutual information of columns i and j, from all states by all."""
    largest = 0
    for i in range(out.shape[0]):
        largest = max(largest, starts[i + 1] - starts[i])
    all_rows, all_columns = np.empty(largest), np.empty(largest)
    cells = np.empty(largest * largest)
    for i in range(out.shape[0]):
        rows = all_rows[: starts[i + 1] - starts[i]]
        for j in range(i, out.shape[0]):
            columns = all_columns[: starts[j + 1] - starts[j]]
            table = cells[: rows.size * columns.size]
            for a in range(rows.size):
                for b in range(columns.size):
                    table[a * columns.size + b] = counts[starts[i] + a, starts[j] + b]
            total = _margins(table, rows, columns)
            information = 0.0
            if total > 0:
                information = _information(table, rows, columns, total) / total
            out[i, j] = out[j, i] = information

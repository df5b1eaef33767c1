"""Naive twins of the independence tests: rows are tuples, sums are loops, logs have 80 digits."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np


def slices(rows, x, y, given):
    """{configuration of given: Counter of (x, y)}, over the rows without a None among these."""
    found = {}
    for row in rows:
        if all(row[v] is not None for v in (x, y, *given)):
            found.setdefault(tuple(row[v] for v in given), Counter())[row[x], row[y]] += 1
    return found


def asymptotic(tables, pearson):
    """(statistic, observed degrees of freedom) of an iterable of Counters of (i, j)."""
    statistic, freedom = 0.0, 0
    for table in tables:
        total = sum(table.values())
        rows, columns = Counter(), Counter()
        for (i, j), n in table.items():
            rows[i] += n
            columns[j] += n
        freedom += (len(rows) - 1) * (len(columns) - 1)
        for i in rows:
            for j in columns:
                expected = rows[i] * columns[j] / total
                n = table[i, j]
                if pearson:
                    statistic += (n - expected) ** 2 / expected
                elif n:
                    statistic += 2 * n * math.log(n / expected)
    return statistic, freedom


def stratified(tables):
    """(Q, df, heterogeneous statistic, its mean) of arrays (slices, I, J), by pseudo-inverse."""
    tables = tables[:, tables.sum(axis=(0, 2)) > 0][:, :, tables.sum(axis=(0, 1)) > 0].astype(float)
    _, n_i, n_j = tables.shape
    size = (n_i - 1) * (n_j - 1)
    d, v, uneven, mean = np.zeros(max(size, 0)), np.zeros((size, size)), 0.0, 0
    if size == 0:
        return 0.0, 0, 0.0, 0
    for table in tables:
        n, r, c = table.sum(), table.sum(axis=1), table.sum(axis=0)
        if n < 2:
            continue
        expected = np.outer(r, c) / n
        d += (table - expected)[:-1, :-1].ravel()
        across = (np.diag(r) * n - np.outer(r, r))[:-1, :-1]
        down = (np.diag(c) * n - np.outer(c, c))[:-1, :-1]
        v += np.kron(across, down) / (n * n * (n - 1))
        occurring = expected > 0
        chi2 = ((table - expected)[occurring] ** 2 / expected[occurring]).sum()
        uneven += chi2 * (n - 1) / n
        mean += ((r > 0).sum() - 1) * ((c > 0).sum() - 1)
    inverse = np.linalg.pinv(v, rcond=1e-10, hermitian=True)
    return d @ inverse @ d, np.linalg.matrix_rank(v, tol=1e-9), uneven, mean


def dirichlet(counts, alpha):
    """The exact probability of a sequence with whole `counts`, all parameters equal and whole."""
    prob, seen = Decimal(1), 0
    for count in counts:
        for n in range(count):
            prob *= Decimal(alpha + n) / Decimal(alpha * len(counts) + seen)
            seen += 1
    return prob


def bayesian(tables, consistent, k=None, prior=0.5):
    """(ln P(D|CI), ln P(D|not CI), P(CI|D)) of r×s nested lists, by the definition.

    With k above the number of tables the rest are empty.
    """
    with localcontext() as context:
        context.prec = 1000  # 1 − Π p g / (p g + q h) cancels as many digits as the posterior has
        k = k or len(tables)
        p = Decimal(prior) ** (Decimal(1) / k)
        all_g, all_pg, all_mixed = Decimal(1), Decimal(1), Decimal(1)
        for table in [*tables, *[[[0]]] * (k - len(tables))]:
            r, s = len(table), len(table[0])
            g = dirichlet([sum(row) for row in table], s if consistent else 1)
            g *= dirichlet([sum(c) for c in zip(*table, strict=True)], r if consistent else 1)
            h = dirichlet([n for row in table for n in row], 1)
            all_g *= g
            all_pg *= p * g
            all_mixed *= p * g + (1 - p) * h
        dependent = (all_mixed - all_pg) / (1 - Decimal(prior))
        return float(all_g.ln()), float(dependent.ln()), float(all_pg / all_mixed)


def entropy(rows, columns):
    """−Σ p ln p of the rows' values in some columns."""
    counts = Counter(tuple(row[c] for c in columns) for row in rows)
    return -sum(n / len(rows) * math.log(n / len(rows)) for n in counts.values())

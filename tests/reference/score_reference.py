"""Family scores by the book, one row and one cell at a time. Free of the library. Natural logs."""

from __future__ import annotations

import math


def family_counts(codes, weights, child, parents):
    """{parents' states: {child's state: weight}} of the rows."""
    table = {}
    for row in range(len(codes[child])):
        config = tuple(int(codes[p][row]) for p in parents)
        state = int(codes[child][row])
        cells = table.setdefault(config, {})
        cells[state] = cells.get(state, 0.0) + (1.0 if weights is None else float(weights[row]))
    return table


def total(codes, weights):
    """N, the weight of all rows."""
    return float(len(codes[0]) if weights is None else sum(map(float, weights)))


def n_parameters(cards, child, parents):
    """q (r − 1), with q the number of all configurations, seen or not."""
    q = math.prod(int(cards[p]) for p in parents)
    return q * (int(cards[child]) - 1)


def loglik(codes, weights, cards, child, parents):
    """Σ N_jk ln(N_jk / N_j)."""
    value = 0.0
    for cells in family_counts(codes, weights, child, parents).values():
        n_j = sum(cells.values())
        value += sum(n * math.log(n / n_j) for n in cells.values() if n > 0)
    return value


def aic(codes, weights, cards, child, parents):
    """LL − p."""
    return loglik(codes, weights, cards, child, parents) - n_parameters(cards, child, parents)


def bic(codes, weights, cards, child, parents):
    """LL − ½ p ln N."""
    p = n_parameters(cards, child, parents)
    likelihood = loglik(codes, weights, cards, child, parents)
    return likelihood - 0.5 * p * math.log(total(codes, weights))


def dirichlet(codes, weights, cards, child, parents, alpha):
    """Σ_j [lnΓ(α_j) − lnΓ(α_j + N_j) + Σ_k lnΓ(α_jk + N_jk) − lnΓ(α_jk)].

    `alpha(config, state)` gives α_jk; configurations that do not occur add nothing.
    """
    value = 0.0
    for config, cells in family_counts(codes, weights, child, parents).items():
        alphas = [alpha(config, k) for k in range(int(cards[child]))]
        n_j = sum(cells.values())
        if n_j == 0:
            continue
        value += math.lgamma(sum(alphas)) - math.lgamma(sum(alphas) + n_j)
        for k, n in cells.items():
            if n > 0 and alphas[k] == 0:
                return -math.inf
            if n > 0:
                value += math.lgamma(alphas[k] + n) - math.lgamma(alphas[k])
    return value


def k2(codes, weights, cards, child, parents, alpha=1.0):
    """α_jk = alpha."""
    return dirichlet(codes, weights, cards, child, parents, lambda config, k: alpha)


def bdeu(codes, weights, cards, child, parents, size):
    """α_jk = size / (r q)."""
    cells = math.prod(int(cards[v]) for v in (child, *parents))
    return dirichlet(codes, weights, cards, child, parents, lambda config, k: size / cells)


def bde(codes, weights, cards, child, parents, size, joint):
    """α_jk = size · P(child = k, parents = j) under `joint`, a table with one axis a variable."""

    def alpha(config, k):
        wanted = dict(zip(parents, config, strict=True)) | {child: k}
        where = tuple(wanted.get(v, slice(None)) for v in range(joint.ndim))
        return size * float(joint[where].sum())

    return dirichlet(codes, weights, cards, child, parents, alpha)

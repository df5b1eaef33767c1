"""The stratified test: its level in thin slices, and what the second term sees."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.data import Schema, Table
from counterpane.errors import ParameterError
from error_checks import raises


def bound(codes, **options):
    table = Table(Schema.from_cards([2] * len(codes)), codes)
    return cp.StratifiedTest(**options).bind(cp.MemoryCounts(table))


def tree(rng, n, rows, flip=0.27):
    """A tree of `n` binary columns, log-odds ratio 2 an edge; column i hangs on an earlier one."""
    codes, parents = rng.integers(0, 2, (n, rows)), [-1]
    for i in range(1, n):
        parents.append(int(rng.integers(0, i)))
        codes[i] = codes[parents[i]] ^ (rng.random(rows) < flip)
    return codes, parents


@pytest.mark.parametrize("rows", [500, 2000])
def test_false_dependence_stays_near_the_level(rows):
    """At level .05, at most .08 of independent pairs, for up to twelve conditioning columns."""
    rng = np.random.default_rng(1)
    wrong: dict[int, list[bool]] = {size: [] for size in (1, 3, 5, 8, 12)}
    for _ in range(40):
        codes, parents = tree(rng, 30, rows)
        test = bound(codes, alpha=0.05)
        for size, errors in wrong.items():
            for _ in range(10):
                x = int(rng.integers(2, 30))
                y = int(rng.choice([v for v in range(x) if v != parents[x]]))
                rest = [v for v in rng.permutation(30).tolist() if v not in (x, y, parents[x])]
                # the parent separates x from y, which is not below x; so does every larger set
                errors.append(not test(x, y, [parents[x], *rest[: size - 1]]).independent)
    shares = {size: float(np.mean(errors)) for size, errors in wrong.items()}
    assert max(shares.values()) <= 0.08, shares


def test_a_true_edge_is_seen_given_twelve_others():
    rng = np.random.default_rng(2)
    seen = []
    for _ in range(40):
        codes, parents = tree(rng, 20, 2000)
        x = int(rng.integers(1, 20))
        rest = [v for v in range(20) if v not in (x, parents[x])][:12]
        seen.append(not bound(codes)(x, parents[x], rest).independent)
    assert np.mean(seen) >= 0.9


def test_association_that_cancels_is_seen_by_the_second_term():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, 10_000))
    codes = np.array([x, y, x ^ y ^ (rng.random(10_000) < 0.1)])
    both, shared = bound(codes), bound(codes, heterogeneity=False)
    assert both(0, 1).independent and both(0, 2).independent
    assert shared(0, 1, 2).independent and not both(0, 1, 2).independent
    assert both(0, 1, 2).gap < -1000 < 0 < shared(0, 1, 2).gap


def test_gap_and_level_decide():
    codes = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], [268, 232, 232, 268], axis=1)  # χ² = 5.2
    by_gap, by_level = bound(codes)(0, 1), bound(codes, alpha=0.05)(0, 1)
    assert by_gap[1:] == by_level[1:]
    assert by_gap.independent and not by_level.independent
    assert by_gap.gap == pytest.approx((np.log(1000) - by_gap.statistic) / 2)
    assert by_gap.log_evidence == by_gap.gap
    with raises(ParameterError, parameter="alpha", value=1):
        cp.StratifiedTest(1)

"""The price of an edge: its formula, and that it is a prior of skeletons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import counterpane as cp
from counterpane.errors import ParameterError
from counterpane.scores import score_dag
from counterpane.scores.edge_price import edge_prices, false_edge_rate, with_edge_price
from error_checks import raises


def test_an_edge_pays_the_larger_of_two_prices():
    n, rows, rate = 2000, 1000, 0.02
    prices = edge_prices(cp.BIC(), rows, n, rate)
    for d in (1, 2, 4, 9, 30):
        chance, bic = chi2.isf(2 * rate / n, d) / 2, d / 2 * np.log(rows)
        assert prices[d] == pytest.approx(max(0.0, chance - bic))
    assert prices[30] == 0.0 < prices[3]
    assert edge_prices(cp.AIC(), rows, n, rate)[1] > prices[1]  # its own penalty is smaller
    assert edge_prices(cp.BDeu(), rows, n, rate) == pytest.approx(prices)
    assert not edge_prices(cp.BIC(), rows, n, None).any()


def test_node_average_scores_pay_per_row():
    nal = cp.NodeAverageLikelihood()
    total = 500.0
    price = edge_prices(nal, total, 1000, 0.02)[1]
    chance = chi2.isf(2 * 0.02 / 1000, 1) / 2
    assert price == pytest.approx((chance - nal.form(total).a * total) / total)


@pytest.mark.parametrize("rate", [0, -1, np.inf, np.nan, "many", True])
def test_bad_rates(rate):
    with raises(ParameterError, parameter="false_edges"):
        false_edge_rate(rate, 10)


@pytest.mark.parametrize("score", [cp.BIC(), cp.BDeu(3.0)])
def test_equivalent_networks_pay_alike(score):
    rng = np.random.default_rng(0)
    cards = [2, 3, 4, 2]
    codes = np.array([rng.integers(0, r, 60) for r in cards], dtype=np.uint8)
    source = cp.MemoryCounts(cp.Table(cp.Schema.from_cards(cards), codes))
    priced = with_edge_price(score, source.schema.cards, 60.0, 1e-9)
    chain, turned = [(), (0,), (1,), (2,)], [(1,), (2,), (3,), ()]
    plain = [score_dag(score, source, parents) for parents in (chain, turned)]
    paid = [score_dag(priced, source, parents) for parents in (chain, turned)]
    prices = edge_prices(score, 60.0, 4, 1e-9)
    assert paid[0] == pytest.approx(paid[1])
    assert plain[0] - paid[0] == pytest.approx(prices[2] + prices[6] + prices[3])
    assert priced.is_score_equivalent


def test_no_price_leaves_the_score_as_it_is():
    score = cp.BIC()
    assert with_edge_price(score, np.array([2, 2]), 100.0, None) is score

"""Laws of posteriors over networks, on tables of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpane.data import Schema, Table
from counterpane.learners.bayesian.exact_posterior import ExactPosterior
from counterpane.learners.bayesian.order_mcmc import OrderMCMC
from counterpane.scores import BIC, K2, BDeu
from law_settings import examples


@st.composite
def tables(draw):
    n = draw(st.integers(1, 5))
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    rows = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.array([rng.integers(0, c, rows) for c in cards])
    if n > 1 and draw(st.booleans()):
        codes[1] = codes[0] % cards[1]
    return Table(Schema.from_cards(cards), codes)


scores = st.sampled_from([BDeu(), BDeu(20), K2(), BIC()])
priors = st.sampled_from(["uniform", "order"])


def is_a_posterior(p):
    assert (p >= 0).all()
    assert (p <= 1).all()
    assert (np.diag(p) == 0).all()
    assert (p + p.T).max() <= 1 + 1e-9  # an edge cannot go both ways


@examples(60)
@given(tables(), scores, priors)
def test_edges_are_probabilities_and_the_sum_exceeds_the_best(table, score, prior):
    learner = ExactPosterior(score, prior=prior).fit(table)
    is_a_posterior(learner.edge_probabilities_)
    assert learner.log_evidence_ >= learner.best_score_ - 1e-9


@examples(40)
@given(tables(), scores, priors, st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter(table, score, prior, random):
    order = list(range(table.n_columns))
    random.shuffle(order)
    here = ExactPosterior(score, prior=prior).fit(table)
    there = ExactPosterior(score, prior=prior).fit(table.select(order))
    np.testing.assert_allclose(
        there.edge_probabilities_, here.edge_probabilities_[np.ix_(order, order)], atol=1e-9
    )
    np.testing.assert_allclose(there.log_evidence_, here.log_evidence_, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(there.best_score_, here.best_score_, rtol=1e-12, atol=1e-9)


@examples(30)
@given(tables(), st.sampled_from([BDeu(), BDeu(7), BIC()]))
def test_the_best_network_is_at_least_as_good_with_more_parents(table, score):
    best = [ExactPosterior(score, max_parents=k).fit(table).best_score_ for k in range(4)]
    assert (np.diff(best) >= -1e-9).all()


@pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")
@examples(20)
@given(tables(), scores, st.booleans(), st.integers(0, 100))
def test_sampled_edges_are_probabilities(table, score, partition, seed):
    learner = OrderMCMC(
        score, n_samples=20, n_chains=2, partition=partition, random_state=seed, n_models=3
    ).fit(table)
    is_a_posterior(learner.edge_probabilities_)
    assert np.isfinite(learner.log_scores_).all()
    assert np.isfinite(learner.standard_errors_).all()
    assert (learner.rhat_ > 0).all()

"""The coronary heart disease table (1841 × 6): posteriors known from independent programs."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.learners.bayesian.exact_posterior import ExactPosterior
from counterpane.learners.bayesian.order_mcmc import OrderMCMC

EDGES = [("Smoking", "P. Work"), ("M. Work", "Proteins"), ("M. Work", "Family")]
KNOWN = {
    "uniform": (-6727.997680, [0.4237, 0.8348, 0.7353]),
    "order": (-6726.152011, [0.4948, 0.8557, 0.7667]),
}


@pytest.fixture(name="table", scope="module")
def coronary(shared_data):
    return cp.read(shared_data / "bnlearn" / "coronary.csv.gz")


@pytest.mark.parametrize("prior", KNOWN)
def test_exact_posterior(table, prior):
    learner = ExactPosterior(cp.BDeu(1), prior=prior).fit(table)
    log_evidence, edges = KNOWN[prior]
    assert learner.log_evidence_ == pytest.approx(log_evidence, abs=1e-6)
    assert learner.best_score_ == pytest.approx(-6730.550147, abs=1e-6)
    named = {edge.ends: edge.share_of_mark for edge in learner.edges_}
    assert [round(named[e], 4) for e in EDGES] == edges


@pytest.mark.parametrize(("prior", "partition"), [("uniform", True), ("order", False)])
def test_samples_converge_to_it(table, prior, partition):
    exact = ExactPosterior(cp.BDeu(1), prior=prior).fit(table).edge_probabilities_
    chains = OrderMCMC(
        cp.BDeu(1), partition=partition, max_parents=5, n_samples=20_000, random_state=7
    ).fit(table)
    gap = np.abs(chains.edge_probabilities_ - exact)
    assert gap.max() < 0.01
    often = exact > 0.01
    assert (gap[often] < 4.5 * chains.standard_errors_[often]).all()
    assert chains.rhat_.max() < 1.01
    assert chains.score_rhat_ < 1.01
    other = ExactPosterior(prior="order" if partition else "uniform").fit(table)
    assert np.abs(chains.edge_probabilities_ - other.edge_probabilities_).max() > 0.05

"""Chow–Liu trees: root, prior, blocks and limits; what every learner does is in its contract."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from contract.test_learners_contract import make_frame, same_results, skeleton, stop_the_search
from counterpane.counts import MemoryCounts
from counterpane.data import Table
from counterpane.errors import FitError, UnknownNameError
from counterpane.learners import ChowLiu, StoppedEarly
from counterpane.scores import BIC, K2, BDe, BDeu, EdgeOdds, EdgePrior, LogLikelihood
from error_checks import raises


def test_an_unknown_score_or_root_offers_the_nearest():
    with raises(UnknownNameError, parameter="criterion", value="bicc"):
        ChowLiu("bicc").fit(make_frame())
    with raises(UnknownNameError, parameter="column", value="lungs"):
        ChowLiu(root="lungs").fit(make_frame())


@pytest.mark.parametrize("score", ["loglik", "bic", "k2", BDeu(3), K2(structure_prior=EdgePrior())])
@pytest.mark.parametrize("root", ["smoke", "sleep", "mood"])
def test_the_root_has_no_parents(score, root):
    learner = ChowLiu(score, root=root).fit(make_frame())
    assert learner.graph_.in_degree(root) == 0
    if score != "k2" and not isinstance(score, K2):
        assert skeleton(learner) == skeleton(ChowLiu(score).fit(make_frame()))


def test_blocks_of_children_do_not_matter(monkeypatch):
    for score in ("loglik", "bic", "k2"):
        whole = ChowLiu(score).fit(make_frame())
        with monkeypatch.context() as patch:
            patch.setattr("counterpane.learners.bayesian.chow_liu.STEP_CELLS", 1)
            split = ChowLiu(score).fit(make_frame())
        assert len(split.trace_) == 5 > len(whole.trace_)
        same_results(split, whole)
        assert split.gains_ == whole.gains_


def test_a_stopped_fit_gives_the_forest_of_what_was_counted(monkeypatch):
    monkeypatch.setattr("counterpane.learners.bayesian.chow_liu.STEP_CELLS", 1)
    stop_the_search(monkeypatch, after=2)
    with pytest.warns(StoppedEarly):
        learner = ChowLiu().fit(make_frame())
    assert all("smoke" in (a, b) or "lung" in (a, b) for a, b in learner.graph_.edges)
    assert learner.graph_.number_of_edges() == 4
    assert np.isfinite(learner.score_)


def test_edges_that_lose_to_the_prior_are_left_out():
    prior = EdgePrior(1e-9)  # each edge must earn 21 nats
    free = ChowLiu(LogLikelihood()).fit(make_frame(100))
    held = ChowLiu(LogLikelihood(structure_prior=prior)).fit(make_frame(100))
    earned = [edge for edge in free.gains_ if edge.strength > -np.log(1e-9)]
    assert 0 < len(held.gains_) == len(earned) < len(free.gains_)


def test_an_expert_may_forbid_a_direction():
    names = list(make_frame())
    odds = np.ones((5, 5))
    odds[names.index("smoke"), names.index("lung")] = 1e-30
    learner = ChowLiu(BIC(structure_prior=EdgeOdds(odds))).fit(make_frame())
    assert learner.graph_.has_edge("lung", "smoke")


def test_a_state_that_the_prior_network_excludes_is_named():
    table = cp.read(make_frame()[["smoke", "lung"]])
    prior = cp.BayesianNetwork(table.schema, cp.Dag(2, []), [[0.5, 0.5], [0.5, 0.5, 0.0]])
    with raises(FitError, about="'lung'"):
        ChowLiu(BDe(prior)).fit(table)


def test_a_prior_network_serves_as_a_score():
    table = cp.read(make_frame())
    flat = [np.full(v.card, 1 / v.card) for v in table.schema]
    prior = cp.BayesianNetwork(table.schema, cp.Dag(5, []), flat)
    ours, theirs = ChowLiu(BDe(prior, 5)).fit(table), ChowLiu(BDeu(5)).fit(table)
    assert ours.model_.dag.edges == theirs.model_.dag.edges
    assert ours.score_ == pytest.approx(theirs.score_, rel=1e-12)


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr("counterpane.learners.bayesian.chow_liu.MAX_GAINS", 20)
    with raises(cp.CounterpaneError, about=("5 columns", "25 gains")):
        ChowLiu().fit(make_frame())


def test_parameters_follow_the_sample_size():
    frame = make_frame()
    smooth = ChowLiu(root="smoke", equivalent_sample_size=1e9).fit(frame).model_
    assert smooth.tables[0] == pytest.approx(np.full(2, 0.5), abs=1e-6)
    sharp = ChowLiu(root="smoke", equivalent_sample_size=1e-9).fit(frame).model_
    assert sharp.tables[0][1] == pytest.approx((frame["smoke"] == "yes").mean(), abs=1e-9)
    table = cp.read(frame)
    counts = MemoryCounts(table).counts([[0]])[0]
    found = ChowLiu(root="smoke").fit(table).model_.tables[0]
    assert np.allclose(found, (counts + 0.5) / 401, rtol=1e-12)


def test_a_table_of_many_states():
    rng = np.random.default_rng(0)
    frame = {"id": rng.integers(0, 300, 2000), "parity": None}
    frame["parity"] = frame["id"] % 2
    table = Table.from_frame(frame, max_states=300)
    learner = ChowLiu().fit(table)
    assert learner.gains_[0].strength == pytest.approx(2000 * np.log(2), rel=0.01)

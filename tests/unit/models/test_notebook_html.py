"""What notebooks show: small, escaped, without scripts, with the results."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import counterpane as cp

NASTY = "<script>alert('x')</script>&\"'"


def parsed(page):
    """The page as XML: it is well formed, and has none of the elements that act."""
    root = ET.fromstring(page)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not names & {"script", "iframe", "object", "link", "img", "style"}
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)
    return root


def words(page):
    return " ".join(parsed(page).itertext())


@pytest.fixture(scope="module", name="nasty")
def nasty_frame():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    return pd.DataFrame(
        {
            NASTY: np.where(a, "<b>yes", "no"),
            "b": np.where(rng.random(300) < 0.1, 1 - a, a),
            "</svg>": np.where(rng.random(300) < 0.2, 1 - a, a),
        }
    )


LEARNERS = [
    cp.ChowLiu(),
    cp.GSMN(),
    cp.PairwiseMarkovLearner(),
    cp.HybridRandomFieldLearner(),
    cp.DependencyNetworkLearner(),
    cp.ExactPosterior(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda x: type(x).__name__)
def test_names_and_states_are_escaped(learner, nasty):
    fitted = learner.fit(nasty)
    for thing in (fitted, fitted.model_):
        page = thing._repr_html_()
        told = words(page)
        assert "<script" not in page
        assert NASTY[:31] in told  # labels are cut
        assert "</svg>" in told


def test_classifiers_and_bootstraps(nasty):
    classifier = cp.InteractionClassifier().fit(nasty, "b")
    assert NASTY in words(classifier._repr_html_())
    told = words(classifier.model_._repr_html_())
    assert "class 'b'" in told and "effect on log-odds" in told
    largest = classifier.interactions_[0]
    assert f"±{largest['effect']:.2f}" in told and f"{largest['explained']:.0%}" in told
    answer = classifier.model_.query("b", {})._repr_html_()
    assert answer.count("width:") == 2 and "<th" in answer
    result = cp.bootstrap(cp.HillClimb(), nasty, 20, random_state=0)
    told = words(result._repr_html_())
    assert "20 samples, 3 columns" in told
    first = result.edges[0]
    assert "share of 20 samples" in told
    assert f"{first.share:.2f}" in told
    few = words(cp.bootstrap(cp.HillClimb(), nasty, 5, random_state=0)._repr_html_())
    assert "No shares are shown: at least 20 samples are needed." in few
    marked = cp.NaiveBayes().fit(nasty, "b")._repr_html_()
    assert marked.count('fill-opacity="0.25"') == 1


def test_learners_show_parameters_then_results():
    told = words(cp.HillClimb("k2", tabu=3)._repr_html_())
    assert "HillClimb(criterion='k2', tabu=3)" in told
    assert "not fitted yet" in told
    assert "max_parents" in told
    learner = cp.HillClimb().fit(cp.load_dataset("titanic"))
    told = words(learner._repr_html_())
    assert f"{learner.score_:.6g}" in told
    assert "not fitted" not in told
    svg = next(parsed(learner._repr_html_()).iter("{http://www.w3.org/2000/svg}svg"))
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}text"))) == 4


def test_tables(nasty):
    table = cp.Table.from_frame(nasty.assign(gap=["x", None, "y"] * 100))
    told = words(table._repr_html_())
    assert "300 rows × 4 columns" in told
    assert NASTY in told
    assert "<b>yes" in told
    assert "33.3%" in told
    share = table.shares("b").max()
    assert f"{share:.0%}" in told
    assert "weight 600" in table.reweighted(np.full(300, 2.0))._repr_html_()


def test_wide_tables_and_models_stay_small():
    table = cp.Table(cp.Schema.from_cards([2] * 10_000), np.zeros((10_000, 2), dtype=np.uint8))
    page = table._repr_html_()
    assert len(page) < 15_000
    assert "9,980 more" in words(page)
    cells = [f"{'s' * 3_000}{i}" for i in range(15)]
    long = cp.Table.from_frame({"x" * 5_000: cells * 2})
    assert len(long._repr_html_()) < 3_000
    small = cp.Table.from_frame({"x" * 5_000: cells})
    assert len(small._repr_html_()) < 300 * (len(cells) + 1)
    star = cp.Dag(100, [(0, i) for i in range(1, 100)])
    counts = [[1, 1]] + [np.ones((2, 2))] * 99
    model = cp.BayesianNetwork.from_counts(cp.Schema.from_cards([2] * 100), star, counts)
    page = model._repr_html_()
    assert len(page) < 8_000
    assert "79 more" in words(page)


def test_how_a_model_was_learned_and_what_links_show():
    model = cp.ChowLiu().fit(cp.load_dataset("titanic")).model_
    told = words(model._repr_html_())
    assert "ChowLiu()" in told
    assert "2201" in told
    buys = {"user": [1, 1, 2, 2, 3, 3, 4], "item": 3 * ["tea", "jam"] + ["ham"]}
    told = words(cp.LinkRanker("chow-liu").fit(buys)._repr_html_())
    assert "LinkRanker('chow-liu')" in told
    assert "tea" in told
    assert "LinkRanker" in words(cp.LinkRanker("naive-bayes").fit(buys)._repr_html_())
    assert words(cp.LinkRanker()._repr_html_()) == "LinkRanker('auto')"


def test_edges_without_a_known_direction_have_no_arrowhead():
    learner = cp.ChowLiu("bic").fit(cp.load_dataset("titanic"))
    for thing in (learner, learner.model_):
        page = thing._repr_html_()
        assert page.count("<path") == 3  # three lines, no heads
        assert "sex — survived: 0.1421 bits per row" in words(page)
    known = cp.HillClimb(tiers=[["sex"], ["survived"]]).fit(cp.load_dataset("titanic"))
    arrows = sum(e.directed for e in known.strengths_)
    assert 0 < arrows < 5
    assert known._repr_html_().count("<path") == 5 + arrows

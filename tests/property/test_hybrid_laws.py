"""Laws of Markov blanket merging on random tables."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import counterpane as cp
from law_settings import examples
from reference.hybrid_reference import Reference


@st.composite
def tables(draw, most_columns=7):
    n, rows = draw(st.integers(1, most_columns)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cards = rng.integers(1, 5, n)
    hidden = rng.integers(0, 4, (2, rows))
    noise = draw(st.sampled_from([0.0, 0.2, 0.6]))
    codes = [
        np.where(rng.random(rows) < noise, rng.integers(0, r, rows), hidden[rng.integers(2)] % r)
        for r in cards
    ]
    weights = draw(st.sampled_from([None, "whole", "real"]))
    if weights is not None:
        weights = rng.integers(1, 4, rows) if weights == "whole" else rng.gamma(2.0, 1.0, rows)
    return cp.Table(cp.Schema.from_cards(cards), np.array(codes), weights)


@given(tables(), st.integers(1, 4), st.integers(1, 5), st.sampled_from(["mdl", "bic"]))
@examples(80)
def test_the_pseudo_likelihood_never_falls_while_merging(table, k, k_max, score):
    learner = cp.HybridRandomFieldLearner(k, k_max, score).fit(table)
    merging = [r["pll"] for r in learner.trace_ if r["stage"] == "merging"]
    networks = [r["pll"] for r in learner.trace_ if r["stage"] == "networks"]
    assert (np.diff([networks[-1], *merging]) >= 0).all()
    assert learner.pll_ == merging[-1]
    own = learner.model_.pseudo_log_likelihood(table, total=True)
    weights = 1.0 if table.weights is None else table.weights
    assert np.isclose((own * weights).sum(), learner.pll_, rtol=1e-9, atol=1e-9)


@given(tables(most_columns=4), st.integers(1, 3), st.integers(1, 3))
@examples(25)
def test_the_reference_agrees_on_any_table(table, k, k_max):
    names, cards = table.schema.names, table.schema.cards
    twin = Reference(table.codes.T, cards, names, table.weights, k=k, k_max=k_max)
    _, passes, plls = twin.merge()
    learner = cp.HybridRandomFieldLearner(k, k_max).fit(table)
    assert learner.n_passes_ == passes
    assert np.isclose(learner.pll_, plls[-1], rtol=1e-9, atol=1e-9)

"""Laws of inexact inference: what is exact in any case, bounds, and zeros that stay zeros."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from counterpane.errors import EvidenceError
from counterpane.features import Blanket, Potential, Rules
from counterpane.inference import gibbs_tables
from counterpane.inference.gibbs import Gibbs, Sampler
from counterpane.inference.mean_field import MeanField, mean_field
from law_settings import examples
from reference.sampling_reference import rows_of

FAST = examples(60)
SHORT = Gibbs(n_chains=1, n_samples=3, burn_in=2)


@st.composite
def networks(draw, zeros=False):
    """(cards, potentials, rules) of two to six variables, of one to four states."""
    cards = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = []
    for _ in range(draw(st.integers(0, 3))):
        scope = rng.permutation(len(cards))[: rng.integers(0, 4)]
        values = rng.normal(size=[cards[v] for v in scope])
        if zeros:
            values = np.where(rng.random(values.shape) < 0.3, -np.inf, values)
        made.append(Potential(scope, values))
    listed = []
    for _ in range(draw(st.integers(0, 8))):
        some = rng.permutation(len(cards))[: rng.integers(0, len(cards) + 1)]
        conditions = []
        for v in some.tolist():
            values = rng.permutation(cards[v])[: rng.integers(1, max(2, cards[v]))].tolist()
            negated = cards[v] > 1 and bool(rng.random() < 0.5)
            conditions += [(v, value, negated) for value in (values if negated else values[:1])]
        weight = -np.inf if zeros and rng.random() < 0.2 else float(rng.normal())
        listed.append((weight, conditions))
    return cards, made, Rules.from_list(cards, listed)


@FAST
@given(networks(), st.integers(0, 2**32), st.booleans(), st.sampled_from([1, 4, 2**10]))
def test_one_free_variable_is_answered_exactly(network, seed, joint, cells):
    """Its conditional is the same in every sweep, however it is put together."""
    cards, potentials, rules = network
    rng = np.random.default_rng(seed)
    if joint:
        blanket = Blanket(cards, [*potentials, rules])
    else:
        blanket = Blanket.of_conditionals(
            cards, [[p for p in [*potentials, rules] if rng.random() < 0.7] for _ in cards]
        )
    row = np.array([[rng.integers(0, r)] for r in cards])
    expected = np.exp(blanket.full_conditionals(row))[0]
    limits = gibbs_tables.RULE_CELLS, gibbs_tables.POTENTIAL_CELLS, gibbs_tables.FREE_CELLS
    try:
        gibbs_tables.RULE_CELLS = gibbs_tables.POTENTIAL_CELLS = cells
        gibbs_tables.FREE_CELLS = 4 * cells
        sampler = Sampler(blanket)
        for v in range(len(cards)):
            evidence = {u: int(row[u, 0]) for u in range(len(cards)) if u != v}
            found = sampler.marginals(evidence, settings=SHORT)[v].probabilities
            start = sum(cards[:v])
            np.testing.assert_allclose(found, expected[start : start + cards[v]], atol=1e-12)
    finally:
        gibbs_tables.RULE_CELLS, gibbs_tables.POTENTIAL_CELLS, gibbs_tables.FREE_CELLS = limits


@FAST
@given(networks(zeros=True), st.integers(0, 2**32))
def test_impossible_rows_are_never_drawn(network, seed):
    cards, potentials, rules = network
    blanket = Blanket(cards, [*potentials, rules])
    rows = np.array(rows_of(cards)).T
    possible = {tuple(x) for x in rows[:, blanket.log_potential(rows) > -np.inf].T.tolist()}
    how = Gibbs(n_chains=3, n_samples=10, burn_in=0, random_state=seed)
    try:
        drawn = Sampler(blanket).draw(30, {}, settings=how)
    except EvidenceError:
        return  # none was found, or there is none
    assert possible.issuperset(map(tuple, drawn.T.tolist()))


@FAST
@given(networks(zeros=True))
def test_a_possible_row_is_found_where_most_rows_are(network):
    cards, potentials, rules = network
    blanket = Blanket(cards, [*potentials, rules])
    rows = np.array(rows_of(cards)).T
    if (blanket.log_potential(rows) > -np.inf).mean() > 0.2:
        found = Sampler(blanket).marginals({}, settings=SHORT)
        assert all(np.isfinite(e.probabilities).all() for e in found.values())


def test_a_start_that_leads_nowhere_is_left():
    """A quarter of the rows are possible; single changes of many others lead to none of them."""
    cards = [2, 2, 2, 2]
    rows = np.array(rows_of(cards))
    logs = np.where(rows.sum(axis=1) >= 3, 0.0, -np.inf).reshape(cards)
    logs[1, 1, 1, 1] = -np.inf
    away = Potential((0, 1, 2, 3), np.where(rows.sum(axis=1) == 0, 600.0, 0.0).reshape(cards))
    blanket = Blanket(cards, [Potential((0, 1, 2, 3), logs), away])
    for seed in range(20):
        how = Gibbs(n_chains=1, n_samples=3, burn_in=2, random_state=seed)
        assert (Sampler(blanket).draw(3, {}, settings=how).sum(axis=0) == 3).all()


@FAST
@given(networks())
def test_the_mean_field_bound_is_below_the_log_of_the_sum(network):
    cards, potentials, rules = network
    blanket = Blanket(cards, [*potentials, rules])
    logs = blanket.log_potential(np.array(rows_of(cards)).T)
    bounds = [mean_field(blanket, {}, settings=MeanField(k, 1e-12)).log_weight for k in (1, 3, 30)]
    assert bounds[-1] <= np.logaddexp.reduce(logs) + 1e-9
    assert bounds[0] <= bounds[1] + 1e-9  # no iteration makes it worse
    assert bounds[1] <= bounds[2] + 1e-9

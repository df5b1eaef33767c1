"""Belief propagation and best rows: exact on trees, near on loops, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from counterpane.errors import EvidenceError, ParameterError
from counterpane.features import Blanket, Potential, Rules
from counterpane.inference import BeliefPropagation, ClusterRun, map_query, marginal
from counterpane.inference.map import ICM, MaxProduct, climb_to_mode
from error_checks import raises
from reference.propagation_reference import loopy

TIGHT = BeliefPropagation(500, 1e-12)


def propagate(potentials, cards, evidence, settings=None):
    return ClusterRun(potentials, cards, evidence).propagate(settings or BeliefPropagation())


def max_product(potentials, cards, evidence):
    return ClusterRun(potentials, cards, evidence).best_row(MaxProduct())


def tree(seed, n=9):
    """Random factors of two and three variables whose graph is a tree, some over one scope."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, size=n)
    scopes, known = [], [0]
    while len(known) < n - 1:  # the last variable is on its own
        size = min(int(rng.integers(1, 3)), n - 1 - len(known))
        new = list(range(len(known), len(known) + size))
        scopes.append(tuple(rng.permutation([rng.choice(known), *new]).tolist()))
        known += new
    scopes += [(0,), scopes[0][::-1], ()]
    return [Potential(s, 2 * rng.normal(size=cards[list(s)])) for s in scopes], cards


def grid(rng, scale):
    pairs = [(4 * i + j, 4 * i + j + 1) for i in range(4) for j in range(3)]
    pairs += [(4 * i + j, 4 * i + j + 4) for i in range(3) for j in range(4)]
    return [Potential(p, scale * rng.normal(size=(2, 2))) for p in pairs], np.full(16, 2)


def spins(rng, strength):
    """A grid whose neighbors want to be alike or not, at random, with weak fields."""
    potentials, cards = grid(rng, 0.0)
    signs = rng.choice([-strength, strength], size=len(potentials))
    alike = np.array([[1.0, -1.0], [-1.0, 1.0]])
    fields = [Potential((v,), 0.2 * rng.normal(size=2)) for v in range(16)]
    return [
        *(Potential(p.scope, w * alike) for p, w in zip(potentials, signs, strict=True)),
        *fields,
    ], cards


@pytest.mark.parametrize("seed", range(200))
def test_messages_settle_where_the_definition_does(seed):
    """On networks with loops, in which no scope of two columns or more is inside another."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    cards = rng.integers(2, 4, size=n)
    scopes = []
    for _ in range(int(rng.integers(n - 1, 2 * n))):
        new = tuple(sorted(rng.choice(n, size=int(rng.integers(2, 4)), replace=False).tolist()))
        if not any(set(new) <= set(old) or set(old) <= set(new) for old in scopes):
            scopes.append(new)
    scopes += [(v,) for v in range(n)]
    potentials = [Potential(s, 0.7 * rng.normal(size=cards[list(s)])) for s in scopes]
    tables = {p.scope: np.exp(p.log_values) for p in potentials}
    marginals, log_weight, settled = loopy(cards.tolist(), tables)
    found = propagate(potentials, cards, {}, TIGHT)
    assert settled and found.converged
    for v, p in enumerate(marginals):
        np.testing.assert_allclose(found.marginals[v], p, atol=1e-7)
    assert found.log_weight == pytest.approx(log_weight, abs=1e-6)


def test_a_hub_of_a_thousand_tables_loses_no_state():
    pull = Potential((0, 1), [[0.0, 0.0], [-2.0, -2.0]])
    hub = [Potential((0, i), pull.log_values) for i in range(1, 1001)]
    found = propagate([*hub, Potential((0,), [-2000.0, 0.0])], [2] * 1001, {})
    np.testing.assert_allclose(found.marginals[0], [0.5, 0.5])
    assert found.log_weight == pytest.approx(1001 * np.log(2) - 2000)


@pytest.mark.parametrize("seed", range(12))
def test_trees_are_exact(seed):
    potentials, cards = tree(seed)
    evidence = {v: int(cards[v]) - 1 for v in range(seed % 3)}
    found = propagate(potentials, cards, evidence, settings=TIGHT)
    assert found.converged
    assert found.n_iter <= 2
    assert found.marginals.keys() == set(range(9)) - set(evidence)
    for v, p in found.marginals.items():
        np.testing.assert_allclose(p, marginal(potentials, cards, [v], evidence)[0], atol=1e-9)
    exact = marginal(potentials, cards, (), evidence)[1] + np.log(cards[8]) * (8 not in evidence)
    assert found.log_weight == pytest.approx(exact, abs=1e-9)


def test_long_chains_need_no_more_iterations():
    rng = np.random.default_rng(0)
    chain = [Potential((i, i + 1), rng.normal(size=(2, 2))) for i in range(299)]
    found = propagate(chain, [2] * 300, {})
    assert found.n_iter == 2
    exact = marginal(chain, [2] * 300, [150], {})
    np.testing.assert_allclose(found.marginals[150], exact[0], atol=1e-9)
    assert found.log_weight == pytest.approx(exact[1], abs=1e-6)


def test_loops_are_near_and_damping_leads_to_the_same_place():
    potentials, cards = grid(np.random.default_rng(1), 0.5)
    found = propagate(potentials, cards, {5: 1}, settings=TIGHT)
    assert found.converged
    assert 2 < found.n_iter < 100
    off = 0.0
    for v, p in found.marginals.items():
        off = max(off, float(np.abs(p - marginal(potentials, cards, [v], {5: 1})[0]).max()))
    assert 1e-9 < off < 0.01
    assert found.log_weight == pytest.approx(marginal(potentials, cards, (), {5: 1})[1], abs=0.02)
    damped = propagate(potentials, cards, {5: 1}, settings=BeliefPropagation(500, 1e-12, 0.5))
    assert damped.n_iter > found.n_iter
    for v, p in found.marginals.items():
        np.testing.assert_allclose(damped.marginals[v], p, atol=1e-9)


def test_swinging_messages_are_told():
    potentials, cards = spins(np.random.default_rng(1), 2.0)
    found = propagate(potentials, cards, {})
    assert not found.converged
    assert found.n_iter == 50
    assert found.change > 1e-4
    assert all(np.isfinite(p).all() for p in found.marginals.values())


def test_zeros():
    copy = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    found = propagate([copy, Potential((1, 2), np.log([[0.9, 0.1], [0.2, 0.8]]))], [2] * 3, {0: 1})
    assert found.marginals[1].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(found.marginals[2], [0.2, 0.8])
    not_both = Potential((0, 1), [[-np.inf, 0.0], [0.0, -np.inf]])
    refused = [
        lambda: propagate([copy, not_both], [2, 2], {}),
        lambda: propagate([copy], [2, 2], {0: 0, 1: 1}),
        lambda: propagate([copy, Potential((0,), [0.0, -np.inf])], [2, 2], {1: 1}),
        lambda: max_product([copy], [2, 2], {0: 0, 1: 1}),
    ]
    for ask in refused:
        with raises(EvidenceError, about="zero"):
            ask()


@pytest.mark.parametrize("settings", [{"damping": 1.0}, {"damping": -0.1}, {"max_iter": 0}])
def test_bad_settings(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        BeliefPropagation(**settings)


# ---- best rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_max_product_is_exact_on_trees_with_ties_too(seed):
    given, cards = tree(seed)
    potentials = [Potential(p.scope, np.round(p.log_values)) for p in given]
    evidence = dict.fromkeys(range(seed % 3), 0)
    found = max_product(potentials, cards, evidence)
    assert {v: found[v] for v in evidence} == evidence
    row = found[:, None]
    rest = [v for v in range(9) if v not in evidence]
    best = map_query(potentials, cards, rest, evidence)[1]
    assert Blanket(cards, potentials).log_potential(row)[0] == pytest.approx(best, abs=1e-9)


def test_climbing_ends_on_a_peak_and_restarts_find_the_best():
    potentials, cards = spins(np.random.default_rng(0), 1.0)
    blanket = Blanket(cards, potentials)
    best = map_query(potentials, cards, [v for v in range(16) if v != 3], {3: 1})[1]
    codes, score = climb_to_mode(blanket, {3: 1}, ICM(restarts=200))
    assert codes[3] == 1
    assert score == pytest.approx(best, abs=1e-9)
    assert score == pytest.approx(blanket.log_potential(codes[:, None])[0])
    once = [climb_to_mode(blanket, {3: 1}, ICM(restarts=1, random_state=s))[0] for s in range(20)]
    assert len({tuple(c.tolist()) for c in once}) > 1  # there are several peaks
    for peak in once:
        logs = blanket.full_conditionals(peak[:, None]).reshape(16, 2)
        own = np.take_along_axis(logs, peak[:, None], axis=1)[:, 0]
        assert (np.delete(own, 3) >= np.log(0.5) - 1e-9).all()
    again, _ = climb_to_mode(blanket, {}, ICM(), start=dict(enumerate(once[0].tolist())))
    assert blanket.log_potential(again[:, None])[0] >= blanket.log_potential(once[0][:, None])[0]


def test_climbing_on_rules_and_on_conditionals():
    cards = [2, 3, 2]
    rules = Rules.from_list(cards, [(2.0, [(0, 1, False), (1, 2, True)]), (1.0, [(2, 0, False)])])
    codes, score = climb_to_mode(Blanket(cards, [rules]), {1: 1}, ICM())
    assert codes.tolist() == [1, 1, 0]
    assert score == 3.0
    pair = Potential((0, 1), np.log([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]]))
    network = Blanket.of_conditionals(cards, [[pair], [pair], []])
    codes, score = climb_to_mode(network, {}, ICM())
    assert codes[:2].tolist() in ([0, 2], [1, 1])
    assert score == pytest.approx(network.pseudo_log_likelihood(codes[:, None], total=True)[0])
    with raises(ParameterError, parameter="restarts", value=0):
        ICM(restarts=0)

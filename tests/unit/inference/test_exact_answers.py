"""Plans, elimination, best explanations and exact draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from counterpane.errors import TableSizeError
from counterpane.features import Blanket, Potential
from counterpane.inference import ExactRun, Limits, map_query, marginal
from counterpane.inference.sampling import draw_states
from error_checks import raises


def test_a_thousand_factors_do_not_underflow():
    tiny = [Potential((0, i), np.full((2, 2), -50.0) + np.eye(2)) for i in range(1, 1001)]
    answer, log_weight = marginal([*tiny, Potential((0,), [0.0, -2.0])], [2] * 1001, [0], {})
    np.testing.assert_allclose(answer, [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))])
    assert math.isclose(log_weight, 1000 * (math.log(1 + math.e) - 50) + math.log1p(math.exp(-2)))


def test_small_entries_survive_until_evidence_needs_them():
    # Class 1 is e⁻²⁰⁰⁰ times as likely, until a deterministic child excludes class 0.
    potentials = [Potential((0, i), [[0.0, 0.0], [-20.0, -20.0]]) for i in range(2, 102)]
    potentials.append(Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]]))
    answer, log_weight = marginal(potentials, [2] * 102, [0], {1: 1})
    assert answer.tolist() == [0.0, 1.0]
    assert math.isclose(log_weight, 100 * (math.log(2) - 20))


def test_marginal_keeps_the_order_of_axes_and_variables_without_a_potential():
    table = np.arange(1.0, 7.0).reshape(2, 3)
    found, log_weight = marginal([Potential((0, 1), np.log(table))], [2, 3, 4], [2, 1, 0], {})
    np.testing.assert_allclose(found * math.exp(log_weight), np.broadcast_to(table.T, (4, 3, 2)))


def test_impossible_evidence_weighs_nothing():
    answer, log_weight = marginal([Potential((0, 1), [[0, -np.inf]] * 2)], [2, 2], [0], {1: 1})
    assert log_weight == -np.inf
    assert answer.tolist() == [0.0, 0.0]


def test_best_explanation_of_some_variables_sums_out_the_rest():
    # P(a) = .4, .6; given a=1 the three states of b share .6, so the pair's best has a=0.
    joint = np.log([[0.4, 1e-9, 1e-9], [0.2, 0.2, 0.2]])
    best, log_weight = map_query([Potential((0, 1), joint)], [2, 3], [0, 1], {})
    assert best == {0: 0, 1: 0}
    assert math.isclose(log_weight, math.log(0.4))
    best, log_weight = map_query([Potential((0, 1), joint)], [2, 3], [0], {})
    assert best == {0: 1}
    assert math.isclose(log_weight, math.log(0.6))
    assert map_query([], [2, 3], [1], {})[0] == {1: 0}


def test_more_axes_than_numpy_has_do_not_matter_for_single_states():
    cards = [2] + [1] * 90
    potentials = [Potential((0, i), [[0.0], [-0.01]]) for i in range(1, 91)]
    answer, _ = marginal(potentials, cards, [5], {})
    assert answer.tolist() == [1.0]
    assert set(map_query(potentials, cards, range(91), {})[0].values()) == {0}


def test_draw_never_takes_a_state_of_weight_zero():
    weights = np.array([[0.0, 2.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1e-300, 0.0, 0.0]])
    cells = np.repeat([0, 1], 20_000)
    drawn = draw_states(np.random.default_rng(0), weights, cells)
    assert set(drawn[:20_000]) == {1, 3}
    assert set(drawn[20_000:]) == {2}
    assert abs((drawn[:20_000] == 1).mean() - 2 / 3) < 0.02


def test_draw_at_the_edge_of_the_unit_interval():
    class Fixed:
        def __init__(self, value):
            self.value = value

        def random(self, n):
            return np.full(n, self.value)

    weights = np.array([[0.0, 2.0, 0.0, 1.0, 0.0]])
    assert draw_states(Fixed(0.0), weights, np.array([0])).tolist() == [1]
    assert draw_states(Fixed(np.nextafter(1.0, 0.0)), weights, np.array([0])).tolist() == [3]


def test_samples_given_evidence_follow_the_exact_conditional():
    rng = np.random.default_rng(1)
    potentials = [Potential(s, rng.normal(size=(2, 3)[: len(s)])) for s in [(0, 1), (2, 3), (0,)]]
    potentials += [Potential((1, 3), rng.normal(size=(3, 3)))]
    cards = [2, 3, 2, 3]
    codes = ExactRun(potentials, cards, {2: 1}, every=range(4)).draws(
        40_000, np.random.default_rng(2)
    )
    assert (codes[2] == 1).all()
    expected, _ = marginal(potentials, cards, [0, 1, 3], {2: 1})
    found = np.zeros((2, 3, 3))
    np.add.at(found, (codes[0], codes[1], codes[3]), 1 / 40_000)
    assert np.abs(found - expected).max() < 5 * math.sqrt(0.25 / 40_000)


def test_sampling_says_when_the_evidence_is_impossible():
    potentials = [Potential((0, 1), [[0, -np.inf]] * 2)]
    run = ExactRun(potentials, [2, 2], {1: 1}, every=range(2))
    assert run.draws(5, np.random.default_rng(0)) is None


@pytest.mark.parametrize("seed", range(12))
def test_draws_of_networks_with_zeros_follow_the_weights_of_rows(seed):
    """Twins, columns of one state and columns without a potential are put back."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, size=7).tolist()
    scopes = [rng.choice(7, size=3, replace=False).tolist() for _ in range(6)]
    potentials = [Potential(s, rng.normal(size=[cards[v] for v in s])) for s in scopes]
    a, b = rng.choice(7, size=2, replace=False).tolist()
    copies = np.where(np.eye(cards[a], cards[b]) > 0, 0.0, -np.inf)
    potentials.append(Potential((a, b), copies))
    assert check_draws(cards, potentials, {scopes[0][0]: 0}, None) == 1


def test_draws_of_runs_are_mixed_by_their_weights():
    rng = np.random.default_rng(0)
    edges = [(4 * i + j, 4 * i + j + 1) for i in range(3) for j in range(3)]
    edges += [(4 * i + j, 4 * i + j + 4) for i in range(2) for j in range(4)]
    potentials = [Potential(edge, rng.normal(size=(2, 2))) for edge in edges]
    assert check_draws([2] * 12, potentials, {}, 260.0) > 1


def check_draws(cards, potentials, evidence, memory):
    """Compare draws with the weights of all rows; the number of runs of the plan."""
    every = range(len(cards))
    run = ExactRun(potentials, cards, evidence, every=every, limits=Limits(memory=memory))
    codes = run.draws(20_000, np.random.default_rng(0))
    assert np.abs(codes[0, :10_000].mean() - codes[0, 10_000:].mean()) < 0.05
    rows = np.array(list(itertools.product(*map(range, cards))), dtype=np.uint16).T
    for v, code in evidence.items():
        rows = rows[:, rows[v] == code]
    logs = Blanket(cards, potentials).log_potential(rows)
    expected = np.exp(logs - logs.max())
    expected /= expected.sum()
    found = np.bincount(np.ravel_multi_index(codes, cards), minlength=math.prod(cards)) / 20_000
    found = found[np.ravel_multi_index(rows, cards)]
    assert not found[expected == 0].any()
    assert np.abs(found - expected).max() < 5 * np.sqrt((expected / 20_000).max())
    return run.plan.runs


def test_draws_that_need_too_much_memory_are_refused_before_it_is_taken():
    potentials = [Potential(pair, np.eye(2)) for pair in itertools.combinations(range(24), 2)]
    run = ExactRun(potentials, [2] * 24, {}, every=range(24), limits=Limits(memory=1e6))
    with raises(TableSizeError, about="memory"):
        run.draws(2, np.random.default_rng(0))

"""Gibbs chains beside brute force: answers, their errors, seeds, zeros, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane.errors import EvidenceError, ParameterError, TableSizeError
from counterpane.features import Blanket, Potential, Rules, Tree
from counterpane.inference import gibbs, gibbs_tables
from counterpane.inference.gibbs import Gibbs, Sampler
from error_checks import raises
from reference import sampling_reference as reference

CARDS = (2, 3, 1, 2, 4, 2)
RULES = [
    (0.8, [(0, 1, False), (4, 2, True), (4, 0, True)]),
    (-1.1, [(5, 1, False), (1, 2, False), (3, 0, False), (0, 0, False)]),
    (0.6, [(5, 1, False)]),
    (0.9, [(1, 1, True), (2, 0, False)]),
    (5.0, []),
]


def parts_of(seed=0):
    rng = np.random.default_rng(seed)
    scopes = [(1, 0), (4, 1, 3), (3,), (2, 5)]
    return [(s, rng.normal(size=[CARDS[v] for v in s])) for s in scopes]


def blanket_of(potentials, rules=RULES, cards=CARDS):
    made = [Potential(scope, values) for scope, values in potentials]
    return Blanket(cards, [*made, Rules.from_list(cards, rules)])


def scores(found, expected):
    """How many standard errors estimates are off."""
    off = np.abs(found.probabilities.reshape(-1) - expected)
    return off / np.maximum(found.standard_errors.reshape(-1), 1e-9)


@pytest.mark.parametrize("evidence", [{}, {4: 1}, {0: 1, 3: 0, 5: 1}])
@pytest.mark.parametrize("likelihoods", [{}, {1: np.array([2.0, 0.0, 1.0])}])
def test_marginals_are_those_of_brute_force(evidence, likelihoods):
    potentials = parts_of()
    p = reference.distribution(CARDS, potentials, RULES, evidence, likelihoods)
    sampler = Sampler(blanket_of(potentials))
    found = sampler.marginals(evidence, likelihoods, settings=Gibbs(n_samples=4000))
    assert found.keys() == set(range(6)) - set(evidence)
    for v, estimate in found.items():
        expected = np.array(reference.marginal(p, CARDS, [v]))
        assert scores(estimate, expected).max() < 3.5
        assert np.abs(estimate.probabilities - expected).max() < 0.02
        np.testing.assert_allclose(estimate.probabilities.sum(), 1.0, rtol=1e-12)
        assert estimate.rhat.max() < 1.02
        assert estimate.effective_size.min() > 4000
    asked = [v for v in (5, 4, 0) if v not in evidence] or [1]
    joint = sampler.joint(asked, evidence, likelihoods, settings=Gibbs(n_samples=4000))
    assert joint.probabilities.shape == tuple(CARDS[v] for v in asked)
    expected = np.array(reference.marginal(p, CARDS, asked))
    assert scores(joint, expected).max() < 3.5


def test_errors_are_honest():
    """Over many networks, squared errors in units of their standard errors are 1 on average."""
    found = []
    for seed in range(40):
        potentials = parts_of(seed)
        p = reference.distribution(CARDS, potentials, RULES)
        sampler = Sampler(blanket_of(potentials))
        settings = Gibbs(n_samples=1000, random_state=seed)
        for v, estimate in sampler.marginals({}, settings=settings).items():
            if CARDS[v] > 1:
                expected = np.array(reference.marginal(p, CARDS, [v]))
                found.append(scores(estimate, expected)[0])
    squares = np.array(found) ** 2
    assert squares.size == 200
    assert 0.75 < squares.mean() < 1.35
    assert np.sqrt(squares.max()) < 4.5


@pytest.mark.parametrize("evidence", [{}, {4: 1, 0: 0}])
def test_chains_do_not_depend_on_how_conditionals_are_kept(evidence, monkeypatch):
    blanket = blanket_of(parts_of())
    settings = Gibbs(n_samples=50, n_chains=3)
    expected = Sampler(blanket).draw(150, evidence, settings=settings)
    assert len(np.unique(expected, axis=1).T) > 8
    for rule_cells, potential_cells, table_cells, dense, hashed in [
        (1, 1, 1, 2**20, 2),  # nothing is in a table
        (2, 2**16, 2**14, 0, 2**12),  # rules are wide, but not among free variables
        (2**10, 1, 2, 0, 2),  # potentials are read as they are, memory has 16 slots
        (2**10, 2**16, 2**14, 0, 2**17),
    ]:
        monkeypatch.setattr(gibbs_tables, "RULE_CELLS", rule_cells)
        monkeypatch.setattr(gibbs_tables, "POTENTIAL_CELLS", potential_cells)
        monkeypatch.setattr(gibbs_tables, "FREE_CELLS", table_cells)
        monkeypatch.setattr(gibbs_tables, "DENSE_SLOTS", dense)
        monkeypatch.setattr(gibbs_tables, "HASHED_SLOTS", hashed)
        again = Sampler(blanket).draw(150, evidence, settings=settings)
        np.testing.assert_array_equal(again, expected)


def test_many_neighbors_are_told_by_random_codes():
    """A variable with 70 neighbors: too many joint states to be numbered in 62 bits."""
    n = 71
    rng = np.random.default_rng(0)
    weights = rng.normal(size=n - 1) * 0.5
    rules = [(float(w), [(0, 1, False), (v, 1, False)]) for v, w in enumerate(weights, start=1)]
    sampler = Sampler(blanket_of([], rules, (2,) * n))
    found = sampler.marginals({}, settings=Gibbs(n_samples=5000))
    on = np.log((1 + np.exp(weights)) / 2).sum()
    p = np.exp(on) / (1 + np.exp(on))
    assert scores(found[0], np.array([1 - p, p])).max() < 3.5
    assert 0.01 < p < 0.99


def test_threads_and_blocks_change_nothing(monkeypatch):
    sampler = Sampler(blanket_of(parts_of()))
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, CARDS[v] + 1, size=40) for v in (4, 0)])
    settings = Gibbs(n_samples=60, n_chains=2, random_state=3)
    one = sampler.rows((4, 0), codes, settings=settings)
    monkeypatch.setattr(gibbs, "BLOCK_UPDATES", 1000)
    monkeypatch.setattr(gibbs, "TOGETHER", 100)
    three = sampler.rows(
        (4, 0), codes, settings=Gibbs(n_samples=60, n_chains=2, random_state=3, n_jobs=3)
    )
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)
    single = sampler.marginals({}, settings=Gibbs(n_samples=80, random_state=1))[1]
    threads = sampler.marginals({}, settings=Gibbs(n_samples=80, random_state=1, n_jobs=4))[1]
    other = sampler.marginals({}, settings=Gibbs(n_samples=80, random_state=2))[1]
    np.testing.assert_array_equal(single.probabilities, threads.probabilities)
    assert np.abs(single.probabilities - other.probabilities).max() > 1e-4


def test_rows_are_answered_each_given_what_it_tells():
    potentials = parts_of()
    sampler = Sampler(blanket_of(potentials))
    codes = np.array([[1, 4, 3, 1, 4], [0, 1, 2, 0, 2]])  # of variables 4 and 0; 4 and 2: missing
    found, errors = sampler.rows((4, 0), codes, settings=Gibbs(n_samples=3000))
    np.testing.assert_array_equal(found[0], found[3])  # equal rows share their chains
    starts = np.cumsum([0, *CARDS])
    for r in range(5):
        given = {v: int(c) for v, c in zip((4, 0), codes[:, r], strict=True) if c < CARDS[v]}
        p = reference.distribution(CARDS, potentials, RULES, given)
        for v in range(6):
            mine = slice(starts[v], starts[v + 1])
            if v in given:
                assert (found[r, mine] == 0).all()
            else:
                expected = np.array(reference.marginal(p, CARDS, [v]))
                assert np.abs(found[r, mine] - expected).max() < 0.03
                assert errors[r, mine].max() < 0.02
    alone, unknown = sampler.rows((4, 0), codes, settings=Gibbs(n_samples=10, n_chains=1))
    assert np.isnan(unknown).all()
    assert not np.isnan(alone).any()


def test_samples_follow_the_distribution_and_the_evidence():
    potentials = parts_of()
    sampler = Sampler(blanket_of(potentials))
    p = reference.distribution(CARDS, potentials, RULES, {1: 2})
    drawn = sampler.draw(8001, {1: 2}, settings=Gibbs(n_samples=100))
    assert drawn.shape == (6, 8001)
    assert (drawn[1] == 2).all()
    shares = np.bincount(drawn[4] * 2 + drawn[0], minlength=8) / 8001
    np.testing.assert_allclose(shares, reference.marginal(p, CARDS, [4, 0]), atol=0.03)
    far = sampler.draw(40, {}, settings=Gibbs(n_chains=1, n_samples=4000))  # 100 sweeps apart
    near = sampler.draw(40, {}, settings=Gibbs(n_chains=1, n_samples=1))
    assert len(np.unique(far, axis=1).T) > 20
    assert near.shape == far.shape


# ---- conditionals given one by one ---------------------------------------------------------------


def tree_conditionals():
    """Three variables whose conditionals agree on no joint distribution."""
    cards = [2, 3, 2]
    first = Tree(
        cards, 0, [1, -1, 2, -1, -1], [2, 0, 1, 0, 0],
        [[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]],
        np.log([[1, 1], [0.9, 0.1], [1, 1], [0.3, 0.7], [0.6, 0.4]]),
    )  # fmt: skip
    second = Potential((0, 1), np.log([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]))
    third = Rules.from_list(cards, [(1.5, [(2, 1, False), (1, 0, False)]), (-0.4, [(2, 1, False)])])
    return Blanket.of_conditionals(cards, [[first], [second], [third]])


@pytest.mark.parametrize("evidence", [{}, {1: 2}])
def test_conditionals_that_disagree_are_scanned_in_order(evidence):
    blanket = tree_conditionals()
    cards = [2, 3, 2]

    def conditional(v, x):
        return np.exp(blanket.full_conditionals(np.array(x)[:, None], [v]))[0]

    free = [v for v in range(3) if v not in evidence]
    start = tuple(evidence.get(v, 0) for v in range(3))
    expected = reference.scan_marginals(cards, conditional, free, start)
    found = Sampler(blanket).marginals(evidence, settings=Gibbs(n_samples=20_000))
    backwards = reference.scan_marginals(cards, conditional, free[::-1], start)
    for v, estimate in found.items():
        assert scores(estimate, np.array(expected[v])).max() < 3.5
        assert estimate.standard_errors.max() < 0.004
    if not evidence:  # else the order would not matter
        assert max(abs(a[0] - b[0]) for a, b in zip(expected, backwards, strict=True)) > 0.01


def test_conditionals_that_contradict_each_other_are_refused():
    same = Potential((0, 1), [[0.0, -np.inf], [-np.inf, 0.0]])
    one = Potential((0, 1), [[-np.inf, -np.inf], [0.0, 0.0]])  # the first is 1 whatever the second
    none = Potential((1, 0), [[0.0, -np.inf], [0.0, -np.inf]])  # impossible where the first is 1
    assert (
        Sampler(Blanket.of_conditionals([2, 2], [[one], [same]]))
        .draw(5, {}, settings=Gibbs())
        .tolist()
        == [[1] * 5] * 2
    )
    with raises(EvidenceError, about="positive"):
        Sampler(Blanket.of_conditionals([2, 2], [[one], [none]])).draw(5, {}, settings=Gibbs())


# ---- zeros ---------------------------------------------------------------------------------------


def test_a_possible_start_is_found_among_many_impossible_ones():
    """Each variable is at most one above the one before; only rising rows are possible."""
    n, cards = 12, [3] * 12
    law = np.where(np.triu(np.ones((3, 3))) * np.tri(3, 3, 1) > 0, 0.0, -np.inf)
    sampler = Sampler(blanket_of([((i, i + 1), law) for i in range(n - 1)], [], cards))
    drawn = sampler.draw(400, {11: 2, 3: 1}, settings=Gibbs(n_samples=200))
    steps = np.diff(drawn.astype(int), axis=0)
    assert ((steps == 0) | (steps == 1)).all()
    assert (drawn[3] == 1).all()
    assert (drawn[11] == 2).all()
    with raises(EvidenceError, about="Gibbs"):
        sampler.draw(5, {0: 2, 5: 0}, settings=Gibbs())
    with raises(EvidenceError, about="row 1"):
        sampler.rows([0, 5], np.array([[0, 2], [2, 0]]), settings=Gibbs(n_samples=5))


def test_a_start_that_is_given_is_where_chains_begin():
    stuck = blanket_of([((0, 1), np.array([[0.0, -np.inf], [-np.inf, 0.0]]))], [], (2, 2))
    sampler = Sampler(stuck)  # from (0, 0) no single change leads to (1, 1)
    settings = Gibbs(n_samples=20, n_chains=8)
    for code in (0, 1):
        drawn = sampler.draw(20, {}, settings=settings, start={0: code, 1: code})
        assert (drawn == code).all()
    found = sampler.marginals({}, settings=settings)[0]
    assert found.rhat.max() > 10  # chains that cannot meet are told
    assert found.standard_errors.max() > 0.1


def test_deterministic_networks_and_impossible_models():
    copies = [
        ((0, 1), np.array([[0.0, -np.inf], [-np.inf, 0.0]])),
        ((0,), np.array([0.0, -np.inf])),
    ]
    found = Sampler(blanket_of(copies, [], (2, 2))).marginals({}, settings=Gibbs(n_samples=20))
    assert found[1].probabilities.tolist() == [1.0, 0.0]
    assert found[1].standard_errors.tolist() == [0.0, 0.0]
    assert found[1].effective_size.tolist() == [80.0, 80.0]
    with raises(EvidenceError, about="positive"):
        Sampler(blanket_of(copies, [], (2, 2))).marginals({1: 1}, settings=Gibbs())
    with raises(EvidenceError, about="weight"):
        Sampler(blanket_of([], [(-np.inf, [])], (2, 2)))
    with raises(EvidenceError, about="positive"):
        Sampler(blanket_of(copies, [], (2, 2))).marginals(
            {}, {0: np.array([0, 1])}, settings=Gibbs()
        )
    barred = [(-np.inf, [(0, 1, False), (1, 1, False)]), (-np.inf, [(0, 0, False)])]
    found = Sampler(blanket_of([], barred, (2, 2))).marginals({}, settings=Gibbs(n_samples=20))
    assert found[0].probabilities.tolist() == [0.0, 1.0]
    assert found[1].probabilities.tolist() == [1.0, 0.0]


def test_nothing_free_and_nothing_in_common():
    sampler = Sampler(blanket_of([], [], (2, 1, 3)))
    assert sampler.marginals({0: 1, 1: 0, 2: 2}, settings=Gibbs(n_samples=5)) == {}
    found = sampler.marginals({}, settings=Gibbs(n_samples=1, burn_in=0, n_chains=1))
    np.testing.assert_allclose(found[2].probabilities, 1 / 3)
    assert found[1].probabilities.tolist() == [1.0]
    assert np.isnan(found[2].rhat).all()
    assert sampler.draw(3, {0: 1, 1: 0, 2: 2}, settings=Gibbs()).tolist() == [
        [1] * 3,
        [0] * 3,
        [2] * 3,
    ]


@pytest.mark.parametrize(
    "settings", [{"n_chains": 0}, {"n_samples": 0}, {"burn_in": -1}, {"n_jobs": 0.5}]
)
def test_bad_settings(settings):
    with pytest.raises(ParameterError, match=f"{next(iter(settings))}=.*whole number from"):
        Gibbs(**settings)


def test_too_large_an_answer_is_refused_before_anything_is_allocated():
    sampler = Sampler(blanket_of([], [], (2,) * 40))
    with raises(TableSizeError, about="1,099,511,627,776 cells"):
        sampler.joint(range(40), {}, settings=Gibbs())


# ---- a known network -----------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [{}, {"HRBP": "HIGH", "PCWP": "LOW"}])
def test_alarm_within_three_standard_errors(shared_data, evidence):
    network = cp.load(shared_data / "networks" / "alarm.bif.gz")
    exact = network.marginals(evidence)
    found = network.marginals(evidence, method=Gibbs(n_samples=200_000, burn_in=20_000))
    squares = []
    for name, answer in found.items():
        sure = answer.certainty
        off = np.abs(answer.probabilities - exact[name].probabilities)
        z = off / np.maximum(sure.standard_errors, 1e-12)
        assert z.max() < 3.0
        assert sure.standard_errors.max() < 0.02
        assert sure.rhat < 1.05
        squares.append(z[0] ** 2)
    assert 0.2 < np.mean(squares) < 2.5  # the errors of different variables go together

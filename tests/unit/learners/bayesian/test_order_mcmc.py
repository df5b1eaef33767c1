"""Samplers of orders and partitions: what they converge to, what they promise, how they stop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import counterpane as cp
from counterpane._core import bayesian as kernels
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from counterpane.errors import FitError, ParameterError, TableSizeError
from counterpane.learners.bayesian.family_tables import parent_tables
from counterpane.learners.bayesian.order_mcmc import OrderMCMC, affordable_posterior
from counterpane.learners.driver import StoppedEarly
from counterpane.models.mixture import Mixture
from counterpane.scores import BDeu, LocalScore, score_dag
from error_checks import raises, warns
from reference.posterior_reference import all_dags, brute_force, n_orders, squeezed

SHORT = pytest.mark.filterwarnings("ignore::counterpane.UnsettledChains")


class Listed(LocalScore):
    """Scores from a list: of each child given each set of the others."""

    name = "listed"

    def __init__(self, scores):
        super().__init__()
        self.scores = scores

    def family(self, counts, total, child, parents):
        return float(self.scores[child][squeezed(sum(1 << p for p in parents), child)])


def chain_table(n=8, rows=300, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, rows))
    for i in range(1, n):
        codes[i] = np.where(rng.random(rows) < 0.35, codes[i - 1], codes[i])
    return Table(Schema.from_cards([2] * n), codes)


def anything(n):
    return Table(Schema.from_cards([2] * n), np.eye(n, dtype=np.int64))


def same(a, b):
    assert np.array_equal(a.edge_probabilities_, b.edge_probabilities_)
    assert np.array_equal(a.log_scores_, b.log_scores_)
    assert np.array_equal(a.rhat_, b.rhat_)
    assert [m.dag for m in a.model_.models] == [m.dag for m in b.model_.models]


# ---- what it converges to ----------------------------------------------------------------------


@pytest.mark.parametrize("partition", [True, False])
def test_networks_are_drawn_from_the_posterior(partition):
    """Kernels alone: of 10,000 networks drawn along a chain, each of 25 comes as often as due."""
    scores = np.random.default_rng(4).normal(size=(3, 4))
    tables = parent_tables(
        MemoryCounts(anything(3)), Listed(scores), max_parents=2, max_candidates=9
    )
    dags = all_dags(3)
    assert len(dags) == 25
    logs = np.array([sum(scores[i][squeezed(d[i], i)] for i in range(3)) for d in dags.tolist()])
    times = 1.0 if partition else np.array([n_orders(d) for d in dags.tolist()])
    due = np.exp(logs) * times
    due /= due.sum()
    rng = np.random.default_rng(0)
    place = np.arange(3) if not partition else np.zeros(3, dtype=np.int64)
    chosen, found = np.empty(3, dtype=np.int64), []
    edges, log_scores = np.zeros((3, 2)), np.empty(1)
    for _ in range(10_000):
        if partition:
            uniforms = rng.random((1, 9 * 3 + 4 + 114))
            kernels.walk_layers(tables.arrays, place, uniforms, edges, log_scores)
            kernels.draw_by_layers(tables.arrays, place, rng.random(3), chosen)
        else:
            uniforms = rng.random((1, 3, 2))
            kernels.walk_orders(tables.arrays, place, uniforms, edges, log_scores)
            kernels.draw_by_order(tables.arrays, place, rng.random(3), chosen)
        parents = [0, 0, 0]
        for a, b in tables.dag(chosen).edges:
            parents[b] |= 1 << a
        found.append(parents)
    shares = np.array([(np.array(found) == d).all(axis=1).mean() for d in dags])
    assert shares.sum() == pytest.approx(1.0)
    assert np.abs(shares - due).max() < 0.02


def test_layers_are_those_of_the_network():
    candidates = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    chosen = np.array([0, 0b001, 0b011, 0])  # 0 → 1, 0 → 2, 1 → 2
    layer = np.full(4, 9)
    kernels.fill_layers(candidates, chosen, layer)
    assert layer.tolist() == [0, 1, 2, 0]


def strong_edge(n=4, rows=306, seed=0):
    """Independent columns but for one strong edge, whose direction no data can show."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, rows))
    codes[1] = np.where(rng.random(rows) < 0.7, codes[0], codes[1])
    return Table(Schema.from_cards([3] * n), codes)


def sampled_from_network(n, rows, seed):
    """Rows of a random network of up to three parents, with far from uniform tables."""
    rng = np.random.default_rng(seed)
    cards, order = rng.integers(2, 5, n), rng.permutation(n)
    codes = np.zeros((n, rows), dtype=np.int64)
    for q, i in enumerate(order):
        parents = rng.choice(order[:q], min(q, int(rng.integers(0, 4))), replace=False)
        context = np.zeros(rows, dtype=np.int64)
        for p in parents:
            context = context * cards[p] + codes[p]
        shares = rng.dirichlet(np.full(cards[i], 0.3), int(context.max()) + 1).cumsum(axis=1)
        codes[i] = (rng.random(rows)[:, None] > shares[context][:, :-1]).sum(axis=1)
    return Table(Schema.from_cards(cards.tolist()), codes)


@pytest.mark.parametrize(
    "table",
    [strong_edge(), strong_edge(8, 344), sampled_from_network(7, 1000, 3),
     sampled_from_network(9, 300, 4)],
    ids=["four", "eight", "seven", "nine"],
)  # fmt: skip
def test_default_chains_agree_with_the_exact_sum(table):
    exact = cp.ExactPosterior(max_parents=3).fit(table).edge_probabilities_
    for seed in range(5):
        learner = OrderMCMC(random_state=seed).fit(table)
        assert learner.edge_probabilities_ == pytest.approx(exact, abs=0.05)
        assert learner.rhat_.max() <= 1.05
        assert learner.effective_sizes_.min() >= 100


def test_a_strong_edge_comes_in_both_directions():
    learner = OrderMCMC(random_state=0).fit(strong_edge())
    p = learner.edge_probabilities_
    assert [p[0, 1], p[1, 0]] == pytest.approx([0.5, 0.5], abs=0.02)
    assert learner.effective_sizes_[0, 1] > 1000


def test_chains_that_disagree_warn(monkeypatch):
    """Chains that never move keep the direction that they started with."""

    def stay(tables, place, uniforms, edges, log_scores):
        log_scores[:] = 0.0
        parent, child = (0, 1) if place[0] < place[1] else (1, 0)
        edges[child, tables.bits[child, parent].item().bit_length() - 1] = len(uniforms)

    monkeypatch.setattr(kernels, "walk_orders", stay)
    with warns(cp.UnsettledChains, about="n_samples"):
        learner = OrderMCMC(partition=False, n_chains=8, random_state=0).fit(strong_edge())
    assert learner.rhat_[0, 1] > 100
    assert learner.effective_sizes_[0, 1] < 20
    assert learner.rhat_[2, 3] == 1.0  # in no sample of any chain
    assert learner.standard_errors_[2, 3] == 0.0


def test_up_to_15_columns_the_sum_is_affordable():
    chains = OrderMCMC("k2", partition=False, max_parents=2, missing="drop", random_state=3)
    exact = affordable_posterior(chains, 15)
    assert isinstance(exact, cp.ExactPosterior)
    assert exact.criterion == "k2"
    assert (exact.prior, exact.max_parents, exact.missing) == ("order", 2, "drop")
    assert affordable_posterior(chains, 16) is chains


# ---- candidates --------------------------------------------------------------------------------


def test_candidates_are_the_best_single_parents():
    table = chain_table()
    tables = parent_tables(MemoryCounts(table), BDeu(), max_parents=2, max_candidates=2)
    for i in range(1, 7):
        assert tables.arrays.candidates[i].tolist() == [i - 1, i + 1]
    learner = OrderMCMC(n_samples=200, max_candidates=2, random_state=0).fit(table)
    allowed = tables.spread(np.ones((8, 2)), 0.0) > 0
    assert (learner.edge_probabilities_[~allowed] == 0).all()
    assert (learner.edge_probabilities_[allowed] > 0).sum() >= 12


def test_enough_candidates_are_all_of_them():
    table = chain_table(5, 200)
    a = OrderMCMC(n_samples=300, max_candidates=4, random_state=0).fit(table)
    b = OrderMCMC(n_samples=300, max_candidates=12, random_state=0).fit(table)
    same(a, b)


# ---- promises ----------------------------------------------------------------------------------


@SHORT
@pytest.mark.parametrize("partition", [True, False])
def test_a_seed_gives_one_result_by_any_number_of_threads(partition):
    table = chain_table()
    options = {"n_samples": 200, "partition": partition}
    first = OrderMCMC(random_state=5, **options).fit(table)
    same(first, OrderMCMC(random_state=5, n_jobs=3, **options).fit(table))
    same(first, OrderMCMC(random_state=5, **options).fit(MemoryCounts(table)))
    streamed = StreamCounts(table.schema, lambda: [table])
    found = OrderMCMC(random_state=5, **options).fit(streamed).edge_probabilities_
    assert found == pytest.approx(first.edge_probabilities_, abs=1e-9)
    other = OrderMCMC(random_state=6, **options).fit(table)
    assert not np.array_equal(first.log_scores_, other.log_scores_)


def test_results():
    table = chain_table()
    learner = OrderMCMC(n_samples=300, n_chains=3, n_models=15, random_state=0).fit(table)
    p = learner.edge_probabilities_
    assert p.shape == (8, 8)
    assert (np.diag(p) == 0).all()
    assert p.min() >= 0
    assert (p + p.T).max() <= 1 + 1e-9
    assert learner.log_scores_.shape == (3, 300)
    assert 3 < learner.score_effective_size_ <= 3 * 300 * 4
    likely = {e.ends for e in learner.edges_ if e.share_of_mark > 0.5}
    assert set(learner.graph_.edges) == likely
    assert all(d["probability"] > 0.5 for _, _, d in learner.graph_.edges(data=True))
    assert isinstance(learner.model_, Mixture)
    assert sum(len(m.dag.edges) >= 5 for m in learner.model_.models) == len(learner.model_.models)
    assert learner.model_.weights.sum() == pytest.approx(1.0)
    assert np.isfinite(learner.model_.score_samples(table)).all()
    assert learner.trace_[-1]["samples"] == 300
    assert learner.model_.record.data.rows == 300


@pytest.mark.parametrize("n", [1, 2])
def test_few_variables(n):
    learner = OrderMCMC(n_samples=50, random_state=0).fit(chain_table(n, 300))
    p = learner.edge_probabilities_
    assert p.shape == (n, n)
    if n == 2:
        assert p[0, 1] == pytest.approx(0.5, abs=0.15)
        assert p[0, 1] + p[1, 0] == pytest.approx(1.0, abs=1e-6)


def test_a_stopped_run_goes_on_to_the_same_result(tmp_path):
    table, path = chain_table(), tmp_path / "chains.cp"
    whole = OrderMCMC(n_samples=320, random_state=3).fit(table)
    for after, samples in [(10, None), (40, 80)]:
        calls = []

        def stop(what, done, total, calls=calls, after=after):
            calls.append(done)
            if len(calls) == after:
                raise KeyboardInterrupt

        learner = OrderMCMC(n_samples=320, random_state=3, progress=stop, checkpoint=path)
        with warns(StoppedEarly, about="Ctrl-C"):
            if samples is None:
                with raises(FitError, about="blocks"):
                    learner.fit(table)
            else:
                assert 0 < learner.fit(table).log_scores_.shape[1] < 320
        assert path.exists()
    same(OrderMCMC(n_samples=320, random_state=3, checkpoint=path).fit(table), whole)
    assert not path.exists()


def test_what_is_refused():
    table = chain_table(4, 50)
    for name, value in [("n_samples", 1), ("n_chains", 0), ("thin", 0), ("burn_in", -1),
                        ("n_models", 0), ("max_parents", -1), ("max_candidates", 0)]:  # fmt: skip
        with pytest.raises(ParameterError, match=f"{name}={value}"):
            OrderMCMC(**{name: value}).fit(table)
    with raises(TableSizeError, about="max_candidates"):
        OrderMCMC(max_candidates=26).fit(chain_table(30, 20))


@SHORT
def test_the_best_network_of_the_samples_fits_their_orders() -> None:
    table = cp.load_dataset("titanic")
    scores = {}
    for partition, seed in itertools.product([True, False], [0, 1]):
        learner = OrderMCMC(n_samples=64, partition=partition, random_state=seed).fit(table)
        parents = [learner.best_model_.dag.parents(x) for x in range(4)]
        source = cp.MemoryCounts(table)
        value = score_dag(BDeu(), source, parents)
        assert learner.best_score_ == pytest.approx(value, rel=1e-12)
        drawn = [score_dag(BDeu(), source, [m.dag.parents(x) for x in range(4)])
                 for m in learner.model_.models]  # fmt: skip
        assert learner.best_score_ >= max(drawn) - 1e-9
        scores[partition, seed] = learner.best_score_
    assert max(scores.values()) == pytest.approx(cp.ExactPosterior().fit(table).best_score_)


@pytest.mark.parametrize("partition", [True, False])
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_edges_converge_to_those_of_all_dags(partition, spread):
    scores = spread * np.random.default_rng(3).normal(size=(4, 8)) - 900.0
    learner = OrderMCMC(
        Listed(scores), n_samples=20_000, max_parents=3, partition=partition, random_state=1
    ).fit(anything(4))
    exact = brute_force(scores, by_order=not partition)[1]
    gap = np.abs(learner.edge_probabilities_ - exact)
    assert gap.max() < 0.01
    often = exact > 0.01  # what was never seen has no error yet
    assert (gap[often] < 4.5 * learner.standard_errors_[often]).all()
    assert learner.rhat_.max() < 1.01
    wrong = brute_force(scores, by_order=partition)[1]
    assert np.abs(wrong - exact).max() > 0.02

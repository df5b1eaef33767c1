"""The exact posterior against all DAGs one by one, and against rational numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterpane as cp
from counterpane.counts import MemoryCounts, StreamCounts
from counterpane.data import Schema, Table
from counterpane.errors import DataError, FitError, ParameterError, TableSizeError
from counterpane.learners.bayesian.exact_posterior import ExactPosterior, best_network
from counterpane.learners.bayesian.family_tables import FamilyTables, columns_of_mask
from counterpane.learners.driver import StoppedEarly
from counterpane.scores import (
    AIC,
    BIC,
    K2,
    BDeu,
    EdgeOdds,
    EdgePrior,
    LocalScore,
    LogLikelihood,
    ParameterCountPrior,
    ParentCountPrior,
    score_dag,
    score_families,
)
from error_checks import raises, warns
from reference.posterior_reference import brute_force, rational, squeezed


class Listed(LocalScore):
    """Scores from a list: of each child given each set of the others."""

    name = "listed"

    def __init__(self, scores):
        super().__init__()
        self.scores = scores

    def family(self, counts, total, child, parents):
        mask = sum(1 << p for p in parents)
        return float(self.scores[child][squeezed(mask, child)])


def anything(n):
    """A table of n columns; what it holds does not matter."""
    return Table(Schema.from_cards([2] * n), np.eye(n, dtype=np.int64))


def random_table(n, rows, seed=0, card=3):
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, rows), dtype=np.int64)
    codes[0] = rng.integers(0, card, rows)
    for i in range(1, n):
        same = rng.random(rows) < 0.6
        codes[i] = np.where(same, codes[i - 1], rng.integers(0, card, rows))
    return Table(Schema.from_cards([card] * n), codes)


def tables_of(table, score, max_parents=None):
    n = table.n_columns
    tables = FamilyTables(
        MemoryCounts(table), score, range(n), n - 1 if max_parents is None else max_parents
    )
    for step in range(tables.steps):
        tables.count(step)
    return tables


def fit(scores, **options):
    return ExactPosterior(Listed(scores), **options).fit(anything(len(scores)))


# ---- sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "number"), [(1, 1), (2, 3), (4, 543), (5, 29281), (6, 3781503)])
def test_zero_scores_count_the_dags(n, number):
    scores = np.zeros((n, 2 ** (n - 1)))
    assert math.exp(fit(scores).log_evidence_) == pytest.approx(number, rel=1e-12)
    orders = fit(scores, prior="order").log_evidence_
    assert orders == pytest.approx(math.lgamma(n + 1) + n * (n - 1) / 2 * math.log(2), rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 2000.0])
@pytest.mark.parametrize("prior", ["uniform", "order"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_all_dags_one_by_one(n, prior, spread):
    rng = np.random.default_rng(n)
    for shift in (0.0, -5000.0):
        scores = shift + spread * rng.normal(size=(n, 2 ** (n - 1)))
        learner = fit(scores, prior=prior)
        log_evidence, edges, best = brute_force(scores, by_order=prior == "order")
        assert learner.log_evidence_ == pytest.approx(log_evidence, rel=1e-12, abs=1e-12)
        assert learner.edge_probabilities_ == pytest.approx(edges, abs=1e-9)
        assert learner.best_score_ == pytest.approx(best, rel=1e-12, abs=1e-12)
        own = sum(
            scores[i][squeezed(sum(1 << p for p in learner.model_.dag.parents(i)), i)]
            for i in range(n)
        )
        assert own == pytest.approx(learner.best_score_, rel=1e-12, abs=1e-12)


def test_twelve_nearly_independent_variables():
    """With one parent at most, networks are rooted forests: Σ xᵏ over k edges is (1 + n x)ⁿ⁻¹."""
    n, log_odds = 12, -6.0
    sizes = np.bitwise_count(np.arange(2 ** (n - 1)))
    learner = fit(np.tile(log_odds * sizes, (n, 1)), max_parents=1)
    off = ~np.eye(n, dtype=bool)
    x = math.exp(log_odds)
    assert learner.log_evidence_ == pytest.approx((n - 1) * math.log1p(n * x), abs=1e-10)
    assert learner.edge_probabilities_[off] == pytest.approx(x / (1 + n * x), abs=1e-12)


@pytest.mark.parametrize("weight", [5e7, 1e12])
def test_weights_of_billions(weight):
    """Scores of −10⁹ and less have exponents beyond 32 bits; they are summed, or refused."""
    plain = random_table(4, 40)
    table = Table(plain.schema, plain.codes, weights=np.full(40, weight))
    for prior in ("uniform", "order"):
        try:
            learner = ExactPosterior(prior=prior).fit(table)
        except FitError as error:
            assert "lose too many digits" in str(error)
        else:
            assert learner.best_score_ < -1e9
            assert learner.log_evidence_ == pytest.approx(learner.best_score_, rel=1e-8)


def test_a_limit_on_parents_is_kept():
    scores = np.random.default_rng(2).normal(size=(4, 8)) * 2
    learner = fit(scores, max_parents=1)
    few = np.where(np.bitwise_count(np.arange(8)) <= 1, scores, -np.inf)
    log_evidence, edges, best = brute_force(few)
    assert learner.log_evidence_ == pytest.approx(log_evidence, abs=1e-12)
    assert learner.edge_probabilities_ == pytest.approx(edges, abs=1e-12)
    assert learner.best_score_ == pytest.approx(best, abs=1e-12)
    assert fit(scores, max_parents=0).model_.dag.n_edges == 0


# ---- scores of families ------------------------------------------------------------------------

SCORES = [
    LogLikelihood(),
    AIC(),
    BIC(),
    K2(),
    BDeu(),
    BDeu(10),
    BDeu(structure_prior=EdgePrior(0.3)),
    K2(structure_prior=ParentCountPrior()),
    K2(0.25, structure_prior=ParameterCountPrior(0.8)),
    BIC(structure_prior=ParameterCountPrior(0.8)),
    BIC(structure_prior=EdgeOdds(np.linspace(0.1, 2.0, 25).reshape(5, 5))),
]


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_families_agree_with_their_scores(score, weights):
    table = random_table(5, 300).select(["x3", "x1", "x0", "x4", "x2"])
    rng = np.random.default_rng(0)
    if weights != "none":
        table = table.reweighted(
            rng.integers(0, 200, 300) if weights == "whole" else rng.gamma(1.0, 3.0, 300)
        )
    tables, source = tables_of(table, score), MemoryCounts(table)
    for child in range(5):
        others = np.delete(np.arange(5), child)
        asked = [(child, columns_of_mask(m, others)) for m in range(16)]
        assert tables.child(child) == pytest.approx(
            score_families(score, source, asked), rel=1e-12, abs=1e-9
        )


def test_a_part_of_the_columns_in_any_order():
    table = random_table(5, 200)
    tables = FamilyTables(MemoryCounts(table), BDeu(), [4, 0, 2], 1)
    for step in range(tables.steps):
        tables.count(step)
    alone, by_4, by_0, by_both = tables.child(2)
    source = MemoryCounts(table)
    expected = score_families(BDeu(), source, [(2, ()), (2, (4,)), (2, (0,))])
    assert [alone, by_4, by_0] == pytest.approx(expected.tolist(), rel=1e-12)
    assert by_both == -np.inf


# ---- the learner -------------------------------------------------------------------------------


def test_results_have_names():
    table = cp.load_dataset("titanic")
    learner = ExactPosterior().fit(table)
    names = table.schema.names
    assert [e.share_of_mark for e in learner.edges_] == sorted(
        [e.share_of_mark for e in learner.edges_]
    )[::-1]
    assert len(learner.edges_) == 12
    for edge in learner.edges_:
        (a, b), p = edge.ends, edge.share_of_mark
        assert learner.edge_probabilities_[names.index(a), names.index(b)] == p
    assert learner.best_model_ is learner.model_
    assert set(learner.graph_.nodes) == set(names)
    parents = [learner.model_.dag.parents(i) for i in range(4)]
    again = score_dag(BDeu(), MemoryCounts(table), parents)
    assert learner.best_score_ == pytest.approx(again, rel=1e-12)
    assert learner.trace_


def test_sources_and_weights_agree():
    table = random_table(4, 200)
    expected = ExactPosterior().fit(table)
    times = np.random.default_rng(0).integers(1, 4, 200)
    repeated = table.take(np.repeat(np.arange(200), times))
    for given, weights, wanted in [
        (MemoryCounts(table), None, expected),
        (StreamCounts(table.schema, lambda: [table]), None, expected),
        (table, times, ExactPosterior().fit(repeated)),
    ]:
        found = ExactPosterior().fit(given, sample_weight=weights)
        assert found.log_evidence_ == pytest.approx(wanted.log_evidence_, rel=1e-13)
        assert found.edge_probabilities_ == pytest.approx(wanted.edge_probabilities_, abs=1e-10)
        assert found.model_.dag == wanted.model_.dag


@pytest.mark.parametrize("score", ["bdeu", "bic", "k2"])
def test_no_order_of_columns_or_rows_changes_the_network(score):
    """Columns of a class that holds many networks of equal score, in 30 orders."""
    table = random_table(6, 300)
    rng = np.random.default_rng(0)

    def named(learner):
        return sorted(learner.model_.graph.edges)

    expected = ExactPosterior(score).fit(table)
    assert len(named(expected)) >= 5
    for _ in range(30):
        moved = table.select(rng.permutation(6).tolist()).take(rng.permutation(300))
        found = ExactPosterior(score).fit(moved)
        assert named(found) == named(expected)
        place = [moved.schema.names.index(name) for name in table.schema.names]
        probabilities = found.edge_probabilities_[np.ix_(place, place)]
        assert probabilities == pytest.approx(expected.edge_probabilities_, abs=1e-9)


def test_rounding_does_not_choose_the_network():
    """Scores of equal networks that differ in the last digits give the same network."""
    scores = np.zeros((4, 8)) - 1e4
    scores[1:, :] += np.bitwise_count(np.arange(8)) == 1  # one parent each, any
    expected = best_network(scores, 1e-7)
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(scale=1e-10, size=scores.shape)
        parents, value = best_network(scores + noise, 1e-7)
        assert parents == expected[0]
        assert value == pytest.approx(expected[1], abs=1e-6)


def test_the_note_says_why_missing_cells_differ_from_the_search():
    table = Table(Schema.from_cards([2, 2]), [[0, 1, 2, 1], [0, 1, 1, 0]])
    for learner in (ExactPosterior(), cp.OrderMCMC(n_samples=500, random_state=0)):
        note = learner.fit(table).missing_note_
        assert "kept as the state (missing): StructureSearch estimates them by EM" in note
    assert "StructureSearch" not in ExactPosterior(missing="state").fit(table).missing_note_


def test_missing_cells():
    table = Table(Schema.from_cards([2, 2]), [[0, 1, 2, 1], [0, 1, 1, 0]])
    assert ExactPosterior().fit(table).model_.schema["x0"].states == (0, 1, None)
    assert ExactPosterior(missing="drop").fit(table).model_.schema["x0"].states == (0, 1)
    with raises(DataError, about="'x0'"):
        ExactPosterior(missing="error").fit(StreamCounts(table.schema, lambda: [table]))


def test_what_is_refused():
    with raises(TableSizeError, about=("OrderMCMC", "21 variables")):
        ExactPosterior().fit(anything(21))
    with raises(ParameterError, parameter="prior", value="flat"):
        ExactPosterior(prior="flat").fit(anything(2))
    with raises(ParameterError, parameter="max_parents", value=-1):
        ExactPosterior(max_parents=-1).fit(anything(2))


def test_a_stopped_fit_goes_on_from_its_checkpoint(tmp_path):
    table, path = random_table(8, 400), tmp_path / "posterior.cp"
    calls = []

    def stop(what, done, total):
        calls.append(done)
        if len(calls) == 20:
            raise KeyboardInterrupt

    with (
        warns(StoppedEarly, about="Ctrl-C"),
        raises(FitError, about="sums"),
    ):
        ExactPosterior(progress=stop, checkpoint=path).fit(table)
    assert path.exists()
    calls = [-1000] * 100
    resumed = ExactPosterior(progress=stop, checkpoint=path).fit(table)
    whole = ExactPosterior().fit(table)
    assert np.array_equal(resumed.edge_probabilities_, whole.edge_probabilities_)
    assert len(resumed.trace_) == len(whole.trace_)
    assert not path.exists()
    done = [d for d in calls if d >= 0]
    assert done == sorted(done)
    assert done[-1] == 3.0


def test_sums_in_small_steps_are_the_same(monkeypatch):
    table = random_table(6, 300)
    for prior in ("uniform", "order"):
        whole = ExactPosterior(prior=prior).fit(table)
        with monkeypatch.context() as patch:
            patch.setattr("counterpane.learners.bayesian.exact_posterior.STEP_TERMS", 7)
            split = ExactPosterior(prior=prior).fit(table)
        assert len(split.trace_) > len(whole.trace_)
        assert np.array_equal(split.edge_probabilities_, whole.edge_probabilities_)
        assert split.log_evidence_ == whole.log_evidence_


def test_all_dags_of_five():
    scores = np.random.default_rng(5).normal(size=(5, 16)) * 3
    learner = fit(scores)
    log_evidence, edges, best = brute_force(scores)
    assert learner.log_evidence_ == pytest.approx(log_evidence, abs=1e-12)
    assert learner.edge_probabilities_ == pytest.approx(edges, abs=1e-13)
    assert learner.best_score_ == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("penalty", [0.0, 2.0, 40.0])
def test_rational_numbers(penalty):
    """Nearly empty networks have many sinks, and their terms cancel most."""
    n = 6
    sizes = np.bitwise_count(np.arange(2 ** (n - 1)))
    scores = np.random.default_rng(1).normal(size=(n, 2 ** (n - 1))) - penalty * sizes
    learner = fit(scores)
    log_evidence, edges = rational(scores.tolist())
    assert learner.log_evidence_ == pytest.approx(log_evidence, abs=1e-13)
    assert learner.edge_probabilities_ == pytest.approx(edges, abs=1e-14)

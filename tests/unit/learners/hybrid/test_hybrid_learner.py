"""Markov blanket merging against its naive twin, on odd tables, and when it is stopped."""

from __future__ import annotations

import numpy as np
import pytest

import counterpane as cp
from counterpane._core import hybrid
from counterpane.counts import MemoryCounts
from counterpane.errors import ParameterError
from counterpane.learners import StoppedEarly
from counterpane.learners.driver import to_end
from counterpane.learners.hybrid import hybrid_random_field as merging
from counterpane.learners.partners import Partners
from counterpane.progress import Control, Stopped
from error_checks import raises
from reference.hybrid_reference import Reference


def make_table(seed, n, rows, most=2, names=None, weighted=False):
    """A table in which each column is a noisy function of one or two before it."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, most + 1, n)
    codes = [rng.integers(0, cards[0], rows)]
    for r in cards[1:]:
        told = sum(codes[rng.integers(len(codes))] for _ in range(rng.integers(1, 3)))
        told = np.minimum(told, r - 1) if rng.random() < 0.5 else told % r
        codes.append(np.where(rng.random(rows) < 0.75, told, rng.integers(0, r, rows)))
    schema = cp.Schema.from_cards(cards)
    if names is not None:
        schema = cp.Schema(cp.Variable(a, v.states) for a, v in zip(names, schema, strict=True))
    weights = rng.integers(0, 4, rows) if weighted else None
    return cp.Table(schema, np.array(codes), weights)


def merged(learner, table):
    source = learner._source(table, None)
    return to_end(learner._search(source), Control())


def networks(state):
    """{child: parents} of each variable's network."""
    found = []
    for members, parents in zip(state.members.tolist(), state.parents.tolist(), strict=True):
        columns = [c for c in members if c >= 0]
        found.append(
            {
                c: {u for a, u in enumerate(columns) if parents[b] >> a & 1}
                for b, c in enumerate(columns)
            }
        )
    return found


def reference(table, **options):
    names, cards = table.schema.names, table.schema.cards
    return Reference(table.codes.T, cards, names, table.weights, **options)


def weighted_sum(table, values):
    return float(values.sum() if table.weights is None else values @ table.weights)


# ---- the naive twin ------------------------------------------------------------------------------

TABLES = [
    pytest.param(
        {"seed": s, "n": 9 + s % 3, "rows": 80 + 15 * s, "most": 2 + s % 3, "weighted": s == 4},
        id=i,
    )
    for s, i in enumerate(["binary", "ternary", "mixed", "binary-2", "weighted", "mixed-2"])
]


@pytest.mark.parametrize("k, k_max", [(8, 10), (3, 4)])
@pytest.mark.parametrize("given", TABLES)
def test_the_naive_reference_finds_the_same_networks(given, k, k_max):
    table = make_table(**given)
    expected, passes, plls = reference(table, k=k, k_max=k_max).merge()
    learner = cp.HybridRandomFieldLearner(k, k_max)
    state = merged(learner, table)
    assert networks(state) == expected
    assert state.n_passes == passes
    learner.fit(table)
    assert learner.n_passes_ == passes
    assert learner.pll_ == pytest.approx(plls[-1], rel=1e-12)
    first = [r["pll"] for r in learner.trace_ if r["stage"] == "networks"][-1:]
    rises = [r["pll"] for r in learner.trace_ if r["stage"] == "merging" and r["refined"]]
    assert first + rises == pytest.approx(plls, rel=1e-12)
    by_model = learner.model_.pseudo_log_likelihood(table, total=True)
    assert weighted_sum(table, by_model) == pytest.approx(learner.pll_, rel=1e-12)


@pytest.mark.parametrize("given", TABLES[:4])
def test_the_printed_loop(given, monkeypatch):
    monkeypatch.setattr(merging, "MOST_PASSES", 4)
    table = make_table(**given)
    expected, passes = reference(table, k=4, k_max=5).merge_as_printed(4)
    state = merged(cp.HybridRandomFieldLearner(4, 5, literal=True), table)
    assert networks(state) == expected
    assert state.n_passes == passes


def test_the_printed_loop_may_go_round_in_circles():
    """It is cut short; the corrected one ends by itself with a higher likelihood."""
    table = make_table(0, 10, 110)
    circling = cp.HybridRandomFieldLearner(4, 5, literal=True).fit(table)
    assert circling.n_passes_ == merging.MOST_PASSES == 10
    plls = [r["pll"] for r in circling.trace_ if r["stage"] == "relearning"]
    assert np.diff(plls).min() <= 0
    plain = cp.HybridRandomFieldLearner(4, 5).fit(table)
    assert plain.n_passes_ == 3
    assert plain.pll_ > circling.pll_


@pytest.mark.parametrize("options", [{"ml": True}, {"prior": 7.5}])
def test_the_likelihood_of_the_score_and_the_prior(options):
    table = make_table(0, 10, 60, most=3)
    options = dict(options)
    expected = reference(table, **options).merge()
    score = "bic" if options.pop("ml", False) else "mdl"
    learner = cp.HybridRandomFieldLearner(criterion=score, **options)
    assert networks(merged(learner, table)) == expected[0]
    assert learner.fit(table).pll_ == pytest.approx(expected[2][-1], rel=1e-12)
    assert networks(merged(cp.HybridRandomFieldLearner(), table)) != expected[0]


def test_many_states_are_numbered_anew():
    """More configurations than rows, in codes of one byte and of two."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 12, 70)
    codes = [(hidden * (1 + i) + (rng.random(70) < 0.1)) % 12 for i in range(5)]
    codes += [hidden % 2, hidden % 3]
    schema = cp.Schema.from_cards([12, 12, 12, 12, 12, 2, 3])
    table = cp.Table(schema, codes)
    assert 12**4 > 4096 and hybrid.LEAST_ROOM < 12**3
    expected = reference(table, prior=1.0).merge()
    learner = cp.HybridRandomFieldLearner(prior=1.0)
    assert networks(merged(learner, table)) == expected[0]
    assert learner.fit(table).pll_ == pytest.approx(expected[2][-1], rel=1e-12)
    few = rng.integers(0, 8, (4, 30))
    light = cp.Table(cp.Schema.from_cards([8] * 4), few, np.full(30, 1 / 30))  # no penalty at all
    expected = reference(light, k=3).merge()
    assert networks(merged(cp.HybridRandomFieldLearner(3), light)) == expected[0]
    assert max(len(parents) for parents in expected[0][0].values()) == 3
    wide = cp.Table(cp.Schema.from_cards([300, 12, 12, 12, 12, 2, 3]), codes)
    assert wide.codes.dtype == np.uint16
    expected = reference(wide, prior=1.0).merge()
    assert networks(merged(learner, wide)) == expected[0]


# ---- partners -----------------------------------------------------------------------------------


def test_ties_go_to_later_columns_and_independent_ones_are_not_related():
    a = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    b = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    table = cp.Table(cp.Schema.from_cards([2] * 5), [a, a, b, 1 - a, np.zeros(8, dtype=int)])
    for source in (MemoryCounts(table), MemoryCounts(table.reweighted(np.full(8, 2)))):
        partners = Partners(source, 1)
        assert (partners.bits is not None) == (source.table.weights is None)
        assert partners.of(0, 5, None).tolist() == [[3], [3], [-1], [1], [-1]]
        assert Partners(source, 9).of(0, 2, None).tolist() == [[3, 1, -1, -1], [3, 0, -1, -1]]
        turned = Partners(source, 1, order=[4, 3, 2, 1, 0])
        assert turned.of(0, 5, None).tolist() == [[1], [0], [-1], [0], [-1]]


@pytest.mark.parametrize("most", [2, 4])
def test_partners_by_bits_and_by_counts(most):
    table = make_table(1, 40, 100, most=most)
    by_bits = Partners(MemoryCounts(table), 6)
    by_counts = Partners(MemoryCounts(table.reweighted(np.ones(100, dtype=int))), 6)
    assert (by_bits.bits is None) == (most > 2) and by_counts.bits is None
    found = by_bits.of(0, 40, None)
    assert np.array_equal(found, by_counts.of(0, 40, None))
    assert np.array_equal(found[7:20], by_bits.of(7, 20, None))
    twin = reference(table, k=6)
    assert [set(row.tolist()) for row in found] == [twin.relatives(v) for v in range(40)]


# ---- odd tables ----------------------------------------------------------------------------------


def test_constants_have_no_blanket():
    table = make_table(0, 6, 50)
    codes = np.vstack([table.codes, np.zeros((1, 50), np.uint8), np.ones((1, 50), np.uint8)])
    learner = cp.HybridRandomFieldLearner().fit(cp.Table(cp.Schema.from_cards([2] * 8), codes))
    assert learner.blankets_["x6"] == learner.blankets_["x7"] == ()
    assert learner.model_.query("x7", {})[1] == pytest.approx(51 / 52)
    assert all({"x6", "x7"}.isdisjoint(members) for members in learner.blankets_.values())
    alone = cp.HybridRandomFieldLearner().fit(table)
    assert [learner.blankets_[f"x{i}"] for i in range(6)] == list(alone.blankets_.values())


def test_duplicates_tell_each_other():
    table = make_table(0, 3, 60)
    codes = np.vstack([table.codes, table.codes])
    learner = cp.HybridRandomFieldLearner().fit(cp.Table(cp.Schema.from_cards([2] * 6), codes))
    for i in range(3):
        assert f"x{i + 3}" in learner.blankets_[f"x{i}"]
    sure = np.exp(learner.model_.full_conditionals(cp.Table(cp.Schema.from_cards([2] * 6), codes)))
    assert (sure.reshape(60, 6, 2).max(axis=2) > 0.8).all()


def test_rows_of_ones_only():
    codes = np.zeros((12, 40), np.uint8)
    codes[:, ::4] = 1
    learner = cp.HybridRandomFieldLearner().fit(cp.Table(cp.Schema.from_cards([2] * 12), codes))
    assert min(map(len, learner.blankets_.values())) >= 1
    assert learner.pll_ > -12 * 5


def test_names_with_spaces_and_other_scripts():
    names = ["The Matrix", "Амели", "七人の侍", "a,b", " ", "x" * 300]
    learner = cp.HybridRandomFieldLearner().fit(make_table(2, 6, 100, names=names))
    assert list(learner.blankets_) == names
    assert set(learner.model_.local_graph("Амели")) <= set(names)


def test_weights_below_one_in_all():
    table = make_table(0, 5, 30)
    learner = cp.HybridRandomFieldLearner().fit(table, sample_weight=np.full(30, 1 / 40))
    assert np.isfinite(learner.pll_)


# ---- threads and stops ---------------------------------------------------------------------------


def small_steps(monkeypatch):
    """Two variables a chunk, and several chunks a step."""
    monkeypatch.setattr("counterpane.learners.hybrid.local_networks.CHUNK_CELLS", 2 * 11 * 80)
    monkeypatch.setattr("counterpane.learners.partners.BLOCK_CELLS", 3 * 30 * 6)
    monkeypatch.setattr(merging, "STEPS", 2)


def stop_after(monkeypatch, n):
    plain, steps = merging.MergingSearch.step, []

    def step(self, state, ctl):
        if len(steps) == n:
            raise KeyboardInterrupt
        steps.append(1)
        return plain(self, state, ctl)

    monkeypatch.setattr(merging.MergingSearch, "step", step)


def test_a_stopped_fit_keeps_whole_passes(monkeypatch):
    """Before the first network all are alone; a pass that is cut short changes nothing."""
    table = make_table(12, 20, 80)
    small_steps(monkeypatch)
    whole = cp.HybridRandomFieldLearner(4, 6).fit(table)
    stages = [record["stage"] for record in whole.trace_]
    for n in range(len(stages)):
        stop_after(monkeypatch, n)
        with pytest.warns(StoppedEarly):
            learner = cp.HybridRandomFieldLearner(4, 6).fit(table)
        monkeypatch.undo()
        small_steps(monkeypatch)
        by_model = learner.model_.pseudo_log_likelihood(table, total=True).sum()
        assert by_model == pytest.approx(learner.pll_, rel=1e-12)
        if n:
            assert learner.pll_ == whole.trace_[n - 1]["pll"]
        if n <= stages.index("networks"):
            assert not learner.graph_.edges
        assert bool(learner.graph_.edges) == (n > stages.index("networks"))


def test_the_control_is_asked_within_a_step():
    table = make_table(12, 20, 80)
    learner = cp.HybridRandomFieldLearner(4, 6)
    search = learner._search(MemoryCounts(table))
    state = search.start()
    ctl = Control()
    ctl.cancel()
    with pytest.raises(Stopped):
        search.step(state, ctl)
    with pytest.raises(Stopped):
        search.step(state._replace(stage=merging.NETWORKS), ctl)


def test_what_was_refused_is_not_learned_again():
    trace = cp.HybridRandomFieldLearner(4, 6).fit(make_table(12, 20, 80)).trace_
    passes = [record["variables"] for record in trace if record["stage"] == "merging"]
    assert passes[-1] == 0


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"k": 0}, "k=0"),
        ({"k": 2.5}, "k=2.5"),
        ({"k_max": 63}, "k_max=63"),
        ({"criterion": "k2"}, "'mdl'"),
        ({"prior": 0}, "prior=0"),
        ({"prior": np.inf}, "prior=inf"),
    ],
)
def test_parameters_are_checked(options, message):
    with raises(ParameterError, about=message):
        cp.HybridRandomFieldLearner(**options).fit(make_table(0, 3, 10))

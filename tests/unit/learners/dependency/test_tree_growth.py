"""Trees of dependency networks against a naive twin, cutting back, edge cases and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import counterpane as cp
from counterpane.errors import DataError, ParameterError, StateError, TableSizeError
from counterpane.learners.dependency import tree_growth
from counterpane.learners.dependency.tree_growth import TreeSearch
from counterpane.learners.driver import StoppedEarly
from counterpane.learners.order import intrinsic_order
from counterpane.learners.partners import Partners
from counterpane.models.arrays import arrays_of
from error_checks import raises
from reference import dependency_trees_reference as naive


def make_table(seed, cards, rows, weights=None):
    """Random dependent columns: each leans on the one before."""
    rng = np.random.default_rng(seed)
    codes = np.empty((len(cards), rows), dtype=np.uint8)
    last = np.zeros(rows, dtype=np.int64)
    for v, r in enumerate(cards):
        noisy = rng.random(rows) < 0.4
        last = np.where(noisy, rng.integers(0, r, rows), (last + v) % r)
        codes[v] = last
    return cp.Table(cp.Schema.from_cards(cards), codes, weights)


def naive_trees(table, kappa, min_count, prior):
    rows, cards = table.codes.T.tolist(), table.schema.cards.tolist()
    weights = [1.0] * len(rows) if table.weights is None else table.weights.tolist()
    order = naive.column_order(rows, weights, cards, table.schema.names)
    asked = naive.questions(cards, order)
    return [
        naive.grow(rows, weights, cards, v, asked, kappa, min_count, prior)
        for v in range(len(cards))
    ]


def check_against_naive(learner, table, kappa, min_count, prior):
    trees = naive_trees(table, kappa, min_count, prior)
    found = [parts[0] for parts in learner.model_.conditionals]
    assert [int((t.variables < 0).sum()) for t in found] == [naive.leaves(t) for t in trees]
    rng = np.random.default_rng(0)
    cards = table.schema.cards
    rows = np.concatenate([table.codes, rng.integers(0, cards[:, None], (len(cards), 200))], axis=1)
    expected = [
        [naive.walk(t, row)[row[v]] for v, t in enumerate(trees)] for row in rows.T.tolist()
    ]
    got = learner.model_.engine.blanket.pseudo_log_likelihood(rows)
    assert np.allclose(got, expected, rtol=1e-9, atol=1e-12)
    own = np.ones(table.n_rows) if table.weights is None else table.weights
    total = own @ np.array(expected)[: table.n_rows].sum(axis=1)
    assert learner.score_ == pytest.approx(total, rel=1e-9)
    return trees


SIZES = [(2, 2, 2, 2), (2, 3, 2, 4), (3, 3, 1, 2), (5, 2, 2, 3, 2)]


@pytest.mark.parametrize("cards", SIZES, ids=str)
@pytest.mark.parametrize(
    ("kappa", "min_count", "prior"), [(0.01, 10, 1.0), (1.0, 2.5, 0.5), (0.5, 0, 2.0)]
)
def test_trees_are_those_of_the_naive_twin(cards, kappa, min_count, prior):
    options = {"kappa": kappa, "min_count": min_count, "prior": prior}
    for seed in range(3):
        table = make_table(seed, cards, 150)
        learner = cp.DependencyNetworkLearner(**options).fit(table)
        trees = check_against_naive(learner, table, kappa, min_count, prior)
        assert sum(map(naive.leaves, trees)) > len(cards) + 2


def test_bits_and_lists_count_the_same(monkeypatch):
    """Nodes held as bits to the end, as lists from the second level, by cost; weights of 1."""
    table = make_table(2, [2, 3, 2, 2, 4, 2, 2, 2], 3000)
    expected = cp.DependencyNetworkLearner(kappa=1.0).fit(table)
    ones = cp.DependencyNetworkLearner(kappa=1.0).fit(table, sample_weight=np.ones(3000))
    assert same(ones.model_, expected.model_)
    for cost in (0.0, 1e9):
        monkeypatch.setattr(tree_growth, "BIT_COST", cost)
        learner = cp.DependencyNetworkLearner(kappa=1.0).fit(table)
        assert same(learner.model_, expected.model_)
        assert learner.score_ == expected.score_


def same(a, b):
    arrays, others = arrays_of(a), arrays_of(b)
    return arrays.keys() == others.keys() and all(
        np.array_equal(array, others[name]) for name, array in arrays.items()
    )


# ---- one tree for all κ --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_cutting_back_is_growing_anew(weighted):
    cards = [2, 3, 2, 2, 4, 2]
    table, judge = make_table(0, cards, 800), make_table(1, cards, 300)
    if weighted:
        rng = np.random.default_rng(3)
        judge = judge.reweighted(rng.gamma(1.0, 1.0, 300))
        table = table.reweighted(rng.integers(0, 3, 800))
    kappas = [1e-6, 1e-3, 0.05, 0.4, 1.0]
    tuned = cp.DependencyNetworkLearner(kappa=kappas).fit(table, validation=judge)
    assert list(tuned.validation_scores_) == kappas
    sizes, weights = [], judge.weights if weighted else np.ones(300)
    for kappa in kappas:
        alone = cp.DependencyNetworkLearner(kappa=kappa).fit(table)
        sizes.append(sum(parts[0].variables.size for parts in alone.model_.conditionals))
        scores = alone.model_.pseudo_log_likelihood(judge).reshape(300, -1).sum(axis=1)
        expected = weights @ scores / weights.sum()
        assert tuned.validation_scores_[kappa] == pytest.approx(expected, rel=1e-12)
        if kappa == tuned.kappa_:
            assert same(alone.model_, tuned.model_)
            assert alone.score_ == tuned.score_
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 5
    assert tuned.kappa_ == max(kappas, key=tuned.validation_scores_.get) != 1.0


def test_kappa_is_chosen_among_nine():
    table = make_table(0, [2] * 6, 500)
    learner = cp.DependencyNetworkLearner().fit(table, validation=make_table(1, [2] * 6, 500))
    assert len(learner.validation_scores_) == 9
    assert learner.kappa_ in learner.validation_scores_
    plain = cp.DependencyNetworkLearner().fit(table)
    assert plain.validation_scores_ == {}
    assert plain.kappa_ == 0.01


def test_validation_weights_are_repetitions():
    table, judge = make_table(0, [2, 3, 2], 300), make_table(1, [2, 3, 2], 50)
    times = np.random.default_rng(0).integers(0, 4, 50)
    one = cp.DependencyNetworkLearner().fit(table, validation=judge.reweighted(times))
    two = cp.DependencyNetworkLearner().fit(
        table, validation=judge.take(np.repeat(range(50), times))
    )
    assert one.validation_scores_ == pytest.approx(two.validation_scores_, rel=1e-12)


# ---- odd tables ----------------------------------------------------------------------------------


def test_without_a_prior_states_may_be_impossible():
    table = cp.Table(cp.Schema.from_cards([2, 2]), [[0] * 20 + [1] * 20, [0] * 20 + [1] * 20])
    learner = cp.DependencyNetworkLearner(prior=0.0, kappa=0.1).fit(table, validation=table)
    assert learner.score_ == 0.0
    assert learner.validation_scores_ == {0.1: 0.0}
    logs = learner.model_.conditionals[0][0].log_values
    assert -np.inf in logs
    assert not np.isnan(logs).any()
    other = cp.Table(table.schema, [[0], [1]])
    judged = cp.DependencyNetworkLearner(prior=0.0).fit(table, validation=other)
    assert set(judged.validation_scores_.values()) == {-np.inf}


def test_states_that_nobody_has_get_their_share_of_the_prior():
    table = cp.Table(cp.Schema.from_cards([3, 2]), [[0, 1] * 30, [0] * 60])
    tree = cp.DependencyNetworkLearner(prior=3.0).fit(table).model_.conditionals[0][0]
    assert np.exp(tree.log_values) == pytest.approx(np.array([[31, 31, 1]]) / 63)


def test_a_stopped_fit_leaves_the_other_variables_without_questions(monkeypatch):
    table = make_table(0, [2] * 12, 400)
    whole = cp.DependencyNetworkLearner(kappa=1.0).fit(table).model_
    inner, steps = TreeSearch.step, []

    def step(self, state, ctl):
        if steps:
            raise KeyboardInterrupt
        steps.append(1)
        return inner(self, state, ctl)

    monkeypatch.setattr(TreeSearch, "step", step)
    with pytest.warns(StoppedEarly):
        learner = cp.DependencyNetworkLearner(kappa=1.0).fit(table)
    grown = [parts[0].variables.size > 1 for parts in learner.model_.conditionals]
    assert grown == [True] * 4 + [False] * 8
    assert same_tree(learner.model_.conditionals[3][0], whole.conditionals[3][0])
    ones = table.codes[7].mean()
    expected = np.log((np.array([1 - ones, ones]) * 400 + 0.5) / 401)
    assert learner.model_.conditionals[7][0].log_values[0] == pytest.approx(expected)


def same_tree(a, b):
    return np.array_equal(a.nodes(), b.nodes()) and np.array_equal(a.log_values, b.log_values)


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"local": "forest"}, "'tree'"),
        ({"kappa": 0.0}, "kappa=0.0"),
        ({"kappa": 1.5}, "kappa=1.5"),
        ({"kappa": []}, "kappa=[]"),
        ({"kappa": np.nan}, "kappa=nan"),
        ({"kappa": [0.1, 0.2]}, "kappa=[0.1, 0.2]"),
        ({"min_count": -1}, "min_count=-1"),
        ({"prior": np.inf}, "prior=inf"),
        ({"local": "logistic", "l1": 0}, "l1=0"),
        ({"local": "logistic", "l1": [1, np.inf]}, "l1=[1, inf]"),
    ],
)
def test_parameters_are_checked(options, message):
    with raises(ParameterError, about=message):
        cp.DependencyNetworkLearner(**options).fit(make_table(0, [2, 2], 20))


def test_validation_rows_are_checked(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"] * 30, "b": ["u", "v", "w"] * 20})
    learner = cp.DependencyNetworkLearner()
    expected = learner.fit(frame, validation=frame).validation_scores_
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = cp.read(frame)
    for judge in (frame[["b", "a"]], tmp_path / "t.csv", table, cp.MemoryCounts(table)):
        assert learner.fit(frame, validation=judge).validation_scores_ == expected
    with raises(StateError, parameter="a", value="z"):
        learner.fit(frame, validation=frame.replace("y", "z"))
    gaps = frame.copy()
    gaps.loc[0, "a"] = None
    with raises(DataError, about="'a'"):
        learner.fit(frame, validation=gaps)
    dropping = cp.DependencyNetworkLearner(missing="drop")
    dropped = dropping.fit(frame, validation=gaps).validation_scores_
    assert dropped == dropping.fit(frame, validation=gaps.dropna()).validation_scores_
    state = cp.DependencyNetworkLearner().fit(gaps, validation=gaps)
    assert state.model_.schema["a"].states == ("x", "y", None)


def test_a_source_of_too_many_distinct_rows_is_refused(monkeypatch):
    table = make_table(0, [5] * 8, 300)
    stream = cp.StreamCounts(table.schema, lambda: [table])
    monkeypatch.setattr("counterpane.counts.source.MAX_ROW_BYTES", (8 + 8) * 100)
    with raises(TableSizeError, about=("100 distinct rows", "8 columns")):
        cp.DependencyNetworkLearner().fit(stream)


# ---- published figures ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "least"), [("nltcs", -4.977), ("plants", -9.07)])
def test_density_data_is_predicted_as_well_as_by_libra(shared_data, name, least):
    train, valid, test = read_density(shared_data, name)
    learner = cp.DependencyNetworkLearner(n_jobs=2).fit(train, validation=valid)
    scores = learner.model_.pseudo_log_likelihood(test).reshape(test.n_rows, -1).sum(axis=1)
    assert scores.mean() >= least


def read_density(folder, name):
    packed = np.load(folder / "density" / f"{name}.npz")
    n = int(packed["n_vars"])
    schema = cp.Schema.from_cards([2] * n)
    parts = (packed[part] for part in ("train", "valid", "test"))
    return [cp.Table(schema, np.unpackbits(p, axis=1, count=n).T) for p in parts]


def test_trees_ask_about_relatives_only():
    table = cp.load_dataset("tictactoe")
    free = cp.DependencyNetworkLearner(kappa=1.0, min_count=2.0).fit(table)
    wide = cp.DependencyNetworkLearner(kappa=1.0, min_count=2.0, k=9).fit(table)
    assert [t.variables.tolist() for (t,) in wide.model_.conditionals] == [
        t.variables.tolist() for (t,) in free.model_.conditionals
    ]
    narrow = cp.DependencyNetworkLearner(kappa=1.0, min_count=2.0, k=2).fit(table)
    source = cp.MemoryCounts(table)
    near = Partners(source, 2, order=intrinsic_order(source)).of(0, 10, None)
    for own, (tree,) in zip(near.tolist(), narrow.model_.conditionals, strict=True):
        assert set(tree.variables.tolist()) - {-1} <= set(own)
    assert narrow.score_ < free.score_
    with raises(ParameterError, about="k=0"):
        cp.DependencyNetworkLearner(k=0).fit(table)
    with raises(ParameterError, about="local='logistic'"):
        cp.DependencyNetworkLearner("logistic", k=3).fit(table)


@pytest.mark.parametrize("cards", SIZES, ids=str)
@pytest.mark.parametrize("kind", ["whole", "real", "large"])
def test_weighted_trees_are_those_of_the_naive_twin(cards, kind):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 120)
    if kind == "real":
        weights = rng.gamma(1.0, 1.0, 120)
    if kind == "large":
        weights = weights * 100_000  # beyond the table of logarithms
    table = make_table(5, cards, 120, weights)
    learner = cp.DependencyNetworkLearner(kappa=0.2, min_count=4.0).fit(table)
    check_against_naive(learner, table, 0.2, 4.0, 1.0)
